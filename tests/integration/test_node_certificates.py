"""Certificates of nodes on a real API server: agents ask with the tokens of their pods, a run signs, and who asks for another node gets nothing."""

from __future__ import annotations

import base64
import dataclasses
import datetime
import json
import os
import pathlib
import shutil
import subprocess
import typing as t

import pytest
import yaml
from example_rights import node_certificate_role, roles

pytest.importorskip("cryptography", reason="NOT TESTED: the Python library cryptography is missing")

import _node_site
import test_relay
from _agent import NODE, Agent
from _node_site import ACCOUNT, REQUESTS, Site, await_request, certificate_of
from _pki import Pki, is_signed
from _rights import Operator
from _vswitch import Vswitch
from conftest import until
from cryptography import x509
from test_relay import ControlPlane as RelayPlane

from ansible_collections.c5c3.ovn.plugins.module_utils._agent.key_pair import make_request
from ansible_collections.c5c3.ovn.plugins.module_utils._base.errors import Refused
from ansible_collections.c5c3.ovn.plugins.module_utils._pki.signing import SigningAuthority
from ansible_collections.c5c3.ovn.plugins.module_utils._precheck.rights import (
    PREPARATION,
    RIGHTS,
    node_certificate_rights,
)

plane = test_relay.plane  # a fixture

DAY = 24 * 3600.0
RBAC = "/apis/rbac.authorization.k8s.io/v1"
POLICY = pathlib.Path(__file__).parents[2] / "examples" / "certificates" / "node-requests-policy.yml"


site = _node_site.site  # a fixture


def test_each_node_gets_a_certificate_with_the_name_of_its_chassis(site: Site) -> None:
    agents = site.asking_agents()
    # A request stays one, however often its agent asks.
    with pytest.raises(Refused, match=r"for chassis a is not signed yet\. Run c5c3\.ovn\.hypervisors"):
        agents["a"].ensure("a")
    assert len(site.requests()) == 2
    assert site.run(signs=False)["steps"] == []
    predicted = site.run(check=True)
    assert sorted(predicted["steps"]) == [
        "sign the certificate of chassis a",
        "sign the certificate of chassis b.example.com",
    ]
    assert not any((one.get("status") or {}).get("certificate") for one in site.requests())
    ran = site.run()
    assert sorted(ran["steps"]) == sorted(predicted["steps"])
    for name, agent in agents.items():
        agent.ensure(name)
        found = certificate_of(agent)
        assert found.subject.rfc4514_string() == f"CN={name}"
        assert is_signed(
            found, x509.load_pem_x509_certificate(pathlib.Path(site.authority.ca_certificate).read_bytes())
        )
        usage = found.extensions.get_extension_for_class(x509.ExtendedKeyUsage).value
        assert list(usage) == [x509.oid.ExtendedKeyUsageOID.CLIENT_AUTH]
        key = pathlib.Path(agent.folder, "current/tls.key")
        assert key.stat().st_mode & 0o777 == 0o600
    assert not site.run()["changed"]

    # It is renewed at two thirds of its life, and works until the next one is there.
    agent, former = agents["a"], certificate_of(agents["a"])
    site.now += 200 * DAY
    agent.ensure("a")
    assert len(site.requests()) == 2
    site.now += 50 * DAY
    agent.ensure("a")
    assert "is not signed yet" in agent.problem
    assert certificate_of(agent) == former
    assert site.run()["steps"] == ["sign the certificate of chassis a"]
    agent.ensure("a")
    assert agent.problem == ""
    assert certificate_of(agent).serial_number != former.serial_number
    assert len([one for one in os.listdir(agent.folder) if one.startswith("pair-")]) == 1


def test_a_node_that_asks_for_the_name_of_another_is_denied(site: Site) -> None:
    """With the agent's own token, as somebody who has taken the node over would."""
    site.run()
    attacker = site.agent("a")
    await_request(attacker, "b.example.com")
    predicted, ran = site.run(check=True), site.run()
    (request,) = site.requests()
    assert predicted["steps"] == ran["steps"] == [f"deny CertificateSigningRequest {request['metadata']['name']}"]
    assert ran["changed"]
    assert any(" would be denied: its subject is" in one for one in predicted.warnings)
    (warning,) = [one for one in ran.warnings if "was denied" in one]
    assert "declared is CN='a'" in warning
    assert "Look at the pod of ovn-controller on node a, which is chassis a." in warning
    with pytest.raises(Refused, match="got no certificate: its subject is"):
        attacker.ensure("b.example.com")
    (request,) = site.requests()
    assert "certificate" not in request["status"]
    assert not site.run()["changed"]


@pytest.mark.parametrize(
    "case", ["a token of no pod", "a node that is no hypervisor", "an administrator", "another account of the node"]
)
def test_who_else_gets_none(site: Site, case: str) -> None:
    site.run()
    if case == "a node that is no hypervisor":
        site.hypervisors.node("c", "192.0.2.23", labels={})
        asking = site.agent("c")
    else:
        other = case == "another account of the node"
        asking = site.agent("a", bound=case != "a token of no pod", account="ovs" if other else "ovn-controller")
    if case == "an administrator":  # an account of Kubernetes, but not ours
        pathlib.Path(site.directory, "account-a", "token").write_text("token-of-the-admin")
    if case == "another account of the node":
        site.let_ask("ovs")
    await_request(asking, "a")
    ran = site.run()
    (request,) = site.requests()
    assert "certificate" not in request.get("status", {})
    denied = [one["type"] for one in request.get("status", {}).get("conditions", ())]
    assert denied == (["Denied"] if case == "a token of no pod" else [])
    waits = [one for one in ran.warnings if "its node c was no hypervisor when this run read the nodes" in one]
    assert len(waits) == (case == "a node that is no hypervisor")


def test_what_the_token_of_an_agent_can_do(site: Site) -> None:
    """Ask, and look at a request. It neither lists nor approves nor signs, and reads no Secret."""
    site.run()
    agent = site.agent("a")
    await_request(agent, "a")
    (request,) = site.requests()
    name = request["metadata"]["name"]
    condition = {"type": "Approved", "status": "True", "reason": "x", "message": "x"}
    attempts = [
        lambda: agent.api.get(REQUESTS),
        lambda: agent.api.patch(f"{REQUESTS}/{name}/approval", {"status": {"conditions": [condition]}}),
        lambda: agent.api.patch(
            f"{REQUESTS}/{name}/status", {"status": {"certificate": base64.b64encode(b"x").decode()}}
        ),
        lambda: agent.api.get(f"/api/v1/namespaces/{site.namespace}/secrets"),
        lambda: agent.api.get(f"/api/v1/namespaces/{site.namespace}/pods"),
        lambda: agent.api.get("/api/v1/nodes/b"),
    ]
    for attempt in attempts:
        with pytest.raises(Refused, match=" 403: "):
            attempt()


def test_a_user_with_exactly_these_rights(site: Site, tmp_path: pathlib.Path) -> None:
    """Those of the page: sign for this one signer, and manage the one role of the agents."""
    site.run(certificates="shared")  # the definitions, by an administrator
    site.give_name("b", "b.example.com")
    operator = Operator(site.server, f"operator-{site.namespace}", tmp_path)
    certificates = node_certificate_role(f"{operator.name}-certificates", site.namespace)
    operator.grant(*roles("hypervisors", operator.name, site.namespace))
    operator.await_denied(
        [right for right in RIGHTS["hypervisors"] if right.need not in PREPARATION], site.namespace, set()
    )
    refused = site.run(kubeconfig=operator.kubeconfig, may_fail=True)
    assert "This user may not sign for nodes: what is missing in certificates.k8s.io is list" in refused["msg"]
    operator.grant(certificates)
    operator.await_denied(
        [*RIGHTS["hypervisors"], *node_certificate_rights(site.namespace)],
        site.namespace,
        {
            (right.group, right.resource, verb)
            for right in RIGHTS["hypervisors"]
            if right.need in PREPARATION
            for verb in right.verbs
        },
    )
    site.run(kubeconfig=operator.kubeconfig)
    agent = site.agent("a")
    await_request(agent, "a")
    assert site.run(kubeconfig=operator.kubeconfig)["steps"] == ["sign the certificate of chassis a"]
    agent.ensure("a")
    gone = site.run(kubeconfig=operator.kubeconfig, state="absent")
    assert "ClusterRole" in {one["kind"] for one in gone["objects"] if one["action"] == "deleted"}
    # It signs for nobody else.
    cluster = operator.connect()
    present = site.requests()[0]["spec"]
    spec = {"request": present["request"], "usages": present["usages"], "signerName": "example.com/other"}
    site.server.request("POST", REQUESTS, {"metadata": {"name": f"other-{site.namespace}"}, "spec": spec})
    condition = {"type": "Approved", "status": "True", "reason": "x", "message": "x"}
    with pytest.raises(Refused) as e:
        cluster.patch(
            *("certificates.k8s.io/v1", "CertificateSigningRequest", f"other-{site.namespace}", None),
            {"status": {"conditions": [condition]}},
            subresource="approval",
        )
    assert e.value.details["http_status"] == 403


def test_example_policy_binds_the_agents_to_our_signer(site: Site) -> None:
    site.run()
    agent = site.agent("a")
    text = POLICY.read_text(encoding="utf-8").replace("ovn-system:ovn-controller", f"{site.namespace}:{ACCOUNT}")
    kinds = "/apis/admissionregistration.k8s.io/v1/"
    policies = yaml.safe_load(text)["items"]
    pem = pathlib.Path(make_request(str(site.directory / "scratch"), "a")).read_bytes()
    csr = {"request": base64.b64encode(pem).decode(), "usages": ["client auth"], "signerName": "example.com/other"}

    def refusal() -> str:
        body = {"metadata": {"generateName": "other-"}, "spec": csr}
        try:
            agent.api.create(
                REQUESTS, {"apiVersion": "certificates.k8s.io/v1", "kind": "CertificateSigningRequest", **body}
            )
        except Refused as e:
            return str(e)
        return ""

    until(lambda: refusal() == "", "the right to ask")
    places = ("validatingadmissionpolicies", "validatingadmissionpolicybindings")
    try:
        for place, policy in zip(places, policies):
            site.server.request("POST", f"{kinds}{place}", policy)
        until(lambda: "This account asks for certificates of chassis alone." in refusal(), "the policy")
        await_request(agent, "a")
    finally:
        for place in places:
            site.server.request("DELETE", f"{kinds}{place}/ovn-node-certificates")


def test_the_kubelet_of_a_node_cannot_read_the_key_of_the_cluster(site: Site) -> None:
    """With the pod of its node as it is declared: it may read each Secret that this names, and what else it names."""
    site.run()
    pod = {"metadata": {"name": "ovn-controller-a"}, "spec": {**site.template(), "nodeName": "a"}}
    assert site.kubelet_reads("configmaps", "ovn-chassis-ca") is False
    site.server.request("POST", site.place("pods"), pod)
    until(lambda: site.kubelet_reads("configmaps", "ovn-chassis-ca"), "the rights by that pod")
    assert site.kubelet_reads("secrets", "ovn-tls") is False
    # As with pods that share the Secret, whatever they mount of it.
    items = [{"key": "ca.crt", "path": "ca.crt"}]
    volume = {"name": "tls", "secret": {"secretName": "ovn-tls", "items": items}}
    spec = {"nodeName": "a", "containers": [{"name": "x", "image": "x"}], "volumes": [volume]}
    site.server.request("POST", site.place("pods"), {"metadata": {"name": "other"}, "spec": spec})
    until(lambda: site.kubelet_reads("secrets", "ovn-tls"), "the rights by the other pod")


def test_the_cas_of_nodes_follow_the_secret(site: Site, make_pki: t.Callable[[str], Pki]) -> None:
    site.run()
    assert site.authorities() == pathlib.Path(site.tls.ca_certificate).read_text()
    generations = site.hypervisors.generations()
    bundle = site.authorities() + pathlib.Path(make_pki("next").ca_certificate).read_text()
    data = {"ca.crt": base64.b64encode(bundle.encode()).decode()}
    site.server.request("PATCH", site.place("secrets", "ovn-tls"), {"data": data})
    assert "ConfigMap ovn-chassis-ca" in changed(site.run(check=True))
    assert changed(site.run()) == ["ConfigMap ovn-chassis-ca"]
    assert site.authorities() == bundle
    assert site.hypervisors.generations() == generations, "running pods get them"
    # Without the Secret nodes keep what they trust.
    site.server.request("DELETE", site.place("secrets", "ovn-tls"))
    ran = site.run()
    assert not ran["changed"]
    (warning,) = [one for one in ran.warnings if "so the CAs that nodes trust stay as they are" in one]
    assert warning.startswith(f"Secret {site.namespace}/ovn-tls does not exist")
    assert site.authorities() == bundle


def test_another_ca_signs(site: Site, make_pki: t.Callable[[str], Pki]) -> None:
    """The pods are replaced one by one; a node uses its certificate until it has that of the other CA, and is not ready before."""
    site.run()
    site.give_name("b", "b.example.com")
    site.run()
    # Its server lets in the former CA alone, which a run would refuse. Names are confirmed already, so it is not needed.
    unreachable = {"southbound": ["ssl:127.0.0.1:1"]}
    agents = {name: site.agent(name) for name in ("a", "b")}
    names = {"a": "a", "b": "b.example.com"}
    for node, agent in agents.items():
        await_request(agent, names[node])
    site.run(**unreachable)
    for node, agent in agents.items():
        agent.ensure(names[node])
    generations = site.hypervisors.generations()
    site.authority = make_pki("other")
    assert site.run(**unreachable)["steps"] == []
    after = site.hypervisors.generations()
    assert (after["ovs"], after["ovn-controller"]) == (generations["ovs"], generations["ovn-controller"] + 1)

    agent = agents["a"]
    agent.ensure("a")
    assert (agent.problem, agent.is_urgent) == ("", False), "its pod is the former one"
    former, agent = certificate_of(agent), site.agent("a")
    agent.ensure("a")
    assert certificate_of(agent) == former
    assert agent.is_urgent
    assert agent.problem.startswith("The certificate in use is of another CA than that which signs today.")
    assert site.run(**unreachable)["steps"] == ["sign the certificate of chassis a"]
    agent.ensure("a")
    assert (agent.problem, agent.is_urgent) == ("", False)
    assert is_signed(
        certificate_of(agent), x509.load_pem_x509_certificate(pathlib.Path(site.authority.ca_certificate).read_bytes())
    )
    assert not site.run(**unreachable)["changed"]


def test_somebody_else_has_signed(site: Site, make_pki: t.Callable[[str], Pki]) -> None:
    """A certificate that is no good replaces none."""
    site.run()
    agent = site.agent("a")
    await_request(agent, "a")
    site.run()
    agent.ensure("a")
    former = certificate_of(agent)
    site.now += 250 * DAY
    agent.ensure("a")
    (request,) = [one for one in site.requests() if not (one.get("status") or {}).get("certificate")]
    name = request["metadata"]["name"]
    signer = SigningAuthority(*make_pki("false").as_texts(), "", 365)
    pem = base64.b64decode(request["spec"]["request"]).decode()
    now = datetime.datetime.fromtimestamp(site.now, datetime.timezone.utc)
    signed = base64.b64encode(signer.sign(pem, "a", now).encode()).decode()
    condition = {"type": "Approved", "status": "True", "reason": "x", "message": "x"}
    site.server.request("PATCH", f"{REQUESTS}/{name}/approval", {"status": {"conditions": [condition]}})
    site.server.request("PATCH", f"{REQUESTS}/{name}/status", {"status": {"certificate": signed}})
    agent.ensure("a")
    assert "is not used: another CA than that of the chassis has signed it" in agent.problem
    assert certificate_of(agent) == former
    # It asks again, with another key.
    agent.ensure("a")
    assert site.run()["steps"] == ["sign the certificate of chassis a"]
    agent.ensure("a")
    assert agent.problem == ""
    assert certificate_of(agent) != former


def test_nodes_share_a_certificate_again(site: Site) -> None:
    """What is left of their own goes: rights, CAs, and by the agents the keys. Then they get their own again."""
    site.run()
    site.give_name("b", "b.example.com")
    assert site.variables()["OVN_NODE_TLS_DIR"] == "/node-tls"
    predicted = site.run(check=True, certificates="shared")
    ran = site.run(certificates="shared")
    for one in (predicted, ran):
        assert deleted(one) == {*certificate_rights(site), "ConfigMap ovn-chassis-ca"}
    assert site.variables()["OVN_UNUSED_TLS_DIR"] == "/node-tls"
    assert "ovn-tls" in json.dumps(site.template())
    for kind in ("clusterroles", "clusterrolebindings"):
        with pytest.raises(OSError, match="404"):
            site.server.request("GET", f"{RBAC}/{kind}/c5c3-ovn-certificates-{site.namespace}")
    again = site.run(certificates="shared")
    assert not again["changed"]
    assert again["requests"] <= 14, "it does not look for rights in each run; one is for the Secret"
    site.run()
    assert "ovn-tls" not in json.dumps(site.template())
    agent = site.agent("a")
    await_request(agent, "a")
    assert site.run()["steps"] == ["sign the certificate of chassis a"]


def test_absent_finds_the_rights_by_their_labels(site: Site) -> None:
    """Also where the specification does not say that nodes had their own; but not those of another cluster in this namespace."""
    site.run()
    other = site.run(state="absent", name="other", certificates="own")
    assert not certificate_rights(site) & {f"{one['kind']} {one['name']}" for one in other["objects"]}
    assert certificate_rights(site) <= deleted(site.run(state="absent", certificates="shared"))


def test_a_node_becomes_a_chassis_with_its_own_rights(
    site: Site, plane: RelayPlane, daemons: None, make_pki: t.Callable[[str], Pki], short_dir: pathlib.Path
) -> None:
    """Agent, run, relay, northd and ovn-controller: the agent waits for the certificate, ovn-controller registers through the relay with it."""
    site.authority = plane.chassis_authority
    tls = dataclasses.replace(site.authority.issue("rack"), ca_certificate=plane.central.ca_certificate)
    site.server.request("PATCH", site.place("secrets", "ovn-tls"), {"data": tls.secret("ovn-tls")["data"]})
    site.hypervisors.node(NODE, "192.0.2.23")
    options = {"southbound": [plane.port]}
    site.run(**options)
    machine = Vswitch(short_dir, "ch1")
    agent = Agent(machine.start(), short_dir)
    folder, account = short_dir / "node-tls", short_dir / "account"
    for one in (folder, account):
        one.mkdir()
    (account / "token").write_text(site.hypervisors.token_of(NODE))
    shutil.copy(site.server.ca_certificate, account / "ca.crt")
    pair = [f"{folder}/current/tls.key", f"{folder}/current/tls.crt", plane.central.ca_certificate]
    try:
        machine.start_vswitchd()
        settings = site.hypervisors.settings()
        agent.write(settings["_default"], settings.get(NODE))
        environment = {
            "OVN_NODE_TLS_DIR": str(folder),
            "OVN_API_SERVER": site.server.url,
            "OVN_SERVICE_ACCOUNT_DIR": str(account),
            **dict(zip(("OVN_PRIVATE_KEY", "OVN_CERTIFICATE", "OVN_CA_CERTIFICATE"), pair)),
        }
        agent.start(outside=True, OVN_NODE_TLS_ISSUER=site.variables()["OVN_NODE_TLS_ISSUER"], **environment)
        agent.until_trouble(f"for chassis {NODE} is not signed yet. Run c5c3.ovn.hypervisors")
        assert not agent.settled
        assert site.run(**options)["steps"] == [f"sign the certificate of chassis {NODE}"]
        agent.until_ready()
        assert agent.settled
        machine.start_controller("-p", pair[0], "-c", pair[1], "-C", pair[2], outside=True)
        until(lambda: NODE in plane.sbctl("--bare", "--columns=name", "list", "Chassis").split(), "the chassis", 60)
        # With that key nobody deletes another chassis.
        plane.sbctl("chassis-add", "other", "geneve", "192.0.2.99")
        words = ["ovn-sbctl", "-p", pair[0], "-c", pair[1], "-C", pair[2], "--no-leader-only", "--timeout=5"]
        done = subprocess.run(
            [*words, f"--db={plane.port}", "chassis-del", "other"], capture_output=True, text=True, check=False
        )
        assert "permission error" in done.stderr
        # Another CA signs: it goes on with this certificate, and is not ready until it has one of that.
        agent.stop()
        agent.start(outside=True, OVN_NODE_TLS_ISSUER=make_pki("other").as_texts()[0], **environment)
        agent.until_trouble("The certificate in use is of another CA than that which signs today.")
        assert not agent.ready
        agent.stop()
        agent.start(outside=True, OVN_UNUSED_TLS_DIR=str(folder))
        until(lambda: os.listdir(folder) == [], "an empty folder")
    finally:
        agent.stop()
        machine.stop()


def test_absent_takes_the_rights_away(site: Site) -> None:
    site.run()
    assert certificate_rights(site) <= deleted(site.run(state="absent"))


def certificate_rights(site: Site) -> set[str]:
    return {f"{kind} c5c3-ovn-certificates-{site.namespace}" for kind in ("ClusterRole", "ClusterRoleBinding")}


def deleted(ran: t.Any) -> set[str]:
    return {f"{one['kind']} {one['name']}" for one in ran["objects"] if one["action"] == "deleted"}


def changed(ran: t.Any) -> list[str]:
    return [f"{one['kind']} {one['name']}" for one in ran["objects"] if one["action"] != "unchanged"]

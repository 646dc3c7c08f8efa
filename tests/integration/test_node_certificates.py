"""Certificates of nodes on a real API server: agents ask with the tokens of their pods, a run signs, and who asks for another node gets nothing."""

from __future__ import annotations

import base64
import os
import pathlib
import shutil
import subprocess
import typing as t

import pytest

pytest.importorskip("cryptography", reason="NOT TESTED: the Python library cryptography is missing")

import test_relay
from _agent import NODE, Agent
from _apiserver import ApiServer
from _node_site import REQUESTS, Site, await_request, certificate_of, node_site, warnings
from _pki import Pki, is_signed
from _rights import Operator
from _vswitch import Vswitch, require_vswitch
from conftest import MakeCluster, RunModule, until
from cryptography import x509
from test_relay import ControlPlane as RelayPlane

from ansible_collections.c5c3.ovn.plugins.module_utils._errors import Refused
from ansible_collections.c5c3.ovn.plugins.module_utils._precheck_kubernetes.rights import (
    PREPARATION,
    RIGHTS,
    node_certificate_rights,
    node_certificate_role,
    roles,
)

plane = test_relay.plane  # a fixture

DAY = 24 * 3600.0


@pytest.fixture
def site(
    api_server: ApiServer,
    namespace: str,
    run_module: RunModule,
    raft_cluster: MakeCluster,
    pki: Pki,
    tmp_path: pathlib.Path,
) -> t.Iterator[Site]:
    with node_site(api_server, namespace, run_module, pki, raft_cluster(1, "southbound", tls=pki), tmp_path) as made:
        yield made


def test_each_node_gets_a_certificate_with_the_name_of_its_chassis(site: Site) -> None:
    site.run()
    site.give_name("b", "b.example.com")
    site.run()
    agents = {"a": site.agent("a"), "b.example.com": site.agent("b")}
    for name, agent in agents.items():
        await_request(agent, name)
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
    assert any(" would be denied: its subject is" in one for one in warnings(predicted))
    (warning,) = [one for one in warnings(ran) if "was denied" in one]
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
    waits = [one for one in warnings(ran) if "its node c was no hypervisor when the run began" in one]
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
    site.run(signs=False)  # the definitions, by an administrator
    for kind in ("clusterroles", "clusterrolebindings"):
        place = f"/apis/rbac.authorization.k8s.io/v1/{kind}/c5c3-ovn-certificates-{site.namespace}"
        site.server.request("DELETE", place)
    operator = Operator(site.server, f"operator-{site.namespace}", tmp_path)
    certificates = node_certificate_role(f"{operator.name}-certificates", site.namespace)
    operator.grant(*roles("hypervisors", operator.name, site.namespace), certificates)
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


def test_a_node_becomes_a_chassis_with_its_own_rights(
    site: Site, plane: RelayPlane, daemons: None, short_dir: pathlib.Path
) -> None:
    """Agent, run, relay, northd and ovn-controller: the agent waits for the certificate, ovn-controller registers through the relay with it."""
    require_vswitch()
    site.authority = plane.chassis_authority
    site.hypervisors.node(NODE, "192.0.2.23")
    options = {"southbound": [plane.port], **plane.central.issue("run").options()}
    site.run(**options)
    machine = Vswitch(short_dir, "ch1")
    agent = Agent(machine.start(), short_dir)
    folder, account = short_dir / "node-tls", short_dir / "account"
    for one in (folder, account):
        one.mkdir()
    (account / "token").write_text(site.token_of(NODE))
    shutil.copy(site.server.ca_certificate, account / "ca.crt")
    pair = [f"{folder}/current/tls.key", f"{folder}/current/tls.crt", plane.central.ca_certificate]
    try:
        machine.start_vswitchd()
        settings = site.hypervisors.settings()
        agent.write(settings["_default"], settings.get(NODE))
        agent.start(
            outside=True,
            OVN_NODE_TLS_DIR=str(folder),
            OVN_API_SERVER=site.server.url,
            OVN_SERVICE_ACCOUNT_DIR=str(account),
            **dict(zip(("OVN_PRIVATE_KEY", "OVN_CERTIFICATE", "OVN_CA_CERTIFICATE"), pair)),
        )
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
    finally:
        agent.stop()
        machine.stop()


def test_absent_takes_the_rights_away(site: Site) -> None:
    site.run()
    gone = site.run(state="absent")
    deleted = {f"{one['kind']}" for one in gone["objects"] if one["action"] == "deleted"}
    assert {"ClusterRole", "ClusterRoleBinding"} <= deleted

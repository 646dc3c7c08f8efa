"""Certificates of nodes on a real API server: agents ask with the tokens of their pods, a run signs, and who asks for another node gets nothing."""

from __future__ import annotations

import base64
import contextlib
import json
import os
import pathlib
import shutil
import time
import typing as t

import pytest

pytest.importorskip("cryptography", reason="NOT TESTED: the Python library cryptography is missing")

from _apiserver import ApiServer
from _hypervisors import Hypervisors, hypervisor_cluster
from _pki import Pki, is_signed
from conftest import RunModule, until
from cryptography import x509
from cryptography.hazmat.primitives import serialization

from ansible_collections.c5c3.ovn.plugins.module_utils._agent.api_client import Api
from ansible_collections.c5c3.ovn.plugins.module_utils._agent.node_certificate import NodeCertificate
from ansible_collections.c5c3.ovn.plugins.module_utils._errors import OvnError, Refused

Object = dict[str, t.Any]
REQUESTS = "/apis/certificates.k8s.io/v1/certificatesigningrequests"
DAY = 24 * 3600.0
ACCOUNT = "ovn-controller"


class Site:
    """Nodes a and b (whose chassis has another name), the CA of the chassis, and the pods of ovn-controller as far as the API server knows them."""

    def __init__(self, hypervisors: Hypervisors, authority: Pki, directory: pathlib.Path) -> None:
        self.hypervisors, self.authority, self.directory = hypervisors, authority, directory
        self.server, self.namespace = hypervisors.server, hypervisors.namespace
        self.now = time.time()
        hypervisors.node("a", "192.0.2.21")
        hypervisors.node("b", "192.0.2.22", system_id="b.example.com")

    def run(self, *, signs: bool = True, **options: t.Any) -> t.Any:
        key = self.authority._key.private_bytes(
            serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
        )
        signer = {
            "certificate": pathlib.Path(self.authority.ca_certificate).read_text(),
            **({"private_key": key.decode()} if signs else {}),
        }
        spec = {"tls": {"enabled": True, "nodeCertificates": "own"}}
        return self.hypervisors(spec=spec, southbound=["ssl:127.0.0.1:1"], signer=signer, **options)

    def token_of(self, node: str, *, bound: bool = True) -> str:
        """Return the token that a kubelet mounts into the pod on this node."""
        pods = f"/api/v1/namespaces/{self.namespace}/pods"
        name = f"ovn-controller-{node}"
        container = {"name": "agent", "image": "ovn"}
        spec = {"nodeName": node, "serviceAccountName": ACCOUNT, "containers": [container]}
        try:
            found = json.loads(self.server.request("GET", f"{pods}/{name}"))
        except OSError:
            found = json.loads(self.server.request("POST", pods, {"metadata": {"name": name}, "spec": spec}))
        reference = {"apiVersion": "v1", "kind": "Pod", "name": name, "uid": found["metadata"]["uid"]}
        place = f"/api/v1/namespaces/{self.namespace}/serviceaccounts/{ACCOUNT}/token"
        body = {"spec": {"boundObjectRef": reference if bound else None}}
        return str(json.loads(self.server.request("POST", place, body))["status"]["token"])

    def agent(self, node: str, **token: bool) -> NodeCertificate:
        folder, account = self.directory / f"tls-{node}", self.directory / f"account-{node}"
        for one in (folder, account):
            one.mkdir(exist_ok=True)
        (account / "token").write_text(self.token_of(node, **token))
        shutil.copy(self.server.ca_certificate, account / "ca.crt")
        return NodeCertificate(str(folder), Api(self.server.url, str(account)), lambda: self.now)

    def requests(self) -> list[Object]:
        return list(json.loads(self.server.request("GET", REQUESTS))["items"])


@pytest.fixture
def site(
    api_server: ApiServer,
    namespace: str,
    run_module: RunModule,
    make_pki: t.Callable[[str], Pki],
    tmp_path: pathlib.Path,
) -> t.Iterator[Site]:
    with hypervisor_cluster(api_server, namespace, run_module) as hypervisors:
        try:
            yield Site(hypervisors, make_pki("chassis"), tmp_path)
        finally:
            api_server.request("DELETE", REQUESTS)
            for kind in ("clusterroles", "clusterrolebindings"):
                place = f"/apis/rbac.authorization.k8s.io/v1/{kind}/c5c3-ovn-certificates-{namespace}"
                with contextlib.suppress(OSError):  # a test has deleted it
                    api_server.request("DELETE", place)


def certificate_of(agent: NodeCertificate) -> x509.Certificate:
    return x509.load_pem_x509_certificate(pathlib.Path(agent.folder, "current/tls.crt").read_bytes())


def await_request(agent: NodeCertificate, name: str) -> None:
    """Rights that were just given take a moment."""

    def asked() -> bool:
        try:
            agent.ensure(name)
        except OvnError as e:
            return "is not signed yet" in str(e)
        return False

    until(asked, "a request")


def test_each_node_gets_a_certificate_with_the_name_of_its_chassis(site: Site) -> None:
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
    ran = site.run()
    assert ran["steps"] == []
    (warning,) = [one for one in warnings(ran) if "was denied" in one]
    assert "declared is CN='a'" in warning
    assert "node a is chassis a. Look at the pod of ovn-controller there." in warning
    with pytest.raises(Refused, match=r"got no certificate: CertificateSigningRequest \S+ was denied: its subject is"):
        attacker.ensure("b.example.com")
    (request,) = site.requests()
    assert "certificate" not in request["status"]
    assert not site.run()["changed"]


@pytest.mark.parametrize("case", ["a token of no pod", "a node that is no hypervisor", "an administrator"])
def test_who_else_gets_none(site: Site, case: str) -> None:
    site.run()
    if case == "a node that is no hypervisor":
        site.hypervisors.node("c", "192.0.2.23", labels={})
        asking = site.agent("c")
    else:
        asking = site.agent("a", bound=case != "a token of no pod")
    if case == "an administrator":  # an account of Kubernetes, but not ours
        pathlib.Path(site.directory, "account-a", "token").write_text("token-of-the-admin")
    await_request(asking, "a")
    ran = site.run()
    assert ran["steps"] == []
    (request,) = site.requests()
    assert "certificate" not in request.get("status", {})
    denied = [one["type"] for one in request.get("status", {}).get("conditions", ())]
    assert denied == ([] if case == "an administrator" else ["Denied"])


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


def test_absent_takes_the_rights_away(site: Site) -> None:
    site.run()
    gone = site.run(state="absent")
    deleted = {f"{one['kind']}" for one in gone["objects"] if one["action"] == "deleted"}
    assert {"ClusterRole", "ClusterRoleBinding"} <= deleted


def warnings(ran: t.Any) -> list[str]:
    return [one if isinstance(one, str) else one["event"]["msg"] for one in ran.get("warnings", [])]

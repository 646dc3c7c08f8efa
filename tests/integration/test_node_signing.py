"""A run that signs for nodes on a real API server, beside somebody who has taken a node over, and while it waits for pods."""

from __future__ import annotations

import base64
import threading
import typing as t

import pytest

pytest.importorskip("cryptography", reason="NOT TESTED: the Python library cryptography is missing")

import _node_site
from _beside import beside
from _image_pulls import PULL, ImagePulls
from _node_site import REQUESTS, Site, await_request, certificate_of
from _pki import Pki
from conftest import Ran, until, within
from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

from ansible_collections.c5c3.ovn.plugins.module_utils._base.errors import Refused

VICTIM = "192.0.2.9"


site = _node_site.site  # a fixture


def der(tag: int, body: bytes) -> bytes:
    count = len(body)
    number = count.to_bytes(max(1, (count.bit_length() + 7) // 8), "big")
    return bytes([tag]) + (number if count < 128 else bytes([0x80 + len(number)]) + number) + body


def request_of(name: str, version: int = 0) -> bytes:
    """Return a request that is signed well, maybe of a version that does not exist."""
    key = ec.generate_private_key(ec.SECP256R1())
    subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
    usage = x509.ExtendedKeyUsage([ExtendedKeyUsageOID.CLIENT_AUTH])
    builder = x509.CertificateSigningRequestBuilder().subject_name(subject).add_extension(usage, critical=False)
    info = builder.sign(key, hashes.SHA256()).tbs_certrequest_bytes
    info = info.replace(b"\x02\x01\x00", bytes([2, 1, version]), 1)
    signature = key.sign(info, ec.ECDSA(hashes.SHA256()))
    algorithm = der(0x30, bytes.fromhex("06082a8648ce3d040302"))
    text = base64.encodebytes(der(0x30, info + algorithm + der(0x03, b"\0" + signature))).decode()
    return f"-----BEGIN CERTIFICATE REQUEST-----\n{text}-----END CERTIFICATE REQUEST-----\n".encode()


def post(site: Site, node: str, name: str, text: bytes) -> None:
    """Somebody with the token of an agent sends a request of his own."""
    spec = {
        "request": base64.b64encode(text).decode(),
        "signerName": "ovn.c5c3.io/chassis",
        "usages": ["digital signature", "client auth"],
    }
    kind = {"apiVersion": "certificates.k8s.io/v1", "kind": "CertificateSigningRequest"}
    site.agent(node).api.create(REQUESTS, {**kind, "metadata": {"name": name}, "spec": spec})


def approve(site: Site, name: str) -> None:
    condition = {"type": "Approved", "status": "True", "reason": "KubectlApprove", "message": "by hand"}
    site.server.request("PATCH", f"{REQUESTS}/{name}/approval", {"status": {"conditions": [condition]}})


def conditions(site: Site) -> dict[str, list[str]]:
    return {
        one["metadata"]["name"]: [condition["type"] for condition in one.get("status", {}).get("conditions", ())]
        for one in site.requests()
    }


def test_a_node_does_not_become_another_chassis_by_its_annotations(site: Site) -> None:
    """A kubelet writes the annotations of its own Node: name and tunnel address of the victim make no chassis of it."""
    site.sbctl("chassis-add", "victim", "geneve", VICTIM)
    site.hypervisors.annotate("a", system_id="victim", encapsulation_ip=VICTIM)
    for _run in range(2):  # a run must not take for proof what the one before has recorded
        site.run()
    attacker = site.agent("a")
    await_request(attacker, "victim")
    ran = site.run()
    assert ran["steps"] == []
    assert any(
        'a chassis "victim" of host' in one and "not marked as one of this cluster" in one for one in ran.warnings
    )
    # Also if the row of the victim goes for a moment, or nobody can look.
    site.sbctl("chassis-del", "victim")
    for options in ({}, {"southbound": ["ssl:127.0.0.1:1"]}):
        ran = site.run(**options)
        assert ran["steps"] == []
    assert any("the Southbound database was not asked" in one for one in ran.warnings)
    # A machine that is not registered
    site.give_name("a", "victim")
    signer = dict(zip(("certificate", "private_key"), site.authority.as_texts()))
    ran = site.run(signer={**signer, "other_chassis": ["victim"]})
    assert any('The inventory has another chassis "victim"' in one for one in ran.warnings)
    # An operator says that it is right.
    assert site.run()["steps"] == ["sign the certificate of chassis victim"]
    assert site.hypervisors.settings()["_confirmed"] == {"a": "victim"}
    assert not site.run(southbound=["ssl:127.0.0.1:1"])["steps"]


def test_one_bad_request_keeps_nobody_from_his_certificate(site: Site) -> None:
    """One that no library reads, and one that somebody has approved by hand."""
    site.hypervisors.node("c", "192.0.2.23")
    site.run()
    agent = site.agent("a")
    await_request(agent, "a")
    post(site, "c", "odd", request_of("c", version=1))
    post(site, "c", "approved", request_of("a"))
    approve(site, "approved")
    (good,) = [name for name in conditions(site) if name not in ("odd", "approved")]
    ran = site.run()
    assert sorted(ran["steps"]) == [
        "deny CertificateSigningRequest approved",
        "deny CertificateSigningRequest odd",
        "sign the certificate of chassis a",
    ]
    assert conditions(site) == {"odd": ["Denied"], "approved": ["Approved", "Failed"], good: ["Approved"]}
    agent.ensure("a")
    assert certificate_of(agent).subject.rfc4514_string() == "CN=a"
    assert not site.run()["changed"]


def test_requests_of_a_node_from_before_it_was_installed_again(site: Site) -> None:
    site.run()
    post(site, "a", "of-the-attacker", request_of("a"))
    site.server.request("DELETE", "/api/v1/nodes/a")
    site.hypervisors.node("a", "192.0.2.21")
    site.server.request("DELETE", f"/api/v1/namespaces/{site.namespace}/pods/ovn-controller-a?gracePeriodSeconds=0")
    agent = site.agent("a")
    await_request(agent, "a")
    ran = site.run()
    assert ran["steps"] == ["sign the certificate of chassis a", "deny CertificateSigningRequest of-the-attacker"]
    (warning,) = [one for one in ran.warnings if "was denied" in one]
    assert "its token is of a former Node a, which was deleted" in warning


def test_a_ca_that_no_server_lets_in_is_refused_before_anything_is_changed(
    site: Site, make_pki: t.Callable[[str], Pki]
) -> None:
    other = dict(zip(("certificate", "private_key"), make_pki("other").as_texts()))
    for check in (True, False):
        refused = site.run(signer=other, check=check, may_fail=True)
        assert "does not let in certificates of the CA that signs for nodes (c5c3 test other)" in refused["msg"]
        assert refused["msg"].endswith("Nothing was changed.")
        assert all(one["action"] == "unchanged" for one in refused["objects"])


def test_each_server_has_to_let_in_the_ca(site: Site, make_pki: t.Callable[[str], Pki]) -> None:
    """One that does not answer says nothing of the others."""
    other = dict(zip(("certificate", "private_key"), make_pki("other").as_texts()))
    (endpoint,) = site.southbound.endpoints
    refused = site.run(southbound=["ssl:127.0.0.1:1", endpoint], signer=other, may_fail=True)
    assert f"A server of the Southbound database, {endpoint}, does not let in certificates" in refused["msg"]
    assert not site.run(southbound=["ssl:127.0.0.1:1", endpoint]).get("failed")


def test_nodes_change_to_their_own_certificates_only_if_they_can_get_them(site: Site) -> None:
    """The first pod that is replaced has no ovn-controller until its certificate is there."""
    site.run(certificates="shared")
    before = site.hypervisors.generations()

    def refused(words: str, **options: t.Any) -> None:
        for check in (True, False):
            ran = site.run(may_fail=True, check=check, **options)
            assert ran["msg"].startswith("Nodes cannot get certificates of their own")
            assert words in ran["msg"]
            assert ran["msg"].endswith("Nothing was changed.")
        assert site.hypervisors.generations() == before

    refused("The Southbound database was not asked", southbound=["ssl:127.0.0.1:1"])
    refused('Node b has the name "b.example.com" from an annotation')
    site.give_name("b", "b.example.com")
    files = {
        "private_key": site.tls.private_key,
        "certificate": site.tls.certificate,
        "ca_certificate": site.tls.ca_certificate,
    }
    site.server.request("DELETE", site.place("secrets", "ovn-tls"))
    refused("Nodes would trust no CA, as Secret", **files)
    site.server.request("POST", site.place("secrets"), site.tls.secret("ovn-tls"))
    site.run()
    assert site.hypervisors.generations()["ovn-controller"] == before["ovn-controller"] + 1


def test_what_one_node_says_ends_no_certificate_of_another(site: Site) -> None:
    """A kubelet writes annotations that no run can use; the renewals of others go on, in a run that refuses them."""
    agents = site.asking_agents()
    site.run()
    for name, agent in agents.items():
        agent.ensure(name)
    site.now += 250 * 24 * 3600
    former = certificate_of(agents["b.example.com"])
    for name, agent in agents.items():
        agent.ensure(name)
    # This way a node must not keep a name that a plan would take from it: another cluster has such a chassis.
    site.sbctl("chassis-add", "a", "geneve", VICTIM)
    site.sbctl("set", "Chassis", "a", "other_config:ovn-cms-options=c5c3-ovn-owner=other")
    site.hypervisors.annotate("a", chassis_settings="{")
    predicted = site.run(check=True, may_fail=True)
    assert "of nodes that are as they were, would be dealt with (1)." in predicted["msg"]
    refused = site.run(may_fail=True)
    assert "chassis-settings" in refused["msg"]
    assert (
        "Nothing was changed; only requests for certificates, of nodes that are as they were, were dealt with (1)."
        in refused["msg"]
    )
    assert predicted["steps"] == refused["steps"] == ["sign the certificate of chassis b.example.com"]
    agents["b.example.com"].ensure("b.example.com")
    assert certificate_of(agents["b.example.com"]) != former


class Rollout(threading.Thread):
    """A run that waits for pods."""

    def __init__(self, site: Site, **options: t.Any) -> None:
        super().__init__()
        self.site, self.options, self.ran = site, options, t.cast(Ran, None)

    def run(self) -> None:
        self.ran = self.site.run(wait=True, wait_timeout=min(within(20), 60), may_fail=True, **self.options)


def test_a_run_signs_while_it_waits_for_the_pods(site: Site) -> None:
    """The next node is updated when the last one is ready, which it is with its certificate. So is one that joins meanwhile. For b somebody has to confirm
    its name, so nobody waits for it."""
    rollout = Rollout(site)
    rollout.start()
    until(lambda: has_chassis(site, "a"), "the objects of the run")
    site.hypervisors.node("c", "192.0.2.23")
    late, agent = site.agent("c"), site.agent("a")
    await_request(late, "c")
    await_request(agent, "a")
    await_request(site.agent("b"), "b.example.com")
    until(lambda: can_use(agent, "a"), "the certificate of a")
    until(lambda: can_use(late, "c"), "the certificate of c")
    site.sbctl("chassis-add", "a", "geneve", "192.0.2.21")
    site.sbctl("set", "Chassis", "a", "hostname=a")
    site.hypervisors.pods_are_ready(2)
    rollout.join(within(90))
    assert not rollout.ran.get("failed"), rollout.ran["msg"]
    assert sorted(rollout.ran["steps"]) == ["sign the certificate of chassis a", "sign the certificate of chassis c"]
    assert any('Node b has the name "b.example.com" from an annotation' in one for one in rollout.ran.warnings)
    conditions_of_b = site.hypervisors.chassis()["b"]["status"]["conditions"]
    assert {one["status"] for one in conditions_of_b if one["type"] == "OVSConnected"} == {"False"}
    ran = site.run()
    assert (ran["steps"], site.hypervisors.settings()["_confirmed"]) == ([], {"a": "a", "c": "c"})


def test_a_run_signs_while_nodes_pull_images(site: Site) -> None:
    """That may take hours, and certificates end meanwhile. Who gets none has nothing to do with the images."""
    site.run()
    tls = {"enabled": True, "nodeCertificates": "own"}
    rollout = Rollout(site, spec={"tls": tls, "ovnImage": {"tag": "new"}})
    rollout.start()
    with beside(ImagePulls(site.hypervisors, 2, a="pulling").play):
        until(lambda: PULL in site.hypervisors.generations(), "the DaemonSet that pulls")
        agent = site.agent("a")
        await_request(agent, "a")
        until(lambda: can_use(agent, "a"), "the certificate of a")
        assert PULL in site.hypervisors.generations()
        rollout.join(within(90))
    message = rollout.ran["msg"]
    assert message.startswith("Not all nodes have ")
    assert message.endswith("then run again. No daemon was stopped.")


def test_a_rollout_that_waits_in_vain_says_who_got_no_certificate(site: Site) -> None:
    site.run()
    await_request(site.agent("a"), "a")
    ran = site.run(signs=False, wait=True, wait_timeout=3, may_fail=True)
    assert "were not ready" in ran["msg"]
    assert "waits: This run has no key of the CA of the chassis." in ran["msg"]
    assert conditions(site) == {name: [] for name in conditions(site)}


def has_chassis(site: Site, node: str) -> bool:
    try:
        return node in site.hypervisors.chassis()
    except OSError:  # the definition is not there yet
        return False


def can_use(agent: t.Any, name: str) -> bool:
    try:
        agent.ensure(name)
    except Refused:
        return False
    return True

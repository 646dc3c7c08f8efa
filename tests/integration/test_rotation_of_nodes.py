"""c5c3.ovn.rotate where nodes have certificates of their own: a real API server, agents with their tokens, and a relay that shows the files of the Secret."""

from __future__ import annotations

import base64
import contextlib
import itertools
import json
import pathlib
import threading
import typing as t

import pytest

pytest.importorskip("cryptography", reason="NOT TESTED: the Python library cryptography is missing")

import test_pki_kubernetes
from _hypervisors import Hypervisors, hypervisor_cluster
from _node_site import ACCOUNT, REQUESTS, certificate_of
from _pki import certificates_in, is_signed
from _pki_site import PLAYBOOK
from conftest import RunModule, next_address, start_tls_server, until
from conftest import run as output_of
from test_pki_authorities import RELAY, SCHEMAS
from test_pki_kubernetes import Site

from ansible_collections.c5c3.ovn.plugins.module_utils._agent.api_client import Api
from ansible_collections.c5c3.ovn.plugins.module_utils._agent.node_certificate import NodeCertificate
from ansible_collections.c5c3.ovn.plugins.module_utils._base.errors import OvnError

site = test_pki_kubernetes.site  # a fixture

ROTATE = "- ansible.builtin.import_playbook: c5c3.ovn.rotate\n"
HYPERVISORS = f"""{PLAYBOOK}
- name: Nodes
  hosts: ovn_hypervisors
  gather_facts: false
  roles: [c5c3.ovn.ovn_hypervisor]
"""


class Relay:
    """A server of the Southbound database with what a pod shows of the Secret of the control plane."""

    def __init__(self, site: Site, folder: pathlib.Path) -> None:
        self.site, self.folder = site, folder
        self.address = next_address()
        self.endpoint = f"ssl:{self.address}:{RELAY}"
        self.show()
        self.socket = folder / "sb.sock"
        files = [str(folder / name) for name in ("tls.key", "tls.crt", "client-ca.crt")]
        self.daemon = start_tls_server(
            *(folder / "sb.db", SCHEMAS["sb"], files, self.address, RELAY), f"punix:{self.socket}"
        )
        self.sbctl("init")

    def show(self) -> None:
        for key, content in self.site.contents("plane").items():
            path = self.folder / key
            if not path.exists() or path.read_bytes() != content:
                path.with_suffix(".new").write_bytes(content)
                path.with_suffix(".new").replace(path)

    def sbctl(self, *arguments: str) -> None:
        output_of("ovn-sbctl", f"--db=unix:{self.socket}", "--timeout=20", *arguments)


class Kubelet(threading.Thread):
    """What kubelet and controllers do for the one node a, whose pod is ready when its agent has a certificate of the CA that the pod was started for."""

    def __init__(self, hypervisors: Hypervisors, relay: Relay, folder: pathlib.Path) -> None:
        super().__init__(daemon=True)
        self.hypervisors, self.relay, self.folder = hypervisors, relay, folder
        self.pods = f"/api/v1/namespaces/{hypervisors.namespace}/pods"
        self.is_asking, self.stopped = threading.Event(), threading.Event()
        self.is_asking.set()
        self.agent: NodeCertificate | None = None
        self.has_row = False
        self._generation = 0
        self._ticks = itertools.count(step=10_000.0)

    def run(self) -> None:
        while not self.stopped.wait(1.0):
            self.relay.show()
            with contextlib.suppress(OSError):  # an object is not there yet
                self.look()

    def look(self) -> None:
        place = f"/apis/apps/v1/namespaces/{self.hypervisors.namespace}/daemonsets"
        found = self.hypervisors.get(f"{place}/{ACCOUNT}")
        self.hypervisors.get(f"{place}/ovs")
        if found["metadata"]["generation"] != self._generation:
            self._replace_pod(found)
            self._generation = found["metadata"]["generation"]
        is_ready = self._has_certificate()
        if is_ready and not self.has_row:
            self.relay.sbctl("chassis-add", "a", "geneve", "192.0.2.21", "--", "set", "Chassis", "a", "hostname=a")
            self.has_row = True
        conditions = [{"type": "Ready", "status": "True" if is_ready else "False"}]
        self.hypervisors.server.request(
            "PATCH", f"{self.pods}/{ACCOUNT}-a/status", {"status": {"conditions": conditions}}
        )
        self.hypervisors.pods_are_ready(1 if is_ready else 0)

    def _replace_pod(self, found: t.Any) -> None:
        with contextlib.suppress(OSError):
            self.hypervisors.server.request("DELETE", f"{self.pods}/{ACCOUNT}-a?gracePeriodSeconds=0")
        template = found["spec"]["template"]
        metadata = {"name": f"{ACCOUNT}-a", "labels": template["metadata"]["labels"]}
        body = {"metadata": metadata, "spec": {**template["spec"], "nodeName": "a"}}
        self.hypervisors.server.request("POST", self.pods, body)
        account = self.hypervisors.account_of("a", self.folder)
        (agent,) = [one for one in template["spec"]["containers"] if one["name"] == "agent"]
        variables = {one["name"]: one.get("value", "") for one in agent["env"]}
        (self.folder / "tls").mkdir(exist_ok=True)
        api = Api(self.hypervisors.server.url, str(account))
        issuer = variables["OVN_NODE_TLS_ISSUER"]
        self.agent = NodeCertificate(str(self.folder / "tls"), api, issuer, ticks=lambda: next(self._ticks))

    def _has_certificate(self) -> bool:
        if self.agent is None or not self.is_asking.is_set():
            return False
        try:
            self.agent.ensure("a")
        except OvnError:
            return False
        return not self.agent.problem


@pytest.fixture
def kubelet(site: Site, run_module: RunModule, short_dir: pathlib.Path) -> t.Iterator[Kubelet]:
    site.chassis = ["rack1"]
    site.apply(ovn_node_certificates="own")
    relay = Relay(site, short_dir)
    with hypervisor_cluster(site.server, site.namespaces["rack1"], run_module) as hypervisors:
        hypervisors.node("a", "192.0.2.21")
        made = Kubelet(hypervisors, relay, site.root)
        made.start()
        try:
            yield made
        finally:
            made.stopped.set()
            made.join(30)
            relay.daemon.kill()
            site.server.request("DELETE", REQUESTS)
            for kind in ("clusterroles", "clusterrolebindings"):
                with contextlib.suppress(OSError):
                    place = (
                        f"/apis/rbac.authorization.k8s.io/v1/{kind}/c5c3-ovn-certificates-{site.namespaces['rack1']}"
                    )
                    site.server.request("DELETE", place)


@pytest.mark.rotations
def test_nodes_get_certificates_of_the_next_ca_before_the_former_one_is_retired(
    daemons: None, site: Site, kubelet: Kubelet
) -> None:
    own = {
        "ovn_node_certificates": "own",
        "ovn_southbound_endpoints": [kubelet.relay.endpoint],
        "ovn_northbound_endpoints": [kubelet.relay.endpoint.replace("6642", "6641")],
        "ovn_wait_timeout": 20,
    }

    def let_in() -> list[t.Any]:
        return certificates_in(site.contents("plane")["client-ca.crt"])

    def note() -> t.Any:
        return json.loads((site.ca / "rotation.json").read_text())

    site.apply(playbook=HYPERVISORS, **own)
    assert kubelet.agent is not None
    former, first = site.signer("rack1"), certificate_of(kubelet.agent)
    assert is_signed(first, former)

    # The node is down when its pod is replaced: the rotation stops, and goes on in the same phase.
    kubelet.is_asking.clear()
    code, output = site.run(playbook=ROTATE, **{**own, "ovn_wait_timeout": 3}, ovn_pki_rotate="chassis")
    assert code != 0
    assert "were not ready" in output
    assert note()["phase"] == "switch"
    assert certificate_of(kubelet.agent) == first
    assert former in let_in()
    assert site.signer("rack1") != former
    # Nor is the former CA retired by hand.
    refused = site.refuse(**own, ovn_pki_ca_rotation="finish")
    assert "Nodes may still use certificates of the former CA of the chassis" in refused
    assert f"Pod {site.namespaces['rack1']}/ovn-controller-a on node a is not ready" in refused
    assert former in let_in()

    kubelet.is_asking.set()
    code, output = site.run(playbook=ROTATE, **own, ovn_pki_rotate="chassis")
    assert code == 0, output
    assert not (site.ca / "rotation.json").exists()
    assert is_signed(certificate_of(kubelet.agent), site.signer("rack1"))
    assert let_in() == [site.authority(), site.signer("rack1")]
    found = json.loads(
        site.server.request("GET", f"/api/v1/namespaces/{site.namespaces['rack1']}/configmaps/ovn-chassis-ca")
    )
    assert certificates_in(found["data"]["ca.crt"].encode()) == [site.authority()]
    answers = [one for one in json.loads(site.server.request("GET", REQUESTS))["items"] if one.get("status")]
    assert any(base64.b64decode(one["status"].get("certificate", "")).startswith(b"-----BEGIN") for one in answers)
    assert kubelet.agent.problem == ""

    # A node that is down keeps nobody from another central CA: its certificate is not of that one.
    kubelet.is_asking.clear()
    place = f"/api/v1/namespaces/{site.namespaces['rack1']}/pods/ovn-controller-a"

    def is_down() -> bool:
        conditions = json.loads(site.server.request("GET", place))["status"]["conditions"]
        return any(one["type"] == "Ready" and one["status"] == "False" for one in conditions)

    until(is_down, "a pod that is not ready")
    central = site.authority()
    code, output = site.run(playbook=ROTATE, **own, ovn_pki_rotate="central")
    assert code == 0, output
    assert central not in (site.authority(), *let_in())

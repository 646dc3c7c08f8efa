"""Nodes that ask a real API server for certificates, a Southbound database, and the run that signs: what the tests of both have in common."""

from __future__ import annotations

import contextlib
import itertools
import json
import pathlib
import time
import typing as t

import pytest
from _apiserver import ApiServer
from _hypervisors import API, Hypervisors, hypervisor_cluster
from _pki import Pki
from conftest import MakeCluster, RaftCluster, RunModule, run, until
from cryptography import x509

from ansible_collections.c5c3.ovn.plugins.module_utils._agent.api_client import Api
from ansible_collections.c5c3.ovn.plugins.module_utils._agent.node_certificate import NodeCertificate
from ansible_collections.c5c3.ovn.plugins.module_utils._base.errors import OvnError

Object = dict[str, t.Any]
REQUESTS = "/apis/certificates.k8s.io/v1/certificatesigningrequests"
ACCOUNT = "ovn-controller"


class Site:
    """Nodes a and b (whose chassis has another name), the CA of the chassis, a Southbound database whose server lets in what it signs, and the pods of
    ovn-controller as far as the API server knows them."""

    def __init__(
        self, hypervisors: Hypervisors, authority: Pki, southbound: RaftCluster, directory: pathlib.Path
    ) -> None:
        self.hypervisors, self.authority, self.southbound, self.directory = (
            hypervisors,
            authority,
            southbound,
            directory,
        )
        self.server, self.namespace = hypervisors.server, hypervisors.namespace
        self.now, self.ticks = time.time(), itertools.count(step=10_000.0)  # hours go by between two looks of an agent
        self.tls = authority.issue("hypervisors", usages=("client",))
        self.server.request("POST", self.place("secrets"), self.tls.secret("ovn-tls"))
        hypervisors.node("a", "192.0.2.21")
        hypervisors.node("b", "192.0.2.22", system_id="b.example.com")

    def place(self, kind: str, name: str = "", group: str = "api/v1") -> str:
        return f"/{group}/namespaces/{self.namespace}/{kind}" + (f"/{name}" if name else "")

    def run(self, *, signs: bool = True, **options: t.Any) -> t.Any:
        certificate, key = self.authority.as_texts()
        signer = {"certificate": certificate, **({"private_key": key} if signs else {})}
        spec = {"tls": {"enabled": True, "nodeCertificates": options.pop("certificates", "own")}}
        return self.hypervisors(**{"spec": spec, "signer": signer, "southbound": self.southbound.endpoints, **options})

    def sbctl(self, *arguments: str) -> str:
        return run("ovn-sbctl", f"--db={self.southbound.members[0].socket}", "--timeout=20", *arguments).strip()

    def let_ask(self, account: str) -> None:
        """Give another account of the namespace the right to create requests."""
        name, group = f"c5c3-ovn-certificates-{self.namespace}", "rbac.authorization.k8s.io"
        binding = {
            "metadata": {"name": f"{name}-{account}"},
            "roleRef": {"apiGroup": group, "kind": "ClusterRole", "name": name},
            "subjects": [{"kind": "ServiceAccount", "name": account, "namespace": self.namespace}],
        }
        self.server.request("POST", f"/apis/{group}/v1/clusterrolebindings", binding)

    def give_name(self, node: str, name: str) -> None:
        """An operator says which chassis it is, in a place where no kubelet may write. The definition has to be there."""
        spec = {"hostname": node, "systemId": name, "encapsulation": {"type": "geneve", "ip": "192.0.2.22"}}
        body = {"apiVersion": "ovn.c5c3.io/v1alpha1", "kind": "OVNChassis", "metadata": {"name": node}, "spec": spec}
        self.server.request("APPLY", f"{API}/{node}?fieldManager=operator&force=true", body)

    def agent(self, node: str, **token: t.Any) -> NodeCertificate:
        folder = self.directory / f"tls-{node}"
        folder.mkdir(exist_ok=True)
        account = self.hypervisors.account_of(node, self.directory, **token)
        api, issuer = Api(self.server.url, str(account)), self.variables().get("OVN_NODE_TLS_ISSUER", "")
        return NodeCertificate(str(folder), api, issuer, now=lambda: self.now, ticks=lambda: next(self.ticks))

    def asking_agents(self) -> dict[str, NodeCertificate]:
        """Return the agents of both nodes by the names of their chassis, which may have them. They have asked for their first certificates."""
        self.run()
        self.give_name("b", "b.example.com")
        self.run()
        agents = {"a": self.agent("a"), "b.example.com": self.agent("b")}
        for name, agent in agents.items():
            await_request(agent, name)
        return agents

    def template(self) -> Object:
        """Return the specification of the pods."""
        found = json.loads(self.server.request("GET", self.place("daemonsets", ACCOUNT, "apis/apps/v1")))
        return t.cast(Object, found["spec"]["template"]["spec"])

    def variables(self) -> dict[str, str]:
        """Return the environment of the agents, as it is declared."""
        (agent,) = [one for one in self.template()["containers"] if one["name"] == "agent"]
        return {one["name"]: one.get("value", "") for one in agent["env"]}

    def authorities(self) -> str:
        """Return the CAs that nodes trust."""
        found = json.loads(self.server.request("GET", self.place("configmaps", "ovn-chassis-ca")))
        return str(found["data"]["ca.crt"])

    def kubelet_reads(self, kind: str, name: str) -> bool:
        """Return whether the kubelet of node a may read this object."""
        asked = {"namespace": self.namespace, "verb": "get", "resource": kind, "name": name}
        spec = {"user": "system:node:a", "groups": ["system:nodes"], "resourceAttributes": asked}
        answer = self.server.request("POST", "/apis/authorization.k8s.io/v1/subjectaccessreviews", {"spec": spec})
        return bool(json.loads(answer)["status"]["allowed"])

    def requests(self) -> list[Object]:
        return list(json.loads(self.server.request("GET", REQUESTS))["items"])


@contextlib.contextmanager
def node_site(
    server: ApiServer,
    namespace: str,
    run_module: RunModule,
    authority: Pki,
    southbound: RaftCluster,
    directory: pathlib.Path,
) -> t.Iterator[Site]:
    with hypervisor_cluster(server, namespace, run_module) as hypervisors:
        try:
            yield Site(hypervisors, authority, southbound, directory)
        finally:
            server.request("DELETE", REQUESTS)
            for kind in ("clusterroles", "clusterrolebindings"):
                place = f"/apis/rbac.authorization.k8s.io/v1/{kind}/c5c3-ovn-certificates-{namespace}"
                with contextlib.suppress(OSError):  # a test has deleted it
                    server.request("DELETE", place)


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

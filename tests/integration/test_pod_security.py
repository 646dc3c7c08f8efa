"""Which Pod Security level admits which pods, on a real API server: it refuses what a level forbids."""

from __future__ import annotations

import json
import typing as t
import urllib.error

import _control_plane
import pytest
from _apiserver import ApiServer
from _control_plane import ControlPlane
from built_manifests import hypervisor_manifests_of, manifests_of

from ansible_collections.c5c3.ovn.plugins.module_utils._api.spec import parse_spec

plane = _control_plane.plane  # fixture

_NOW = {"gracePeriodSeconds": 0, "kind": "DeleteOptions", "apiVersion": "v1"}
ENFORCE = "pod-security.kubernetes.io/enforce"
Object = dict[str, t.Any]


def hypervisors(raw: Object, namespace: str) -> list[Object]:
    return hypervisor_manifests_of(parse_spec(raw, name="ovn", namespace=namespace), namespace=namespace)


def create_pods(server: ApiServer, namespace: str, manifests: list[Object], level: str) -> dict[str, str]:
    """Create one pod of each workload, and return what the API server says of those that it refuses."""
    server.request("PATCH", f"/api/v1/namespaces/{namespace}", {"metadata": {"labels": {ENFORCE: level}}})
    refused = {}
    for manifest in manifests:
        if manifest["kind"] == "ServiceAccount":
            server.request("POST", f"/api/v1/namespaces/{namespace}/serviceaccounts", manifest)
        template = manifest.get("spec", {}).get("template")
        if template is None:
            continue
        name = manifest["metadata"]["name"]
        spec = dict(template["spec"])
        if "volumeClaimTemplates" in manifest["spec"]:
            claim: Object = {"name": "data", "persistentVolumeClaim": {"claimName": f"data-{name}-0"}}
            spec["volumes"] = [*spec["volumes"], claim]
        try:
            body = {"metadata": {"name": name, "labels": template["metadata"]["labels"]}, "spec": spec}
            server.request("POST", f"/api/v1/namespaces/{namespace}/pods", body)
        except urllib.error.HTTPError as e:
            refused[name] = json.loads(e.read())["message"]
    return refused


PROXY = {
    "leaderProxy": {"enabled": True, "nodeSelector": {"kubernetes.io/os": "linux"}},
    "neutronIntegration": {"sbConnection": {"allowedNamespaces": ["openstack"]}},
}


@pytest.mark.parametrize("raw", [PROXY, {**PROXY, "tls": {"enabled": False}}], ids=["with TLS", "without TLS"])
def test_every_pod_of_the_control_plane_is_restricted(api_server: ApiServer, namespace: str, raw: Object) -> None:
    manifests = manifests_of(raw, name="ovn", namespace=namespace)
    assert create_pods(api_server, namespace, manifests, "restricted") == {}
    pods = json.loads(api_server.request("GET", f"/api/v1/namespaces/{namespace}/pods"))["items"]
    assert len(pods) == 5
    for pod in pods:
        assert pod["spec"]["serviceAccountName"] == pod["metadata"]["name"]


@pytest.mark.parametrize("raw", [{}, {"ovs": {"datapathType": "netdev"}}], ids=["kernel", "user space"])
def test_two_workloads_need_a_privileged_namespace(api_server: ApiServer, namespace: str, raw: Object) -> None:
    refused = create_pods(api_server, namespace, hypervisors(raw, namespace), "baseline")
    assert sorted(refused) == ["ovn-controller", "ovs"]
    assert all("hostNetwork=true" in message and "hostPath" in message for message in refused.values())
    for account in ("ovs", "ovn-controller"):
        api_server.request("DELETE", f"/api/v1/namespaces/{namespace}/serviceaccounts/{account}")
    assert create_pods(api_server, namespace, hypervisors(raw, namespace), "privileged") == {}


AGENT = {
    "enabled": True,
    "image": {"repository": "r/neutron", "tag": "1"},
    "novaMetadata": {"host": "nova"},
    "sharedSecretRef": {"name": "nova"},
}


def test_the_metadata_agent_needs_what_privileged_containers_may(api_server: ApiServer, namespace: str) -> None:
    manifests = hypervisors({"metadataAgent": AGENT}, namespace)
    agent = [one for one in manifests if one["metadata"]["name"] == "ovn-metadata-agent"]
    refused = create_pods(api_server, namespace, agent, "baseline")
    assert list(refused) == ["ovn-metadata-agent"]
    assert "privileged" in refused["ovn-metadata-agent"]
    api_server.request("DELETE", f"/api/v1/namespaces/{namespace}/serviceaccounts/ovn-metadata-agent")
    assert create_pods(api_server, namespace, agent, "privileged") == {}
    api_server.request("DELETE", f"/api/v1/namespaces/{namespace}/serviceaccounts/ovn-metadata-agent")
    api_server.request("DELETE", f"/api/v1/namespaces/{namespace}/pods/ovn-metadata-agent", _NOW)
    for one in agent:
        if one["kind"] == "DaemonSet":
            one["spec"]["template"]["spec"]["containers"][0]["securityContext"] = {
                "capabilities": {"add": ["SYS_ADMIN"]}
            }
    # Why capabilities are not enough: its namespaces have to be seen on the node.
    refused = create_pods(api_server, namespace, agent, "privileged")
    assert "Bidirectional mount propagation is available only to privileged containers" in refused["ovn-metadata-agent"]


@pytest.mark.parametrize(
    ("options", "level"), [({}, "restricted"), ({"pod_security": "privileged"}, "privileged")], ids=["usual", "chosen"]
)
def test_a_namespace_that_a_run_creates_enforces_it(plane: ControlPlane, options: Object, level: str) -> None:
    before = f"/api/v1/namespaces/{plane.namespace}"
    plane.namespace = f"{plane.namespace}-new"
    plane.late(**options)
    labels = json.loads(plane.server.request("GET", f"/api/v1/namespaces/{plane.namespace}"))["metadata"]["labels"]
    assert labels[ENFORCE] == level
    assert ENFORCE not in json.loads(plane.server.request("GET", before))["metadata"]["labels"]

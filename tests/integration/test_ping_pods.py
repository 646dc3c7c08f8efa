"""What the connectivity test does in Kubernetes: the switch is written in pods of the database, and the pods of guests have no key and few capabilities."""

from __future__ import annotations

import json
import typing as t
import urllib.error

import _control_plane
import pytest
from _apiserver import ApiServer
from _control_plane import WHOLE, ControlPlane
from _pods_on_api import Kubelet
from conftest import run, until

from ansible_collections.c5c3.ovn.plugins.module_utils._roles.guest_pods import guest_objects
from ansible_collections.c5c3.ovn.plugins.modules import ovn_test_network

plane, kubelet = _control_plane.plane, _control_plane.kubelet  # fixtures

PORTS = [{"name": "t-a", "mac": "02:c5:c3:00:00:01", "ip": "198.18.0.1"}]


def test_a_command_in_a_pod_writes_the_switch(plane: ControlPlane, kubelet: Kubelet) -> None:
    plane(spec=WHOLE, wait=False, wait_timeout=120)

    def network(check: bool = False, may_fail: bool = False, **options: t.Any) -> t.Any:
        return plane.module(ovn_test_network, {"cluster": "ovn", "name": "t", **options}, check, may_fail)

    def switches() -> list[str]:
        """As each member has them."""
        members = [one for name, one in kubelet.members.items() if "northbound" in name]
        nbctl = ("--no-leader-only", "--timeout=20", "--bare", "--columns=name", "list", "Logical_Switch")
        return [run("ovn-nbctl", f"--db=unix:{one.sock}", *nbctl).strip() for one in members]

    predicted = network(check=True, ports=PORTS)
    assert predicted["written"] == ["switch t", "port t-a (02:c5:c3:00:00:01 198.18.0.1)"]
    assert switches() == ["", "", ""]
    assert network(ports=PORTS)["written"] == predicted["written"]
    until(lambda: switches() == ["t", "t", "t"], "the switch on each member")
    assert not network(ports=PORTS)["changed"]
    kubelet.ended("ovn-northbound-0", gracefully=False)
    assert network(state="absent")["changed"]
    assert not network(state="absent")["changed"]
    assert "No pod of the Northbound database of the OVNCluster x" in network(may_fail=True, cluster="x")["msg"]


@pytest.fixture
def guests(namespace: str) -> list[dict[str, t.Any]]:
    """The objects that the role creates for two guests."""
    switch = {
        "spec": {
            "containers": [{"name": "ovs", "image": "example.org/ovn:1", "imagePullPolicy": "IfNotPresent"}],
            "volumes": [{"name": "sockets", "hostPath": {"path": "/run/x"}}],
        }
    }
    nodes = {f"c5c3-ping-{node}": node for node in ("a", "b")}
    return guest_objects("c5c3-ping", namespace, nodes, switch, [switch])


def test_the_pods_of_guests(guests: list[dict[str, t.Any]], api_server: ApiServer, namespace: str) -> None:
    """As the API server completes them: it drops and corrects what it does not know."""
    account, *pods = guests
    place = f"/api/v1/namespaces/{namespace}"
    api_server.request("POST", f"{place}/serviceaccounts", account)
    for pod in pods:
        made = json.loads(api_server.request("POST", f"{place}/pods", pod))
        spec, (container,) = made["spec"], made["spec"]["containers"]
        assert spec["serviceAccountName"] == account["metadata"]["name"] == "c5c3-ping"
        assert spec["automountServiceAccountToken"] is False
        assert spec["activeDeadlineSeconds"] == 3600, "also after a run that was killed"
        assert {tuple(volume)[-1] for volume in spec["volumes"]} == {"emptyDir", "hostPath"}, "no key, no token"
        assert spec["volumes"][2]["hostPath"] == {"path": "/run/x", "type": "Directory"}, "never an empty one"
        assert [mount["name"] for mount in container["volumeMounts"]] == ["run", "tmp", "sockets"]
        assert container["securityContext"] == {
            "allowPrivilegeEscalation": False,
            "appArmorProfile": {"type": "Unconfined"},
            "capabilities": {"drop": ["ALL"], "add": ["SYS_ADMIN", "NET_ADMIN", "NET_RAW"]},
            "readOnlyRootFilesystem": True,
        }
        assert container["resources"]["requests"] == {"cpu": "5m", "memory": "32Mi"}


@pytest.mark.parametrize("level", ["baseline", "restricted"])
def test_a_namespace_of_the_control_plane_refuses_them(
    guests: list[dict[str, t.Any]], api_server: ApiServer, namespace: str, level: str
) -> None:
    labels = {"pod-security.kubernetes.io/enforce": level}
    api_server.request("PATCH", f"/api/v1/namespaces/{namespace}", {"metadata": {"labels": labels}})
    account, pod, _other = guests
    api_server.request("POST", f"/api/v1/namespaces/{namespace}/serviceaccounts", account)
    with pytest.raises(urllib.error.HTTPError) as refused:
        api_server.request("POST", f"/api/v1/namespaces/{namespace}/pods", pod)
    assert f'violates PodSecurity "{level}' in json.loads(refused.value.read())["message"]

"""Who is connected to the port of chassis before relays take it over."""

from __future__ import annotations

import json
import socket
import struct
import typing as t

import pytest
from fake_cluster import FakeCluster

from ansible_collections.c5c3.ovn.plugins.module_utils._api.spec import parse_spec
from ansible_collections.c5c3.ovn.plugins.module_utils._base.errors import OvnError, Refused, Unreachable
from ansible_collections.c5c3.ovn.plugins.module_utils._control_plane.chassis_port_clients import check_clients
from ansible_collections.c5c3.ovn.plugins.module_utils._control_plane.desired import DesiredCluster
from ansible_collections.c5c3.ovn.plugins.module_utils._control_plane.observed_state import ObservedCluster
from ansible_collections.c5c3.ovn.plugins.module_utils._kubernetes.command import ExecResult

MEMBER, NODE, TUNNEL, NORTHD, NEUTRON = "10.0.0.1", "192.0.2.1", "198.51.100.1", "10.0.0.9", "10.0.7.7"
MEMBERS = [f"ovn-southbound-{index}" for index in range(2)]
RELAY = {"name": "relay", "restartPolicy": "Always"}


def hexadecimal(address: str, port: int) -> str:
    words = socket.inet_pton(socket.AF_INET, address)
    return f"{struct.unpack('=I', words)[0]:08X}:{port:04X}"


def shown(*peers: str, port: int = 6642, state: str = "01") -> str:
    """What `cat /proc/net/tcp` shows of these connections."""
    rows = [f"   0: {hexadecimal(MEMBER, port)} {hexadecimal(peer, 40000)} {state} 0 0" for peer in peers]
    return "\n".join(["  sl  local_address rem_address   st", *rows, ""])


class Former:
    """A control plane whose two Southbound members serve chassis; `asks` tells the commands in their pods."""

    def __init__(self, connections: str | OvnError, tunnel: str = TUNNEL, *, has_relay: bool = False) -> None:
        pods = [self.pod(name, "southbound", MEMBER) for name in MEMBERS]
        self.cluster = FakeCluster(*pods, self.pod("ovn-northd-1", "northd", NORTHD), self.node())
        answers = [connections] * len(MEMBERS) + [
            json.dumps([{"rows": [{"chassis_name": "c1", "type": "geneve", "ip": tunnel}]}])
        ]
        for answer in answers:
            self.cluster.before("exec", self._answer(answer))
        template = {"spec": {"initContainers": [RELAY] if has_relay else [], "containers": []}}
        self.stateful_set = {"spec": {"template": template}}
        self.warnings: list[str] = []

    @staticmethod
    def pod(name: str, component: str, address: str) -> dict[str, t.Any]:
        labels = {"app.kubernetes.io/instance": "ovn", "app.kubernetes.io/component": component}
        running = [{"name": "database", "state": {"running": {}}}]
        return {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {"name": name, "namespace": "net", "labels": labels},
            "status": {"podIPs": [{"ip": address}], "containerStatuses": running},
        }

    @staticmethod
    def node() -> dict[str, t.Any]:
        addresses = [{"type": "Hostname", "address": "n1"}, {"type": "InternalIP", "address": NODE}]
        return {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n1"}, "status": {"addresses": addresses}}

    def _answer(self, answer: str | OvnError) -> OvnError | t.Callable[[], object]:
        if isinstance(answer, OvnError):
            return answer
        return lambda: self.cluster.answers.update(dict.fromkeys(MEMBERS, ExecResult(0, answer, "")))

    @property
    def asks(self) -> int:
        return len(self.cluster.asked("exec"))

    def check(self, spec: dict[str, t.Any] | None = None) -> None:
        raw = spec or {}
        full = parse_spec(raw, name="ovn", namespace="net")
        desired = DesiredCluster("ovn", "net", raw, full, {}, "cluster.local", {})
        key = ("apps/v1", "StatefulSet", "net", "ovn-southbound")
        observed = ObservedCluster("ovn", "net", None, None, {key: self.stateful_set})
        check_clients(self.cluster, desired, observed, self.warnings.append)


def declared(**connection: t.Any) -> dict[str, t.Any]:
    return {"neutronIntegration": {"sbConnection": connection}}


def test_a_client_that_is_no_chassis_stops_the_run() -> None:
    former = Former(shown(NODE, TUNNEL, NORTHD, NEUTRON, MEMBER))
    with pytest.raises(Refused) as refused:
        former.check()
    assert f": {NEUTRON} would be cut off" in str(refused.value)
    assert "allowedNamespaces of OVNCluster ovn" in str(refused.value)
    assert former.warnings == []


def test_many_of_them_are_counted() -> None:
    with pytest.raises(Refused, match=r"10\.0\.7\.9 and 2 more would be"):
        Former(shown(*(f"10.0.7.{number}" for number in range(12)))).check()


@pytest.mark.parametrize(
    "connections",
    [
        pytest.param(shown(NODE, TUNNEL, NORTHD), id="chassis and pods of the control plane"),
        pytest.param(shown(NEUTRON, state="06"), id="a connection that has ended"),
        pytest.param(shown(NEUTRON, port=6644), id="another port"),
    ],
)
def test_where_nobody_else_is_connected_a_warning_says_who_will_not_be(connections: str) -> None:
    former = Former(connections)
    former.check()
    (warning,) = former.warnings
    assert "nobody but pods of the control plane reaches it" in warning


def test_what_a_chassis_writes_need_be_no_address() -> None:
    with pytest.raises(Refused):
        Former(shown(NEUTRON), "10.0.0.0/8").check()


def test_who_is_connected_may_be_unknown() -> None:
    former = Former(Unreachable("no answer"))
    former.check()
    assert former.warnings[0].endswith("Who is connected now is not known: no answer")


def test_without_a_table_of_connections_it_is_unknown() -> None:
    former = Former("")
    former.check()
    assert "does not show its connections" in former.warnings[0]


@pytest.mark.parametrize(
    ("former", "spec"),
    [
        pytest.param(Former(shown(NEUTRON), has_relay=True), {}, id="relays are there"),
        pytest.param(Former(shown(NEUTRON)), {"tls": {"enabled": False}}, id="without TLS there are none"),
        pytest.param(Former(shown(NEUTRON)), declared(allowedNamespaces=["openstack"]), id="namespaces are named"),
        pytest.param(Former(shown(NEUTRON)), declared(allowedNamespaces=[]), id="nobody is, on purpose"),
        pytest.param(Former(shown(NEUTRON)), declared(allowedCidrs=["10.0.7.0/24"]), id="networks are named"),
    ],
)
def test_when_nobody_is_asked(former: Former, spec: dict[str, t.Any]) -> None:
    former.check(spec)
    assert (former.asks, former.warnings) == (0, [])

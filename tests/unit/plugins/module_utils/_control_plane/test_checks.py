"""What is said when chassis get a role, or lose it."""

from __future__ import annotations

import json
import socket
import struct
import typing as t

import pytest
from fake_cluster import FakeCluster

from ansible_collections.c5c3.ovn.plugins.module_utils._api.spec import parse_spec
from ansible_collections.c5c3.ovn.plugins.module_utils._base.errors import OvnError, Refused, Unreachable
from ansible_collections.c5c3.ovn.plugins.module_utils._control_plane.checks import (
    check_clients,
    first_replicas,
    role_change,
)
from ansible_collections.c5c3.ovn.plugins.module_utils._control_plane.desired import DesiredCluster
from ansible_collections.c5c3.ovn.plugins.module_utils._control_plane.observed_state import ObservedCluster
from ansible_collections.c5c3.ovn.plugins.module_utils._kubernetes.command import ExecResult
from ansible_collections.c5c3.ovn.plugins.module_utils._raft.record import Member, Record

ROLE = {"relay": {"rbac": True}}
PLAIN = {"tls": {"enabled": False}}


@pytest.mark.parametrize(
    ("before", "after", "words"),
    [
        pytest.param(None, ROLE, "", id="a new control plane"),
        pytest.param(ROLE, ROLE, "", id="as it was"),
        pytest.param({}, {}, "", id="without a role"),
        pytest.param({}, ROLE, "chassis get the role", id="chassis get it"),
        pytest.param({**ROLE, **PLAIN}, ROLE, "chassis get the role", id="there was no TLS"),
        pytest.param(ROLE, {}, "chassis lose the role", id="chassis lose it"),
        pytest.param(ROLE, {**ROLE, **PLAIN}, "chassis lose the role", id="TLS goes"),
    ],
)
def test_a_change_is_told(before: dict[str, t.Any] | None, after: dict[str, t.Any], words: str) -> None:
    spec = parse_spec(after, name="ovn", namespace="net")
    message = role_change(before, DesiredCluster("ovn", "net", after, spec, {}, "cluster.local", {}))
    assert bool(message) is bool(words)
    assert words in message


CID = "aaaaaaaa-1111-4111-8111-111111111111"
WANTED = DesiredCluster("ovn", "x", {}, parse_spec({}, name="ovn", namespace="x"), {}, "cluster.local", {})


def live(claims: t.Sequence[int], replicas: int | None = None) -> ObservedCluster:
    names = [("PersistentVolumeClaim", "v1", f"data-ovn-northbound-{index}") for index in claims]
    index: dict[t.Any, t.Any] = {(api, kind, "x", name): {} for kind, api, name in names}
    if replicas is not None:
        index["apps/v1", "StatefulSet", "x", "ovn-northbound"] = {"spec": {"replicas": replicas}}
    return ObservedCluster("ovn", "x", {}, None, index)


def record(*states: str, cid: str | None = CID) -> Record:
    members = {f"ovn-northbound-{n}": Member(f"tcp:{n}", t.cast(t.Any, state)) for n, state in enumerate(states)}
    return Record("northbound", members, cid=cid)


@pytest.mark.parametrize(
    ("there", "recorded", "count"),
    [
        (live([]), None, 0),
        (live([0, 2]), None, 3),
        (live([], 2), None, 2),
        (live([0]), record("expected", "expected", "expected", cid=None), 1),
        (live([]), record("confirmed", "expected", "expected"), 1),
        (live([0, 1]), record("confirmed", "expected", "expected"), 2),
        (live([0, 1, 2]), record("confirmed", "confirmed", "expected"), 3),
        (live([]), record("confirmed", "replacing", "leaving"), 3),
        (live([0, 1, 2]), record("confirmed"), 3),
        (live([0, 1, 2, 3, 4]), record("confirmed", "confirmed", "confirmed"), 3),
        (live([0, 1, 2, 3]), record("confirmed", "confirmed", "confirmed", "absent"), 3),
    ],
    ids=[
        "nothing",
        "claims without a record: all up to the last one",
        "pods that are there stay",
        "a first run that was cut off",
        "members that are expected and have nothing come one by one",
        "a member that is expected and has a claim may have joined",
        "so may the last one",
        "members on their way in or out",
        "declared members with claims of an earlier installation",
        "claims of members that are not declared",
        "the claim of a member that was removed",
    ],
)
def test_every_member_that_may_have_data_has_its_pod(
    there: ObservedCluster, recorded: Record | None, count: int
) -> None:
    assert first_replicas(WANTED, there, "northbound", recorded) == count


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

"""Ports of Services that somebody else changed."""

from __future__ import annotations

import json
import typing as t

import pytest
from fake_cluster import FakeCluster

from ansible_collections.c5c3.ovn.plugins.module_utils._base.errors import Conflict, Refused
from ansible_collections.c5c3.ovn.plugins.module_utils._control_plane.ports import (
    PortClash,
    find_port_clashes,
    refuse_node_port_moves,
    refuse_port_clashes,
    repair_ports,
    repaired_ports,
)
from ansible_collections.c5c3.ovn.plugins.module_utils._kubernetes.apply import key_of

Object = dict[str, t.Any]


def port(number: int, name: str = "client", **more: t.Any) -> Object:
    return {"name": name, "port": number, "targetPort": 6641, "protocol": "TCP", **more}


def service(*ports: Object, **managers: int) -> Object:
    """`managers`: who set which port."""
    fields = [
        {
            "manager": manager.replace("_", "."),
            "fieldsV1": {"f:spec": {"f:ports": {f"k:{json.dumps({'port': number, 'protocol': 'TCP'})}": {".": {}}}}},
        }
        for manager, number in managers.items()
    ]
    return {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {"name": "ovn-nb", "namespace": "x", "managedFields": fields},
        "spec": {"ports": list(ports)},
    }


def clashes(live: Object, *ours: Object) -> list[PortClash]:
    return find_port_clashes([service(*ours)], {key_of(live): live})


@pytest.mark.parametrize(
    ("live", "found", "managers"),
    [
        (service(port(6641)), [], []),
        (service(port(7000), gitops=7000), [7000], ["gitops"]),
        (service(port(7000), c5c3_ovn=7000), [7000], []),
        (service(port(6641), port(7000, "metrics"), gitops=7000), [], []),
        (service(port(6641), port(7000, ""), gitops=7000), [7000], ["gitops"]),
    ],
    ids=["ours", "another number", "another number of ours", "one more", "one more without a name"],
)
def test_what_is_in_the_way(live: Object, found: list[int], managers: list[str]) -> None:
    seen = clashes(live, port(6641))
    assert [p["port"] for clash in seen for p in clash.ports] == found
    assert [m for clash in seen for m in clash.managers] == managers
    if managers:
        with pytest.raises(Conflict, match=r'"gitops" set \.spec\.ports .*7000.*force_conflicts'):
            refuse_port_clashes(seen)
    else:
        refuse_port_clashes(seen)


def test_a_node_port_in_the_way() -> None:
    (clash,) = clashes(service(port(7000, "other", nodePort=30001)), port(6641, nodePort=30001))
    assert clash.ports[0]["port"] == 7000


def test_repaired_keeps_the_node_port_and_what_is_in_nobodys_way() -> None:
    live = service(port(7000, nodePort=30001), port(9000, "metrics"), gitops=7000)
    (clash,) = clashes(live, port(6641))
    assert repaired_ports(clash) == [port(6641, nodePort=30001), port(9000, "metrics")]


def test_a_repair_is_of_the_version_that_was_looked_at() -> None:
    live = service(port(7000), gitops=7000)
    live["metadata"]["resourceVersion"] = "17"
    cluster = FakeCluster(live)
    noted: list[t.Any] = []
    done = repair_ports(cluster, clashes(live, port(6641)), check_mode=False, on_change=noted.append)
    assert done == noted
    (sent,) = cluster.written
    assert sent.body == {"metadata": {"resourceVersion": "17"}, "spec": {"ports": [port(6641)]}}


def member(index: int, *ports: Object, name: str = "ovn-northbound") -> Object:
    return {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {"name": f"{name}-{index}", "namespace": "x"},
        "spec": {"type": "NodePort", "ports": list(ports)},
    }


def members(*numbers: int | None, name: str = "ovn-northbound") -> list[Object]:
    return [member(i, port(6641, **({"nodePort": n} if n else {})), name=name) for i, n in enumerate(numbers)]


@pytest.mark.parametrize(
    ("live", "desired", "message"),
    [
        (members(31001, 31002), members(31001, 31002), ""),
        (members(31001, 31002), members(31003, 31002), ""),
        (members(31001, 31002), members(None, None), ""),
        ([], members(31001, 31002), ""),
        (
            members(31001, 31002, 31003),
            members(31002, 31001, 31003),
            "31002 for x/ovn-northbound-0 (x/ovn-northbound-1 has it), 31001 for x/ovn-northbound-1 (x/ovn-northbound-0 has it).",
        ),
        (members(31001, 31002), members(31002, 31003), "31002 for x/ovn-northbound-0 (x/ovn-northbound-1 has it)."),
        (
            members(31001, name="ovn-southbound"),
            [*members(31001), *members(31002, name="ovn-southbound")],
            "31001 for x/ovn-northbound-0 (x/ovn-southbound-0 has it).",
        ),
        ([member(0, port(6641), port(9000, "more", nodePort=31001))], members(31001), ""),
        (
            [*members(31001), member(1, port(6641, nodePort=31002), port(9000, "more", nodePort=31003))],
            members(31003, 31002),
            "31003 for x/ovn-northbound-0 (x/ovn-northbound-1 has it).",
        ),
    ],
    ids=[
        "as it is",
        "a free one",
        "any",
        "nothing is there",
        "swapped",
        "moved on",
        "from the other database",
        "in another port of the same Service",
        "in another port of another Service",
    ],
)
def test_node_ports_that_another_service_of_ours_has(live: list[Object], desired: list[Object], message: str) -> None:
    """The API server would only say that a port is taken, after it has changed other Services."""
    index = {key_of(one): one for one in live}
    if not message:
        refuse_node_port_moves(desired, index)
        return
    with pytest.raises(Refused) as refused:
        refuse_node_port_moves(desired, index)
    assert message in str(refused.value)
    assert "Nothing was changed." in str(refused.value)

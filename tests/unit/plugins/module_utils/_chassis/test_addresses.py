"""What chassis hold that is another one's, from rows of dictionaries and rows of a replica."""

from __future__ import annotations

import types
import typing as t

import pytest

from ansible_collections.c5c3.ovn.plugins.module_utils._chassis.addresses import (
    MisplacedPort,
    borrowed_encapsulations,
    conflicting_claims,
    misplaced_ports,
    shared_values,
)

CHASSIS = {"u1": ("c1", "host1"), "u2": ("c2", "host2"), "u3": ("c3", "c1"), "u4": ("c4", "host2")}


def as_dictionaries(port: dict[str, t.Any]) -> t.Callable[[str], list[t.Any]]:
    chassis = [{"_uuid": uuid, "name": name, "hostname": host} for uuid, (name, host) in CHASSIS.items()]
    return {"Chassis": chassis, "Port_Binding": [port]}.__getitem__


def as_replica(port: dict[str, t.Any]) -> t.Callable[[str], list[t.Any]]:
    """Rows of ovs.db.idl, whose references are rows."""
    chassis = {u: types.SimpleNamespace(uuid=u, name=name, hostname=host) for u, (name, host) in CHASSIS.items()}

    def rows(value: t.Any) -> list[t.Any]:
        return [chassis.get(one, one) for one in (value if isinstance(value, list) else [value])]

    references = {key: rows(port[key]) for key in ("chassis", "additional_chassis") if key in port}
    row = types.SimpleNamespace(uuid="p", **{**port, **references})
    return {"Chassis": list(chassis.values()), "Port_Binding": [row]}.__getitem__


@pytest.mark.parametrize("tables", [as_dictionaries, as_replica])
@pytest.mark.parametrize(
    ("requested", "port", "elsewhere"),
    [
        ("c1", {"chassis": "u1"}, ()),
        ("c1", {"chassis": "u2"}, ("c2",)),
        ("c1", {"chassis": []}, ()),
        ("c1", {}, ()),
        ("", {"chassis": "u2"}, ()),
        ("c1,c2", {"chassis": "u1", "additional_chassis": ["u2"]}, ()),
        ("c1,c2", {"chassis": "u2", "additional_chassis": ["u1", "u3"]}, ("c3",)),
        ("c1, c2", {"chassis": "u2", "additional_chassis": ["u1"]}, ("c2",)),  # OVN looks for a chassis " c2"
        ("c1", {"chassis": "u1", "additional_chassis": ["u2"]}, ("c2",)),
        ("host1", {"chassis": "u1"}, ()),
        ("host1", {"chassis": "u2"}, ("c2",)),
        ("host2", {"chassis": "u4"}, ()),  # two have this host name: the report says so
        ("c1", {"chassis": "u3"}, ("c3",)),  # its host name is the name of another: names go first
        ("unknown", {"chassis": "u1"}, ("c1",)),
        ("c1", {"chassis": "u2", "type": "remote"}, ()),
        ("c1", {"chassis": "gone"}, ()),
    ],
)
def test_ports_that_are_bound_elsewhere(
    tables: t.Any, requested: str, port: dict[str, t.Any], elsewhere: tuple[str, ...]
) -> None:
    options = {"requested-chassis": requested} if requested else {}
    found = misplaced_ports(tables({"logical_port": "vm", "options": options, **port}))
    names = tuple(requested.split(","))
    assert found == ([MisplacedPort("vm", names, elsewhere)] if elsewhere else [])


def test_encapsulations_of_others() -> None:
    tables: dict[str, list[dict[str, t.Any]]] = {
        "Encap": [
            {"_uuid": "e1", "chassis_name": "c1", "type": "geneve", "ip": "192.0.2.1"},
            {"_uuid": "e2", "chassis_name": "c2", "type": "geneve", "ip": "192.0.2.2"},
        ],
        "Chassis": [
            {"_uuid": "u1", "name": "c1", "encaps": "e1"},
            {"_uuid": "u2", "name": "c2", "encaps": ["e1", "e2", "gone"]},
        ],
    }
    assert borrowed_encapsulations(tables.__getitem__) == {"c2": [("geneve", "192.0.2.1")]}


def test_messages_of_conflicts() -> None:
    tables: dict[str, list[dict[str, t.Any]]] = {
        "Encap": [
            {"_uuid": "e1", "chassis_name": "c1", "type": "geneve", "ip": "192.0.2.1"},
            {"_uuid": "e2", "chassis_name": "c2", "type": "vxlan", "ip": "192.0.2.1"},
            {"_uuid": "e3", "chassis_name": "c3", "type": "geneve", "ip": "192.0.2.3"},
        ],
        "Chassis": [
            {"_uuid": "u1", "name": "c1", "hostname": "h", "encaps": ["e1", "e3"]},
            {"_uuid": "u2", "name": "c2", "hostname": "h", "encaps": ["e2"]},
        ],
        "Port_Binding": [{"logical_port": "vm", "options": {"requested-chassis": "c1"}, "chassis": "u2"}],
    }
    assert conflicting_claims(tables.__getitem__) == [
        "Chassis c1, c2 have the tunnel address 192.0.2.1.",
        "Chassis c1, c3 have the tunnel address 192.0.2.3.",
        "Chassis c1, c2 have the host name h.",
        "Port vm is requested on c1, but bound by c2.",
    ]


@pytest.mark.parametrize(
    ("pairs", "shared"),
    [
        ([("a", "192.0.2.1"), ("b", "192.0.2.2")], {}),
        ([("a", "192.0.2.1"), ("a", "192.0.2.1")], {}),
        ([("b", "192.0.2.1"), ("a", "192.0.2.1")], {"192.0.2.1": ["a", "b"]}),
        ([("a", "192.0.2.1"), ("b", "::ffff:192.0.2.1")], {"192.0.2.1": ["a", "b"]}),
        ([("a", "2001:db8::1"), ("b", "2001:0DB8:0::1")], {"2001:db8::1": ["a", "b"]}),
        ([("a", ""), ("b", "")], {}),
        ([("a", "Host"), ("b", "host")], {"host": ["a", "b"]}),
    ],
)
def test_values_of_several(pairs: list[tuple[str, str]], shared: dict[str, list[str]]) -> None:
    assert shared_values(pairs) == shared

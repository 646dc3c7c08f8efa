from __future__ import annotations

import types
import typing as t

from ansible_collections.c5c3.ovn.plugins.module_utils._chassis.lookup import list_chassis


def row(**columns: t.Any) -> types.SimpleNamespace:
    return types.SimpleNamespace(**columns)


def chassis(name: str, **columns: t.Any) -> types.SimpleNamespace:
    return row(name=name, **{"hostname": "", "external_ids": {}, "other_config": {}, "transport_zones": [], **columns})


def test_the_facts_of_a_chassis() -> None:
    config = {
        "ovn-bridge-mappings": "p1:br-a, p2:br-b,broken,half:",
        "ovn-cms-options": "x,enable-chassis-as-gw,availability-zones=b:a,availability-zones=c:a",
    }
    tables = {
        "Chassis": [chassis("c2"), chassis("c1", hostname="h1", other_config=config, transport_zones=["z2", "z1"])],
        "Encap": [
            row(chassis_name="c1", type="vxlan", ip="192.0.2.1"),
            row(chassis_name="c1", type="geneve", ip="192.0.2.1"),
        ],
        "Chassis_Private": [row(name="c1", nb_cfg=7, nb_cfg_timestamp=1700000000000)],
        "SB_Global": [row(nb_cfg=7)],
    }
    first, second = list_chassis(lambda table: tables[table])
    assert first == {
        "name": "c1",
        "hostname": "h1",
        "encapsulations": [{"type": "geneve", "ip": "192.0.2.1"}, {"type": "vxlan", "ip": "192.0.2.1"}],
        "bridge_mappings": [
            {"physical_network": "p1", "bridge": "br-a"},
            {"physical_network": " p2", "bridge": "br-b"},
        ],
        "cms_options": ["x", "enable-chassis-as-gw", "availability-zones=b:a", "availability-zones=c:a"],
        "gateway": True,
        "availability_zones": ["a", "b"],
        "transport_zones": ["z1", "z2"],
        "other_config": config,
        "nb_cfg": 7,
        "nb_cfg_timestamp": 1700000000000,
        "current": True,
    }
    assert (second["name"], second["nb_cfg"], second["current"], second["gateway"]) == ("c2", None, False, False)


def test_who_is_current() -> None:
    answers = {"ahead": 900, "even": 7, "behind": 6, "deleted": 7}
    tables = {
        "Chassis": [chassis(name) for name in answers if name != "deleted"],
        "Chassis_Private": [row(name=name, nb_cfg=number, nb_cfg_timestamp=0) for name, number in answers.items()],
        "SB_Global": [row(nb_cfg=7)],
    }
    # A number above the latest is from before the Northbound database was created again.
    told = {entry["name"]: entry["current"] for entry in list_chassis(lambda table: tables.get(table, []))}
    assert told == {"ahead": False, "even": True, "behind": False}


def test_old_versions_have_it_in_external_ids() -> None:
    tables = {"Chassis": [chassis("c", external_ids={"ovn-cms-options": "enable-chassis-as-gw"})]}
    (only,) = list_chassis(lambda table: tables.get(table, []))
    assert only["gateway"]

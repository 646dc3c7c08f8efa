"""What the datapath says of itself, and when it loses packets."""

from __future__ import annotations

import typing as t

import pytest

from ansible_collections.c5c3.ovn.plugins.module_utils._chassis.datapath import (
    IN_PODS,
    Lookups,
    judge_datapath,
    parse_conntrack_zones,
    parse_lookups,
    uplinks_down,
)

SHOW = """\
netdev@ovs-netdev:
  lookups: hit:7 missed:6 lost:5
  flows: 0
  port 0: ovs-netdev (tap)
system@ovs-system:
  lookups: hit:5210 missed:98 lost:3
  flows: 12
  masks: hit:0 total:0 hit/pkt:0.00
  port 0: ovs-system (internal)
"""


@pytest.mark.parametrize(
    ("features", "zones"),
    [
        ("Recirc: Yes\nCT state: Yes\nCT zone: Yes\nCT mark: Yes\n", True),
        ("Recirc: Yes\nCT state: Yes\nCT zone: No\nCT mark: Yes\n", False),
        ("", None),
    ],
)
def test_conntrack_zones(features: str, zones: bool | None) -> None:
    assert parse_conntrack_zones(features) is zones


def test_lookups_of_each_datapath() -> None:
    assert parse_lookups(SHOW) == {"netdev": Lookups(7, 6, 5), "system": Lookups(5210, 98, 3)}
    assert parse_lookups("") == {}


def interface(kind: str = "", admin: str = "up", link: t.Any = "up", error: t.Any = ()) -> dict[str, t.Any]:
    return {"type": kind, "admin_state": admin, "link_state": link, "error": list(error)}


UP = interface()
UNPLUGGED = interface(link="down")
DOWN = interface(admin="down", link="down")
GONE = interface(admin="down", link=[], error=["could not open network device eth1 (No such device)"])
NO_LINK, IS_DOWN = "has no link (link_state is down)", "is down (admin_state)"


@pytest.mark.parametrize(
    ("ports", "down"),
    [
        pytest.param({"eth1": [UP]}, {}, id="up"),
        pytest.param({"eth1": [UNPLUGGED]}, {"eth1": NO_LINK}, id="no link"),
        pytest.param({"eth1": [DOWN]}, {"eth1": IS_DOWN}, id="admin-down"),
        pytest.param({"eth1": [interface(admin="down")]}, {"eth1": IS_DOWN}, id="admin-down with a link"),
        pytest.param({"eth1": [UNPLUGGED], "eth2": [DOWN]}, {"eth1": NO_LINK, "eth2": IS_DOWN}, id="two ports"),
        pytest.param({"eth1": [UNPLUGGED], "eth2": [UP]}, {}, id="one of two ports"),
        pytest.param({"bond0": [UNPLUGGED, UNPLUGGED]}, {"bond0": NO_LINK}, id="both devices of a bond"),
        pytest.param({"bond0": [UNPLUGGED, UP]}, {}, id="one device of a bond"),
        pytest.param(
            {"eth1": [GONE]},
            {"eth1": "cannot be used: could not open network device eth1 (No such device)"},
            id="no device",
        ),
        pytest.param({"dpdk0": [interface("dpdk", link="down")]}, {}, id="DPDK may negotiate"),
        pytest.param({"dpdk0": [interface("dpdk", admin="down")]}, {"dpdk0": IS_DOWN}, id="DPDK, admin-down"),
        pytest.param({"eth1": [UNPLUGGED], "out": [interface("patch")]}, {}, id="another bridge leads out"),
        pytest.param({"eth1": [UNPLUGGED], "ovn": [interface("patch")]}, {"eth1": NO_LINK}, id="ovn-controller's"),
        pytest.param({"br-ex": [interface("internal", link="down")]}, {}, id="its own port alone"),
        pytest.param({"eth1": [interface(link=[])]}, {}, id="not known"),
    ],
)
def test_uplinks(ports: dict[str, list[dict[str, t.Any]]], down: dict[str, str]) -> None:
    """Judged as `ovn_chassis` judges ports that it does not declare: test_provider_networks.py."""
    devices = {f"{name}-{n}": row for name, several in ports.items() for n, row in enumerate(several)}
    keys = {name: [f"{name}-{n}" for n in range(len(several))] for name, several in ports.items()}
    tables = {
        "Bridge": [
            {"name": "br-ex", "ports": list(ports) if len(ports) > 1 else next(iter(ports))},
            {"name": "br-int", "ports": []},
        ],
        "Port": [
            {
                "_uuid": name,
                "name": name,
                "interfaces": several if len(several) > 1 else several[0],
                "external_ids": {"ovn-localnet-port": "physnet1"} if name == "ovn" else {},
            }
            for name, several in keys.items()
        ],
        "Interface": [{"_uuid": key, **row} for key, row in devices.items()],
    }
    expected = [{"bridge": "br-ex", "networks": ["physnet1", "physnet2"], "ports": down}] if down else []
    assert uplinks_down("physnet1:br-ex,physnet2:br-ex", tables) == expected
    assert uplinks_down("physnet1:br-int", tables) == []


HEALTHY = {
    "type": "system",
    "conntrack_zones": True,
    "handlers": 2,
    "lookups": {"hit": 5210, "missed": 98, "lost": 60},
    "lost": 0,
    "missed": 4,
    "seconds": 1.2,
    "uplinks_down": [],
}
UNKNOWN = {"conntrack_zones": None, "handlers": None, "lookups": None, "lost": None, "missed": None}
UPLINK = {"bridge": "br-ex", "networks": ["physnet1"], "ports": {"eth2": IS_DOWN, "eth1": NO_LINK}}


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        pytest.param({}, {}, id="what was lost before is no problem"),
        pytest.param(UNKNOWN, {}, id="nothing is known"),
        pytest.param(
            {"conntrack_zones": False},
            {"conntrack_zones_missing": "no conntrack zones (CONFIG_NF_CONNTRACK_ZONES)"},
            id="no zones",
        ),
        pytest.param({"handlers": 0}, {"upcall_handlers_missing": "has no handler thread"}, id="no handlers"),
        pytest.param({"type": "netdev", "handlers": 0, "conntrack_zones": False}, {}, id="in userspace"),
        pytest.param({"lost": 3}, {"packets_lost": "lost 3 of 4 packets without a flow in 1.2 s"}, id="lost meanwhile"),
        pytest.param(
            {"uplinks_down": [UPLINK]},
            {
                "uplink_down": "bridge br-ex of physical network physnet1 has no port that passes packets: "
                f"eth1 {NO_LINK}, eth2 {IS_DOWN}"
            },
            id="uplink",
        ),
    ],
)
def test_problems(changes: dict[str, t.Any], expected: dict[str, str]) -> None:
    found = {one.code: one.cause for one in judge_datapath({**HEALTHY, **changes})}
    assert list(found) == list(expected)
    assert all(words in found[code] for code, words in expected.items())


def test_next_steps_in_pods_name_no_unit_and_no_option_of_a_machine() -> None:
    facts = {**HEALTHY, "conntrack_zones": False, "handlers": None, "lost": 3, "uplinks_down": [UPLINK]}
    steps = " ".join(one.next_step for one in judge_datapath(facts, IN_PODS))
    assert not [word for word in ("systemctl", ".service", "ovn_hypervisor_") if word in steps]
    assert "set ovs.datapathType of the OVNCluster to netdev" in steps
    assert [one.code for one in judge_datapath(facts, IN_PODS)] == [one.code for one in judge_datapath(facts)]


def test_a_host_without_open_vswitch_has_no_problem() -> None:
    assert judge_datapath(None) == []

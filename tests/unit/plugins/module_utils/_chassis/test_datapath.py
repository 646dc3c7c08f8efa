"""What the datapath says of itself, and when it loses packets."""

from __future__ import annotations

import typing as t

import pytest

from ansible_collections.c5c3.ovn.plugins.module_utils._chassis.datapath import (
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


def interface(name: str, kind: str = "", link: t.Any = "down") -> dict[str, t.Any]:
    return {"_uuid": f"i-{name}", "name": name, "type": kind, "link_state": link}


@pytest.mark.parametrize(
    ("interfaces", "down"),
    [
        pytest.param([interface("eth1")], ["eth1"], id="the only one"),
        pytest.param([interface("eth1"), interface("eth0")], ["eth0", "eth1"], id="both of a bond"),
        pytest.param([interface("eth1"), interface("eth2", link="up")], None, id="one of a bond"),
        pytest.param([interface("dpdk0", "dpdk")], ["dpdk0"], id="of DPDK"),
        pytest.param([interface("br-ex", "internal"), interface("p", "patch")], None, id="no physical port"),
        pytest.param([interface("eth1", link=[])], None, id="not known"),
    ],
)
def test_uplinks(interfaces: list[dict[str, t.Any]], down: list[str] | None) -> None:
    keys = [one["_uuid"] for one in interfaces]
    tables = {
        "Bridge": [{"name": "br-ex", "ports": "p-1"}, {"name": "br-int", "ports": []}],
        "Port": [{"_uuid": "p-1", "interfaces": keys[0] if len(keys) == 1 else keys}],
        "Interface": interfaces,
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
UPLINK = {"bridge": "br-ex", "networks": ["physnet1"], "ports": ["eth1", "eth2"]}


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
            {"uplink_down": "bridge br-ex of physical network physnet1 has no port with a link, down: eth1, eth2"},
            id="uplink",
        ),
    ],
)
def test_problems(changes: dict[str, t.Any], expected: dict[str, str]) -> None:
    found = {one.code: one.cause for one in judge_datapath({**HEALTHY, **changes})}
    assert list(found) == list(expected)
    assert all(words in found[code] for code, words in expected.items())


def test_a_host_without_open_vswitch_has_no_problem() -> None:
    assert judge_datapath(None) == []

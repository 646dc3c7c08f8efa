from __future__ import annotations

import typing as t

import pytest

from ansible_collections.c5c3.ovn.plugins.module_utils._base.errors import InvalidInput
from ansible_collections.c5c3.ovn.plugins.module_utils._chassis.external_ids import (
    DesiredValue,
    desired_keys,
    encapsulations,
)

P = "physical_network"


@pytest.mark.parametrize(
    ("params", "stored"),
    [
        pytest.param({}, {}, id="an absent option leaves its key alone"),
        pytest.param({"system_id": None}, {}, id="null is absent"),
        pytest.param({"system_id": "c1"}, {"system-id": "c1"}, id="a name is stored as it is"),
        pytest.param({"system_id": "Grüße 北京"}, {"system-id": "Grüße 北京"}, id="a name with a blank and umlauts"),
        pytest.param({"system_id": ""}, {"system-id": None}, id="an empty text removes the key"),
        pytest.param({"hostname": "h" * 10000}, {"hostname": "h" * 10000}, id="a text of 10 000 characters"),
        pytest.param(
            {"remote": ["ssl:192.0.2.1:6642", "ssl:[2001:db8::1]:6642"]},
            {"ovn-remote": "ssl:192.0.2.1:6642,ssl:[2001:db8::1]:6642"},
            id="remotes of both families",
        ),
        pytest.param(
            {"remote": ["tcp:[192.0.2.1]:6642", "ssl:[2001:DB8:0::1]:6642"]},
            {"ovn-remote": "tcp:192.0.2.1:6642,ssl:[2001:db8::1]:6642"},
            id="remotes in one spelling",
        ),
        pytest.param(
            {"remote": ["tcp:a:1,tcp:b:1", "tcp:a:1", "cid:7dc5cd3d-b04f-4b1e-8a4c-5d0b5d0c6a3b"]},
            {"ovn-remote": "tcp:a:1,tcp:b:1,cid:7dc5cd3d-b04f-4b1e-8a4c-5d0b5d0c6a3b"},
            id="an item may be a comma list, duplicates go, a cluster id stays",
        ),
        pytest.param({"remote": []}, {"ovn-remote": None}, id="an empty list removes the key"),
        pytest.param(
            {"encapsulation": {"type": ["geneve", "vxlan"], "ip": ["192.0.2.1", "2001:DB8::0:1"]}},
            {"ovn-encap-type": "geneve,vxlan", "ovn-encap-ip": "192.0.2.1,2001:db8::1"},
            id="mixed encapsulation, IPv6 in its short form",
        ),
        pytest.param({"encapsulation": {"type": ["vxlan"], "ip": None}}, {"ovn-encap-type": "vxlan"}, id="type alone"),
        pytest.param(
            {"bridge_mappings": [{P: "net one", "bridge": "br-ex"}, {P: "b=c", "bridge": "br-ex"}]},
            {"ovn-bridge-mappings": "net one:br-ex,b=c:br-ex"},
            id="two networks on one bridge, blank and = in names",
        ),
        pytest.param(
            {"mac_mappings": [{P: "p", "mac": "02:AA:00:00:00:01"}]},
            {"ovn-chassis-mac-mappings": "p:02:aa:00:00:00:01"},
            id="a MAC address is written small",
        ),
        pytest.param({"monitor_all": False}, {"ovn-monitor-all": "false"}, id="a boolean is stored as false"),
        pytest.param({"remote_probe_interval": 0}, {"ovn-remote-probe-interval": "0"}, id="zero is a value"),
        pytest.param({"transport_zones": ["b", "a", "b"]}, {"ovn-transport-zones": "b,a"}, id="zones once each"),
        pytest.param({"datapath_type": ""}, {"ovn-bridge-datapath-type": None}, id="no datapath type"),
    ],
)
def test_desired_keys(params: dict[str, t.Any], stored: dict[str, str | None]) -> None:
    assert {key: value.text for key, value in desired_keys(params).items()} == stored


@pytest.mark.parametrize(
    ("params", "words"),
    [
        ({"system_id": "a@b"}, "@"),
        ({"system_id": " a"}, "blank"),
        ({"system_id": "a\nb"}, "control character"),
        ({"hostname": "a\0b"}, "NUL"),
        ({"hostname": "a\udc80"}, "UTF-8"),
        ({"remote": ["ssl:192.0.2.1"]}, "not an OVSDB endpoint"),
        ({"remote": ["pssl:6642"]}, "not an OVSDB endpoint"),
        ({"remote": ["ssl:2001:db8::1:6642"]}, "brackets"),
        ({"remote": ["ssl:a:99999"]}, "not an OVSDB endpoint"),
        ({"remote": ["ssl://192.0.2.1:6642"]}, "Use ssl:HOST:PORT, tcp:HOST:PORT"),
        ({"remote": ["tcp:192.0.2.1/24:6642"]}, "Use ssl:HOST:PORT, tcp:HOST:PORT"),
        ({"remote": ["tcp:192.0.2.256:6642"]}, "not an OVSDB endpoint"),
        ({"remote": ["tcp:[2001:db8::1::2]:6642"]}, "not an OVSDB endpoint"),
        ({"remote": ["cid:0c0f8e64"]}, "not an OVSDB endpoint"),
        ({"encapsulation": {"type": ["stt"]}}, "stt"),
        ({"encapsulation": {"ip": ["192.0.2.256"]}}, "not an IPv4"),
        ({"encapsulation": {"ip": ["192.0.2.0/24"]}}, "not an IPv4"),
        ({"encapsulation": {"ip": ["0.0.0.0"]}}, "cannot be"),
        ({"encapsulation": {"ip": ["ff02::1"]}}, "cannot be"),
        ({"bridge_mappings": [{P: "a,b", "bridge": "br"}]}, '","'),
        ({"bridge_mappings": [{P: "a:b", "bridge": "br"}]}, '":"'),
        ({"bridge_mappings": [{P: "", "bridge": "br"}]}, "empty"),
        ({"bridge_mappings": [{P: "a", "bridge": "br-0123456789abc"}]}, "16 bytes"),
        ({"bridge_mappings": [{P: "a", "bridge": "é" * 8}]}, "16 bytes"),
        ({"bridge_mappings": [{P: "a", "bridge": "b r"}]}, "no name"),
        ({"bridge_mappings": [{P: "a", "bridge": "b1"}, {P: "a", "bridge": "b2"}]}, "both b1 and b2"),
        ({"mac_mappings": [{P: "a", "mac": "01:00:00:00:00:01"}]}, "unicast"),
        ({"mac_mappings": [{P: "a", "mac": "02-00-00-00-00-01"}]}, "MAC"),
        ({"remote_probe_interval": -1}, "negative"),
        ({"datapath_type": "dpdk"}, "system, netdev"),
        ({"transport_zones": ["a,b"]}, '","'),
    ],
)
def test_what_can_never_work_is_refused(params: dict[str, t.Any], words: str) -> None:
    with pytest.raises(InvalidInput) as caught:
        desired_keys(params)
    assert words in str(caught.value)


@pytest.mark.parametrize(
    ("params", "stored", "met"),
    [
        pytest.param({"system_id": "a"}, "a", True, id="equal"),
        pytest.param({"system_id": "a"}, "A", False, id="names have case"),
        pytest.param({"system_id": "a"}, None, False, id="missing"),
        pytest.param({"system_id": ""}, None, True, id="absent as desired"),
        pytest.param({"system_id": ""}, "", False, id="an empty value is a value"),
        pytest.param({"remote": ["tcp:a:1", "tcp:b:1"]}, " tcp:b:1, tcp:a:1", True, id="order of remotes"),
        pytest.param({"remote": ["tcp:a:1", "tcp:b:1"]}, "tcp:a:1 ,tcp:b:1", False, id="a blank that spoils a remote"),
        pytest.param({"remote": ["tcp:a:1"]}, "tcp:a:1,", False, id="a comma that spoils a remote"),
        pytest.param({"remote": ["ssl:[2001:db8::1]:1"]}, "ssl:[2001:DB8:0::1]:1", True, id="the same remote"),
        pytest.param({"remote": ["tcp:a:1", "tcp:b:1"]}, "tcp:a:1", False, id="one remote is missing"),
        pytest.param({"encapsulation": {"type": ["geneve", "vxlan"]}}, "vxlan,geneve", True, id="order of types"),
        pytest.param({"encapsulation": {"type": ["geneve", "vxlan"]}}, "geneve, vxlan", False, id="no such type"),
        pytest.param(
            {"encapsulation": {"ip": ["192.0.2.1", "192.0.2.2"]}}, "192.0.2.1, 192.0.2.2", False, id="no address"
        ),
        pytest.param({"encapsulation": {"ip": ["2001:db8::1"]}}, "2001:DB8:0::1", True, id="the same address"),
        pytest.param(
            {"encapsulation": {"ip": ["192.0.2.1", "192.0.2.2"]}}, "192.0.2.2,192.0.2.1", True, id="order of addresses"
        ),
        pytest.param(
            {"bridge_mappings": [{P: "a", "bridge": "b"}, {P: "c", "bridge": "d"}]}, "c:d,a:b", True, id="maps"
        ),
        pytest.param(
            {"bridge_mappings": [{P: "a", "bridge": "b"}, {P: "c", "bridge": "d"}]}, "a:b, c:d", False, id="blank"
        ),
        pytest.param(
            {"bridge_mappings": [{P: "a", "bridge": "b"}, {P: "c", "bridge": "d"}]}, "a:b,,c:d", False, id="unread"
        ),
        pytest.param({"mac_mappings": [{P: "a", "mac": "02:00:00:00:00:01"}]}, " a:02:00:00:00:00:01", False, id="mac"),
        pytest.param({"transport_zones": ["a", "b"]}, "a, b", False, id="another zone"),
        pytest.param({"bridge_mappings": [{P: "a", "bridge": "b"}]}, "a:b,c:d", False, id="a mapping too many"),
        pytest.param({"monitor_all": True}, "TRUE", True, id="OVN reads truth without case"),
        pytest.param({"monitor_all": True}, "1", False, id="1 is not true for OVN"),
    ],
)
def test_equal_meaning_is_no_change(params: dict[str, t.Any], stored: str | None, met: bool) -> None:
    (value,) = desired_keys(params).values()
    assert value.matches(stored) is met


def test_a_value_of_a_free_key_is_compared_as_text() -> None:
    assert not DesiredValue("a,b").matches("b,a")


def test_encapsulations_are_every_type_with_every_address() -> None:
    keys = {"ovn-encap-type": "geneve,vxlan", "ovn-encap-ip": "192.0.2.1,2001:DB8::1"}
    assert encapsulations(keys) == {
        ("geneve", "192.0.2.1"),
        ("geneve", "2001:db8::1"),
        ("vxlan", "192.0.2.1"),
        ("vxlan", "2001:db8::1"),
    }
    assert encapsulations({"ovn-encap-type": "geneve"}) == frozenset()

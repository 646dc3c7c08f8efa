"""Findings of addresses, ports and MTUs."""

from __future__ import annotations

import typing as t

import pytest
from precheck_facts import central, hypervisor, process

from ansible_collections.c5c3.ovn.plugins.module_utils._machine.supervisor import Supervisor
from ansible_collections.c5c3.ovn.plugins.module_utils._precheck.judge_network import judge_network
from ansible_collections.c5c3.ovn.plugins.module_utils._precheck.measure import Limits, MeasuredHost

MEMBER = {"own_units": ["c5c3-ovn-northbound.service"]}
CHASSIS = {"own_units": ["c5c3-ovn-controller.service"]}


def found(*hosts: MeasuredHost) -> list[tuple[str, str, str]]:
    return [(one.code, one.object, one.cause) for one in judge_network(hosts)]


def codes(*hosts: MeasuredHost) -> list[str]:
    return [code for code, _object, _cause in found(*hosts)]


def local(address: str, resolved: t.Sequence[str] | None = None, is_local: bool = False) -> dict[str, t.Any]:
    names = [address] if resolved is None else list(resolved)
    return {"address": address, "resolved": names, "local": is_local, "error": "" if is_local else "why"}


@pytest.mark.parametrize(
    ("one", "expected"),
    [
        pytest.param(local("192.0.2.11", is_local=True), [], id="local"),
        pytest.param(
            local("192.0.2.11"),
            [("address_not_local", "db1 192.0.2.11", "no interface of the host has this address")],
            id="not local",
        ),
        pytest.param(
            local("db1", ["203.0.113.1"]),
            [("address_not_local", "db1 db1", "no interface of the host has this address (203.0.113.1)")],
            id="a name of another address",
        ),
        pytest.param(
            local("db1", []),
            [("address_unresolved", "db1 db1", "the name cannot be resolved there (why)")],
            id="unknown name",
        ),
    ],
)
def test_the_own_address(one: dict[str, t.Any], expected: list[tuple[str, str, str]]) -> None:
    variables = {"ovn_address": one["address"]}
    assert found(central(variables=variables, local_addresses=[one])) == expected
    assert found(central(variables=variables, local_addresses=[one], **MEMBER)) == []


def test_where_tunnels_end() -> None:
    elsewhere = {"local_addresses": [local("192.0.2.21")]}
    assert codes(hypervisor(**elsewhere)) == ["address_not_local"]
    assert codes(hypervisor(**elsewhere, **CHASSIS)) == []
    assert codes(hypervisor(**elsewhere, variables={"ovn_hypervisor_underlay": {"interface": "eth1"}})) == []


def peer(state: str, host: str = "db2", port: int = 6643, error: str = "") -> dict[str, t.Any]:
    return {"host": host, "address": f"{host}.example.com", "port": port, "state": state, "error": error}


@pytest.mark.parametrize(
    ("peers", "expected"),
    [
        pytest.param([peer("connected"), peer("refused")], [], id="nobody listens yet"),
        pytest.param(
            [peer("timed_out"), peer("timed_out", port=6644)],
            [("peer_unreachable", "db1", "it cannot reach db2 at db2.example.com, TCP port 6643, 6644 (no answer)")],
            id="a firewall that drops",
        ),
        pytest.param(
            [peer("connected"), peer("unreachable", port=6644, error="No route to host")],
            [("peer_unreachable", "db1", "it cannot reach db2 at db2.example.com, TCP port 6644 (No route to host)")],
            id="a firewall that rejects one port",
        ),
        pytest.param(
            [peer("unresolved", error="Name or service not known")],
            [
                (
                    "address_unresolved",
                    "db1 db2.example.com",
                    "the address of db2 cannot be resolved there (Name or service not known)",
                )
            ],
            id="unknown name",
        ),
        pytest.param(
            [peer("connected"), peer("timed_out", "db9")], [], id="one outside of this run, another one answers"
        ),
        pytest.param(
            [peer("refused"), peer("timed_out", "db9")], [], id="one outside of this run, another one refuses"
        ),
        pytest.param(
            [peer("timed_out", "db9")],
            [("peer_unreachable", "db1", "it cannot reach db9 at db9.example.com, TCP port 6643 (no answer)")],
            id="one outside of this run, and nobody answers",
        ),
    ],
)
def test_peers(peers: list[dict[str, t.Any]], expected: list[tuple[str, str, str]]) -> None:
    assert found(central(peers=peers), central("db2", **MEMBER)) == expected
    assert found(central(peers=peers, **MEMBER), central("db2", **MEMBER)) == []


def test_a_peer_that_does_not_have_its_address_is_one_finding_of_its_own() -> None:
    misplaced = central("db2", local_addresses=[local("192.0.2.11")])
    assert codes(central(peers=[peer("timed_out")]), misplaced) == ["address_not_local"]


def listener(port: int, address: str = "::", protocol: str = "tcp", **holder: t.Any) -> dict[str, t.Any]:
    return {"protocol": protocol, "address": address, "port": port, "holder": process(**holder) if holder else None}


OTHER = {"program": "haproxy", "supervisor": "haproxy.service"}
HERE = {"local_addresses": [local("192.0.2.11", is_local=True)]}


@pytest.mark.parametrize(
    ("listeners", "expected"),
    [
        pytest.param(
            [listener(6641, **OTHER), listener(6642, **OTHER)],
            "TCP port 6641, 6642 is held by haproxy (process 7, haproxy.service)",
            id="others",
        ),
        pytest.param([listener(6641, program="ovsdb-server", supervisor="c5c3-ovn-northbound.service")], "", id="ours"),
        pytest.param(
            [listener(6641)], "TCP port 6641 is held by a process that cannot be seen there", id="nobody knows whose"
        ),
        pytest.param(
            [listener(6641, "127.0.0.1", **OTHER)],
            "TCP port 6641 is held by",
            id="one address of those that we listen at",
        ),
        pytest.param([listener(6643, "127.0.0.1", **OTHER)], "", id="a Raft port at another address"),
        pytest.param(
            [listener(6643, "192.0.2.11", **OTHER)], "TCP port 6643 is held by", id="a Raft port at our address"
        ),
        pytest.param(
            [listener(6643, "0.0.0.0", **OTHER)], "TCP port 6643 is held by", id="a Raft port at all addresses"
        ),
        pytest.param(
            [listener(6641, program="ovsdb-server", supervisor=Supervisor("container", "0123456789ab", "docker"))],
            "ovsdb-server (process 7, docker container 0123456789ab)",
            id="a container",
        ),
    ],
)
def test_ports(listeners: list[dict[str, t.Any]], expected: str) -> None:
    result = found(central(listeners=listeners, **HERE))
    assert [code for code, _object, _cause in result] == (["port_taken"] if expected else [])
    assert not expected or expected in result[0][2]
    assert found(central(listeners=listeners, **HERE, **MEMBER)) == []


@pytest.mark.parametrize(
    ("listen", "address", "taken"),
    [
        pytest.param("0.0.0.0", "2001:db8::1", False, id="one address of IPv6"),
        pytest.param("0.0.0.0", "127.0.0.1", True, id="one address of IPv4"),
        pytest.param("[2001:DB8::1]", "2001:db8::1", True, id="another spelling"),
    ],
)
def test_a_listener_of_the_other_family_takes_no_port(listen: str, address: str, taken: bool) -> None:
    variables = {"ovn_central_listen_address": listen}
    host = central(listeners=[listener(6641, address, **OTHER)], variables=variables, **HERE)
    assert codes(host) == (["port_taken"] if taken else [])


def device(name: str, port: int = 6081, kind: str = "geneve") -> dict[str, t.Any]:
    return {"name": name, "kind": kind, "port": port}


@pytest.mark.parametrize(
    ("facts", "expected"),
    [
        pytest.param({"tunnel_devices": [device("genev_sys_6081")]}, "", id="Open vSwitch's"),
        pytest.param(
            {"tunnel_devices": [device("cilium_geneve")]},
            "UDP port 6081 of geneve tunnels is held by the device cilium_geneve",
            id="another's",
        ),
        pytest.param({"tunnel_devices": [device("vxlan7", 4789, "vxlan")]}, "", id="a tunnel of another kind"),
        pytest.param({"listeners": [listener(6081, protocol="udp")]}, "", id="a socket of the kernel"),
        pytest.param(
            {"listeners": [listener(6081, protocol="udp", program="sflow")]}, "sflow (process 7)", id="a process"
        ),
    ],
)
def test_tunnel_ports(facts: dict[str, t.Any], expected: str) -> None:
    result = found(hypervisor(**facts))
    assert [code for code, _object, _cause in result] == (["tunnel_port_taken"] if expected else [])
    assert not expected or expected in result[0][2]
    assert found(hypervisor(**facts, **CHASSIS)) == []


@pytest.mark.parametrize(
    ("mtu", "guest_mtu", "address", "fits"),
    [
        pytest.param(1500, 0, "192.0.2.21", True, id="the usual"),
        pytest.param(1500, 0, "2001:db8::21", True, id="the usual over IPv6"),
        pytest.param(1499, 0, "192.0.2.21", False, id="one octet less"),
        pytest.param(1450, 1392, "192.0.2.21", True, id="small guests"),
        pytest.param(1450, 1393, "192.0.2.21", False, id="guests with an octet more"),
        pytest.param(1500, 1442, "2001:db8::21", False, id="IPv6 needs more"),
        pytest.param(1500, 1500, "192.0.2.21", False, id="full guests"),
        pytest.param(1558, 1500, "192.0.2.21", True, id="full guests in a larger underlay"),
    ],
)
def test_mtu(mtu: int, guest_mtu: int, address: str, fits: bool) -> None:
    facts = {
        "underlay": {"name": "eth1", "mtu": mtu},
        "variables": {"ovn_encapsulation_ip": address},
        "limits": Limits(guest_mtu=guest_mtu),
    }
    assert codes(hypervisor(**facts)) == ([] if fits else ["mtu_too_small"])
    assert codes(hypervisor(**facts, **CHASSIS)) == []


def test_the_mtu_of_every_tunnel_address() -> None:
    underlays = {
        "192.0.2.21": {"name": "eth1", "mtu": 1500},
        "198.51.100.1": {"name": "eth2", "mtu": 1400},
        "203.0.113.1": {"name": "eth3", "mtu": 1300},  # of no tunnel
    }
    variables = {"ovn_encapsulation_ip": ["192.0.2.21", "198.51.100.1"]}
    host = hypervisor(underlay=underlays["192.0.2.21"], underlays=underlays, variables=variables)
    assert [cause.split(" carries")[0] for _code, _object, cause in found(host)] == ["MTU 1400 of eth2"]


def test_the_next_step_says_what_guests_may_have() -> None:
    host = hypervisor(underlay={"name": "eth1", "mtu": 1450})
    (finding,) = judge_network([host])
    assert finding.cause.startswith("MTU 1450 of eth1 carries no packets of guests with MTU 1442")
    assert finding.next_step.endswith("ovn_precheck_guest_mtu of 1392 or less")


@pytest.mark.parametrize(
    ("small", "large", "mtu", "expected"),
    [
        pytest.param(True, True, 1500, [], id="all packets"),
        pytest.param(True, False, 1500, ["path_mtu_too_small"], id="small ones only"),
        pytest.param(False, False, 1500, [], id="nothing: perhaps filtered"),
        pytest.param(True, False, 1400, ["mtu_too_small"], id="the own interface explains it"),
    ],
)
def test_paths(small: bool, large: bool, mtu: int, expected: list[str]) -> None:
    path = {"host": "compute2", "address": "192.0.2.22", "small": small, "large": large}
    facts = {"underlay": {"name": "eth1", "mtu": mtu}, "paths": [path]}
    assert codes(hypervisor(**facts)) == expected
    assert codes(hypervisor(**facts, **CHASSIS)) == []


@pytest.mark.parametrize(
    ("state", "filtered", "expected"),
    [
        ("timed_out", ["db2"], []),
        ("timed_out", ["db3"], ["peer_unreachable"]),
        ("unreachable", ["db2"], ["peer_unreachable"]),
    ],
)
def test_a_firewall_of_ours_may_not_know_a_new_host_yet(state: str, filtered: list[str], expected: list[str]) -> None:
    hosts = [hypervisor(peers=[peer(state)]), central("db2")]
    assert [one.code for one in judge_network(hosts, filtered)] == expected

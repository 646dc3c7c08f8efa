"""What is measured on a host, and what is left out where nothing new comes."""

from __future__ import annotations

import importlib.util
import typing as t

import pytest
from precheck_facts import central, declare, facts, hypervisor

from ansible_collections.c5c3.ovn.plugins.module_utils._machine.commands import Answer, Commands
from ansible_collections.c5c3.ovn.plugins.module_utils._precheck import measure
from ansible_collections.c5c3.ovn.plugins.module_utils._precheck import measure as measuring
from ansible_collections.c5c3.ovn.plugins.module_utils._precheck import measure as system
from ansible_collections.c5c3.ovn.plugins.module_utils._precheck.measure import (
    CHASSIS_UNIT,
    MEMBER_UNIT,
    MeasuredHost,
    Mount,
    Socket,
    mount_of,
    parse_mounts,
    parse_sockets,
    read_modules,
    read_packages,
)

PEERS = [{"host": "db2", "address": "192.0.2.12", "ports": [6641]}]
TUNNEL = {"address": "192.0.2.21", "peers": [{"host": "b", "address": "192.0.2.22"}], "packet_size": 1500}
NONE: dict[str, t.Any] = {
    "local_addresses": [],
    "peers": PEERS,
    "tcp_ports": [],
    "udp_ports": [],
    "tunnel": None,
    "paths": [],
    "packages": [],
    "library_packages": [],
    "archive_uris": [],
    "archive_proxy": "",
    "kernel_modules": [],
    "openvswitch_database": "unix:/nowhere",
    "southbound": "unix:/nowhere",
    "timeout": 1.0,
}


class NoCommands(Commands):
    """A host without the commands that are asked."""

    def run(self, command: t.Sequence[str], environment: t.Mapping[str, str] | None = None) -> Answer:
        return 1, "", ""

    def find(self, program: str) -> str:
        return ""


@pytest.mark.parametrize(
    ("declared", "units", "asked"),
    [
        pytest.param({"tcp_ports": [6641]}, [], (1, 0), id="a member to come"),
        pytest.param({"tcp_ports": [6641]}, [MEMBER_UNIT], (0, 0), id="a member"),
        pytest.param({"tunnel": TUNNEL}, [], (1, 1), id="a chassis to come"),
        pytest.param({"tunnel": TUNNEL, "udp_ports": [6081]}, [CHASSIS_UNIT], (0, 0), id="a chassis"),
        pytest.param(
            {"tcp_ports": [6641], "tunnel": TUNNEL}, [MEMBER_UNIT], (1, 1), id="a member that becomes a chassis"
        ),
        pytest.param({"tcp_ports": [6641], "tunnel": TUNNEL}, [MEMBER_UNIT, CHASSIS_UNIT], (0, 0), id="both"),
        pytest.param({}, [], (1, 0), id="no role"),
    ],
)
def test_paths_are_measured_for_what_is_new(
    declared: dict[str, t.Any], units: list[str], asked: tuple[int, int], monkeypatch: pytest.MonkeyPatch
) -> None:
    peers, paths = [], []
    monkeypatch.setattr(measuring, "own_units", lambda: units)
    monkeypatch.setattr(measuring, "connect_all", lambda given, _seconds: peers.extend(given))
    monkeypatch.setattr(measuring, "probe_paths", lambda _source, given, _size: paths.extend(given))
    measuring.measure({**NONE, **declared}, NoCommands())
    assert (len(peers), len(paths)) == asked


POLICY = "ovn-host:\n  Candidate: 23.03.1-1\npython3-cryptography:\n  Candidate: 38.0.4-3\n"
MADISON = "".join(
    f" ovn-host | {version} | http://deb.example.com/x x/main amd64 Packages\n"
    for version in ("25.03.0-1", "25.03.1-1", "26.03.0-1")
)
URIS = "'http://deb.example.com/x/InRelease' name_InRelease 0 \n"


class Host:
    """dpkg and apt of a host with these packages; `asked` are their commands."""

    def __init__(self, **installed: str) -> None:
        self.installed = installed
        self.asked: list[str] = []

    def run(self, *command: str) -> str:
        self.asked.append(" ".join(command[:2]))
        if command[0] == "dpkg-query":
            return "".join(f"{name}\tinstall\tinstalled\t{one}\t\n" for name, one in self.installed.items())
        return {"policy": POLICY, "madison": MADISON, "update": URIS}.get(command[1], "")


@pytest.fixture
def probed(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, int]]:
    """Places that were connected to, all of which answer."""
    found: list[tuple[str, int]] = []

    def connect(peers: t.Sequence[t.Mapping[str, t.Any]], _seconds: float) -> list[dict[str, t.Any]]:
        found.extend((peer["address"], peer["port"]) for peer in peers)
        return [dict(peer, state="connected", error="") for peer in peers]

    monkeypatch.setattr(measure, "connect_all", connect)
    monkeypatch.delenv("http_proxy", raising=False)
    return found


def test_a_host_that_has_everything_is_asked_once(probed: list[tuple[str, int]]) -> None:
    host = Host(**{"ovn-host": "25.03.0-1"})
    found = read_packages(host.run, ["ovn-host=25.03.*"], 1, repository=["http://ovn.example.com"])
    assert (host.asked, probed) == (["dpkg-query --show"], [])
    assert found["installed"] == {"ovn-host": "25.03.0-1"}


@pytest.mark.parametrize(
    ("spec", "candidates"),
    [
        pytest.param("ovn-host", {"ovn-host": "23.03.1-1"}, id="what apt would install"),
        pytest.param("ovn-host=25.03.*", {"ovn-host": "25.03.1-1"}, id="the newest one of a pattern"),
        pytest.param("ovn-host=24.*", {}, id="no source has it"),
    ],
)
def test_what_would_be_installed(probed: list[tuple[str, int]], spec: str, candidates: dict[str, str]) -> None:
    found = read_packages(Host().run, [spec], 1, repository=["http://ovn.example.com:81/x"])
    assert {name: one for name, one in found["candidates"].items() if name == "ovn-host"} == candidates
    assert probed == [("deb.example.com", 80), ("ovn.example.com", 81)]
    assert [len(found[name]) for name in ("archives", "repository")] == [1, 1]


@pytest.mark.parametrize("there", [True, False])
@pytest.mark.usefixtures("probed")
def test_packages_of_a_library_that_python_has_are_not_looked_for(monkeypatch: pytest.MonkeyPatch, there: bool) -> None:
    monkeypatch.setattr(importlib.util, "find_spec", lambda _name: object() if there else None)
    host = Host(**{"ovn-host": "25.03.0-1"})
    found = read_packages(host.run, ["ovn-host"], 1, library=["python3-cryptography"])
    assert found["library_missing"] is not there
    assert ("python3-cryptography" in found["candidates"]) is not there
    assert (len(host.asked) > 1) is not there


TCP = """\
  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode
   0: 0100007F:19F1 00000000:0000 0A 00000000:00000000 00:00000000 00000000     0        0 4711 1 0000000000000000 100 0 0 10 0
   1: 0100007F:19F1 0100007F:8000 01 00000000:00000000 00:00000000 00000000     0        0 4712 1 0000000000000000 100 0 0 10 0
   2: 00000000:0016 00000000:0000 0A 00000000:00000000 00:00000000 00000000     0        0 99 1 0000000000000000 100 0 0 10 0
"""
TCP6 = """\
  sl  local_address                         remote_address                        st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode
   0: 00000000000000000000000000000000:19F2 00000000000000000000000000000000:0000 0A 00000000:00000000 00:00000000 00000000     0        0 5000 1 0 100 0 0 10 0
   1: B80D0120000000000000000001000000:19F3 00000000000000000000000000000000:0000 0A 00000000:00000000 00:00000000 00000000     0        0 5001 1 0 100 0 0 10 0
"""
UDP = """\
   sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode ref pointer drops
  412: 00000000:17C1 00000000:0000 07 00000000:00000000 00:00000000 00000000     0        0 0 2 0000000000000000 0
"""


def test_only_listening_sockets_count() -> None:
    assert parse_sockets(TCP, "0A") == [Socket("127.0.0.1", 6641, 4711), Socket("0.0.0.0", 22, 99)]


def test_addresses_of_ipv6() -> None:
    assert parse_sockets(TCP6, "0A") == [Socket("::", 6642, 5000), Socket("2001:db8::1", 6643, 5001)]


def test_an_address_of_ipv4_in_ipv6() -> None:
    mapped = TCP6.replace("B80D0120000000000000000001000000", "0000000000000000FFFF0000010200C0")
    assert Socket("192.0.2.1", 6643, 5001) in parse_sockets(mapped, "0A")


def test_a_socket_of_the_kernel_has_no_inode() -> None:
    assert parse_sockets(UDP) == [Socket("0.0.0.0", 6081, 0)]


def test_nothing_is_nothing() -> None:
    assert parse_sockets("") == []


DECLARED = declare({"ovn_central": {"db1": {}}})["db1"]


@pytest.mark.parametrize(
    ("result", "unreachable", "problem"),
    [
        pytest.param({"unreachable": True, "msg": "no route"}, True, "no route", id="no connection"),
        pytest.param(
            {"failed": True, "timedout": {"period": 60}, "msg": "Timed out"},
            True,
            "Timed out",
            id="a connection that hangs",
        ),
        pytest.param({"msg": "No module named json", "rc": 1}, False, "No module named json", id="the module failed"),
        pytest.param({}, False, "no result", id="nothing was registered"),
        pytest.param({"facts": facts(), "control_clock": {"sent": 1.0, "received": 2.0}}, False, "", id="measured"),
    ],
)
def test_results(result: dict[str, t.Any], unreachable: bool, problem: str) -> None:
    host = MeasuredHost.of(DECLARED, result)
    assert (host.unreachable, host.problem, bool(host.facts)) == (unreachable, problem, not problem)


def test_what_a_host_is_already() -> None:
    assert central().becomes_member
    assert not central(own_units=["c5c3-ovn-northbound.service"]).is_new
    assert hypervisor().becomes_chassis
    assert hypervisor(own_units=["c5c3-ovn-northbound.service"]).becomes_chassis
    assert not hypervisor(own_units=["c5c3-ovn-controller.service"]).is_new


MOUNTS = r"""22 1 254:0 / / rw,relatime - ext4 /dev/vda rw
30 22 0:24 / /run rw,nosuid - tmpfs tmpfs rw,size=100k
41 22 254:1 / /var/lib/ovn\040data rw,relatime shared:1 master:2 - xfs /dev/vdb rw
42 22 254:2 / /var/lib/ovn rw,relatime - ext4 /dev/vdc rw
43 42 0:60 / /var/lib/ovn rw,relatime - nfs4 filer:/ovn rw
"""


def test_mounts_with_optional_fields_and_spaces() -> None:
    assert parse_mounts(MOUNTS)[2] == Mount("/var/lib/ovn data", "xfs")


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        pytest.param("/etc/c5c3-ovn", Mount("/", "ext4"), id="the root"),
        pytest.param("/run", Mount("/run", "tmpfs"), id="a mount itself"),
        pytest.param("/runner/x", Mount("/", "ext4"), id="a name that begins like a mount"),
        pytest.param("/var/lib/ovn data/x", Mount("/var/lib/ovn data", "xfs"), id="a mount with a space"),
        pytest.param("/var/lib/ovn/x", Mount("/var/lib/ovn", "nfs4"), id="of two at one place the last"),
    ],
)
def test_the_mount_that_has_a_path(path: str, expected: Mount) -> None:
    assert mount_of(path, parse_mounts(MOUNTS)) == expected


class Modinfo(Commands):
    """A host whose modinfo prints this of each module; None: it has no modinfo."""

    def __init__(self, vermagic: str | None) -> None:
        self.vermagic = vermagic

    def run(self, command: t.Sequence[str], environment: t.Mapping[str, str] | None = None) -> Answer:
        assert command == ["/sbin/modinfo", "-F", "vermagic", "no_such_module"]
        return 0, f"{self.vermagic}\n", ""

    def find(self, program: str) -> str:
        return "" if self.vermagic is None else f"/sbin/{program}"


@pytest.mark.parametrize(
    ("listed", "vermagic", "state"),
    [
        pytest.param("", "6.1.0-9-amd64 SMP", "missing", id="no file"),
        pytest.param("x/no_such_module.ko.xz:\n", "6.1.0-9-amd64 SMP", "loadable", id="of this kernel"),
        pytest.param("x/no_such_module.ko:\n", "6.1.0-8-amd64 SMP", "mismatched", id="of another kernel"),
        pytest.param("x/no_such_module.ko:\n", "", "loadable", id="modinfo says nothing"),
        pytest.param("x/no_such_module.ko:\n", None, "loadable", id="no modinfo"),
    ],
)
def test_modules_of_the_kernel(listed: str, vermagic: str | None, state: str, monkeypatch: pytest.MonkeyPatch) -> None:
    texts = {"/lib/modules/6.1.0-9-amd64/modules.dep": listed}
    monkeypatch.setattr(system, "text_if_readable", lambda path: texts.get(path, ""))
    assert read_modules(["no_such_module"], "6.1.0-9-amd64", Modinfo(vermagic)) == {"no_such_module": state}

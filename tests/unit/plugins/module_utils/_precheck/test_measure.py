"""What is measured on a host, and what is left out where nothing new comes."""

from __future__ import annotations

import typing as t

import pytest

from ansible_collections.c5c3.ovn.plugins.module_utils._machine.commands import Answer, Commands
from ansible_collections.c5c3.ovn.plugins.module_utils._precheck import measure as measuring
from ansible_collections.c5c3.ovn.plugins.module_utils._precheck.system import CHASSIS_UNIT, MEMBER_UNIT

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

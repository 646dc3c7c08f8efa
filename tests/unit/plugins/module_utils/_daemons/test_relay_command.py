"""How a relay is started, in a unit and in a pod."""

from __future__ import annotations

import dataclasses
import json

import pytest

from ansible_collections.c5c3.ovn.plugins.module_utils._daemons.relay_command import (
    LISTENERS,
    SCRIPT,
    RelaySettings,
    listeners_transaction,
    relay_command,
    relay_revision,
)
from ansible_collections.c5c3.ovn.plugins.module_utils._ovsdb.tls_files import TlsFiles

SETTINGS = RelaySettings(
    run_directory="/run/r",
    listeners_file="/run/r/l.db",
    sources=["ssl:a:16642", "ssl:b:16642"],
    target="pssl:6642:[::]",
    inactivity_probe=5000,
    tls=TlsFiles("k", "c", "ca"),
)


@pytest.mark.parametrize(
    ("log_file", "arguments"),
    [
        ("/var/log/r.log", ["-vconsole:off", "-vsyslog:warn", "-vfile:info", "--log-file=/var/log/r.log"]),
        ("", ["-vconsole:info", "-vsyslog:off", "-vfile:off"]),
    ],
    ids=["on a machine", "in a pod, whose log is standard error"],
)
def test_where_it_logs(log_file: str, arguments: list[str]) -> None:
    command = relay_command(dataclasses.replace(SETTINGS, log_file=log_file))
    assert command[2 : 2 + len(arguments)] == arguments
    assert [word for word in command if word.startswith(("-v", "--log-file"))] == arguments


@pytest.mark.parametrize("role", ["ovn-controller", ""])
def test_the_role_of_its_clients(role: str) -> None:
    settings = dataclasses.replace(SETTINGS, role=role)
    _database, row, _link = json.loads(listeners_transaction(settings))
    assert row["row"] == {"target": "pssl:6642:[::]", "role": role, "inactivity_probe": 5000}
    assert (relay_revision(settings) == relay_revision(SETTINGS)) is (role == "ovn-controller")


def test_the_launcher_looks_for_the_port_where_it_is_declared() -> None:
    assert f'["{LISTENERS}",{{"op":"select","table":"Connection"' in SCRIPT

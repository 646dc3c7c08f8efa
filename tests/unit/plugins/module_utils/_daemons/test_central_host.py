from __future__ import annotations

import dataclasses
import pathlib
import typing as t

import pytest

from ansible_collections.c5c3.ovn.plugins.module_utils._api.spec import parse_spec
from ansible_collections.c5c3.ovn.plugins.module_utils._base.errors import Refused
from ansible_collections.c5c3.ovn.plugins.module_utils._daemons.central_host import (
    NorthdSettings,
    northd_command,
    northd_socket,
    parse_northd_state,
    parse_version,
    served_certificate,
)
from ansible_collections.c5c3.ovn.plugins.module_utils._manifests import relay
from ansible_collections.c5c3.ovn.plugins.module_utils._manifests.config import ManifestContext
from ansible_collections.c5c3.ovn.plugins.module_utils._ovsdb.tls_files import TlsFiles
from ansible_collections.c5c3.ovn.plugins.module_utils._roles import central


@pytest.mark.parametrize(
    ("text", "version"),
    [
        ("ovn-northd 23.03.1\nOpen vSwitch Library 3.1.0\n", "23.03.1"),
        ("ovsdb-server (Open vSwitch) 3.5.0\nDB Schema 7.11.0\n", "3.5.0"),
        ("ovsdb-server (Open vSwitch) 4.0.0-dev\n", "4.0.0"),
        ("", ""),
        ("nothing", ""),
    ],
)
def test_version(text: str, version: str) -> None:
    assert parse_version(text) == version


@pytest.mark.parametrize("state", ["active", "standby", "paused"])
def test_northd_state(state: str) -> None:
    assert parse_northd_state(f"Status: {state}\n") == state


@pytest.mark.parametrize("text", ["", "Status:", "Status: asleep\n"])
def test_another_state_is_told(text: str) -> None:
    with pytest.raises(Refused, match="expected active, standby, paused"):
        parse_northd_state(text)


@pytest.mark.parametrize(
    ("files", "expected"),
    [
        pytest.param({}, "ovn-northd.ctl", id="none"),
        pytest.param({"ovn-northd.ctl": "", "ovn-northd.pid": "7", "ovn-northd.7.ctl": ""}, "ovn-northd.ctl", id="ours"),
        pytest.param({"ovn-northd.pid": "7\n", "ovn-northd.7.ctl": ""}, "ovn-northd.7.ctl", id="of ovn-ctl"),
        pytest.param({"ovn-northd.pid": "8\n", "ovn-northd.7.ctl": ""}, "ovn-northd.ctl", id="an old pid file"),
        pytest.param({"ovn-northd.pid": "x/7"}, "ovn-northd.ctl", id="no number"),
    ],
)  # fmt: skip
def test_control_socket_of_northd(files: dict[str, str], expected: str, tmp_path: pathlib.Path) -> None:
    for name, text in files.items():
        (tmp_path / name).write_text(text)
    assert northd_socket(str(tmp_path)) == str(tmp_path / expected)


END = 1795219200.0  # Nov 20 16:00:00 2026 GMT
CERTIFICATE = {
    "subject": ((("organizationName", "x"),), (("commonName", "central1"),)),
    "notAfter": "Nov 21 00:00:00 2026 GMT",
}


@pytest.mark.parametrize(
    ("certificate", "now", "days"),
    [
        (CERTIFICATE, END - 86400 * 10, 10),
        (CERTIFICATE, END - 86400 * 10 + 1, 9),
        (CERTIFICATE, END + 1, -1),
        (None, END, None),
        ({}, END, None),
    ],
)
def test_days_left(certificate: dict[str, t.Any] | None, now: float, days: int | None) -> None:
    assert served_certificate(certificate, now)["days_left"] == days
    assert served_certificate(certificate, now)["subject"] == ("central1" if certificate else None)


LEAST = NorthdSettings("ovn-northd", "/run/ovn", ["tcp:a:6641", "tcp:b:6641"], ["tcp:a:6642"])
COMMON = [
    "--pidfile=/run/ovn/ovn-northd.pid",
    "--unixctl=/run/ovn/ovn-northd.ctl",
    "--ovnnb-db=tcp:a:6641,tcp:b:6641",
    "--ovnsb-db=tcp:a:6642",
]


def test_without_a_file_it_logs_where_it_runs() -> None:
    log = ["-vconsole:info", "-vsyslog:off", "-vfile:off"]
    assert northd_command(LEAST) == ["ovn-northd", "--no-chdir", *log, *COMMON]


def test_everything() -> None:
    tls = TlsFiles("/key", "/cert", "/ca")
    settings = dataclasses.replace(LEAST, program="/usr/bin/ovn-northd", log_file="/var/log/x.log", threads=4, tls=tls)
    assert northd_command(settings) == [
        *("/usr/bin/ovn-northd", "--no-chdir", "-vconsole:off", "-vfile:info", "--log-file=/var/log/x.log"),
        *COMMON,
        *("--n-threads=4", "-p", "/key", "-c", "/cert", "-C", "/ca"),
    ]


def test_machines_and_pods_run_what_this_function_returns(monkeypatch: pytest.MonkeyPatch) -> None:
    for user in (central, relay):
        monkeypatch.setattr(user, "northd_command", lambda settings: ["stub", settings.run_directory])
    options = central.CentralMachineOptions()
    context = ManifestContext(parse_spec({}, name="ovn", namespace="net"), "ovn", "net", "local", None, {})
    context = dataclasses.replace(context, replicas={"northbound": 1, "southbound": 1})
    pod = relay.northd_deployment(context)["spec"]["template"]["spec"]
    assert central.desired_state(options, "c1", {"c1": "a"}, {})["northd"]["command"] == "stub /run/ovn"
    assert pod["containers"][0]["command"] == ["stub", "/run/ovn"]

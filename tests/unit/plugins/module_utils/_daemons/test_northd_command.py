"""The command line of northd: one function for machines and pods."""

from __future__ import annotations

import dataclasses

import pytest

from ansible_collections.c5c3.ovn.plugins.module_utils._api.spec import parse_spec
from ansible_collections.c5c3.ovn.plugins.module_utils._daemons.northd_command import NorthdSettings, northd_command
from ansible_collections.c5c3.ovn.plugins.module_utils._manifests import northd
from ansible_collections.c5c3.ovn.plugins.module_utils._manifests.context import ManifestContext
from ansible_collections.c5c3.ovn.plugins.module_utils._ovsdb.tls_files import TlsFiles
from ansible_collections.c5c3.ovn.plugins.module_utils._roles import central

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
    for user in (central, northd):
        monkeypatch.setattr(user, "northd_command", lambda settings: ["stub", settings.run_directory])
    options = central.CentralMachineOptions(members=["c1"])
    context = ManifestContext(parse_spec({}, name="ovn", namespace="net"), "ovn", "net", "local", None, {})
    context = dataclasses.replace(context, replicas={"northbound": 1, "southbound": 1})
    pod = northd.northd_deployment(context)["spec"]["template"]["spec"]
    assert central.desired_state(options, "c1", {"c1": "a"}, {})["northd"]["command"] == "stub /run/ovn"
    assert pod["containers"][0]["command"] == ["stub", "/run/ovn"]

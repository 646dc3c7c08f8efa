"""The environment of a launcher: one function for machines and pods."""

from __future__ import annotations

import dataclasses
import re
import typing as t

import pytest

from ansible_collections.c5c3.ovn.plugins.module_utils._api.spec import parse_spec
from ansible_collections.c5c3.ovn.plugins.module_utils._daemons.raft_launcher import SCRIPT
from ansible_collections.c5c3.ovn.plugins.module_utils._manifests import statefulset
from ansible_collections.c5c3.ovn.plugins.module_utils._manifests.config import ManifestContext
from ansible_collections.c5c3.ovn.plugins.module_utils._ovsdb.tls_files import TlsFiles
from ansible_collections.c5c3.ovn.plugins.module_utils._raft.launcher_environment import (
    LauncherSettings,
    launcher_environment,
)
from ansible_collections.c5c3.ovn.plugins.module_utils._roles import central

LEAST = LauncherSettings(
    database="northbound",
    member="c1",
    local_address="tcp:192.0.2.11:6643",
    record_directory="/record",
    database_file="/data/ovnnb_db.db",
    run_directory="/run/ovn",
    state_directory="/run/ovn/launcher",
    client_endpoints=["tcp:192.0.2.12:6641", "tcp:192.0.2.13:6641"],
)
ALL = dataclasses.replace(
    LEAST,
    schema_file="/usr/share/ovn/ovn-nb.ovsschema",
    witness_file="/run/witness",
    log_file="/var/log/db.log",
    log_levels="file:info",
    poll_seconds=1,
    console=True,
    tls=TlsFiles("/key", "/cert", "/ca"),
)


def test_what_has_no_value_is_left_to_the_launcher() -> None:
    assert launcher_environment(dataclasses.replace(LEAST, member="")) == {
        "OVN_DATABASE": "northbound",
        "OVN_LOCAL_ADDRESS": "tcp:192.0.2.11:6643",
        "OVN_RECORD_DIR": "/record",
        "OVN_DB_FILE": "/data/ovnnb_db.db",
        "OVN_RUN_DIR": "/run/ovn",
        "OVN_STATE_DIR": "/run/ovn/launcher",
        "OVN_CLIENT_ENDPOINTS": "tcp:192.0.2.12:6641,tcp:192.0.2.13:6641",
        "OVN_WAIT": "1",
    }


def test_the_launcher_knows_every_variable() -> None:
    environment = launcher_environment(ALL)
    assert len(environment) == 18
    assert [name for name in environment if not re.search(rf"\$\{{?{name}\b", SCRIPT)] == []


def test_values() -> None:
    differs = launcher_environment(ALL).items() - launcher_environment(LEAST).items()
    assert dict(differs) == {
        "OVN_SCHEMA": "/usr/share/ovn/ovn-nb.ovsschema",
        "OVN_WITNESS_FILE": "/run/witness",
        "OVN_LOG_FILE": "/var/log/db.log",
        "OVN_LOG_LEVELS": "file:info",
        "OVN_POLL": "1",
        "OVN_CONSOLE": "1",
        "OVN_PRIVATE_KEY": "/key",
        "OVN_CERTIFICATE": "/cert",
        "OVN_CA_CERTIFICATE": "/ca",
    }


def test_a_part_of_a_certificate_is_none() -> None:
    half = dataclasses.replace(LEAST, tls=TlsFiles("/key", "/cert"))
    assert launcher_environment(half) == launcher_environment(LEAST)


def test_machines_and_pods_get_what_this_function_returns(monkeypatch: pytest.MonkeyPatch) -> None:
    def stub(settings: LauncherSettings) -> dict[str, str]:
        return {"OVN_STUB": settings.database, "OVN_RECORD_DIR": "", "OVN_DB_FILE": ""}

    for user in (central, statefulset):
        monkeypatch.setattr(user, "launcher_environment", stub)
    options = central.CentralMachineOptions()
    desired = central.desired_state(options, "c1", {"c1": "192.0.2.11"}, {})
    context = ManifestContext(
        parse_spec({}, name="ovn", namespace="net"), "ovn", "net", "local", None, {"southbound": 1}
    )
    pod: dict[str, t.Any] = statefulset.stateful_set(context, "southbound")["spec"]["template"]["spec"]
    # Beside it: the revision, by which a run knows old processes; the name of the pod, which the kubelet knows.
    assert desired["databases"]["southbound"]["environment"].keys() == {*stub(ALL), "OVN_REVISION"}
    assert [entry["name"] for entry in pod["containers"][0]["env"]] == ["OVN_MEMBER", *stub(ALL)]

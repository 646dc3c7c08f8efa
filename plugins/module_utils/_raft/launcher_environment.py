# SPDX-License-Identifier: GPL-3.0-or-later
"""The environment of a Raft launcher, for the unit of a machine and for a pod. _daemons/raft_launcher.py says what each variable means. Pure."""

from __future__ import annotations

import dataclasses
import typing as t

from .._base.databases import Database
from .._base.tls_options import CIPHERS_VARIABLE
from .._ovsdb.tls_files import NO_TLS, TlsFiles


@dataclasses.dataclass(frozen=True)
class LauncherSettings:
    """What one member is started with; an empty value leaves the default to the launcher.

    `member` is empty where the platform sets OVN_MEMBER itself; `local_address` may refer to it. `poll_seconds` are between two reads of the record.
    """

    database: Database
    member: str
    local_address: str
    record_directory: str
    database_file: str
    run_directory: str
    state_directory: str
    client_endpoints: t.Sequence[str]
    schema_file: str = ""
    witness_file: str = ""
    log_file: str = ""
    log_levels: str = ""
    poll_seconds: int | None = None
    console: bool = False
    tls: TlsFiles = NO_TLS
    ciphers: str = ""


def launcher_environment(settings: LauncherSettings) -> dict[str, str]:
    """Return the variables by their names, without those that have no value. The launcher waits until it may start: systemd and kubelet both expect it."""
    values = {
        "OVN_DATABASE": settings.database,
        "OVN_MEMBER": settings.member,
        "OVN_LOCAL_ADDRESS": settings.local_address,
        "OVN_RECORD_DIR": settings.record_directory,
        "OVN_DB_FILE": settings.database_file,
        "OVN_SCHEMA": settings.schema_file,
        "OVN_RUN_DIR": settings.run_directory,
        "OVN_STATE_DIR": settings.state_directory,
        "OVN_WITNESS_FILE": settings.witness_file,
        "OVN_CLIENT_ENDPOINTS": ",".join(settings.client_endpoints),
        "OVN_WAIT": "1",
        "OVN_POLL": "" if settings.poll_seconds is None else str(settings.poll_seconds),
        "OVN_CONSOLE": "1" if settings.console else "",
        "OVN_LOG_FILE": settings.log_file,
        "OVN_LOG_LEVELS": settings.log_levels,
    }
    tls = settings.tls.as_environment() if settings.tls.complete else {}
    if tls and settings.ciphers:
        tls[CIPHERS_VARIABLE] = settings.ciphers
    return {
        **{name: value for name, value in values.items() if value},
        **tls,
    }

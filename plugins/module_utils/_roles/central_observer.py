# SPDX-License-Identifier: GPL-3.0-or-later
"""The desired state of the observer of a central host. Pure."""

from __future__ import annotations

import json
import posixpath
import typing as t

from .._api.observer_settings import ISSUED_VARIABLE
from .._base.databases import DATABASES, Database
from .._base.tls_options import CLIENT_CA_VARIABLE
from .._machine.systemd_sandbox import Sandbox, sandbox_revision, sandbox_settings
from .._ovsdb.tls_files import TlsFiles

PROGRAM = "/usr/lib/c5c3-ovn/c5c3-ovn.pyz"
STATUS_FILE = "/run/c5c3-ovn/observer/status.json"


def observer_state(
    *,
    clients: t.Mapping[Database, t.Mapping[str, str]],
    records: t.Mapping[Database, str],
    election_timer: int,
    heartbeat_interval: int,
    metrics_file: str,
    tls: TlsFiles,
    client_ca: str,
    issued: str,
    program_digest: str,
) -> dict[str, t.Any]:
    """Return the environment of the unit, what it may do, and the digest of both.

    `clients` has the endpoints without a role by database and member, `records` the directories of the state records, `program_digest` is that of the program,
    `client_ca` the file with the CAs that the relay lets in, empty without a relay, `issued` the list of issued certificates, empty without TLS.
    """
    environment = {
        **{f"OVN_{name.upper()}": ",".join(clients[name].values()) for name in DATABASES},
        **{f"OVN_{name.upper()}_RECORD": records[name] for name in DATABASES},
        **tls.as_environment(),
        **({CLIENT_CA_VARIABLE: client_ca} if client_ca else {}),
        **({ISSUED_VARIABLE: issued} if issued else {}),
        "OVN_ELECTION_TIMER": str(election_timer),
        "OVN_HEARTBEAT_SECONDS": str(heartbeat_interval),
        "OVN_METRICS_FILE": metrics_file,
        "OVN_STATUS_FILE": STATUS_FILE,
    }
    sandbox = sandbox_settings(Sandbox(writable=[posixpath.dirname(metrics_file)], files=[*tls, client_ca, issued]))
    text = json.dumps(environment, sort_keys=True)
    return {
        "program": PROGRAM,
        # The process itself goes on with another program, so this is no matter of its revision.
        "program_digest": program_digest,
        "environment": environment,
        "sandbox": sandbox,
        "revision": sandbox_revision(text, sandbox),
    }

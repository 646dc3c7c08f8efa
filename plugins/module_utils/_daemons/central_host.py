# SPDX-License-Identifier: GPL-3.0-or-later
"""The facts of one central host besides Raft: northd, versions, and the certificates that its ports serve."""

from __future__ import annotations

import dataclasses
import pathlib
import re
import ssl
import time
import typing as t

from .._base.databases import DATABASE_NAMES
from .._base.deadline import Deadline
from .._base.errors import OvnError, Refused
from .._base.tls_options import file_arguments
from .._ovsdb.endpoint import Endpoint
from .._ovsdb.server import appctl, read_databases
from .._ovsdb.tls_files import NO_TLS, TlsFiles
from .._ovsdb.wire import Connection

# The command line of northd (ovn-northd(8)), for the unit of a machine and for a pod. Pure.

DEFAULT_THREADS = 1  # of the OVNCluster and of the role; roles/ovn_central has it in defaults and argument_specs once more, for people


@dataclasses.dataclass(frozen=True)
class NorthdSettings:
    """What one northd is started with. It logs to `log_file`, or to its standard error if that is empty."""

    program: str
    run_directory: str
    northbound: t.Sequence[str]
    southbound: t.Sequence[str]
    log_file: str = ""
    threads: int = DEFAULT_THREADS
    tls: TlsFiles = NO_TLS


def control_socket(run_directory: str) -> str:
    """Return the path of the socket on which northd answers ovn-appctl(8)."""
    return f"{run_directory}/ovn-northd.ctl"


def northd_command(settings: NorthdSettings) -> list[str]:
    """Return the program and its arguments. A single thread is northd's default, so it needs no argument."""
    file = ["-vconsole:off", "-vfile:info", f"--log-file={settings.log_file}"]
    console = ["-vconsole:info", "-vsyslog:off", "-vfile:off"]
    command = [
        settings.program,
        "--no-chdir",
        *(file if settings.log_file else console),
        f"--pidfile={settings.run_directory}/ovn-northd.pid",
        f"--unixctl={control_socket(settings.run_directory)}",
        f"--ovnnb-db={','.join(settings.northbound)}",
        f"--ovnsb-db={','.join(settings.southbound)}",
    ]
    if settings.threads > 1:
        command.append(f"--n-threads={settings.threads}")
    return command + file_arguments(settings.tls)


NORTHD_STATES = ("active", "standby", "paused")

_VERSION = re.compile(r"\b\d+\.\d+(?:\.\d+)*\b")


def parse_version(text: str) -> str:
    """Return `23.03.1` from `ovn-northd 23.03.1`, empty if there is no version."""
    match = _VERSION.search(text)
    return match[0] if match else ""


def parse_northd_state(text: str) -> str:
    """Return `active` from `Status: active`; `Refused` for a state that this collection does not know."""
    state = text.strip().rpartition(":")[2].strip()
    if state not in NORTHD_STATES:
        raise Refused(f'northd describes its state as "{text.strip()[:200]}", expected {", ".join(NORTHD_STATES)}.')
    return state


def served_certificate(certificate: t.Mapping[str, t.Any] | None, now: float) -> dict[str, t.Any]:
    """Return `subject` (the common name), `not_after` and `days_left` of what ssl.SSLSocket.getpeercert() returned; `now` in seconds since 1970."""
    if not certificate:
        return {"subject": None, "not_after": None, "days_left": None}
    names = dict(pair for part in certificate.get("subject", ()) for pair in part)
    end = ssl.cert_time_to_seconds(certificate["notAfter"])
    return {
        "subject": names.get("commonName", ""),
        "not_after": certificate["notAfter"],
        "days_left": int((end - now) // 86400),
    }


def northd_socket(run_directory: str) -> str:
    """Return the control socket of northd: ours has a name without a number, one of ovn-ctl has its process id in it, which its pid file tells."""
    usual = pathlib.Path(run_directory, "ovn-northd.ctl")
    if not usual.exists():
        try:
            number = pathlib.Path(run_directory, "ovn-northd.pid").read_text(encoding="ascii").strip()
        except (OSError, UnicodeDecodeError):
            number = ""
        numbered = pathlib.Path(run_directory, f"ovn-northd.{number}.ctl")
        if number.isdigit() and numbered.exists():
            return str(numbered)
    return str(usual)


def ask_northd(control_socket: str, seconds: float) -> dict[str, t.Any]:
    """Return the state, connections and version of northd; one that does not respond is `unreachable`, with the reason."""
    answer: dict[str, t.Any] = {
        "state": "unreachable",
        "northbound_connected": None,
        "southbound_connected": None,
        "version": "",
        "present": pathlib.Path(control_socket).exists(),
        "reason": "",
    }
    try:
        deadline = Deadline(seconds)
        answer["state"] = parse_northd_state(appctl(control_socket, "status", deadline=deadline))
        for database, command in (("northbound", "nb-connection-status"), ("southbound", "sb-connection-status")):
            # Exactly: "not connected" contains "connected", too.
            answer[f"{database}_connected"] = appctl(control_socket, command, deadline=deadline).strip() == "connected"
        answer["version"] = parse_version(appctl(control_socket, "version", deadline=deadline))
    except OvnError as e:
        answer["reason"] = str(e)
    return answer


def await_northd(control_socket: str, seconds: float, patience: float) -> dict[str, t.Any]:
    """Return the same as `ask_northd`, but give a northd that is not connected to its databases `patience` seconds to connect.

    After a lost connection it tries again every 8 s at most (lib/reconnect.c in Open vSwitch), and sends no event when it succeeds.
    """
    deadline, pause = Deadline(patience), 0.1
    while True:
        answer = ask_northd(control_socket, seconds)
        settled = answer["northbound_connected"] is not False and answer["southbound_connected"] is not False
        if settled or deadline.expired:
            return answer
        time.sleep(min(pause, max(0.001, deadline.left())))
        pause = min(pause * 1.5, 1.0)


def ask_database(database: str, control_socket: str, socket: Endpoint, seconds: float) -> dict[str, t.Any]:
    """Return the version of the server and of the schema in use, and the reason if one of them is not known."""
    answer: dict[str, t.Any] = {"version": "", "schema_version": "", "reason": ""}
    try:
        deadline = Deadline(seconds)
        answer["version"] = parse_version(appctl(control_socket, "version", deadline=deadline))
        with Connection(socket, TlsFiles(), deadline) as connection:
            schema = connection.call("get_schema", [DATABASE_NAMES[database]])
        answer["schema_version"] = str(schema.get("version", ""))
    except OvnError as e:
        answer["reason"] = str(e)
    return answer


def ask_certificate(endpoint: Endpoint, tls: TlsFiles, seconds: float, now: float) -> dict[str, t.Any]:
    """Return the certificate that a port serves. What makes it useless to clients is reported in `problem`: a failed handshake, a server that does not
    respond, a relay that has lost the database.
    """
    try:
        with Connection(endpoint, tls, Deadline(seconds)) as connection:
            relays = [row for row in read_databases(connection).values() if row.model == "relay" and not row.connected]
            problem = f"the relay of {relays[0].name} there is connected to no member" if relays else ""
            return {
                "endpoint": str(endpoint),
                **served_certificate(connection.peer_certificate, now),
                "problem": problem,
            }
    except OvnError as e:
        return {"endpoint": str(endpoint), **served_certificate(None, now), "problem": str(e)}

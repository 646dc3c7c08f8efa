# SPDX-License-Identifier: GPL-3.0-or-later
"""The desired state of the observer of a central host. Pure."""

from __future__ import annotations

import dataclasses
import json
import posixpath
import typing as t

from .._api.observer_settings import ISSUED_VARIABLE
from .._base.databases import DATABASES, PORTS, Database
from .._base.tls_options import CLIENT_CA_VARIABLE
from .._daemons.relay_command import ROLE
from .._machine.systemd_sandbox import Sandbox, sandbox_revision, sandbox_settings
from .._ovsdb.tls_files import TlsFiles

# Where the clients of a control plane on machines find its databases: rows of the table Connection, and the port that the relay serves instead. Pure. Rows
# are replicated, so a target has a wildcard address: each member listens on its own addresses.

_WILDCARDS = ("[::]", "0.0.0.0")
Row = dict[str, t.Any]


@dataclasses.dataclass(frozen=True)
class CentralListeners:
    """The options of the role that say where a database listens. The probe in milliseconds; `extra` are rows that somebody else has declared."""

    database: Database
    tls: bool
    address: str
    inactivity_probe: int
    has_relay: bool
    extra: t.Sequence[Row] = ()

    def rows(self) -> list[Row]:
        """Return where clients connect, on the member or its relay. The first one of the Southbound is that of chassis."""
        rows: list[Row] = [
            {"target": self._target(port, self.address), "inactivity_probe": self.inactivity_probe}
            for port in self._ports()
        ]
        if self.database == "southbound":
            rows[0]["role"] = ROLE if self.has_relay else ""
        return [*rows, *self.extra]

    def connections(self) -> list[Row]:
        """Return the rows of the table, in the form of `ovn_database`.

        Absent are those of the port that the relay serves, and those of the other wildcard address, which a former run may have written: they would keep it.
        """
        released = self.released()
        present = self.rows()[1 if released else 0 :]
        kept = {*released, *(row["target"] for row in present)}
        former = [target for port in self._ports() for target in self._former(port) if target not in kept]
        return [*present, *({"target": target, "state": "absent"} for target in (*released, *former))]

    def released(self) -> list[str]:
        """Return the targets of rows by which members have the port of the relay, also with the address of an earlier run."""
        relayed = self._relayed_port()
        return [] if relayed is None else [self._target(relayed, self.address), *self._former(relayed)]

    def _ports(self) -> list[int]:
        ports = PORTS[self.database]
        return list(dict.fromkeys((ports.client, ports.unrestricted)))

    def _relayed_port(self) -> int | None:
        return PORTS[self.database].client if self.has_relay and self.database == "southbound" else None

    def _former(self, port: int) -> list[str]:
        return [self._target(port, wildcard) for wildcard in _WILDCARDS if wildcard != self.address]

    def _target(self, port: int, address: str) -> str:
        return f"{'pssl' if self.tls else 'ptcp'}:{port}:{address}"


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

# SPDX-License-Identifier: GPL-3.0-or-later
"""The heartbeat: increment NB_Global.nb_cfg and wait until northd and then every chassis have repeated the number. Sessions only, no decisions.

Any connected member will do, it need not lead: a chassis that repeats a number has read it, however late the replica shows it. The number is written with
ovsdbapp; who sends none needs only replicas.
"""

from __future__ import annotations

import time
import typing as t

from .._base.databases import DATABASE_NAMES
from .._base.deadline import Deadline
from .._base.errors import Refused, TimedOut
from .._ovsdb.endpoint import Endpoint
from .._ovsdb.northbound import Command, NorthboundSession
from .._ovsdb.session import Session
from .._ovsdb.tls_files import TlsFiles
from .addresses import CLAIMS, MisplacedPort, borrowed_encapsulations, misplaced_ports
from .heartbeats import RollCall, describe_chassis, has_answered, late_names
from .southbound_rows import DETAILS, chassis_rows, gateways_by_chassis, last_heartbeat, private_rows

_NORTHBOUND = {"NB_Global": ["nb_cfg", "sb_cfg", "options"]}
_GATEWAYS = {"HA_Chassis": ["external_ids"], "HA_Chassis_Group": ["name", "ha_chassis"]}
_SOUTHBOUND = {**DETAILS, "Chassis": [*DETAILS["Chassis"], "encaps"], "SB_Global": ["nb_cfg", "options"]}


class Heartbeat:
    """One heartbeat through an OVN installation, or only the results of the last one: `wait_for` is none, sb or hv, as the option of ovn_sync."""

    def __init__(
        self,
        northbound: t.Sequence[Endpoint],
        southbound: t.Sequence[Endpoint],
        tls: TlsFiles,
        deadline: Deadline,
        wait_for: str,
    ) -> None:
        self.wait_for = wait_for
        self.writer: NorthboundSession | None = None
        if wait_for != "none":
            self.writer = NorthboundSession(northbound, _NORTHBOUND, tls=tls, deadline=deadline)
        self.nb = self.writer or Session(
            northbound, DATABASE_NAMES["northbound"], _NORTHBOUND, tls=tls, deadline=deadline, leader_only=False
        )
        # Only who waits for the chassis can tell a port that is bound elsewhere from one that is just moving, and these tables are the largest ones here.
        tables = (
            {**_SOUTHBOUND, **_GATEWAYS, "Port_Binding": CLAIMS["Port_Binding"]} if wait_for == "hv" else _SOUTHBOUND
        )
        self.sb = Session(
            southbound, DATABASE_NAMES["southbound"], tables, tls=tls, deadline=deadline, leader_only=False
        )
        self.warnings: list[str] = []

    def close(self) -> None:
        self.nb.idl.close()
        self.sb.idl.close()

    def _nb_global(self) -> t.Any:
        rows = self.nb.rows("NB_Global")
        if not rows:
            raise Refused(
                "The Northbound database has no row in NB_Global: it is fresh and northd has never worked on it. "
                "Start northd, then run again."
            )
        return rows[0]

    def _sb_nb_cfg(self) -> int:
        return last_heartbeat(self.sb.rows)

    def _northd_answered(self, expected: int) -> bool:
        row = self._nb_global()
        return has_answered(row.sb_cfg, expected, row.nb_cfg)

    def _entries(self, expected: int | None) -> list[dict[str, t.Any]]:
        has_private = ("Chassis_Private", "name") not in self.sb.missing
        private = private_rows(self.sb.rows).values() if has_private else None
        entries = describe_chassis(chassis_rows(self.sb.rows).values(), private, expected, self._sb_nb_cfg())
        borrowed = borrowed_encapsulations(self.sb.rows)
        for entry in entries:
            entry["encapsulations"] += [{"type": kind, "ip": ip} for kind, ip in borrowed.get(entry["name"], ())]
        return entries

    def _misplaced_ports(self) -> set[MisplacedPort]:
        return set(misplaced_ports(self.sb.rows)) if self.wait_for == "hv" else set()

    def _lost_gateways(self) -> dict[str, list[str]]:
        """Return the gateways of chassis that are not registered, by the name of the chassis."""
        gateways = gateways_by_chassis(self.sb.rows) if self.wait_for == "hv" else {}
        return {name: gateways[name] for name in sorted(gateways.keys() - chassis_rows(self.sb.rows).keys())}

    def _roll_call(self, expected: int) -> RollCall:
        rows: dict[str, t.Any] = {}  # names to UUIDs: a row object would outlive its row

        def read_late_names() -> list[str]:
            rows.update((row.name, row.uuid) for row in self.sb.rows("Chassis_Private"))
            return late_names(self._entries(expected))

        def is_late(name: str) -> bool:
            row = self.sb.row("Chassis_Private", rows.get(name))
            return row is not None and not has_answered(row.nb_cfg, expected, self._sb_nb_cfg())

        return RollCall(read_late_names, is_late)

    def _increment_nb_cfg(self, writer: NorthboundSession) -> int:
        """Increment nb_cfg and return the new number. Two clients at once get two numbers: the slower one repeats its transaction."""

        target = 0

        def count_up() -> list[Command]:
            nonlocal target
            row = self._nb_global()
            row.verify("nb_cfg")
            target = row.nb_cfg + 1
            return [writer.api.db_set("NB_Global", row.uuid, ("nb_cfg", target))]

        writer.run(count_up, "c5c3.ovn.ovn_sync")
        return target

    def run(self) -> dict[str, t.Any]:
        """Return the result of the module ovn_sync."""
        asked = self.writer is not None
        before = self._sb_nb_cfg()
        misplaced = self._misplaced_ports()
        target = self._increment_nb_cfg(self.writer) if self.writer else int(self._nb_global().nb_cfg)
        started = time.monotonic()
        sb_ms: float | None = None
        hv_ms: float | None = None
        reason = ""
        if asked:
            try:
                self.nb.wait_until(lambda: self._northd_answered(target), f"northd to answer heartbeat {target}")
                sb_ms = _elapsed_ms(started)
            except TimedOut:
                pass
        northd_alive = self._northd_answered(target)
        if not northd_alive:
            reason = (
                f"northd has not answered heartbeat {target}, the last one that it answered is {self._nb_global().sb_cfg}. "
                "It may be paused or stopped on all hosts, or have lost the Southbound database."
            )
        reports = self._nb_global().options.get("enable_chassis_nb_cfg_update", "true").lower() != "false"
        if not reports:
            self.warnings.append(
                "NB_Global.options:enable_chassis_nb_cfg_update is false: chassis do not answer heartbeats, so it is not known which are alive."
            )
        probed = self.wait_for == "hv" and northd_alive and reports
        # Chassis that are not waited for, or that the number never reaches, can only be measured by the one before. The numbers of a Northbound database
        # that was created again begin below it.
        expected = (target if probed else min(before, self._sb_nb_cfg())) if reports else None
        if probed:
            try:
                if before >= target:  # a follower may still have the higher numbers of before
                    self.sb.wait_until(lambda: self._sb_nb_cfg() < before, "the Southbound database to count again")
                self.sb.wait_until(self._roll_call(target).complete, "every chassis to answer")
                hv_ms = _elapsed_ms(started)
            except TimedOut:
                pass
        entries = self._entries(expected)
        # A chassis that has answered has seen every request from before the heartbeat.
        misplaced &= self._misplaced_ports()
        options: dict[str, str] = next((row.options for row in self.sb.rows("SB_Global")), {})
        return {
            "nb_cfg": target,
            "probed": probed,
            "northd_alive": northd_alive,
            "reason": reason,
            "sb_ms": sb_ms,
            "hv_ms": hv_ms,
            "chassis": entries,
            "alive_count": sum(entry["alive"] is True for entry in entries),
            "late": late_names(entries),
            "misplaced_ports": [_as_result(one) for one in sorted(misplaced)] if probed else [],
            "lost_gateways": self._lost_gateways(),
            "northd_version": options.get("northd_internal_version", ""),
            "schema_versions": {"northbound": self.nb.schema_version, "southbound": self.sb.schema_version},
        }


def send_heartbeat(
    northbound: t.Sequence[Endpoint],
    southbound: t.Sequence[Endpoint],
    tls: TlsFiles,
    deadline: Deadline,
    wait_for: str,
    warn: t.Callable[[str], None],
) -> dict[str, t.Any]:
    """Send one heartbeat, close the connections, and return the result of the module ovn_sync."""
    heartbeat = Heartbeat(northbound, southbound, tls, deadline, wait_for)
    try:
        return heartbeat.run()
    finally:
        heartbeat.close()
        for warning in heartbeat.warnings:
            warn(warning)


def _as_result(misplaced: MisplacedPort) -> dict[str, t.Any]:
    return {
        "port": misplaced.port,
        "requested": list(misplaced.requested),
        "chassis": list(misplaced.chassis),
    }


def _elapsed_ms(started: float) -> float:
    return round((time.monotonic() - started) * 1000, 1)

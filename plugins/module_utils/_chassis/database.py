# SPDX-License-Identifier: GPL-3.0-or-later
"""The edge: reads the settings of one chassis from its Open_vSwitch database and writes a plan in one transaction.

One connection and a handful of selects by name: thousands of ports of others cost nothing, and no replica has to be kept.
"""

from __future__ import annotations

import typing as t

from .._base.deadline import Deadline
from .._base.errors import Conflict, Refused, TimedOut
from .._ovsdb.endpoint import Endpoint
from .._ovsdb.rows import Operation, as_list, as_optional, decode, transact
from .._ovsdb.tls_files import TlsFiles
from .._ovsdb.wire import Connection
from . import ownership
from .bridges import Bridge, BridgePort, DesiredBridge
from .operations import ROOT, Rows, operations
from .plan import SSL_COLUMNS, ChassisPlan, ObservedChassis, Ssl

DATABASE = "Open_vSwitch"

COLUMNS = {
    ROOT: ["_uuid", "external_ids", "other_config", "next_cfg", "cur_cfg"],
    "SSL": ["_uuid", *SSL_COLUMNS.values(), "external_ids"],
    "Bridge": ["_uuid", "name", "datapath_type", "external_ids"],
    "Port": ["_uuid", "name", "external_ids"],
    "Interface": ["name"],
}
Row = dict[str, t.Any]


class LocalDatabase:
    """The Open_vSwitch database of one host, with one connection that is used step by step."""

    def __init__(
        self,
        endpoint: Endpoint,
        tls: TlsFiles,
        timeout: float,
        desired: t.Mapping[str, DesiredBridge],
        watched: t.Collection[str] = (),
    ) -> None:
        """`timeout` seconds count for each step; `watched` are bridges that are read without being desired."""
        self.timeout = timeout
        self.desired = desired
        self.watched = watched
        self.connection = Connection(endpoint, tls, Deadline(timeout))

    def __enter__(self) -> LocalDatabase:
        return self

    def __exit__(self, *exc: object) -> None:
        self.connection.close()

    def select(self, *queries: tuple[str, list[t.Any]], columns: t.Sequence[str] = ()) -> list[list[Row]]:
        """Return the raw rows of each (table, where), of one state of the database; no request without queries."""
        if not queries:
            return []
        selects: list[Operation] = [
            {"op": "select", "table": table, "where": where, "columns": list(columns) or COLUMNS[table]}
            for table, where in queries
        ]
        return [answer["rows"] for answer in self._transact(selects)]

    def _transact(self, requests: list[Operation]) -> list[dict[str, t.Any]]:
        try:
            return transact(self.connection, DATABASE, requests)
        except Refused as e:
            if "unknown database" not in str(e):
                raise
            served = [name for name in self.connection.call("list_dbs", []) if name != "_Server"]
            raise Refused(
                f"{self.connection.name} serves {', '.join(served) or 'no database'}, not {DATABASE}. "
                "The option database names the Open vSwitch database of the chassis, by default unix:/run/openvswitch/db.sock."
            ) from e

    def read(self) -> tuple[ObservedChassis, Rows]:
        """Return the settings of the chassis, and the uuids of their rows."""
        self.connection.deadline = Deadline(self.timeout)
        names = sorted({*self.desired, *(port for bridge in self.desired.values() for port in bridge.ports)})
        queries = [(table, _named(name)) for name in names for table in ("Port", "Interface")]
        queries += [("Bridge", _named(name)) for name in sorted({*self.desired, *self.watched})]
        roots, ssls, *rest = self.select((ROOT, []), ("SSL", []), *queries)
        found = {
            table: [row for (kind, _where), rows in zip(queries, rest) for row in rows if kind == table]
            for table in COLUMNS
        }
        ports = {row["name"]: row for row in found["Port"]}
        places = self._places(ports)
        actual_ports = {name: BridgePort(places.get(name, ""), _marked(row)) for name, row in ports.items()}
        for row in found["Interface"]:
            actual_ports.setdefault(row["name"], BridgePort(""))
        bridges = {row["name"]: row for row in found["Bridge"]}
        return self.state(roots, ssls, bridges, ports, actual_ports, {}, {})

    def _places(self, ports: t.Mapping[str, Row]) -> dict[str, str]:
        """Return the bridge of each port. The server finds it: the port list of an integration bridge is long."""
        answers = self.select(
            *(("Bridge", [["ports", "includes", row["_uuid"]]]) for row in ports.values()), columns=["name"]
        )
        return {name: rows[0]["name"] for name, rows in zip(ports, answers) if rows}

    def state(
        self,
        roots: list[Row],
        ssls: list[Row],
        bridges: t.Mapping[str, Row],
        ports: t.Mapping[str, Row],
        actual_ports: t.Mapping[str, BridgePort],
        names: t.Mapping[str, frozenset[str]],
        bridge_ports: t.Mapping[str, t.Any],
    ) -> tuple[ObservedChassis, Rows]:
        if not roots:
            raise Refused(
                f"{self.connection.name} has no Open_vSwitch row yet. Start Open vSwitch first: it creates the row."
            )
        root = roots[0]
        ssl = ssls[0] if ssls else None
        actual = ObservedChassis(
            external_ids=decode(root["external_ids"]),
            other_config=decode(root["other_config"]),
            bridges={
                name: Bridge(row["datapath_type"], names.get(name, frozenset()), _marked(row))
                for name, row in bridges.items()
            },
            ports=actual_ports,
            ssl=Ssl(*(ssl[column] for column in SSL_COLUMNS.values()))._replace(ours=_marked(ssl)) if ssl else None,
            next_cfg=root["next_cfg"],
        )
        rows = Rows(
            root=decode(root["_uuid"]),
            maps=root,
            bridges={name: decode(row["_uuid"]) for name, row in bridges.items()},
            ports={name: decode(row["_uuid"]) for name, row in ports.items()},
            bridge_ports=bridge_ports,
            ssl=decode(ssl["_uuid"]) if ssl else None,
        )
        return actual, rows

    def write(
        self,
        plan: ChassisPlan,
        actual: ObservedChassis,
        rows: Rows,
        plan_for: t.Callable[[ObservedChassis], ChassisPlan],
    ) -> tuple[ChassisPlan, ObservedChassis, int | None]:
        """Write `plan`; return the plan that was written, what it was made from, and the `next_cfg` to wait for (None if nothing was left to do).

        After a conflict with another client the plan is computed again from fresh rows.
        """
        deadline = Deadline(self.timeout)
        while not plan.empty:
            self.connection.deadline = Deadline(self.timeout)
            try:
                answers = self._transact(operations(plan, rows))
            except Conflict:
                if deadline.expired:
                    raise
                actual, rows = self.read()
                plan = plan_for(actual)
            else:
                return plan, actual, answers[-1]["rows"][0]["next_cfg"]
        return plan, actual, None

    def wait_applied(self, next_cfg: int, deadline: Deadline) -> dict[str, str]:
        """Wait until ovs-vswitchd has applied the configuration with that number; return the errors of bridges and ports that it cannot open, by name.

        The server itself waits for the change (operation `wait`) and answers at once when it comes.
        """
        reached = {
            "op": "wait",
            "timeout": int(deadline.left() * 1000),
            "table": ROOT,
            "where": [["cur_cfg", ">=", next_cfg]],
            "columns": ["cur_cfg"],
            "until": "!=",
            "rows": [],
        }
        desired = self.desired
        queries = [("Interface", name, ["name", "error"]) for bridge in desired.values() for name in bridge.ports]
        queries += [("Interface", name, ["name", "error"]) for name in desired]
        queries += [("Bridge", name, ["name", "datapath_type", "datapath_id"]) for name in desired]
        selects = [{"op": "select", "table": kind, "where": _named(name), "columns": c} for kind, name, c in queries]
        self.connection.deadline = Deadline(deadline.left() + self.timeout)
        try:
            answers = self._transact([reached, *selects])
        except Conflict as e:
            root = self.select((ROOT, []))[0][0]
            raise TimedOut(
                f"The settings are written, but ovs-vswitchd did not apply them within {deadline.seconds:g} s: "
                f"cur_cfg is {root['cur_cfg']}, {next_cfg} is needed. ovs-vswitchd does not run or hangs: "
                "look at `systemctl status ovs-vswitchd` and /var/log/openvswitch/ovs-vswitchd.log, then run again."
            ) from e
        return _errors([row for answer in answers[1:] for row in answer["rows"]])


def _errors(rows: list[Row]) -> dict[str, str]:
    """Return the errors by name. A device that cannot be opened has an error; a bridge that cannot be created has none, but lacks its datapath id."""
    errors = {}
    for row in rows:
        if "datapath_id" in row and not as_list(decode(row["datapath_id"])):
            kind = row["datapath_type"] or "system"
            errors[row["name"]] = (
                f'the bridge was not created with datapath type "{kind}" (system needs the kernel module openvswitch); '
                "see /var/log/openvswitch/ovs-vswitchd.log"
            )
        error = as_optional(decode(row.get("error", ["set", []])))
        if error:
            errors.setdefault(row["name"], error)
    return errors


def _named(name: str) -> list[t.Any]:
    return [["name", "==", name]]


def _marked(row: Row) -> bool:
    return ownership.KEY in decode(row["external_ids"])

# Copyright: (c) 2026, C5C3 contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""PRIVATE to the collection: may change at any time.

The edge: reads the settings of one chassis from its Open_vSwitch database and writes a plan in one transaction.
"""

from __future__ import annotations

import socket
import typing as t

from .._deadline import Deadline
from .._errors import OvnError, Refused, TimedOut
from .._ovsdb.endpoint import Endpoint
from .._ovsdb.session import Condition, NO_ROWS, Row, Session
from .._ovsdb.wire import Connection, TlsFiles
from . import ownership
from .bridges import Bridge, BridgeWish, Port
from .plan import SSL_COLUMNS, Actual, Plan, Ssl

DATABASE = "Open_vSwitch"

_OVN_PORT_KEYS = ("ovn-localnet-port", "ovn-l2gateway-port", "ovn-l3gateway-port", "ovn-logical-patch-port")
_TABLES = {
    "Open_vSwitch": ["external_ids", "other_config", "bridges", "ssl", "next_cfg", "cur_cfg"],
    "SSL": [*SSL_COLUMNS.values(), "bootstrap_ca_cert", "external_ids"],
    "Bridge": ["name", "ports", "datapath_type", "external_ids"],
    "Port": ["name", "interfaces", "external_ids"],
    "Interface": ["name", "type", "error"],
}


class LocalDatabase:
    """One Open_vSwitch database. Only rows that can matter are replicated: thousands of foreign ports cost nothing."""

    def __init__(self, endpoint: Endpoint, tls: TlsFiles, deadline: Deadline, wanted: t.Mapping[str, BridgeWish] | None) -> None:
        """`wanted` None looks at all ports and our bridges, for `state: absent`."""
        self.endpoint = endpoint
        self.tls = tls
        self.deadline = deadline
        self.wanted = wanted
        self.session = Session([endpoint], DATABASE, _TABLES, tls=tls, deadline=deadline, conditions=_conditions(wanted))
        if not self.session.rows(DATABASE):
            self.close()
            raise Refused(f"{endpoint} has no Open_vSwitch row yet. Start Open vSwitch first (ovs-vsctl init makes the row).")

    def __enter__(self) -> LocalDatabase:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()

    def close(self) -> None:
        self.session.idl.close()

    @property
    def root(self) -> Row:
        return self.session.rows(DATABASE)[0]

    def read(self) -> Actual:
        """The settings as the replica holds them now."""
        root = self.root
        bridges: dict[str, Bridge] = {}
        places: dict[str, str] = {}
        by_row = {row.uuid: row for row in self.session.rows("Port")}
        for row in self.session.rows("Bridge"):
            names = frozenset(by_row[port.uuid].name for port in row.ports if port.uuid in by_row)
            places.update({name: row.name for name in names})
            bridges[row.name] = Bridge(row.datapath_type, names, _marked(row))
        ports = {}
        for row in by_row.values():
            place = places.get(row.name) or self._bridge_of(row)
            ports[row.name] = Port(place, _marked(row), any(key in row.external_ids for key in _OVN_PORT_KEYS))
        for row in self.session.rows("Interface"):
            ports.setdefault(row.name, Port(""))
        ssl = root.ssl[0] if root.ssl else None
        return Actual(
            external_ids=root.external_ids,
            other_config=root.other_config,
            bridges=bridges,
            ports=ports,
            ssl=Ssl(*(getattr(ssl, column) for column in SSL_COLUMNS.values()), ours=_marked(ssl)) if ssl else None,
        )

    def _bridge_of(self, port: Row) -> str:
        """The bridge that holds a port. Asked only when none of the wanted bridges does, which ends the task."""
        if self.wanted is None:
            return ""
        with Connection(self.endpoint, self.tls, self.deadline) as connection:
            where = [["ports", "includes", ["uuid", str(port.uuid)]]]
            result = connection.call("transact", [DATABASE, {"op": "select", "table": "Bridge", "where": where, "columns": ["name"]}])
        return next((row["name"] for row in result[0].get("rows", [])), "")

    def write(self, plan_for: t.Callable[[Actual], Plan]) -> tuple[Plan, Actual, int | None]:
        """The plan that was written, what it changed, and the `next_cfg` that ovs-vswitchd has to reach; None if nothing was written.

        The plan is made anew from fresh rows whenever somebody else was faster.
        """
        done: list[t.Any] = []

        def build(transaction: t.Any) -> None:
            actual = self.read()
            plan = plan_for(actual)
            done[:] = [plan, actual, transaction]
            if not plan.empty:
                self._write(transaction, plan)

        comment = "c5c3.ovn.ovn_chassis"
        try:
            changed = self.session.transact(build, comment)
        except Refused as e:
            if "constraint violation" not in str(e):
                raise
            # Somebody else created a row of that name in between, out of sight of our conditions: look again, then plan again or tell.
            self.session.idl.run()
            changed = self.session.transact(build, comment)
        plan, actual, transaction = done
        return plan, actual, transaction.get_increment_new_value() if changed else None

    def _write(self, transaction: t.Any, plan: Plan) -> None:
        root = self.root
        for column, changes in (("external_ids", plan.external_ids), ("other_config", plan.other_config)):
            if changes:
                root.verify(column)
            for key, value in changes.items():
                if value is None:
                    root.delkey(column, key)
                else:
                    root.setkey(column, key, value)
        self._write_bridges(transaction, plan)
        self._write_ssl(transaction, plan)
        root.increment("next_cfg")

    def _write_bridges(self, transaction: t.Any, plan: Plan) -> None:
        todo = plan.bridges
        root = self.root
        rows = {row.name: row for row in self.session.rows("Bridge")}
        ports = {row.name: row for row in self.session.rows("Port")}
        if todo.new_bridges or todo.old_bridges:
            root.verify("bridges")
        for name, kind in todo.new_bridges.items():
            bridge = self._insert(transaction, "Bridge", name=name, datapath_type=kind, external_ids=ownership.MARK)
            new = [self._new_port(transaction, name, "internal", {})]
            new += [self._new_port(transaction, port, "", ownership.MARK) for port, place in todo.new_ports.items() if place == name]
            bridge.ports = new
            root.addvalue("bridges", bridge)
        for name in todo.old_bridges:
            rows[name].verify("ports")
            root.delvalue("bridges", rows[name])
        for name, kind in todo.datapath_types.items():
            rows[name].verify("datapath_type")
            rows[name].datapath_type = kind
        for port, name in todo.new_ports.items():
            if name in rows:
                rows[name].verify("ports")
                rows[name].addvalue("ports", self._new_port(transaction, port, "", ownership.MARK))
        for port, name in todo.old_ports.items():
            rows[name].verify("ports")
            rows[name].delvalue("ports", ports[port])

    def _write_ssl(self, transaction: t.Any, plan: Plan) -> None:
        if plan.ssl is None:
            return
        root = self.root
        root.verify("ssl")
        if plan.ssl == "absent":
            root.ssl = []
            return
        values = {column: getattr(plan.ssl, option) for option, column in SSL_COLUMNS.items()}
        if not root.ssl:
            root.ssl = [self._insert(transaction, "SSL", **values, bootstrap_ca_cert=False, external_ids=ownership.MARK)]
            return
        for column, value in values.items():
            root.ssl[0].verify(column)
            setattr(root.ssl[0], column, value)
        root.ssl[0].setkey("external_ids", ownership.KEY, "true")

    def _new_port(self, transaction: t.Any, name: str, kind: str, external_ids: dict[str, str]) -> Row:
        interface = self._insert(transaction, "Interface", name=name, type=kind)
        return self._insert(transaction, "Port", name=name, interfaces=[interface], external_ids=external_ids)

    def _insert(self, transaction: t.Any, table: str, **values: t.Any) -> Row:
        row = transaction.insert(self.session.idl.tables[table])
        for column, value in values.items():
            setattr(row, column, value)
        return row

    def wait_applied(self, next_cfg: int, deadline: Deadline) -> None:
        """Return when ovs-vswitchd has taken over the configuration with that number."""
        try:
            self.session.wait_until(lambda: bool(self.session.rows(DATABASE)) and self.root.cur_cfg >= next_cfg, "ovs-vswitchd", deadline)
        except TimedOut as e:
            raise TimedOut(
                f"The settings are written, but ovs-vswitchd did not apply them within {deadline.seconds:g} s: "
                f"cur_cfg is {self.root.cur_cfg}, {next_cfg} is needed. ovs-vswitchd does not run or hangs: "
                "look at `systemctl status ovs-vswitchd` and /var/log/openvswitch/ovs-vswitchd.log, then run again."
            ) from e

    def port_errors(self) -> dict[str, str]:
        """What ovs-vswitchd says of the wanted bridges and ports that it could not open."""
        return {row.name: row.error[0] for row in self.session.rows("Interface") if row.error}


def _marked(row: Row) -> bool:
    return ownership.KEY in row.external_ids


def _conditions(wanted: t.Mapping[str, BridgeWish] | None) -> dict[str, Condition]:
    if wanted is None:
        return {"Interface": NO_ROWS}
    ports = sorted({*wanted, *(port for wish in wanted.values() for port in wish.ports)})
    by_name: dict[str, Condition] = {
        "Bridge": [["name", "==", name] for name in wanted] or NO_ROWS,
        "Port": [["name", "==", name] for name in ports] or NO_ROWS,
        "Interface": [["name", "==", name] for name in ports] or NO_ROWS,
    }
    return by_name


def missing_devices(names: t.Iterable[str]) -> list[str]:
    """The names that no network device of this host (of this process' network namespace) has."""
    try:
        present = {name for _index, name in socket.if_nameindex()}
    except OSError as e:
        raise OvnError(f"The network devices of this host cannot be listed: {e.strerror}.") from e
    return [name for name in names if name not in present]

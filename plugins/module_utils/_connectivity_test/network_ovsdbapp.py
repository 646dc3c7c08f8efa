# SPDX-License-Identifier: GPL-3.0-or-later
"""The test network with the Northbound commands of ovsdbapp: one replica of the few rows that matter, one transaction."""

from __future__ import annotations

import typing as t

from .._base.deadline import Deadline
from .._ovsdb.endpoint import Endpoint
from .._ovsdb.northbound import Command, NorthboundSession
from .._ovsdb.session import Condition, Row
from .._ovsdb.tls_files import TlsFiles
from .network import COMMENT, MARK, PORT, SWITCH, DesiredNetwork, ObservedRow, Plan, make_plan

_COLUMNS = {SWITCH: ["name", "ports", "external_ids"], PORT: ["name", "addresses", "external_ids"]}


def converge(
    endpoints: t.Sequence[Endpoint], tls: TlsFiles, deadline: Deadline, desired: DesiredNetwork, check_mode: bool
) -> Plan:
    """Write what differs, unless in check mode, and return what that is."""
    conditions = conditions_of(desired)
    with NorthboundSession(endpoints, _COLUMNS, tls=tls, deadline=deadline, conditions=conditions) as session:
        plan = _plan(session, desired)

        def choose() -> list[Command]:
            nonlocal plan
            plan = _plan(session, desired)  # of the rows as they are in this attempt
            return commands(session, desired.name, plan)

        if plan.messages and not check_mode:
            session.run(choose, COMMENT)
            # Names of logical switches are not unique, and no command waits for a row to be absent. The later one of two runs sees both switches here.
            _plan(session, desired)
    return plan


def conditions_of(desired: DesiredNetwork) -> dict[str, Condition]:
    """Return which rows are replicated: ours, and those that have a desired name."""
    marked = ["external_ids", "includes", ["map", [[MARK, desired.name]]]]
    return {
        SWITCH: [marked, ["name", "==", desired.name]],
        PORT: [marked, *(["name", "==", port.name] for port in desired.ports)],
    }


def _plan(session: NorthboundSession, desired: DesiredNetwork) -> Plan:
    return make_plan(desired, map(_observed, session.rows(SWITCH)), map(_observed, session.rows(PORT)))


def _observed(row: Row) -> ObservedRow:
    addresses = getattr(row, "addresses", ())  # a switch has none
    return ObservedRow(str(row.uuid), row.name, row.external_ids.get(MARK), tuple(addresses))


def commands(session: NorthboundSession, name: str, plan: Plan) -> list[Command]:
    """Return the plan for the test network `name` as commands. Rows that it needs are verified: whatever is written to a deleted one would vanish."""
    api, mark = session.api, {MARK: name}
    needed = {*([plan.switch] if plan.add else []), *plan.delete, *(port for port, _addresses in plan.correct)}
    for row in (*session.rows(SWITCH), *session.rows(PORT)):
        if str(row.uuid) in needed:
            row.verify("external_ids")
    switch = name if plan.create else plan.switch
    return [
        *([api.ls_add(name, external_ids=mark)] if plan.create else []),
        *(api.lsp_add(switch, port.name, addresses=[port.addresses], external_ids=mark) for port in plan.add),
        *(api.lsp_set_addresses(port, [addresses]) for port, addresses in plan.correct),
        *(api.ls_del(one) for one in plan.delete),
    ]

# SPDX-License-Identifier: GPL-3.0-or-later
"""The edge: deletes the rows of one host's chassis from the Southbound database, and no others."""

from __future__ import annotations

import functools
import time
import typing as t

from .._base.databases import DATABASE_NAMES
from .._base.deadline import Deadline
from .._base.errors import Conflict, OvnError, Refused, Unreachable, list_names
from .._ovsdb.endpoint import Endpoint
from .._ovsdb.rows import Caller, select, transact, write
from .._ovsdb.server import SERVER_QUERY, databases_in
from .._ovsdb.tls_files import TlsFiles
from . import cms_options, external_ids, ownership
from .bridges import Bridge, BridgePlan, BridgePort
from .heartbeats import has_answered
from .lookup import ask_any, read_rows
from .plan import ChassisPlan, ObservedChassis, put_record
from .registration import LocalChassis, foreign_row
from .southbound_rows import (
    ANY_ROW,
    GATEWAYS,
    HEARTBEAT,
    IDENTITY,
    NAME_COLUMNS,
    Columns,
    chassis_rows,
    conditions_of,
    delete_operations,
    expect_chassis,
    gateways_by_chassis,
    last_heartbeat,
    private_rows,
)

# `state: absent`: what is ours, and what stays because others use it.

_NAMED = 5  # ports in one sentence


def plan_absent(actual: ObservedChassis) -> ChassisPlan:
    """Return the plan that removes what is ours; `kept` names our bridges with ports of others.

    The integration bridge counts as ours if the name of the chassis or its database does: ovn-controller has made it for these.
    """
    record = ownership.parse_owned(actual.external_ids.get(ownership.KEY))
    keys: dict[str, str | None] = {key: None for key in record.external_ids if key in actual.external_ids}
    config: dict[str, str | None] = {key: None for key in record.other_config if key in actual.other_config}
    stored = actual.external_ids.get(external_ids.CMS_OPTIONS)
    rest, _ours = cms_options.merge(stored, record.cms_options, cms_options.DesiredCmsOptions(), purge=True)
    if rest != stored:
        keys[external_ids.CMS_OPTIONS] = rest
    put_record(keys, actual, ownership.Owned())
    is_chassis = record.external_ids & {external_ids.SYSTEM_ID, external_ids.REMOTE}
    integration = external_ids.integration_bridge(actual.external_ids) if is_chassis else None
    bridges, kept = plan_removal(actual.bridges, actual.ports, integration)
    return ChassisPlan(keys, config, bridges, "absent" if actual.ssl and actual.ssl.ours else None, kept)


def plan_removal(
    bridges: t.Mapping[str, Bridge], ports: t.Mapping[str, BridgePort], integration: str | None = None
) -> tuple[BridgePlan, list[str]]:
    """Return the plan that removes our ports, and our bridges and `integration` without ports of others; and one sentence for each of these that stays."""
    plan = BridgePlan.nothing()
    kept = []
    for name, bridge in bridges.items():
        foreign = sorted(p for p in bridge.ports if p != name and not (ports[p].ours or ports[p].ovn))
        ours = bridge.ours or name == integration
        if ours and not foreign:
            plan.old_bridges.append(name)
            continue
        plan.old_ports.update({p: name for p in sorted(bridge.ports) if ports[p].ours})
        if ours:
            names = list_names(foreign, _NAMED)
            kept.append(
                f"Bridge {name} stays because ports of others are on it: {names}. Delete it when they are gone."
            )
    return plan, kept


_DATABASE = DATABASE_NAMES["southbound"]
_COLUMNS: Columns = {
    **{table: [column] for table, column in NAME_COLUMNS.items()},
    **IDENTITY,
    "Chassis": ["_uuid", *IDENTITY["Chassis"]],
    **HEARTBEAT,
}

Rows = dict[str, list[dict[str, t.Any]]]  # table: decoded rows

_ANSWER = t.TypeVar("_ANSWER")
_PAUSE = 0.5  # seconds


class Members(t.Protocol):
    """The members of the Southbound database, behind sockets or in pods."""

    def ask(self, question: t.Callable[[Caller], _ANSWER], deadline: Deadline) -> _ANSWER:
        """Return the result of `question` on the first member that answers."""


class ListeningMembers(t.NamedTuple):
    """Members behind sockets and ports, in the order in which they are asked."""

    endpoints: t.Sequence[Endpoint]
    tls: TlsFiles

    def ask(self, question: t.Callable[[Caller], _ANSWER], deadline: Deadline) -> _ANSWER:
        return ask_any(self.endpoints, self.tls, deadline, question)


def delete_rows(
    local: LocalChassis,
    members: Members,
    timeout: float,
    *,
    module: str,
    check_mode: bool,
    own_addresses: t.Collection[str] | None = None,
) -> dict[str, list[str]]:
    """Delete the rows of the chassis from the Southbound database, and return them: table to names of rows; empty if there are none.

    A chassis of another host is `Refused` before anything is deleted. In check mode nothing is. `timeout` is in seconds; `module` names the writer
    in the comment of the transaction. With the `own_addresses` of this host, a chassis that is alive and has none of them is another host's, too.
    """
    deadline = Deadline(timeout)
    deleted: dict[str, list[str]] = {}
    while True:
        rows = members.ask(functools.partial(_read, name=local.name), deadline)
        _refuse_foreign(local, rows)
        if own_addresses is not None:
            _refuse_living_original(local.name, rows, own_addresses)
        deleted = deleted or _names(rows)
        if check_mode or not _names(rows):
            return deleted
        try:
            members.ask(functools.partial(_delete, name=local.name, rows=rows, module=module), deadline)
        except Conflict:
            if deadline.expired:
                raise
        else:
            return deleted


def comes_back(name: str, members: Members, seconds: float, timeout: float) -> bool:
    """Return whether a chassis that was deleted registers again within `seconds`: then its ovn-controller still runs. One answer may take `timeout` seconds."""
    deadline, answered, error = Deadline(seconds), False, None
    while True:
        try:
            if members.ask(functools.partial(_read, name=name), Deadline(timeout))["Chassis"]:
                return True
            answered = True
        except OvnError as e:
            error = e
        if deadline.expired:
            break
        time.sleep(_PAUSE)
    if error and not answered:
        raise error
    return False


def _read(connection: Caller, *, name: str) -> Rows:
    """Return the rows of the chassis from a member that takes part in its cluster: the copy of another one may be old."""
    server = databases_in(connection.call("transact", SERVER_QUERY), connection.name).get(_DATABASE)
    if server is not None and not server.connected:
        raise Unreachable(
            f"{connection.name} has lost its cluster. Look at the Southbound members with c5c3.ovn.status, then run again."
        )
    return read_rows(connection, {**conditions_of(name), "SB_Global": [ANY_ROW]}, _COLUMNS)


def _delete(connection: Caller, *, name: str, rows: Rows, module: str) -> None:
    """Delete the rows of the chassis if it is still the one that was read, else `Conflict`."""
    operations = [expect_chassis(name, rows["Chassis"]), *delete_operations([name])]
    write(connection, _DATABASE, operations, f"c5c3.ovn.{module}")


def _refuse_foreign(local: LocalChassis, rows: Rows) -> None:
    for row in chassis_rows(lambda table: rows[table]).values():
        reason = foreign_row(local, row)
        if reason:
            raise Refused(f"{reason} Nothing was changed.")


def _refuse_living_original(name: str, rows: Rows, own_addresses: t.Collection[str]) -> None:
    """Raise `Refused` if the chassis answers heartbeats from tunnel addresses that this host does not have: its disk is a copy of another host's."""
    row = chassis_rows(lambda table: rows[table]).get(name)
    if row and row.addresses and not row.addresses & {*own_addresses} and _is_alive(name, rows):
        raise Refused(
            f'Chassis "{name}" answers heartbeats, and its tunnel address {", ".join(sorted(row.addresses))} is not an address of this host. '
            "If this disk is a copy of that host's, remove the identity of the copy as docs/troubleshooting.md#the-copied-disk-of-a-hypervisor describes. "
            "If this host only got another address, set allow_takeover: true (ovn_hypervisor_permit=takeover). Nothing was changed."
        )


def _is_alive(name: str, rows: Rows, expected: int = 0) -> bool:
    """Return whether the chassis has answered heartbeat `expected`; 0: the latest one or that before, since its answer may be on its way.

    Before the first heartbeat, no chassis is known to be alive.
    """
    latest, answer = last_heartbeat(lambda table: rows[table]), private_rows(lambda table: rows[table]).get(name)
    return answer is not None and has_answered(answer.nb_cfg, expected or max(latest - 1, 1), latest)


def refuse_living(
    name: str, southbound: Members, northbound: t.Callable[[], Members], seconds: float, timeout: float
) -> None:
    """Send a heartbeat, and raise `Refused` if the chassis answers it within `seconds` after northd has passed it on.

    One answer of a database, and northd, may take `timeout` seconds. Without a Northbound database that takes the heartbeat, nobody can answer.
    """

    def count_up(connection: Caller) -> int:
        count = {"op": "mutate", "table": "NB_Global", "where": [], "mutations": [["nb_cfg", "+=", 1]]}
        read = {"op": "select", "table": "NB_Global", "where": [], "columns": ["nb_cfg"]}
        rows = transact(connection, DATABASE_NAMES["northbound"], [count, read])[1]["rows"]
        return int(rows[0]["nb_cfg"]) if rows else 0

    try:
        number = northbound().ask(count_up, Deadline(timeout))
    except OvnError:
        return
    deadline, passed_on = Deadline(timeout), False
    while number and (rows := southbound.ask(functools.partial(_read, name=name), Deadline(timeout)))["Chassis"]:
        if _is_alive(name, rows, number):
            raise Refused(
                f'Chassis "{name}" is alive: it has just answered heartbeat {number}. '
                "Use ovn_hypervisor_state=absent, or power its machine off first. Nothing was changed."
            )
        if not passed_on and last_heartbeat(lambda table: rows[table]) >= number:
            deadline, passed_on = Deadline(seconds), True
        if deadline.expired:
            return
        time.sleep(_PAUSE)


def read_gateways(name: str, members: Members, timeout: float) -> list[str]:
    """Return the gateway ports and groups that still name the chassis."""

    def read(connection: Caller) -> list[str]:
        tables = select(connection, _DATABASE, GATEWAYS)
        return gateways_by_chassis(lambda table: tables[table]).get(name, [])

    return members.ask(read, Deadline(timeout))


def _names(rows: Rows) -> dict[str, list[str]]:
    """Return the rows for people: chassis names, and encapsulations as `geneve 192.0.2.1`."""
    found = {
        table: sorted(f"{row['type']} {row['ip']}" if table == "Encap" else row[column] for row in rows[table])
        for table, column in NAME_COLUMNS.items()
    }
    return {table: names for table, names in found.items() if names}

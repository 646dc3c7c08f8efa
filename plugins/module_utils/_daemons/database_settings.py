# SPDX-License-Identifier: GPL-3.0-or-later
"""Which listeners a database server has, beside its sockets on the host: those of the table Connection, and those that it was given itself. Pure."""

from __future__ import annotations

import dataclasses
import re
import typing as t

from .._base.databases import DATABASE_NAMES, STEMS, TITLES, Database
from .._base.errors import InvalidInput
from .._ovsdb.endpoint import parse_listener
from .._ovsdb.rows import Operation, encode_map, encode_optional, expect, expect_empty

# Settings inside a Northbound or Southbound database: from the desired and the observed state to a plan. Pure.

TIMER_MINIMUM, TIMER_MAXIMUM = 100, 600_000  # milliseconds; OVSDB's own limits

# passive: ptcp:PORT[:HOST], pssl:PORT[:HOST], punix:FILE; active ones make the server call out.
_TARGET = re.compile(
    r"p(?:tcp|ssl):\d{1,5}(?::(?:\[[^\]\s]+\]|[^\[\]:\s]+))?|(?:tcp|ssl):(?:\[[^\]\s]+\]|[^\[\]:\s]+):\d{1,5}|p?unix:\S+"
)


@dataclasses.dataclass(frozen=True)
class Layout:
    """Where one database keeps its settings."""

    database: Database
    global_table: str
    # Of Connection; never `status` and `is_connected`: every member writes them into the same row.
    columns: tuple[str, ...]

    @property
    def name(self) -> str:
        return DATABASE_NAMES[self.database]

    @property
    def stem(self) -> str:
        return STEMS[self.database]

    @property
    def title(self) -> str:
        return TITLES[self.database]


LAYOUTS = {
    "northbound": Layout("northbound", "NB_Global", ("target", "inactivity_probe", "max_backoff")),
    "southbound": Layout("southbound", "SB_Global", ("target", "role", "read_only", "inactivity_probe", "max_backoff")),
}

_DEFAULTS = {"role": "", "read_only": False, "inactivity_probe": None, "max_backoff": None}
_OPTIONAL = {"inactivity_probe", "max_backoff"}


@dataclasses.dataclass(frozen=True)
class DesiredSettings:
    """`connections` maps a target to the columns that the user named, `options` a key to its value (None: no such key).

    `removed_connections` are the targets that must not be there.
    """

    election_timer: int | None = None
    connections: t.Mapping[str, t.Mapping[str, t.Any]] | None = None
    purge_connections: bool = False
    options: t.Mapping[str, str | None] | None = None
    removed_connections: frozenset[str] = frozenset()

    @property
    def needs_rows(self) -> bool:
        return self.connections is not None or self.options is not None


@dataclasses.dataclass(frozen=True)
class ObservedSettings:
    """`connections` maps a target to all columns and `_uuid`; `global_uuid` is None in a fresh database."""

    global_uuid: str | None = None
    connections: t.Mapping[str, t.Mapping[str, t.Any]] = dataclasses.field(default_factory=dict)
    options: t.Mapping[str, str] = dataclasses.field(default_factory=dict)


@dataclasses.dataclass
class SettingsPlan:
    """The operations of one transaction, a message for each action, and the values that differ."""

    operations: list[Operation] = dataclasses.field(default_factory=list)
    actions: list[str] = dataclasses.field(default_factory=list)
    before: dict[str, t.Any] = dataclasses.field(default_factory=dict)
    after: dict[str, t.Any] = dataclasses.field(default_factory=dict)

    def add_change(self, action: str, group: str, key: str, before: t.Any, after: t.Any) -> None:
        self.actions.append(action)
        self.before.setdefault(group, {})[key] = before
        self.after.setdefault(group, {})[key] = after


def desired_from_params(params: t.Mapping[str, t.Any]) -> DesiredSettings:
    """Return the module's options, checked; `InvalidInput` names the one that can never work."""
    layout = LAYOUTS[params["database"]]
    timer = params["election_timer"]
    if timer is not None and not TIMER_MINIMUM <= timer <= TIMER_MAXIMUM:
        raise InvalidInput(f"election_timer {timer} is out of range: {TIMER_MINIMUM} to {TIMER_MAXIMUM} milliseconds.")
    connections: dict[str, dict[str, t.Any]] | None = None
    removed: set[str] = set()
    if params["connections"] is not None:
        connections = {}
        for item in params["connections"]:
            target = item["target"].strip()
            if target in connections or target in removed:
                raise InvalidInput(f"connections names {target} twice: a target is one row of the Connection table.")
            columns = _desired_connection(layout, target, item)
            if item.get("state") == "absent":
                removed.add(target)
            else:
                connections[target] = columns
    elif params["purge_connections"]:
        raise InvalidInput("purge_connections needs connections: the list of those that stay.")
    options = params["options"]
    return DesiredSettings(
        election_timer=timer,
        connections=connections,
        purge_connections=params["purge_connections"],
        options=None if options is None else {str(key): _stored_text(value) for key, value in options.items()},
        removed_connections=frozenset(removed),
    )


def _desired_connection(layout: Layout, target: str, item: t.Mapping[str, t.Any]) -> dict[str, t.Any]:
    if not _TARGET.fullmatch(target):
        raise InvalidInput(
            f'"{target[:200]}" is no target of a connection. Listen with pssl:PORT:[::] or ptcp:PORT:[::] (all addresses), '
            "so that the same row works on every member."
        )
    columns = {column: item[column] for column in _DEFAULTS if item.get(column) is not None}
    for column in set(columns) - set(layout.columns):
        if columns.pop(column):
            raise InvalidInput(
                f"{target}: {column} does not exist in the {layout.title} database, only the Southbound one has it."
            )
    if columns.get("inactivity_probe", 0) < 0:
        raise InvalidInput(f"{target}: inactivity_probe is negative. Give milliseconds, 0 switches it off.")
    if columns.get("max_backoff", 1000) < 1000:
        raise InvalidInput(f"{target}: max_backoff {columns['max_backoff']} is too short: 1000 milliseconds at least.")
    return columns


def _stored_text(value: t.Any) -> str | None:
    """Return the value as the database stores it: a string, for booleans `true` or `false`."""
    if isinstance(value, bool):
        return str(value).lower()
    return None if value is None else str(value)


def _encode(columns: t.Mapping[str, t.Any]) -> dict[str, t.Any]:
    return {column: encode_optional(value) if column in _OPTIONAL else value for column, value in columns.items()}


def plan_rows(desired: DesiredSettings, observed: ObservedSettings, layout: Layout) -> SettingsPlan:
    """Return the one transaction that makes the rows as desired; empty if they are. Each write expects the value that was compared."""
    plan = SettingsPlan()
    if observed.global_uuid is None:
        if desired.needs_rows:
            _plan_first_row(plan, desired, layout)
        return plan
    added = _plan_connections(plan, desired, observed)
    removed = _plan_removal(plan, desired, observed)
    where = [["_uuid", "==", ["uuid", observed.global_uuid]]]
    mutations: list[t.Any] = []
    if removed:
        mutations.append(["connections", "delete", ["set", [["uuid", uuid] for uuid in removed]]])
    if added:
        mutations.append(["connections", "insert", ["set", [["named-uuid", name] for name in added]]])
    changed = {key: value for key, value in (desired.options or {}).items() if observed.options.get(key) != value}
    if changed:
        plan.operations.append(
            expect(layout.global_table, observed.global_uuid, {"options": encode_map(observed.options)})
        )
        mutations.append(
            ["options", "delete", ["set", sorted(changed)]]
        )  # inserting a key that exists would keep its old value
        mutations.append(
            ["options", "insert", encode_map({key: value for key, value in changed.items() if value is not None})]
        )
        _add_option_changes(plan, changed, observed.options)
    if mutations:
        plan.operations.append({"op": "mutate", "table": layout.global_table, "where": where, "mutations": mutations})
    return plan


def _plan_first_row(plan: SettingsPlan, desired: DesiredSettings, layout: Layout) -> None:
    """Plan to create the row. northd creates it, too, as soon as it runs: the table has one row at most, so the slower one starts over."""
    plan.operations.append(expect_empty(layout.global_table))
    plan.add_change(f"create the row of {layout.global_table}", layout.global_table, "exists", False, True)
    added = _plan_connections(plan, desired, ObservedSettings())
    options = {key: value for key, value in (desired.options or {}).items() if value is not None}
    _add_option_changes(plan, options, {})
    row = {"connections": ["set", [["named-uuid", name] for name in added]], "options": encode_map(options)}
    plan.operations.append({"op": "insert", "table": layout.global_table, "row": row})


def _plan_connections(plan: SettingsPlan, desired: DesiredSettings, observed: ObservedSettings) -> list[str]:
    """Return the names of the new rows. Rows that differ are updated in place, rows that are not desired are ignored."""
    added: list[str] = []
    for target, columns in (desired.connections or {}).items():
        row = observed.connections.get(target)
        if row is None:
            name = f"connection{len(added)}"
            added.append(name)
            values = {**columns, "target": target}
            plan.operations.append({"op": "insert", "table": "Connection", "uuid-name": name, "row": _encode(values)})
            plan.add_change(f"add connection {target}", "connections", target, None, dict(columns))
            continue
        differing = {column: value for column, value in columns.items() if row.get(column, _DEFAULTS[column]) != value}
        if differing:
            old = {column: row.get(column, _DEFAULTS[column]) for column in differing}
            where = [["_uuid", "==", ["uuid", row["_uuid"]]]]
            plan.operations.append(expect("Connection", row["_uuid"], _encode(old)))
            plan.operations.append({"op": "update", "table": "Connection", "where": where, "row": _encode(differing)})
            message = ", ".join(f"{column} {old[column]!r} to {value!r}" for column, value in sorted(differing.items()))
            plan.add_change(f"change connection {target}: {message}", "connections", target, old, differing)
    return added


def _plan_removal(plan: SettingsPlan, desired: DesiredSettings, observed: ObservedSettings) -> list[str]:
    """Return the ids of the rows that are not desired: those that are named, and all that are not declared if they are purged."""
    undeclared = (
        observed.connections.keys() - (desired.connections or {}).keys() if desired.purge_connections else set()
    )
    removed: list[str] = []
    for target in sorted(undeclared | (desired.removed_connections & observed.connections.keys())):
        row = observed.connections[target]
        removed.append(row["_uuid"])
        columns = {column: value for column, value in row.items() if column not in ("_uuid", "target")}
        plan.add_change(f"remove connection {target}", "connections", target, columns, None)
    return removed


def _add_option_changes(plan: SettingsPlan, changed: t.Mapping[str, str | None], old: t.Mapping[str, str]) -> None:
    for key, value in sorted(changed.items()):
        message = f"remove option {key}" if value is None else f"set option {key} to {value}"
        plan.add_change(message, "options", key, old.get(key), value)


def timer_steps(current: int, desired: int) -> list[int]:
    """Return the values, in milliseconds, that the timer takes one after another: at most twice the one before on the way up, one step down."""
    steps: list[int] = []
    while current != desired:
        current = min(2 * current, desired)
        steps.append(current)
    return steps


class RemotesPlan(t.NamedTuple):
    """Commands `ovsdb-server/add-remote` and `remove-remote`, in that order: a target that is in both sets stays open."""

    add: tuple[str, ...] = ()
    remove: tuple[str, ...] = ()

    @property
    def actions(self) -> list[str]:
        return [f"listen on {remote}" for remote in self.add] + [f"do not listen on {remote}" for remote in self.remove]


def table_remote(layout: Layout) -> str:
    """Return the remote that stands for all rows of the table Connection (ovsdb-server(1), "--remote")."""
    return f"db:{layout.name},{layout.global_table},connections"


def port_of(target: str) -> int | None:
    """Return the port of a passive connection method on the network, None for any other."""
    listener = parse_listener(target)
    return listener.port if listener else None


def plan_table(remotes: t.Collection[str], rows: t.Collection[str], layout: Layout) -> RemotesPlan:
    """Return what makes a server listen as the table says, after a run that has taken a port from it. `rows` are the targets in the table.

    A remote of its own keeps the port of a row from the table, also one with another address.
    """
    table, ports = table_remote(layout), {port_of(row) for row in rows} - {None}
    own = tuple(remote for remote in sorted(remotes) if remote in rows or port_of(remote) in ports)
    return RemotesPlan(() if table in remotes else (table,), own)


def plan_release(
    remotes: t.Collection[str], rows: t.Mapping[str, t.Mapping[str, t.Any]], port: int, layout: Layout
) -> RemotesPlan:
    """Return what makes a server give up a port, and keep the others; nothing if it does not listen there. `rows` of the table by their target.

    The row that has the port stays, since other members still use it, so the server gets its other rows as remotes of its own. Such a remote has no role and
    is not read-only: ports whose rows are, stay closed until the server listens as the table says again.
    """
    own = tuple(remote for remote in sorted(remotes) if port_of(remote) == port)
    table = table_remote(layout)
    if table not in remotes or all(port_of(row) != port for row in rows):
        return RemotesPlan((), own)
    others = tuple(
        target
        for target, row in sorted(rows.items())
        if port_of(target) != port and target not in remotes and not (row.get("role") or row.get("read_only"))
    )
    return RemotesPlan(others, (table, *own))

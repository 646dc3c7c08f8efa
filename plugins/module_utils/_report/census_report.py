# SPDX-License-Identifier: GPL-3.0-or-later
"""What c5c3.ovn.census prints. Pure."""

from __future__ import annotations

import typing as t

from .._base.databases import DATABASE_NAMES
from .._base.errors import InvalidInput
from .census_clashes import clash_warnings
from .census_rows import Census, take_census
from .census_warning import CensusWarning
from .kube_ovn import kube_ovn_warnings
from .neutron_maintenance import maintenance_warnings
from .neutron_sync import parse_mode, sync_warnings
from .owner_marks import NEUTRON, OWNERS


def census_lines(
    facts: t.Mapping[str, t.Any], sync_modes: t.Sequence[t.Any] = (), *, operated: bool = True, rows: bool = False
) -> list[str]:
    """Return the lines for a result of ovn_database_info: how many rows each owner has, the warnings, and with `rows` each row.

    `sync_modes` are those that the inventory gives Neutron; `operated` says whether we run these databases.
    """
    tables = facts.get("tables")
    if facts.get("database") != DATABASE_NAMES["northbound"] or not isinstance(tables, t.Mapping):
        raise InvalidInput(
            f"Cannot take a census of {str(facts)[:100]}: it is no result of ovn_database_info with database: northbound."
        )
    modes = [parse_mode(mode) for mode in sync_modes]
    census = take_census(tables, operated=operated)
    return [
        *_table(census),
        "",
        *_warning_lines(census_warnings(census, modes)),
        *(["", *_rows(census)] if rows else []),
    ]


def census_warnings(census: Census, modes: t.Sequence[str]) -> list[CensusWarning]:
    """Return all warnings. Those about Neutron need one that has rows, or one that is declared; those about kube-ovn one that has rows."""
    of_neutron = (
        [*sync_warnings(census, modes), *maintenance_warnings(census)] if modes or NEUTRON in census.families else []
    )
    return [*of_neutron, *kube_ovn_warnings(census), *clash_warnings(census)]


def _warning_lines(warnings: t.Sequence[CensusWarning]) -> list[str]:
    return [line for warning in warnings for line in warning.lines()] or ["No warnings."]


def _table(census: Census) -> list[str]:
    """Return the numbers of rows: a line for each table, a column for each owner."""
    counts = census.counts()
    owners = [owner for owner in OWNERS if any(count[owner] for count in counts.values())]
    if not owners:
        return ["The Northbound database has no rows."]
    lines = [["rows", *owners], *([table, *(str(count[owner]) for owner in owners)] for table, count in counts.items())]
    widths = [max(map(len, column)) for column in zip(*lines)]
    return [
        "  ".join([line[0].ljust(widths[0]), *(cell.rjust(width) for cell, width in zip(line[1:], widths[1:]))])
        for line in lines
    ]


def _rows(census: Census) -> list[str]:
    """Return one line for each row: its owner, table and name, and of which rows it is, if it has no name of its own."""
    lines = []
    for owner in OWNERS:
        for row in census.rows:
            if row.owner == owner:
                holders = sorted({census.by_uuid[holder].name for holder in row.holders if not row.row.get("name")})
                lines.append(f"{owner}  {row.table}  {row.name}" + (f"  (of {', '.join(holders)})" if holders else ""))
    return lines

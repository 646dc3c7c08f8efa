# SPDX-License-Identifier: GPL-3.0-or-later
"""What Neutron's synchronization would do to rows of other owners. Pure.

Source: neutron/plugins/ml2/drivers/ovn/mech_driver/ovsdb/ovn_db_sync.py and impl_idl_ovn.py, read in the releases 24.0 (2024.1) to 29.0.0.0b1 (2026.2).
`repair` works when Neutron's maintenance worker starts (mech_driver.py) and in neutron-ovn-db-sync-util; `migrate` only in the latter
(cmd/ovn/neutron_ovn_db_sync_util.py). Rows are Neutron's to it if they have Neutron's keys, with the exceptions below.
"""

from __future__ import annotations

import typing as t

from .._base.errors import InvalidInput
from .census_rows import WHOLE_OVN, Census, CensusWarning, OwnedRow, named, owners_of, take_census
from .owner_marks import NEUTRON, OURS, external_ids

MODES = ("off", "log", "repair", "migrate")
_HARMLESS = ("off", "log")
_DROP_GROUP = "neutron_pg_drop"
# The first releases of each series that leave others' port groups, router ports and routes alone, and others' switches.
_COEXISTENCE = "25.2.3, 26.0.3, 27.0.2 and 28.0.0"
_SWITCHES = "29.0.0"


def parse_mode(given: t.Any) -> str:
    """Return the mode; YAML reads `off` as false."""
    mode = "off" if given is False else str(given).strip().lower()
    if mode not in MODES:
        raise InvalidInput(
            f"ovn_neutron_sync_mode is {given!r}: Neutron knows {', '.join(MODES)} ([ovn] neutron_sync_mode). Give one of them."
        )
    return mode


def others_than_neutron(census: Census) -> list[OwnedRow]:
    """Return the rows of the logical network that are neither of Neutron's installation nor ours."""
    return [row for row in census.rows if row.table not in WHOLE_OVN and row.family not in (NEUTRON, OURS)]


class Damage(t.NamedTuple):
    """Rows of others that a repair deletes, and in which releases of Neutron: `before` names the first ones that do not."""

    rows: list[OwnedRow]
    where: str
    before: str = ""


def damages(census: Census) -> list[Damage]:
    """Return what a repair deletes of others' rows; no row twice."""
    others = others_than_neutron(census)
    switches = {row.uuid for row in census.of("Logical_Switch") if "neutron:network_name" in external_ids(row.row)}
    routers = _neutrons_routers(census)
    drop = {row.uuid for row in census.of("Port_Group") if row.name == _DROP_GROUP}
    guests = _router_ports_at_neutrons(census)
    ends_early = any(not row.name.startswith("lrp-") for row in guests)
    every_switch = {row.uuid for row in census.of("Logical_Switch")}
    candidates = [
        Damage(
            [row for row in others if row.table == "NAT" and row.row["type"] != "dnat" and _in(row, routers)],
            "on Neutron's routers",
        ),
        Damage([row for row in others if row.table == "ACL" and _in(row, switches)], "on Neutron's switches"),
        Damage([row for row in others if row.table == "ACL" and _in(row, drop)], f"in {_DROP_GROUP}"),
        Damage(
            [row for row in others if row.table == "DHCP_Options" and "subnet_id" in external_ids(row.row)],
            "with subnet_id",
        ),
        Damage(
            [row for row in others if row.table == "ACL" and _in(row, every_switch - switches)],
            "on switches of others",
            _SWITCHES,
        ),
        Damage(
            [row for row in others if row.table == "Port_Group" and row.name != _DROP_GROUP],
            "with their ACLs",
            _COEXISTENCE,
        ),
    ]
    if not ends_early:
        routes = [row for row in others if row.table == "Logical_Router_Static_Route" and _in(row, routers)]
        candidates += [Damage(rows, "on Neutron's routers", _COEXISTENCE) for rows in (guests, routes)]
    return [damage for damage in candidates if damage.rows]


def _neutrons_routers(census: Census) -> set[str]:
    return {row.uuid for row in census.of("Logical_Router") if "neutron:router_name" in external_ids(row.row)}


def _router_ports_at_neutrons(census: Census) -> list[OwnedRow]:
    routers = _neutrons_routers(census)
    return [row for row in others_than_neutron(census) if row.table == "Logical_Router_Port" and _in(row, routers)]


def _in(row: OwnedRow, holders: t.Container[str]) -> bool:
    return any(holder in holders for holder in row.holders)


def sync_warnings(census: Census, modes: t.Iterable[str]) -> list[CensusWarning]:
    """Return a warning for each mode that writes while there are rows of another owner."""
    others = others_than_neutron(census)
    if not others:
        return []
    return [
        CensusWarning(
            f"neutron_sync_mode {mode}",
            "\n".join(
                [
                    f"{len(others)} rows of others are not in Neutron's database: {owners_of(others)}.",
                    *_deletions(_when(mode), damages(census)),
                    *_failures(census),
                ]
            ),
            "Set ovn_neutron_sync_mode to off ([ovn] neutron_sync_mode = off).",
        )
        for mode in sorted(set(modes) - set(_HARMLESS))
    ]


def repair_refusal(facts: t.Mapping[str, t.Any], host: str) -> str:
    """Return why Neutron of this host must not get `repair`; empty if no row is of another owner. `facts`: a result of ovn_database_info, empty if nobody
    could be asked.
    """
    allow = "ovn_neutron_permit to delete_foreign_rows lets Neutron delete them"
    beginning = f"Neutron of {host} does not get ovn_neutron_sync_mode repair, with which Neutron deletes rows that its own database lacks when it starts"
    tables = facts.get("tables")
    if tables is None:
        return f"{beginning}: nobody could be asked which rows the Northbound has. Use log; setting {allow}. Nothing was changed."
    census = take_census(tables, operated=True)
    if not others_than_neutron(census):
        return ""
    (warning,) = sync_warnings(census, ["repair"])
    cause = " ".join(warning.cause.splitlines())
    return f"{beginning}. {cause} c5c3.ovn.census shows them all. Use off or log; setting {allow}. Nothing was changed."


def _when(mode: str) -> str:
    if mode == "repair":
        return "At each start of Neutron, and in each run of neutron-ovn-db-sync-util, it deletes"
    return "In each run of neutron-ovn-db-sync-util it deletes"


def _deletions(when: str, found: t.Sequence[Damage]) -> t.Iterator[str]:
    """Yield one line for every release, and one for each boundary between releases, the newest first."""
    yield f"{when} {_listed([damage for damage in found if not damage.before])}."
    for before in (_SWITCHES, _COEXISTENCE):
        some = [damage for damage in found if damage.before == before]
        if some:
            yield f"Releases before {before} also delete {_listed(some)}."


def _failures(census: Census) -> t.Iterator[str]:
    """Older releases put lrp- before the name of each port that they delete, and end with an error if there is none."""
    rows = [row for row in _router_ports_at_neutrons(census) if not row.name.startswith("lrp-")]
    if rows:  # see damages()
        yield f"Releases before {_COEXISTENCE} change no router at all: they end with an error at {named(rows)} on Neutron's routers."


def _listed(some: t.Sequence[Damage]) -> str:
    rows = sum(len(damage.rows) for damage in some)
    what = "; ".join(" ".join(filter(None, (named(damage.rows), damage.where))) for damage in some)
    return f"{rows} of them: {what}" if rows else "none of them"

# SPDX-License-Identifier: GPL-3.0-or-later
"""What c5c3.ovn.census prints. Pure."""

from __future__ import annotations

import typing as t

from .._base.databases import DATABASE_NAMES
from .._base.errors import InvalidInput
from .census_clashes import clash_warnings
from .census_rows import WHOLE_OVN, Census, CensusWarning, OwnedRow, named, take_census
from .neutron_maintenance import maintenance_warnings
from .neutron_sync import parse_mode, sync_warnings
from .owner_marks import KUBE_OVN, NEUTRON, OURS, OWNERS

# What kube-ovn's controller does to rows of other owners. Pure. Source: pkg/controller/gc.go and init.go, pkg/ovs/ovn-nb-acl.go and ovn-nb_global.go, read in
# the releases 1.12.35, 1.13.15, 1.14.41, 1.15.24 and 1.16.2; 1.13.15 and 1.16.2 were run beside rows of all owners. The garbage collection works at each
# start of the controller, that of ports again and again. Which settings kube-ovn has is not in the database, so a warning names the setting on which it
# depends.

_OPTIONS = ("ls_ct_skip_dst_lport_ips", "ls_dnat_mod_dl_dst", "use_ct_inv_match")
_COLLECT_NOTHING = "Set GC_INTERVAL=0 of kube-ovn (--gc-interval): then it collects nothing, its own leftovers neither."


def kube_ovn_warnings(census: Census) -> list[CensusWarning]:
    """Return a warning for each kind of rows of others that kube-ovn deletes or writes. Ours are among them: the network of c5c3.ovn.ping."""
    others = [row for row in census.rows if row.table not in WHOLE_OVN and row.owner != KUBE_OVN]
    if KUBE_OVN not in census.families or not others:
        return []
    of = {table: [row for row in others if row.table == table] for table in {row.table for row in others}}
    ports = [row for row in of.get("Logical_Switch_Port", []) if row.row["type"] == ""]
    return [
        *_without_external_vpc([of.get("Logical_Switch", []), of.get("Logical_Router", []), ports]),
        *_load_balancers(of.get("Load_Balancer", [])),
        *_acls(of.get("ACL", [])),
        *_older_releases(of.get("ACL", []), of.get("Port_Group", [])),
        *_chassis([row for row in others if row.owner != OURS]),
        *_whole_ovn(census),
    ]


def _without_external_vpc(kinds: t.Iterable[t.Sequence[OwnedRow]]) -> t.Iterator[CensusWarning]:
    found = [named(rows) for rows in kinds if rows]
    if found:
        yield CensusWarning(
            "kube-ovn without ENABLE_EXTERNAL_VPC",
            f"Its garbage collection deletes {'; '.join(found)}: switches and routers at each start, with all that they have, ports every GC_INTERVAL "
            "(360 s) as well. Its default is false.",
            "Set ENABLE_EXTERNAL_VPC=true of kube-ovn before it starts for the first time.",
        )


def _load_balancers(balancers: t.Sequence[OwnedRow]) -> t.Iterator[CensusWarning]:
    if balancers:
        yield CensusWarning(
            named(balancers),
            "kube-ovn's garbage collection deletes every load balancer that is not its own at each start, also with ENABLE_EXTERNAL_VPC. "
            "With ENABLE_LB=false releases since 1.15.0 leave them alone, older ones do not.",
            _COLLECT_NOTHING,
        )


def _acls(acls: t.Sequence[OwnedRow]) -> t.Iterator[CensusWarning]:
    if acls:
        yield CensusWarning(
            named(acls),
            "kube-ovn since 1.13.0 writes tier=2 to every ACL that has tier 0 at each start. Rules that their owner makes later have tier 0, so they are "
            "looked at before these, whatever their priorities are: harmless only where each rule that allows outranks those that drop, as in Neutron's "
            "security groups.",
            "Restart kube-ovn-controller after another owner has made rules, so that all of them have one tier.",
        )


def _older_releases(acls: t.Sequence[OwnedRow], groups: t.Sequence[OwnedRow]) -> t.Iterator[CensusWarning]:
    found = [f"{named(rows)}{since}" for rows, since in ((acls, ""), (groups, " since 1.13.0")) if rows]
    if found:
        yield CensusWarning(
            "kube-ovn before 1.15.0",
            f"At each start it deletes {'; '.join(found)}.",
            "Update kube-ovn to 1.15.0 or newer.",
        )


def _chassis(others: t.Sequence[OwnedRow]) -> t.Iterator[CensusWarning]:
    if others:
        yield CensusWarning(
            "Chassis of the Southbound database",
            "kube-ovn's garbage collection deletes every chassis that is no node of its Kubernetes cluster at each start, with every setting of "
            "ENABLE_EXTERNAL_VPC: ports on hypervisors and gateways of others have no chassis until ovn-controller has registered these again.",
            _COLLECT_NOTHING,
        )


def _whole_ovn(census: Census) -> t.Iterator[CensusWarning]:
    now = {key: value for row in census.of("NB_Global") for key, value in (row.row["options"] or {}).items()}
    shown = ", ".join(f"{key}={now[key]}" for key in _OPTIONS if key in now) or "all unset"
    yield CensusWarning(
        f"NB_Global options {', '.join(_OPTIONS)}",
        f"They hold for every owner of this OVN, and kube-ovn writes them at each start, and ipsec (now {shown}).",
        "Set them in kube-ovn's configuration (LS_CT_SKIP_DST_LPORT_IPS, LS_DNAT_MOD_DL_DST, ENABLE_OVN_IPSEC) alone.",
    )


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

# SPDX-License-Identifier: GPL-3.0-or-later
"""Versions and schemas in the report. Pure."""

from __future__ import annotations

import typing as t

from .._base.databases import DATABASES, TITLES
from .._daemons.central_host import parse_version
from .findings import ReportFindings, Result, format_line
from .installation import Host


def report_versions(
    reached: t.Mapping[str, Host], heartbeat: Result | None, findings: ReportFindings, lines: list[str]
) -> dict[str, t.Any]:
    """Add the line and the warnings of the versions; return the versions of daemons and schemas."""
    section = findings.new_section()
    northd: dict[str, list[str]] = {}
    servers: dict[str, list[str]] = {}
    schemas: dict[str, dict[str, list[str]]] = {database: {} for database in DATABASES}
    for name, host in reached.items():
        info = host.info or {}
        for place, answer in host.northds(name):
            _add(northd, answer.get("version"), place)
        for database, answer in (info.get("databases") or {}).items():
            _add(servers, answer["version"], name)
            _add(schemas[database], answer["schema_version"], name)
        if (
            host.members is not None
        ):  # members in pods give their version with their answer, and the heartbeat reads the schemas
            for database in DATABASES:
                for answer in (getattr(host, database) or {}).get("answers") or ():
                    _add(servers, parse_version(answer.get("version") or ""), answer["member"])
                _add(schemas[database], ((heartbeat or {}).get("schema_versions") or {}).get(database), name)
    for database in DATABASES:  # known by endpoints alone
        if not schemas[database]:
            _add(schemas[database], ((heartbeat or {}).get("schema_versions") or {}).get(database), "all")
    named = [("northd", northd), ("ovsdb-server", servers)]
    named += [(f"The {TITLES[database]} schema", found) for database, found in schemas.items()]
    for what, found in named:
        if len(found) > 1:
            where = "; ".join(f"{version} on {', '.join(names)}" for version, names in sorted(found.items()))
            section.warning("versions_differ", f"{what} differs between hosts: {where}.")
    internal = str((heartbeat or {}).get("northd_version") or "")
    writer = internal.partition("-")[0]
    if writer and northd and writer not in northd:
        section.warning(
            "northd_foreign", f"northd {writer} wrote the Southbound database, but none of the central hosts runs it."
        )
    findings.add(section)
    details = [
        f"OVN {', '.join(sorted(northd))}" if northd else "",
        f"ovsdb-server {', '.join(sorted(servers))}" if servers else "",
        *(f"{TITLES[database]} schema {', '.join(sorted(found))}" for database, found in schemas.items() if found),
    ]
    lines.append(
        format_line(
            "Versions",
            section.state("equal") if northd or servers or any(schemas.values()) else "unknown",
            ", ".join(detail for detail in details if detail),
        )
    )
    return {
        "northd": sorted(northd),
        "ovsdb_server": sorted(servers),
        "schema": {database: sorted(found) for database, found in schemas.items()},
        "southbound_internal": internal,
    }


def _add(found: dict[str, list[str]], version: str | None, name: str) -> None:
    if version and name not in found.setdefault(version, []):
        found[version].append(name)

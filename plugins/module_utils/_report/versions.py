# SPDX-License-Identifier: GPL-3.0-or-later
"""Versions and schemas in the report. Pure."""

from __future__ import annotations

import typing as t

from .._base.databases import DATABASES, TITLES
from .._daemons.central_host import parse_version
from .findings import ReportFindings, Result, format_line
from .installation import Host


def _find_versions(
    reached: t.Mapping[str, Host], by_heartbeat: t.Mapping[str, str]
) -> tuple[dict[str, list[str]], dict[str, list[str]], dict[str, dict[str, list[str]]]]:
    """Return the places of each version of northd, of ovsdb-server, and of the schema of each database."""
    northd: dict[str, list[str]] = {}
    servers: dict[str, list[str]] = {}
    schemas: dict[str, dict[str, list[str]]] = {database: {} for database in DATABASES}
    for name, host in reached.items():
        for place, answer in host.northds(name):
            _add(northd, answer.get("version"), place)
        for database, answer in ((host.info or {}).get("databases") or {}).items():
            _add(servers, answer["version"], name)
            _add(schemas[database], answer["schema_version"], name)
        # Members in pods give their version with their answer, and the heartbeat reads the schemas.
        for database in DATABASES if host.members is not None else ():
            for answer in (getattr(host, database) or {}).get("answers") or ():
                _add(servers, parse_version(answer.get("version") or ""), answer["member"])
            _add(schemas[database], by_heartbeat.get(database), name)
    for database in DATABASES:  # known by endpoints alone
        if not schemas[database]:
            _add(schemas[database], by_heartbeat.get(database), "all")
    return northd, servers, schemas


def report_versions(
    reached: t.Mapping[str, Host], heartbeat: Result | None, findings: ReportFindings, lines: list[str]
) -> dict[str, t.Any]:
    """Add the line and the warnings of the versions; return the versions of daemons and schemas."""
    section = findings.new_section()
    northd, servers, schemas = _find_versions(reached, (heartbeat or {}).get("schema_versions") or {})
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

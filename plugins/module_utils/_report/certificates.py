# SPDX-License-Identifier: GPL-3.0-or-later
"""Certificates in the report: those that are served, and those of the chassis. Pure."""

from __future__ import annotations

import typing as t

from .._base.databases import DATABASES, TITLES
from .._daemons.central_host import parse_version
from .._pki.decision import RENEW_BEFORE_DAYS
from .findings import ReportFindings, Result, cause_of, format_line
from .installation import Host, Installation

# Versions and schemas in the report. Pure.


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


def report_certificates(
    installation: Installation, reached: t.Mapping[str, Host], findings: ReportFindings, lines: list[str]
) -> dict[str, t.Any]:
    """Add the line and the findings of the certificates; return the days left of the one that expires first, and those of each chassis."""
    section = findings.new_section()
    found = {name: (host.info or {}).get("certificates") or [] for name, host in reached.items()}
    served = [one for name, certificates in found.items() for one in _judge_served(name, certificates, section)]
    chassis, unasked_count = _chassis_certificates(installation.chassis_certificates, section)
    _report_metadata_agents(installation.metadata_agent_certificates, section)
    _report_common_names(installation, section)
    _report_rights(installation, section)
    _report_shared(installation, section)
    findings.add(section)
    held = [(days_left, name, "") for name, days_left in chassis.items()]
    days, name, endpoint = min([*served, *held], default=(None, "", ""))
    # Without any answer none was requested: c5c3.ovn.status, or no TLS.
    unread = f"; {unasked_count} chassis not read" if chassis and unasked_count else ""
    if days is not None:
        whose = f"{name} at {endpoint}" if endpoint else f"chassis {name}"
        lines.append(
            format_line("Certificates", section.state(), f"{days} days left, earliest expiry: {whose}{unread}")
        )
    elif any(found.values()) or section.problems or section.warnings:
        lines.append(format_line("Certificates", section.state("no TLS"), ""))
    return {"days_left": days, "host": name, "endpoint": endpoint, "chassis": chassis}


def _judge_served(
    name: str, certificates: t.Iterable[t.Mapping[str, t.Any]], section: ReportFindings
) -> list[tuple[int, str, str]]:
    """Return days left, host and endpoint of each certificate that a host serves; add what is wrong with them."""
    served, broken = [], []
    for certificate in certificates:
        days, endpoint = certificate["days_left"], certificate["endpoint"]
        if certificate["problem"]:
            broken.append(certificate)
        elif days is not None:
            served.append((days, name, endpoint))
            if days < RENEW_BEFORE_DAYS:
                section.warning(
                    "certificate_expires",
                    f"The certificate that {name} serves at {endpoint} ends in {days} days: renew it.",
                )
    if broken:
        others = ", ".join(certificate["endpoint"] for certificate in broken[1:])
        section.problem(
            "endpoint_unusable",
            f"{name}: {broken[0]['problem']}{f' The same goes for {others}.' if others else ''}",
        )
    return served


def _chassis_certificates(
    results: t.Mapping[str, Result | None], section: ReportFindings
) -> tuple[dict[str, int], int]:
    """Return the days left of each chassis, and how many chassis were not asked, which is no problem of a certificate."""
    found: dict[str, int] = {}
    unasked_count = 0
    for name, result in results.items():
        if result is None or result.get("unreachable") or result.get("skipped") or result.get("timedout"):
            unasked_count += 1
        elif "in_service" not in result:
            cause = cause_of(result) or "the task gave no result"
            section.warning(
                "chassis_certificate_unreadable", f"The certificate of chassis {name} cannot be read: {cause}."
            )
        elif (days_left := result["days_left"]) is None:
            section.problem(
                "chassis_certificate_missing", f"Chassis {name} has no certificate: run c5c3.ovn.hypervisors for it."
            )
        else:
            found[name] = days_left
            if days_left < 0:
                section.problem(
                    "chassis_certificate_expired",
                    f"The certificate of chassis {name} has expired: run c5c3.ovn.hypervisors for it.",
                )
            elif not result["in_service"]:
                section.problem(
                    "chassis_certificate_invalid",
                    f"The certificate of chassis {name} is not valid yet, or its key is missing or another one: "
                    "check the clock there, then run c5c3.ovn.hypervisors for it.",
                )
            elif days_left < RENEW_BEFORE_DAYS:
                section.warning(
                    "chassis_certificate_expires",
                    f"The certificate of chassis {name} ends in {days_left} days: run c5c3.ovn.hypervisors for it.",
                )
    return found, unasked_count


def _report_metadata_agents(results: t.Mapping[str, Result], section: ReportFindings) -> None:
    """Add the machines whose metadata agent has a certificate that ends soon, or has expired. Who has none yet is not connected yet."""
    for name, result in results.items():
        days_left = result.get("days_left")
        if days_left is None or days_left >= RENEW_BEFORE_DAYS:
            continue
        if days_left < 0:
            section.problem(
                "metadata_agent_certificate_expired",
                f"The certificate of the metadata agent on {name} has expired: run c5c3.ovn.neutron for it.",
            )
        else:
            section.warning(
                "metadata_agent_certificate_expires",
                f"The certificate of the metadata agent on {name} ends in {days_left} days: run c5c3.ovn.neutron for it.",
            )


def _report_common_names(installation: Installation, section: ReportFindings) -> None:
    """Add the machines whose certificate names another chassis: relays know a chassis by it, and without them nobody does."""
    if not installation.has_relays:
        return
    for system_id, name in (installation.chassis or {}).items():
        result = installation.chassis_certificates.get(name) or {}
        common_name = result.get("installed_common_name")
        if common_name and common_name != system_id:
            section.warning(
                "chassis_certificate_name",
                f"The certificate of chassis {name} has the name {common_name}, its system id is {system_id}: with Southbound RBAC it can write "
                "none of its rows, and its key those of the other name. Run c5c3.ovn.hypervisors for it.",
            )


def _report_rights(installation: Installation, section: ReportFindings) -> None:
    """Add the machines whose certificate members accept, which give it all rights: a CA that the machine itself trusts has signed it."""
    names = [
        name for name, result in installation.chassis_certificates.items() if (result or {}).get("signed_by_trusted")
    ]
    if names and installation.has_relays:
        some = ", ".join(names[:5]) + (f" and {len(names) - 5} more" if len(names) > 5 else "")
        section.warning(
            "chassis_certificates_open_northbound",
            f"The central CA signed the certificates of {some}, so whoever owns one of these hypervisors can write both databases. Run c5c3.ovn.rotate.",
        )


def _report_shared(installation: Installation, section: ReportFindings) -> None:
    """Add the clusters whose nodes share one certificate: relays cannot tell them apart, so they give no chassis a role."""
    if installation.sharing_clusters:
        opened = "all of the Southbound" if installation.in_pods else "both databases"
        section.warning(
            "chassis_certificate_shared",
            f"The nodes of {', '.join(installation.sharing_clusters)} share one certificate, so whoever owns one of them can write {opened}. "
            "Set ovn_node_certificates to own, or keep their Secrets to administrators.",
        )

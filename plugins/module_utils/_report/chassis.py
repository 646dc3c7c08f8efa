# SPDX-License-Identifier: GPL-3.0-or-later
"""The chassis in the report: which are alive, late, missing or not declared. Pure."""

from __future__ import annotations

import typing as t

from .._api.chassis_status import LOSES_PACKETS
from .._base.errors import list_names
from .._chassis.addresses import shared_values
from .._chassis.datapath import CODES, judge_datapath, reason_of
from .._chassis.southbound_rows import gateway_warning
from .._chassis.text import mappings_with_blanks
from .._kubernetes.timestamps import format_timestamp, time_of
from .findings import ReportFindings, Result, cause_of, format_line
from .installation import Installation

_NAMED = 3  # ports or hosts in one message
_CODES = {reason_of(code): code for code in CODES}
_CHASSIS_LINES = 6  # the rest is counted; all of it is in the facts


def _report_clusters(installation: Installation, section: ReportFindings) -> None:
    """Add the clusters that could not be asked for their chassis, and system ids that two chassis have."""
    for name, cause in installation.unresponsive_clusters.items():
        section.problem("chassis_not_read", f"{name} cannot be asked for its chassis: {cause_of({'msg': cause})}.")
    for name, places in sorted(installation.twice.items()):
        section.problem(
            "duplicate_system_id",
            f"Two chassis have the system id {name} ({', '.join(places)}): they keep claiming each other's ports. Set another ovn_system_id for one of them.",
        )


def _report_failed_calls(installation: Installation, section: ReportFindings) -> None:
    for name, failed in installation.failed_calls.items():
        section.warning(
            "hypervisor_not_read",
            f"Hypervisor {name} could not be examined: {cause_of(failed)}. The output of the task that failed there has more.",
        )


def _report_late(
    late: t.Mapping[str, t.Mapping[str, t.Any]], heartbeat: t.Mapping[str, t.Any], section: ReportFindings
) -> None:
    for name, entry in late.items():
        section.problem(
            "chassis_late",
            f"Chassis {name} has not answered heartbeat {heartbeat.get('nb_cfg')}, "
            f"its last answer was {entry['nb_cfg']}{_answered_at(entry, ' at ')}{_counted_before(entry, heartbeat)}: "
            "the machine, ovn-controller or Open vSwitch there is stopped, stuck or cut off.",
        )


def report_chassis(installation: Installation, findings: ReportFindings, lines: list[str]) -> dict[str, t.Any]:
    """Add the lines and the findings of the chassis; return their names by state, and their rows as `details`."""
    heartbeat = installation.heartbeat or {}
    expected = installation.chassis
    local = [entry for entry in heartbeat.get("chassis") or [] if not entry["remote"]]
    known = {entry["name"]: entry for entry in local}
    declared = dict(expected) if expected is not None else {name: name for name in known}
    alive = [name for name in declared if name in known and known[name]["alive"]]
    missing = (
        [name for name in declared if name not in known or not known[name]["registered"]]
        if known or heartbeat.get("nb_cfg") is not None
        else []
    )
    late = [name for name in declared if name in known and known[name]["registered"] and known[name]["alive"] is False]
    unexpected = sorted(known.keys() - declared.keys())
    section = findings.new_section()
    _report_clusters(installation, section)
    for name in missing:
        machine = "" if declared[name] == name else f" ({declared[name]})"
        section.problem(
            "chassis_not_registered",
            f"Chassis {name}{machine} is not registered in the Southbound database: check ovn-controller there.",
        )
    _report_late({name: known[name] for name in late}, heartbeat, section)
    # Where others run the control plane, other chassis are theirs.
    for name in unexpected if installation.managed else ():
        details = "is alive" if known[name]["alive"] else "does not answer"
        section.warning(
            "chassis_unexpected", f"Chassis {name}{_origin(known[name])} {details}, but is not in the inventory."
        )
    _report_gateways(local if installation.managed else [known[name] for name in declared if name in known], section)
    for name, gateways in (heartbeat.get("lost_gateways") or {}).items() if installation.managed else ():
        section.warning("gateway_chassis_missing", gateway_warning(name, gateways))
    misplaced = heartbeat.get("misplaced_ports") or []
    _report_claims(local, misplaced, section)
    _report_failed_calls(installation, section)
    _report_datapaths(installation.datapaths, installation.unhealthy_datapaths, section)
    lookups = {name: one["lookups"] for name, one in installation.datapaths.items() if one["lookups"]}
    findings.add(section)
    if heartbeat.get("nb_cfg") is not None:
        asked = "alive" if heartbeat["probed"] else "had answered the last heartbeat"
        state = section.state("healthy" if heartbeat["probed"] else "not asked")
        lines.append(format_line("Chassis", state, f"{len(alive)}/{len(declared)} {asked}" if declared else "none"))
        lines.extend(_chassis_lines(declared, known, unexpected, heartbeat["probed"], lookups))
    elif installation.inside_only is not None:
        lines.append(_reported_by_observer(installation.inside_only, findings))
    else:
        lines.append(
            format_line("Chassis", "unknown", f"{len(declared)} in the inventory" if expected is not None else "")
        )
    return {
        "expected": sorted(declared) if expected is not None else None,
        "alive": sorted(alive),
        "late": sorted(late),
        "missing": sorted(missing),
        "unexpected": unexpected,
        "misplaced_ports": misplaced,
        "lookups": lookups,
        "details": local,
    }


def _report_gateways(chassis: t.Iterable[t.Mapping[str, t.Any]], section: ReportFindings) -> None:
    """Add the gateways that reach no provider network: neither OVN nor Neutron says so. It is the same for machines and for nodes of a cluster."""
    for entry in chassis:
        if entry["gateway"] and not entry["bridge_mappings"]:
            section.warning(
                "gateway_without_mapping",
                f"Chassis {entry['name']}{_origin(entry)} is a gateway (enable-chassis-as-gw) without a bridge mapping: routers that are scheduled there "
                "reach no provider network. Declare ovn_hypervisor_bridge_mappings, for nodes of a Kubernetes cluster bridgeMappings of the OVNCluster or "
                "the annotation ovn.c5c3.io/bridge-mappings, or let it be no gateway.",
            )
        for mapping in mappings_with_blanks(entry["bridge_mappings"]):
            section.warning(
                "mapping_with_blank",
                f'Chassis {entry["name"]}{_origin(entry)} has the bridge mapping "{mapping}": ovn-controller reads that blank as part of the name, '
                "so it connects no network of the name without it. Run c5c3.ovn.site, or correct ovn-bridge-mappings there.",
            )


def _origin(entry: t.Mapping[str, t.Any]) -> str:
    """Return host name and tunnel addresses of a chassis, which help to find its machine."""
    known = [entry["hostname"], *sorted({encapsulation["ip"] for encapsulation in entry["encapsulations"]})]
    return f" ({', '.join(filter(None, known))})" if any(known) else ""


def _counted_before(entry: t.Mapping[str, t.Any], heartbeat: t.Mapping[str, t.Any]) -> str:
    is_higher = (entry["nb_cfg"] or 0) > (heartbeat.get("nb_cfg") or 0)
    return ", before the Northbound database was created again" if is_higher else ""


def _answered_at(entry: t.Mapping[str, t.Any], prefix: str) -> str:
    """Return when the chassis answered last, by its own clock; empty if it never did."""
    answered = time_of(entry["nb_cfg_timestamp"])
    return prefix + format_timestamp(answered) if answered else ""


def _report_claims(
    local: t.Sequence[t.Mapping[str, t.Any]], misplaced: t.Sequence[t.Mapping[str, t.Any]], section: ReportFindings
) -> None:
    """Add what chassis claim although it is another one's. Southbound RBAC does not prevent it."""
    addresses = [(entry["name"], one["ip"]) for entry in local for one in entry["encapsulations"]]
    for ip, names in shared_values(addresses).items():
        section.problem(
            "duplicate_encapsulation_ip",
            f"Chassis {', '.join(names)} have the same encapsulation address {ip}: "
            "traffic to it reaches the wrong host. Correct ovn_encapsulation_ip of one of them.",
        )
    for hostname, names in shared_values((entry["name"], entry["hostname"]) for entry in local).items():
        section.problem(
            "duplicate_hostname",
            f"Chassis {', '.join(names)} have the same host name {hostname}: either of them gets the ports that are requested for it. "
            "Correct ovn_hypervisor_hostname of one of them.",
        )
    by_chassis: dict[str, list[str]] = {}
    for port in misplaced:
        for name in port["chassis"]:
            by_chassis.setdefault(name, []).append(f"{port['port']} (requested: {', '.join(port['requested'])})")
    for name, ports in sorted(by_chassis.items()):
        section.problem(
            "port_bound_elsewhere",
            f"Chassis {name} has bound ports that are requested elsewhere: {list_names(ports, _NAMED)}. "
            "Check who controls that machine, and whether its guests have moved.",
        )


def _report_datapaths(
    datapaths: t.Mapping[str, Result], unhealthy: t.Mapping[str, Result], section: ReportFindings
) -> None:
    """Add what makes datapaths lose packets, and the hypervisors whose datapath has another type than most have.

    `unhealthy` has the condition DatapathHealthy of pods where it is false.
    """
    for name, condition in unhealthy.items():
        message = cause_of({"msg": condition["message"]}).removeprefix(LOSES_PACKETS)
        # Root on a node may write any reason.
        section.problem(_CODES.get(condition["reason"], "packets_lost"), f"Chassis {name}: {message}.")
    by_type: dict[str, list[str]] = {}
    for name, datapath in datapaths.items():
        by_type.setdefault(datapath["type"], []).append(name)
        for problem in judge_datapath(datapath):
            section.problem(problem.code, f"Chassis {name}: {problem.cause}. {problem.next_step}.")
    if len(by_type) > 1:
        kind, names = min(sorted(by_type.items()), key=lambda one: len(one[1]))
        others = ", ".join(sorted(by_type.keys() - {kind}))
        section.warning(
            "datapath_types_mixed",
            f"Datapath types differ: {kind} on {len(names)} of {len(datapaths)} machines ({list_names(names, _NAMED)}), {others} on the others. "
            "Usually ovn_hypervisor_datapath_type is set for some of them alone: set it in the variables of their group. "
            "If that is intended, add datapath_types_mixed to ovn_verify_acknowledge.",
        )


def _reported_by_observer(condition: Result, findings: ReportFindings) -> str:
    """Return the line from the condition ControllersReady: the observer in the cluster counts the chassis that answer the heartbeats of other clients."""
    state, message = condition.get("status"), condition.get("message") or "The observer has not read the chassis yet."
    if state == "False" and condition.get("reason") != "NoChassis":
        findings.problem("chassis_unready", f"The OVNCluster says of its chassis: {message}")
    details = {"True": "healthy", "False": "none" if condition.get("reason") == "NoChassis" else "problem"}
    return format_line("Chassis", details.get(str(state), "unknown"), f"the OVNCluster says: {message}")


def _chassis_lines(
    declared: t.Mapping[str, str],
    known: t.Mapping[str, t.Any],
    unexpected: t.Sequence[str],
    probed: bool,
    lookups: t.Mapping[str, t.Mapping[str, int]],
) -> list[str]:
    """Return a line per chassis, the bad ones first; beyond `_CHASSIS_LINES` the rest is only counted."""
    rows: list[tuple[int, str, str, str]] = []
    for name in {**declared, **dict.fromkeys(unexpected, "")}:
        entry = known.get(name)
        if entry is None or not entry["registered"]:
            rows.append((0, name, "missing", ""))
            continue
        details = [f"{encapsulation['type']} {encapsulation['ip']}" for encapsulation in entry["encapsulations"]]
        details += [f"{mapping['physical_network']}:{mapping['bridge']}" for mapping in entry["bridge_mappings"]]
        details += ["gateway"] if entry["gateway"] else []
        if counted := lookups.get(declared.get(name, "")):
            details.append(f"{counted['lost']} of {counted['missed']} packets lost")
        details += ["not in the inventory"] if name in unexpected else []
        details += [] if probed else list(filter(None, [_answered_at(entry, "answered at ")]))
        good = "alive" if probed else "answered"
        state = "unknown" if entry["alive"] is None else good if entry["alive"] else "late"
        rank = 1 if state == "late" else 2 if name in unexpected else 3
        rows.append((rank, name, state, ", ".join(details)))
    rows.sort()
    listed, more = rows[:_CHASSIS_LINES], len(rows) - _CHASSIS_LINES
    width = max([13, *(len(name) + 2 for _rank, name, _state, _text in listed)])
    lines = [format_line(f"  {name}", state, text, width) for _rank, name, state, text in listed]
    return [*lines, f"  and {more} more"] if more > 0 else lines

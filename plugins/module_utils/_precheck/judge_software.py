# SPDX-License-Identifier: GPL-3.0-or-later
"""What is wrong with packages and versions, and which other Open vSwitch or OVN a host has. Pure."""

from __future__ import annotations

import re
import typing as t

from .._base.errors import InvalidInput
from .._base.ip_addresses import literal
from .._chassis.other_switches import DISTRIBUTION_UNITS, HostSwitches, Program, managed_findings
from .._chassis.text import read_servers
from .._machine.package_plan import desired_versions, unsatisfied
from .._ovsdb.endpoint import parse_endpoints
from .declared import DeclaredHost, southbound_addresses
from .finding import Finding
from .measure import Facts, MeasuredHost, is_ours, place_of, supervisor_of

# Units of the distributions whose daemon the role takes over.
_DISTRIBUTION_CHASSIS = ("ovn-controller.service", "ovn-host.service")
_MASK = "systemctl mask ovn-central ovn-ovsdb-server-nb ovn-ovsdb-server-sb ovn-northd"
_DAY = 86400
_OVN_PACKAGES = {"central": "ovn-central", "hypervisor": "ovn-host"}


Versions = t.Mapping[str, tuple[int, ...]]


def judge_software(
    hosts: t.Sequence[MeasuredHost], declared: t.Sequence[DeclaredHost], outside: Versions | None = None
) -> list[Finding]:
    """Return the findings of all hosts that were measured; `declared` are all hosts of the inventory, `outside` the versions of OVN of central hosts that
    are not in this run."""
    measured = [host for host in hosts if host.facts]
    findings = [finding for host in measured if host.is_new for finding in _packages(host)]
    findings += _versions(measured, outside or {})
    for host in measured:
        findings += [*_foreign_control_plane(host), *_foreign_chassis(host, declared), *_foreign_switch(host)]
    return findings


def _packages(host: MeasuredHost) -> list[Finding]:
    found = host.facts["packages"]
    if found["problem"]:
        cause, _dot, step = " ".join(found["problem"].split()).rstrip(".").rpartition(". ")
        return [Finding("not_measured", host.name, f"its packages could not be read: {cause}", step)]
    lacking = _lacking(host)
    if not lacking or not found["manager"]:
        return []
    findings = []
    if unknown := [spec for spec in _unknown(host) if not _may_come(host, spec)]:
        cause = f"its package index does not have {', '.join(unknown)}"
        step = "Enable the archive that has them (Debian: main, Ubuntu: universe), or name one with ovn_packages_repository"
        if any("=" in spec for spec in unknown):
            step += ", or correct the versions"
        findings.append(Finding("packages_missing", host.name, cause, step))
    if cause := _no_archive(host, found):
        step = f"Give it a way to an archive (ovn_packages_proxy, ovn_packages_repository), or install {', '.join(lacking)} beforehand"
        if host.declared.central:  # else the packages start standalone databases, which are foreign to the next run
            step += f", after `{_MASK}`"
        findings.append(Finding("archive_unreachable", host.name, cause, step))
    return findings


def _lacking(host: MeasuredHost) -> dict[str, str]:
    """Return the packages that the run would install, with the version that is declared, empty for any."""
    if host.facts["packages"]["problem"]:  # among them names that are none
        return {}
    library = host.declared.library_packages if host.facts["packages"]["library_missing"] else ()
    desired = desired_versions([*host.declared.packages, *library], {})
    return {name: desired[name] for name in unsatisfied(desired, host.facts["packages"]["installed"])}


def _unknown(host: MeasuredHost) -> list[str]:
    """Return which of them the index does not have, `NAME` or `NAME=VERSION`."""
    known = host.facts["packages"]["candidates"]
    lacking = _lacking(host).items()
    return [f"{name}={version}" if version else name for name, version in lacking if name not in known]


def _may_come(host: MeasuredHost, spec: str) -> bool:
    """Return whether a refresh of the index could bring what it does not have: an archive gets new versions, hardly ever new names."""
    found = host.facts["packages"]
    return not found["index"] or bool(host.declared.repository) or ("=" in spec and found["index_age"] > _DAY)


def _no_archive(host: MeasuredHost, found: Facts) -> str:
    """Return why no package can be fetched, empty if one could: the run refreshes the lists before it installs anything."""
    index = "" if found["index"] else "its package index is missing or incomplete, and "
    if found["repository"] and (silent := _silent(found["repository"])):
        return f"ovn_packages_repository does not answer: {silent}"
    if found["unprobed"] or found["repository"]:
        return ""
    if found["archives"]:
        silent = _silent(found["archives"])
        return f"{index}no archive answers: {silent}" if silent else ""
    return f"{index}no archive is configured" if index else ""


def _silent(archives: t.Sequence[Facts]) -> str:
    """Return these archives and what they answer, empty if there is a connection to one of them. An archive that refuses is none."""
    if any(one["state"] == "connected" for one in archives):
        return ""
    texts = {"refused": "connection refused"}
    return ", ".join(
        f"{one['address']}:{one['port']} ({one['error'] or texts.get(one['state'], 'no answer')})" for one in archives
    )


def not_tested(hosts: t.Iterable[MeasuredHost]) -> list[str]:
    """Return what nobody knows about the packages of new hosts, because it could not be looked at."""
    lines = []
    for host in hosts:
        if not host.is_new or not (unknown := _unknown(host)):
            continue
        found, names = host.facts["packages"], ", ".join(unknown)
        pinned = ", ".join(spec for spec in unknown if "=" in spec and _may_come(host, spec))
        if host.declared.repository:
            lines.append(f"{host.name} packages: whether ovn_packages_repository has {names}")
        elif pinned and found["manager"]:
            age = "of an earlier day" if found["index"] else "missing or incomplete"
            lines.append(f"{host.name} packages: whether an archive has {pinned}; the package index is {age}")
        if found["unprobed"]:
            lines.append(f"{host.name} archives of its packages: nobody can connect to {', '.join(found['unprobed'])}")
    return lines


def ovn_version(host: MeasuredHost, role: str) -> tuple[int, ...]:
    """Return year and month of the OVN that the host has or would get for this role, nothing if that is not known."""
    packages, name = host.facts["packages"], _OVN_PACKAGES[role]
    text = packages["candidates" if name in _lacking(host) else "installed"].get(name) or ""
    match = re.match(r"(?:\d+:)?(\d+)\.(\d+)", text)
    return (int(match[1]), int(match[2])) if match else ()


def _versions(hosts: t.Sequence[MeasuredHost], outside: Versions) -> list[Finding]:
    """Members of one cluster have one version. An ovn-controller older than northd may not understand what it is told; a newer one does."""
    versions = {**outside, **{host.name: ovn_version(host, "central") for host in hosts if host.declared.central}}
    central = {name: version for name, version in versions.items() if version}
    if not central:
        return []
    findings = []
    if len(set(central.values())) > 1 and any(host.becomes_member for host in hosts):
        cause = f"its hosts have different versions of OVN: {', '.join(f'{name} {_text(one)}' for name, one in central.items())}"
        step = "Give all of them one version with ovn_packages_versions"
        findings.append(Finding("mixed_versions", "ovn_central", cause, step))
    newest = max(central.values())
    for host in hosts:
        own = ovn_version(host, "hypervisor") if host.becomes_chassis else ()
        if own and own < newest:
            cause = f"its ovn-controller is {_text(own)}, older than northd ({_text(newest)})"
            step = "Give hypervisors the version of the control plane or a newer one with ovn_packages_versions"
            findings.append(Finding("mixed_versions", host.name, cause, step))
    return findings


def _text(version: tuple[int, ...]) -> str:
    return f"{version[0]}.{version[1]:02}"


def _foreign_control_plane(host: MeasuredHost) -> list[Finding]:
    if not host.becomes_member:
        return []
    running = [one for one in _others(host) if host.runs_control_plane(one)]
    step = "c5c3.ovn.adopt takes it over with its data (of containers: docs/adopt.md); if it is of no use any more, stop and disable it"
    return _foreign("foreign_ovn", host, running, "another control plane runs there", step)


def _foreign_chassis(host: MeasuredHost, declared: t.Sequence[DeclaredHost]) -> list[Finding]:
    """The distribution's ovn-controller is taken over, with its flows, unless it works for another control plane."""
    if not host.becomes_chassis:
        return []
    controllers = [one for one in _others(host) if one["program"] == "ovn-controller"]
    taken_over = () if host.declared.existing_switch else _DISTRIBUTION_CHASSIS
    outside = [one for one in controllers if not _is_in_unit(one, taken_over)]
    if outside:
        step = (
            "Stop it and keep it from starting (Kolla: the containers ovn_*), or leave the host out of ovn_hypervisors"
        )
        return _foreign("foreign_ovn", host, outside, "another ovn-controller runs there", step)
    remote = host.facts["chassis"]["remote"]
    here = southbound_addresses(declared, host.declared)
    if not controllers or not remote or not here or not _is_elsewhere(_addresses(remote), here, host.declared):
        return []
    cause = f"its ovn-controller works for another control plane, {remote}"
    step = "Remove the chassis there first, or set ovn_southbound_endpoints to that control plane"
    return [Finding("foreign_ovn", host.name, cause, step)]


def _foreign_switch(host: MeasuredHost) -> list[Finding]:
    if not host.becomes_chassis:
        return []
    found = _switches(host)
    if host.declared.existing_switch:
        if found.answers:
            return []
        cause = f"no Open vSwitch answers at {host.declared.openvswitch_database}, and ovn_hypervisor_openvswitch is existing"
        step = "Start it, name its socket with ovn_hypervisor_openvswitch_database, or set ovn_hypervisor_openvswitch to managed"
        return [Finding("open_vswitch_missing", host.name, cause, step)]
    findings = managed_findings(found, [*DISTRIBUTION_UNITS, host.declared.openvswitch_service])
    if not findings:
        return []
    step = (
        "Use it as it is with ovn_hypervisor_openvswitch: existing, stop it and keep it from starting (Kolla: the containers openvswitch_*), "
        "or set openvswitch_service of ovn_hypervisor_distribution to its unit"
    )
    return [Finding("foreign_open_vswitch", host.name, f"another Open vSwitch is there: {', '.join(findings)}", step)]


def _switches(host: MeasuredHost) -> HostSwitches:
    facts = host.facts["open_vswitch"]
    programs = [Program(one["pid"], one["program"], one["arguments"], supervisor_of(one)) for one in _others(host)]
    return HostSwitches(
        programs, facts["bridges"], facts["datapath_ports"], facts["known_interfaces"], facts["answers"]
    )


def _others(host: MeasuredHost) -> list[Facts]:
    return [one for one in host.facts["daemons"] if not is_ours(one)]


def _is_in_unit(process: Facts, units: t.Collection[str]) -> bool:
    supervisor = supervisor_of(process)
    return supervisor.kind == "unit" and supervisor.name in units


def _foreign(code: str, host: MeasuredHost, running: t.Sequence[Facts], what: str, step: str) -> list[Finding]:
    if not running:
        return []
    names = ", ".join(dict.fromkeys(f"{one['program']} in {_place(one)}" for one in running))
    return [Finding(code, host.name, f"{what}: {names}", step)]


def _place(process: Facts) -> str:
    return place_of(process) or f"process {process['pid']}, started by hand"


def _addresses(remote: str) -> set[str]:
    try:
        return {one.host for one in parse_endpoints(read_servers(remote))}
    except InvalidInput:
        return set()


def _is_elsewhere(remote: set[str], here: set[str], host: DeclaredHost) -> bool:
    """Return whether these are certainly not the addresses of our control plane. What a name stands for is not known here."""
    if host.central and any(one.startswith("/") or getattr(literal(one), "is_loopback", False) for one in remote):
        return False
    names = [one for one in remote | here if not one.startswith("/") and not literal(one)]
    return not remote & here and not names

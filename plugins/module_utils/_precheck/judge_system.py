# SPDX-License-Identifier: GPL-3.0-or-later
"""What is wrong with the machine that a host is: operating system, disk, kernel. Pure."""

from __future__ import annotations

import re
import typing as t

from .._chassis.datapath import judge_datapath
from .._machine.package_plan import desired_versions
from .declared import PACKAGE_PATHS
from .finding import CONTROL_NODE, Finding
from .measure import Facts, MeasuredHost

# Which clocks are wrong: those of hosts against that of the control node and against each other. Pure.

_STEP = "Set both clocks with NTP (chrony, systemd-timesyncd)"
_WHY = "certificates and heartbeats need the same time everywhere"


class _Clock(t.NamedTuple):
    """How many seconds a clock is ahead of the control node's at least and at most: the way there and back took an unknown part of the time."""

    host: str
    least: float
    most: float
    limit: float

    @property
    def is_off(self) -> bool:
        return self.least > self.limit or self.most < -self.limit


def judge_clocks(hosts: t.Iterable[MeasuredHost]) -> list[Finding]:
    """Return the findings of all hosts that were measured. If all of them are off and agree with each other, the control node's clock is wrong."""
    clocks = [_clock(host) for host in hosts if host.facts]
    off = [one for one in clocks if one.is_off]
    if len(off) > 1 and len(off) == len(clocks) and not _apart(off):
        return [_control_node(off)]
    return [*map(_against_control_node, off), *_apart([one for one in clocks if not one.is_off])]


def _clock(host: MeasuredHost) -> _Clock:
    clock = host.facts["clock"]
    return _Clock(
        host.name, clock["ended"] - host.received, clock["began"] - host.sent, float(host.limits.clock_seconds)
    )


def _against_control_node(clock: _Clock) -> Finding:
    far, direction = (clock.least, "ahead of") if clock.least > 0 else (-clock.most, "behind")
    cause = f"its clock is {far:.0f} s or more {direction} the control node's; {_WHY}"
    return Finding("clock_difference", clock.host, cause, _STEP)


def _control_node(clocks: t.Sequence[_Clock]) -> Finding:
    ahead = clocks[0].least > 0
    far = min(one.least for one in clocks) if ahead else min(-one.most for one in clocks)
    cause = f"its clock is {far:.0f} s or more {'behind' if ahead else 'ahead of'} those of all {len(clocks)} hosts, which agree; {_WHY}"
    return Finding("clock_difference", CONTROL_NODE, cause, "Set its clock with NTP (chrony, systemd-timesyncd)")


def _apart(clocks: t.Sequence[_Clock]) -> list[Finding]:
    """Return the two clocks that are farthest apart, if they are too far apart for certain."""
    if not clocks:
        return []
    fast, slow = max(clocks, key=lambda one: one.least), min(clocks, key=lambda one: one.most)
    far = fast.least - slow.most
    if far <= max(fast.limit, slow.limit):
        return []
    cause = f"the clock of the first is {far:.0f} s or more ahead of the other; {_WHY}"
    return [Finding("clock_difference", f"{fast.host}, {slow.host}", cause, _STEP)]


_DEBIAN = ("12", "13")
_UBUNTU_YEAR = 22
_VOLATILE = ("tmpfs", "ramfs")
_REMOTE = ("nfs", "nfs4", "cifs", "smb3", "9p", "ceph", "fuse.glusterfs", "fuse.sshfs", "afs")
_MIB = 1 << 20
# What records and packages take, with room for what a run writes meanwhile, in octets.
_RECORDS, _PACKAGES = 16 * _MIB, 128 * _MIB


class _Need(t.NamedTuple):
    octets: int
    what: str
    step: str


_NOTHING = _Need(0, "", "")


def judge_system(host: MeasuredHost) -> list[Finding]:
    """Return the findings of one machine that was measured."""
    findings: list[Finding] = []
    if host.is_new:
        findings += [*_operating_system(host), *_disk_space(host)]
    if host.becomes_member:
        findings += _file_systems(host)
    if host.becomes_chassis:
        findings += [*_kernel(host), *_datapath(host)]
    return findings


def _operating_system(host: MeasuredHost) -> list[Finding]:
    system, declared = host.facts["system"], host.declared
    known = system["id"] == "debian" and system["version"] in _DEBIAN
    if known or _is_known_ubuntu(system) or declared.distribution_given:
        return []
    options = ["ovn_central_distribution"] if declared.central else []
    options += ["ovn_hypervisor_distribution"] if declared.hypervisor else []
    cause = f"{system['name'] or 'its operating system'} is not known here; known are Debian 12 and 13, and Ubuntu from 22.04 on"
    return [Finding("operating_system", host.name, cause, f"Use one of these, or set {', '.join(options)}")]


def _is_known_ubuntu(system: Facts) -> bool:
    """Modules need Python 3.9, which releases before 22.04 do not have."""
    if system["id"] != "ubuntu":
        return False
    release = re.match(r"\d+", system["version"])
    return not release or int(release[0]) >= _UBUNTU_YEAR


def _file_systems(host: MeasuredHost) -> list[Finding]:
    findings = []
    for one in host.facts["file_systems"]:
        if one["path"] not in host.declared.paths:
            continue
        where, mount = f"{host.name} {one['path']}", f"{one['type']} mounted at {one['mount']}"
        unfit = ""
        if one["type"] in _VOLATILE:
            unfit = f"{mount} is empty after a reboot"
        elif one["type"] in _REMOTE:
            unfit = f"{mount} is on another machine, and a member must not lose its disk with the network"
        elif one["read_only"]:
            unfit = f"{mount} is read-only"
        if unfit:
            findings.append(Finding("file_system", where, unfit, "Mount a local file system there, ext4 or XFS"))
    return findings


def _disk_space(host: MeasuredHost) -> list[Finding]:
    """Each file system once, with the most that anything in it needs."""
    needed = _needed_space(host)
    short: dict[str, Finding] = {}
    for one in sorted(host.facts["file_systems"], key=lambda place: -needed.get(place["path"], _NOTHING).octets):
        need = needed.get(one["path"], _NOTHING)
        if one["free"] < need.octets and one["mount"] not in short:
            cause = f"{one['free'] // _MIB} MiB are free in {one['mount']}, of {need.octets // _MIB} MiB that {need.what} should find"
            short[one["mount"]] = Finding("disk_space", f"{host.name} {one['path']}", cause, need.step)
    return list(short.values())


def _needed_space(host: MeasuredHost) -> dict[str, _Need]:
    step = "Free space, or mount a larger file system there"
    needed = {}
    if host.becomes_member:
        database, *records = host.declared.paths
        needed[database] = _Need(host.limits.free_octets, "databases", f"{step}, or set ovn_precheck_free_space")
        needed.update({path: _Need(_RECORDS, "records", step) for path in records})
    packages = host.facts["packages"]
    names = {} if packages["problem"] else desired_versions(host.declared.packages, {})
    if packages["manager"] and any(name not in packages["installed"] for name in names):
        needed.update({path: _Need(_PACKAGES, "packages", step) for path in PACKAGE_PATHS if path not in needed})
    return needed


def _kernel(host: MeasuredHost) -> list[Finding]:
    kernel, modules = host.facts["system"]["kernel"], host.facts["kernel_modules"]
    missing = [name for name, state in modules.items() if state == "missing"]
    mismatched = [name for name, state in modules.items() if state == "mismatched"]
    elsewhere = (
        "load the module on the machine below if this is a container, or set ovn_hypervisor_datapath_type to netdev"
    )
    findings = []
    if missing:
        step = (
            "Install the package with the kernel's modules (Ubuntu: linux-modules-extra), reboot if a newer kernel is installed,"
            f" {elsewhere}"
        )
        findings.append(Finding("kernel_module", host.name, f"kernel {kernel} has no {_modules(missing)}", step))
    if mismatched:
        cause = f"kernel {kernel} cannot load {_modules(mismatched)}, built for another kernel"
        step = (
            f"Install the modules of this kernel again, or reboot into the kernel that they were built for, {elsewhere}"
        )
        findings.append(Finding("kernel_module", host.name, cause, step))
    return findings


def _modules(names: t.Sequence[str]) -> str:
    return f"module{'s' if len(names) > 1 else ''} {', '.join(names)}"


def _datapath(host: MeasuredHost) -> list[Finding]:
    """Of an Open vSwitch that runs already. The kernel is of no account if the run gives the chassis a datapath in userspace."""
    facts = host.facts["datapath"]
    problems = judge_datapath({**facts, "type": "netdev"} if facts and host.declared.userspace else facts)
    return [Finding(one.code, host.name, one.cause, one.next_step) for one in problems]


def judge_systems(hosts: t.Iterable[MeasuredHost]) -> list[Finding]:
    return [finding for host in hosts if host.facts for finding in judge_system(host)]

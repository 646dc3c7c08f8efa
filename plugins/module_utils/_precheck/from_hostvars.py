# SPDX-License-Identifier: GPL-3.0-or-later
"""The precheck of a run from the variables of its hosts: what they declare, what their tasks have registered, and the options of the role. Pure."""

from __future__ import annotations

import dataclasses
import typing as t

from .._base.errors import OvnError
from .._base.inventory import as_list
from .._chassis.registration import Rows
from .._roles.central import options_for_machines
from .._roles.option_types import plain, read_options
from .._roles.variables import Groups, Hostvars, members_of
from .declared import DeclaredHost, declared_hosts, measurement, problem_of
from .finding import Finding, check_ignored, hosts_of
from .judge_inventory import judge_central_clusters, judge_registered, not_checked
from .judge_software import not_tested, ovn_version
from .measure import Limits, MeasuredHost
from .report import judge, report

_MACHINE, _CLUSTER = "ovn_precheck_measured", ("ovn_central_precheck", "ovn_precheck_hypervisors")
_CENTRAL = "ovn_precheck_central"
_GROUPS = ("ovn_central", "ovn_hypervisors")
_CLOCK_SECONDS = 5  # by which clocks may differ


@dataclasses.dataclass(frozen=True)
class PrecheckOptions:
    """The options of the role. `guest_mtu` in octets, 0 if nobody says it; `free_space` in MiB."""

    ignore: list[str] = dataclasses.field(default_factory=list)
    guest_mtu: int = 0
    free_space: int = 1024

    @classmethod
    def of(cls, given: t.Mapping[str, t.Any]) -> PrecheckOptions:
        """Return the checked options; `ignore` may be a text with commas, as the command line gives it."""
        ignore = as_list(given.get("ignore") or ())
        options = read_options(cls, {**given, "ignore": ignore}, "ovn_precheck_")
        check_ignored(options.ignore)
        return options

    @property
    def limits(self) -> Limits:
        return Limits(self.guest_mtu, _CLOCK_SECONDS, self.free_space << 20)


def options_of_hosts(
    hostvars: Hostvars, hosts: t.Collection[str], given: t.Mapping[str, t.Any]
) -> tuple[dict[str, PrecheckOptions], dict[str, str]]:
    """Return the options of each host, and why those of some hosts, which have the defaults then, could not be read.

    `given` are those of the host on which the hosts are judged together: they count for all hosts only where no host has variables of its own, as with
    the variables of a task.
    """
    names = [field.name for field in dataclasses.fields(PrecheckOptions)]
    own: dict[str, dict[str, t.Any]] = {}
    problems = {}
    for host in hosts:
        try:
            own[host] = {name: plain(hostvars[host].get(f"ovn_precheck_{name}")) for name in names}
            PrecheckOptions.of(own[host])  # what is undefined may raise only when it is used
        except OvnError:
            raise
        except Exception as e:  # templates raise many classes, and each version of Ansible has others
            own[host], problems[host] = dict.fromkeys(names), problem_of(e)
    common = {name: given.get(name) for name in names if all(values[name] is None for values in own.values())}
    return {host: PrecheckOptions.of({**values, **common}) for host, values in own.items()}, problems


def measurement_of_host(
    hostvars: Hostvars, groups: Groups, host: str, given: t.Mapping[str, t.Any]
) -> dict[str, t.Any]:
    """Return the options of ovn_precheck for this host, none if nothing is to be measured on it."""
    return measurement(hostvars, groups, host, PrecheckOptions.of(given).guest_mtu)


def central_outside(hostvars: Hostvars, groups: Groups, hosts: t.Iterable[str]) -> str:
    """Return the central host outside of `hosts`, those of the play, whose version is asked for; empty if there is none, or nothing to compare it with."""
    run = list(hosts)
    declared = declared_hosts(hostvars, groups, [name for group in _GROUPS for name in members_of(groups, group)])
    outside = [one.name for one in declared.values() if one.central and one.measured and one.name not in run]
    known = (one for one in declared.values() if one.name in run and one.measured and not one.problem)
    if outside and any(MeasuredHost.of(one, hostvars[one.name].get(_MACHINE) or {}).is_new for one in known):
        return next((name for name in outside if not declared[name].problem), "")
    return ""


def _versions_outside(
    hostvars: Hostvars, hosts: t.Iterable[str], declared: t.Mapping[str, DeclaredHost], name: str
) -> dict[str, tuple[int, ...]]:
    """Return the version of that central host, if it has answered. One task has asked for all hosts of the play."""
    results = (hostvars[host].get(_CENTRAL) or {} for host in hosts) if name else ()
    # What is installed there counts, and not what a run would make of it: nothing else was asked.
    there = dataclasses.replace(declared[name], packages=(), library_packages=()) if name else None
    measured = (MeasuredHost.of(there, result) for result in results if there)
    version = next((ovn_version(one, "central") for one in measured if one.facts), ())
    return {name: version} if version else {}


def precheck(
    hostvars: Hostvars, groups: Groups, hosts: t.Iterable[str], given: t.Mapping[str, t.Any]
) -> dict[str, t.Any]:
    """Return the report on `hosts`, those of the play; `given` are the options of the role."""
    names = [name for group in _GROUPS for name in members_of(groups, group)]
    declared = declared_hosts(hostvars, groups, names)
    hosts = list(hosts)
    options, problems = options_of_hosts(hostvars, hosts, given)
    declared.update(
        {name: dataclasses.replace(declared[name], problem=text) for name, text in problems.items() if name in declared}
    )
    machines = [
        MeasuredHost.of(declared[name], hostvars[name].get(_MACHINE) or {}, options[name].limits)
        for name in hosts
        if name in declared and declared[name].measured
    ]
    clusters = [name for name in hosts if name in declared and declared[name].cluster]
    results = [(name, hostvars[name].get(variable) or {}) for name in clusters for variable in _CLUSTER]
    more = [finding for name, result in results for finding in _of_cluster(name, result)]
    more += [_unread(name, declared[name].problem) for name in clusters if declared[name].problem]
    more += _central_clusters(hostvars, groups, declared, hosts)
    more += judge_registered(machines, _registered(hostvars, hosts, machines))
    unknown = not_tested(machines)
    unknown += [f"{name} {text}" for name, result in results for text in _not_tested(result)]
    findings = judge(
        list(declared.values()),
        machines,
        more,
        _versions_outside(hostvars, hosts, declared, central_outside(hostvars, groups, hosts)),
    )

    def ignored(finding: Finding) -> bool:
        return all(finding.code in options[name].ignore for name in hosts_of(finding, groups, hosts))

    checked = len(machines) + len(clusters)
    return report(findings, ignored, checked, not_checked(machines), list(dict.fromkeys(unknown)))


def _registered(hostvars: Hostvars, hosts: t.Iterable[str], machines: t.Iterable[MeasuredHost]) -> Rows:
    """Return the chassis that a central host of this run, or the one outside, has in its Southbound database."""
    found = [one.facts.get("registered") for one in machines if one.declared.central]
    found += [((hostvars[host].get(_CENTRAL) or {}).get("facts") or {}).get("registered") for host in hosts]
    return next(filter(None, found), {})


def _central_clusters(
    hostvars: Hostvars, groups: Groups, declared: t.Mapping[str, DeclaredHost], hosts: t.Iterable[str]
) -> list[Finding]:
    """Return what is wrong with a control plane in Kubernetes, if any of its hosts is in this run."""
    central = members_of(groups, "ovn_central")
    if not set(central) & set(hosts):
        return []
    clusters, findings = {}, []
    for name in (one for one in central if declared[one].cluster):
        try:
            clusters[name] = {"for_machines": plain(options_for_machines(hostvars[name]))}
        except Exception as e:  # templates raise many classes, and each version of Ansible has others
            findings.append(_unread(name, problem_of(e)))
    return [*findings, *judge_central_clusters(central, clusters)]


def _unread(name: str, problem: str) -> Finding:
    return Finding(
        "not_measured", name, f"the check failed: {problem.splitlines()[0].rstrip('.')}", "Correct that, then run again"
    )


def _of_cluster(name: str, result: t.Mapping[str, t.Any]) -> list[Finding]:
    """Return what ovn_precheck_kubernetes has found. A cluster that gave no result was not asked, one whose task failed was."""
    if result and "findings" not in result and not result.get("skipped"):
        cause = f"the check failed: {str(result.get('msg') or 'no reason given').rstrip('.')}"
        return [Finding("not_measured", name, cause, "Correct that, then run again")]
    return [
        Finding(one["code"], f"{name} {one['object']}", one["cause"].rstrip("."), one["next_step"].rstrip("."))
        for one in result.get("findings") or ()
    ]


def _not_tested(result: t.Mapping[str, t.Any]) -> list[str]:
    """Return what ovn_precheck_kubernetes could not look at."""
    return [f"{one['what']}: {one['cause']}" for one in (result.get("facts") or {}).get("not_tested") or ()]

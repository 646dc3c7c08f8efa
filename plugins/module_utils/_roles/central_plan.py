# SPDX-License-Identifier: GPL-3.0-or-later
"""The plan of a run on central machines: what all of them found, to what forbids the run, what is due, and the step of the next round. Pure."""

from __future__ import annotations

import dataclasses
import typing as t

from .._base.errors import InvalidInput, Refused
from .._base.inventory import as_list
from .._host.adoption_problems import northd_order
from .._raft.founding_report import note_witnesses, witness_report
from .._raft.machine_plan import machine_plan
from .central import host_share, permitted
from .endpoints import endpoints_of
from .option_types import plain
from .variables import Hostvars, Variables, backend_of, first_value

_MOST_ROUNDS = 2000  # a step that lasts longer than it may ends a run long before
_USUAL = ("/etc/c5c3-ovn", "/var/lib/ovn")  # where records and databases are by default


def unfinished_hosts(hostvars: Hostvars, central: t.Iterable[str]) -> list[str]:
    """Return the central hosts on which this run has begun a rollout that has not ended. On others it began none."""
    rollouts = {host: hostvars[host].get("ovn_central_rollout") for host in central}
    return [host for host, rollout in rollouts.items() if rollout and not rollout.get("ended")]


@dataclasses.dataclass(frozen=True)
class RaftOptions:
    """Options of the role that the plan of the Raft clusters reads."""

    tls: bool
    cluster_ids: dict[str, str]
    bootstrap: bool
    restart: bool
    permit: list[str]
    witness_hosts: list[str] | None
    config_directory: str
    database_directory: str


@dataclasses.dataclass(frozen=True)
class PlannedRun:
    """One run: its name and time, and what `check_mode` and `adopt` make of it."""

    name: str
    time: str
    check_mode: bool
    adopt: bool


def failed_members_problem(members: t.Iterable[str], all_hosts: t.Collection[str], hosts: t.Collection[str]) -> str:
    """Return which members of this play have failed, empty if none has.

    It is asked before each step: a play goes on with the other hosts, without any_errors_fatal and, in a block with `always`, with ansible-core 2.16 in
    spite of it.
    """
    failed = [member for member in members if member in all_hosts and member not in hosts]
    if not failed:
        return ""
    return (
        f"{', '.join(failed)} failed or became unreachable in this run, see above. Every step needs all members, so nothing more is done. Correct the cause, "
        "then run again."
    )


def plan_before_changes(
    checks: t.Mapping[str, Variables], options: RaftOptions, run: PlannedRun, witnesses: list[str] | None
) -> dict[str, t.Any]:
    """Return the plan of a run that has changed nothing. `checks` are the results of `central_check` by host, `witnesses` None if nobody was searched.

    `planned`: something is due, whatever the comparisons say. `packages_due`: on some host packages or their source are to be changed.
    """
    plans = [check["packages_plan"] for check in checks.values()]
    plan = machine_plan(_members(checks), _run(checks, options, run, witnesses, before_changes=True), {})
    return {
        **plan,
        "round": 0,
        "witnesses": witnesses,
        "planned": plan["due"] or "rollback" in options.permit or any(check["planned"] for check in checks.values()),
        "packages_due": any(one.get("due") or one.get("source_files") for one in plans),
        "northd_order": northd_order({host: check["northd"]["state"] for host, check in checks.items()}),
    }


def plan_round(
    checks: t.Mapping[str, Variables],
    observed: t.Mapping[str, Variables],
    options: RaftOptions,
    run: PlannedRun,
    previous: Variables,
) -> dict[str, t.Any]:
    """Return the plan of one round from what was `observed` under the lock. What was observed before may be outdated, so the first round starts afresh."""
    number = previous["round"] + 1
    if number > _MOST_ROUNDS:
        raise Refused(
            f"{' and '.join(previous['left'])} is not as declared after {_MOST_ROUNDS} rounds. What was changed is safe. Run again."
        )
    before = previous if previous["round"] else {}
    given = _run(checks, options, run, previous["witnesses"], before_changes=False)
    plan = machine_plan(_members(observed), given, before)
    kept = ("witnesses", "planned", "packages_due", "northd_order")
    return {**plan, **{name: previous[name] for name in kept}, "round": number}


def sizes_matter(check: Variables, state: Variables) -> bool:
    """Return whether the sizes of the databases ask for more than what was compared before they were known."""
    return bool(plain(state) != check["desired"])


def timer_messages(desired: Variables) -> list[str]:
    """Return which databases get other timers than declared, and why."""
    return [
        f"{database}: {one['timers']['reason']} With ovn_central_timers_by_size: false it gets the declared ones."
        for database, one in desired["databases"].items()
        if one["timers"]["reason"]
    ]


def _members(results: t.Mapping[str, Variables]) -> list[t.Any]:
    return [member for result in results.values() for member in result["members"]]


def _run(
    checks: t.Mapping[str, Variables],
    options: RaftOptions,
    run: PlannedRun,
    witnesses: list[str] | None,
    *,
    before_changes: bool,
) -> dict[str, t.Any]:
    desired = next(iter(checks.values()))["desired"]
    return {
        **{name: getattr(options, name) for name in ("bootstrap", "restart")},
        "allow_names": "names" in options.permit,
        **permitted(options.permit),
        "run": run.name,
        "time": run.time,
        "declared": desired["raft_addresses"],
        "expected_cid": options.cluster_ids,
        "witnesses": witnesses or [],
        "looked_for_witnesses": witnesses is not None,
        "before_changes": before_changes,
        "check_mode": run.check_mode,
        "adopt": run.adopt,
        "wait_timeout": desired["wait_timeout"],
    }


def search_share(
    members: list[str], options: RaftOptions, hypervisors: list[str], hosts: list[str], host: str, hostvars: Hostvars
) -> list[dict[str, t.Any]]:
    """Return the hosts that `host` searches for an older control plane; the central hosts share them out.

    Each has the options of `ovn_founding_witnesses`; one that is not searched has none.
    """
    known = endpoints_of(members, hostvars, "southbound", "client", tls=options.tls)
    searched = hypervisors if options.witness_hosts is None else options.witness_hosts
    if unknown := [name for name in searched if name not in hostvars]:
        raise InvalidInput(
            f"ovn_central_witness_hosts has {', '.join(unknown)}, which the inventory does not have. Add it there, or take it out."
        )
    return [
        {"host": name, "options": _search_options(known, options, hostvars[name])}
        for name in host_share([*members, *searched], hosts, host)
    ]


def _search_options(known: list[str], options: RaftOptions, variables: Variables) -> dict[str, t.Any]:
    if backend_of(variables) != "host" or first_value(variables, "ovn_hypervisor_state") == "gone":
        return {}
    database = first_value(variables, "ovn_hypervisor_openvswitch_database")
    return {
        "own_endpoints": [*known, *as_list(first_value(variables, "ovn_southbound_endpoints", default=[]))],
        **({"openvswitch_database": database} if database else {}),
        "record_directories": list(dict.fromkeys([options.config_directory, _USUAL[0]])),
        "database_directories": list(dict.fromkeys([options.database_directory, _USUAL[1]])),
    }


def found_witnesses(
    results: t.Iterable[Variables], databases: t.Collection[str], members: t.Collection[str], note: Variables
) -> tuple[list[str], str]:
    """Return sentences about an older control plane, and which hosts could not be searched, empty if all were. `note` is that beside the CA."""
    report = witness_report([{**one, "item": one["item"]["host"]} for one in results], databases, members)
    witnesses = report.witnesses + (note_witnesses(note["text"], note["path"], databases) if note.get("path") else [])
    if not report.unexamined:
        return witnesses, ""
    reasons = "; ".join(f"{host}: {reason}" for host, reason in sorted(report.unexamined.items()))
    return witnesses, (
        f"Not searched for an older control plane: {reasons}. If one of these hosts belongs to an older control plane, make it reachable before the "
        "cluster is created."
    )

# SPDX-License-Identifier: GPL-3.0-or-later
"""The settings inside the databases: listeners, probes and the election timer, compared and changed in the running servers."""

from __future__ import annotations

import concurrent.futures
import dataclasses
import typing as t

from .._base.databases import DATABASES, PORTS, Database
from .._base.deadline import Deadline
from .._daemons.database_converge import MemberState, Outcome, converge
from .._daemons.database_settings import LAYOUTS, DesiredSettings, ObservedSettings, plan_rows
from .._kubernetes.client import Cluster
from .._kubernetes.rollout_progress import has_relay
from .._raft.answer import Answer
from .._raft.observation import Observation
from .._raft.sizing import size_of, timers_for
from .database_rollout import DatabaseRollout
from .desired import DesiredCluster
from .pod_database import PodDatabase


def desired_settings(
    desired: DesiredCluster,
    database: Database,
    observations: t.Iterable[Observation] = (),
    *,
    pods: t.Iterable[t.Mapping[str, t.Any]] = (),
) -> DesiredSettings:
    """Return what the specification names; rows and keys of others stay as they are. Large database files raise the declared timers.

    All members read the same rows, so the port of chassis is given up when no member of the `pods` serves it any more: each has a relay that does.
    """
    spec = desired.spec.database(database)
    scheme = "pssl" if desired.spec.tls.enabled else "ptcp"
    timers = timers_for(size_of(observations), spec.election_timer, spec.inactivity_probe)
    row: dict[str, t.Any] = {"inactivity_probe": timers.inactivity_probe}
    if database == "southbound":
        row["role"] = ""
    targets = {name: f"{scheme}:{port}:[::]" for name, port in PORTS[database].for_clients.items()}
    removed = frozenset[str]()
    if database == "southbound" and desired.spec.tls.enabled and all(map(has_relay, pods)):
        removed = frozenset({targets.pop("client")})
    return DesiredSettings(
        election_timer=timers.election_timer,
        connections=dict.fromkeys(targets.values(), row),
        removed_connections=removed,
    )


def relay_probe(desired: DesiredCluster, observations: t.Iterable[Observation]) -> int:
    """Return the inactivity probe of relays for chassis in milliseconds, that of the members: a large database has a longer one than is declared."""
    spec = desired.spec.southbound
    return timers_for(size_of(observations), spec.election_timer, spec.inactivity_probe).inactivity_probe


def _predict_new_database(desired: DesiredCluster, database: Database) -> Outcome:
    """Return the outcome for a database that is about to be created: it has no rows, and is created with its election timer."""
    settings = dataclasses.replace(desired_settings(desired, database), election_timer=None)
    return Outcome(MemberState("none"), ObservedSettings(), plan_rows(settings, ObservedSettings(), LAYOUTS[database]))


def converge_settings(
    cluster: Cluster,
    desired: DesiredCluster,
    databases: t.Mapping[Database, DatabaseRollout],
    diff: dict[str, dict[str, t.Any]],
    deadline: Deadline,
    *,
    check_mode: bool,
) -> list[str]:
    """Return a message for each change and add the values to `diff`. Check mode cannot read a database that does not run."""

    def one(database: Database) -> Outcome | None:
        rollout, observed = databases[database], databases[database].observed
        leader = observed.leader
        if leader is None and check_mode:
            return _predict_new_database(desired, database) if observed.is_new and rollout.founding else None
        pods = {address: name for name, address in observed.run.declared.items()}
        status = Answer.from_dict(leader.answer).status if leader and leader.answer else None
        member = PodDatabase(
            cluster,
            desired.namespace,
            LAYOUTS[database],
            pods,
            leader.member if leader else None,
            status,
            observed.context.lease,
        )
        # A run would have given each pod a relay by then.
        present = [] if check_mode else list(observed.pods.values())
        settings = desired_settings(desired, database, observed.observations.values(), pods=present)
        return converge(member, settings, LAYOUTS[database], deadline, check_mode=check_mode)

    with concurrent.futures.ThreadPoolExecutor(max_workers=2) as pool:
        outcomes = dict(zip(DATABASES, pool.map(one, DATABASES)))
    return _messages(outcomes, diff)


def _messages(outcomes: t.Mapping[Database, Outcome | None], diff: dict[str, dict[str, t.Any]]) -> list[str]:
    steps: list[str] = []
    for database, outcome in outcomes.items():
        if outcome is not None and outcome.changed:
            steps += [f"{database}: {action}" for action in outcome.done.actions]
            diff["before"][database] = outcome.done.before
            diff["after"][database] = outcome.done.after
    return steps

# Copyright: (c) 2026, C5C3 contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""PRIVATE to the collection: may change at any time.

What lives inside the databases: listeners, probes and the election timer, compared and changed in the running servers.
"""

from __future__ import annotations

import concurrent.futures
import dataclasses
import typing as t

from .._database.converge import MemberState, Outcome, converge
from .._database.settings import LAYOUTS, ObservedSettings, plan_rows
from .._database.settings import DesiredSettings as WantedSettings
from .._databases import DATABASES, PORTS, Database
from .._deadline import Deadline
from .._kubernetes.client import Cluster
from .._raft.answer import Answer
from .._raft.observation import Observation
from .._raft.sizing import size_of, timers_for
from .._raft_pods.backend import DatabaseRollout
from .desired import DesiredCluster
from .pod_database import PodDatabase


def wanted_settings(
    wanted: DesiredCluster, database: Database, observations: t.Iterable[Observation] = ()
) -> WantedSettings:
    """Only what the specification names; rows and keys of others stay as they are. Large files need longer timers than declared."""
    spec = wanted.spec.database(database)
    scheme = "pssl" if wanted.spec.tls.enabled else "ptcp"
    timers = timers_for(size_of(observations), spec.election_timer, spec.inactivity_probe)
    row: dict[str, t.Any] = {"inactivity_probe": timers.inactivity_probe}
    if database == "southbound":
        row["role"] = ""
    return WantedSettings(
        election_timer=timers.election_timer, connections={f"{scheme}:{PORTS[database].client}:[::]": row}
    )


def _of_a_new_one(wanted: DesiredCluster, database: Database) -> Outcome:
    """A database that is about to be created has no rows; its election timer comes with it."""
    settings = dataclasses.replace(wanted_settings(wanted, database), election_timer=None)
    return Outcome(MemberState("none"), ObservedSettings(), plan_rows(settings, ObservedSettings(), LAYOUTS[database]))


def converge_settings(
    cluster: Cluster,
    wanted: DesiredCluster,
    databases: t.Mapping[Database, DatabaseRollout],
    diff: dict[str, dict[str, t.Any]],
    deadline: Deadline,
    *,
    check_mode: bool,
) -> list[str]:
    """What was changed, in words; `diff` gets the values. Check mode cannot look into a database that does not run."""

    def one(database: Database) -> Outcome | None:
        rollout = databases[database]
        leader = rollout.leader
        if leader is None and check_mode:
            return _of_a_new_one(wanted, database) if rollout.is_new and rollout.founding else None
        pods = {address: name for name, address in rollout.run.declared.items()}
        status = Answer.from_dict(leader.answer).status if leader and leader.answer else None
        member = PodDatabase(
            cluster,
            wanted.namespace,
            LAYOUTS[database],
            pods,
            leader.member if leader else None,
            status,
            rollout.context.lease,
        )
        settings = wanted_settings(wanted, database, rollout.observations.values())
        return converge(member, settings, LAYOUTS[database], deadline, check_mode=check_mode)

    steps: list[str] = []
    with concurrent.futures.ThreadPoolExecutor(max_workers=2) as pool:
        outcomes = dict(zip(DATABASES, pool.map(one, DATABASES)))
    for database, outcome in outcomes.items():
        if outcome is not None and outcome.changed:
            steps += [f"{database}: {action}" for action in outcome.done.actions]
            diff["before"][database] = outcome.done.before
            diff["after"][database] = outcome.done.after
    return steps

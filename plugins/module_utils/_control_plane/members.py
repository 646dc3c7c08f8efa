# Copyright: (c) 2026, C5C3 contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""PRIVATE to the collection: may change at any time.

Which members a database shall have, and how many of their pods there may be before any gate was asked. Pure.
"""

from __future__ import annotations

from .._api.names import raft_address
from .._databases import Database
from .._raft.record import Record
from .._raft.step import PODS, Run
from .desired import DesiredCluster
from .observed_state import ObservedCluster


def first_replicas(wanted: DesiredCluster, live: ObservedCluster, database: Database, record: Record | None) -> int:
    """Pods that exist, and those of every member that may have data: on record as more than expected, or with a claim. More come one by one.

    A claim tells nothing by itself, whatever the record says: the launcher in its pod does (R26).
    """
    prefix, members = f"{wanted.name}-{database}-", dict(record.members) if record is not None else {}
    if record is None or not record.cid:  # those of an earlier installation whose record is lost
        return max(live.replicas(database), *(index + 1 for index in live.claims(database)), 0)
    declared = {f"{prefix}{index}" for index in range(wanted.spec.database(database).replicas)}
    ours = declared | {name for name, member in members.items() if member.state != "absent"}
    claimed = {index for index in live.claims(database) if f"{prefix}{index}" in ours}
    joined = {
        int(name[len(prefix) :])
        for name, member in members.items()
        if member.state not in ("expected", "absent") and name.startswith(prefix)
    }
    return max(live.replicas(database), *(index + 1 for index in claimed | joined), 0)


def run_of(
    wanted: DesiredCluster, database: Database, identity: str, time: str, witnesses: tuple[str, ...] = ()
) -> Run:
    spec, name = wanted.spec, wanted.name
    declared = {
        f"{name}-{database}-{index}": raft_address(
            database,
            index,
            name=name,
            namespace=wanted.namespace,
            cluster_domain=wanted.cluster_domain,
            tls=spec.tls.enabled,
        )
        for index in range(spec.database(database).replicas)
    }
    return Run(
        database=database,
        declared=declared,
        name=identity,
        time=time,
        bootstrap=wanted.bootstrap,
        restart=wanted.restart,
        allow_outage=wanted.allow_outage,
        allow_names=True,  # the names of pods are stable, and OVS resolves them itself
        expected_cid=wanted.cluster_ids.get(database),
        texts=PODS,
        witnesses=witnesses,
        new_cluster=wanted.new_cluster,
        accept_rollback=wanted.accept_rollback,
        accept_lost_disk=wanted.accept_lost_disk,
    )

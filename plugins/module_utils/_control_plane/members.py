# SPDX-License-Identifier: GPL-3.0-or-later
"""Which members a database has to have, and how many of their pods may exist before any gate was checked. Pure."""

from __future__ import annotations

from .._api.names import raft_address
from .._base.databases import Database
from .._raft.record import Record
from .._raft.step import PODS, Run
from .desired import DesiredCluster
from .observed_state import ObservedCluster


def first_replicas(
    desired: DesiredCluster, observed: ObservedCluster, database: Database, record: Record | None
) -> int:
    """Return the number of pods that may exist at once; more are added one by one.

    These are the pods that exist, and those of every member that may have data: on record as more than expected, or with a claim. A claim proves
    nothing by itself: the launcher in its pod reports what it holds (R26).
    """
    prefix, members = f"{desired.name}-{database}-", dict(record.members) if record is not None else {}
    if record is None or not record.cid:  # those of an earlier installation whose record is lost
        return max(observed.replicas(database), *(index + 1 for index in observed.claims(database)), 0)
    declared = {f"{prefix}{index}" for index in range(desired.spec.database(database).replicas)}
    ours = declared | {name for name, member in members.items() if member.state != "absent"}
    claimed = {index for index in observed.claims(database) if f"{prefix}{index}" in ours}
    joined = {
        int(name[len(prefix) :])
        for name, member in members.items()
        if member.state not in ("expected", "absent") and name.startswith(prefix)
    }
    return max(observed.replicas(database), *(index + 1 for index in claimed | joined), 0)


def run_for_database(
    desired: DesiredCluster, database: Database, identity: str, time: str, witnesses: tuple[str, ...] = ()
) -> Run:
    spec, name = desired.spec, desired.name
    declared = {
        f"{name}-{database}-{index}": raft_address(
            database,
            index,
            name=name,
            namespace=desired.namespace,
            cluster_domain=desired.cluster_domain,
            tls=spec.tls.enabled,
        )
        for index in range(spec.database(database).replicas)
    }
    return Run(
        database=database,
        declared=declared,
        name=identity,
        time=time,
        bootstrap=desired.bootstrap,
        restart=desired.restart,
        allow_outage=desired.allow_outage,
        allow_names=True,  # the names of pods are stable, and OVS resolves them itself
        expected_cid=desired.cluster_ids.get(database),
        texts=PODS,
        witnesses=witnesses,
        new_cluster=desired.new_cluster,
        accept_rollback=desired.accept_rollback,
        accept_lost_disk=desired.accept_lost_disk,
    )

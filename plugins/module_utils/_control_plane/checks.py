# SPDX-License-Identifier: GPL-3.0-or-later
"""What is refused before anything is changed: because of records, of volumes that would have to shrink or move, of ports, or of neighbors."""

from __future__ import annotations

import dataclasses
import typing as t

from .._api.names import Object, leader_proxy_name
from .._api.service_accounts import account_change, central_accounts, given_accounts
from .._base.databases import DATABASES, Database
from .._kubernetes.apply import key_of
from .._kubernetes.client import Cluster
from .._kubernetes.service_accounts import missing_account_problem, refuse_accounts
from .._kubernetes.version import check_version
from .._raft.gates import gate_reason
from .._raft.observation import Observation
from .._raft.plan import plan_round
from .._raft.record_checks import refuse_by_record
from .._raft.step import Run
from .chassis_port_clients import check_clients
from .desired import DesiredCluster, desired_definitions
from .leader_proxy import refuse_published_removal, unpublished_warning
from .manifests import ClusterManifests
from .members import first_replicas, run_for_database
from .observed_state import ObservedCluster, refuse_neighbors
from .ports import PortClash, find_port_clashes, refuse_port_clashes
from .record_store import RecordStore
from .recreate_claims import find_claims_to_recreate
from .relay_role import role_change
from .storage import check_claims
from .witness_store import WitnessStore
from .witnesses import find_witnesses


@dataclasses.dataclass(frozen=True)
class CheckedCluster:
    """The observed state, in which nothing stands against this run, with what follows from it for each database.

    `replicas` are the pods that may exist at once. `claims_to_recreate` wait for a volume of another storage class than the declared one.
    """

    observed: ObservedCluster
    stores: t.Mapping[Database, RecordStore]
    witness_stores: t.Mapping[Database, WitnessStore]
    runs: t.Mapping[Database, Run]
    replicas: t.Mapping[Database, int]
    claims_to_recreate: t.Mapping[Database, t.Sequence[Object]]
    port_clashes: t.Sequence[PortClash]


def check_cluster(
    cluster: Cluster,
    desired: DesiredCluster,
    observed: ObservedCluster,
    manifests: ClusterManifests,
    *,
    identity: str,
    time: str,
    warn: t.Callable[[str], object],
) -> CheckedCluster:
    """Return what the run goes on with; `Refused` or `Conflict` if it must not begin. Nothing is written. `identity` and `time` are those of the run."""
    refuse_neighbors(observed)
    proxy = observed.get("apps/v1", "DaemonSet", leader_proxy_name(desired.name))
    refuse_published_removal(desired.spec, observed.resource, proxy)
    if any(key_of(definition) not in observed.index for definition in desired_definitions(observed)):
        check_version(cluster)
    _check_accounts(cluster, desired, observed)
    stores = {d: RecordStore(cluster, desired.record_skeleton(d), observed.record(d)) for d in DATABASES}
    witness_stores = {d: WitnessStore(cluster, desired.witness_skeleton(d), observed.witness(d)) for d in DATABASES}
    records = {d: stores[d].read() for d in DATABASES}
    replicas = {d: first_replicas(desired, observed, d, records[d]) for d in DATABASES}
    new: list[Database] = [d for d in DATABASES if records[d] is None]
    witnesses = find_witnesses(cluster, desired, observed, new, warn=warn)
    runs = {d: run_for_database(desired, d, identity, time, witnesses.get(d, ())) for d in DATABASES}
    for d, run in runs.items():
        refuse_by_record(run, records[d])
        if d in new and not replicas[d]:  # with claims, their launchers are asked first
            plan_round(run, {name: Observation(name, installed=False) for name in run.declared}, gate_reason)
    check_claims(cluster, desired, observed)
    claims_to_recreate = find_claims_to_recreate(cluster, desired, observed)
    port_clashes = find_port_clashes(manifests.build(replicas, None), observed.index)
    if not desired.force_conflicts:
        refuse_port_clashes(port_clashes)
    check_clients(cluster, desired, observed, warn)
    if message := role_change((observed.resource or {}).get("spec"), desired):
        warn(message)
    if message := unpublished_warning(desired.spec):
        warn(message)
    return CheckedCluster(observed, stores, witness_stores, runs, replicas, claims_to_recreate, port_clashes)


def _check_accounts(cluster: Cluster, desired: DesiredCluster, observed: ObservedCluster) -> None:
    accounts = central_accounts(desired.spec)
    refuse_accounts(account_change(accounts, observed.index, desired.namespace))
    refuse_accounts(missing_account_problem(cluster, desired.namespace, given_accounts(accounts)))

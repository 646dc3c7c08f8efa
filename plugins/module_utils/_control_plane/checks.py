# SPDX-License-Identifier: GPL-3.0-or-later
"""What is refused before anything is changed: because of records, of volumes that would have to shrink or move, of ports, or of neighbors."""

from __future__ import annotations

import dataclasses
import ipaddress
import typing as t

from .._api.names import Object, leader_proxy_name, raft_address
from .._api.service_accounts import account_change, central_accounts, given_accounts
from .._base.databases import DATABASE_NAMES, DATABASES, PORTS, Database
from .._base.deadline import Deadline
from .._base.errors import OvnError, Refused, Unreachable
from .._chassis.southbound_rows import IDENTITY
from .._kubernetes.access_review import missing_account_problem, refuse_accounts
from .._kubernetes.apply import key_of
from .._kubernetes.client import Cluster
from .._kubernetes.rollout_progress import CONTAINER, has_relay
from .._kubernetes.version import check_version
from .._machine.connections import Address, EstablishedConnection, find_strangers, parse_connections
from .._machine.ruleset import PortFilter
from .._ovsdb.rows import select
from .._raft.gates import gate_reason
from .._raft.observation import Observation
from .._raft.plan import plan_round
from .._raft.record import FORMER, Record
from .._raft.record_checks import refuse_by_record
from .._raft.step import PODS, Run
from .database_pods import DatabasePods
from .desired import DesiredCluster, desired_definitions
from .leader_proxy import refuse_published_removal, unpublished_warning
from .manifests import ClusterManifests
from .observed_state import ObservedCluster, refuse_neighbors
from .ports import PortClash, find_port_clashes, refuse_port_clashes
from .recreate_claims import find_claims_to_recreate
from .storage import check_claims
from .stores import RecordStore, WitnessStore
from .witnesses import find_witnesses

# Who uses the port of chassis before the first relays take it over: clients that are no chassis, as Neutron, need the port without a role then, and it is
# open to those alone whom the specification names.

_SECONDS = 30.0
_NEUTRON = "Name the namespaces of Neutron's pods in neutronIntegration.sbConnection.allowedNamespaces of OVNCluster {name}, or its networks in allowedCidrs"
_PORTS = (
    f"Relays take over port {PORTS['southbound'].client} of the Southbound, for chassis. "
    f"Other clients, as Neutron, need port {PORTS['southbound'].unrestricted}"
)


def check_clients(
    cluster: Cluster, desired: DesiredCluster, observed: ObservedCluster, warn: t.Callable[[str], object]
) -> None:
    """Raise `Refused` before the first relays if clients are connected for which the specification does not name a way in, and warn if they are not known."""
    there = observed.known_stateful_set("southbound")
    if not desired.spec.tls.enabled or there is None or has_relay(there["spec"]["template"]) or names_clients(desired):
        return
    try:
        found = unknown_clients(*_connections(cluster, desired))
    except OvnError as e:
        warn(f"{unnamed(desired.name)} Who is connected now is not known: {e}")
        return
    if found:
        raise Refused(refusal(desired.name, found))
    warn(unnamed(desired.name))


def names_clients(desired: DesiredCluster) -> bool:
    """Return whether the user has said who may use the port without a role, be it nobody."""
    connection = (desired.raw.get("neutronIntegration") or {}).get("sbConnection") or {}
    return not {"allowedNamespaces", "allowedCidrs"}.isdisjoint(connection)


def unknown_clients(connections: t.Iterable[EstablishedConnection], known: t.Iterable[str]) -> list[str]:
    """Return the addresses that are connected to the port of chassis, without the known ones."""
    addresses = {address for text in known if (address := _address(text))}
    networks = tuple(ipaddress.ip_network(address) for address in addresses)
    port = PortFilter("tcp", PORTS["southbound"].client, networks)
    return list(dict.fromkeys(address for _port, address in find_strangers([port], connections)))


def unnamed(name: str) -> str:
    """Return what happens where the specification names nobody."""
    return f"{_PORTS}, and nobody but pods of the control plane reaches it. {_NEUTRON.format(name=name)}."


def refusal(name: str, clients: t.Sequence[str]) -> str:
    more = f" and {len(clients) - 10} more" if len(clients) > 10 else ""
    return (
        f"{_PORTS}, and it is open to nobody but pods of the control plane: {', '.join(clients[:10])}{more} would be cut off, whose addresses are none of a "
        f"tunnel, a node or a pod of the control plane. {_NEUTRON.format(name=name)}; an empty list if all of them are chassis. Nothing was changed."
    )


def _connections(cluster: Cluster, desired: DesiredCluster) -> tuple[list[EstablishedConnection], list[str]]:
    """Return the connections of all Southbound members, and the addresses of chassis, nodes and pods of the control plane."""
    namespace, name = desired.namespace, desired.name
    southbound = DatabasePods(cluster, namespace, name, "southbound")
    connections: list[EstablishedConnection] = []
    for pod in southbound.pods:
        # Without IPv6 there is no second file, and the command fails after it has shown the first one.
        result = cluster.exec(namespace, pod, CONTAINER, ["cat", "/proc/net/tcp", "/proc/net/tcp6"])
        if not result.stdout:
            raise Unreachable(f"Pod {pod} does not show its connections: {result.stderr.strip()[-500:]}")
        connections += parse_connections(result.stdout)
    database = DATABASE_NAMES["southbound"]
    tables = southbound.ask(lambda server: select(server, database, {"Encap": IDENTITY["Encap"]}), Deadline(_SECONDS))
    known = [str(row["ip"]) for row in tables["Encap"]]
    for ours in cluster.list("v1", "Pod", namespace, labels=f"app.kubernetes.io/instance={name}"):
        known += [one.get("ip", "") for one in (ours.get("status") or {}).get("podIPs") or ()]
    try:
        nodes = cluster.list("v1", "Node")
    except Refused:  # then chassis are known by their tunnels alone
        nodes = []
    for node in nodes:
        known += [one.get("address", "") for one in (node.get("status") or {}).get("addresses") or ()]
    return connections, known


def _address(text: str) -> Address | None:
    """Return the address; None for what is none: nodes have names besides, and chassis write what they like."""
    try:
        return ipaddress.ip_address(text)
    except ValueError:
        return None


# Which members a database has to have, and how many of their pods may exist before any gate was checked. Pure.


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
    ours = declared | {name for name, member in members.items() if member.state not in FORMER}
    claimed = {index for index in observed.claims(database) if f"{prefix}{index}" in ours}
    joined = {
        int(name[len(prefix) :])
        for name, member in members.items()
        if member.state not in {"expected", *FORMER} and name.startswith(prefix)
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


# What it means for chassis when the relays give them a role, or take it away: the inventory may decide it by a hypervisor cluster that comes or goes. Pure.


def role_change(before: t.Mapping[str, t.Any] | None, desired: DesiredCluster) -> str:
    """Return what changes for chassis with the role of the relays, empty if nothing does. `before` is the specification until now, None without one."""
    if before is None:
        return ""
    had = bool((before.get("relay") or {}).get("rbac")) and (before.get("tls") or {}).get("enabled", True)
    has = desired.spec.relay.rbac and desired.spec.tls.enabled
    if has and not had:
        return (
            f"relay.rbac of OVNCluster {desired.name}: chassis get the role ovn-controller. Each writes what is its own, by the name in its certificate, which "
            "has to be its system id; with another one it writes nothing. Look with c5c3.ovn.verify whether all of them are alive."
        )
    if had and not has:
        return (
            f"relay.rbac of OVNCluster {desired.name}: chassis lose the role ovn-controller, also those on machines. Whoever owns one can write all of the "
            "Southbound. If it is for nodes that share a certificate, set ovn_node_certificates to own."
        )
    return ""


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

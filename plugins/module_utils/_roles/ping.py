# SPDX-License-Identifier: GPL-3.0-or-later
"""The role ovn_ping: its options to the guests of the connectivity test, and what is left of them. Pure.

A guest is a dictionary with `target` (`name`, `address` and `chassis` for the module ovn_ping), `port` (`name`, `mac` and `ip`) and `address` (with prefix
length). One in Kubernetes also has `pod` and `via` (host that leads into the pod).
"""

from __future__ import annotations

import dataclasses
import typing as t

from .._base.errors import InvalidInput, Refused
from .._base.inventory import as_list
from .endpoints import socket_of, tls_files_of
from .guest_pods import LABELS, guest_objects, is_guest, is_running, node_of, pods_at_open_vswitch
from .shared_variables import SPECIFICATION
from .variables import Groups, Hostvars, Variables, backend_of, first_value, members_of

Guest = dict[str, t.Any]
_FIRST_CLUSTER = 128  # clusters have the upper half of the addresses


@dataclasses.dataclass(frozen=True)
class PingOptions:
    """The options of the role and the shared variables that it needs."""

    backend: str
    name: t.ClassVar[str] = "c5c3-ping"  # of the logical switch, and of namespace and interface on hypervisors
    state: str
    count: int
    ip_version: int
    mtu: int
    max_loss: float
    nodes: int  # of a cluster that get a guest, 0: all
    namespace: str
    system_id: str | None  # of a machine
    northbound_endpoints: list[str] | None
    wait_timeout: int = 30  # for the flows of a guest, and for the first answer


@dataclasses.dataclass(frozen=True)
class HostsOptions:
    """The options that say between which hosts the playbook pings."""

    hosts: str
    state: str
    nodes: int


@dataclasses.dataclass(frozen=True)
class NetworkWriter:
    """Who writes the logical switch: the module ovn_test_network runs on this host with these arguments."""

    host: str
    become: bool
    arguments: dict[str, t.Any]


def desired_state(
    options: PingOptions,
    host: str,
    groups: Groups,
    pods: t.Sequence[Variables] = (),
    chassis: t.Sequence[Variables] = (),
) -> dict[str, t.Any]:
    """Return the `guests` that the role brings or removes.

    In Kubernetes also the `objects` to create for them, and `pods_to_delete` before that. `pods` are those of the hypervisors and guests, `chassis` all
    `OVNChassis`. A cluster without a hypervisor is `Refused`, but for a removal.
    """
    if options.backend != "kubernetes":
        return {"guests": [_machine_guest(options, host, _place(host, groups))], "objects": [], "pods_to_delete": []}
    pods = [pod for pod in pods if "deletionTimestamp" not in pod["metadata"]]
    running = [pod for pod in pods if is_running(pod)]
    switches = pods_at_open_vswitch(running)
    nodes = sorted({node_of(pod) for pod in switches})
    found = [pod for pod in pods if is_guest(pod, options.name)]
    stopped = {pod["metadata"]["name"]: pod["metadata"] for pod in found if not is_running(pod)}
    if options.state == "absent":
        guests = former_guests(host, [pod for pod in found if is_running(pod) or node_of(pod) in nodes])
        # A guest that has ended leaves its port in br-int, and only a guest on the same node can remove it.
        missing = [guest for guest in guests if guest["pod"] in stopped]
    elif nodes:
        system_ids = {one["metadata"]["name"]: one["spec"]["systemId"] for one in chassis}
        octet = _FIRST_CLUSTER + _place(host, groups)
        guests = missing = [
            _node_guest(options, host, node, (octet, number), system_ids)
            for number, node in enumerate(nodes[: options.nodes or None], start=1)
        ]
    else:
        raise Refused(
            f"No hypervisor runs in namespace {options.namespace} of {host}: there is neither a running pod of Open vSwitch, nor one of ovn-controller that "
            "uses the Open vSwitch of its node. Roll the hypervisors out first (c5c3.ovn.hypervisors), or set ovn_namespace."
        )
    placed = {guest["pod"]: guest["target"]["name"] for guest in missing}
    return {
        "guests": guests,
        "objects": guest_objects(options.name, options.namespace, placed, switches[0], running) if placed else [],
        # No pod starts again after its deadline, or with another image.
        "pods_to_delete": [_object("Pod", stopped[pod]["namespace"], pod) for pod in placed if pod in stopped],
    }


def _place(host: str, groups: Groups) -> int:
    """Return the place of the hypervisor in its group, from 0: a limited run gives the same addresses as one on all."""
    hosts = members_of(groups, "ovn_hypervisors")
    if host not in hosts:
        raise InvalidInput(
            f"{host} is not in the group ovn_hypervisors. Put it there: the place in the group gives its guest an address."
        )
    return hosts.index(host)


def _port(name: str, octets: tuple[int, int], ip_version: int) -> Guest:
    """Return `port`, with addresses that end with these octets, and `address`, with the prefix length of a network for tests alone (RFC 2544, RFC 5180)."""
    high, low = octets
    ip, prefix = (f"198.18.{high}.{low}", 16) if ip_version == 4 else (f"2001:2::{high:x}:{low:x}", 48)
    port = {"name": name, "mac": f"02:c5:c3:00:{high:02x}:{low:02x}", "ip": ip}
    return {"port": port, "address": f"{ip}/{prefix}"}


def _machine_guest(options: PingOptions, host: str, place: int) -> Guest:
    port = _port(f"{options.name}-{host}", divmod(place + 1, 256), options.ip_version)
    return {**port, "target": {"name": host, "address": port["port"]["ip"], "chassis": options.system_id or host}}


def _node_guest(
    options: PingOptions, host: str, node: str, octets: tuple[int, int], system_ids: t.Mapping[str, str]
) -> Guest:
    port = _port(f"{options.name}-{host}-{node}", octets, options.ip_version)
    return {
        "pod": f"{options.name}-{node}",
        "via": f"{host}/{node}",
        **port,
        "target": {"name": node, "address": port["port"]["ip"], "chassis": system_ids.get(node, node)},
    }


def former_guests(host: str, pods: t.Iterable[Variables]) -> list[Guest]:
    """Return the guests that live in these pods; `target` has the name of the node alone."""
    return [
        {"pod": pod["metadata"]["name"], "via": f"{host}/{node_of(pod)}", "target": {"name": node_of(pod)}}
        for pod in pods
    ]


def choose_writer(hostvars: Hostvars, groups: Groups, host: str, endpoints: t.Sequence[str] | None) -> NetworkWriter:
    """Return who writes to the Northbound database: the first central host, or without one `host`, which connects to `endpoints`.

    On a machine a process writes, through the socket of the member there; only central machines have the library ovsdbapp. If the central host is a
    cluster, a command in a pod of its database does, so that no guest and no hypervisor needs a key.
    """
    central = members_of(groups, "ovn_central")
    writer = next(iter(central), host)
    variables = hostvars[writer]
    is_cluster = backend_of(variables) == "kubernetes"
    if is_cluster and central:
        names = {"namespace": "ovn_namespace", "cluster": "ovn_cluster_name"}
        arguments = {
            key: first_value(variables, name, default=SPECIFICATION[name]["default"]) for key, name in names.items()
        }
        arguments |= {key: first_value(variables, f"ovn_{key}", default=None) for key in ("kubeconfig", "context")}
        return NetworkWriter("localhost", False, arguments)
    if is_cluster and not endpoints:
        raise Refused(
            "Nobody can write the test network into the Northbound database: the group ovn_central is empty. Put the host of the control plane into it, or "
            "set ovn_northbound_endpoints. Nothing was done."
        )
    arguments = {**tls_files_of(variables, "" if is_cluster else "/etc/ovn/tls")}
    arguments["northbound"] = [socket_of(variables, "northbound")] if central or not endpoints else list(endpoints)
    arguments["client"] = "ovsdbapp" if central else "json_rpc"
    return NetworkWriter(writer, not is_cluster, arguments)  # root, for the socket of a machine's member


def play_guests(hostvars: Hostvars, hosts: t.Iterable[str]) -> list[Guest]:
    """Return the guests of all hosts of the play."""
    plans = [hostvars[host].get("ovn_ping_plan") or {} for host in hosts]
    return [guest for plan in plans for guest in plan.get("guests") or ()]


def check_guests(guests: t.Sequence[Guest], nodes: int) -> None:
    """Raise `Refused` if the guests are too few for a ping."""
    if len(guests) < 2:
        raise Refused(
            f"Nothing was pinged: a ping needs two guests, and this run has {len(guests)} "
            f"({', '.join(guest['target']['name'] for guest in guests) or 'none'}). Name two hypervisors with ovn_ping_hosts=NAME,NAME, or for a "
            f"cluster raise ovn_ping_nodes ({nodes}) and let Open vSwitch run on two nodes."
        )


def guests_left(unplugged: Variables) -> list[dict[str, str]]:
    """Return the guests that were not unplugged (`name`, `pod`, `why`). A removal goes on past a guest that does not answer, and names it in the end."""
    return [
        {**_identity(one["item"]), "why": _reason(one)} for one in unplugged.get("results") or () if _is_failed(one)
    ]


def _identity(guest: Guest) -> dict[str, str]:
    return {"name": guest["target"]["name"], "pod": guest.get("pod") or ""}


def _is_failed(result: Variables) -> bool:
    return bool(result.get("failed") or result.get("unreachable"))


def _reason(result: Variables) -> str:
    """Return why a task failed, on one line. kubectl prints it on stderr."""
    return " ".join(str(result.get("module_stderr") or result.get("msg") or "").split())


def choose_remover(hostvars: Hostvars, hosts: t.Iterable[str]) -> str:
    """Return which of `hosts` removes the logical switch: one with a guest that answers, else the first that tried."""
    tried = {host: hostvars[host].get("ovn_ping_unplugged") or {} for host in dict.fromkeys(hosts)}
    tried = {host: result for host, result in tried.items() if "results" in result}
    answering = [host for host, result in tried.items() if len(guests_left(result)) < len(result["results"])]
    return next(iter([*answering, *tried]), "")


def judge_removal(left: t.Sequence[Variables], switch: Variables, pods: t.Sequence[Variables]) -> dict[str, t.Any]:
    """Return `objects`, those to delete, and `remains`, one sentence for each thing that could not be removed.

    The pod of a guest that is `left` stays, for the next run to unplug it there, and with it the account of all pods.
    """
    kept = {guest["pod"] for guest in left}
    found = [pod["metadata"] for pod in pods]
    accounts = {(one["namespace"], one["labels"][f"{LABELS}/name"]) for one in found}
    remains = [f"The guest of {guest['name']}: {guest['why']}" for guest in left]
    if _is_failed(switch):
        remains.append(f"The logical switch: {_reason(switch)}")
    return {
        "objects": [
            *(_object("Pod", one["namespace"], one["name"]) for one in found if one["name"] not in kept),
            *(_object("ServiceAccount", *account) for account in sorted(accounts) if not left),
        ],
        "remains": remains,
    }


def _object(kind: str, namespace: str, name: str) -> dict[str, t.Any]:
    return {"apiVersion": "v1", "kind": kind, "metadata": {"name": name, "namespace": namespace}}


def report_lines(hostvars: Hostvars, hosts: t.Iterable[str]) -> list[str]:
    """Return the lines of the report, one for each guest and each target."""
    results = [hostvars[host].get("ovn_ping_result") or {} for host in hosts]
    return [line for result in results for one in result.get("results") or () for line in one.get("report") or ()]


def check_hosts(hosts: t.Sequence[str], hostvars: Hostvars, options: HostsOptions, limit: str = "") -> None:
    """Raise `Refused` if there can be no ping between the hosts that pattern and `limit` leave. A removal needs one host.

    How many nodes of a cluster can have a guest is only known there: all of `nodes` count, and 0 means all that it has.
    """
    within = f" within --limit '{limit}'" if limit else ""
    place = f"ovn_ping_hosts ({','.join(as_list(options.hosts))})"
    advice = "Name two hypervisors with ovn_ping_hosts=NAME,NAME. Nothing was done."
    if not hosts:
        raise Refused(f"The ping has no hosts: {place} matches none{within}. {advice}")
    is_cluster = backend_of(hostvars[hosts[0]]) == "kubernetes"
    if options.state != "absent" and len(hosts) == 1 and not (is_cluster and options.nodes != 1):
        raise Refused(
            f"The ping needs two guests, and there is only one: {place} is {hosts[0]} alone{within}. {advice}"
        )

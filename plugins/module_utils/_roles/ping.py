# SPDX-License-Identifier: GPL-3.0-or-later
"""The role ovn_ping: its options to the guests of the connectivity test, and what is left of them. Pure.

A guest is a dictionary with `target` (`name`, `address` and `chassis` for the module ovn_ping), `port` (`name`, `mac` and `ip`) and `address` (with prefix
length). One in Kubernetes also has `cluster` (host of the inventory), `pod` and `via` (host that leads into the pod).
"""

from __future__ import annotations

import dataclasses
import typing as t

from .._base.errors import InvalidInput
from .._base.inventory import as_list
from .distribution import socket_of
from .guest_pods import LABELS, guest_pod, is_guest, is_running, node_of, pods_at_open_vswitch
from .options import read_options
from .variables import Hostvars, Variables, backend_of

PREFIX = "ovn_ping_"
Guest = dict[str, t.Any]
_FIRST_CLUSTER = 128  # clusters have the upper half of the addresses
_NO_WRITER = (
    "Nobody can write the test network into the Northbound database: the group ovn_central is empty. Put the host of the control plane into it, or set "
    "ovn_ping_central_host and ovn_ping_northbound_endpoints. Nothing was done."
)
_TLS_FILES = {"private_key": "central-key.pem", "certificate": "central-cert.pem", "ca_certificate": "ca.pem"}


@dataclasses.dataclass(frozen=True)
class PingOptions:
    """The options; `host` is the hypervisor, a machine or a whole cluster."""

    backend: str
    state: str
    name: str
    host: str
    system_id: str = ""  # of a machine; empty: its name
    nodes: int = 0  # of a cluster that get a guest, 0: all
    ip_version: int = 4


def desired_state(given: Variables) -> dict[str, t.Any]:
    """Return the `guests` that the role brings or removes.

    In Kubernetes also the `nodes` that can have one, `guests_to_create`, the `pod` of a guest (see `guest_pod`), and `pods_to_delete` before that.
    """
    options = read_options(PingOptions, given, PREFIX)
    if options.backend != "kubernetes":
        return {"guests": [_machine_guest(options, _place(given))]}
    pods = [pod for pod in _resources(given["pods"]) if "deletionTimestamp" not in pod["metadata"]]
    running = [pod for pod in pods if is_running(pod)]
    switches = pods_at_open_vswitch(running)
    nodes = sorted({node_of(pod) for pod in switches})
    found = [pod for pod in pods if is_guest(pod, options.name)]
    stopped = {pod["metadata"]["name"]: pod["metadata"] for pod in found if not is_running(pod)}
    if options.state == "absent":
        guests = former_guests(options, [pod for pod in found if is_running(pod) or node_of(pod) in nodes])
        # A guest that has ended leaves its port in br-int, and only a guest on the same node can remove it.
        missing = [guest for guest in guests if guest["pod"] in stopped]
    else:
        guests = missing = _guests_of_nodes(options, given, nodes[: options.nodes or None])
    return {
        "guests": guests,
        "guests_to_create": missing,
        "nodes": nodes,
        "pod": guest_pod(switches[0], running) if switches else {},
        # No pod starts again after its deadline, or with another image.
        "pods_to_delete": [
            _object("Pod", stopped[guest["pod"]]["namespace"], guest["pod"])
            for guest in missing
            if guest["pod"] in stopped
        ],
    }


def _guests_of_nodes(options: PingOptions, given: Variables, nodes: t.Sequence[str]) -> list[Guest]:
    system_ids = {
        chassis["metadata"]["name"]: chassis["spec"]["systemId"] for chassis in _resources(given.get("chassis"))
    }
    octet = _FIRST_CLUSTER + _place(given)
    return [_node_guest(options, node, (octet, number), system_ids) for number, node in enumerate(nodes, start=1)]


def _resources(result: Variables | None) -> list[dict[str, t.Any]]:
    """Return what `kubernetes.core.k8s_info` found, nothing if it was skipped."""
    return list((result or {}).get("resources") or ())


def _place(given: Variables) -> int:
    """Return the place of the hypervisor in its group, from 0: a limited run gives the same addresses as one on all."""
    hosts = list(given["hosts"])
    if given["host"] not in hosts:
        raise InvalidInput(
            f"{given['host']} is not in the group ovn_hypervisors. Put it there: the place in the group gives its guest an address."
        )
    return hosts.index(given["host"])


def _port(name: str, octets: tuple[int, int], ip_version: int) -> Guest:
    """Return `port`, with addresses that end with these octets, and `address`, with the prefix length of a network for tests alone (RFC 2544, RFC 5180)."""
    high, low = octets
    ip, prefix = (f"198.18.{high}.{low}", 16) if ip_version == 4 else (f"2001:2::{high:x}:{low:x}", 48)
    port = {"name": name, "mac": f"02:c5:c3:00:{high:02x}:{low:02x}", "ip": ip}
    return {"port": port, "address": f"{ip}/{prefix}"}


def _machine_guest(options: PingOptions, place: int) -> Guest:
    port = _port(f"{options.name}-{options.host}", divmod(place + 1, 256), options.ip_version)
    return {
        **port,
        "target": {"name": options.host, "address": port["port"]["ip"], "chassis": options.system_id or options.host},
    }


def _node_guest(options: PingOptions, node: str, octets: tuple[int, int], system_ids: t.Mapping[str, str]) -> Guest:
    port = _port(f"{options.name}-{options.host}-{node}", octets, options.ip_version)
    return {
        "cluster": options.host,
        "pod": f"{options.name}-{node}",
        "via": f"{options.host}/{node}",
        **port,
        "target": {"name": node, "address": port["port"]["ip"], "chassis": system_ids.get(node, node)},
    }


def former_guests(options: PingOptions, pods: t.Iterable[Variables]) -> list[Guest]:
    """Return the guests that live in these pods; `target` has the name of the node alone."""
    return [
        {
            "cluster": options.host,
            "pod": pod["metadata"]["name"],
            "via": f"{options.host}/{node_of(pod)}",
            "target": {"name": node_of(pod)},
        }
        for pod in pods
    ]


def choose_writer(hostvars: Hostvars, given: Variables) -> dict[str, t.Any]:
    """Return who writes to the Northbound database, and how.

    `place` "host": a process on the host `writer`, which connects to `northbound` with the files `private_key`, `certificate` and `ca_certificate`, by
    the `client` of ovn_test_network; only central machines have the library ovsdbapp. `place` "kubernetes": a command in a database pod of the cluster
    that the host `writer` stands for, so that no guest and no hypervisor needs a key. `problem` says why nobody can write.
    """
    central = list(given.get("central_hosts") or ())
    host = next(iter(central), given["host"])
    endpoints, named = as_list(given.get("northbound_endpoints") or ()), given.get("central_host")
    is_cluster = backend_of(hostvars[host]) == "kubernetes"
    if is_cluster and not endpoints:
        return {"place": "kubernetes", "writer": named or host, "problem": "" if central or named else _NO_WRITER}
    writer = named or host
    files = {
        key: given.get(key) or (None if is_cluster else f"/etc/ovn/tls/{file}") for key, file in _TLS_FILES.items()
    }
    return {
        "place": "host",
        "writer": writer,
        "become": backend_of(hostvars[writer]) == "host",  # for the socket of a machine's member
        "northbound": endpoints or [socket_of(hostvars[host], "northbound")],
        "client": "ovsdbapp" if central and not is_cluster else "json_rpc",
        "problem": "",
        **files,
    }


def judge_unplugged(result: Variables, guests: t.Sequence[Guest]) -> dict[str, t.Any]:
    """Return the guests that were not unplugged as `left` (`name`, `pod`, `why`), and whether any guest `answers`.

    A removal goes on past a guest that does not answer, and names it in the end.
    """
    left = [
        {**_identity(one.get("item") or guests[0]), "why": _reason(one)}
        for one in result.get("results", [result])
        if _is_failed(one)
    ]
    return {"left": left, "answers": len(left) < len(guests)}


def _identity(guest: Guest) -> dict[str, str]:
    return {"name": guest["target"]["name"], "pod": guest.get("pod") or ""}


def _is_failed(result: Variables) -> bool:
    return bool(result.get("failed") or result.get("unreachable"))


def _reason(result: Variables) -> str:
    """Return why a task failed, on one line. kubectl prints it on stderr."""
    return " ".join(str(result.get("module_stderr") or result.get("msg") or "").split())


def choose_remover(hostvars: Hostvars, hosts: t.Iterable[str]) -> str:
    """Return which of `hosts` removes the logical switch: one with a guest that answers, else the first that tried."""
    tried = [(host, hostvars[host]) for host in dict.fromkeys(hosts)]
    tried = [(host, variables) for host, variables in tried if "ovn_ping_left" in variables]
    answering = [host for host, variables in tried if variables.get("ovn_ping_answers")]
    return next(iter([*answering, *(host for host, _variables in tried)]), "")


def judge_removal(left: t.Sequence[Variables], switch: Variables, pods: Variables | None) -> dict[str, t.Any]:
    """Return `objects`, those to delete, and `remains`, one sentence for each thing that could not be removed.

    The pod of a guest that is `left` stays, for the next run to unplug it there, and with it the account of all pods.
    """
    kept = {guest["pod"] for guest in left}
    found = [pod["metadata"] for pod in _resources(pods)]
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


def collect(hostvars: Hostvars, hosts: t.Iterable[str]) -> dict[str, t.Any]:
    """Return the `guests` of all hosts, and the lines of their `report`: of machines first, then of clusters, which pinged from several guests."""
    variables = [hostvars[host] for host in hosts]  # each look into hostvars is slow
    results = [found["ovn_ping_result"] for found in variables if "ovn_ping_result" in found]
    results += [one for result in results for one in result.get("results") or ()]
    return {
        "guests": [guest for found in variables for guest in found.get("ovn_ping_guests") or ()],
        "report": [line for result in results for line in result.get("report") or ()],
    }


def hosts_problem(
    hosts: t.Sequence[str],
    hostvars: Hostvars,
    pattern: t.Any,
    limit: str = "",
    state: str = "present",
    nodes: t.Any = 2,
) -> str:
    """Return why there can be no ping between the hosts that `pattern` and `limit` leave, an empty text if there can be one. A removal needs one host.

    How many nodes of a cluster can have a guest is only known there: all of `nodes` count, and 0 means all that it has.
    """
    within = f" within --limit '{limit}'" if limit else ""
    place = f"ovn_ping_hosts ({','.join(as_list(pattern))})"
    advice = "Name two hypervisors with ovn_ping_hosts=NAME,NAME."
    if not hosts:
        return f"The ping has no hosts: {place} matches none{within}. {advice}"
    if state == "absent" or len(hosts) > 1 or (backend_of(hostvars[hosts[0]]) == "kubernetes" and str(nodes) != "1"):
        return ""
    return f"The ping needs two guests, and there is only one: {place} is {hosts[0]} alone{within}. {advice}"

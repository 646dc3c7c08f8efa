# SPDX-License-Identifier: GPL-3.0-or-later
"""What the options of the role ovn_verify mean: with which files and endpoints the installation is asked, and from where. Pure."""

from __future__ import annotations

import dataclasses
import os
import typing as t

from .._base.databases import DATABASES
from .._base.inventory import address_of, as_list
from .._ovsdb.endpoint import parse_endpoints
from .endpoints import Listener, endpoints_of, run_directory_of, socket_of, tls_files_of
from .pki import secret_of
from .variables import Groups, Hostvars, Variables, first_value, hosts_by_backend, is_true, members_of

CONNECTS = (
    "_ovn_verify_addresses"  # a variable of c5c3.ovn.status, which does not connect to the addresses of the databases
)
_LEAST_SECONDS = 1.0  # enough to read most databases, whatever the limits are


@dataclasses.dataclass(frozen=True)
class ReportOptions:
    """Options with which the report is made and shown."""

    acknowledge: list[str]
    central_managed: bool
    query: str


@dataclasses.dataclass(frozen=True)
class HeartbeatOptions:
    """Options with which a heartbeat is sent to machines."""

    timeout: int


@dataclasses.dataclass(frozen=True)
class MemberOptions:
    """Options with which a central host is asked; seconds. Those of a cluster are shared variables."""

    timeout: int
    wait_for: str | None
    contents: bool
    kubeconfig: t.Any
    context: str
    namespace: str
    cluster_name: str


@dataclasses.dataclass(frozen=True)
class VerifyOptions:
    """The options of a host that is asked, or of localhost, which reports."""

    tls: bool
    central: list[str]
    northbound_endpoints: list[str]  # empty: those of the central hosts
    southbound_endpoints: list[str]
    managed: bool  # this collection has created the control plane
    wait_for: str  # empty if nobody says so

    @classmethod
    def of(cls, variables: Variables, hostvars: Hostvars) -> VerifyOptions:
        central = as_list(first_value(variables, "ovn_verify_central"))
        return cls(
            tls=uses_tls(variables, (hostvars[name] for name in central)),
            central=central,
            northbound_endpoints=as_list(first_value(variables, "ovn_northbound_endpoints")),
            southbound_endpoints=as_list(first_value(variables, "ovn_southbound_endpoints")),
            managed=is_true(variables, "ovn_central_managed", default=True),
            wait_for=str(first_value(variables, "ovn_verify_wait_for")),
        )


def uses_tls(variables: Variables, central: t.Iterable[Variables]) -> bool:
    """Return whether connections use TLS. localhost, which reports, is in none of the groups for which the inventory may say so: there the central hosts do."""
    values = (first_value(one, "ovn_tls") for one in (variables, *central))
    return is_true({"ovn_tls": next((value for value in values if value != ""), "")}, "ovn_tls", default=True)


def _asks_first(central: t.Iterable[str], hostvars: Hostvars) -> str:
    """Return the host on which heartbeat and addresses begin: one whose own members take part, else any that answered. Empty if none did."""

    infos: dict[str, Variables] = {host: hostvars[host].get("ovn_verify_info") or {} for host in central}
    answered = {host: info.get("raft") or {} for host, info in infos.items() if "northd" in info}
    fit = [host for host, raft in answered.items() if all((raft.get(name) or {}).get("writable") for name in DATABASES)]
    return next(iter([*fit, *answered]), "")


def unrecorded_hosts(central: t.Iterable[str], hostvars: Hostvars) -> list[str]:
    """Return the central machines that answered, if none of them has a state record of this collection: it has not created their control plane."""
    infos: dict[str, Variables] = {host: hostvars[host].get("ovn_verify_info") or {} for host in central}
    told = {host: bool(info["recorded"]) for host, info in infos.items() if "recorded" in info}
    return [] if any(told.values()) else list(told)


def _own_endpoints(options: VerifyOptions, hostvars: Hostvars, host: str, by_endpoints: bool) -> list[str]:
    """Return the listeners of a central machine. Of those of others that the inventory names, the ones at its address are meant; known by endpoints
    alone, one machine stands for all of them.
    """
    given = [*options.northbound_endpoints, *options.southbound_endpoints]
    if options.managed or not given:
        southbound: tuple[Listener, ...] = ("client", "unrestricted") if options.managed else ("client",)
        found = endpoints_of([host], hostvars, "northbound", tls=options.tls)
        for listener in southbound:
            found += endpoints_of([host], hostvars, "southbound", listener, tls=options.tls)
        return found
    if by_endpoints:
        return list(dict.fromkeys(given))
    here = address_of(host, hostvars[host])
    return [str(endpoint) for endpoint in dict.fromkeys(parse_endpoints(given)) if endpoint.host == here]


def _heartbeat(cluster: str, exposed: bool, asked_from: str) -> tuple[bool, str]:
    """Return whether a central host has to send the heartbeat, and why it cannot be sent. To a cluster it was sent when its members were asked."""
    if cluster and not exposed:
        return False, (
            f"the control node reaches no database port of {cluster} (it is not there, or its Services are ClusterIP)"
        )
    if not cluster and not asked_from:
        return False, "no central host could be asked"
    return not cluster, ""


def _is_known_by_endpoints(options: VerifyOptions, hostvars: Hostvars) -> bool:
    """Return whether the control plane of others is known by the endpoints that the inventory names, and one host of it is the control node itself."""
    named = bool(options.northbound_endpoints and options.southbound_endpoints)
    local = any(first_value(hostvars[host], "ansible_connection") == "local" for host in options.central)
    return not options.managed and named and local


def desired_state(variables: Variables, hostvars: Hostvars, host: str) -> dict[str, t.Any]:
    """Return how the installation is asked, on `host` or on localhost.

    `files` are those of TLS on this central host, else on `asked_from`, none without TLS; `own_endpoints` the listeners of a central machine;
    `tls_secret` the Secret of a Kubernetes cluster. `run_directory` has the sockets of this host. `asked_from` is the central host on which heartbeat and
    addresses begin, `sockets` has the endpoints of its own members. `cluster` is the central host that stands for a control plane in Kubernetes,
    empty on machines. `members` are how many each database should have, None if others decide that; `raft_endpoints` and `only_endpoints` say how a control
    plane of others is asked. `wait_for` is what the heartbeat waits for: by default none, which writes nothing, where it is not ours.
    `northbound_endpoints` and `southbound_endpoints` are asked, `neutron_southbound_endpoints` are those without a role, and `ports` those of a control plane
    in Kubernetes, as far as they can be reached from outside. `sends_heartbeat` tells whether it has to be sent, and `heartbeat_problem` why
    it cannot be.
    """
    # Each look into hostvars resolves all variables of the host, so one look has to do.
    hostvars = {name: hostvars[name] for name in as_list(first_value(variables, "ovn_verify_central"))}
    options = VerifyOptions.of(variables, hostvars)
    cluster = next(iter(hosts_by_backend(options.central, hostvars)["kubernetes"]), "")
    cluster_variables: Variables = hostvars[cluster] if cluster else {}
    found = cluster_variables.get("ovn_verify_cluster") or {}
    answer = found.get("endpoints") or {}
    northbound, southbound = options.northbound_endpoints, options.southbound_endpoints
    if cluster:
        northbound = northbound or as_list(answer.get("northbound") or "")
        neutron = southbound or as_list(answer.get("southbound_unrestricted") or "")
        southbound = southbound or as_list(answer.get("southbound") or "")
    else:
        # Others have one port of the Southbound, for all of its clients.
        listener: Listener = "unrestricted" if options.managed else "client"
        northbound = northbound or endpoints_of(options.central, hostvars, "northbound", tls=options.tls)
        neutron = southbound = southbound or endpoints_of(
            options.central, hostvars, "southbound", listener, tls=options.tls
        )
    # Its ports outside the cluster are the ones that the control node can reach.
    exposed = (answer.get("southbound") or "") not in ("", answer.get("southbound_inside") or "")
    asked_from = _asks_first(options.central, hostvars)
    sends, problem = _heartbeat(cluster, exposed, asked_from)
    # Elsewhere, on localhost for example, the variable with the address may be undefined.
    own = host in options.central and not cluster
    # A control plane of others is asked from the control node, whose own sockets say nothing of it.
    by_endpoints = _is_known_by_endpoints(options, hostvars)
    is_ours = options.managed and not unrecorded_hosts(options.central, hostvars)
    connects = host if host in hostvars else asked_from
    return {
        "files": tls_files_of(hostvars[connects] if connects else {}) if options.tls else {},
        "own_endpoints": _own_endpoints(options, hostvars, host, by_endpoints) if own else [],
        "members": len(options.central) if options.managed else None,
        "raft_endpoints": {} if options.managed else {"northbound": northbound, "southbound": southbound},
        "only_endpoints": by_endpoints,
        "wait_for": options.wait_for or ("hv" if is_ours else "none"),
        "tls_secret": (found.get("tls_secret") if host == cluster else "") or secret_of(variables).name,
        "run_directory": run_directory_of(variables),
        "sockets": {database: [socket_of(hostvars[asked_from], database)] for database in DATABASES}
        if asked_from and not by_endpoints
        else {database: [] for database in DATABASES},
        "asked_from": asked_from,
        "cluster": cluster,
        "northbound_endpoints": northbound,
        "southbound_endpoints": southbound,
        "neutron_southbound_endpoints": neutron,
        "ports": northbound + southbound if exposed else [],
        "exposed": exposed,
        "sends_heartbeat": sends,
        "heartbeat_problem": problem,
    }


class VerifyLimits(t.NamedTuple):
    """Seconds of one call: for the daemons of the host to answer, for a northd to connect, for the contents of each database, and for the host to answer,
    the connection included.
    """

    answers: float
    northd: float
    contents: float
    host: int


class CallLimits(t.NamedTuple):
    first: VerifyLimits
    again: VerifyLimits


def limits_of(options: MemberOptions, connection: float) -> CallLimits:
    """Return the limits of both calls. `connection` is the time-out of Ansible's connections.

    A host that does not end the first call within ovn_verify_timeout counts as dead. So what may take long gets in it what the connection and the answers of
    daemons leave of that time, and what needs more is asked a second time: a dead host costs one limit, and a large database is no dead host.
    """
    host = options.timeout
    answers = host / 4
    left = max(_LEAST_SECONDS, host - answers - connection)
    awaited = 0 if options.wait_for == "none" else host
    return CallLimits(
        VerifyLimits(answers, min(awaited, left), left, host), VerifyLimits(answers, awaited, 2 * host, 3 * host)
    )


def chassis_pairs(variables: Variables) -> list[dict[str, str]]:
    """Return the key and certificate of a chassis that have to be read; none if the role ovn_hypervisor has found this very certificate as it should be,
    earlier in the same run.
    """
    directory = "/etc/ovn/tls"
    pair = {
        "private_key": first_value(variables, "ovn_hypervisor_private_key", default=f"{directory}/chassis-key.pem"),
        "certificate": first_value(variables, "ovn_hypervisor_certificate", default=f"{directory}/chassis-cert.pem"),
        "ca_certificate": first_value(variables, "ovn_hypervisor_ca_certificate", default=f"{directory}/ca.pem"),
    }
    is_as_declared = not (variables.get("ovn_hypervisor_check") or {}).get("certificate_due", True)
    declared = (variables.get("ovn_pki_declared") or {}).get("pairs") or ()
    is_compared = is_as_declared and [one["certificate"] for one in declared] == [pair["certificate"]]
    return [] if is_compared else [pair]


def metadata_agent_pair(variables: Variables, host: str, groups: Groups) -> list[dict[str, str]]:
    """Return the key and certificate of the metadata agent on a machine, none if it has no agent of ours: only c5c3.ovn.neutron renews it, and chooses
    the machines in the same way.
    """
    if not first_value(variables, "ovn_metadata_agent_nova_host") or host in members_of(groups, "ovn_gateways"):
        return []
    file = str(first_value(variables, "ovn_metadata_agent_config_file", default="/etc/neutron/agent.ini"))
    directory = f"{os.path.dirname(file)}/ovn-metadata-agent"
    return [
        {
            "private_key": f"{directory}/chassis-key.pem",
            "certificate": f"{directory}/chassis-cert.pem",
            "ca_certificate": f"{directory}/ca.pem",
        }
    ]

# SPDX-License-Identifier: GPL-3.0-or-later
"""The role ovn_hypervisor: its options to the desired state of a chassis, and what a machine still lacks of it. Pure.

Mappings that come from a role are templated by Ansible value by value, as they are read: what is not needed is not read.
"""

from __future__ import annotations

import dataclasses
import os
import typing as t

from .._base.databases import DATABASES, Database
from .._base.errors import InvalidInput
from .._base.inventory import as_list
from .._chassis.external_ids import flow_clear_delay
from .._machine.systemd_sandbox import Sandbox, sandbox_settings
from .cluster_source import machine_mappings, specification_of_resource
from .endpoints import declared_endpoints, endpoints_of, is_managed, socket_of
from .hypervisor_units import controller_state, openvswitch_files, openvswitch_units, running_unit
from .option_types import plain, read_options
from .variables import Groups, Hostvars, Variables, backend_of, first_value, is_true, members_of

# Gateways that take traffic and cannot pass it on: neither OVN nor Neutron says so. Pure.


def gateway_warnings(host: str, mappings: t.Sequence[t.Mapping[str, t.Any]] | None) -> list[str]:
    """Return what a gateway lacks. `mappings` is an option of the role; None leaves them to somebody else. Of ports of their bridges `ovn_chassis` warns."""
    if mappings:
        return []
    return [
        f"{host} is a gateway (group ovn_gateways, or ovn_hypervisor_gateway) without a bridge mapping: routers that are scheduled there reach no provider "
        "network. Declare ovn_hypervisor_bridge_mappings, unless somebody else sets ovn-bridge-mappings there, or let it be no gateway."
    ]


PREFIX = "ovn_hypervisor_"


@dataclasses.dataclass(frozen=True)
class HypervisorMachineOptions:
    """What a machine gets beside the settings that `ovn_chassis` takes as they are. Units are paths of their files.

    `unknown_units` are those of Open vSwitch that the machine does not have.
    """

    openvswitch_service: str
    unit: str
    underlay_unit: str
    private_key: str
    certificate: str
    ca_certificate: str
    system_id_file: str
    controller: str
    run_directory: str
    openvswitch_database: str
    tls: bool = True
    openvswitch: str = "managed"
    openvswitch_sandbox: bool = True
    openvswitch_packages: list[str] = dataclasses.field(default_factory=list)
    masked_units: list[str] = dataclasses.field(default_factory=list)
    unknown_units: list[str] = dataclasses.field(default_factory=list)
    bridges: list[dict[str, t.Any]] = dataclasses.field(default_factory=list)
    underlay: dict[str, t.Any] = dataclasses.field(default_factory=dict)  # empty, or bridge, interface and address
    datapath_type: str = ""
    bridge_mappings: list[dict[str, t.Any]] | None = None
    external_ids: dict[str, t.Any] = dataclasses.field(default_factory=dict)
    host: str = ""
    gateway: bool = False
    cluster_from: str = "inventory"
    resource: dict[str, t.Any] = dataclasses.field(
        default_factory=dict
    )  # what was read of the OVNCluster of another client


@dataclasses.dataclass(frozen=True)
class ControlPlaneOptions:
    """Where this hypervisor looks for the control plane. `answer` is that of `ovn_cluster_info`, empty if it was not asked."""

    backend: str
    tls: bool = True
    node_certificates: str = "own"
    central_host: str = ""  # the host that stands for the control plane, empty if there is none
    central_hosts: list[str] = dataclasses.field(default_factory=list)
    kubeconfig: t.Any = ""  # a path, or the content as a mapping
    context: str = ""
    answer: dict[str, t.Any] = dataclasses.field(default_factory=dict)


def machine_state(given: Variables) -> dict[str, t.Any]:
    """Return what the role brings about on a machine: bridges, packages, units and files."""
    options = read_options(HypervisorMachineOptions, given, PREFIX)
    underlay = options.underlay
    bridge = (
        {"name": underlay["bridge"], "ports": [underlay["interface"]], "datapath_type": "netdev"} if underlay else None
    )
    units = [*([options.underlay_unit] if underlay else []), options.unit]
    existing = options.openvswitch == "existing"
    drop_ins = (
        []
        if existing
        else openvswitch_files(
            options.openvswitch_service, os.path.dirname(options.unit), restricted=options.openvswitch_sandbox
        )
    )
    if existing and underlay:
        raise InvalidInput(
            f"{PREFIX}underlay is set, and {PREFIX}openvswitch is existing: its bridge takes over an interface, which is up to the owner of that "
            "Open vSwitch. Let the owner make the bridge, and remove the option. Nothing was changed."
        )
    read = specification_of_resource(options.cluster_from, options.resource)
    mappings = options.bridge_mappings
    if read is not None and mappings is None:
        mappings = machine_mappings(read)
    return {
        "openvswitch": options.openvswitch,
        "bridge_mappings": mappings,  # None leaves those of the machine alone
        "external_ids": {**({} if existing else flow_clear_delay(options.datapath_type)), **options.external_ids},
        "warnings": gateway_warnings(options.host, mappings) if options.gateway else [],
        "bridges": [*options.bridges, *([bridge] if bridge else [])],
        "openvswitch_units": [] if existing else openvswitch_units(options.openvswitch_service),
        "openvswitch_files": drop_ins,
        "units": [running_unit(os.path.basename(path)) for path in units],
        # Debian's ovn-host depends on openvswitch-switch: its daemons must not start beside those that run.
        "masked_before_packages": [*options.masked_units, *(options.unknown_units if existing else [])],
        "excluded_packages": options.openvswitch_packages if existing else [],
        "wanted_unit": "" if existing else options.openvswitch_service,
        "controller": controller_state(
            options.controller,
            options.openvswitch_database,
            f"{options.run_directory}/ovn-controller.pid",
            [options.private_key, options.certificate, options.ca_certificate] if options.tls else [],
            names_files=existing,
        ),
        "underlay_sandbox": sandbox_settings(Sandbox(capabilities=["CAP_NET_ADMIN"])),
        "files": [
            options.private_key,
            options.certificate,
            *([] if existing else [options.system_id_file]),
            *(file["path"] for file in drop_ins),
            options.underlay_unit,
            options.unit,
        ],
    }


def find_control_plane(hostvars: Hostvars, given: Variables) -> dict[str, t.Any]:
    """Return what has to be known of the control plane.

    `is_cluster`: it runs in Kubernetes. `asked`: its endpoints are those of its cluster, since the inventory does not say them. `published`: the central
    role has read them in this run, so there is no need to ask again. `southbound` and `northbound`: its endpoints, in Kubernetes those of the `answer` of
    `ovn_cluster_info` or the published ones, empty without either.
    `northbound_socket`, `southbound_socket`: the endpoints on the central host itself, empty in Kubernetes.
    `problem`: why nobody can connect to what answered, empty if that is possible.
    """
    options = read_options(ControlPlaneOptions, given, PREFIX)
    is_known = options.central_host in hostvars
    central: Variables = hostvars[options.central_host] if is_known else {}
    is_cluster = backend_of(central) == "kubernetes"
    declared = [bool(declared_endpoints(given, f"ovn_{database}_endpoints")) for database in DATABASES]
    published: Variables = (central.get("ovn_central_cluster") or {}).get("endpoints") or {}
    answer = options.answer
    if not answer.get("endpoints") and published.get("southbound"):
        answer = {"exists": True, "endpoints": published}
    if is_cluster:
        known = answer.get("endpoints") or {}
        endpoints = {database: as_list(known.get(database) or "") for database in DATABASES}
    elif all(declared):
        # Addresses are not needed, and may be undefined in this run.
        endpoints = {database: [] for database in DATABASES}
    else:
        endpoints = _inventory_endpoints(hostvars, options, rbac=is_true(given, "ovn_southbound_rbac", default=True))
    return {
        "is_cluster": is_cluster,
        "asked": is_cluster and not first_value(given, "ovn_southbound_endpoints"),
        "published": is_cluster and bool(published.get("southbound")),
        "northbound": endpoints["northbound"],
        "southbound": endpoints["southbound"],
        **{f"{database}_socket": "" if is_cluster else socket_of(central, database) for database in DATABASES},
        "problem": _connection_problem(options, answer, central, given["host"]) if is_cluster and answer else "",
    }


def control_plane_of(
    host: str,
    variables: Variables,
    hostvars: Hostvars,
    groups: Groups,
    *,
    tls: bool,
    central_host: str = "",
    node_certificates: str = "",
) -> dict[str, t.Any]:
    """Return what a host has to know of the control plane, which is that of `central_host`, or of the first one in the inventory.

    `node_certificates` are those of a Kubernetes cluster, empty for a machine. To the result of `find_control_plane` come the central `host`, empty without
    one, and the endpoints that are declared. `is_declared`: those of the Southbound are not those of this inventory's control plane.
    """
    central_hosts = members_of(groups, "ovn_central")
    central_host = central_host or next(iter(central_hosts), "")
    names = ("ovn_southbound_rbac", "ovn_southbound_endpoints", "ovn_northbound_endpoints")
    declared = {name: first_value(variables, name, default=None) for name in names}
    given = {
        "host": host,
        "backend": "kubernetes" if node_certificates else "host",
        "tls": tls,
        "node_certificates": node_certificates or "shared",
        "central_host": central_host,
        "central_hosts": central_hosts,
        "kubeconfig": first_value(variables, "ovn_kubeconfig"),
        "context": first_value(variables, "ovn_context"),
        "answer": first_value(variables, "ovn_central_answer", default=None),
    }
    central = find_control_plane(hostvars, {**given, **declared})
    southbound = as_list(declared["ovn_southbound_endpoints"] or central["southbound"])
    northbound = as_list(declared["ovn_northbound_endpoints"] or central["northbound"])
    is_declared = southbound != central["southbound"]
    return {
        **central,
        "host": central_host,
        "southbound": southbound,
        "northbound": northbound,
        "is_declared": is_declared,
    }


def _inventory_endpoints(hostvars: Hostvars, options: ControlPlaneOptions, *, rbac: bool) -> dict[Database, list[str]]:
    # RBAC knows a chassis by the name in its certificate. Where the nodes of a cluster share one, they use the listener without a role, which others do
    # not have.
    hosts, tls = options.central_hosts, options.tls
    shared = options.backend == "kubernetes" and rbac and options.node_certificates != "own"
    shared = shared and all(is_managed(hostvars[host]) for host in hosts)
    return {
        "northbound": endpoints_of(hosts, hostvars, "northbound", tls=tls),
        "southbound": endpoints_of(hosts, hostvars, "southbound", "unrestricted" if shared else "client", tls=tls),
    }


def _connection_problem(options: ControlPlaneOptions, answer: Variables, central: Variables, host: str) -> str:
    """Return why `host` cannot connect to the control plane in Kubernetes that gave this answer, and what to do; empty if it can."""
    endpoints, name = answer.get("endpoints") or {}, options.central_host
    if not answer.get("exists"):
        return f"{name} has no control plane yet. Run c5c3.ovn.central first."
    relay = ((answer.get("cluster") or {}).get("spec") or {}).get("relay") or {}
    if relay.get("rbac") and options.backend == "kubernetes" and options.tls and options.node_certificates != "own":
        return (
            f"The relays of {name} know chassis by the names in their certificates, and the nodes of {host} share one, so they could not register. Set "
            f"ovn_node_certificates to own for {host}, or run c5c3.ovn.central first, which takes the role from all chassis. Nothing was changed."
        )
    if not endpoints.get("southbound"):
        return f"The Southbound members of {name} have no address yet. Run c5c3.ovn.central, or look at their Services."
    if _is_same_cluster(options, central) or endpoints["southbound"] != endpoints.get("southbound_inside"):
        return ""
    problem = (
        f"The control plane of {name} is only reachable inside its cluster (Services of type ClusterIP). Set northbound.service.type and "
        "southbound.service.type of its ovn_cluster_spec to NodePort or LoadBalancer and run c5c3.ovn.central, so that "
        f"{host} can connect."
    )
    if options.backend != "kubernetes":
        return problem
    return (
        f"{problem} If it is the same cluster, give both hosts the same ovn_kubeconfig and ovn_context, or set ovn_southbound_endpoints and "
        f"ovn_northbound_endpoints to {endpoints['southbound_inside']} and {endpoints.get('northbound_inside')}."
    )


def _is_same_cluster(options: ControlPlaneOptions, central: Variables) -> bool:
    """Return whether the names of its Services lead to the databases: this hypervisor is the control plane's own cluster."""
    way = plain(first_value(central, "ovn_kubeconfig")), first_value(central, "ovn_context")
    return options.backend == "kubernetes" and (options.kubeconfig, options.context) == way


def outdated_units(files: t.Mapping[str, str], desired: t.Iterable[t.Mapping[str, str]]) -> list[str]:
    """Return the paths of the `desired` unit files that are missing from `files`, or have another text."""
    return [
        unit["path"]
        for unit in desired
        if unit["path"] not in files or files[unit["path"]].splitlines() != unit["content"].splitlines()
    ]


def unmasked_units(predicted: Variables, masked: t.Iterable[str]) -> list[str]:
    """Return those of the units to be masked that still run or may start; `predicted` is what `ovn_units` says in check mode.

    If it failed, all of them may.
    """
    if "actions" not in predicted:
        return list(masked)
    handled = {action.partition(" ")[2] for action in predicted["actions"]}
    return [unit for unit in masked if unit in handled]

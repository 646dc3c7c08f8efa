# Copyright: (c) 2026, C5C3 contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""PRIVATE to the collection: may change at any time.

The role ovn_hypervisor: its options to the desired state of a chassis, and what a machine still lacks of it. Pure.

Mappings that come from a role are templated by Ansible value by value, as they are read: what is not needed is not read.
"""

from __future__ import annotations

import dataclasses
import os
import typing as t

from ansible.module_utils.parsing.convert_bool import boolean

from .._databases import DATABASES, Database
from .._inventory import address_of
from .endpoints import member_endpoints, split_endpoints

Given = t.Mapping[str, t.Any]
Hostvars = t.Mapping[str, t.Mapping[str, t.Any]]
_MASK_LENGTH = len("/dev/null")  # the size of a link is the length of its target


def _flag(value: t.Any) -> bool:
    """Return what a boolean of an inventory or a command line means; an empty value is false."""
    return bool(boolean(value or False, strict=False))


def _text(value: t.Any) -> str:
    return str(value or "")


@dataclasses.dataclass(frozen=True)
class MachineOptions:
    """What a machine gets beside the settings that `ovn_chassis` takes as they are. Units are paths of their files."""

    bridges: list[dict[str, t.Any]]
    underlay: dict[str, str]  # empty, or bridge, interface and address
    openvswitch_service: str
    unit: str
    underlay_unit: str

    @classmethod
    def parse(cls, given: Given) -> MachineOptions:
        return cls(
            bridges=list(given.get("bridges") or ()),
            underlay=dict(given.get("underlay") or {}),
            openvswitch_service=_text(given["openvswitch_service"]),
            unit=_text(given["unit"]),
            underlay_unit=_text(given["underlay_unit"]),
        )


@dataclasses.dataclass(frozen=True)
class ClusterOptions:
    """What the nodes of a Kubernetes cluster have in common. None is an option that nobody gave."""

    tls: bool
    spec: dict[str, t.Any]
    image: dict[str, t.Any]
    openvswitch_image: dict[str, t.Any]
    datapath_type: str
    bridge_mappings: list[dict[str, t.Any]] | None
    tls_secret: str

    @classmethod
    def parse(cls, given: Given) -> ClusterOptions:
        mappings = given.get("bridge_mappings")
        return cls(
            tls=_flag(given["tls"]),
            spec=dict(given.get("spec") or {}),
            image=dict(given.get("image") or {}),
            openvswitch_image=dict(given.get("openvswitch_image") or {}),
            datapath_type=_text(given.get("datapath_type")),
            bridge_mappings=None if mappings is None else [dict(mapping) for mapping in mappings or ()],
            tls_secret=_text(given["tls_secret"]),
        )


def desired_state(given: Given) -> dict[str, t.Any]:
    """Return what the role brings about: `bridges`, `openvswitch_units` and `units` of a machine; `spec`, `tls_secret` and `ineffective` of a cluster."""
    if given["backend"] == "kubernetes":
        return {**_cluster_state(ClusterOptions.parse(given)), "ineffective": ineffective_options(given)}
    return _machine_state(MachineOptions.parse(given))


def _machine_state(options: MachineOptions) -> dict[str, t.Any]:
    underlay = options.underlay
    bridge = (
        {"name": underlay["bridge"], "ports": [underlay["interface"]], "datapath_type": "netdev"} if underlay else None
    )
    units = [*([options.underlay_unit] if underlay else []), options.unit]
    return {
        "bridges": [*options.bridges, *([bridge] if bridge else [])],
        "openvswitch_units": [_running(options.openvswitch_service)],
        "units": [_running(os.path.basename(path)) for path in units],
    }


def _running(unit: str) -> dict[str, t.Any]:
    return {"name": unit, "enabled": True, "state": "started"}


def _cluster_state(options: ClusterOptions) -> dict[str, t.Any]:
    """The specification of the control plane's OVNCluster counts more than the other options."""
    spec: dict[str, t.Any] = {"tls": {"enabled": options.tls}}
    if options.image:
        spec["ovnImage"] = options.image
    if options.openvswitch_image:
        spec["ovsImage"] = options.openvswitch_image
    if options.datapath_type:
        spec["ovs"] = {"datapathType": options.datapath_type}
    if options.bridge_mappings is not None:
        spec["bridgeMappings"] = [
            {"physicalNetwork" if key == "physical_network" else key: value for key, value in mapping.items()}
            for mapping in options.bridge_mappings
        ]
    secret = ((options.spec.get("tls") or {}).get("certSecretRef") or {}).get("name")
    return {"spec": _merge(spec, options.spec), "tls_secret": secret or options.tls_secret}


def _merge(base: t.Mapping[str, t.Any], over: t.Mapping[str, t.Any]) -> dict[str, t.Any]:
    """Return `base` with the values of `over`, dictionaries in dictionaries merged, lists replaced."""
    merged = dict(base)
    for key, value in over.items():
        both = isinstance(merged.get(key), dict) and isinstance(value, dict)
        merged[key] = _merge(merged[key], value) if both else value
    return merged


def ineffective_options(given: Given) -> list[str]:
    """Return the options of machines that somebody gave to a cluster. `named` are those without a default, which are there only if they were given."""
    found = {
        "ovn_hypervisor_bridges": given.get("bridges"),
        "ovn_hypervisor_underlay": given.get("underlay"),
        "ovn_hypervisor_encapsulation_type": (given["encapsulation_type"] or "geneve") not in ("geneve", ["geneve"]),
        "ovn_hypervisor_system_id (ovn_system_id)": (given["system_id"] or given["host"]) != given["host"],
        "ovn_hypervisor_gateway (group ovn_gateways)": _flag(given["gateway"]),
        "ovn_hypervisor_encapsulation_ip (ovn_encapsulation_ip)": (given["encapsulation_ip"] or given["host_address"])
        != given["host_address"],
    }
    return [*(name for name, effect in found.items() if effect), *sorted(given.get("named") or ())]


@dataclasses.dataclass(frozen=True)
class CentralHost:
    """Where the control plane is: the central host of the inventory that stands for it, and how this hypervisor sees it."""

    name: str  # empty if there is none
    is_cluster: bool
    is_same_cluster: bool  # then names of its Services lead to the databases

    @classmethod
    def find(cls, hostvars: Hostvars, given: Given) -> CentralHost:
        name = _text(given["central_host"])
        variables: t.Mapping[str, t.Any] = hostvars[name] if name and name in hostvars else {}
        is_cluster = variables.get("ovn_backend") == "kubernetes"
        same = is_cluster and given["backend"] == "kubernetes"
        return cls(
            name,
            is_cluster,
            same
            and all(
                (given.get(option) or "") == (variables.get(f"ovn_{option}") or "")
                for option in ("kubeconfig", "context")
            ),
        )


def find_control_plane(hostvars: Hostvars, given: Given) -> dict[str, t.Any]:
    """Return what has to be known of the control plane.

    `is_cluster`: it runs in Kubernetes. `asked`: its cluster has to be asked for the endpoints, since the inventory does not say them. `southbound` and
    `northbound`: its endpoints, in Kubernetes those of the `answer` of `ovn_cluster_info`, empty without one. `problem`: why nobody can connect to what
    answered, empty if that is possible.
    """
    central = CentralHost.find(hostvars, given)
    answer = given.get("answer") or {}
    if central.is_cluster:
        endpoints = _answered_endpoints(answer)
    elif given.get("southbound_given") and given.get(
        "northbound_given"
    ):  # nobody needs addresses, and they may be undefined
        endpoints = {"northbound": [], "southbound": []}
    else:
        endpoints = _inventory_endpoints(hostvars, given)
    return {
        "is_cluster": central.is_cluster,
        "asked": central.is_cluster and not given.get("southbound_given"),
        "northbound": endpoints["northbound"],
        "southbound": endpoints["southbound"],
        "problem": _connection_problem(central, given, answer) if central.is_cluster and answer else "",
    }


def _answered_endpoints(answer: Given) -> dict[Database, list[str]]:
    known = answer.get("endpoints") or {}
    return {database: split_endpoints(known.get(database)) for database in DATABASES}


def _inventory_endpoints(hostvars: Hostvars, given: Given) -> dict[Database, list[str]]:
    # RBAC knows a chassis by the name in its certificate. The nodes of a cluster share one, so they use the listener without a role.
    shared = given["backend"] == "kubernetes" and _flag(given["rbac"])
    addresses = [address_of(host, hostvars[host]) for host in given.get("central_hosts") or ()]
    listeners: dict[Database, str] = {
        "northbound": "unrestricted",
        "southbound": "unrestricted" if shared else "client",
    }
    tls = _flag(given["tls"])
    return {database: member_endpoints(addresses, database, listeners[database], tls=tls) for database in DATABASES}


def _connection_problem(central: CentralHost, given: Given, answer: Given) -> str:
    """Return why this hypervisor cannot connect to the control plane in Kubernetes that gave this answer, and what to do; empty if it can."""
    endpoints = answer.get("endpoints") or {}
    if not answer.get("exists"):
        return f"{central.name} has no control plane yet. Run c5c3.ovn.central first."
    if not endpoints.get("southbound"):
        return f"The Southbound members of {central.name} have no address yet. Run c5c3.ovn.central, or look at their Services."
    if central.is_same_cluster or endpoints["southbound"] != endpoints.get("southbound_inside"):
        return ""
    problem = (
        f"The control plane of {central.name} is only reachable inside its cluster (Services of type ClusterIP). Set ovn_central_service_type there, or "
        "northbound.service.type and southbound.service.type of its ovn_cluster_spec, to NodePort or LoadBalancer and run c5c3.ovn.central, so that "
        f"{given['host']} can connect."
    )
    if given["backend"] != "kubernetes":
        return problem
    return (
        f"{problem} If it is the same cluster, give both hosts the same ovn_kubeconfig and ovn_context, or set ovn_southbound_endpoints and "
        f"ovn_northbound_endpoints to {endpoints['southbound_inside']} and {endpoints.get('northbound_inside')}."
    )


def _content(lines: t.Iterable[str], path: str) -> list[str]:
    """Return the lines of one file; in `lines` each stands behind the path of its file and a colon."""
    return [line[len(path) + 1 :] for line in lines if line.startswith(f"{path}:")]


def recorded_chassis(lines: t.Sequence[str], given: Given) -> dict[str, t.Any]:
    """Return which chassis a machine is by the files of the role: `set_up` if it was one, and the recorded `system_id`, empty without one."""
    return {
        "set_up": bool(_content(lines, given["unit"])),
        "system_id": "".join(_content(lines, given["system_id_file"])).strip(),
    }


def compare_units(lines: t.Sequence[str], given: Given) -> dict[str, bool]:
    """Return whether the unit files of ovn-controller (`controller`) and of a declared `underlay` bridge are as declared, and whether `all` are."""
    controller = _content(lines, given["unit"]) == given["unit_text"].splitlines()
    underlay = not given.get("underlay") or (
        _content(lines, given["underlay_unit"]) == given["underlay_text"].splitlines()
    )
    return {"controller": controller, "underlay": underlay, "all": controller and underlay}


def compare_machine(found: t.Iterable[Given], given: Given) -> dict[str, list[str]]:
    """Return the `missing` files of `required_files`, and the `unmasked` units of `masked_units`; `found` are files as `ansible.builtin.find` returns them."""
    files = {str(file["path"]): file for file in found}
    masked = {path for path, file in files.items() if file["islnk"] and file["size"] == _MASK_LENGTH}
    return {
        "missing": [str(path) for path in given["required_files"] if path not in files],
        "unmasked": [str(unit) for unit in given["masked_units"] if f"{given['unit_directory']}/{unit}" not in masked],
    }

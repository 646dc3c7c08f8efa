# SPDX-License-Identifier: GPL-3.0-or-later
"""One machine of the role ovn_hypervisor: what it has to be, what has to be read of it, and what of that is due or forbids a run. Pure."""

from __future__ import annotations

import dataclasses
import typing as t

from .._base.errors import InvalidInput
from .._base.inventory import encapsulation_ip_of
from .._machine.distributions import distribution_data
from .cluster_source import FACT, encapsulation_types_of
from .firewall import desired_firewall, firewall_kept, firewall_problem
from .hypervisor import compare_units, control_plane_of_machine, desired_state, recorded_chassis, unmasked_units
from .hypervisor_units import controller_unit, underlay_unit
from .variables import Groups, Hostvars, Variables, first_value, is_true, members_of

UNIT_DIRECTORY = "_ovn_hypervisor_unit_directory"  # a variable of the role, which tests replace


@dataclasses.dataclass(frozen=True)
class HypervisorOptions:
    """Options of the role and shared variables, as `argument_specs.yml` and `shared_variables.py` describe them."""

    tls: bool
    system_id: str | None
    firewall: str
    state: str
    hostname: str | None
    encapsulation_ip: list[str] | None
    tunnel_networks: list[str]
    bridges: list[dict[str, t.Any]]
    bridge_mappings: list[dict[str, t.Any]] | None
    underlay: dict[str, t.Any]
    datapath_type: str | None
    gateway: bool | None
    external_ids: dict[str, t.Any] | None
    allow_takeover: bool
    private_key: str
    certificate: str
    ca_certificate: str
    packages: list[str] | None
    distribution: dict[str, t.Any]
    allow_package_downgrade: bool
    openvswitch: str
    openvswitch_sandbox: bool
    openvswitch_database: str
    central_host: str | None


@dataclasses.dataclass(frozen=True)
class DesiredMachine:
    """What a machine has to be. `state` is the result of `desired_state`, `firewall` of `desired_firewall`, `distribution` of `distribution_data`."""

    system_id: str
    encapsulation_types: list[str]
    encapsulation_ip: t.Any
    distribution: dict[str, t.Any]
    state: dict[str, t.Any]
    firewall: dict[str, t.Any]
    packages: list[str]
    unit: str
    underlay_unit: str
    unit_files: list[dict[str, str]]


def desired_machine(
    host: str,
    options: HypervisorOptions,
    variables: Variables,
    hostvars: Hostvars,
    groups: Groups,
    found: Variables | None = None,
) -> DesiredMachine:
    """Return what a machine has to be. Before anything was `found` on it, it counts as one with Debian."""
    found = found or {}
    data = distribution_data(
        "hypervisor", options.distribution, (found.get("packages") or {}).get("distribution") or {}, host
    )
    directory = first_value(variables, UNIT_DIRECTORY, default="/etc/systemd/system")
    unit, underlay = f"{directory}/c5c3-ovn-controller.service", f"{directory}/c5c3-ovn-underlay.service"
    in_gateways = host in members_of(groups, "ovn_gateways")
    state = desired_state(
        {
            **dataclasses.asdict(options),
            **{name: data[name] for name in ("openvswitch_service", "openvswitch_packages", "masked_units")},
            **{name: data[name] for name in ("system_id_file", "controller", "run_directory")},
            "backend": "host",
            "host": host,
            "gateway": in_gateways if options.gateway is None else options.gateway,
            "unit": unit,
            "underlay_unit": underlay,
            "unknown_units": (found.get("openvswitch") or {}).get("unknown_units") or [],
            "cluster_from": first_value(variables, "ovn_cluster_from", default="inventory"),
            "resource": first_value(variables, FACT, default={}),
        }
    )
    firewall = desired_firewall(
        hostvars, groups, host, _firewall_options(options, variables, data), role="ovn_hypervisor"
    )
    named = data["packages"] if options.packages is None else options.packages
    named = [name for name in named if name not in state["excluded_packages"]]
    files = [{"path": unit, "content": controller_unit(state, data)}]
    if options.underlay:
        files.append({"path": underlay, "content": underlay_unit(options.underlay, state["underlay_sandbox"])})
    return DesiredMachine(
        system_id=options.system_id or host,
        encapsulation_types=encapsulation_types_of(variables),
        encapsulation_ip=options.encapsulation_ip or encapsulation_ip_of(host, hostvars[host]),
        distribution=data,
        state=state,
        firewall=firewall,
        packages=[*named, *firewall["packages"]] if named else [],
        unit=unit,
        underlay_unit=underlay,
        unit_files=files,
    )


@dataclasses.dataclass(frozen=True)
class FirewallOptions:
    """The options of the role that the firewall of a machine follows."""

    firewall: str
    state: str
    tunnel_networks: list[str]
    datapath_type: str | None
    distribution: dict[str, t.Any]


def _firewall_options(
    options: HypervisorOptions | FirewallOptions, variables: Variables, data: Variables
) -> dict[str, t.Any]:
    """Return the options of the role as they count for the firewall, beside what the inventory has."""
    return {
        "ovn_firewall": options.firewall,
        "ovn_hypervisor_state": options.state,
        "ovn_hypervisor_tunnel_networks": options.tunnel_networks,
        "ovn_hypervisor_encapsulation_type": encapsulation_types_of(variables),
        "ovn_hypervisor_datapath_type": options.datapath_type,
        # where databases of a former central host have their files with the process id
        "ovn_central_distribution": {"run_directory": data["run_directory"]},
    }


def firewall_options(options: FirewallOptions, variables: Variables, host: str) -> dict[str, t.Any]:
    """Return the options of the role as they count for the firewall of a machine that was not asked yet."""
    return _firewall_options(options, variables, distribution_data("hypervisor", options.distribution, {}, host))


def host_questions(
    machine: DesiredMachine, options: HypervisorOptions, versions: Variables, certificates: list[t.Any]
) -> dict[str, t.Any]:
    """Return the arguments of `ovn_host_info`: what is as desired needs no task of its own later."""
    state, data, firewall = machine.state, machine.distribution, machine.firewall
    return {
        "files": [data["system_id_file"], machine.unit, machine.underlay_unit],
        "packages": {
            "packages": machine.packages,
            "versions": versions,
            "paths": [*data["files"], options.certificate],
        },
        "openvswitch": {
            "mode": state["openvswitch"],
            "database": options.openvswitch_database,
            "unit": data["openvswitch_service"],
            "chassis_unit": machine.unit,
        },
        "units": [
            {
                "masked": data["masked_units"],
                "files": state["openvswitch_files"],
                "units": [*state["openvswitch_units"], *state["units"]],
            },
            {
                "files": firewall["unit_files"],
                "units": firewall["units"],
                "keep_for": firewall["options"]["keep_for"],
            },
        ],
        "firewall": [firewall["options"]],
        "certificates": certificates,
    }


def judge_machine(
    host: str,
    machine: DesiredMachine,
    options: HypervisorOptions,
    found: Variables,
    plan: Variables,
    variables: Variables,
) -> dict[str, t.Any]:
    """Return what is due on a machine and what of it was found; `problems` forbid the run. `plan` is that of its packages."""
    paths = {"unit": machine.unit, "underlay_unit": machine.underlay_unit}
    recorded = recorded_chassis(
        found["files"],
        {
            **paths,
            "system_id": machine.system_id,
            "openvswitch": options.openvswitch,
            "system_id_file": machine.distribution["system_id_file"],
        },
    )
    texts = {file["path"]: file["content"] for file in machine.unit_files}
    units = compare_units(
        found["files"],
        {
            **paths,
            "underlay": options.underlay,
            "unit_text": texts[machine.unit],
            "underlay_text": texts.get(machine.underlay_unit, ""),
        },
    )
    due = (
        found["due"]
        or is_true(variables, "ovn_central_accept_rollback")
        or not units["all"]
        or recorded["system_id"] != machine.system_id
        or plan["due"]
        or bool(plan["source_files"])
    )
    certificates = found["certificates"]
    as_desired = any("changed" in one and not one["changed"] for one in certificates)
    declared: Variables = variables.get("ovn_pki_declared") or {}
    problems = [
        *(["\n".join(plan["refusals"]) + " No package was changed."] if plan["refusals"] else []),
        _machine_problem(host, machine, recorded, found),
        # No client of a hypervisor is shut out: its ports are those of tunnels.
        firewall_problem(found["firewall"][0], host, disconnect=True),
    ]
    return {
        "due": due,
        "certificate": options.certificate,
        "certificate_due": bool(declared.get("due", True)) or not as_desired,
        "certificate_missing": options.tls and not as_desired and options.certificate not in found["packages"]["paths"],
        "certificates": certificates,
        "set_up": recorded["set_up"],
        "recorded_system_id": recorded["system_id"],
        "hostname": found["openvswitch"].get("hostname") or "",
        "packages": {name: plan[name] for name in ("install", "due", "source_files")},
        "missing_files": [path for path in machine.distribution["files"] if path not in found["packages"]["paths"]],
        "units_due": not units["all"],
        "underlay_due": not units["underlay"],
        "daemons_due": found["due"] or not units["all"] or plan["due"],
        "unmasked": unmasked_units(found["units"][0], machine.distribution["masked_units"]),
        "firewall_kept": firewall_kept(found["firewall"][0], host),
        "problems": [problem for problem in problems if problem],
    }


def _machine_problem(host: str, machine: DesiredMachine, recorded: Variables, found: Variables) -> str:
    """Return why this machine cannot become this chassis, empty if it can."""
    if machine.distribution["problem"]:
        return f"{machine.distribution['problem']} Nothing was changed."
    if recorded["set_up"] and recorded["system_id"] not in ("", machine.system_id):
        return (
            f'{host} is the chassis "{recorded["system_id"]}" and cannot become "{machine.system_id}" while it is one: its rows and tunnels would stay '
            "behind. If this machine was renamed, run with ovn_hypervisor_state=absent under the old name first, then again as now. If its disk is a copy "
            "of another machine's, which is alive under the old name, remove the identity of the copy as "
            "docs/troubleshooting.md#the-copied-disk-of-a-hypervisor describes."
        )
    return str(found["openvswitch"].get("problem") or "")


def described_machine(machine: DesiredMachine) -> dict[str, t.Any]:
    """Return what later tasks read of the desired state."""
    names = (
        "openvswitch",
        "openvswitch_files",
        "openvswitch_units",
        "units",
        "masked_before_packages",
        "bridge_mappings",
    )
    data_names = ("files", "masked_units", "appctl", "openvswitch_service", "system_id_file")
    return {
        "system_id": machine.system_id,
        "desired": {
            **{name: machine.state[name] for name in (*names, "bridges", "external_ids", "files")},
            "unit_files": machine.unit_files,
            "packages": machine.packages,
        },
        "distribution": {name: machine.distribution[name] for name in data_names},
        "unit": machine.unit,
        "pid_file": f"{machine.distribution['run_directory']}/ovn-controller.pid",
        "firewall": machine.firewall,
        "warnings": machine.state["warnings"],
    }


def southbound_to_ask(
    host: str, options: HypervisorOptions, variables: Variables, hostvars: Hostvars, groups: Groups
) -> dict[str, t.Any]:
    """Return the control plane whose Southbound database knows which chassis are registered, empty if that of this inventory does not."""
    central_host = options.central_host or next(iter(members_of(groups, "ovn_central")), "")
    central = control_plane_of_machine(host, variables, hostvars, groups, tls=options.tls, central_host=central_host)
    endpoints = first_value(variables, "ovn_southbound_endpoints", default=None) or central["southbound"]
    if not central_host or endpoints != central["southbound"]:  # that of another control plane
        return {}
    return {"host": central_host, **central}


def refuse(problems: t.Sequence[str]) -> None:
    """Raise `InvalidInput` with one line for each problem, if there is one."""
    if problems:
        raise InvalidInput("\n".join(problems))

# SPDX-License-Identifier: GPL-3.0-or-later
"""One machine of the role ovn_hypervisor: what it has to be, what has to be read of it, and what of that is due or forbids a run. Pure."""

from __future__ import annotations

import dataclasses
import typing as t

from .._base.errors import InvalidInput
from .._base.inventory import as_list, tunnel_ends_of
from .._chassis.options import DeclaredChassis
from .._machine.distributions import distribution_data
from .cluster_source import FACT, encapsulation_types_of
from .firewall import desired_firewall, firewall_kept, firewall_problem
from .hypervisor import machine_state, outdated_units, unmasked_units
from .hypervisor_units import controller_unit, underlay_unit
from .option_types import unattended_problem
from .variables import Groups, Hostvars, Variables, first_value, members_of

UNIT_DIRECTORY = "_ovn_hypervisor_unit_directory"  # a variable of the role, which tests replace


@dataclasses.dataclass(frozen=True)
class HypervisorOptions:
    """Options of the role and shared variables, as `argument_specs.yml` and `shared_variables.py` describe them."""

    tls: bool
    system_id: str | None
    firewall: str
    state: str
    hostname: str | None
    encapsulation_type: list[str]
    tunnel_networks: list[str]
    bridges: list[dict[str, t.Any]]
    bridge_mappings: list[dict[str, t.Any]] | None
    underlay: dict[str, t.Any]
    datapath_type: str | None
    gateway: bool | None
    availability_zones: list[str] | None
    cms_options: list[str] | None
    chassis_settings: dict[str, t.Any]
    external_ids: dict[str, t.Any] | None
    other_config: dict[str, t.Any] | None
    purge: bool
    permit: list[str]
    private_key: str
    certificate: str
    ca_certificate: str
    distribution: dict[str, t.Any]
    openvswitch: str
    openvswitch_sandbox: bool
    openvswitch_database: str
    central_host: str | None
    resource: bool
    force_conflicts: bool
    wait_timeout: int = 60  # for Open vSwitch, and for the registration


@dataclasses.dataclass(frozen=True)
class DesiredMachine:
    """What a machine has to be. `state` is the result of `machine_state`, `firewall` of `desired_firewall`, `distribution` of `distribution_data`."""

    chassis: DeclaredChassis
    distribution: dict[str, t.Any]
    state: dict[str, t.Any]
    firewall: dict[str, t.Any]
    packages: list[str]
    unit: str
    underlay_unit: str
    unit_files: list[dict[str, str]]

    @property
    def pid_file(self) -> str:
        """Return the path of the file with the process id of ovn-controller."""
        return f"{self.distribution['run_directory']}/ovn-controller.pid"


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
    gateway = host in members_of(groups, "ovn_gateways") if options.gateway is None else options.gateway
    paths = {"unit": unit, "underlay_unit": underlay}
    unknown_units = (found.get("openvswitch") or {}).get("unknown_units") or []
    state = machine_state(
        {
            **_machine_options(host, options, variables, data),
            **paths,
            "gateway": gateway,
            "unknown_units": unknown_units,
        }
    )
    firewall = desired_firewall(
        hostvars, groups, host, _firewall_options(options, variables, data), role="ovn_hypervisor"
    )
    named = [name for name in data["packages"] if name not in state["excluded_packages"]]
    files = [{"path": unit, "content": controller_unit(state, data)}]
    if options.underlay:
        files.append({"path": underlay, "content": underlay_unit(options.underlay, state["underlay_sandbox"])})
    return DesiredMachine(
        chassis=DeclaredChassis(
            name=host,
            system_id=options.system_id or host,
            hostname=options.hostname,
            encapsulation_types=encapsulation_types_of(variables),
            encapsulation_ips=tunnel_ends_of(host, variables),
            bridge_mappings=state["bridge_mappings"],
            settings=_chassis_settings(options, state, gateway=gateway),
        ),
        distribution=data,
        state=state,
        firewall=firewall,
        packages=[*named, *firewall["packages"]] if named else [],
        unit=unit,
        underlay_unit=underlay,
        unit_files=files,
    )


def _machine_options(host: str, options: HypervisorOptions, variables: Variables, data: Variables) -> dict[str, t.Any]:
    """Return what `machine_state` reads of the options, of the distribution and of the OVNCluster of another client."""
    known = (
        "openvswitch_service",
        "openvswitch_packages",
        "masked_units",
        "system_id_file",
        "controller",
        "run_directory",
    )
    return {
        **dataclasses.asdict(options),
        **{name: data[name] for name in known},
        "host": host,
        "cluster_from": first_value(variables, "ovn_cluster_from", default="inventory"),
        "resource": first_value(variables, FACT, default={}),
    }


def _chassis_settings(options: HypervisorOptions, state: Variables, *, gateway: bool) -> dict[str, t.Any]:
    """Return the options of `ovn_chassis` that only the machine itself has; None leaves a setting alone. `state` is the result of `machine_state`."""
    named = (
        "availability_zones",
        "cms_options",
        "datapath_type",
        "other_config",
    )
    return {
        **{name: getattr(options, name) for name in named},
        **options.chassis_settings,
        "bridges": state["bridges"],
        "external_ids": state["external_ids"],
        "gateway": gateway,
        "preserve_foreign": options.openvswitch == "existing",
    }


def local_options(options: HypervisorOptions) -> dict[str, t.Any]:
    """Return the options of `ovn_chassis` with which a machine reaches its database and the Southbound."""
    files = {name: getattr(options, name) for name in ("private_key", "certificate", "ca_certificate")}
    return {
        "database": options.openvswitch_database,
        "allow_takeover": "takeover" in options.permit,
        "wait_timeout": options.wait_timeout,
        **(files if options.tls else {}),
    }


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
            "paths": [*data["files"], options.certificate, machine.pid_file],
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
    system_id, is_set_up = _recorded_system_id(machine, options, found["files"]), bool(found["files"].get(machine.unit))
    outdated = outdated_units(found["files"], machine.unit_files)
    due = (
        found["due"]
        or "rollback" in as_list(first_value(variables, "ovn_central_permit"))
        or bool(outdated)
        or system_id != machine.chassis.system_id
        or plan["due"]
        or bool(plan["source_files"])
    )
    certificates = found["certificates"]
    as_desired = any("changed" in one and not one["changed"] for one in certificates)
    declared: Variables = variables.get("ovn_pki_declared") or {}
    problems = [
        *(["\n".join(plan["refusals"]) + " No package was changed."] if plan["refusals"] else []),
        _machine_problem(host, machine, system_id if is_set_up else "", found),
        # No client of a hypervisor is shut out: its ports are those of tunnels.
        firewall_problem(found["firewall"][0], host, disconnect=True),
    ]
    return {
        "due": due,
        "certificate": options.certificate,
        "certificate_due": bool(declared.get("due", True)) or not as_desired,
        "certificate_missing": options.tls and not as_desired and options.certificate not in found["packages"]["paths"],
        "certificates": certificates,
        "set_up": is_set_up,
        "recorded_system_id": system_id,
        "hostname": options.hostname or found["openvswitch"].get("hostname") or "",
        "controller_found": machine.pid_file in found["packages"]["paths"],
        "packages": {name: plan[name] for name in ("install", "due", "source_files")},
        "missing_files": [path for path in machine.distribution["files"] if path not in found["packages"]["paths"]],
        "units_due": bool(outdated),
        "underlay_due": machine.underlay_unit in outdated,
        "daemons_due": found["due"] or bool(outdated) or plan["due"],
        "unmasked": unmasked_units(found["units"][0], machine.distribution["masked_units"]),
        "firewall_kept": firewall_kept(found["firewall"][0], host),
        "problems": [problem for problem in problems if problem],
    }


def _recorded_system_id(machine: DesiredMachine, options: HypervisorOptions, files: t.Mapping[str, str]) -> str:
    """Return the name in the file of the role, empty without one. In an Open vSwitch of others it is one of the keys that ovn_chassis compares."""
    if options.openvswitch == "existing":
        return machine.chassis.system_id
    return files.get(machine.distribution["system_id_file"], "").strip()


def _machine_problem(host: str, machine: DesiredMachine, former_id: str, found: Variables) -> str:
    """Return why this machine cannot become this chassis, empty if it can. `former_id` is the chassis that it is, empty if it is none."""
    if machine.distribution["problem"]:
        return f"{machine.distribution['problem']} Nothing was changed."
    if former_id not in ("", machine.chassis.system_id):
        return (
            f'{host} is the chassis "{former_id}" and cannot become "{machine.chassis.system_id}" while it is one: its rows and tunnels would stay '
            "behind. If this machine was renamed, run with ovn_hypervisor_state=absent under the old name first, then again as now. If its disk is a copy "
            "of another machine's, which is alive under the old name, remove the identity of the copy as "
            "docs/troubleshooting.md#the-copied-disk-of-a-hypervisor describes."
        )
    return str(found["openvswitch"].get("problem") or "")


def described_machine(machine: DesiredMachine, options: HypervisorOptions) -> dict[str, t.Any]:
    """Return what later tasks read of the desired state."""
    names = ("openvswitch_files", "openvswitch_units", "units", "masked_before_packages", "files")
    data_names = ("files", "masked_units", "appctl", "openvswitch_service", "system_id_file")
    return {
        "system_id": machine.chassis.system_id,
        "desired": {
            **{name: machine.state[name] for name in names},
            "unit_files": machine.unit_files,
        },
        "distribution": {name: machine.distribution[name] for name in data_names},
        "unit": machine.unit,
        "pid_file": machine.pid_file,
        "firewall": machine.firewall,
        "wait_timeout": options.wait_timeout,
        "warnings": machine.state["warnings"],
    }


def southbound_to_ask(central: Variables) -> dict[str, t.Any]:
    """Return the control plane whose Southbound database knows which chassis are registered, empty if that of this inventory does not."""
    return dict(central) if central["host"] and not central["is_declared"] else {}


@dataclasses.dataclass(frozen=True)
class ConnectionOptions:
    """Options with which every hypervisor finds the control plane."""

    tls: bool
    central_host: str | None


class ConnectingHost(t.NamedTuple):
    """Who connects to the control plane: a machine, or the nodes of a Kubernetes cluster (`is_cluster`)."""

    host: str
    state: str
    is_cluster: bool
    check_mode: bool


def connection_problem(hypervisor: ConnectingHost, central: Variables, variables: Variables) -> str:
    """Return why a hypervisor cannot be connected to the control plane, or be removed there; empty if it can. `central` is that of `control_plane_of`."""
    host, present = hypervisor.host, hypervisor.state == "present"
    if hypervisor.state == "gone":
        return (
            ""
            if central["host"]
            else "No central host is known: the rows of a dead machine are removed there. Put one into the group ovn_central, or set "
            "ovn_hypervisor_central_host."
        )
    if hypervisor.check_mode:
        return ""
    # A cluster can be emptied without a control plane, it may have gone before.
    if central["asked"] and central["problem"] and (present or not hypervisor.is_cluster):
        return str(central["problem"])
    if present and not central["southbound"]:
        return (
            f"No endpoint of the Southbound database is known to {host}. Put the central hosts into the group ovn_central, or set "
            "ovn_southbound_endpoints, ssl:ADDRESS:6642 of each central host. Nothing was changed."
        )
    checked: Variables = variables.get("ovn_hypervisor_check") or {}
    # In our playbooks ovn_pki has run before, or the check has found the certificate as declared.
    if checked.get("certificate_missing") and "ovn_pki_state" not in variables:
        return (
            f"There is no {checked['certificate']} on {host}, and the chassis uses TLS. Run the role c5c3.ovn.ovn_pki before this one with "
            "ovn_pki_certificate chassis, name your own files in ovn_hypervisor_private_key, ovn_hypervisor_certificate and "
            "ovn_hypervisor_ca_certificate, or set ovn_tls to false. Nothing was changed."
        )
    return ""


def removal_problem(host: str) -> str:
    """Return why the rows of a chassis cannot be deleted without endpoints."""
    return (
        f"No endpoint of the Southbound database is known, so the rows of {host} cannot be deleted there. Nothing was changed. Put the central hosts into the "
        "group ovn_central, or set ovn_southbound_endpoints."
    )


def alive_problem(host: str, system_id: str) -> str:
    """Return why the rows of a chassis do not stay deleted."""
    return f"{host} is alive: its chassis {system_id} came back at once. Use ovn_hypervisor_state=absent, or power it off first."


@dataclasses.dataclass(frozen=True)
class CentralPermit:
    permit: list[str]


@dataclasses.dataclass(frozen=True)
class SingleRunOptions:
    """Options for one run that a person watches. To remove a chassis is a decision for one run as well."""

    state: str
    permit: list[str]
    break_lock: bool
    force_conflicts: bool


def forbids_unattended(host: str, options: SingleRunOptions, variables: Variables) -> str:
    """Return why an unattended run does not start with these options. The permit of central hosts acts on hypervisors as well."""
    permit = as_list(first_value(variables, "ovn_central_permit"))
    found = [unattended_problem(host, options, "ovn_hypervisor_", "c5c3.ovn.hypervisors")]
    return "\n".join(
        filter(None, [*found, unattended_problem(host, CentralPermit(permit), "ovn_central_", "c5c3.ovn.site")])
    )


def refuse(problems: t.Sequence[str]) -> None:
    """Raise `InvalidInput` with one line for each problem, if there is one."""
    if problems:
        raise InvalidInput("\n".join(problems))

# SPDX-License-Identifier: GPL-3.0-or-later
"""One machine of the role ovn_central: what it has to be, what has to be read of it, and what of that is due or forbids a run. Pure."""

from __future__ import annotations

import dataclasses
import typing as t

from .._base.databases import DATABASES
from .._base.inventory import address_of
from .._host.adoption_problems import adoption_problems, foreign_daemons, foreign_message
from .._machine.distributions import distribution_data
from .._raft.sizing import Size
from .central import CentralMachineOptions, desired_state
from .central_units import RELAY_UNIT, CentralUnits, central_units, joined
from .firewall import desired_firewall, firewall_problem
from .variables import Groups, Hostvars, Variables, first_value, is_true, members_of

ADOPTION = "_ovn_central_adopt"  # adopt.yml says so
NEEDRESTART = "_ovn_central_needrestart_directory"  # a variable that tests set


@dataclasses.dataclass(frozen=True)
class CentralCheckOptions:
    """Options of the role and shared variables, beside `CentralMachineOptions`, that a check of a machine reads."""

    central_managed: bool
    tls: bool
    firewall: str
    networks: dict[str, t.Any]
    permit: list[str]
    distribution: dict[str, t.Any]
    certificate: str
    ca_certificate: str


@dataclasses.dataclass(frozen=True)
class DesiredCentral:
    """What a machine has to be. `state` is the result of `desired_state`, `firewall` of `desired_firewall`, `distribution` of `distribution_data`."""

    distribution: dict[str, t.Any]
    state: dict[str, t.Any]
    firewall: dict[str, t.Any]
    packages: list[str]
    units: CentralUnits
    adopt: bool


def is_adoption(variables: Variables) -> bool:
    """Return whether members that others run are taken over."""
    return is_true(variables, ADOPTION)


def membership_problem(host: str, options: CentralCheckOptions, groups: Groups) -> str:
    """Return why this host is none of the central hosts that this collection runs, empty if it is."""
    members = members_of(groups, "ovn_central")
    if host not in members:
        return (
            f"{host} is no member of the control plane, whose members are {', '.join(members) or 'unknown'}. Put all of them into the group ovn_central. "
            "Nothing was changed."
        )
    if not options.central_managed:
        return (
            f"Others run the control plane of {host} (ovn_central_managed is false), so it is only read. To take it over, take ovn_central_managed out of "
            "the inventory and run c5c3.ovn.adopt. Nothing was changed."
        )
    return ""


def firewall_given(options: CentralCheckOptions) -> dict[str, t.Any]:
    """Return the options of the role as they count for the firewall, beside what the inventory has."""
    return {
        "ovn_firewall": options.firewall,
        "ovn_central_distribution": options.distribution,
        "ovn_central_networks": options.networks,
    }


def central_state(
    host: str, options: CentralMachineOptions, hostvars: Hostvars, groups: Groups, plan: Variables
) -> dict[str, t.Any]:
    """Return the desired state of a machine, which is one of the central hosts, with the sizes of the databases that a `plan` has observed."""
    addresses = {member: address_of(member, hostvars[member]) for member in members_of(groups, "ovn_central")}
    sizes = {database: Size(**size) for database, size in (plan.get("sizes") or {}).items()}
    return desired_state(options, host, addresses, sizes)


def desired_central(
    host: str,
    options: CentralCheckOptions,
    state: dict[str, t.Any],
    variables: Variables,
    hostvars: Hostvars,
    groups: Groups,
    found: Variables | None = None,
    *,
    adopt: bool = False,
) -> DesiredCentral:
    """Return what a machine has to be; `state` is that of `central_state`. Before anything was `found` on it, it counts as one with Debian."""
    observed = ((found or {}).get("packages") or {}).get("distribution") or {}
    data = distribution_data("central", options.distribution, observed, host)
    firewall = desired_firewall(hostvars, groups, host, firewall_given(options), role="ovn_central")
    named = data["packages"]
    directory = first_value(variables, NEEDRESTART, default="/etc/needrestart/conf.d")
    return DesiredCentral(
        distribution=data,
        state=state,
        firewall=firewall,
        packages=[*named, *firewall["packages"]] if named else [],
        units=central_units(state, data["runtime_directory"], directory),
        adopt=adopt,
    )


def settings_questions(
    machine: DesiredCentral, source_files: t.Sequence[t.Any], certificates: list[t.Any]
) -> dict[str, t.Any]:
    """Return the arguments of `ovn_host_info` that compare settings. An adoption leaves them to the run after it."""
    units, firewall = machine.units, machine.firewall
    if machine.adopt:
        return {"units": [], "databases": [], "firewall": [], "certificates": certificates}
    services = joined(
        units.northd, units.relay, units.observer, {"files": firewall["unit_files"], "units": firewall["units"]}
    )
    return {
        "units": [
            {
                "masked": machine.distribution["masked_units"],
                "stop_masked": False,
                "files": [*units.needrestart["files"], *units.databases["files"]],
                "units": units.databases["units"],
            },
            services,
            *([{"files": [*source_files]}] if source_files else []),
        ],
        "databases": [one["settings"] for one in machine.state["databases"].values()],
        "firewall": [firewall["options"]],
        "certificates": certificates,
    }


def observations(machine: DesiredCentral) -> list[dict[str, t.Any]]:
    """Return what is observed of each member of a machine: options of `ovn_raft_member`."""
    return [{**one["observation"], "adopt": machine.adopt} for one in machine.state["databases"].values()]


def host_questions(
    machine: DesiredCentral, options: CentralCheckOptions, versions: Variables, certificates: list[t.Any]
) -> dict[str, t.Any]:
    """Return the arguments of `ovn_host_info`: what is as desired needs no task of its own later.

    Daemons that run there without being ours belong to another control plane, or to one that is to be adopted.
    """
    files = machine.distribution["files"]
    return {
        **settings_questions(machine, (), certificates),
        "packages": {
            "packages": machine.packages,
            "versions": versions,
            "paths": [*files, *_certificates(machine, options)],
        },
        "daemons": {
            "required_files": files,
            "ca_certificate": options.ca_certificate,
            "stopped_units": machine.adopt,
        },
        "members": observations(machine),
        "files": [machine.state["issued_certificates"]],  # the role ovn_pki compares it
    }


def _certificates(machine: DesiredCentral, options: CentralCheckOptions) -> list[str]:
    """Return the files without which the daemons cannot use TLS."""
    if not options.tls:
        return []
    relay = machine.state["relay"]
    return [options.certificate, *([relay["ca_certificate"]] if relay else [])]


def judge_central(
    host: str,
    machine: DesiredCentral,
    options: CentralCheckOptions,
    found: Variables,
    plan: Variables,
    variables: Variables,
) -> dict[str, t.Any]:
    """Return what was found on a machine and what of it is due; `problems` forbid the run. `plan` is that of its packages, empty in an adoption."""
    refusals = plan.get("refusals") or ()
    problems = [
        *(["\n".join(refusals) + " No package was changed."] if refusals else []),
        _host_problem(machine, found),
        ""
        if machine.adopt
        else firewall_problem(found["firewall"][0], host, disconnect="firewall_disconnect" in options.permit),
    ]
    declared: Variables = variables.get("ovn_pki_declared") or {}
    return {
        "tls": options.tls,
        "due": bool(found["due"]),
        # Whether plan, packages or options say that something is due, whatever the comparison says
        "planned": machine.adopt or bool(plan.get("due")) or bool(declared.get("due")),
        "members": found["members"],
        "files": found["files"],
        "packages_plan": plan,
        "missing_certificates": _missing_certificates(host, machine, options, found, declared),
        **_relay_state(machine, found),
        "northd": _foreign_northd(found),
        "listeners": _foreign_listeners(machine, found) if machine.adopt else [],
        "problems": [problem for problem in problems if problem],
    }


def _host_problem(machine: DesiredCentral, found: Variables) -> str:
    """Return why this machine cannot take part, empty if it can."""
    if machine.distribution["problem"]:
        return f"{machine.distribution['problem']} Nothing was changed."
    if not machine.adopt:
        return foreign_message(found["daemons"])
    problems = adoption_problems(found["daemons"], machine.state)
    return "\n".join(["Nothing was adopted or changed.", *problems]) if problems else ""


def _missing_certificates(
    host: str, machine: DesiredCentral, options: CentralCheckOptions, found: Variables, declared: Variables
) -> list[str]:
    """Return what is to be said of certificates that are not there. One that was compared and is as declared is there."""
    pairs = declared.get("pairs") or []
    compared = [one for one in found["certificates"] if "changed" in one and not one["changed"]]
    if compared and pairs and pairs[0]["certificate"] == options.certificate:
        return []
    certificate, relay_ca = options.certificate, machine.state["relay"].get("ca_certificate")
    texts = {
        certificate: f"There is no {certificate} on {host}, and the databases use TLS. Run the role c5c3.ovn.ovn_pki before this one with "
        "ovn_pki_certificate central, name your own files in ovn_central_private_key, ovn_central_certificate and ovn_central_ca_certificate, or set "
        "ovn_tls to false. Nothing was changed.",
        relay_ca: f"There is no {relay_ca} on {host}, and the relay of the Southbound database needs it to let chassis in. Put the CAs of members and of "
        "chassis there, or name another file in ovn_central_relay_ca_certificate. Nothing was changed.",
    }
    there = found["packages"]["paths"]
    return [texts[path] for path in _certificates(machine, options) if path not in there]


def _relay_state(machine: DesiredCentral, found: Variables) -> dict[str, bool]:
    """Return whether the relay does not run yet, so that no chassis is connected to it, and whether members serve chassis themselves until now."""
    relay = machine.state["relay"]
    actions = [action for one in found["units"] for action in one.get("actions") or ()]
    targets = [row["target"] for one in found["databases"] for row in one.get("connections") or ()]
    return {
        "relay_starts": any(action.startswith(f"start {RELAY_UNIT}") for action in actions),
        "relay_takes_over": bool(relay) and (machine.adopt or any(one in relay["former_rows"] for one in targets)),
    }


def _foreign_northd(found: Variables) -> dict[str, t.Any]:
    """Return the units that start a northd of others, and the state that one which runs reports, None without one."""
    running = [one for one in foreign_daemons(found["daemons"]) if one["name"] == "northd"]
    units = [one["supervisor"]["name"] for one in running if one["supervisor"]["kind"] == "unit"]
    return {
        "units": list(dict.fromkeys([*units, *(found["daemons"].get("stopped_northd_units") or ())])),
        "state": running[-1]["state"] if running else None,
    }


def _foreign_listeners(machine: DesiredCentral, found: Variables) -> list[dict[str, t.Any]]:
    """Return the options of `ovn_database` that add our listeners to the databases of others."""
    sockets = {one["name"]: one["sockets"] for one in reversed(found["daemons"]["daemons"]) if one["name"] in DATABASES}
    return [
        {
            "database": database,
            "control_socket": sockets[database]["control"] or None,
            "socket": f"unix:{sockets[database]['database']}" if sockets[database]["database"] else None,
            "connections": one["listeners"],
        }
        for database, one in machine.state["databases"].items()
        if database in sockets
    ]


def described_central(machine: DesiredCentral) -> dict[str, t.Any]:
    """Return what later tasks read of the desired state."""
    return {
        "desired": machine.state,
        "observations": observations(machine),
        "units": {
            **dataclasses.asdict(machine.units),
            "services": joined(machine.units.northd, machine.units.observer),
        },
        "masked_units": machine.distribution["masked_units"],
        "appctl": machine.distribution["appctl"],
        "firewall": machine.firewall,
    }

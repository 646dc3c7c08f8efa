# SPDX-License-Identifier: GPL-3.0-or-later
"""The role ovn_metadata_agent: its options to the configuration of the agent. Pure."""

from __future__ import annotations

import dataclasses
import posixpath
import typing as t

from .._base.errors import InvalidInput
from .._neutron.ini import check_extra, merge_sections, render_ini
from .._neutron.metadata_agent import (
    METADATA_AGENT,
    OVN_AGENT,
    extension_settings,
    extensions_problem,
    metadata_agent_settings,
    shared_secret_problem,
)
from .._ovsdb.endpoint import parse_endpoints
from .hypervisor import control_plane_of
from .neutron_proxy import drop_in_of, left_service, service_units, unit_name
from .variables import Groups, Hostvars, Variables, first_value, members_of

PREFIX = "ovn_metadata_agent_"
TIMEOUT = 10  # seconds that the Southbound may take to answer
_OPENVSWITCH = "unix:/run/openvswitch/db.sock"


@dataclasses.dataclass(frozen=True)
class MetadataAgentOptions:
    """Options of the role and shared variables, as `argument_specs.yml` and `shared_variables.py` describe them."""

    tls: bool
    system_id: str | None
    southbound_endpoints: list[str] | None
    neutron_group: str
    program: str
    service: str | None
    config_file: str | None
    nova_host: str
    shared_secret: str
    config: dict[str, t.Any]


@dataclasses.dataclass(frozen=True)
class AgentHost:
    """The compute node of an agent. `openvswitch` is its local database, `southbound` are the endpoints that the inventory or the control plane has.

    `endpoints_follow`: in check mode there may be no control plane yet, so there may be no endpoints.
    """

    name: str
    gateway: bool = False
    openvswitch: str = _OPENVSWITCH
    southbound: t.Sequence[str] = ()
    endpoints_follow: bool = False


@dataclasses.dataclass(frozen=True)
class DesiredMetadataAgent:
    """What a compute node has to get.

    `config` is the text of the file, with the secret. `directory` has the certificate, whose paths are `files`, none without TLS. `service_units`,
    `left_units` and `left_files` are options of `ovn_units`, the latter two of a former program: its units end first, for the files tell the next run that
    it was ours. `former_settings` is the file by which that is known, empty if it is left in any case. `problems` say why this host can have no agent.
    """

    chassis: str
    unit: str
    directory: str
    files: dict[str, str]
    config_file: str
    config: str = dataclasses.field(repr=False)
    service_units: list[dict[str, t.Any]]
    former_settings: str
    left_units: list[dict[str, t.Any]]
    left_files: list[dict[str, str]]
    problems: list[str]


def agent_host(
    host: str,
    options: MetadataAgentOptions,
    variables: Variables,
    hostvars: Hostvars,
    groups: Groups,
    *,
    check_mode: bool,
) -> tuple[AgentHost, dict[str, t.Any]]:
    """Return the compute node, and its control plane as `find_control_plane` describes it."""
    central = control_plane_of(host, variables, hostvars, groups, tls=options.tls)
    found = AgentHost(
        name=host,
        gateway=host in members_of(groups, "ovn_gateways"),
        openvswitch=first_value(variables, "ovn_hypervisor_openvswitch_database", default=_OPENVSWITCH),
        southbound=options.southbound_endpoints or central["southbound"],
        endpoints_follow=check_mode and central["asked"],
    )
    return found, central


def desired_metadata_agent(
    options: MetadataAgentOptions, host: AgentHost, files_found: t.Container[str] = ()
) -> DesiredMetadataAgent:
    """Return what this compute node has to get; of `former_settings`, `files_found` are on it."""
    name = options.program.replace("-", "_")
    config_file = options.config_file or f"/etc/neutron/{name}.ini"
    directory = f"{posixpath.dirname(config_file)}/ovn-metadata-agent"
    files = _files(directory) if options.tls else {}
    service = options.service or options.program
    former, former_settings = _former(options.program, service)
    is_left = former and (not former_settings or former_settings in files_found)
    left_files, left_units = left_service(former) if is_left else ([], [])
    config, problems = _config(options, host, files)
    return DesiredMetadataAgent(
        chassis=options.system_id or host.name,
        unit=unit_name(service),
        directory=directory,
        files=files,
        config_file=config_file,
        config=config,
        service_units=[{**unit, "enabled": True} for unit in service_units([service])],
        former_settings=former_settings,
        left_units=left_units,
        left_files=left_files,
        problems=[
            *_gateway_problems(host),
            *(
                f"{host.name} gets no metadata agent: {problem} Nothing was changed."
                for problem in [*_problems(options, host), *problems]
            ),
        ],
    )


def _config(options: MetadataAgentOptions, host: AgentHost, files: t.Mapping[str, str]) -> tuple[str, list[str]]:
    """Return the text of the file, and what is wrong with the options that it is made of."""
    problems = []
    try:
        southbound = [str(endpoint) for endpoint in parse_endpoints(list(host.southbound))]
    except InvalidInput as e:
        southbound, problems = [], [str(e)]
    ours = metadata_agent_settings(
        southbound=southbound,
        open_vswitch=host.openvswitch,
        nova_host=options.nova_host,
        shared_secret="" if shared_secret_problem(options.shared_secret) else options.shared_secret,
        private_key=files.get("private_key", ""),
        certificate=files.get("certificate", ""),
        ca_certificate=files.get("ca_certificate", ""),
    )
    try:
        extra = check_extra(options.config, ours, f"{PREFIX}config")
        wrong = extensions_problem(options.program, extra)
        sections = merge_sections(ours, extension_settings(options.program), extra)
        return render_ini(sections), [*problems, *([f"{PREFIX}config {wrong}"] if wrong else [])]
    except InvalidInput as e:
        return "", [*problems, str(e)]


def _former(program: str, service: str) -> tuple[str, str]:
    """Return the other program, empty if our unit has its name, and the file without which it is not ours to end.

    One answers for metadata only. The other one may do other work for somebody else: it is ours if it has settings of ours.
    """
    former = METADATA_AGENT if program == OVN_AGENT else OVN_AGENT
    if unit_name(service) == unit_name(former):
        return "", ""
    return former, drop_in_of(former) if former == OVN_AGENT else ""


def _files(directory: str) -> dict[str, str]:
    """Return the files that the role ovn_pki makes for a chassis."""
    return {
        "private_key": f"{directory}/chassis-key.pem",
        "certificate": f"{directory}/chassis-cert.pem",
        "ca_certificate": f"{directory}/ca.pem",
    }


def _gateway_problems(host: AgentHost) -> list[str]:
    if not host.gateway:
        return []
    return [
        f"{host.name} is a gateway (group ovn_gateways) and gets no metadata agent: agents belong to compute nodes, where instances run. Leave the host "
        "out of the play, or take it out of ovn_gateways if instances run there. Nothing was changed."
    ]


def _problems(options: MetadataAgentOptions, host: AgentHost) -> list[str]:
    problems = []
    if wrong := shared_secret_problem(options.shared_secret):
        problems.append(f"{PREFIX}shared_secret {wrong} Give Nova and the agents another one.")
    if not host.southbound and not host.endpoints_follow:
        problems.append(
            "no endpoint of the Southbound database is known. Put the central hosts into the group ovn_central, or set ovn_southbound_endpoints."
        )
    return problems


def host_questions(agent: DesiredMetadataAgent, declared: Variables) -> dict[str, t.Any]:
    """Return the arguments of `ovn_host_info`. `declared` is what ovn_pki says of the certificate."""
    return {
        "files": [agent.former_settings] if agent.former_settings else [],
        "units": [{"units": agent.service_units}],
        "certificates": declared.get("pairs") or [],
    }


def unit_problem(host: str, program: str, unit: str, predicted: Variables) -> str:
    """Return why systemd cannot start the unit of the agent, empty if it can: another program is stopped before this one starts."""
    if predicted.get("failed"):
        return f"{host} gets no metadata agent: {predicted['msg']} Nothing was changed."
    state = predicted["not_loaded"].get(unit)
    if not state:
        return ""
    return (
        f"{host} gets no metadata agent: systemd cannot start its unit {unit} (LoadState={state}). Install the package or the unit of {program}, unmask it, or "
        f"name another one in {PREFIX}service, then run again. Nothing was changed."
    )


def is_certificate_due(options: MetadataAgentOptions, declared: Variables, certificates: t.Sequence[Variables]) -> bool:
    """Return whether the certificate, its key or the CAs beside it are about to be replaced, or may be."""
    if not options.tls:
        return False
    return bool(declared.get("due", True)) or any(one.get("failed") or one["changed"] for one in certificates)


def southbound_problem(answer: Variables, host: str, chassis: str, *, certificate_replaced: bool = False) -> str:
    """Return why an agent cannot work with the Southbound that gave this answer of `ovn_database_info`, and what to do; empty if it can."""
    start = f"{host} gets no new settings for its metadata agent"
    end = (
        f"{'Its certificate was replaced. ' if certificate_replaced else ''}The settings of the agent were not changed."
    )
    if "tables" not in answer:
        cause = str(answer.get("msg") or "cause unknown").rstrip(".")
        return f"{start}: the Southbound database does not answer. {cause}. Run c5c3.ovn.status, or correct ovn_southbound_endpoints, then run again. {end}"
    if not answer["tables"].get("Chassis_Private"):
        return (
            f"{start}: the Southbound database has no chassis {chassis}, whose row the agent needs. Run c5c3.ovn.hypervisors for this host first, or set "
            f"ovn_system_id to the name of its chassis. {end}"
        )
    return ""

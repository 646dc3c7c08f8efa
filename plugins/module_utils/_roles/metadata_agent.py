# SPDX-License-Identifier: GPL-3.0-or-later
"""The role ovn_metadata_agent: its options to the configuration of the agent. Pure."""

from __future__ import annotations

import dataclasses
import typing as t

from .._base.errors import InvalidInput
from .._base.inventory import as_list
from .._neutron.ini import check_extra, merge_sections, render_ini
from .._neutron.metadata_agent import (
    METADATA_AGENT,
    OVN_AGENT,
    PROGRAMS,
    extension_settings,
    extensions_problem,
    metadata_agent_settings,
    shared_secret_problem,
)
from .._ovsdb.endpoint import parse_endpoints
from .options import read_options
from .service_settings import drop_in_of, left_service, service_units, unit_name
from .variables import Variables

PREFIX = "ovn_metadata_agent_"


@dataclasses.dataclass(frozen=True)
class MetadataAgentOptions:
    """The options of the role, `host`, and whether that is a `gateway` without instances.

    `files_found` are those that were asked for (`former_settings`) and are on the host. `endpoints_follow`: in check mode there may be no control plane yet.
    """

    host: str
    directory: str
    service: str
    openvswitch_database: str
    program: str = METADATA_AGENT
    gateway: bool = False
    tls: bool = True
    nova_host: str = ""
    nova_port: int = 8775
    nova_protocol: str = "http"
    config: t.Any = dataclasses.field(default_factory=dict)
    files_found: list[str] = dataclasses.field(default_factory=list)
    endpoints_follow: bool = False


def desired_metadata_agent(given: Variables, southbound: t.Sequence[str], shared_secret: str) -> dict[str, t.Any]:
    """Return `config` (the text of its file, with the secret), `service_units`, `left_units` and `left_files` (options of `ovn_units`), `files`, `problem`.

    `files` are the paths of its certificate, empty without TLS. `left_units` and `left_files` are of a former program: its units end first, for the files tell
    the next run that it was ours. `former_settings` is the one by which that is known, empty if it is left in any case. `problem` says why this host cannot
    have an agent; it is empty if it can, and so is `config` if not.
    """
    options = read_options(MetadataAgentOptions, given, PREFIX)
    if options.program not in PROGRAMS:
        raise InvalidInput(f"{PREFIX}program is {options.program}. Use {' or '.join(PROGRAMS)}.")
    files = _files(options.directory) if options.tls else {}
    ours = metadata_agent_settings(
        southbound=[str(endpoint) for endpoint in parse_endpoints(as_list(southbound))],
        open_vswitch=options.openvswitch_database,
        nova_host=options.nova_host,
        nova_port=options.nova_port,
        nova_protocol=options.nova_protocol,
        shared_secret=str(shared_secret),
        private_key=files.get("private_key", ""),
        certificate=files.get("certificate", ""),
        ca_certificate=files.get("ca_certificate", ""),
    )
    extra = check_extra(options.config, ours, f"{PREFIX}config")
    if wrong := extensions_problem(options.program, extra):
        raise InvalidInput(f"{PREFIX}config {wrong}")
    former, former_settings = _former(options)
    is_left = former and (not former_settings or former_settings in options.files_found)
    left_files, left_units = left_service(former) if is_left else ([], [])
    sections = merge_sections(ours, extension_settings(options.program), extra)
    problem = _problem(options, southbound, str(shared_secret))
    return {
        "config": "" if problem else render_ini(sections),
        "files": files,
        "service_units": [{**unit, "enabled": True} for unit in service_units([options.service])],
        "left_units": left_units,
        "left_files": left_files,
        "former_settings": former_settings,
        "problem": problem,
    }


def _former(options: MetadataAgentOptions) -> tuple[str, str]:
    """Return the other program, empty if our unit has its name, and the file without which it is not ours to end.

    One answers for metadata only. The other one may do other work for somebody else: it is ours if it has settings of ours.
    """
    former = METADATA_AGENT if options.program == OVN_AGENT else OVN_AGENT
    if unit_name(options.service) == unit_name(former):
        return "", ""
    return former, drop_in_of(former) if former == OVN_AGENT else ""


def _files(directory: str) -> dict[str, str]:
    """Return the files that the role ovn_pki makes for a chassis."""
    return {
        "private_key": f"{directory}/chassis-key.pem",
        "certificate": f"{directory}/chassis-cert.pem",
        "ca_certificate": f"{directory}/ca.pem",
    }


def _problem(options: MetadataAgentOptions, southbound: t.Sequence[str], shared_secret: str) -> str:
    if options.gateway:
        return (
            f"{options.host} is a gateway (group ovn_gateways) and gets no metadata agent: agents belong to compute nodes, where instances run. Leave the host "
            "out of the play, or take it out of ovn_gateways if instances run there. Nothing was changed."
        )
    missing = [
        name for name, value in (("nova_host", options.nova_host), ("shared_secret", shared_secret)) if not value
    ]
    if missing:
        return (
            f"{options.host} gets no metadata agent: {' and '.join(PREFIX + name for name in missing)} {'is' if len(missing) == 1 else 'are'} empty. Give the "
            "address of Nova's metadata API, and the secret that Nova has as metadata_proxy_shared_secret. Nothing was changed."
        )
    if wrong := shared_secret_problem(shared_secret):
        return f"{options.host} gets no metadata agent: {PREFIX}shared_secret {wrong} Give Nova and the agents another one. Nothing was changed."
    if not southbound and not options.endpoints_follow:
        return (
            f"{options.host} gets no metadata agent: no endpoint of the Southbound database is known. Put the central hosts into the group ovn_central, or set "
            "ovn_southbound_endpoints. Nothing was changed."
        )
    return ""


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

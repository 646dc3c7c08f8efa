# Copyright: (c) 2026, C5C3 contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""PRIVATE to the collection: may change at any time.

The role ovn_metadata_agent: its options to the configuration of the agent. Pure.
"""

from __future__ import annotations

import dataclasses
import typing as t

from .._neutron.ini import check_extra, merge_sections, render_ini
from .._neutron.metadata_agent import metadata_agent_settings
from .options import read_options
from .service_settings import service_files, service_units
from .variables import Variables

PREFIX = "ovn_metadata_agent_"


@dataclasses.dataclass(frozen=True)
class MetadataAgentOptions:
    """The options of the role, `host`, and whether that is a `gateway` without instances."""

    host: str
    directory: str
    service: str
    openvswitch_database: str
    gateway: bool = False
    tls: bool = True
    nova_host: str = ""
    nova_port: int = 8775
    nova_protocol: str = "http"
    config: t.Any = dataclasses.field(default_factory=dict)


def desired_metadata_agent(given: Variables, southbound: t.Sequence[str], shared_secret: str) -> dict[str, t.Any]:
    """Return `config` (the text of its file, with the secret), `service_files` and `service_units` (options of `ovn_units`), and `problem`.

    `problem` says why this host cannot have an agent; it is empty if it can.
    """
    options = read_options(MetadataAgentOptions, given, PREFIX)
    ours = metadata_agent_settings(
        southbound=southbound,
        open_vswitch=options.openvswitch_database,
        nova_host=options.nova_host,
        nova_port=options.nova_port,
        nova_protocol=options.nova_protocol,
        shared_secret=str(shared_secret),
        private_key=f"{options.directory}/chassis-key.pem" if options.tls else "",
        certificate=f"{options.directory}/chassis-cert.pem" if options.tls else "",
        ca_certificate=f"{options.directory}/ca.pem" if options.tls else "",
    )
    config = render_ini(merge_sections(ours, check_extra(options.config, ours, f"{PREFIX}config")))
    return {
        "config": config,
        "service_files": service_files([options.service], config, has_secret=True),
        "service_units": service_units([options.service]),
        "problem": _problem(options, southbound, shared_secret),
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
    if not southbound:
        return (
            f"{options.host} gets no metadata agent: no endpoint of the Southbound database is known. Put the central hosts into the group ovn_central, or set "
            f"{PREFIX}southbound_endpoints. Nothing was changed."
        )
    return ""

# SPDX-License-Identifier: GPL-3.0-or-later
"""`OVNCluster.spec.metadataAgent`: Neutron's agent for metadata on the hypervisors."""

from __future__ import annotations

import typing as t
from dataclasses import dataclass, field

from .._neutron.metadata_agent import METADATA_AGENT, PROGRAMS, SECRET_OPTION
from . import pod_fields
from .declaration import ACCOUNT, Metadata, Schema, declare, mapping, number, optional_part, part, rule, text
from .hypervisor_spec import DaemonSetPods
from .pod_fields import Image, Resources, StringMap
from .rules import AGENT_NEEDS_IMAGE, AGENT_NEEDS_NOVA

_KEY = r"^[-._a-zA-Z0-9]+$"
_ADDRESS = r"^([A-Za-z0-9]([A-Za-z0-9.-]*[A-Za-z0-9])?|[0-9A-Fa-f:.]+)$"

IniSections = t.Mapping[str, StringMap]


@dataclass(frozen=True)
class MetadataAgentImage(Image):
    """There is no image of ours with Neutron in it."""

    repository: str = field(
        metadata=declare(
            text(
                "Registry and name of an image with the program of the agent and haproxy; needed if the agent is enabled.",
                default="",
                maxLength=255,
            )
        )
    )
    tag: str = field(
        metadata=declare(
            text(
                "Tag. Not used if there is a digest, otherwise needed if the agent is enabled.",
                default="",
                pattern=r"^([\w][\w.-]{0,127})?$",
                maxLength=128,
            )
        )
    )


@dataclass(frozen=True)
class NovaMetadata:
    host: str | None = field(
        metadata=declare(
            text(
                "Name or address as the nodes reach it; needed if the agent is enabled.",
                pattern=_ADDRESS,
                maxLength=253,
            )
        )
    )
    port: int = field(metadata=declare(number("Port of the metadata API.", 1, 65535, default=8775)))
    protocol: t.Literal["http", "https"] = field(
        metadata=declare(text("How it is spoken to.", enum=["http", "https"], default="http"))
    )


@dataclass(frozen=True)
class SharedSecret:
    name: str = field(metadata=declare(text("Name of the Secret.", pattern=ACCOUNT, maxLength=253), required=True))
    key: str = field(
        metadata=declare(text("Key of the Secret that has it.", pattern=_KEY, maxLength=253, default=SECRET_OPTION))
    )


@dataclass(frozen=True)
class MetadataAgentResources(Resources):
    requests: StringMap = field(metadata=pod_fields.requests("50m", "512Mi"))


def _extra_config() -> Metadata:
    value: Schema = {
        "x-kubernetes-int-or-string": True,
        "anyOf": [{"type": "integer"}, {"type": "string"}],
        "pattern": r"^[^\r\n]*$",
        "description": "Use one line.",
        "maxLength": 4096,
    }
    options = {"type": "object", "additionalProperties": value, "maxProperties": 64}
    return declare(
        {
            "type": "object",
            "description": "More options of the agent, by section of its configuration file and name. Those that other fields set are refused. Who "
            "gives neutron-ovn-agent more extensions names metadata among them.",
            "additionalProperties": options,
            "maxProperties": 32,
        }
    )


@dataclass(frozen=True)
class MetadataAgent(DaemonSetPods):
    enabled: bool = field(
        metadata=declare(
            {
                "type": "boolean",
                "description": "Whether the hypervisors that are no gateways run the agent.",
                "default": False,
            }
        )
    )
    program: t.Literal["neutron-ovn-metadata-agent", "neutron-ovn-agent"] = field(
        metadata=declare(
            text(
                "What answers guests: the OVN metadata agent, or the OVN agent with its extension metadata, which is its successor. Another value replaces the "
                "pods, one node after the other.",
                enum=list(PROGRAMS),
                default=METADATA_AGENT,
            )
        )
    )
    image: MetadataAgentImage = field(metadata=part(MetadataAgentImage, "Image of the agent.", given=True))
    nova_metadata: NovaMetadata = field(
        metadata=part(
            NovaMetadata, "The metadata API of Nova, which the agent passes requests of guests on to.", given=True
        )
    )
    shared_secret_ref: SharedSecret | None = field(
        metadata=optional_part(
            SharedSecret,
            "Secret in the namespace of the hypervisors with what Nova has as metadata_proxy_shared_secret; needed if the agent is enabled. A Secret that "
            "changes restarts the agents, one by one.",
        )
    )
    node_selector: StringMap = field(
        metadata=declare(
            mapping(
                "Labels that a hypervisor must have beside those of controller.nodeSelector to get an agent; all of them if not given. Nodes with the labels "
                "of gateway.nodeSelector never get one."
            )
        )
    )
    resources: MetadataAgentResources = field(
        metadata=pod_fields.resources(
            MetadataAgentResources, "the agent", "What haproxy needs for each network is part of it."
        )
    )
    workers: int | None = field(
        metadata=declare(
            number("Processes that answer requests of guests; the default of the agent if not given.", 0, 256)
        )
    )
    extra_config: IniSections = field(metadata=_extra_config())


def metadata_agent() -> Metadata:
    return part(
        MetadataAgent,
        "Neutron's agent for metadata, which answers guests at 169.254.169.254.",
        rule(
            "!self.enabled || (size(self.image.repository) > 0 && (size(self.image.tag) > 0 || has(self.image.digest)))",
            AGENT_NEEDS_IMAGE,
            ".image",
        ),
        rule(
            "!self.enabled || (has(self.novaMetadata.host) && has(self.sharedSecretRef))",
            AGENT_NEEDS_NOVA,
        ),
        given=True,
    )

# SPDX-License-Identifier: GPL-3.0-or-later
"""`OVNCluster.spec.leaderProxy`: what leads clients in the same Kubernetes cluster, such as Neutron, to the leaders."""

from __future__ import annotations

from dataclasses import dataclass, field

from . import pod_fields
from .declaration import Metadata, declare, part
from .fields import rule
from .pod_fields import Resources, StringMap
from .rules import PROXY_NEEDS_NODES


@dataclass(frozen=True)
class LeaderProxyResources(Resources):
    requests: StringMap = field(metadata=pod_fields.requests("10m", "48Mi"))


def _switch(description: str, *, default: bool) -> Metadata:
    return declare({"type": "boolean", "description": description, "default": default})


@dataclass(frozen=True)
class LeaderProxy:
    enabled: bool = field(
        metadata=_switch(
            "Whether the nodes run it. It cannot be switched off while its address is published: clients that have the address would lose both databases.",
            default=False,
        )
    )
    published: bool = field(
        metadata=_switch(
            "Whether its address is in status.endpoints, from where Neutron gets it. Set it to false, and bring Neutron other addresses, before the proxy is "
            "switched off.",
            default=True,
        )
    )
    node_selector: StringMap = field(
        metadata=pod_fields.node_selector(
            "run it, among them all where Neutron's pods run; needed if it is enabled, for each of them gets the key of the members. All have "
            "kubernetes.io/os: linux. It can choose fewer nodes only while the address is not published"
        )
    )
    # Control nodes have taints. Without the proxy of its own node a pod of Neutron reaches no database.
    tolerations: tuple[StringMap, ...] = field(
        metadata=pod_fields.tolerations("the pods of the leader proxy", default=[{"operator": "Exists"}])
    )
    resources: LeaderProxyResources = field(
        metadata=pod_fields.resources(LeaderProxyResources, "the leader proxy on each node")
    )


def leader_proxy() -> Metadata:
    return part(
        LeaderProxy,
        "The proxy of each node that leads clients to the leaders of the databases. Pods reach that of their own node at one address.",
        rule(
            "!self.enabled || (has(self.nodeSelector) && size(self.nodeSelector) > 0)",
            PROXY_NEEDS_NODES,
            ".nodeSelector",
        ),
        given=True,
    )

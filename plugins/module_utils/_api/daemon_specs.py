# SPDX-License-Identifier: GPL-3.0-or-later
"""What `OVNCluster.spec` says of northd and of the observer."""

from __future__ import annotations

from dataclasses import dataclass, field

from .._daemons.central_host import DEFAULT_THREADS
from . import pod_fields
from .declaration import Metadata, declare, number, part, rule
from .pod_fields import Resources, StringMap
from .rules import PROXY_NEEDS_NODES

# `OVNCluster.spec.leaderProxy`: what leads clients in the same Kubernetes cluster, such as Neutron, to the leaders.


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


# What `OVNCluster.spec` says of the relays of the Southbound database.


@dataclass(frozen=True)
class RelayResources(Resources):
    requests: StringMap = field(metadata=pod_fields.requests("20m", "64Mi"))


@dataclass(frozen=True)
class RelaySpec:
    """`rbac`: clients have the role ovn-controller."""

    rbac: bool = field(
        metadata=declare(
            {
                "type": "boolean",
                "description": "Whether clients have the role ovn-controller: each chassis writes only what OVN's rules allow for the name in its certificate, "
                "which has to be its system id. Keep it off while the nodes of a hypervisor cluster share a certificate: they could register no chassis.",
                "default": False,
            }
        )
    )
    resources: RelayResources = field(metadata=pod_fields.resources(RelayResources, "a relay"))


@dataclass(frozen=True)
class NorthdResources(Resources):
    requests: StringMap = field(metadata=pod_fields.requests("50m", "64Mi"))


@dataclass(frozen=True)
class NorthdSpec:
    replicas: int = field(metadata=declare(number("Number of pods.", 1, 9, default=3)))
    threads: int = field(metadata=declare(number("Threads of each northd.", 1, 256, default=DEFAULT_THREADS)))
    resources: NorthdResources = field(metadata=pod_fields.resources(NorthdResources, "northd"))
    tolerations: tuple[StringMap, ...] = field(metadata=pod_fields.tolerations("the pods of northd"))
    service_account_name: str | None = field(
        metadata=pod_fields.service_account(
            "the pods of northd",
            "NAME-northd for the OVNCluster NAME",
            "A Role of ours is bound to it: get pods, patch pods/status, to label the active one.",
        )
    )


@dataclass(frozen=True)
class ObserverResources(Resources):
    requests: StringMap = field(metadata=pod_fields.requests("10m", "48Mi"))


@dataclass(frozen=True)
class ObserverSpec:
    resources: ObserverResources = field(metadata=pod_fields.resources(ObserverResources, "the observer"))
    tolerations: tuple[StringMap, ...] = field(
        metadata=pod_fields.tolerations(
            "the pods of the observer",
            "They are added to its own, with which it leaves a node that is not ready or unreachable after 10 seconds. One for such a taint, with the effect "
            "NoExecute or none, replaces its own.",
        )
    )
    service_account_name: str | None = field(
        metadata=pod_fields.service_account(
            "the observer",
            "NAME-observer for the OVNCluster NAME",
            "A Role of ours is bound to it: it reads pods, workloads and the OVNCluster, and writes its status, labels of pods and the witnesses.",
        )
    )

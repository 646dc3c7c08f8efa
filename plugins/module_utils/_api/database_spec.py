# SPDX-License-Identifier: GPL-3.0-or-later
"""What `OVNCluster.spec` says of each database."""

from __future__ import annotations

import typing as t
from dataclasses import dataclass, field

from .._base.databases import DEFAULT_ELECTION_TIMER, DEFAULT_INACTIVITY_PROBE, TITLES, Database
from .._daemons.database_settings import TIMER_MAXIMUM, TIMER_MINIMUM
from .._kubernetes.compare import PATTERN
from . import pod_fields
from .declaration import HOST_NAME, NETWORK, Metadata, declare, listing, mapping, number, part, rule, text
from .names import MOST_MEMBERS
from .pod_fields import Resources, StringMap
from .rules import (
    CIDRS_NEED_LOCAL,
    DIFFERENT_NAMES,
    DIFFERENT_PORTS,
    LOCAL_NEEDS_DIFFERENT_NAMES,
    NAMES_NEED_TYPE,
    NO_SHRINK,
    ODD,
    ONE_NAME_EACH,
    ONE_PORT_EACH,
    PORTS_NEED_TYPE,
)


@dataclass(frozen=True)
class Storage:
    size: str = field(
        metadata=declare(
            text(
                "Size of each volume, for example 10Gi.",
                default="10Gi",
                pattern=PATTERN,
                maxLength=32,
                **{"x-kubernetes-validations": [rule("quantity(self).compareTo(quantity(oldSelf)) >= 0", NO_SHRINK)]},
            ),
            pod_fields.quantity,
        )
    )
    storage_class: str | None = field(
        metadata=declare(
            text(
                "Name of the storage class; the cluster's default if not given. Volumes that exist keep theirs: a run refuses to move them.",
                minLength=1,
                maxLength=253,
            )
        )
    )


@dataclass(frozen=True)
class Service:
    """How members are reached from outside. `node_ports` and `hostnames` have none or one for each member."""

    type: t.Literal["ClusterIP", "NodePort", "LoadBalancer"] = field(
        metadata=declare(
            text("ClusterIP for not at all.", enum=["ClusterIP", "NodePort", "LoadBalancer"], default="ClusterIP")
        )
    )
    annotations: StringMap = field(
        metadata=declare(mapping("Annotations of the members' Services, for example for a load balancer."))
    )
    node_ports: tuple[int, ...] = field(
        metadata=declare(
            listing(
                "Node port of each member; chosen by Kubernetes if not given.",
                {"type": "integer", "minimum": 1, "maximum": 65535},
                MOST_MEMBERS,
                **{"x-kubernetes-list-type": "atomic"},
            )
        )
    )
    hostnames: tuple[str, ...] = field(
        metadata=declare(
            listing(
                "DNS name of each member, in their order, which is advertised in place of its address: in the status, in ovn-config, to chassis and Neutron. "
                "Whoever connects has to resolve it, and the records are up to you. Full names: search domains are ignored. With node ports and "
                "externalTrafficPolicy Cluster several members may have one name; with Local the record has to follow a member that moved to another node.",
                {"type": "string", "pattern": HOST_NAME, "maxLength": 253},
                MOST_MEMBERS,
                **{"x-kubernetes-list-type": "atomic"},
            )
        )
    )
    external_traffic_policy: t.Literal["Cluster", "Local"] = field(
        metadata=declare(
            text(
                "Local keeps the address of the client and needs the address of the node with the pod, which the published endpoints name.",
                enum=["Cluster", "Local"],
                default="Cluster",
            )
        )
    )
    allowed_cidrs: tuple[str, ...] = field(
        metadata=declare(
            listing(
                "Networks whose clients may connect, beside the pods of the control plane; all if not given. Name those of hypervisors, Neutron and the "
                "control node.",
                {"type": "string", "pattern": NETWORK, "maxLength": 49},
                **{"x-kubernetes-list-type": "set"},
            )
        )
    )
    allow_plaintext: bool = field(
        metadata=declare(
            {
                "type": "boolean",
                "description": "Whether members may be exposed without TLS: then everybody who reaches the port reads and writes the database.",
                "default": False,
            }
        )
    )

    @property
    def exposed(self) -> bool:
        return self.type != "ClusterIP"

    @property
    def needs_nodes(self) -> bool:
        """Return whether clients outside reach members at the addresses of nodes."""
        return self.type == "NodePort" and not self.hostnames


@dataclass(frozen=True)
class MemberResources(Resources):
    requests: StringMap = field(metadata=pod_fields.requests("50m", "64Mi"))


@dataclass(frozen=True)
class DatabaseSpec:
    """`election_timer` and `inactivity_probe` in milliseconds."""

    replicas: int = field(
        metadata=declare(
            {
                "type": "integer",
                "description": "Members of the Raft cluster: 1, 3 or 5. Members are added one by one; a smaller number is refused by the run.",
                "default": 3,
                "minimum": 1,
                "maximum": MOST_MEMBERS,
                "x-kubernetes-validations": [rule("self in [1, 3, 5]", ODD)],
            }
        )
    )
    storage: Storage = field(
        metadata=part(
            Storage, "One volume for each member. Volumes stay when members or the OVNCluster go.", given=True
        )
    )
    resources: MemberResources = field(metadata=pod_fields.resources(MemberResources, "a member"))
    election_timer: int = field(
        metadata=declare(
            number(
                "Time without a sign of the leader after which a member starts an election, in milliseconds.",
                TIMER_MINIMUM,
                TIMER_MAXIMUM,
                default=DEFAULT_ELECTION_TIMER,
            )
        )
    )
    inactivity_probe: int = field(
        metadata=declare(
            number(
                "Time without a sign of a client before it is probed, in milliseconds; 0 for never.",
                0,
                2**31 - 1,
                default=DEFAULT_INACTIVITY_PROBE,
            )
        )
    )
    service: Service = field(
        metadata=part(
            Service,
            "How clients outside this Kubernetes cluster reach the members: each has a Service of its own.",
            rule(
                "self.type != 'ClusterIP' || !has(self.nodePorts) || size(self.nodePorts) == 0",
                PORTS_NEED_TYPE,
                ".nodePorts",
            ),
            rule(
                "self.type != 'ClusterIP' || !has(self.hostnames) || size(self.hostnames) == 0",
                NAMES_NEED_TYPE,
                ".hostnames",
            ),
            rule(
                "self.type != 'LoadBalancer' || !has(self.hostnames) || self.hostnames.all(n, self.hostnames.exists_one(m, n == m))",
                DIFFERENT_NAMES,
                ".hostnames",
            ),
            rule(
                "self.type != 'NodePort' || self.externalTrafficPolicy != 'Local' || !has(self.hostnames) || "
                "self.hostnames.all(n, self.hostnames.exists_one(m, n == m))",
                LOCAL_NEEDS_DIFFERENT_NAMES,
                ".hostnames",
            ),
            rule(
                "!has(self.nodePorts) || self.nodePorts.all(p, self.nodePorts.exists_one(q, p == q))",
                DIFFERENT_PORTS,
                ".nodePorts",
            ),
            rule(
                "self.type == 'ClusterIP' || !has(self.allowedCidrs) || size(self.allowedCidrs) == 0 || self.externalTrafficPolicy == 'Local'",
                CIDRS_NEED_LOCAL,
                ".allowedCidrs",
            ),
            given=True,
        )
    )
    restarted_at: str | None = field(
        metadata=declare(
            text(
                "The time, or another text: a run that finds another one than the members have restarts them, one after the other and the leader last. "
                "Leave it in place afterwards.",
                minLength=1,
                maxLength=64,
            )
        )
    )
    node_selector: StringMap = field(metadata=pod_fields.node_selector("may run members"))
    tolerations: tuple[StringMap, ...] = field(metadata=pod_fields.tolerations("the members"))
    service_account_name: str | None = field(
        metadata=pod_fields.service_account(
            "the members", "one named after OVNCluster and database", "It needs no rights: the members have no token."
        )
    )


def database_part(database: Database) -> Metadata:
    return part(
        DatabaseSpec,
        f"The {TITLES[database]} database.",
        rule(
            "!has(self.service.nodePorts) || size(self.service.nodePorts) == 0 || size(self.service.nodePorts) == self.replicas",
            ONE_PORT_EACH,
            ".service.nodePorts",
        ),
        rule(
            "!has(self.service.hostnames) || size(self.service.hostnames) == 0 || size(self.service.hostnames) == self.replicas",
            ONE_NAME_EACH,
            ".service.hostnames",
        ),
        given=True,
    )

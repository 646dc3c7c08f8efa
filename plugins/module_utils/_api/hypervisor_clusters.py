# SPDX-License-Identifier: GPL-3.0-or-later
"""`OVNCluster.spec.hypervisorClusters` and their part of the status: the clusters whose nodes the operator makes hypervisors."""

from __future__ import annotations

from dataclasses import dataclass, field

from .declaration import ACCOUNT, NAME, Metadata, Schema, declare, list_reader, listing, part, record, schema_of, text

_KEY = r"^[-._a-zA-Z0-9]+$"
_MANY = 16  # the status has a line for each


@dataclass(frozen=True)
class KubeconfigSecret:
    name: str = field(metadata=declare(text("Name of the Secret.", pattern=ACCOUNT, maxLength=253), required=True))
    key: str = field(
        metadata=declare(
            text("Key of the Secret that has the kubeconfig.", pattern=_KEY, maxLength=253, default="kubeconfig")
        )
    )


@dataclass(frozen=True)
class HypervisorCluster:
    name: str = field(
        metadata=declare(
            text("Name of the cluster in status, events, metrics and logs.", pattern=NAME, maxLength=63), required=True
        )
    )
    kubeconfig_secret_ref: KubeconfigSecret = field(
        metadata={
            **part(
                KubeconfigSecret,
                "Secret in the namespace of the OVNCluster with a kubeconfig that holds everything itself: one that names files or runs a program is refused.",
            ),
            "required": True,
        }
    )
    namespace: str | None = field(
        metadata=declare(
            text(
                "Namespace of the pods there; the same as that of the OVNCluster if not given.",
                pattern=NAME,
                maxLength=63,
            )
        )
    )


def hypervisor_clusters() -> Metadata:
    return declare(
        listing(
            "Clusters whose nodes the operator makes hypervisors; without it none. Playbooks take them from the group ovn_hypervisors instead. A cluster "
            "that is taken out of the list keeps running as it is.",
            schema_of(HypervisorCluster, "One Kubernetes cluster."),
            _MANY,
            **{"x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["name"]},
        ),
        list_reader(HypervisorCluster),
    )


def hypervisor_clusters_status() -> Schema:
    return listing(
        "What the operator last did in each cluster of hypervisorClusters. Only the operator writes it.",
        record(
            "One Kubernetes cluster.",
            {
                "name": text("Its name in hypervisorClusters.", maxLength=63),
                "ready": {"type": "boolean", "description": "Whether its hypervisors are as declared."},
                "reason": text("One word for the cause.", maxLength=1024),
                "message": text("The cause for people, with the next step.", maxLength=32768),
            },
            required=["name", "ready"],
        ),
        _MANY,
        **{"x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["name"]},
    )

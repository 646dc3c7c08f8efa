# SPDX-License-Identifier: GPL-3.0-or-later
"""What `OVNCluster.spec` says of northd and of the observer."""

from __future__ import annotations

from dataclasses import dataclass, field

from .._daemons.northd_command import DEFAULT_THREADS
from . import pod_fields
from .declaration import declare
from .fields import number
from .pod_fields import Resources, StringMap


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

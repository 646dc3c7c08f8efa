# SPDX-License-Identifier: GPL-3.0-or-later
"""The role ovn_operator: its options to the arguments of the module ovn_operator. Pure."""

from __future__ import annotations

import dataclasses
import typing as t

from .._base.errors import Refused
from .._base.inventory import as_list
from .option_types import OWN_OPTION


@dataclasses.dataclass(frozen=True)
class OperatorRoleOptions:
    """The options of the role. The operator is in the namespace of the OVNCluster."""

    backend: str
    kubeconfig: t.Any
    context: str
    namespace: str
    cluster_domain: str
    state: str
    all_namespaces: bool
    image: dict[str, t.Any] = dataclasses.field(metadata=OWN_OPTION)
    replicas: int
    log_level: str
    force_conflicts: bool
    wait_timeout: int = 300  # for its pods to become available


def operator_arguments(options: OperatorRoleOptions, host: str) -> dict[str, t.Any]:
    """Return the arguments of ovn_operator, or refuse a control plane on machines."""
    if options.backend != "kubernetes":
        raise Refused(
            f"The operator of {host} is not rolled out: {host} is a machine (ovn_backend is {options.backend}), and the operator runs in Kubernetes alone. "
            "For machines run c5c3.ovn.reconcile again and again, by a systemd timer or a schedule of AWX (docs/operator.md). Nothing was changed."
        )
    values = dataclasses.asdict(options)
    secrets = values["image"].pop("pullSecrets", None)
    return {
        **{name: value for name, value in values.items() if name not in ("backend", "all_namespaces")},
        "kubeconfig": options.kubeconfig or None,
        "context": options.context or None,
        "image_pull_secrets": as_list(secrets or []),
        "watch_namespace": "" if options.all_namespaces else options.namespace,
    }

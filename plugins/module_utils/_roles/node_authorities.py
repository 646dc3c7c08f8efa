# SPDX-License-Identifier: GPL-3.0-or-later
"""The ConfigMap with the CAs for nodes with certificates of their own: it has to follow the Secret, or a rotation would cut these nodes off. Pure."""

from __future__ import annotations

import typing as t

from .._kubernetes.compare import with_hash
from .._manifests.node_certificates import authorities_manifest
from .pki import has_node_certificates, is_present, secret_of, trusts_secret
from .variables import Variables, first_value


def node_authorities(cluster: Variables, bundle: str) -> dict[str, t.Any]:
    """Return the object as the module ovn_hypervisors applies it, from the variables of the host that stands for a hypervisor cluster.

    Empty where nodes do not need it: they share the Secret, or have the CAs from a ConfigMap of another owner.
    """
    if not (bundle and is_present(cluster) and has_node_certificates(cluster) and trusts_secret(cluster)):
        return {}
    name = str(first_value(cluster, "ovn_cluster_name", default="ovn"))
    return with_hash(authorities_manifest(bundle, name=name, namespace=secret_of(cluster).namespace))

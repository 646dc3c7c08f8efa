"""Manifests of a control plane and of a hypervisor cluster, for tests that care about a few of them only."""

from __future__ import annotations

import typing as t

from ansible_collections.c5c3.ovn.plugins.module_utils._api.spec import ClusterSpec, parse_spec
from ansible_collections.c5c3.ovn.plugins.module_utils._manifests.central import central_manifests
from ansible_collections.c5c3.ovn.plugins.module_utils._manifests.hypervisors import hypervisor_manifests


def manifests_of(raw: dict[str, t.Any], *, name: str, namespace: str, **others: t.Any) -> list[dict[str, t.Any]]:
    """`raw` is the specification; `others`: what else `central_manifests` takes."""
    given = {
        "cluster_domain": "cluster.local",
        "owner": None,
        "launcher": "",
        "archive": b"",
        "replicas": {"northbound": 3, "southbound": 3},
        **others,
    }
    return central_manifests(parse_spec(raw, name=name, namespace=namespace), name=name, namespace=namespace, **given)


def hypervisor_manifests_of(
    spec: ClusterSpec, *, name: str = "ovn", namespace: str = "net", **others: t.Any
) -> list[dict[str, t.Any]]:
    """`others`: what else `hypervisor_manifests` takes."""
    given = {
        "southbound": ["ssl:192.0.2.11:6642"],
        "northbound": [],
        "tls_secret": "ovn-tls",
        "api_server": "",
        "settings": {},
        "archive": b"",
        **others,
    }
    return hypervisor_manifests(spec, name=name, namespace=namespace, **given)

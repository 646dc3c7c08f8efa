"""Clusters whose nodes the operator makes hypervisors: what an OVNCluster says about them."""

from __future__ import annotations

import typing as t

import pytest

from ansible_collections.c5c3.ovn.plugins.module_utils._api.hypervisor_clusters import (
    HypervisorCluster,
    KubeconfigSecret,
    hypervisor_clusters_status,
)
from ansible_collections.c5c3.ovn.plugins.module_utils._api.spec import parse_spec
from ansible_collections.c5c3.ovn.plugins.module_utils._api.status_conditions import TargetOutcome
from ansible_collections.c5c3.ovn.plugins.module_utils._base.errors import InvalidInput


def parse(*clusters: t.Any) -> tuple[HypervisorCluster, ...]:
    return parse_spec({"hypervisorClusters": list(clusters)}, name="ovn", namespace="net").hypervisor_clusters


def test_the_shortest_and_the_longest_form() -> None:
    short = {"name": "rack1", "kubeconfigSecretRef": {"name": "rack1-access"}}
    long = {"name": "rack2", "kubeconfigSecretRef": {"name": "rack2.access", "key": "value"}, "namespace": "theirs"}
    assert parse(short, long) == (
        HypervisorCluster("rack1", KubeconfigSecret("rack1-access", "kubeconfig"), None),
        HypervisorCluster("rack2", KubeconfigSecret("rack2.access", "value"), "theirs"),
    )
    assert parse() == parse_spec({}, name="ovn", namespace="net").hypervisor_clusters == ()


@pytest.mark.parametrize(
    ("cluster", "told"),
    [
        ({"kubeconfigSecretRef": {"name": "a"}}, r"hypervisorClusters\[0\]\.name"),
        ({"name": "rack1"}, r"hypervisorClusters\[0\]\.kubeconfigSecretRef"),
        ({"name": "rack1", "kubeconfigSecretRef": {"key": "value"}}, r"kubeconfigSecretRef\.name"),
        ({"name": "Rack 1", "kubeconfigSecretRef": {"name": "a"}}, r"hypervisorClusters\[0\]\.name"),
        ({"name": "a" * 64, "kubeconfigSecretRef": {"name": "a"}}, r"hypervisorClusters\[0\]\.name"),
        ({"name": "rack1", "kubeconfigSecretRef": {"name": "a/b"}}, r"kubeconfigSecretRef\.name"),
        ({"name": "rack1", "kubeconfigSecretRef": {"name": "a", "key": "a/b"}}, r"kubeconfigSecretRef\.key"),
        ({"name": "rack1", "kubeconfigSecretRef": {"name": "a"}, "namespace": "A"}, r"\[0\]\.namespace"),
        ({"name": "rack1", "kubeconfigSecretRef": {"name": "a"}, "context": "b"}, r"\[0\]\.context is no field"),
    ],
)
def test_what_is_wrong_is_named(cluster: dict[str, t.Any], told: str) -> None:
    with pytest.raises(InvalidInput, match=told):
        parse(cluster)


def test_there_are_no_more_than_the_status_has_lines_for() -> None:
    clusters = [{"name": f"rack{number}", "kubeconfigSecretRef": {"name": "a"}} for number in range(17)]
    assert len(parse(*clusters[:16])) == 16 == hypervisor_clusters_status()["maxItems"]
    with pytest.raises(InvalidInput, match="hypervisorClusters"):
        parse(*clusters)


def test_the_schema_of_the_status_has_what_the_operator_writes() -> None:
    properties = hypervisor_clusters_status()["items"]["properties"]
    assert set(TargetOutcome(True, "AsDeclared", "As declared.").as_entry("rack1")) == set(properties)

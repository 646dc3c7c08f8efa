"""The module ovn_operator's work on a real API server: install, the second time, check mode, removal, and rights that are missing."""

from __future__ import annotations

import typing as t

import _rights
import pytest
from _apiserver import ApiServer
from _rights import Operator

from ansible_collections.c5c3.ovn.plugins.module_utils._deadline import Deadline
from ansible_collections.c5c3.ovn.plugins.module_utils._errors import Refused
from ansible_collections.c5c3.ovn.plugins.module_utils._kubernetes.client import Cluster
from ansible_collections.c5c3.ovn.plugins.module_utils._kubernetes.progress import Progress
from ansible_collections.c5c3.ovn.plugins.module_utils._operator.install import install, uninstall
from ansible_collections.c5c3.ovn.plugins.module_utils._operator.manifests import OperatorOptions

operator = _rights.operator  # fixture


def put(cluster: Cluster, namespace: str, *, check_mode: bool = False) -> Progress:
    options = OperatorOptions(namespace, namespace, {})
    return install(cluster, options, check_mode=check_mode, force=False, wait=False, deadline=Deadline(30))


@pytest.fixture
def cluster(api_server: ApiServer, namespace: str) -> t.Iterator[Cluster]:
    found = Cluster({"kubeconfig": api_server.kubeconfig})
    yield found
    uninstall(found, namespace, check_mode=False)


def actions(progress: Progress) -> set[str]:
    return {one["action"] for one in progress.as_results()}


def deployment(cluster: Cluster, namespace: str) -> t.Any:
    return cluster.get("apps/v1", "Deployment", "ovn-operator", namespace)


def test_install_again_and_remove(cluster: Cluster, namespace: str) -> None:
    assert put(cluster, namespace, check_mode=True).changed
    assert deployment(cluster, namespace) is None
    assert put(cluster, namespace).changed
    sent = cluster.requests
    second = put(cluster, namespace)
    assert actions(second) == {"unchanged"}
    assert cluster.requests - sent <= len(second.as_results()) + 1  # lists of kinds, and one for the namespace
    assert uninstall(cluster, namespace, check_mode=True).changed
    assert deployment(cluster, namespace) is not None
    assert actions(uninstall(cluster, namespace, check_mode=False)) == {"deleted"}
    assert deployment(cluster, namespace) is None
    definition = "ovnclusters.ovn.c5c3.io"
    assert cluster.get("apiextensions.k8s.io/v1", "CustomResourceDefinition", definition) is not None
    assert not uninstall(cluster, namespace, check_mode=False).changed


def test_without_rights_it_is_refused_by_name(operator: Operator, namespace: str) -> None:
    with pytest.raises(Refused, match="cannot list resource"):
        put(operator.connect(), namespace)


def test_removal_leaves_the_rights_of_an_operator_elsewhere(
    cluster: Cluster, namespace: str, api_server: ApiServer
) -> None:
    other = api_server.new_namespace(f"{namespace}-other")
    put(cluster, other)
    assert not uninstall(cluster, namespace, check_mode=False).changed
    assert not put(cluster, other).changed
    uninstall(cluster, other, check_mode=False)

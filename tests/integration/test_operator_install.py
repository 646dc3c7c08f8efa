"""The module ovn_operator's work on a real API server: install, the second time, check mode, removal, and rights that are missing."""

from __future__ import annotations

import pathlib
import typing as t

import _playbooks
import _rights
import pytest
from _apiserver import ApiServer
from _rights import Operator
from conftest import until

from ansible_collections.c5c3.ovn.plugins.module_utils._api.names import API_VERSION
from ansible_collections.c5c3.ovn.plugins.module_utils._base.deadline import Deadline
from ansible_collections.c5c3.ovn.plugins.module_utils._base.errors import Conflict, Refused
from ansible_collections.c5c3.ovn.plugins.module_utils._kubernetes.client import Cluster
from ansible_collections.c5c3.ovn.plugins.module_utils._kubernetes.wait_tracker import Progress
from ansible_collections.c5c3.ovn.plugins.module_utils._operator.control_plane import FINALIZER
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
    uninstall(found, namespace, check_mode=False, deadline=Deadline(30))


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
    assert uninstall(cluster, namespace, check_mode=True, deadline=Deadline(30)).changed
    assert deployment(cluster, namespace) is not None
    assert actions(uninstall(cluster, namespace, check_mode=False, deadline=Deadline(30))) == {"deleted"}
    assert deployment(cluster, namespace) is None
    definition = "ovnclusters.ovn.c5c3.io"
    assert cluster.get("apiextensions.k8s.io/v1", "CustomResourceDefinition", definition) is not None
    assert not uninstall(cluster, namespace, check_mode=False, deadline=Deadline(30)).changed


def test_without_rights_it_is_refused_by_name(operator: Operator, namespace: str) -> None:
    with pytest.raises(Refused, match="cannot list resource"):
        put(operator.connect(), namespace)


def test_an_operator_elsewhere_stays_as_it_is(cluster: Cluster, namespace: str, api_server: ApiServer) -> None:
    other = api_server.new_namespace(f"{namespace}-other")
    put(cluster, other)
    with pytest.raises(Refused, match=f"runs in namespace {other} already"):
        put(cluster, namespace)
    assert not uninstall(cluster, namespace, check_mode=False, deadline=Deadline(30)).changed
    assert not put(cluster, other).changed
    uninstall(cluster, other, check_mode=False, deadline=Deadline(30))


@pytest.mark.parametrize("watched", ["own", "all"])
def test_removal_lets_ovnclusters_go(cluster: Cluster, namespace: str, api_server: ApiServer, watched: str) -> None:
    """Without its finalizer they can be deleted when nobody is there to remove it. One that is being deleted holds the removal up."""
    options = OperatorOptions(namespace, namespace if watched == "own" else "", {})
    install(cluster, options, check_mode=False, force=False, wait=False, deadline=Deadline(30))
    elsewhere = api_server.new_namespace(f"{namespace}-{watched}")
    for place in (namespace, elsewhere):
        metadata = {"name": "ovn", "namespace": place, "finalizers": ["example.com/theirs", FINALIZER]}
        until(lambda m=metadata: made(cluster, m), "the API server to serve OVNClusters")

    def finalizers(place: str) -> list[str]:
        found = cluster.get(API_VERSION, "OVNCluster", "ovn", place)
        return list((found or {"metadata": {}})["metadata"].get("finalizers") or ())

    cluster.delete(API_VERSION, "OVNCluster", "ovn", namespace)
    with pytest.raises(Refused, match=f"OVNCluster {namespace}/ovn is being deleted"):
        uninstall(cluster, namespace, check_mode=False, deadline=Deadline(30))
    cluster.patch(API_VERSION, "OVNCluster", "ovn", namespace, {"metadata": {"finalizers": []}})
    done = uninstall(cluster, namespace, check_mode=False, deadline=Deadline(30))
    assert finalizers(elsewhere) == (["example.com/theirs"] if watched == "all" else ["example.com/theirs", FINALIZER])
    assert any(one["kind"] == "OVNCluster" for one in done.as_results()) == (watched == "all")
    cluster.patch(API_VERSION, "OVNCluster", "ovn", elsewhere, {"metadata": {"finalizers": []}})
    cluster.delete(API_VERSION, "OVNCluster", "ovn", elsewhere)


def made(cluster: Cluster, metadata: dict[str, t.Any]) -> bool:
    """Right after its definition a kind may not be served."""
    try:
        cluster.create({"apiVersion": API_VERSION, "kind": "OVNCluster", "metadata": metadata, "spec": {}})
    except Conflict:
        return True
    except Refused as e:
        if e.details.get("http_status") != 404:
            raise
        return False
    return True


class TestPlaybook:
    def run(self, folder: pathlib.Path, collections: str, *arguments: str, **variables: t.Any) -> tuple[int, str]:
        inventory = _playbooks.write_inventory(folder / "hosts.yml", {"ovn_central": {"hosts": {"plane": variables}}})
        env = _playbooks.environment(folder, collections)
        done = _playbooks.run(["-i", str(inventory), "c5c3.ovn.operator", *arguments], env, cwd=folder)
        return done.returncode, done.stdout + done.stderr

    def test_options_of_the_role_become_the_operator(
        self, cluster: Cluster, namespace: str, api_server: ApiServer, short_dir: pathlib.Path, collection_path: str
    ) -> None:
        given = {
            "ovn_backend": "kubernetes",
            "ovn_kubeconfig": api_server.kubeconfig,
            "ovn_namespace": namespace,
            "ovn_image": {"repository": "registry.example.com/ovn"},
            "ovn_operator_image": {"repository": "registry.example.com/ovn-operator", "pullSecrets": ["registry"]},
            "ovn_wait_timeout": 3,  # nobody starts pods here
        }
        code, output = self.run(short_dir, collection_path, "--check", **given)
        assert (code, deployment(cluster, namespace)) == (0, None), output
        assert "\ncreated Deployment ovn-operator\n" in output
        code, output = self.run(short_dir, collection_path, **given)
        assert code != 0
        assert f"The pods of Deployment {namespace}/ovn-operator were not available when the time was up." in output
        pod = deployment(cluster, namespace)["spec"]["template"]["spec"]
        (container,) = pod["containers"]
        assert container["image"].startswith("registry.example.com/ovn-operator:")
        assert pod["imagePullSecrets"] == [{"name": "registry"}]
        code, output = self.run(short_dir, collection_path, "-e", "ovn_operator_state=absent", **given)
        assert (code, deployment(cluster, namespace)) == (0, None), output

    def test_machines_have_no_operator(self, short_dir: pathlib.Path, collection_path: str) -> None:
        code, output = self.run(short_dir, collection_path)
        assert code != 0
        assert "plane is a machine (ovn_backend is host), and the operator runs in Kubernetes alone" in output

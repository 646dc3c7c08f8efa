"""What the tokens of the pods of a control plane can do on a real API server: a stolen one changes no image and opens no shell."""

from __future__ import annotations

import json
import pathlib
import typing as t

import pytest
from _apiserver import ApiServer
from _rights import Operator
from built_manifests import manifests_of
from conftest import until

from ansible_collections.c5c3.ovn.plugins.module_utils._base.errors import OvnError
from ansible_collections.c5c3.ovn.plugins.module_utils._kubernetes.client import Cluster

LEADER = {"metadata": {"labels": {"ovn-nb-leader": "true"}}}
IMAGE = {"spec": {"containers": [{"name": "c", "image": "example.org/evil:1"}]}}


@pytest.fixture(params=["ovn-observer", "ovn-northd"])
def attacker(request: pytest.FixtureRequest, api_server: ApiServer, namespace: str, tmp_path: pathlib.Path) -> Cluster:
    """A user with the Role of an account of the pods, and a pod `p` in the namespace."""
    operator = Operator(api_server, f"{request.param}-{namespace}", tmp_path)
    manifests = manifests_of({}, name="ovn", namespace=namespace)
    (role,) = [one for one in manifests if (one["kind"], one["metadata"]["name"]) == ("Role", request.param)]
    operator.grant({**role, "metadata": {"name": operator.name, "namespace": namespace}})
    container = {"name": "c", "image": "example.org/none:1"}
    body = {"metadata": {"name": "p"}, "spec": {"containers": [container]}}
    api_server.request("POST", f"/api/v1/namespaces/{namespace}/pods", body)
    cluster = operator.connect()
    until(lambda: status_of(cluster, "get", place(namespace)) == 200, "the rights")
    return cluster


def place(namespace: str, subresource: str = "") -> str:
    return f"/api/v1/namespaces/{namespace}/pods/p{subresource}"


def status_of(cluster: Cluster, method: str, path: str, body: t.Any = None) -> int:
    options = {"body": body, "content_type": "application/merge-patch+json"} if body else {}
    try:
        cluster.connection.send(method, path, "try it", **options)
    except OvnError as e:
        return int(e.details["http_status"])
    return 200


def pod_of(server: ApiServer, namespace: str) -> t.Any:
    return json.loads(server.request("GET", place(namespace)))


def test_the_label_of_a_leader_is_all_that_changes(attacker: Cluster, api_server: ApiServer, namespace: str) -> None:
    before = pod_of(api_server, namespace)["spec"]
    assert status_of(attacker, "patch", place(namespace, "/status"), LEADER) == 200
    assert pod_of(api_server, namespace)["metadata"]["labels"] == LEADER["metadata"]["labels"]
    # The API server answers 200 and ignores what is no part of the status.
    assert status_of(attacker, "patch", place(namespace, "/status"), IMAGE) == 200
    assert pod_of(api_server, namespace)["spec"] == before


@pytest.mark.parametrize(
    ("method", "subresource", "body"),
    [
        pytest.param("patch", "", IMAGE, id="another image"),
        pytest.param("patch", "", LEADER, id="labels of the pod itself"),
        pytest.param("patch", "/ephemeralcontainers", IMAGE, id="a container beside"),
        pytest.param("delete", "", None, id="delete"),
        pytest.param("get", "/exec", None, id="a shell"),
        pytest.param("get", "/log", None, id="logs"),
    ],
)
def test_refused(
    attacker: Cluster, api_server: ApiServer, namespace: str, method: str, subresource: str, body: t.Any
) -> None:
    before = pod_of(api_server, namespace)
    assert status_of(attacker, method, place(namespace, subresource), body) == 403
    assert pod_of(api_server, namespace) == before

"""New images are on all nodes before the first pod is replaced. Kubelets and the controller of DaemonSets are played by the tests."""

from __future__ import annotations

import threading
import typing as t

import pytest
from _apiserver import ApiServer
from _beside import beside
from _hypervisors import Hypervisors, hypervisor_cluster
from conftest import Ran, RunModule, until, within

PULL = "ovn-image-pull"
UPDATE = {"ovsImage": {"tag": "new"}, "ovnImage": {"tag": "newer"}}


@pytest.fixture
def hypervisors(api_server: ApiServer, namespace: str, run_module: RunModule) -> t.Iterator[Hypervisors]:
    with hypervisor_cluster(api_server, namespace, run_module) as made:
        made.node("a", "192.0.2.1")
        made.node("b", "192.0.2.2")
        made()
        made.pods_are_ready(2)
        yield made


def place_of(hypervisors: Hypervisors, kind: str, group: str = "api/v1") -> str:
    return f"/{group}/namespaces/{hypervisors.namespace}/{kind}"


def update(hypervisors: Hypervisors, **options: t.Any) -> Ran:
    return hypervisors(**{"spec": UPDATE, "wait": True, "wait_timeout": within(20), "may_fail": True, **options})


def test_images_are_pulled_before_the_first_pod_is_replaced(hypervisors: Hypervisors) -> None:
    before, seen = hypervisors.generations(), dict[str, t.Any]()

    def pull(_ended: threading.Event) -> None:
        until(lambda: PULL in hypervisors.generations(), "the DaemonSet that pulls")
        seen["generations"] = hypervisors.generations()
        daemon_set = hypervisors.get(f"{place_of(hypervisors, 'daemonsets', 'apis/apps/v1')}/{PULL}")
        seen["pod"] = daemon_set["spec"]["template"]["spec"]
        hypervisors.pods_are_ready(2, PULL)
        until(lambda: hypervisors.generations()["ovs"] > before["ovs"], "the update")
        seen["later"] = hypervisors.generations()
        until(lambda: hypervisors.generations()["ovn-controller"] > before["ovn-controller"], "the update of OVN")
        hypervisors.pods_are_ready(2)

    predicted = update(hypervisors, check=True)
    assert hypervisors.generations() == before
    with beside(pull):
        ran = update(hypervisors)
    assert not ran.failed, ran["msg"]
    assert {name: seen["generations"][name] for name in before} == before
    assert PULL not in seen["later"]
    images = ["localhost/ovn:new", "localhost/ovn:newer"]
    pod = seen["pod"]
    found = [one["image"] for one in (*pod["containers"], *pod["initContainers"])]
    assert [image.rpartition(":")[2] for image in found] == [image.rpartition(":")[2] for image in images]
    assert pod["nodeSelector"] == {"node-role.kubernetes.io/hypervisor": ""}
    assert "hostNetwork" not in pod
    assert predicted["steps"] == ran["steps"] == [f"pull {found[0]} and {found[1]} on the nodes"]
    again = update(hypervisors)
    assert (again["changed"], again["steps"]) == (False, [])


def test_an_image_that_one_node_does_not_get_replaces_nothing(hypervisors: Hypervisors) -> None:
    before = hypervisors.generations()

    def pull(_ended: threading.Event) -> None:
        until(lambda: PULL in hypervisors.generations(), "the DaemonSet that pulls")
        hypervisors.pods_are_ready(1, PULL)
        labels = hypervisors.get(f"{place_of(hypervisors, 'daemonsets', 'apis/apps/v1')}/{PULL}")["metadata"]["labels"]
        waiting = {"reason": "ImagePullBackOff", "message": "no such tag"}
        status = {
            "name": "image-1",
            "ready": False,
            "restartCount": 0,
            "image": "",
            "imageID": "",
            "state": {"waiting": waiting},
        }
        pod = {
            "metadata": {"name": f"{PULL}-b", "labels": labels},
            "spec": {"nodeName": "b", "containers": [{"name": "image-1", "image": "x"}]},
        }
        hypervisors.server.request("POST", place_of(hypervisors, "pods"), pod)
        place = f"{place_of(hypervisors, 'pods')}/{PULL}-b/status"
        hypervisors.server.request("PATCH", place, {"status": {"containerStatuses": [status]}})

    with beside(pull):
        ran = update(hypervisors, wait_timeout=within(4))
    assert ran["msg"].startswith("Not all nodes have ")
    assert f"node b: Container image-1 of pod {PULL}-b waits (ImagePullBackOff: no such tag)" in ran["msg"]
    assert ran["msg"].endswith("No daemon was stopped.")
    assert hypervisors.generations() == before


def test_what_a_killed_run_has_left_goes(hypervisors: Hypervisors) -> None:
    place = place_of(hypervisors, "daemonsets", "apis/apps/v1")
    left = hypervisors.get(f"{place}/ovn-controller")
    labels = {**left["metadata"]["labels"], "app.kubernetes.io/component": "image-pull"}
    template = {"metadata": {"labels": labels}, "spec": {"containers": [{"name": "image-1", "image": "x"}]}}
    body = {
        "metadata": {"name": PULL, "labels": labels},
        "spec": {"selector": {"matchLabels": labels}, "template": template},
    }
    for state in ("present", "absent"):
        hypervisors.server.request("POST", place, body)
        predicted = hypervisors(state=state, check=True)
        ran = hypervisors(state=state)
        for one in (predicted, ran):
            assert {"kind": "DaemonSet", "name": PULL, "namespace": hypervisors.namespace, "action": "deleted"} in one[
                "objects"
            ]
        assert PULL not in hypervisors.generations()
        assert state == "absent" or not hypervisors()["changed"]


def test_without_waiting_nothing_is_pulled(hypervisors: Hypervisors) -> None:
    before = hypervisors.generations()
    ran = update(hypervisors, wait=False)
    assert ran["steps"] == []
    assert hypervisors.generations()["ovs"] == before["ovs"] + 1

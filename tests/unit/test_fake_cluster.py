"""The API server in memory does what tests rely on."""

from __future__ import annotations

import typing as t

import pytest
from fake_cluster import FakeCluster

from ansible_collections.c5c3.ovn.plugins.module_utils._base.errors import Conflict, Unreachable
from ansible_collections.c5c3.ovn.plugins.module_utils._kubernetes.client import ExecResult

Object = dict[str, t.Any]
POD = ("v1", "Pod", "a", "x")


def pod(name: str = "a", namespace: str = "x", **labels: str) -> Object:
    metadata = {"name": name, "namespace": namespace, "labels": labels}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": {"nodeName": "n1"}}


def names(objects: list[Object]) -> list[str]:
    return [one["metadata"]["name"] for one in objects]


@pytest.mark.parametrize(
    ("selector", "selected"),
    [
        ({}, ["a", "b"]),
        ({"labels": "app=ovn"}, ["a"]),
        ({"labels": "app in (ovn,other)"}, ["a", "b"]),
        ({"labels": "app in (ovn, other),tier=one"}, ["b"]),
        ({"labels": "app=ovn,tier=one"}, []),
        ({"fields": "metadata.name=b"}, ["b"]),
        ({"fields": "spec.nodeName=n1"}, ["a", "b"]),
        ({"fields": "spec.nodeName=n9"}, []),
    ],
    ids=[
        "all of the namespace",
        "a label",
        "one of two values",
        "two requirements",
        "no object has both",
        "a name",
        "a node",
        "another node",
    ],
)
def test_a_list_has_what_is_selected(selector: dict[str, str], selected: list[str]) -> None:
    cluster = FakeCluster(pod(app="ovn"), pod("b", app="other", tier="one"), pod("c", "y", app="ovn"))
    assert names(cluster.list("v1", "Pod", "x", **t.cast(t.Any, selector))) == selected
    assert names([one for _event, one in cluster.watch("v1", "Pod", "x", timeout=1, **selector)]) == selected


def test_what_differs_gets_a_new_version_and_keeps_its_uid() -> None:
    cluster = FakeCluster()
    made = cluster.create(pod())
    with pytest.raises(Conflict, match="already exists"):
        cluster.create(pod())
    told = cluster.apply_status({**pod(), "status": {"phase": "Running"}})
    same = cluster.apply({**pod(), "spec": made["spec"]})
    patched = cluster.patch(*POD, {"spec": {"nodeName": None, "hostname": "h"}})
    assert (patched["spec"], patched["status"]) == ({"hostname": "h"}, {"phase": "Running"})
    assert {one["metadata"]["uid"] for one in (made, told, same, patched)} == {"uid-1"}
    assert [one["metadata"]["resourceVersion"] for one in (made, told, same, patched)] == ["1", "2", "2", "3"]
    assert cluster.get(*POD) == patched


def test_a_rehearsal_and_what_a_caller_does_to_an_answer_change_nothing() -> None:
    cluster = FakeCluster()
    assert cluster.apply(pod(), dry_run=True)["metadata"]["creationTimestamp"] == cluster.now
    assert cluster.objects == {}
    given = pod()
    cluster.put(given)["spec"]["nodeName"] = given["spec"]["nodeName"] = "changed"
    cluster.list("v1", "Pod")[0]["spec"]["nodeName"] = "changed"
    assert cluster.get(*POD) == cluster.stored("Pod", "a")
    assert t.cast(Object, cluster.stored("Pod", "a"))["spec"] == {"nodeName": "n1"}


def test_hooks_come_in_their_order_and_only_for_their_requests() -> None:
    cluster = FakeCluster(pod(), pod("b"))
    cluster.before("delete", lambda: cluster.remove("Pod", "a"), name="a")
    cluster.before("delete", Unreachable("away"), times=2)
    assert not cluster.delete(*POD)
    for _time in range(2):
        with pytest.raises(Unreachable):
            cluster.delete("v1", "Pod", "b", "x")
    assert cluster.delete("v1", "Pod", "b", "x")
    assert [(call.verb, call.name) for call in cluster.written] == [("delete", "a"), *[("delete", "b")] * 3]
    assert [call.name for call in cluster.deleted] == ["b"]
    cluster.always("list", Unreachable("away"), kind="Pod")
    assert cluster.list("v1", "Node") == []
    for _time in range(3):
        with pytest.raises(Unreachable):
            cluster.list("v1", "Pod")


def test_commands_end_as_a_test_says() -> None:
    cluster = FakeCluster()
    cluster.answers = {"a": ExecResult(0, "x", ""), "b": Unreachable("no node")}
    assert cluster.exec("x", "a", "database", ["true"]).stdout == "x"
    with pytest.raises(Unreachable, match="no node"):
        cluster.exec("x", "b", "database", ["true"])
    assert [(call.name, call.body["command"]) for call in cluster.asked("exec")] == [("a", ["true"]), ("b", ["true"])]

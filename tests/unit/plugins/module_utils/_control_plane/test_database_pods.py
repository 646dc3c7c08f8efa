"""A database is asked in whichever of its pods answers; a real one is in tests/integration/test_gone_chassis.py."""

from __future__ import annotations

import typing as t

import pytest
from fake_cluster import FakeCluster

from ansible_collections.c5c3.ovn.plugins.module_utils._base.deadline import Deadline
from ansible_collections.c5c3.ovn.plugins.module_utils._base.errors import Conflict, OvnError, Unreachable
from ansible_collections.c5c3.ovn.plugins.module_utils._control_plane.database_pods import DatabasePods
from ansible_collections.c5c3.ovn.plugins.module_utils._kubernetes.command import ExecResult
from ansible_collections.c5c3.ovn.plugins.module_utils._ovsdb.rows import Caller


def cluster_with(answers: dict[str, ExecResult | OvnError], running: t.Collection[str]) -> FakeCluster:
    cluster = FakeCluster()
    for pod in answers:
        labels = {"app.kubernetes.io/instance": "ovn", "app.kubernetes.io/component": "southbound"}
        state = {"running": {}} if pod in running else {"waiting": {}}
        status = {"containerStatuses": [{"name": "database", "state": state}]}
        metadata = {"name": pod, "namespace": "x", "labels": labels}
        cluster.put({"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": {}, "status": status})
    cluster.answers = answers
    return cluster


def ask(cluster: FakeCluster) -> t.Any:
    def question(caller: Caller) -> t.Any:
        return caller.call("transact", ["OVN_Southbound"])

    return DatabasePods(cluster, "x", "ovn", "southbound").ask(question, Deadline(5))


def test_the_next_pod_is_asked() -> None:
    answers: dict[str, ExecResult | OvnError] = {
        "s0": ExecResult(0, "[0]", ""),
        "s1": Unreachable("pod s1 is away"),
        "s2": ExecResult(0, "[2]", ""),
    }
    cluster = cluster_with(answers, {"s1", "s2"})
    assert ask(cluster) == [2]
    calls = cluster.asked("exec")
    assert [call.name for call in calls] == ["s1", "s2"]
    assert "unix:/run/ovn/ovnsb_db.sock" in calls[0].body["command"]


def test_nobody_answers() -> None:
    answers: dict[str, ExecResult | OvnError] = {"s0": Unreachable("s0 is away."), "s1": Unreachable("s1 is away.")}
    with pytest.raises(Unreachable, match=r"No server of the Southbound database can be used. s0 is away. s1 is away."):
        ask(cluster_with(answers, {"s0", "s1"}))


def test_a_conflict_is_an_answer() -> None:
    cluster = cluster_with({"s0": Conflict("changed"), "s1": ExecResult(0, "[]", "")}, {"s0", "s1"})
    with pytest.raises(Conflict):
        ask(cluster)


def test_no_pod_runs() -> None:
    cluster = cluster_with({"s0": ExecResult(0, "[]", "")}, set())
    with pytest.raises(
        Unreachable, match=r"No pod of the Southbound database of the OVNCluster ovn in namespace x runs"
    ):
        ask(cluster)

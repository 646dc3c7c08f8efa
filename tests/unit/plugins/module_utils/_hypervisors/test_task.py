"""What is said of rights of agents that the user of a run may not delete, and what stays beside them. With real rights: test_chassis_status_rights.py."""

from __future__ import annotations

import types
import typing as t

import pytest
from fake_cluster import FakeCluster

from ansible_collections.c5c3.ovn.plugins.module_utils._base.errors import Refused
from ansible_collections.c5c3.ovn.plugins.module_utils._hypervisors.observed_state import ObservedHypervisors
from ansible_collections.c5c3.ovn.plugins.module_utils._hypervisors.task import (
    AbsentHypervisors,
    given_agents,
    left_rights,
)
from ansible_collections.c5c3.ovn.plugins.module_utils._kubernetes.apply import key_of
from ansible_collections.c5c3.ovn.plugins.module_utils._manifests.status_rights import observer_rights, status_rights

NAME = "c5c3-ovn-chassis-status-net"


@pytest.mark.parametrize(("account", "given"), [("ovn-controller", None), ("ovs", None), ("agents", "net/agents")])
def test_given_agents(account: str, given: str | None) -> None:
    rights = [*status_rights(account, "net", "ovn", "controller"), *observer_rights("net", "ovn")]
    assert given_agents(rights) == given
    assert given_agents([]) is None


@pytest.mark.parametrize(
    ("kind", "account", "message"),
    [
        ("ClusterRoleBinding", None, "It stays, and lets nobody do anything without the account of the agents: 403."),
        ("ClusterRole", "net/agents", "It stays, and lets nobody do anything by itself: 403."),
        (
            "ClusterRoleBinding",
            "net/agents",
            "It stays, and the ServiceAccount net/agents keeps these rights: 403. An administrator ends that with kubectl delete clusterrolebinding b",
        ),
    ],
)
def test_left_rights(kind: str, account: str | None, message: str) -> None:
    assert left_rights({"kind": kind, "metadata": {"name": "b"}}, account, Refused("403.")) == message


@pytest.mark.parametrize(("account", "policy"), [("ovn-controller", "deleted"), ("agents", "kept")])
def test_the_policy_stays_with_a_binding_that_still_counts(account: str, policy: str) -> None:
    rights = [*status_rights(account, "net", "ovn", "controller"), *observer_rights("net", "ovn")]
    cluster = FakeCluster(*rights)
    cluster.always("delete", Refused("no right.", http_status=403), kind="ClusterRoleBinding")
    index = {key_of(one): one for one in rights}
    observed = ObservedHypervisors("ovn", "net", index, [], {}, None, False)
    desired = types.SimpleNamespace(name="ovn", namespace="net", wait_timeout=1, asked=[], break_lock=False, wait=True)
    run = AbsentHypervisors(cluster, t.cast("t.Any", desired), observed, check_mode=False)
    run._delete(run._objects_to_delete())
    deleted = {one.kind for one in run.progress.done}
    assert ("ValidatingAdmissionPolicy" in deleted) is (policy == "deleted")
    assert ("ValidatingAdmissionPolicyBinding" in deleted) is (policy == "deleted")
    assert "ClusterRole" in deleted
    # The account of the observer is always ours, and deleted.
    keeps = ["net/agents keeps these rights" in text for text in sorted(run.progress.warnings)]
    assert keeps == ([False, True] if policy == "kept" else [False])

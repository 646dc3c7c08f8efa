"""Which accesses the rules of a Role allow."""

from __future__ import annotations

import typing as t

import pytest
from fake_cluster import FakeCluster

from ansible_collections.c5c3.ovn.plugins.module_utils._base.errors import Refused
from ansible_collections.c5c3.ovn.plugins.module_utils._kubernetes.access_review import (
    Access,
    allows,
    missing_account_problem,
    missing_accounts,
    refuse_accounts,
)


def rule(resource: str, verb: str, group: str = "", **more: t.Any) -> dict[str, t.Any]:
    return {"apiGroups": [group], "resources": [resource], "verbs": [verb], **more}


@pytest.mark.parametrize(
    ("rules", "question", "allowed"),
    [
        pytest.param([], Access("", "pods", "get", "", "n"), False, id="no rule"),
        pytest.param([rule("pods", "get")], Access("", "pods", "get", "", "n"), True, id="exactly"),
        pytest.param([rule("pods", "list")], Access("", "pods", "get", "", "n"), False, id="another verb"),
        pytest.param([rule("pods", "get", "apps")], Access("", "pods", "get", "", "n"), False, id="another group"),
        pytest.param([rule("*", "*", "*")], Access("apps", "deployments", "patch", "", "n"), True, id="everything"),
        pytest.param(
            [rule("pods", "get")], Access("", "pods/exec", "get", "", "n"), False, id="a subresource is apart"
        ),
        pytest.param([rule("*", "get")], Access("", "pods/exec", "get", "", "n"), True, id="all with subresources"),
        pytest.param([rule("*/exec", "get")], Access("", "pods/exec", "get", "", "n"), True, id="a subresource of all"),
        pytest.param(
            [rule("pods", "get", resourceNames=["a"])],
            Access("", "pods", "get", "", "n"),
            False,
            id="one name is not all",
        ),
        pytest.param(
            [rule("pods", "get", resourceNames=["a"])],
            Access("", "pods", "get", "a", "n"),
            True,
            id="the name itself",
        ),
        pytest.param(
            [rule("pods", "list"), rule("secrets", "get")],
            Access("", "pods", "get", "", "n"),
            False,
            id="rules do not mix",
        ),
    ],
)
def test_allows(rules: list[dict[str, t.Any]], question: Access, allowed: bool) -> None:
    assert allows(rules, question) is allowed


THERE = {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "team", "namespace": "net"}}


def test_missing_accounts() -> None:
    cluster = FakeCluster(THERE, {**THERE, "metadata": {"name": "away", "namespace": "other"}})
    assert missing_accounts(cluster, "net", ["team", "away", "away"]) == {"away"}


def test_without_a_given_account_nothing_is_asked() -> None:
    cluster = FakeCluster()
    assert missing_account_problem(cluster, "net", {}) == ""
    assert cluster.calls == []


def test_each_missing_one_is_named_with_its_field() -> None:
    given = {"spec.northd.serviceAccountName": "team", "spec.ovs.serviceAccountName": "a", "spec.x": "b"}
    assert missing_account_problem(FakeCluster(THERE), "net", given).startswith(
        "ServiceAccounts net/a (spec.ovs.serviceAccountName) and net/b (spec.x) do not exist, so the API server would refuse the pods. Create them, or"
    )
    one = missing_account_problem(FakeCluster(), "net", {"spec.northd.serviceAccountName": "team"})
    assert one.startswith("ServiceAccount net/team (spec.northd.serviceAccountName) does not exist")
    assert "Create it, or remove the field" in one


def test_a_problem_is_refused() -> None:
    refuse_accounts("")
    with pytest.raises(Refused, match=r"^Why\. Nothing was changed\.$"):
        refuse_accounts("Why.")

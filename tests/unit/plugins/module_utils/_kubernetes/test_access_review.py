"""Which accesses the rules of a Role allow."""

from __future__ import annotations

import typing as t

import pytest

from ansible_collections.c5c3.ovn.plugins.module_utils._kubernetes.access_review import Access, allows


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

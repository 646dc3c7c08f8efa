"""What agents may write. Whether the API server sees to it: tests/integration/test_chassis_status_rights.py."""

from __future__ import annotations

from ansible_collections.c5c3.ovn.plugins.module_utils._manifests.status_rights import (
    ROLE_AND_BINDING,
    STATUS_RIGHTS,
    observer_rights,
    status_rights,
)

POLICY, POLICY_BINDING, ROLE, BINDING = status_rights("ovn-controller", "net", "ovn", "controller")


def test_the_policy_comes_before_the_right() -> None:
    made = [(one["apiVersion"], one["kind"]) for one in (POLICY, POLICY_BINDING, ROLE, BINDING)]
    assert made == list(STATUS_RIGHTS)
    assert made[-1][1] == "ClusterRoleBinding"
    names = {one["metadata"]["name"] for one in (POLICY, POLICY_BINDING, ROLE, BINDING)}
    assert names == {"c5c3-ovn-chassis-status-net"}


def test_the_role_grants_the_status_alone() -> None:
    assert ROLE["rules"] == [
        {"apiGroups": ["ovn.c5c3.io"], "resources": ["ovnchassis/status"], "verbs": ["get", "patch"]}
    ]
    assert BINDING["subjects"] == [{"kind": "ServiceAccount", "name": "ovn-controller", "namespace": "net"}]


def test_the_observer_may_watch_all_and_write_their_status_alone() -> None:
    rights = observer_rights("net", "ovn")
    assert [(one["apiVersion"], one["kind"]) for one in rights] == list(ROLE_AND_BINDING)
    role, binding = rights
    assert {(name, verb) for rule in role["rules"] for name in rule["resources"] for verb in rule["verbs"]} == {
        ("ovnchassis", "list"),
        ("ovnchassis", "watch"),
        ("ovnchassis/status", "patch"),
    }
    assert binding["roleRef"]["name"] == role["metadata"]["name"] == "c5c3-ovn-chassis-observer-net"
    assert binding["subjects"] == [{"kind": "ServiceAccount", "name": "ovn-chassis-observer", "namespace": "net"}]


def test_the_policy_is_about_the_agents_of_this_namespace_and_denies() -> None:
    (condition,) = POLICY["spec"]["matchConditions"]
    assert condition["expression"] == "request.userInfo.username == 'system:serviceaccount:net:ovn-controller'"
    assert POLICY["spec"]["failurePolicy"] == "Fail"
    # Every operation on every OVNChassis, and on what lies below it.
    assert POLICY["spec"]["matchConstraints"] == {
        "resourceRules": [
            {
                "apiGroups": ["ovn.c5c3.io"],
                "apiVersions": ["*"],
                "operations": ["*"],
                "resources": ["ovnchassis", "ovnchassis/*"],
                "scope": "*",
            }
        ],
        "matchPolicy": "Equivalent",
    }
    (validation,) = POLICY["spec"]["validations"]
    node = "request.userInfo.?extra[?'authentication.kubernetes.io/node-name'].orValue([])"
    assert validation["expression"] == f"{node} == [request.name]"
    assert POLICY_BINDING["spec"] == {"policyName": "c5c3-ovn-chassis-status-net", "validationActions": ["Deny"]}

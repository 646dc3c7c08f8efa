"""By which names clients reach a control plane in Kubernetes."""

from __future__ import annotations

import typing as t

import pytest

from ansible_collections.c5c3.ovn.plugins.module_utils._api.names import (
    active_northd,
    label_patch,
    label_patches,
    leader_of,
    service_names,
)
from ansible_collections.c5c3.ovn.plugins.module_utils._raft.verdict import assess

MEMBERS = [
    "*.ovn-northbound.net.svc",
    "*.ovn-northbound.net.svc.example.org",
    "*.ovn-southbound.net.svc",
    "*.ovn-southbound.net.svc.example.org",
]
NB, SB = ([f"{service}.net.svc", f"{service}.net.svc.example.org"] for service in ("ovn-nb", "ovn-sb"))


def integration(**connections: str) -> dict[str, t.Any]:
    return {"neutronIntegration": {key: {"service": {"name": name}} for key, name in connections.items()}}


@pytest.mark.parametrize(
    ("specification", "expected"),
    [
        ({}, [*MEMBERS, *NB, *SB]),
        # what somebody has written and left empty
        (
            {"neutronIntegration": None, "northbound": None, "southbound": {"service": {"hostnames": None}}},
            [*MEMBERS, *NB, *SB],
        ),
        (integration(nbConnection="theirs"), [*MEMBERS, "theirs.net.svc", "theirs.net.svc.example.org", *SB]),
        (integration(sbConnection="theirs"), [*MEMBERS, *NB, "theirs.net.svc", "theirs.net.svc.example.org"]),
        # one name for both databases is there once
        (
            {
                "northbound": {"service": {"hostnames": ["a.example.com", "b.example.com"]}},
                "southbound": {"service": {"hostnames": ["b.example.com", "c.example.com"]}},
            },
            [*MEMBERS, *NB, *SB, "a.example.com", "b.example.com", "c.example.com"],
        ),
    ],
)
def test_names(specification: dict[str, t.Any], expected: list[str]) -> None:
    assert service_names(specification, "ovn", "net", "example.org") == expected


def test_they_are_those_of_this_cluster_and_namespace() -> None:
    names = service_names({}, "blue", "other", "cluster.local")
    assert names[:2] == ["*.blue-northbound.other.svc", "*.blue-northbound.other.svc.cluster.local"]
    assert "ovn-nb.other.svc" in names


if t.TYPE_CHECKING:
    from conftest import Say


def pod(
    name: str, containers: t.Sequence[str] = (), ready: bool = True, containers_ready: bool = True, **labels: str
) -> dict[str, t.Any]:
    conditions = {"Ready": ready, "ContainersReady": containers_ready}
    return {
        "metadata": {"name": name, "labels": {key.replace("_", "-"): value for key, value in labels.items()}},
        "spec": {"containers": [{"name": container} for container in containers]},
        "status": {
            "phase": "Running",
            "conditions": [{"type": kind, "status": str(value)} for kind, value in conditions.items()],
        },
    }


CASES: list[tuple[str, list[dict[str, t.Any]], dict[str, str | None], dict[str, dict[str, str | None]]]] = [
    ("nothing to do", [pod("a", ovn_nb_leader="true"), pod("b")], {"ovn-nb-leader": "a"}, {}),
    ("a first leader", [pod("a"), pod("b")], {"ovn-nb-leader": "a"}, {"a": {"ovn-nb-leader": "true"}}),
    (
        "leadership moved",
        [pod("a", ovn_nb_leader="true"), pod("b")],
        {"ovn-nb-leader": "b"},
        {"a": {"ovn-nb-leader": None}, "b": {"ovn-nb-leader": "true"}},
    ),
    ("nobody leads", [pod("a", ovn_nb_leader="true")], {"ovn-nb-leader": None}, {"a": {"ovn-nb-leader": None}}),
    ("nobody knows", [pod("a", ovn_nb_leader="true")], {}, {}),
    (
        "a label with another value",
        [pod("a", ovn_nb_leader="yes"), pod("b", ovn_nb_leader="false")],
        {"ovn-nb-leader": "a"},
        {"a": {"ovn-nb-leader": "true"}, "b": {"ovn-nb-leader": None}},
    ),
    ("the leader's pod was created again", [pod("a")], {"ovn-nb-leader": "a"}, {"a": {"ovn-nb-leader": "true"}}),
    (
        "the leader was deleted, its next pod has not started",
        [{**pod("a"), "status": {"phase": "Pending"}}],
        {"ovn-nb-leader": "a"},
        {},
    ),
    ("the leader has no pod", [pod("b")], {"ovn-nb-leader": "a"}, {}),
    (
        "both databases",
        [pod("a"), pod("b", ovn_sb_leader="true")],
        {"ovn-nb-leader": "a", "ovn-sb-leader": None},
        {"a": {"ovn-nb-leader": "true"}, "b": {"ovn-sb-leader": None}},
    ),
    ("an active northd labels itself", [pod("n", ovn_northd_leader="true")], {}, {}),
    (
        "one that is not ready yet may be active",
        [pod("n", ready=False, containers_ready=False, ovn_northd_leader="true")],
        {},
        {},
    ),
    (
        "a northd that has ended",
        [{**pod("n", ovn_northd_leader="true"), "status": {"phase": "Failed"}}],
        {},
        {"n": {"ovn-northd-leader": None}},
    ),
    (
        "a northd on a lost node cannot take its label off",
        [pod("n", ready=False, ovn_northd_leader="true")],
        {},
        {"n": {"ovn-northd-leader": None}},
    ),
]


@pytest.mark.parametrize(("pods", "leaders", "expected"), [case[1:] for case in CASES], ids=[case[0] for case in CASES])
def test_label_patches(
    pods: list[dict[str, t.Any]], leaders: dict[str, str | None], expected: dict[str, dict[str, str | None]]
) -> None:
    found = label_patches(pods, leaders)
    assert {name: patch["metadata"]["labels"] for name, patch in found.items()} == expected


def test_a_patch_removes_instead_of_saying_false() -> None:
    assert label_patch("ovn-nb-leader", False) == {"metadata": {"labels": {"ovn-nb-leader": None}}}


def test_a_leader_without_a_majority_is_none(say: Say) -> None:
    assert leader_of(assess(say.healthy(), 3)) == "ovn-northbound-0"
    lonely = assess([say.member(0, leader=True), say.unresponsive(1), say.unresponsive(2)], 3)
    assert lonely.leader == "ovn-northbound-0"
    assert leader_of(lonely) is None


def test_active_northd() -> None:
    component = {"app.kubernetes.io/component": "northd"}

    def northd(name: str, *containers: str, **labels: str) -> dict[str, t.Any]:
        made = pod(name, containers=containers, **labels)
        made["metadata"]["labels"].update(component)
        return made

    assert active_northd([pod("a"), northd("n", "northd")]) is None
    assert active_northd([northd("n", "northd", "status"), northd("m", "northd", "status")]) == []
    assert active_northd([northd("n", "status"), northd("m", "status", ovn_northd_leader="true")]) == ["m"]

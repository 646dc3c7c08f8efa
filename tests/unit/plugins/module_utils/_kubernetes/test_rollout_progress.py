"""What is left to do until the pods are what their owners say."""

from __future__ import annotations

import typing as t

import pytest

from ansible_collections.c5c3.ovn.plugins.module_utils._kubernetes.rollout_progress import (
    has_relay,
    is_available,
    is_database_container_ready,
    pending_items,
)

Object = dict[str, t.Any]
SET, NEW, OLD = "ovn-northbound", "r2", "r1"


def stateful_set(replicas: int = 3, seen: int = 2) -> Object:
    return {
        "metadata": {"name": SET, "generation": 2},
        "spec": {"replicas": replicas},
        "status": {"observedGeneration": seen, "updateRevision": NEW},
    }


def pod(revision: str = NEW, running: bool = True, terminating: bool = False) -> Object:
    state = {"running": {}} if running else {"waiting": {"reason": "ContainerCreating"}}
    metadata = {"labels": {"controller-revision-hash": revision}}
    return {
        "metadata": {**metadata, **({"deletionTimestamp": "2026-01-01T00:00:00Z"} if terminating else {})},
        "status": {"containerStatuses": [{"name": "database", "state": state}]},
    }


def northd(available: int = 3, seen: int = 2, updated: int = 3) -> Object:
    status = {"observedGeneration": seen, "updatedReplicas": updated, "availableReplicas": available}
    return {"metadata": {"generation": 2}, "spec": {"replicas": 3}, "status": status}


def pods(**changed: Object) -> dict[str, Object]:
    found = {f"{SET}-{index}": pod() for index in range(3)}
    for name, one in changed.items():
        found[f"{SET}-{name[1:]}"] = one
    return found


@pytest.mark.parametrize(
    ("there", "deployment", "found", "in_effect", "words"),
    [
        (stateful_set(), northd(), pods(), False, []),
        (stateful_set(), northd(), pods(), True, []),
        (
            stateful_set(),
            northd(),
            pods(p0=pod(OLD), p2=pod(OLD)),
            False,
            ["A restart is due on ovn-northbound-0, ovn"],
        ),
        (stateful_set(), northd(), pods(p0=pod(OLD)), True, ["A restart is due on ovn-northbound-0:"]),
        (stateful_set(), northd(), pods(p1=pod(running=False)), False, ["Pod ovn-northbound-1 does not run."]),
        (stateful_set(), northd(), pods(p1=pod(terminating=True)), False, ["Pod ovn-northbound-1 does not run."]),
        (stateful_set(), northd(), {}, True, []),
        (stateful_set(1), northd(), pods(), False, ["StatefulSet ovn-northbound has 1 of 3 members."]),
        (stateful_set(seen=1), northd(), pods(), False, ["has not observed ovn-northbound"]),
        (None, northd(), {}, True, ["StatefulSet ovn-northbound does not exist."]),
        (stateful_set(), northd(available=2), pods(), False, ["The pods of northd"]),
        (stateful_set(), None, pods(), False, ["The pods of northd"]),
        (stateful_set(), northd(available=0), pods(), True, []),
        (stateful_set(), northd(updated=1), pods(), True, ["The pods of northd"]),
        (stateful_set(), northd(seen=1), pods(), True, ["The pods of northd"]),
        (stateful_set(), None, pods(), True, ["The pods of northd"]),
    ],
    ids=[
        "nothing",
        "nothing since long",
        "two of an old template",
        "one of an old template, of the same specification",
        "one does not run yet",
        "one is on its way out",
        "pods are away for a moment",
        "members join one by one",
        "the controller is slow",
        "another client deleted the StatefulSet",
        "northd is being replaced",
        "northd was not observed",
        "northd is away for a moment",
        "northd gets another image, of the same specification",
        "its controller has not observed it, of the same specification",
        "another client deleted northd",
    ],
)
def test_left_to_do(
    there: Object | None, deployment: Object | None, found: dict[str, Object], in_effect: bool, words: list[str]
) -> None:
    left = pending_items({SET: there}, deployment, found, {SET: 3}, in_effect=in_effect)
    assert len(left) == len(words)
    for told, expected in zip(left, words):
        assert expected in told.message
        assert told.kind == ("restart" if "restart is due" in expected else "missing")


@pytest.mark.parametrize(
    ("deployment", "expected"),
    [
        (northd(), True),
        (northd(seen=1), False),
        (northd(updated=1), False),
        (northd(available=2), False),
        ({"metadata": {"generation": 1}, "spec": {"replicas": 1}}, False),
    ],
    ids=["all are there", "seen before the change", "old pods serve", "one is missing", "nobody has looked"],
)
def test_is_available(deployment: Object, expected: bool) -> None:
    assert is_available(deployment) is expected


@pytest.mark.parametrize(
    ("names", "relay"),
    [([], False), (["another"], False), (["relay"], True)],
    ids=["an older template", "another container", "the template of now"],
)
def test_the_relay_of_a_pod(names: list[str], relay: bool) -> None:
    spec = {"initContainers": [{"name": name} for name in names]} if names else {}
    assert has_relay({"spec": spec}) is relay


@pytest.mark.parametrize(
    ("statuses", "ready"),
    [([], False), ([("database", False)], False), ([("relay", True), ("database", True)], True)],
    ids=["just created", "it does not take part", "it does"],
)
def test_whether_a_member_takes_part(statuses: list[tuple[str, bool]], ready: bool) -> None:
    found = [{"name": name, "ready": is_ready} for name, is_ready in statuses]
    assert is_database_container_ready({"status": {"containerStatuses": found}}) is ready

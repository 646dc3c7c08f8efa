"""What the events of an OVNCluster say, and how often."""

from __future__ import annotations

import typing as t

import pytest
from fake_cluster import FakeCluster

from ansible_collections.c5c3.ovn.plugins.module_utils._base.errors import Unreachable
from ansible_collections.c5c3.ovn.plugins.module_utils._operator.status_writer import Events, describe_changes

CLUSTER = {"metadata": {"name": "ovn", "namespace": "net", "uid": "1"}}


def change(kind: str, name: str, action: str) -> dict[str, str]:
    return {"kind": kind, "name": name, "namespace": "net", "action": action}


@pytest.mark.parametrize(
    ("result", "expected"),
    [
        ({}, "nothing"),
        ({"objects": [change("Service", "a", "unchanged")], "steps": []}, "nothing"),
        ({"objects": None, "steps": None}, "nothing"),
        ({"objects": [change("Service", "a", "created")]}, "Service a created"),
        (
            {
                "objects": [
                    change("Service", "a", "created"),
                    change("Secret", "s", "changed"),
                    change("Service", "b", "unchanged"),
                    change("Service", "c", "created"),
                    change("Service", "d", "changed"),
                ]
            },
            "Service a, c created; Secret s changed; Service d changed",
        ),
        (
            {"objects": [change("DaemonSet", name, "created") for name in "abcde"]},
            "DaemonSet a, b, c and 2 more created",
        ),
        (
            {
                "steps": ["restart ovn-northbound-0", "restart ovn-northbound-1"],
                "objects": [change("Pod", "a", "deleted")],
            },
            "restart ovn-northbound-0; restart ovn-northbound-1; Pod a deleted",
        ),
    ],
)
def test_changes_in_one_sentence(result: dict[str, t.Any], expected: str) -> None:
    assert describe_changes(result) == expected


def told(cluster: FakeCluster) -> list[tuple[str, str, str]]:
    return [
        (one.body["type"], one.body["reason"], one.body["message"]) for one in cluster.calls if one.verb == "create"
    ]


def test_an_event_is_about_the_cluster_and_names_the_place() -> None:
    cluster = FakeCluster()
    Events(cluster, CLUSTER).changed("rack1", {"objects": [change("Secret", "ovn-tls", "created")]})
    (event,) = [one.body for one in cluster.calls]
    assert event["metadata"]["namespace"] == "net"
    assert event["involvedObject"] == {
        "apiVersion": "ovn.c5c3.io/v1alpha1",
        "kind": "OVNCluster",
        "name": "ovn",
        "namespace": "net",
        "uid": "1",
    }
    assert told(cluster) == [("Normal", "Changed", "rack1: Secret ovn-tls created")]


def test_a_cause_is_told_once_for_each_place() -> None:
    cluster = FakeCluster()
    events = Events(cluster, CLUSTER)
    for place in ("rack1", "rack1", "rack2", "rack1"):
        events.failed(place, "Refused", "Fewer members.")
    events.failed("rack1", "Unreachable", "It is away.")
    assert told(cluster) == [
        ("Warning", "Refused", "rack1: Fewer members."),
        ("Warning", "Refused", "rack2: Fewer members."),
        ("Warning", "Unreachable", "rack1: It is away."),
    ]


def test_a_cause_in_other_words_is_told_every_ten_minutes(monkeypatch: pytest.MonkeyPatch) -> None:
    """As messages with a time, a port or a count in them, which differ with every attempt."""
    cluster, now = FakeCluster(), [0.0]
    monkeypatch.setattr("time.monotonic", lambda: now[0])
    events = Events(cluster, CLUSTER)
    for now[0], words in (
        (0, "attempt 1"),
        (300, "attempt 2"),
        (599, "attempt 3"),
        (600, "attempt 4"),
        (900, "attempt 5"),
    ):
        events.failed("rack1", "Unreachable", words)
    assert [message for _kind, _reason, message in told(cluster)] == ["rack1: attempt 1", "rack1: attempt 4"]
    # the same words are no news, however late
    now[0] = 9000
    events.failed("rack1", "Unreachable", "attempt 4")
    assert len(told(cluster)) == 2


def test_after_a_success_a_cause_is_told_anew() -> None:
    cluster = FakeCluster()
    events = Events(cluster, CLUSTER)
    for _time in range(2):
        events.failed("rack1", "Unreachable", "It is away.")
        events.succeeded("rack2")
    assert len(told(cluster)) == 1
    events.succeeded("rack1")
    events.failed("rack1", "Unreachable", "It is away.")
    assert len(told(cluster)) == 2


def test_warnings_that_come_with_every_run_are_told_once() -> None:
    cluster = FakeCluster()
    events = Events(cluster, CLUSTER)
    for _run in range(3):
        events.warned("rack1", "The CA ends.")
        events.warned("rack1", "A node has no address.")
    assert [message for _kind, _reason, message in told(cluster)] == [
        "rack1: The CA ends.",
        "rack1: A node has no address.",
    ]


def test_a_long_message_is_cut_to_what_the_api_server_takes() -> None:
    cluster = FakeCluster()
    Events(cluster, CLUSTER).warned("rack1", "x" * 2000)
    ((_kind, _reason, message),) = told(cluster)
    assert len(message) == 1024
    assert message.endswith("x…")


def test_an_event_that_cannot_be_written_ends_no_run() -> None:
    cluster = FakeCluster()
    cluster.always("create", Unreachable("It is away."), kind="Event")
    Events(cluster, CLUSTER).warned("rack1", "The CA ends.")
    assert len(cluster.asked("create")) == 1

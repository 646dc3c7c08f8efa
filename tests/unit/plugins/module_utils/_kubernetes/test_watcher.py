"""Workloads are watched until they are rolled out."""

from __future__ import annotations

import types
import typing as t

import pytest

from ansible_collections.c5c3.ovn.plugins.module_utils._kubernetes.watcher import watch_until

Object = dict[str, t.Any]


def workload(name: str, ready: int) -> Object:
    return {"metadata": {"name": name}, "status": {"ready": ready}}


@pytest.mark.parametrize(
    ("known", "events", "read", "ready"),
    [
        ({"a": 1, "b": 1}, [("ADDED", "a", 0)], 0, {"a": 1, "b": 1}),
        ({}, [("ADDED", "a", 0), ("ADDED", "b", 1), ("MODIFIED", "a", 1), ("MODIFIED", "a", 0)], 3, {"a": 1, "b": 1}),
        ({"a": 1}, [("DELETED", "a", 1), ("ADDED", "b", 1)], 2, {"b": 1}),
        ({"a": 0}, [], 0, {"a": 0}),
    ],
    ids=["it was reached before", "it is reached", "one is deleted", "the time is up at once"],
)
def test_watch_until(
    known: dict[str, int], events: list[tuple[str, str, int]], read: int, ready: dict[str, int]
) -> None:
    seen: list[str] = []
    asked: list[t.Any] = []

    def watch(*arguments: t.Any, **options: t.Any) -> t.Iterator[tuple[str, Object]]:
        asked.append((arguments, options))
        for kind, name, count in events:
            seen.append(kind)
            yield kind, workload(name, count)

    found = watch_until(
        t.cast(t.Any, types.SimpleNamespace(watch=watch)),
        "DaemonSet",
        "x",
        lambda state: all(name in state and state[name]["status"]["ready"] for name in "ab"),
        known={name: workload(name, count) for name, count in known.items()},
        labels="l",
        timeout=7,
    )
    assert {name: one["status"]["ready"] for name, one in found.items()} == ready
    assert len(seen) == read
    assert asked == [(("apps/v1", "DaemonSet", "x"), {"labels": "l", "fields": "", "timeout": 7})][: len(asked)]

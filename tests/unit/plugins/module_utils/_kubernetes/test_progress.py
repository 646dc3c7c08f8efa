"""What a run has done so far."""

from __future__ import annotations

import pytest

from ansible_collections.c5c3.ovn.plugins.module_utils._kubernetes.apply import Action, ObjectChange
from ansible_collections.c5c3.ovn.plugins.module_utils._kubernetes.progress import Progress


def change(action: Action, name: str = "a", kind: str = "Service") -> ObjectChange:
    after = {"kind": kind, "metadata": {"name": name}, "spec": {"action": action}}
    return ObjectChange(kind, name, "x", action, None if action == "created" else {}, after)


@pytest.mark.parametrize(
    ("progress", "changed"),
    [
        (Progress(), False),
        (Progress(warnings=["look"]), False),
        (Progress([change("unchanged")]), False),
        (Progress([change("unchanged"), change("deleted", "b")]), True),
        (Progress([change("unchanged")], ["start it"]), True),
    ],
    ids=["nothing", "a warning", "compared", "deleted", "a step"],
)
def test_changed(progress: Progress, changed: bool) -> None:
    assert progress.changed is changed


def test_which_objects_are_as_they_were_read() -> None:
    progress = Progress([change("unchanged", "a"), change("changed", "b"), change("unchanged", "c", "Deployment")])
    assert progress.has_changed("Service")
    assert progress.has_changed("Service", "b")
    assert not progress.has_changed("Service", "a")
    assert not progress.has_changed("Deployment")


def test_what_was_done_last() -> None:
    first, second = change("created"), change("changed")
    progress = Progress([first, second, change("unchanged", "b")])
    assert progress.last("Service", "a") is second
    assert progress.last("Deployment", "a") is None


def test_an_object_that_was_changed_twice_is_reported_once() -> None:
    progress = Progress([change("created"), change("changed")], ["start it"])
    assert progress.as_results() == [{"kind": "Service", "name": "a", "namespace": "x", "action": "created"}]
    diff = progress.diff({"before": {"timer": 1}, "after": {"timer": 2}})
    assert diff["before"] == {"settings": {"timer": 1}, "steps": []}
    assert sorted(diff["after"]) == ["Service x/a", "settings", "steps"]


def test_a_warning_comes_once() -> None:
    progress = Progress()
    for message in ("one", "two", "one"):
        progress.warn(message)
    assert progress.warnings == ["one", "two"]

"""What the roles report of the objects in Kubernetes."""

from __future__ import annotations

from ansible_collections.c5c3.ovn.plugins.module_utils._roles.results import changed_objects


def test_unchanged_objects_are_left_out() -> None:
    actions = ("created", "unchanged", "configured")
    objects = [{"action": action, "kind": "Pod", "name": f"p{number}"} for number, action in enumerate(actions)]
    assert changed_objects(objects) == ["created Pod p0", "configured Pod p2"]
    assert changed_objects([]) == []

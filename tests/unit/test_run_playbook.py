"""What the stories of molecule and kind read of a run: the messages of its events."""

from __future__ import annotations

import runpy
import typing as t
from pathlib import Path

import pytest

READER = runpy.run_path(str(Path(__file__).resolve().parents[2] / "molecule" / "shared" / "run_playbook.py"))


@pytest.mark.parametrize(
    ("result", "messages"),
    [
        pytest.param({"action": "c5c3.ovn.ping_report", "lines": ["a -> b"]}, ["a -> b"], id="a step that prints"),
        pytest.param(
            {"action": "c5c3.ovn.show_databases", "results": [{"lines": ["a"]}, {"skipped": True}]},
            ["a"],
            id="in a loop",
        ),
        pytest.param({"action": "ansible.builtin.debug", "msg": "done"}, ["done"], id="a debug task"),
        pytest.param({"action": "ansible.builtin.command", "lines": ["a"], "msg": "done"}, [], id="another module"),
        pytest.param({"action": "c5c3.ovn.ovn_cluster", "warnings": ["late"]}, ["late"], id="a warning"),
    ],
)
def test_messages_of_a_run(result: dict[str, t.Any], messages: list[str]) -> None:
    summary = READER["Summary"]()
    summary.add({"_event": "v2_runner_on_ok", "hosts": {"h1": result}, "task": {"name": "Show"}})
    assert summary.as_dict()["messages"] == messages

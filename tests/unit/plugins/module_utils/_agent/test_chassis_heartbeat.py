"""What the agent is told by its settings. The rest needs daemons: tests/integration/test_chassis_heartbeat.py."""

from __future__ import annotations

import pathlib

import pytest

from ansible_collections.c5c3.ovn.plugins.module_utils._agent.chassis_heartbeat import read_interval
from ansible_collections.c5c3.ovn.plugins.module_utils._errors import InvalidInput


@pytest.mark.parametrize(("text", "expected"), [('{"interval": 60}', 60), ('{"interval": 0}', 0)])
def test_read_interval(tmp_path: pathlib.Path, text: str, expected: float) -> None:
    (tmp_path / "_heartbeat").write_text(text)
    assert read_interval(str(tmp_path)) == expected


def test_without_the_file_it_writes_nothing(tmp_path: pathlib.Path) -> None:
    assert read_interval(str(tmp_path)) is None


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"interval": null}'])
def test_a_damaged_file_is_named(tmp_path: pathlib.Path, text: str) -> None:
    (tmp_path / "_heartbeat").write_text(text)
    with pytest.raises(
        InvalidInput, match=r"_heartbeat cannot be read: .*\. A run of c5c3\.ovn\.hypervisors writes it\."
    ):
        read_interval(str(tmp_path))

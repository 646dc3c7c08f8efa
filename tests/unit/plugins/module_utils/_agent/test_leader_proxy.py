"""What the leader proxy does before it serves."""

from __future__ import annotations

import pathlib

import pytest

from ansible_collections.c5c3.ovn.plugins.module_utils._agent import leader_proxy


def test_the_file_of_a_former_process_says_nothing(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The next container of a pod finds it, and its startup probe would pass before anybody listens."""
    alive = tmp_path / "alive"
    alive.touch()
    monkeypatch.setenv("OVN_ALIVE_FILE", str(alive))
    monkeypatch.delenv("OVN_NORTHBOUND", raising=False)
    assert leader_proxy.main(["--alive"]) == 0
    assert leader_proxy.main([]) == 2  # without settings it does not come to listen
    assert leader_proxy.main(["--alive"]) == 1
    assert leader_proxy.main([]) == 2  # nor is the file needed

"""The text of the launcher."""

from __future__ import annotations

from ansible_collections.c5c3.ovn.plugins.module_utils._daemons.raft_launcher import SCRIPT


def test_the_script_ends_with_its_last_line() -> None:
    """A file without an end of line is not the same file on the next run."""
    assert SCRIPT.endswith("\n")
    assert not SCRIPT.endswith("\n\n")


def test_no_here_document() -> None:
    """Some shells keep them in /tmp, and the root file system of a pod is read-only."""
    assert "<<" not in SCRIPT

"""The launcher as the role gets it."""

from __future__ import annotations

from ansible_collections.c5c3.ovn.plugins.filter.raft_launcher import FilterModule
from ansible_collections.c5c3.ovn.plugins.module_utils._daemons.raft_launcher import SCRIPT

raft_launcher = FilterModule().filters()["raft_launcher"]


def test_the_usual_shell_changes_nothing() -> None:
    assert raft_launcher("/bin/sh") == SCRIPT


def test_another_shell_changes_the_first_line_only() -> None:
    first, rest = raft_launcher("/opt/bin/sh").split("\n", 1)
    assert first == "#!/opt/bin/sh"
    assert rest == SCRIPT.split("\n", 1)[1]


def test_the_script_ends_with_its_last_line() -> None:
    """A file without an end of line is not the same file on the next run."""
    assert SCRIPT.endswith("\n")
    assert not SCRIPT.endswith("\n\n")


def test_no_here_document() -> None:
    """Some shells keep them in /tmp, and the root file system of a pod is read-only."""
    assert "<<" not in SCRIPT

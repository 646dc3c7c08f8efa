from __future__ import annotations

import errno
import os
import tempfile

import pytest

from ansible_collections.c5c3.ovn.plugins.module_utils._base.errors import OvnError
from ansible_collections.c5c3.ovn.plugins.module_utils._machine.commands import Commands


def test_both_outputs_and_the_exit_code_are_returned() -> None:
    script = 'echo "$GIVEN $HOME"; printf "\\377 no UTF-8" >&2; exit 3'
    answer = Commands().run(["sh", "-c", script], {"GIVEN": "value"})
    assert answer == (3, f"value {os.environ['HOME']}\n", "\N{REPLACEMENT CHARACTER} no UTF-8")


def test_output_needs_no_space_for_temporary_files(monkeypatch: pytest.MonkeyPatch) -> None:
    """A program that prints to a full disk often exits with 0."""
    monkeypatch.setattr(tempfile, "tempdir", "/dev/full")
    assert Commands().run(["echo", "complete"]) == (0, "complete\n", "")


def test_without_memory_for_the_output_the_command_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    def memfd_create(name: str) -> int:
        raise OSError(errno.ENOMEM, os.strerror(errno.ENOMEM))

    monkeypatch.setattr(os, "memfd_create", memfd_create)
    with pytest.raises(OvnError, match=r"Cannot run echo: Cannot allocate memory\."):
        Commands().run(["echo", "complete"])


def test_a_program_that_the_command_leaves_behind_is_not_waited_for() -> None:
    """It has the outputs open. AnsibleModule.run_command does not wait either, subprocess with pipes would."""
    code, out, _err = Commands().run(["sh", "-c", "sleep 60 & echo $!"])
    os.kill(int(out), 9)  # it is still there
    assert code == 0


def test_a_program_that_is_not_installed_is_named() -> None:
    with pytest.raises(OvnError, match=r"Cannot run /nowhere/program: No such file or directory\. Check that it is"):
        Commands().run(["/nowhere/program"])
    assert Commands().find("no-such-program") == ""
    assert Commands().find("sh").endswith("/sh")

"""Commands in containers: where they are run, how they get input, what they came to."""

from __future__ import annotations

import json
import subprocess

import pytest

from ansible_collections.c5c3.ovn.plugins.module_utils._base.errors import Refused, Unreachable
from ansible_collections.c5c3.ovn.plugins.module_utils._kubernetes.command import (
    command_with_stdin,
    exec_url,
    exit_code,
)

FAILED = {
    "status": "Failure",
    "reason": "NonZeroExitCode",
    "details": {"causes": [{"reason": "ExitCode", "message": "7"}]},
}


@pytest.mark.parametrize(("channel", "code"), [('{"status":"Success"}', 0), (json.dumps(FAILED), 7)])
def test_the_exit_code(channel: str, code: int) -> None:
    assert exit_code(channel, "run x") == code


def test_a_command_that_cannot_run() -> None:
    with pytest.raises(Refused, match="executable file not found"):
        exit_code('{"status":"Failure","message":"exec: \\"x\\": executable file not found"}', "run x")


@pytest.mark.parametrize("channel", ["", '{"status":'])
def test_a_connection_that_ended_early(channel: str) -> None:
    with pytest.raises(Unreachable, match="run again"):
        exit_code(channel, "run x")


def test_the_url_keeps_every_word_apart() -> None:
    url = exec_url("https://a:6443/base", "n", "p-0", "c", ["sh", "-c", "echo a & b"], False)
    assert url.startswith(
        "wss://a:6443/base/api/v1/namespaces/n/pods/p-0/exec?container=c&command=sh&command=-c&command=echo+a+%26+b"
    )


def test_without_input_a_command_stays_as_it_is() -> None:
    assert command_with_stdin(["cat"], None) == ["cat"]


@pytest.mark.parametrize("data", [b"", b"two\nlines", "ä".encode() * 30000], ids=["empty", "lines", "large"])
def test_a_command_sees_the_end_of_its_input(data: bytes) -> None:
    with subprocess.Popen(command_with_stdin(["cat"], data), stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write(data)
        process.stdin.flush()  # and never closed
        assert process.stdout.read() == data
        assert process.wait(10) == 0

"""What the tests of the launcher share: a cluster for each test, and ways to ask a member."""

from __future__ import annotations

import os
import subprocess
import typing as t

import pytest
from _launcher_lib import ASK, DATABASE, IDLE, REFUSE, Cluster, Member
from _waits import within

STRANGER = "11111111-2222-4333-8444-555555555555"


@pytest.fixture
def cluster() -> t.Iterator[Cluster]:
    made = Cluster()
    yield made
    made.close()


def fill(member: Member, *rows: str, comment: str = "") -> None:
    """Insert logical switches, given as JSON members of the insert operation."""
    operations = [f'{{"op":"insert","table":"Logical_Switch",{row}}}' for row in rows]
    operations.append(f'{{"op":"comment","comment":"{comment}"}}')
    subprocess.run(
        ["ovsdb-client", "-t", "5", "transact", f"unix:{member.sock}", f'["{DATABASE}",{",".join(operations)}]'],
        check=True,
        capture_output=True,
        timeout=within(20),
    )


def refused(member: Member, code: int, file_class: str, words: str) -> None:
    """`check` and `run` both stop with this code, say why, and leave every file as it is."""
    before = sorted((p.name, p.stat().st_size) for p in member.data.iterdir() if "~lock~" not in p.name)
    for verb in ("check", "run"):
        answer = member.call(verb)
        assert answer.returncode == code, answer.stderr
        assert words in answer.stderr
        assert member.state("class") == file_class
        assert words in member.state("reason")
        assert member.state() == {ASK: "ask", REFUSE: "refuse", IDLE: "idle"}[code]
    assert before == sorted((p.name, p.stat().st_size) for p in member.data.iterdir() if "~lock~" not in p.name)
    assert member.server_pid() is None


def fake_server(cluster: Cluster, words: str) -> str:
    """A PATH with an ovsdb-server that says this and fails; it counts its starts in the file `starts`."""
    fake = cluster.root / "bin"
    fake.mkdir()
    (fake / "ovsdb-server").write_text(f'#!/bin/sh\necho >>"$0.starts"\necho "{words}" >&2\nexit 1\n')
    (fake / "ovsdb-server").chmod(0o755)
    return f"{fake}:{os.environ['PATH']}"

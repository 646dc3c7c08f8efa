"""Files of 500 MB and failing tools: the launcher reads a file once, and never takes a failure for damage."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import typing as t
from pathlib import Path

import _launcher_cases
import pytest
from _big_database import create, grow_log, grow_snapshot
from _launcher_lib import ASK, SCHEMA, Cluster, Member, until

MEBIBYTES = 500
Grow = t.Callable[[Path, int], int]


cluster = _launcher_cases.cluster  # fixture


# What its children cost cannot be told from what others have cost, unless it has no others.
_METER = """
import json, resource, subprocess, sys
done = subprocess.run(sys.argv[1:], check=True, capture_output=True, text=True)
read = dict(line.split(": ") for line in open("/proc/self/io").read().splitlines())["rchar"]
print(json.dumps([done.stdout, int(read), resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss * 1024]))
"""


class Cost(t.NamedTuple):
    facts: dict[str, str]
    read: int  # bytes, by all processes together, also from the page cache
    memory: int  # bytes, of the largest process


def measure(member: Member) -> Cost:
    """The verb `state` and all processes that it starts."""
    done = subprocess.run(
        [sys.executable, "-S", "-c", _METER, *member.launcher, "state"],
        env=os.environ | member.env,
        check=True,
        capture_output=True,
        text=True,
        timeout=60,
    )
    output, read, memory = json.loads(done.stdout)
    return Cost(dict(line.split("=", 1) for line in output.splitlines()), read, memory)


@pytest.mark.parametrize("grow", [grow_log, grow_snapshot], ids=["a long log", "a large snapshot"])
def test_a_large_file_is_read_once_before_a_start(cluster: Cluster, grow: Grow) -> None:
    """The server that starts next reads it, too, and takes twice the memory. A second query before the file changes reads nothing of it."""
    first = cluster.members[0]
    create(first.file, SCHEMA, first.address)
    small = measure(first)
    assert small.facts["class"] == "member"
    index = grow(first.file, MEBIBYTES)
    size = first.file.stat().st_size
    assert size > MEBIBYTES * 2**20 * 0.95
    large, again = measure(first), measure(first)
    for cost in (large, again):
        assert (cost.facts["class"], cost.facts["decision"]) == ("member", "start")
        assert (cost.facts["last_index"], cost.facts["sid"]) == (str(index), small.facts["sid"])
    assert size < large.read < 1.05 * size
    assert large.memory < 1.3 * size
    assert again.memory < 50 * 2**20
    assert again.read < small.read + size / 60


def test_damage_in_a_large_file_is_read_by_one_call(cluster: Cluster) -> None:
    """A run waits 15 s for a pod to say what its file is. The next attempt to start reads the file again."""
    first = cluster.members[0]
    create(first.file, SCHEMA, first.address)
    grow_log(first.file, 50)
    size = first.file.stat().st_size
    with first.file.open("r+b") as file:
        file.seek(size // 2)
        file.write(bytes(64))
    damaged, again = measure(first), measure(first)
    assert damaged.facts["class"] == again.facts["class"] == "broken"
    assert damaged.facts["reason"] == again.facts["reason"]
    assert damaged.read > 2 * size
    assert again.read < size / 10
    first.call("run")
    assert first.state("class") == "broken"


@pytest.mark.parametrize("grow", [grow_log, grow_snapshot], ids=["a long log", "a large snapshot"])
def test_the_generated_files_are_what_a_server_takes(cluster: Cluster, grow: Grow) -> None:
    """Otherwise the tests above would prove nothing."""
    first = cluster.members[0]
    create(first.file, SCHEMA, first.address)
    index = grow(first.file, 20)
    first.up()
    assert f"Log: [{index + 1 if grow is grow_snapshot else 2}, " in first.cluster_status()
    assert "syntax error" not in first.log.read_text()
    assert "WARN" not in first.log.read_text()
    assert first.terminate() == 0
    assert int(first.examined()["last_index"]) >= index


# Failing tools ----------------------------------------------------------------------------------------------------
def failing(cluster: Cluster, tool: str, how: str) -> str:
    """A PATH on which this tool fails: always, or only at its first call."""
    folder = cluster.root / "failing"
    folder.mkdir()
    real = subprocess.run(["sh", "-c", f"command -v {tool}"], check=True, capture_output=True, text=True).stdout.strip()
    once = f'[ ! -e "$0.called" ] || exec {real} "$@"\n: >"$0.called"\n' if how == "once" else ""
    (folder / tool).write_text(f"#!/bin/sh\n{once}exit 137\n")
    (folder / tool).chmod(0o755)
    return f"{folder}:{os.environ['PATH']}"


@pytest.mark.parametrize("tool", ["dd", "sed", "grep", "stat", "sha1sum", "tr", "ovsdb-tool"])
def test_a_failing_tool_says_nothing_about_the_file(cluster: Cluster, tool: str) -> None:
    first = cluster.found()
    first.terminate()
    before = first.file.read_bytes()
    path = failing(cluster, tool, "always")
    answer = first.call("state", PATH=path)
    facts = dict(line.split("=", 1) for line in answer.stdout.splitlines())
    assert (facts["class"], facts["decision"]) == ("unknown", "ask")
    assert "its file cannot be examined, and is kept" in facts["reason"]
    assert first.call("run", PATH=path).returncode == ASK
    assert first.file.read_bytes() == before
    assert first.examined()["decision"] == "start"


@pytest.mark.parametrize("tool", ["dd", "sed", "grep", "stat", "sha1sum", "tr", "ovsdb-tool"])
def test_one_failure_of_a_tool_is_no_verdict(cluster: Cluster, tool: str) -> None:
    first = cluster.found()
    sid = first.sid
    first.kill()
    first.start(PATH=failing(cluster, tool, "once"), OVN_WAIT="1")
    until(first.connected, "started all the same")
    assert first.sid == sid


def test_a_file_that_the_record_gives_up_stays_while_a_tool_fails(cluster: Cluster) -> None:
    """Whose file it is cannot be told, so nothing is moved aside."""
    first = cluster.found()
    first.kill()
    cluster.declare(first, "expected", first.sid)
    assert first.call("run", PATH=failing(cluster, "dd", "always")).returncode == ASK
    assert [p.name for p in first.data.iterdir() if "lock" not in p.name] == [first.file.name]


def test_a_program_that_is_not_installed_is_waited_for(cluster: Cluster) -> None:
    first = cluster.found()
    first.kill()
    folder = cluster.root / "few"
    folder.mkdir()
    for name in os.listdir("/usr/bin"):
        (folder / name).symlink_to(Path("/usr/bin") / name)
    for name in ("ovsdb-server", "ovsdb-tool"):
        (folder / name).unlink(missing_ok=True)
    first.start(PATH=str(folder), OVN_WAIT="1")
    until(lambda: "is not installed" in first.state("reason"), "asked")
    for name in ("ovsdb-tool", "ovsdb-server"):
        (folder / name).symlink_to(next(p for p in (Path("/usr/sbin", name), Path("/usr/bin", name)) if p.exists()))
    until(first.connected, "started")


# Files that are no files -------------------------------------------------------------------------------------------
@pytest.mark.parametrize("kind", ["directory", "link to nothing", "pipe"])
def test_something_else_in_the_place_of_the_file_is_kept(cluster: Cluster, kind: str) -> None:
    first = cluster.members[0]
    cluster.publish(permit=first.id)
    if kind == "directory":
        first.file.mkdir()
    elif kind == "pipe":
        os.mkfifo(first.file)
    else:
        first.file.symlink_to(first.dir / "nothing")
    facts = first.examined()
    assert (facts["class"], facts["decision"]) == ("unknown", "ask")
    assert "is not a regular file" in facts["reason"]
    assert first.call("run").returncode == ASK


def test_a_joiner_refuses_an_address_that_is_somebody_elses(cluster: Cluster) -> None:
    second = cluster.members[1]
    second.address = second.env["OVN_LOCAL_ADDRESS"] = "tcp:192.0.2.77:6643"
    cluster.publish(cid="11111111-2222-4333-8444-555555555555")
    facts = second.examined()
    assert facts["decision"] == "refuse"
    assert "tcp:192.0.2.77:6643 is not an address of this host" in facts["reason"]
    assert not second.file.exists()

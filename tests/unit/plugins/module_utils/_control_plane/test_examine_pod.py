"""What the examining command says, as captured from real servers, and what becomes of it."""

from __future__ import annotations

import json
import re
import typing as t
from pathlib import Path

import pytest

from ansible_collections.c5c3.ovn.plugins.module_utils._control_plane.examine_pod import (
    examine_command,
    parse_examination,
    parse_observation,
)
from ansible_collections.c5c3.ovn.plugins.module_utils._kubernetes.client import ExecResult
from ansible_collections.c5c3.ovn.plugins.module_utils._raft.cluster_witness import Entry, LogTerms
from ansible_collections.c5c3.ovn.plugins.module_utils._raft.observation import Observation

CAPTURES = Path(__file__).resolve().parents[1] / "captures" / "pods"
RECORD = {"cid": "the one that counts"}


def captured(name: str) -> ExecResult:
    return ExecResult(**json.loads((CAPTURES / f"{name}.json").read_text()))


def pod(revision: str = "r1", **metadata: t.Any) -> dict[str, t.Any]:
    return {"metadata": {"name": "m1", "labels": {"controller-revision-hash": revision}, **metadata}}


def examine(name: str, **changes: t.Any) -> Observation:
    found = parse_observation("northbound", "m1", captured(name), changes.get("pod", pod()), "r1", RECORD)
    assert found is not None
    return found


@pytest.mark.parametrize(
    ("capture", "file_class", "running", "connected", "leader"),
    [
        ("before-the-launcher", "none", False, False, False),
        ("waiting-for-the-permit", "none", False, False, False),
        ("leader", "member", True, True, True),
        ("follower", "member", True, True, False),
        ("without-quorum", "member", True, False, False),
        ("reading-its-file", "member", True, False, False),
        ("running-on-a-deleted-file", "none", True, True, False),
        ("lost-volume", "none", False, False, False),
        ("standalone", "standalone", False, False, False),
        ("wrong-settings", "unknown", True, False, False),
    ],
)
def test_what_a_member_is(capture: str, file_class: str, running: bool, connected: bool, leader: bool) -> None:
    found = examine(capture)
    assert (found.file_class, found.running) == (file_class, running)
    assert (found.connected, found.leader) == (connected, leader)
    assert found.record is RECORD
    assert found.installed
    assert Observation.from_dict(json.loads(json.dumps(found.as_dict()))) == found


def test_a_leader_is_asked_twice_and_lists_its_members() -> None:
    found = examine("leader")
    assert found.cid is not None
    assert found.file_cid == found.cid
    assert found.sid == found.file_sid
    assert len(found.listed) == 3
    assert found.listed[(found.sid or "")[:4]].startswith("tcp:127.")
    assert found.answer["earlier_status"] != found.answer["cluster_status"]
    assert examine("follower").answer["earlier_status"] is None


def test_the_reason_of_a_refusal_is_the_launchers() -> None:
    assert "is a standalone database" in examine("standalone").file_reason


def test_a_server_that_hangs_is_unknown() -> None:
    assert parse_observation("northbound", "m1", captured("hanging"), pod(), "r1", None) is None


@pytest.mark.parametrize("code", [1, 124, 127, 137])
def test_a_launcher_that_fails_says_nothing_about_the_file(code: int) -> None:
    whole = captured("lost-volume")
    before, _file, rest = whole.stdout.partition("@file 0\n")
    after = rest[rest.index("@witness") :]
    failed = whole._replace(stdout=f"{before}@file {code}\n {after}")
    found = parse_observation("northbound", "m1", failed, pod(), "r1", None)
    assert found is not None
    assert (found.file_class, found.is_lost, found.running) == ("unknown", False, False)
    assert f"(code {code})" in found.file_reason


def test_a_member_that_takes_part_is_the_witness_of_itself() -> None:
    """Its launcher is not asked for the file: index and ids are the server's, sizes and witnesses the pod's."""
    found = examine("leader")
    assert "last_index" not in captured("leader").stdout
    assert found.last_index is not None
    assert found.witness_index is not None
    assert 0 < found.witness_index <= found.last_index
    assert found.witnesses[(found.sid or "")[:4]] == found.witness_index
    assert (found.file_bytes or 0) > 10000
    assert found.start_problem == ""
    assert (found.free_bytes or 0) > 2**20


def test_terms_that_the_launcher_of_a_pod_publishes_are_in_its_answer() -> None:
    whole = captured("leader")
    published = whole._replace(stdout=whole.stdout.replace("@end", "@terms 0\n term 2 1\n lost 1 9\n@end"))
    found = parse_observation("northbound", "m1", published, pod(), "r1", None)
    assert found is not None
    assert found.reported_answer is not None
    assert found.reported_answer.terms == LogTerms(((2, 1),), Entry(1, 9))


def test_a_file_system_that_is_too_small_for_a_snapshot_hinders_a_start() -> None:
    whole = captured("leader")
    small = whole._replace(stdout=re.sub(r"free=\d+\*\d+", "free=2*4096", whole.stdout))
    found = parse_observation("northbound", "m1", small, pod(), "r1", None)
    assert found is not None
    assert "has 8 KiB free" in found.start_problem


@pytest.mark.parametrize(("capture", "misses"), [("leader", True), ("without-quorum", False)])
def test_a_file_that_misses_what_its_server_has_in_memory(capture: str, misses: bool) -> None:
    """A server that has given up completes no file any more: that must not keep anybody from restarting it."""
    whole = captured(capture)
    part = "@space 0\n incomplete=yes\n free=1000000*4096\n file=10000\n"
    marked = whole._replace(stdout=re.sub(r"(?ms)^@space .*?(?=^@)", "", whole.stdout).replace("@end", f"{part}@end"))
    found = parse_observation("northbound", "m1", marked, pod(), "r1", None)
    assert found is not None
    assert ("misses what its server could not write" in found.start_problem) == misses


def test_a_hanging_server_is_reported() -> None:
    assert "does not answer since 90" in parse_examination("northbound", "m1", captured("hanging")).problem


def test_a_pod_that_cannot_be_asked_or_ends_is_unknown() -> None:
    assert parse_observation("northbound", "m1", None, pod(), "r1", None) is None
    ending = pod(deletionTimestamp="2026-01-01T00:00:00Z")
    assert parse_observation("northbound", "m1", captured("leader"), ending, "r1", None) is None


@pytest.mark.parametrize(
    ("capture", "revision", "update", "reason"),
    [
        ("leader", "r1", "r1", ""),
        ("leader", "r1", "r2", "its pod template has changed"),
        ("leader", "r1", "", ""),
        ("lost-volume", "r1", "r2", ""),
    ],
)
def test_a_restart_is_due_when_a_new_pod_would_be_another_one(
    capture: str, revision: str, update: str, reason: str
) -> None:
    found = parse_observation("northbound", "m1", captured(capture), pod(revision), update, None)
    assert found is not None
    assert found.restart_reason == reason


@pytest.mark.parametrize("cut", [0, 40, 400, 1500, 2200, -30])
def test_partial_reply_is_rejected(cut: int) -> None:
    whole = captured("leader")
    assert parse_observation("northbound", "m1", whole._replace(stdout=whole.stdout[:cut]), pod(), "r1", None) is None


def test_no_line_of_a_program_passes_for_a_part() -> None:
    whole = captured("leader")
    lines = " Disconnections: 0\n @file 0\n class=standalone\n"
    forged = whole._replace(stdout=whole.stdout.replace(" Disconnections: 0\n", lines))
    assert forged != whole
    found = parse_observation("northbound", "m1", forged, pod(), "r1", None)
    assert found is not None
    assert found.file_class == "member"


@pytest.mark.parametrize(
    ("capture", "codes", "words"),
    [
        ("leader", [], ""),
        ("hanging", ["timeout"], "does not answer in time"),
        ("lost-volume", ["unreachable"], "its database is lost"),
        ("before-the-launcher", ["unreachable"], "No server answers on the control socket of pod m1"),
    ],
)
def test_why_a_member_says_nothing(capture: str, codes: list[str], words: str) -> None:
    problems = parse_examination("northbound", "m1", captured(capture)).answer.problems
    assert [problem.code for problem in problems] == codes
    assert words in "".join(problem.message for problem in problems)


def test_a_server_without_the_cluster_is_reported() -> None:
    said = ExecResult(
        0, "@status 2\n \n", '@status\n"cluster/status" is not a valid command\novs-appctl: server error\n'
    )
    assert [p.code for p in parse_examination("northbound", "m1", said).answer.problems] == ["no_database"]


def test_the_record_that_the_pod_sees() -> None:
    assert parse_examination("northbound", "m1", captured("leader")).revision == 5
    assert parse_examination("northbound", "m1", captured("before-the-launcher")).revision is None


def test_the_file_is_examined_when_wanted() -> None:
    assert examine_command("never")[-1] == "never"
    assert examine_command("always")[:2] == ["sh", "-c"]

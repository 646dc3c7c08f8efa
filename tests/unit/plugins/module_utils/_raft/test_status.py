from __future__ import annotations

import typing as t

import pytest

from ansible_collections.c5c3.ovn.plugins.module_utils._base.errors import InvalidInput, TimedOut
from ansible_collections.c5c3.ovn.plugins.module_utils._raft import status
from ansible_collections.c5c3.ovn.plugins.module_utils._raft.answer import Answer, failed_answer
from ansible_collections.c5c3.ovn.plugins.module_utils._raft.ask import AskResult
from ansible_collections.c5c3.ovn.plugins.module_utils._raft.status import (
    Expected,
    Source,
    await_verdict,
    check_options,
    examine,
)
from ansible_collections.c5c3.ovn.plugins.module_utils._raft.verdict import Verdict

NOTHING = Expected(None, None, 14)


class Members:
    """Tells what it is asked, and lets the verdicts of a list follow each other; the last one stays."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, *verdicts: Verdict, asked: AskResult | None = None) -> None:
        self.asked = asked or AskResult([failed_answer("c1", "OVN_Northbound", "timeout", "It said nothing.")])
        self.log: list[t.Any] = []
        self.judged: list[dict[str, t.Any]] = []
        self.verdicts = list(verdicts)
        monkeypatch.setattr(status, "assess", self.assess)
        monkeypatch.setattr(status.time, "sleep", lambda seconds: self.log.append(("sleep", seconds)))

    def source(self) -> Source:
        return Source(self.ask, self.read)

    def ask(self, timeout: float, earlier: t.Sequence[Answer]) -> AskResult:
        self.log.append(("ask", timeout, len(earlier)))
        return self.asked

    def read(self, answers: t.Sequence[Answer], seconds: float) -> list[Answer]:
        self.log.append(("read", seconds))
        return [*answers, *answers]

    def assess(self, answers: t.Sequence[Answer], members: int | None, cid: str | None, **more: t.Any) -> Verdict:
        self.judged.append({"answers": len(answers), "members": members, "cid": cid, **more})
        return self.verdicts.pop(0) if len(self.verdicts) > 1 else self.verdicts[0]


HEALTHY = Verdict("healthy", True, ())
DEGRADED = Verdict("degraded", True, ())
DOUBTFUL = Verdict("no_quorum", False, (), transient=True)


@pytest.mark.parametrize(
    ("verdicts", "asks"),
    [
        pytest.param([DEGRADED], [0], id="what stays is looked at once"),
        pytest.param([DOUBTFUL, HEALTHY], [0, 1], id="what may pass is looked at again"),
        pytest.param([DOUBTFUL], [0, 1, 1], id="three times at most"),
    ],
)
def test_samples(monkeypatch: pytest.MonkeyPatch, verdicts: list[Verdict], asks: list[int]) -> None:
    members = Members(monkeypatch, *verdicts)
    result = examine(members.source(), NOTHING, 3.0)
    assert result.verdict == verdicts[-1]
    assert [entry for entry in members.log if entry[0] == "ask"] == [("ask", 3.0, earlier) for earlier in asks]
    assert [len(call["earlier"]) for call in members.judged] == list(range(len(asks)))


def test_contents_are_read_once_and_judged(monkeypatch: pytest.MonkeyPatch) -> None:
    members = Members(monkeypatch, HEALTHY)
    result = examine(members.source(), NOTHING, 3.0, 60.0)
    assert members.log == [("ask", 3.0, 0), ("read", 60.0)]
    assert ([call["answers"] for call in members.judged], len(result.answers)) == ([1, 2], 2)


@pytest.mark.parametrize(
    ("expected", "judged"),
    [
        pytest.param(NOTHING, (3, "recorded"), id="the record says it"),
        pytest.param(Expected(5, "given", 14), (5, "given"), id="the task says it"),
    ],
)
def test_what_is_expected(monkeypatch: pytest.MonkeyPatch, expected: Expected, judged: tuple[int, str]) -> None:
    members = Members(monkeypatch, HEALTHY, asked=AskResult([], 3, "recorded"))
    examine(members.source(), expected, 3.0)
    assert [(call["members"], call["cid"]) for call in members.judged] == [judged]


def wait(members: Members, wait_for: t.Literal["quorum", "healthy"], seconds: float) -> status.Status:
    return await_verdict(members.source(), NOTHING, 3.0, database="northbound", wait_for=wait_for, seconds=seconds)


def test_quorum_is_enough_where_it_is_awaited(monkeypatch: pytest.MonkeyPatch) -> None:
    assert wait(Members(monkeypatch, DEGRADED), "quorum", 30.0).verdict == DEGRADED


def test_it_looks_again_less_and_less_often(monkeypatch: pytest.MonkeyPatch) -> None:
    members = Members(monkeypatch, DEGRADED, DEGRADED, HEALTHY)
    assert wait(members, "healthy", 30.0).verdict == HEALTHY
    assert [round(entry[1], 3) for entry in members.log if entry[0] == "sleep"] == [0.1, 0.15]


def test_too_late_tells_the_last_verdict(monkeypatch: pytest.MonkeyPatch) -> None:
    members = Members(monkeypatch, DEGRADED)
    with pytest.raises(TimedOut, match=r"^The northbound cluster was not healthy within 0 s\. Last verdict") as e:
        wait(members, "healthy", 0.0)
    assert (e.value.details["verdict"], len(e.value.details["answers"])) == ("degraded", 1)
    assert members.log == [("ask", 1.0, 0)]


@pytest.mark.parametrize(
    ("members", "seconds", "message"),
    [
        (0, {}, "expected_members is 0: a cluster has at least one."),
        (3, {"timeout": 5.0, "contents_timeout": 0.0}, "contents_timeout is 0: it must be more than 0 seconds."),
        (None, {"timeout": -1.5}, "timeout is -1.5: it must be more than 0 seconds."),
    ],
)
def test_options_that_can_never_work(members: int | None, seconds: dict[str, float], message: str) -> None:
    with pytest.raises(InvalidInput) as e:
        check_options(members, **seconds)
    assert str(e.value) == message


def test_options_that_work() -> None:
    check_options(1, timeout=0.1)
    check_options(None)

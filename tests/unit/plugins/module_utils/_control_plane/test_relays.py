"""Which relays a rolling change waits for, and for how long."""

from __future__ import annotations

import typing as t

import pytest
from fake_cluster import FakeCluster

from ansible_collections.c5c3.ovn.plugins.module_utils._base.deadline import Deadline
from ansible_collections.c5c3.ovn.plugins.module_utils._base.errors import OvnError, Refused, TimedOut
from ansible_collections.c5c3.ovn.plugins.module_utils._control_plane import relays
from ansible_collections.c5c3.ovn.plugins.module_utils._control_plane.relays import Relays, is_rollout, relays_to_await
from ansible_collections.c5c3.ovn.plugins.module_utils._kubernetes.client import ExecResult
from ansible_collections.c5c3.ovn.plugins.module_utils._kubernetes.pod_startup import PodStartup
from ansible_collections.c5c3.ovn.plugins.module_utils._manifests import pods as manifests
from ansible_collections.c5c3.ovn.plugins.module_utils._raft.observation import Observation

Pod = dict[str, t.Any]


def pod(*, relay: bool = True, revision: str = "new", ready: bool = True) -> Pod:
    return {
        "metadata": {"labels": {"controller-revision-hash": revision}},
        "spec": {"initContainers": [{"name": "relay"}] if relay else []},
        "status": {"containerStatuses": [{"name": "database", "ready": ready}]},
    }


@pytest.mark.parametrize(
    ("others", "awaited"),
    [
        pytest.param({"b": pod(), "c": pod()}, ["b", "c"], id="chassis go there"),
        pytest.param({"b": pod(relay=False)}, [], id="the member serves chassis itself"),
        pytest.param({"b": pod(revision="old")}, [], id="its own restart comes"),
        pytest.param({"b": pod(ready=False)}, [], id="its member serves nobody"),
    ],
)
def test_which_relays_chassis_need(others: dict[str, Pod], awaited: list[str]) -> None:
    assert relays_to_await({"a": pod(revision="old"), **others}, ["a"], "new") == awaited


TEMPLATE = "its pod template has changed"


@pytest.mark.parametrize(
    ("connected", "reason", "rolls"),
    [(True, TEMPLATE, True), (False, TEMPLATE, False), (True, "", False)],
    ids=["another template", "a broken member with another template", "another reason"],
)
def test_a_member_that_is_mended_waits_for_nobody(connected: bool, reason: str, rolls: bool) -> None:
    found = {"a": Observation("a", connected=connected, restart_reason=reason)}
    assert is_rollout(["a"], found) is rolls
    assert not is_rollout(["a", "b"], found)


class Members:
    """Pods a and b; their relays answer one after the other of what is given, the last one for ever."""

    def __init__(self, *answers: ExecResult | OvnError, unrecoverable: bool = False) -> None:
        self.cluster, self.namespace, self.unrecoverable = FakeCluster(), "x", unrecoverable
        self.answers = list(answers)
        self.asked: list[t.Any] = []
        t.cast("t.Any", self.cluster).exec = self._exec

    def _exec(self, *where: t.Any, **_options: t.Any) -> ExecResult:
        self.asked.append(where)
        answer = self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]
        if isinstance(answer, OvnError):
            raise answer
        return answer

    def pods(self) -> dict[str, Pod]:
        return {"a": pod(), "b": pod(), "old": pod(relay=False)}

    def assess_startups(self, names: t.Sequence[str], _pods: t.Any) -> dict[str, PodStartup]:
        return dict.fromkeys(names, PodStartup("Container relay waits (CrashLoopBackOff)", self.unrecoverable))


SERVES, WAITS = ExecResult(0, "", ""), ExecResult(1, "", "The relay has no member.\n")


@pytest.fixture(autouse=True)
def at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(relays, "_POLL_SECONDS", 0.01)


def wait(members: Members, *names: str, seconds: float = 5) -> bool:
    return Relays(t.cast("t.Any", members)).wait(names, Deadline(seconds))


def test_the_relay_itself_is_asked() -> None:
    members = Members(SERVES)
    assert not wait(members, "a", "old", "away")
    assert members.asked == [("x", "a", "relay", ["sh", f"{manifests.SCRIPTS}/{manifests.RELAY_LAUNCHER}", "ready"])]


def test_whether_it_took_time() -> None:
    assert wait(Members(WAITS, OvnError("the node is busy"), SERVES), "a")
    assert not wait(Members(WAITS))


def test_one_that_serves_nobody_ends_the_run() -> None:
    with pytest.raises(TimedOut) as e:
        wait(Members(WAITS), "a", seconds=0.1)
    text = str(e.value)
    assert text.startswith(
        "The relay in pod a serves no chassis after 0 s, so this run restarts no other pod: The relay has no member."
    )
    assert text.endswith("See kubectl -n x logs a -c relay, then run again.")


def test_one_that_will_never_start_ends_the_run_at_once() -> None:
    with pytest.raises(Refused, match=r"does not start.*CrashLoopBackOff.*Correct that, then run again\."):
        wait(Members(WAITS, unrecoverable=True), "a", seconds=60)

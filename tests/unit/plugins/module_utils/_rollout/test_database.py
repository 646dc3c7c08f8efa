"""While a gate is closed, the record does not let a pod join; and what a database rollout makes of its pods."""

from __future__ import annotations

import contextlib
import datetime
import json
import types
import typing as t

import pytest

from ansible_collections.c5c3.ovn.plugins.module_utils._deadline import Deadline
from ansible_collections.c5c3.ovn.plugins.module_utils._errors import Conflict, InvalidInput, Refused, Unreachable
from ansible_collections.c5c3.ovn.plugins.module_utils._raft.observation import Observation
from ansible_collections.c5c3.ovn.plugins.module_utils._raft.record import Member, Permit, Record, render_files
from ansible_collections.c5c3.ovn.plugins.module_utils._raft.step import Round, Run, Step
from ansible_collections.c5c3.ovn.plugins.module_utils._rollout import database
from ansible_collections.c5c3.ovn.plugins.module_utils._rollout.database import DatabaseRollout
from ansible_collections.c5c3.ovn.plugins.module_utils._rollout.observed import Context
from ansible_collections.c5c3.ovn.plugins.module_utils._rollout.record_store import RecordStore

NOW = 1_800_000_000.0
CID = "aaaaaaaa-1111-4111-8111-111111111111"
NAMES = [f"ovn-northbound-{index}" for index in range(3)]
SKELETON = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "ovn-northbound-record", "namespace": "x"}}


def address(name: str) -> str:
    return f"ssl:{name}.ovn-northbound.x.svc.cluster.local:6643"


def sid(name: str) -> str:
    return f"bbbbbbbb-1111-4111-8111-00000000000{name[-1]}"


def record(**states: str) -> Record:
    """Members m0..m2, confirmed unless told."""
    members = {}
    for name in NAMES:
        state = states.get(f"m{name[-1]}", "confirmed")
        members[name] = Member(address(name), t.cast(t.Any, state), None if state == "expected" else sid(name))
    return Record("northbound", members, revision=7, cid=CID)


class FakeCluster:
    """Pods and claims by name; everything written is remembered."""

    def __init__(self, pods: t.Collection[str] = (), claims: t.Collection[str] = ()) -> None:
        self.pods, self.claims = pods, claims
        self.written: list[dict[str, t.Any]] = []
        self.fails: Exception | None = None

    def list(self, _api: str, kind: str, _namespace: str, *, labels: str = "") -> list[dict[str, t.Any]]:
        names = self.pods if kind == "Pod" else self.claims
        # A claim that was restored by hand has no labels, and may hold a database all the same.
        assert labels == "" if kind == "PersistentVolumeClaim" else "app.kubernetes.io/component=northbound" in labels
        return [{"metadata": {"name": name}} for name in names]

    def exec(self, *_: t.Any, **__: t.Any) -> t.NoReturn:
        raise Unreachable("no node")

    def _write(self, manifest: dict[str, t.Any]) -> dict[str, t.Any]:
        if self.fails:
            raise self.fails
        self.written.append(manifest)
        return {**manifest, "metadata": {**manifest["metadata"], "resourceVersion": f"v{len(self.written)}"}}

    create = replace = _write


def store(cluster: FakeCluster, there: Record | None = None, data: dict[str, str] | None = None) -> RecordStore:
    manifest = None
    if there is not None or data is not None:
        content = data if data is not None else render_files(t.cast(Record, there), 1000)
        manifest = {**SKELETON, "metadata": {**SKELETON["metadata"], "resourceVersion": "v0"}, "data": content}
    return RecordStore(t.cast(t.Any, cluster), SKELETON, manifest)


def rollout(
    cluster: FakeCluster, there: Record | None, replicas: int = 0, scaled: list[int] | None = None
) -> DatabaseRollout:
    context = Context(t.cast(t.Any, cluster), "x", "ovn", t.cast(t.Any, None), False)
    run = Run("northbound", {name: address(name) for name in NAMES}, "run", "2026-01-01T00:00:00Z")
    scale = (scaled if scaled is not None else []).append
    return DatabaseRollout(
        context,
        run,
        store(cluster, there),
        t.cast(t.Any, scale),
        replicas,
        election_timer=1000,
        stateful_set=lambda: None,
    )


# --- holding back -----------------------------------------------------------------------------------------------------


WAIT, START = Step("wait", (NAMES[1],), "wait for m1"), Step("start", (NAMES[1],), "join m1")
EXPECTED = record(m1="expected").replace(revision=8)
CREATION = record(m0="expected", m1="expected", m2="expected").replace(cid=None)


@pytest.mark.parametrize(
    ("before", "wanted", "step", "replicas", "state"),
    [
        (record(m1="replacing"), EXPECTED, WAIT, 3, "replacing"),
        (record(m1="replacing"), EXPECTED, Step("start", (NAMES[2],), "join m2"), 3, "replacing"),
        (record(m1="replacing"), EXPECTED, None, 3, "replacing"),
        (record(m1="replacing"), EXPECTED, START, 3, "expected"),
        (record(m1="confirmed"), EXPECTED, WAIT, 3, "replacing"),
        (record(m1="expected"), EXPECTED.replace(hold=True), WAIT, 3, "expected"),
        (record(m1="absent"), EXPECTED, WAIT, 1, "expected"),
        (None, EXPECTED, WAIT, 3, "replacing"),
        (None, CREATION, WAIT, 3, "expected"),
    ],
    ids=[
        "its gate is closed",
        "it is the turn of another",
        "it is nobody's turn",
        "it is its turn",
        "it lost its volume, and its old id is not removed yet",
        "it may join since an earlier round",
        "it has no pod that could join",
        "a record that was lost",
        "a cluster that is about to be created",
    ],
)
def test_a_member_may_join_in_the_round_that_starts_it(
    before: Record | None, wanted: Record, step: Step | None, replicas: int, state: str
) -> None:
    held = rollout(FakeCluster(), before, replicas)._held_back(wanted, step)
    assert held is not None
    assert held.members[NAMES[1]].state == state
    assert held.members[NAMES[0]] == wanted.members[NAMES[0]]


def test_a_member_that_runs_is_not_held_back() -> None:
    one = rollout(FakeCluster(), record(m1="replacing"), 3)
    one.seen = {NAMES[1]: Observation(NAMES[1], running=True)}
    assert one._held_back(EXPECTED, WAIT) == EXPECTED


def test_a_record_that_says_nothing_new_is_not_written() -> None:
    assert rollout(FakeCluster(), record(), 3)._held_back(record().replace(revision=8), None) is None


# --- pods -------------------------------------------------------------------------------------------------------------


def test_who_cannot_be_examined_is_unknown_and_who_never_was_is_not_installed() -> None:
    seen = rollout(FakeCluster(pods=[NAMES[0]], claims=[f"data-{NAMES[1]}"]), record()).observe()
    assert list(seen) == [NAMES[2]]  # a pod that does not answer, and a claim without a pod: both may hold data
    assert not seen[NAMES[2]].installed


def test_why_a_member_is_unknown_is_kept() -> None:
    one = rollout(FakeCluster(pods=[NAMES[0]], claims=[f"data-{NAMES[1]}"]), record())
    one.observe()
    assert one.unknown[NAMES[0]] == "no node"
    assert one.unknown[NAMES[1]] == "it has a claim, but no pod"


def test_a_claim_of_a_member_that_never_joined_keeps_nobody_waiting() -> None:
    seen = rollout(FakeCluster(claims=[f"data-{NAMES[1]}"]), record(m1="expected")).observe()
    assert not seen[NAMES[1]].installed


@pytest.mark.parametrize(
    ("replicas", "members", "scaled"),
    [(0, [0], [1]), (1, [0], []), (1, [1], [2]), (1, [2], [3]), (3, [2], [])],
)
def test_pods_exist_up_to_the_last_that_was_started(replicas: int, members: list[int], scaled: list[int]) -> None:
    asked: list[int] = []
    one = rollout(FakeCluster(), record(), replicas, asked)
    one._make_room(Step("start", tuple(NAMES[index] for index in members), "join"))
    assert asked == scaled
    assert one.replicas == max([replicas, *scaled])


def started(seconds_ago: float) -> dict[str, t.Any]:
    moment = datetime.datetime.fromtimestamp(NOW - seconds_ago, datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")
    container = {"name": "database", "state": {"running": {"startedAt": moment}}}
    return {"metadata": {"name": NAMES[2]}, "status": {"containerStatuses": [container]}}


@pytest.mark.parametrize(
    ("last", "ago", "wait", "limit", "waits"),
    [
        ({"connected": False}, 5, True, 300, True),
        ({"connected": False}, 5, False, 300, False),
        ({"connected": False}, 5, True, 0, False),
        ({"connected": False}, 600, True, 300, False),
        ({"connected": False, "running": False}, 5, True, 300, False),
        ({}, 5, True, 300, False),
        ({"connected": False}, -3600, True, 300, False),
    ],
    ids=[
        "just started",
        "nobody waits",
        "the time is up",
        "started long ago",
        "no server runs",
        "it takes part",
        "the clock of its node is ahead",
    ],
)
def test_a_server_that_has_just_started_is_given_the_time_to_find_the_others(
    last: dict[str, t.Any], ago: float, wait: bool, limit: float, waits: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It runs, nothing is left to do, and the run would end with a member that does not take part yet."""
    one = rollout(FakeCluster(), record(), 3)
    one.context.wait = wait
    monkeypatch.setattr(one.context, "now", lambda: NOW)
    looks: list[Observation] = []

    def look(_deadline: Deadline) -> None:
        looks.append(up(NAMES[2], **(last if len(looks) < 2 else {})))
        one.seen = {o.member: o for o in (up(NAMES[0]), up(NAMES[1]), looks[-1])}
        one.pods = {NAMES[2]: started(ago)}

    monkeypatch.setattr(one, "await_examined", look)
    monkeypatch.setattr(one, "_plan", Round)
    monkeypatch.setattr(database.time, "sleep", lambda _seconds: None)
    one.converge(Deadline(limit))
    assert len(looks) == (3 if waits else 1)


def test_a_server_that_starts_again_and_again_is_not_waited_for_each_time(monkeypatch: pytest.MonkeyPatch) -> None:
    one = rollout(FakeCluster(), record(), 3)
    clock = [1000.0]
    monkeypatch.setattr(one.context, "now", lambda: NOW)
    monkeypatch.setattr(database.time, "monotonic", lambda: clock[0])
    one.seen = {o.member: o for o in (up(NAMES[0]), up(NAMES[1]), up(NAMES[2], connected=False))}
    one.pods = {NAMES[2]: started(5)}
    monkeypatch.setattr(one, "await_examined", lambda _deadline: None)
    monkeypatch.setattr(one, "_plan", Round)
    monkeypatch.setattr(database.time, "sleep", lambda _seconds: clock.__setitem__(0, clock[0] + 10))
    one.converge(Deadline(300))
    assert 90 < clock[0] - 1000 < 120


@pytest.mark.parametrize(("taken", "acts"), [(999.0, True), (1001.0, False)])
def test_who_looked_before_the_lease_was_taken_looks_again(
    taken: float, acts: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The other database may have taken it while this one looked, and another run may have acted until then."""
    one = rollout(FakeCluster(), record(), 3)
    lease = types.SimpleNamespace(taken=taken, take=lambda _what: False)
    one.context.lease = t.cast(t.Any, lease)
    steps: list[Step] = []
    monkeypatch.setattr(database.time, "monotonic", lambda: 1000.0)
    monkeypatch.setattr(one, "await_examined", lambda _deadline: None)
    monkeypatch.setattr(one, "_plan", lambda: Round(step=Step("restart", (NAMES[1],), "restart m1")))
    monkeypatch.setattr(one, "_take", lambda step, _deadline: steps.append(step))
    assert one._round(Deadline(300))
    assert bool(steps) is acts


# --- check mode -------------------------------------------------------------------------------------------------------


def up(name: str, **changes: t.Any) -> Observation:
    listed = {sid(other)[:4] + other[-1]: address(other) for other in NAMES}
    state = {"file_class": "member", "file_cid": CID, "file_sid": sid(name), "cid": CID, "sid": sid(name)}
    shown = {**state, "running": True, "connected": True, "leader": name == NAMES[0], "listed": listed, **changes}
    return Observation(name, record=record().as_dict(), **shown)


OFF = {"running": False, "connected": False, "cid": None, "sid": None, "listed": {}}


@pytest.mark.parametrize(
    ("last", "whole"),
    [(up(NAMES[2]), True), (up(NAMES[2], **OFF), True), (None, False)],
    ids=["all take part", "the plan starts one", "one is away for good"],
)
def test_who_takes_part_when_the_plan_is_carried_out(
    last: Observation | None, whole: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(database, "gate_reason", lambda *_: "")
    one = rollout(FakeCluster(), record(), 3)
    one.seen = {o.member: o for o in (up(NAMES[0]), up(NAMES[1]), last) if o is not None}
    monkeypatch.setattr(one, "observe", lambda: one.seen)
    one.foresee()
    assert one.will_be_whole is whole


def idle_pod(revision: str) -> dict[str, t.Any]:
    state = {"name": "database", "state": {"waiting": {"reason": "ErrImagePull"}}}
    metadata = {"name": NAMES[0], "uid": "u", "labels": {"controller-revision-hash": revision}}
    return {"metadata": metadata, "status": {"phase": "Pending", "containerStatuses": [state]}}


ANEW = f"make the pod {NAMES[0]} anew: its template has changed, and it never started"
BEGUN = CREATION.replace(permit=Permit(NAMES[0], "before", "2026-01-01T00:00:00Z"))


@pytest.mark.parametrize(
    ("revision", "changed", "steps"),
    [("old", False, [ANEW]), ("new", True, [ANEW]), ("new", False, [])],
    ids=["its template was changed before", "its template changes in this run", "its template stays"],
)
def test_a_pod_that_will_be_made_anew_is_foreseen(
    revision: str, changed: bool, steps: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """In a first run that was cut off: what else follows depends on what it finds."""
    one = rollout(FakeCluster(), BEGUN, 1)
    one.template_changed, one.pods = changed, {NAMES[0]: idle_pod(revision)}
    one.seen = {name: Observation(name, record=BEGUN.as_dict(), installed=False) for name in NAMES[1:]}
    monkeypatch.setattr(one, "observe", lambda: one.seen)
    monkeypatch.setattr(one.members.cluster, "get", lambda *_: {"status": {"updateRevision": "new"}}, raising=False)
    with contextlib.nullcontext() if steps else pytest.raises(Refused, match="could not be examined"):
        one.foresee()
    assert one.steps == steps
    assert one.warnings == [f"What follows for northbound is known when {NAMES[0]} runs."] * len(steps)
    one.steps.clear()
    one.gone = {NAMES[0]}
    with contextlib.suppress(Refused):
        one.foresee()
    assert not any("anew" in step for step in one.steps)  # it goes with its claim
    one.gone.clear()
    for name in NAMES[:2]:
        one.seen.pop(name, None)  # nothing helps this one
    with pytest.raises(Refused, match="could not be examined"):
        one.foresee()


# --- the record -------------------------------------------------------------------------------------------------------


def test_an_empty_record_is_none_and_is_made_before_pods_are() -> None:
    cluster = FakeCluster()
    new = store(cluster)
    assert new.read() is None
    foreseen = new.ensure(check_mode=True)
    assert cluster.written == []
    done = new.ensure(check_mode=False)
    assert (foreseen.action, done.action) == ("created", "created")
    assert cluster.written[0]["data"] == {}
    assert new.read() is None
    assert new.ensure(check_mode=False).action == "unchanged"
    assert len(cluster.written) == 1


def test_a_permit_is_written_over_exactly_the_version_that_was_read() -> None:
    cluster = FakeCluster()
    there = store(cluster, data={})
    permitted = record(m0="expected", m1="expected", m2="expected").replace(
        cid=None, permit=Permit(NAMES[0], "run", "2026-01-01T00:00:00Z")
    )
    there.write(permitted, 1000)
    assert cluster.written[0]["metadata"]["resourceVersion"] == "v0"
    assert there.read() == permitted
    cluster.fails = Conflict("somebody wrote it")
    with pytest.raises(Conflict):
        there.write(permitted.replace(revision=8), 1000)
    assert there.read() == permitted


@pytest.mark.parametrize(
    ("data", "words"),
    [
        ({"other": "x"}, "it has other, but no record.json"),
        ({"record.json": "{"}, "ConfigMap ovn-northbound-record in namespace x: "),
        ({"record.json": json.dumps({"format": 2})}, "another format"),
        ({"record.json": json.dumps({**record().as_dict(), "cid": "x"})}, "no UUID"),
    ],
    ids=["without its content", "cut off", "of the future", "with a wrong id"],
)
def test_a_record_that_cannot_be_read_never_passes_for_none(data: dict[str, str], words: str) -> None:
    with pytest.raises(InvalidInput, match=words):
        store(FakeCluster(), data=data).read()

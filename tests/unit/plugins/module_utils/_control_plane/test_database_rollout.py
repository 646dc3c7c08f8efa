"""Both databases are rolled out, one after the other, and the run reports what stopped each of them."""

from __future__ import annotations

import contextlib
import dataclasses
import datetime
import json
import types
import typing as t

import pytest
from fake_cluster import FakeCluster

from ansible_collections.c5c3.ovn.plugins.module_utils._base.deadline import Deadline
from ansible_collections.c5c3.ovn.plugins.module_utils._base.errors import (
    Changed,
    InvalidInput,
    OvnError,
    Refused,
    TimedOut,
    Unreachable,
)
from ansible_collections.c5c3.ovn.plugins.module_utils._control_plane import database_rollout, observed_members
from ansible_collections.c5c3.ovn.plugins.module_utils._control_plane.database_rollout import (
    DatabaseRollout,
    roll_out_databases,
)
from ansible_collections.c5c3.ovn.plugins.module_utils._control_plane.observed_members import (
    ObservedDatabase,
    RunContext,
)
from ansible_collections.c5c3.ovn.plugins.module_utils._control_plane.stores import RecordStore
from ansible_collections.c5c3.ovn.plugins.module_utils._kubernetes.client import ExecResult
from ansible_collections.c5c3.ovn.plugins.module_utils._kubernetes.wait_tracker import Progress
from ansible_collections.c5c3.ovn.plugins.module_utils._raft.observation import Observation
from ansible_collections.c5c3.ovn.plugins.module_utils._raft.record import Member, Permit, Record, render_files
from ansible_collections.c5c3.ovn.plugins.module_utils._raft.step import Round, Run, Step

SERVER = "https://192.0.2.1:6443"


class Rollout:
    """A database that fails or not; `calls` are the seconds that each part of the run was given, None for a simulation."""

    def __init__(self, name: str, failure: OvnError | None = None) -> None:
        self.failure = failure
        self.calls: list[tuple[float, float] | None] = []
        self.observed = types.SimpleNamespace(steps=[f"create {name}"])
        self.warnings = [f"{name} is large"]

    def _end(self) -> None:
        if self.failure is not None:
            raise self.failure

    def simulate(self) -> None:
        self.calls.append(None)
        self._end()

    def roll_out(self, deadline: Deadline, wait_timeout: float) -> None:
        self.calls.append((round(deadline.seconds), wait_timeout))
        self._end()


def roll_out(north: Rollout, south: Rollout, progress: Progress, *, seconds: float = 300, check: bool = False) -> None:
    databases = t.cast(t.Any, {"northbound": north, "southbound": south})
    roll_out_databases(databases, Deadline(seconds), progress, server=SERVER, check_mode=check)


@pytest.mark.parametrize(
    ("seconds", "first"), [(300, 270), (10, 7)], ids=["half a minute stays", "a short time is shared"]
)
def test_the_first_leaves_time_to_the_second(seconds: float, first: float) -> None:
    north, south, progress = Rollout("n"), Rollout("s"), Progress()
    roll_out(north, south, progress, seconds=seconds)
    assert (north.calls, south.calls) == ([(first, seconds)], [(seconds, seconds)])
    assert (progress.steps, progress.warnings) == (["create n", "create s"], ["n is large", "s is large"])


def test_check_mode_changes_nothing() -> None:
    north, south = Rollout("n"), Rollout("s")
    roll_out(north, south, Progress(), check=True)
    assert (north.calls, south.calls) == ([None], [None])


@pytest.mark.parametrize(
    ("failure", "goes_on"),
    [
        (Refused("north is refused."), True),
        (Unreachable("north does not answer."), True),
        (TimedOut(f"{SERVER} does not answer."), False),
    ],
    ids=["refused", "unreachable", "no API server"],
)
def test_a_failure_of_the_first(failure: OvnError, goes_on: bool) -> None:
    north, south, progress = Rollout("n", failure), Rollout("s", Refused("south is refused.")), Progress()
    with pytest.raises(type(failure)) as raised:
        roll_out(north, south, progress)
    assert bool(south.calls) is goes_on
    assert ("south is refused." in str(raised.value)) is goes_on
    assert str(failure) in str(raised.value)
    assert progress.steps == ["create n", "create s"]


NOW = 1_800_000_000.0
CID = "aaaaaaaa-1111-4111-8111-111111111111"
NAMES = [f"ovn-northbound-{index}" for index in range(3)]
SKELETON = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "ovn-northbound-record", "namespace": "x"}}


def address(name: str) -> str:
    return f"ssl:{name}.ovn-northbound.x.svc.cluster.local:6643"


def sid(name: str) -> str:
    return f"bbb{name[-1]}bbbb-1111-4111-8111-000000000000"


def record(**states: str) -> Record:
    """Members m0..m2, confirmed unless told."""
    members = {}
    for name in NAMES:
        state = states.get(f"m{name[-1]}", "confirmed")
        members[name] = Member(address(name), t.cast(t.Any, state), None if state == "expected" else sid(name))
    return Record("northbound", members, revision=7, cid=CID)


def pod(name: str, **metadata: t.Any) -> dict[str, t.Any]:
    labels = {
        "app.kubernetes.io/instance": "ovn",
        "app.kubernetes.io/component": "northbound",
        **metadata.pop("labels", {}),
    }
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "namespace": "x", "labels": labels, **metadata},
    }


def claim(name: str) -> dict[str, t.Any]:
    """One that was restored by hand: it has no labels, and may hold a database all the same."""
    metadata = {"name": f"data-{name}", "namespace": "x"}
    return {"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": metadata}


def cluster_with(*objects: dict[str, t.Any]) -> FakeCluster:
    """No command in a pod ends."""
    cluster = FakeCluster(*objects)
    cluster.always("exec", Unreachable("no node"))
    return cluster


def store(cluster: FakeCluster, there: Record | None = None, data: dict[str, str] | None = None) -> RecordStore:
    manifest = None
    if there is not None or data is not None:
        content = data if data is not None else render_files(t.cast(Record, there), 1000)
        manifest = cluster.put({**SKELETON, "data": content})
    return RecordStore(cluster, SKELETON, manifest)


def rollout(
    cluster: FakeCluster, there: Record | None, replicas: int = 0, scaled: list[int] | None = None
) -> DatabaseRollout:
    lease = types.SimpleNamespace(check=lambda: None, acquire_or_renew=lambda _step: False)
    context = RunContext(cluster, "x", "ovn", t.cast(t.Any, lease), False)
    run = Run("northbound", {name: address(name) for name in NAMES}, "run", "2026-01-01T00:00:00Z")
    asked = scaled if scaled is not None else []
    database = ObservedDatabase(context, run, store(cluster, there), replicas, lambda: None)
    return DatabaseRollout(database, lambda replicas, _seen: asked.append(replicas), election_timer=1000)


CREATION = record(m0="expected", m1="expected", m2="expected").replace(cid=None)


# --- pods -------------------------------------------------------------------------------------------------------------


def test_who_cannot_be_examined_is_unknown_and_who_never_was_is_not_installed() -> None:
    seen = rollout(cluster_with(pod(NAMES[0]), claim(NAMES[1])), record()).observed.read_members()
    assert list(seen) == [NAMES[2]]  # a pod that does not answer, and a claim without a pod: both may hold data
    assert not seen[NAMES[2]].installed


def test_why_a_member_is_unknown_is_kept() -> None:
    one = rollout(cluster_with(pod(NAMES[0]), claim(NAMES[1])), record())
    one.observed.read_members()
    assert one.observed.unknown[NAMES[0]] == "no node"
    assert one.observed.unknown[NAMES[1]] == "it has a claim, but no pod"


def test_what_a_claim_holds_is_unknown_also_if_the_record_only_expects_its_member() -> None:
    """It may have joined just before the run was killed that would have recorded it."""
    one = rollout(cluster_with(claim(NAMES[1])), record(m1="expected"))
    assert NAMES[1] not in one.observed.read_members()
    assert one.observed.unknown[NAMES[1]] == "it has a claim, but no pod"


@pytest.mark.parametrize(
    ("replicas", "members", "scaled"),
    [(0, [0], [1]), (1, [0], []), (1, [1], [2]), (1, [2], [3]), (3, [2], [])],
)
def test_pods_exist_up_to_the_last_that_was_started(
    replicas: int, members: list[int], scaled: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[int] = []
    one = rollout(cluster_with(), record(), replicas, asked)
    monkeypatch.setattr(one.observed.members, "execute", lambda *_: None)
    one.execute(Step("start", tuple(NAMES[index] for index in members), "join"), record())
    assert asked == scaled
    assert one.observed.replicas == max([replicas, *scaled])


def started(seconds_ago: float) -> dict[str, t.Any]:
    moment = datetime.datetime.fromtimestamp(NOW - seconds_ago, datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")
    container = {"name": "database", "state": {"running": {"startedAt": moment}}}
    return {"metadata": {"name": NAMES[2]}, "status": {"containerStatuses": [container]}}


@pytest.mark.parametrize(
    ("last", "ago", "wait", "starts"),
    [
        ({"connected": False}, 5, True, True),
        ({"connected": False}, 5, False, False),
        ({"connected": False}, 600, True, False),
        ({"connected": False, "running": False}, 5, True, False),
        ({}, 5, True, False),
        ({"connected": False}, -5, True, True),
        ({"connected": False}, -3600, True, False),
    ],
    ids=[
        "just started",
        "nobody waits",
        "started long ago",
        "no server runs",
        "it takes part",
        "the clock of its node is a little ahead",
        "the clock of its node is far ahead",
    ],
)
def test_a_server_that_has_just_started_is_given_the_time_to_find_the_others(
    last: dict[str, t.Any], ago: float, wait: bool, starts: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    one = rollout(cluster_with(), record(), 3)
    one.observed.context.wait = wait
    monkeypatch.setattr(one.observed.context, "now", lambda: NOW)
    one.observed.observations = {o.member: o for o in (up(NAMES[0]), up(NAMES[1]), up(NAMES[2], **last))}
    one.observed.pods = {NAMES[2]: started(ago)}
    monkeypatch.setattr(one.observed, "await_examined", lambda _deadline: None)
    assert one.observe()[NAMES[2]].starting is starts


def test_a_server_that_starts_again_and_again_is_not_waited_for_each_time(monkeypatch: pytest.MonkeyPatch) -> None:
    one = rollout(cluster_with(), record(), 3)
    clock = [1000.0]
    monkeypatch.setattr(one.observed.context, "now", lambda: NOW)
    monkeypatch.setattr(database_rollout.time, "monotonic", lambda: clock[0])
    one.observed.pods = {NAMES[2]: started(5)}
    monkeypatch.setattr(one.observed, "await_examined", lambda _deadline: None)
    starting = []
    for _look in range(12):
        one.observed.observations = {o.member: o for o in (up(NAMES[0]), up(NAMES[1]), up(NAMES[2], connected=False))}
        starting.append(one.observe()[NAMES[2]].starting)
        clock[0] += 10
    assert starting == [True] * 10 + [False] * 2


RESTART = Step("restart", (NAMES[1],), "restart m1", expects={})


@pytest.mark.parametrize(
    ("changes", "uid", "words"),
    [
        ({}, "u", ""),
        ({"leader": True}, "u", "has changed since this step was planned: restart m1"),
        ({"sid": sid(NAMES[0])}, "u", "has changed since this step was planned"),
        ({"connected": False}, "u", "has changed since this step was planned"),
        ({}, "another", "has changed since this step was planned"),
        (None, "u", "cannot be examined any more: no node"),
    ],
    ids=["as it was", "it leads now", "it is another server", "it takes no part", "it is another pod", "it is silent"],
)
def test_a_target_is_looked_at_once_more_before_a_step(
    changes: dict[str, t.Any] | None, uid: str, words: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = up(NAMES[1], **(changes or {}))
    cluster = FakeCluster(pod(NAMES[1], uid=uid))
    cluster.answers = {NAMES[1]: Unreachable("no node") if changes is None else ExecResult(0, "", "")}
    monkeypatch.setattr(observed_members, "parse_observation", lambda *_: found)
    one = rollout(cluster, record(), 3)
    one.observed.observations = {NAMES[1]: up(NAMES[1])}
    one.observed.pods = {NAMES[1]: {"metadata": {"name": NAMES[1], "uid": "u"}}}
    taken: list[Step] = []
    monkeypatch.setattr(one.observed.members, "execute", lambda step, *_: taken.append(step))
    step = dataclasses.replace(RESTART, expects={NAMES[1]: up(NAMES[1]).target()})
    with pytest.raises(Changed, match=words) if words else contextlib.nullcontext():
        one.execute(step, record())
    assert taken == ([] if words else [step])
    assert one.observed.steps == ([] if words else ["restart m1"])


def test_who_has_no_time_left_takes_no_step() -> None:
    with pytest.raises(TimedOut, match=r"Timed out after 0 s waiting for this step: restart m1\. .*run again"):
        rollout(cluster_with(), record(), 3).acquire(Round(step=RESTART))


def test_the_witness_of_a_refused_database_stays(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its record is written before the next round refuses."""
    one = rollout(cluster_with(), record(), 3)
    one.deadline = Deadline(60)
    deleted = list[str]()
    monkeypatch.setattr(one, "_delete_witness", lambda step: deleted.append(step) is None)
    assert not one.acquire(Round(record(), refusal=Refused("Other members.")))
    assert not deleted
    assert one.acquire(Round(step=RESTART))
    assert deleted == ["restart m1"]


# --- check mode -------------------------------------------------------------------------------------------------------


def up(name: str, **changes: t.Any) -> Observation:
    listed = {sid(other)[:4]: address(other) for other in NAMES}
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
    monkeypatch.setattr(database_rollout, "gate_reason", lambda *_: "")
    one = rollout(cluster_with(), record(), 3)
    one.observed.observations = {o.member: o for o in (up(NAMES[0]), up(NAMES[1]), last) if o is not None}
    monkeypatch.setattr(one.observed, "read_members", lambda: one.observed.observations)
    one.simulate()
    assert one.is_predicted_complete is whole


def idle_pod(revision: str) -> dict[str, t.Any]:
    state = {"name": "database", "state": {"waiting": {"reason": "ErrImagePull"}}}
    metadata = {"name": NAMES[0], "uid": "u", "labels": {"controller-revision-hash": revision}}
    return {"metadata": metadata, "status": {"phase": "Pending", "containerStatuses": [state]}}


STATEFUL_SET = {
    "apiVersion": "apps/v1",
    "kind": "StatefulSet",
    "metadata": {"name": "ovn-northbound", "namespace": "x"},
    "status": {"updateRevision": "new"},
}
RECREATED = f"recreate the pod {NAMES[0]}: its template has changed, and it never started"
BEGUN = CREATION.replace(permit=Permit(NAMES[0], "before", "2026-01-01T00:00:00Z"))


@pytest.mark.parametrize(
    ("revision", "changed", "steps"),
    [("old", False, [RECREATED]), ("new", True, [RECREATED]), ("new", False, [])],
    ids=["its template was changed before", "its template changes in this run", "its template stays"],
)
def test_a_pod_that_will_be_recreated_is_predicted(
    revision: str, changed: bool, steps: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """In a first run that was cut off: what else follows depends on what it finds."""
    one = rollout(cluster_with(STATEFUL_SET), BEGUN, 1)
    one.observed.template_changed, one.observed.pods = changed, {NAMES[0]: idle_pod(revision)}
    one.observed.observations = {name: Observation(name, record=BEGUN.as_dict(), installed=False) for name in NAMES[1:]}
    monkeypatch.setattr(one.observed, "read_members", lambda: one.observed.observations)
    with contextlib.nullcontext() if steps else pytest.raises(Refused, match="could not be examined"):
        one.simulate()
    assert one.observed.steps == steps
    assert one.warnings == [f"What follows for northbound is known when {NAMES[0]} runs."] * len(steps)
    one.observed.steps.clear()
    one.deleted = {NAMES[0]}
    with contextlib.suppress(Refused):
        one.simulate()
    assert not any("recreate" in step for step in one.observed.steps)  # it goes with its claim
    one.deleted.clear()
    for name in NAMES[:2]:
        one.observed.observations.pop(name, None)  # nothing helps this one
    with pytest.raises(Refused, match="could not be examined"):
        one.simulate()


@pytest.mark.parametrize(
    ("replicas", "wait", "refused"),
    [(3, True, False), (2, True, True), (3, False, True)],
    ids=["the StatefulSet creates all pods", "one pod is not created", "the run does not wait for pods"],
)
def test_claims_whose_pods_the_run_creates_do_not_stop_check_mode(replicas: int, wait: bool, refused: bool) -> None:
    one = rollout(cluster_with(*map(claim, NAMES)), None, replicas)
    one.observed.context.wait = wait
    with pytest.raises(Refused, match="could not be examined") if refused else contextlib.nullcontext():
        one.simulate()
    assert one.warnings == ([] if refused else [f"What follows for northbound is known when {', '.join(NAMES)} runs."])
    assert not one.founding


# --- the record -------------------------------------------------------------------------------------------------------


def test_an_empty_record_is_none_and_is_made_before_pods_are() -> None:
    cluster = FakeCluster()
    new = store(cluster)
    assert new.read() is None
    foreseen = new.ensure(check_mode=True)
    assert cluster.written == []
    done = new.ensure(check_mode=False)
    assert (foreseen.action, done.action) == ("created", "created")
    assert cluster.written[0].body["data"] == {}
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
    (written,) = cluster.written
    assert written.body["metadata"]["resourceVersion"] == "1"
    assert there.read() == permitted
    by_somebody = permitted.replace(revision=9)
    cluster.put({**SKELETON, "data": render_files(by_somebody, 1000)})
    with pytest.raises(Changed, match="written by another client"):
        there.write(permitted.replace(revision=8), 1000)
    assert there.read() == by_somebody
    with pytest.raises(Refused, match="has revision 9 of the state record, this run would write revision 8"):
        there.write(permitted.replace(revision=8), 1000)


OTHER_CID = "bbbbbbbb-0000-4000-8000-00000000000b"


def without(files: dict[str, str], *keys: str) -> dict[str, str]:
    return {key: text for key, text in files.items() if key not in keys}


@pytest.mark.parametrize(
    ("data", "words"),
    [
        ({"other": "x"}, "it has other, but no record.json"),
        ({"record.json": "{"}, "ConfigMap ovn-northbound-record in namespace x is refused: .* cut off"),
        ({"record.json": json.dumps({"format": 2})}, "has format 2, this version of the collection reads format 1"),
        ({"record.json": json.dumps({**record().as_dict(), "cid": "x"})}, "no UUID"),
        (without(render_files(record(), 1000), "cid", "permit"), "lacks cid, permit"),
        ({**render_files(record(), 1000), "cid": f"{OTHER_CID}\n"}, "contradicts itself: cid is"),
    ],
    ids=[
        "without its content",
        "cut off",
        "of the future",
        "with a wrong id",
        "without some keys",
        "with another id beside it",
    ],
)
def test_a_record_that_cannot_be_read_never_passes_for_none(data: dict[str, str], words: str) -> None:
    with pytest.raises(InvalidInput, match=words):
        store(FakeCluster(), data=data).read()


# --- relays -----------------------------------------------------------------------------------------------------------


class Story:
    """A rollout of a database with relays, and what it did in order. What takes time is in `slow`."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, *, leads: bool = True, connected: bool = True) -> None:
        self.done: list[str] = []
        self.slow: set[str] = set()
        self.one = rollout(cluster_with(), record(), 3)
        self.one.handover = t.cast(t.Any, self)
        self.one.observed.observations = {
            NAMES[0]: Observation(NAMES[0], connected=connected, restart_reason="its pod template has changed"),
            NAMES[1]: Observation(NAMES[1], connected=leads, leader=leads),
        }
        self.one.observed.pods = {name: relay_pod(name) for name in NAMES}
        monkeypatch.setattr(self.one.relays, "wait", lambda names, _deadline: self._tell(f"wait for {len(names)}"))
        monkeypatch.setattr(self.one, "_execute", lambda *_: self._tell("restart"))
        monkeypatch.setattr(database_rollout, "_PAUSE", 0.0)

    def _tell(self, what: str) -> bool:
        self.done.append(what)
        return what in self.slow

    def open_port(self, _deadline: Deadline) -> bool:
        return self._tell("port")

    def move_clients(self, _pods: t.Any, _deadline: Deadline) -> bool:
        return self._tell("clients")

    def restart(self) -> list[str]:
        with contextlib.suppress(Changed):
            self.one.execute(Step("restart", (NAMES[0],), "its template"), record())
        return self.done


def relay_pod(name: str) -> dict[str, t.Any]:
    status = {"containerStatuses": [{"name": "database", "ready": True}]}
    return {**pod(name), "spec": {"initContainers": [{"name": "relay"}]}, "status": status}


def test_a_rolling_change_serves_chassis_before_and_after_each_restart(monkeypatch: pytest.MonkeyPatch) -> None:
    assert Story(monkeypatch).restart() == ["port", "clients", "wait for 2", "restart", "wait for 1"]


def test_a_broken_member_is_mended_although_relays_and_northd_have_problems(monkeypatch: pytest.MonkeyPatch) -> None:
    """R29: it may be what they wait for."""
    assert Story(monkeypatch, connected=False).restart() == ["port", "restart"]


def test_without_a_leader_a_restart_waits_for_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    assert Story(monkeypatch, leads=False, connected=False).restart() == ["restart"]


@pytest.mark.parametrize("slow", ["port", "clients", "wait for 2"])
def test_after_a_wait_the_gates_are_asked_again(monkeypatch: pytest.MonkeyPatch, slow: str) -> None:
    story = Story(monkeypatch)
    story.slow = {slow}
    assert "restart" not in story.restart()

"""The one loop: what may be written in a round, how long a step may be due, and in which order a backend is asked."""

from __future__ import annotations

import dataclasses
import typing as t

import pytest

from ansible_collections.c5c3.ovn.plugins.module_utils._base.errors import Changed, Refused, TimedOut
from ansible_collections.c5c3.ovn.plugins.module_utils._raft.observation import Observation
from ansible_collections.c5c3.ovn.plugins.module_utils._raft.record import Member, Record
from ansible_collections.c5c3.ovn.plugins.module_utils._raft.rounds import (
    RoundProgress,
    converge,
    hold_back,
    next_round,
)
from ansible_collections.c5c3.ovn.plugins.module_utils._raft.step import Round, Run, Step

CID = "aaaaaaaa-1111-4111-8111-111111111111"
NAMES = ["m0", "m1", "m2"]


def address(name: str) -> str:
    return f"tcp:192.0.2.1{name[-1]}:6643"


def sid(name: str) -> str:
    return f"{name[-1] * 4}bbbb-1111-4111-8111-000000000000"


def record(**states: str) -> Record:
    """Members m0..m2, confirmed unless told."""
    members = {}
    for name in NAMES:
        state = states.get(name, "confirmed")
        members[name] = Member(address(name), t.cast(t.Any, state), None if state == "expected" else sid(name))
    return Record("northbound", members, revision=7, cid=CID)


def up(name: str, written: Record | None = None, **changes: t.Any) -> Observation:
    state = {"file_class": "member", "file_cid": CID, "file_sid": sid(name), "cid": CID, "sid": sid(name)}
    listed = {sid(other)[:4]: address(other) for other in NAMES}
    shown = {**state, "running": True, "connected": True, "leader": name == "m0", "listed": listed, **changes}
    return Observation(name, record=(written or record()).as_dict(), **shown)


# --- holding back -----------------------------------------------------------------------------------------------------


WAIT, START = Step("wait", ("m1",), "wait for m1"), Step("start", ("m1",), "join m1")
EXPECTED = record(m1="expected").replace(revision=8)
CREATION = record(m0="expected", m1="expected", m2="expected").replace(cid=None)


@pytest.mark.parametrize(
    ("before", "wanted", "step", "pods", "state"),
    [
        (record(m1="replacing"), EXPECTED, WAIT, 3, "replacing"),
        (record(m1="replacing"), EXPECTED, Step("start", ("m2",), "join m2"), 3, "replacing"),
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
        "nothing is there that could join",
        "a record that was lost",
        "a cluster that is about to be created",
    ],
)
def test_a_member_may_join_in_the_round_that_starts_it(
    before: Record | None, wanted: Record, step: Step | None, pods: int, state: str
) -> None:
    held = hold_back(Round(wanted, step, recorded=before), {}, NAMES[:pods])
    assert held is not None
    assert held.members["m1"].state == state
    assert held.members["m0"] == wanted.members["m0"]


def test_a_member_that_runs_is_not_held_back() -> None:
    decided = Round(EXPECTED, WAIT, recorded=record(m1="replacing"))
    assert hold_back(decided, {"m1": Observation("m1", running=True)}, NAMES) == EXPECTED


@pytest.mark.parametrize(
    ("file_class", "state"),
    [("none", "replacing"), ("broken", "replacing"), ("joining", "expected"), ("member", "expected")],
)
def test_a_member_that_could_join_before_is_held_back_unless_its_file_says_that_it_did(
    file_class: str, state: str
) -> None:
    step = Step("kick", ("m0",), "remove m2", sid="2222")
    decided = Round(EXPECTED, step, recorded=record(m1="expected"), stale_copies=True)
    held = hold_back(decided, {"m1": Observation("m1", file_class=file_class)}, NAMES)
    assert held is not None
    assert held.members["m1"].state == state


def test_a_record_that_says_nothing_new_is_not_written() -> None:
    assert hold_back(Round(record().replace(revision=8), recorded=record()), {}, NAMES) is None


def test_a_record_that_says_nothing_new_is_written_where_copies_differ() -> None:
    same = record().replace(revision=8)
    assert hold_back(Round(same, recorded=record(), stale_copies=True), {}, NAMES) == same


def test_a_lost_disk_is_accepted_for_the_server_that_is_still_listed_before_another_joins() -> None:
    """While it cannot be removed from the list, its member must not join."""
    new = sid("m2").replace("2222", "4444", 1)
    listed = {**{sid(name)[:4]: address(name) for name in ("m0", "m1")}, new[:4]: address("m2")}
    before = record(m2="expected")
    away = Observation("m2", record=before.as_dict(), file_class="disk-missing", file_sid=new)
    world = {"m0": up("m0", before, listed=listed), "m1": up("m1", before, listed=listed), "m2": away}
    accepting = run(accept_lost_disk=True)

    def closed(gate: str, *_: t.Any) -> str:
        return "closed" if gate == "may_remove" else ""

    waiting, _progress = next_round(accepting, world, RoundProgress(), 0.0, gate=closed, able_to_start=NAMES)
    assert waiting.step is not None
    assert waiting.step.action == "wait"
    held = waiting.record
    assert held is not None
    assert (held.members["m2"].state, held.members["m2"].sid) == ("replacing", new)
    world = {name: dataclasses.replace(o, record=held.as_dict()) for name, o in world.items()}
    going_on, _progress = next_round(accepting, world, RoundProgress(), 0.0, gate=open_gate, able_to_start=NAMES)
    assert going_on.step is not None
    assert (going_on.step.action, going_on.step.sid) == ("kick", new)


# --- time -------------------------------------------------------------------------------------------------------------


def run(**changes: t.Any) -> Run:
    return Run("northbound", {name: address(name) for name in NAMES}, "run", "now", **changes)


def open_gate(*_: t.Any) -> str:
    return ""


def test_a_server_that_has_just_started_is_waited_for_when_nothing_else_is_left() -> None:
    world = {name: up(name, connected=name != "m2", starting=name == "m2") for name in NAMES}
    decided, _progress = next_round(run(), world, RoundProgress(), 0.0, gate=open_gate)
    assert decided.step == Step("wait", ("m2",), "wait for m2 to find the other members of northbound")
    world["m2"] = up("m2", connected=False)
    assert next_round(run(), world, RoundProgress(), 0.0, gate=open_gate)[0].is_empty


def test_the_same_step_is_due_for_no_longer_than_the_limit() -> None:
    world = {name: up(name, connected=name != "m2", starting=name == "m2") for name in NAMES}
    progress = RoundProgress()
    for now in (0.0, 50.0, 60.0):
        _decided, progress = next_round(run(wait_timeout=60), world, progress, now, gate=open_gate)
    with pytest.raises(
        TimedOut, match="Timed out after 60 s waiting for this step: wait for m2 to find the other members"
    ):
        next_round(run(wait_timeout=60), world, progress, 61.0, gate=open_gate)


# --- the order --------------------------------------------------------------------------------------------------------


class Backend:
    """Confirms m2 by writing it down. `changed`: which of its calls finds that its target has changed."""

    def __init__(self, changed: str = "") -> None:
        self.changed, self.calls, self.held = changed, list[str](), False
        self.record = record(m2="expected")

    def observe(self) -> dict[str, Observation]:
        self.calls.append("observe")
        return {name: up(name, self.record) for name in NAMES}

    def acquire(self, decided: Round) -> bool:
        self.calls.append("acquire")
        fresh, self.held = not self.held, True
        return fresh

    def able_to_start(self) -> list[str]:
        return NAMES

    def report(self, decided: Round) -> None:
        self.calls.append("report")

    def write_record(self, record: Record, step: Step | None) -> None:
        self.calls.append("write")
        if self.changed == "write":
            self.changed = ""
            raise Changed("another client wrote it")
        self.record = record

    def execute(self, step: Step, record: Record) -> None:
        raise AssertionError(step)


ROUND = ["observe", "report", "acquire"]


@pytest.mark.parametrize(
    ("changed", "calls"),
    [("", [*ROUND, *ROUND, "write", "observe"]), ("write", [*ROUND, *ROUND, "write", *ROUND, "write", "observe"])],
    ids=["no other client writes", "another client writes the record first"],
)
def test_what_was_observed_before_the_lock_was_acquired_is_observed_again(changed: str, calls: list[str]) -> None:
    backend = Backend(changed)
    assert converge(backend, run()) == []
    assert backend.calls == calls
    assert backend.record.members["m2"] == Member(address("m2"), "confirmed", sid("m2"))


OTHER_CID = "bbbbbbbb-1111-4111-8111-111111111111"


class Still(Backend):
    """Nothing changes, whatever is done."""

    def __init__(self, members: t.Iterable[Observation]) -> None:
        super().__init__()
        self.world = {o.member: o for o in members}

    def observe(self) -> dict[str, Observation]:
        return self.world

    def execute(self, step: Step, record: Record) -> None:
        assert step.action == "wait"


@pytest.mark.parametrize(
    ("last", "written", "asked"),
    [
        (up("m2"), record(), True),
        (None, record(), True),
        (None, record(m1="expected"), True),
        (up("m2", cid=OTHER_CID), record(), False),
        (up("m2", file_class="foreign-name"), record(), False),
        (up("m2", witnesses={sid("m0")[:4]: 120}), record(), False),
        (None, record().replace(hold=True), False),
    ],
    ids=[
        "nothing is left to do",
        "a member could not be examined",
        "a member could not be examined, and the step of another needs it",
        "the members are split",
        "a file belongs to another database",
        "acknowledged writes are lost",
        "the record is on hold",
    ],
)
def test_what_keeps_members_from_being_examined_is_removed_only_if_nothing_forbids_the_run(
    last: Observation | None, written: Record, asked: bool
) -> None:
    """R27: a run that is refused has deleted no pod."""
    calls = list[str]()
    status = (
        f"1111\nName: OVN_Northbound\nCluster ID: aaaa ({CID})\nServer ID: {sid('m0')[:4]} ({sid('m0')})\nAddress: {address('m0')}\n"
        "Status: cluster member\nRole: leader\nTerm: 2\nLeader: self\nVote: self\n\nElection timer: 1000\nLog: [2, 100]\n"
        f"Entries not yet committed: 0\nEntries not yet applied: 0\nConnections: \nDisconnections: 0\nServers:\n"
        f"    {sid('m0')[:4]} ({sid('m0')[:4]} at {address('m0')}) (self) next_index=100 match_index=99\n"
    )
    answer = {"member": "m0", "database": "OVN_Northbound", "cluster_status": status}
    m1 = {"running": False, "connected": False, "file_class": "none", "file_sid": None, "cid": None, "sid": None}
    members = [
        up("m0", written, answer=answer),
        up("m1", written, **(m1 if written.members["m1"].state == "expected" else {})),
        *([last] if last is not None else []),
    ]

    def make_examinable() -> bool:
        calls.append("asked")
        return False

    refusal = ""
    try:
        converge(Still(members), run(), make_examinable=make_examinable)
    except Refused as e:
        refusal = str(e)
    assert (bool(calls), bool(refusal)) == (asked, not asked or "could not be examined" in refusal)

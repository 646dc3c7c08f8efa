"""Members that leave count until they have left, and never again afterwards (R37)."""

from __future__ import annotations

import typing as t

import pytest
from raft_observations import ADDRESSES, CID, LISTED, NAMES, OTHER, RECORD, RUN, SIDS, down, lost, up, with_state

from ansible_collections.c5c3.ovn.plugins.module_utils._base.errors import Refused
from ansible_collections.c5c3.ovn.plugins.module_utils._raft.machine_plan import check_databases
from ansible_collections.c5c3.ovn.plugins.module_utils._raft.observation import Observation
from ansible_collections.c5c3.ovn.plugins.module_utils._raft.plan import plan_round
from ansible_collections.c5c3.ovn.plugins.module_utils._raft.record import Member, Record
from ansible_collections.c5c3.ovn.plugins.module_utils._raft.step import Round, Unexamined

PAST = "44440000-0000-4000-8000-000000000000"
PLACE = "ssl:192.0.2.4:6643"
LEAVING = RECORD.replace(members={**RECORD.members, "c4": Member(PLACE, "leaving", PAST)})
ABSENT = RECORD.replace(members={**RECORD.members, "c4": Member(PLACE, "absent", None, (PAST,))})
GONE = ABSENT.with_member("c4", state="gone")
RETIRED = RECORD.replace(retired_cids=(OTHER,))
FOUR = {**LISTED, PAST[:4]: PLACE}
STOPPED = ("stop", ("c4",))


def decide(seen: t.Iterable[Observation], closed: t.Collection[str] = ()) -> Round:
    """`closed` are gates; each is asked of all members that count."""

    def gate(name: str, asked: t.Sequence[Observation], _member: str | None) -> str:
        return f"{name} of {' '.join(o.member for o in asked)} is closed" if name in closed else ""

    return plan_round(RUN, {o.member: o for o in seen}, gate)


def planned(result: Round) -> tuple[str, tuple[str, ...]] | None:
    return (result.step.action, result.step.members) if result.step else None


def members(record: Record, **instead: Observation) -> list[Observation]:
    return [instead.get(name, up(name, record)) for name in NAMES]


def former(record: Record | None, **changes: t.Any) -> Observation:
    """The server of c4, which thinks that it takes part and even leads."""
    return up("c4", record, **{"file_sid": PAST, "sid": PAST, "leader": True, "listed": FOUR, **changes})


@pytest.mark.parametrize(
    ("seen", "stopped"),
    [
        pytest.param([*members(ABSENT), former(ABSENT)], "c4", id="one that has left"),
        pytest.param([*members(GONE), former(GONE)], "c4", id="one that was given up"),
        pytest.param([*members(ABSENT), former(RECORD)], "c4", id="its copy of the record is from before"),
        pytest.param([*members(ABSENT), former(ABSENT, sid=None, file_sid=None)], "c4", id="it says nothing"),
        pytest.param([*members(ABSENT, c3=lost("c3", ABSENT)), former(ABSENT)], "c4", id="before a member is replaced"),
        pytest.param([*members(ABSENT)[:2], former(ABSENT)], "c4", id="before a member that was not reached"),
        pytest.param(
            members(ABSENT, c3=up("c3", ABSENT, sid=PAST, file_sid=PAST)), "c3", id="its disk in a declared host"
        ),
        pytest.param(
            members(RETIRED, c3=up("c3", RECORD, cid=OTHER, file_cid=OTHER, leader=True)),
            "c3",
            id="of a retired cluster, which is no split",
        ),
        pytest.param(
            members(
                RETIRED, c1=down("c1", RETIRED, file_class="unknown"), c3=up("c3", RECORD, cid=OTHER, file_cid=OTHER)
            ),
            "c3",
            id="of a retired cluster, while the file of a member cannot be examined",
        ),
    ],
)
def test_what_left_for_good_and_runs_is_stopped_first(seen: list[Observation], stopped: str) -> None:
    result = decide(seen, closed=["may_stop", "quiet", "one_leader"])
    assert planned(result) == ("stop", (stopped,))
    newest = max(
        (o.recorded for o in seen if o.recorded), key=lambda record: len(record.retired_cids + record.retired_sids)
    )
    copy = next(o.recorded for o in seen if o.member == stopped)
    assert result.record == (None if copy == newest else newest.replace(revision=newest.revision + 1))
    assert result.refusal is None
    check = check_databases({"northbound": RUN}, {"northbound": {o.member: o for o in seen}})
    assert check.due
    assert not check.refusals


@pytest.mark.parametrize("record", [ABSENT, GONE, None, RETIRED.replace(cid=OTHER, retired_cids=(), revision=99)])
@pytest.mark.parametrize("file_class", ["member", "left", "foreign-cid", "broken", "unknown"])
def test_what_left_for_good_and_does_not_run_counts_for_nothing(record: Record | None, file_class: str) -> None:
    seen = members(ABSENT, c1=up("c1", ABSENT, restart_reason="its settings have changed"))
    off = {"running": False, "connected": False, "leader": False, "cid": None, "sid": None, "listed": {}}
    result = decide([*seen, former(record, file_class=file_class, **off)], closed=["may_stop"])
    assert result.step is not None
    assert result.step.reason.endswith("may_stop of c1 c2 c3 is closed")
    written = result.record.replace(revision=ABSENT.revision) if result.record else None
    assert written == (None if record == ABSENT else ABSENT), "it is given the record, or its launcher would start it"


@pytest.mark.parametrize("running", [False, True])
def test_a_list_with_a_server_that_left_for_good_is_from_the_past(running: bool) -> None:
    seen = members(ABSENT, c2=up("c2", ABSENT, listed=FOUR))
    with pytest.raises(Refused, match=f"lists the server {PAST} at {PLACE}, which left the cluster for good"):
        decide([*seen, former(ABSENT)] if running else seen)


def test_a_member_that_only_begins_like_one_that_left_is_a_member() -> None:
    """Lists have four digits."""
    record = ABSENT.with_member("c4", past_sids=(f"{SIDS['c3'][:4]}9999{PAST[8:]}",))
    assert decide(members(record)).is_empty
    assert planned(decide([*members(record), former(record, sid=record.retired_sids[0])])) == STOPPED


@pytest.mark.parametrize(
    ("record", "changes", "reason"),
    [
        pytest.param(
            ABSENT, {"file_sid": PAST}, f"is of the server {PAST}, which left the cluster for good", id="server"
        ),
        pytest.param(RETIRED, {"file_cid": OTHER}, f"belongs to the retired cluster {OTHER}", id="cluster"),
    ],
)
def test_a_retired_file_never_starts_although_its_launcher_reads_an_older_record(
    record: Record, changes: dict[str, t.Any], reason: str
) -> None:
    with pytest.raises(Refused, match=f"northbound on c3: its file {reason}. Move it away, then run again."):
        decide(members(record, c3=down("c3", RECORD.replace(revision=1), **changes)))


def test_a_server_of_a_retired_cluster_is_stopped_although_its_file_refuses_the_run_afterwards() -> None:
    seen = members(RETIRED, c3=up("c3", RETIRED, cid=OTHER, file_cid=OTHER, file_class="retired-cid"))
    assert planned(decide(seen)) == ("stop", ("c3",))


def four(record: Record = LEAVING, **instead: Observation) -> list[Observation]:
    at = {"sid": PAST, "file_sid": PAST, "listed": FOUR}
    found = [up(name, record, listed=FOUR) for name in NAMES] + [up("c4", record, **at)]
    return [instead.get(o.member, o) for o in found]


def test_a_member_that_leaves_counts_in_every_gate() -> None:
    restart = up("c1", LEAVING, listed=FOUR, restart_reason="its settings have changed")
    step = decide(four(c1=restart), closed=["may_stop"]).step
    assert step is not None
    assert step.reason.endswith("may_stop of c1 c2 c3 c4 is closed")


def test_what_one_copy_of_the_past_calls_leaving_has_left() -> None:
    seen = members(ABSENT, c1=up("c1", LEAVING.replace(revision=1)))
    off = {"running": False, "connected": False, "leader": False, "cid": None, "sid": None, "listed": {}}
    result = decide([*seen, former(LEAVING.replace(revision=1), **off)])
    assert (result.record, result.step) == (ABSENT.replace(revision=ABSENT.revision + 1), None)


def test_a_member_that_leaves_has_to_be_examined() -> None:
    restart = up("c1", LEAVING, listed=FOUR, restart_reason="its settings have changed")
    with pytest.raises(Unexamined, match="but c4 could not be examined"):
        decide(four(c1=restart)[:3])


def test_a_member_that_leaves_is_given_the_record() -> None:
    older = up("c4", LEAVING.replace(revision=1), sid=PAST, file_sid=PAST, listed=FOUR)
    result = decide(four(c4=older))
    assert result.record is not None
    assert result.record.members == LEAVING.members
    assert result.step is None


def test_a_member_that_leaves_starts_from_its_file_because_its_vote_may_be_needed() -> None:
    stopped = {"file_sid": PAST, "file_cid": CID}
    assert planned(decide(four(c4=down("c4", LEAVING, **stopped)))) == ("start", ("c4",))


def test_a_member_that_leaves_holds_a_copy_among_all_places() -> None:
    """Two of four copies are no majority."""
    other = LEAVING.replace(epoch=9)
    copies = four(c3=up("c3", other, listed=FOUR), c4=up("c4", other, sid=PAST, file_sid=PAST, listed=FOUR))
    with pytest.raises(Refused, match="differ in epoch"):
        decide(copies)
    assert decide(four(c4=copies[3])).record is not None, "three of four are"


def test_members_that_left_are_no_others_that_would_serve_meanwhile() -> None:
    one = {SIDS["c2"][:4]: ADDRESSES["c2"]}
    gone = {name: Member(ADDRESSES[name], "absent", None, (SIDS[name],)) for name in ("c1", "c3")}
    record = RECORD.replace(members={**gone, "c2": RECORD.members["c2"]})
    run = type(RUN)("northbound", {"c2": ADDRESSES["c2"]}, name="a run", time=RUN.time)
    seen = up("c2", record, listed=one, restart_reason="its settings have changed")
    result = plan_round(run, {"c2": seen}, lambda *_asked: "")
    assert result.step is None
    assert "with one member this is an outage" in result.warnings[0]


def test_nobody_leaves_by_being_left_out() -> None:
    four_members = with_state("c3", "confirmed", SIDS["c3"]).members | {"c4": Member(PLACE, "confirmed", PAST)}
    with pytest.raises(Refused, match="c4 is a recorded member of northbound"):
        decide(four(RECORD.replace(members=four_members)))

"""Situations that once stopped every run: what the plan does with members that took another way than the record knows."""

from __future__ import annotations

import dataclasses
import typing as t

import pytest
from raft_observations import ADDRESSES, CID, LISTED, NAMES, RECORD, RUN, SIDS, WITHOUT_C3, down, lost, up, with_state

from ansible_collections.c5c3.ovn.plugins.module_utils._base.errors import Refused
from ansible_collections.c5c3.ovn.plugins.module_utils._raft.answer import Problem
from ansible_collections.c5c3.ovn.plugins.module_utils._raft.observation import Observation
from ansible_collections.c5c3.ovn.plugins.module_utils._raft.plan import plan_round, predict_rounds
from ansible_collections.c5c3.ovn.plugins.module_utils._raft.record import Member, Record
from ansible_collections.c5c3.ovn.plugins.module_utils._raft.rounds import incomplete
from ansible_collections.c5c3.ovn.plugins.module_utils._raft.step import Round, Run

NEW = "99990000-0000-4000-8000-000000000000"
ELSEWHERE = "ssl:192.0.2.99:6643"


FIVE_RUN = dataclasses.replace(RUN, declared={**ADDRESSES, "c4": "ssl:192.0.2.4:6643", "c5": "ssl:192.0.2.5:6643"})
FIVE_SIDS = {**SIDS, "c4": SIDS["c1"].replace("1", "4"), "c5": SIDS["c1"].replace("1", "5")}
FIVE_RECORD = RECORD.replace(members={n: Member(a, "confirmed", FIVE_SIDS[n]) for n, a in FIVE_RUN.declared.items()})
ALL_FIVE = {FIVE_SIDS[n][:4]: a for n, a in FIVE_RUN.declared.items()}


def decide(seen: t.Sequence[Observation], run: Run = RUN, closed: t.Collection[str] = ()) -> Round:
    """With open gates but these, which are `GATE MEMBER`."""

    def gate(name: str, _seen: t.Sequence[Observation], member: str | None) -> str:
        return "the gate is closed" if f"{name} {member}" in closed else ""

    return plan_round(run, {o.member: o for o in seen}, gate)


def step(result: Round) -> tuple[str, tuple[str, ...], str]:
    assert result.step is not None
    return result.step.action, result.step.members, result.step.reason


def members(result: Round) -> dict[str, Member]:
    assert result.record is not None
    return result.record.members


def on_deleted_file(name: str, record: Record = RECORD, **changes: t.Any) -> Observation:
    return up(name, record, **{"file_class": "none", "file_sid": None, "file_cid": None, **changes})


def test_a_server_on_a_deleted_file_does_not_keep_another_from_being_replaced() -> None:
    seen = [on_deleted_file("c1"), up("c2"), lost("c3")]
    action, _members, reason = step(decide(seen, closed=["may_stop c1"]))
    assert (action, reason.split(" (")[0]) == ("kick", "remove the lost member c3")


def test_a_server_on_a_deleted_file_is_waited_for_when_nothing_else_is_left() -> None:
    seen = [on_deleted_file("c1"), up("c2"), up("c3")]
    assert step(decide(seen))[:2] == ("stop", ("c1",))
    assert step(decide(seen, closed=["may_stop c1"]))[:2] == ("wait", ("c1",))


ONE = {SIDS["c2"][:4]: ADDRESSES["c2"]}


def test_the_only_server_hands_its_data_to_joiners_before_it_ends() -> None:
    record = Record(
        "northbound", {n: RECORD.members[n] if n == "c2" else Member(ADDRESSES[n]) for n in NAMES}, 7, cid=CID
    )
    seen = [lost("c1", record), on_deleted_file("c2", record, listed=ONE), lost("c3", record)]
    result = decide(seen)
    assert step(result)[:2] == ("start", ("c1",))
    assert any("northbound on c2: its file is gone" in warning for warning in result.warnings)


def test_the_only_server_that_has_the_data_is_not_restarted() -> None:
    record = Record("northbound", {"c2": RECORD.members["c2"]}, 7, cid=CID)
    run = dataclasses.replace(RUN, declared={"c2": ADDRESSES["c2"]}, allow_outage=True)
    alone = on_deleted_file("c2", record, listed=ONE, restart_reason="its settings have changed")
    with pytest.raises(Refused, match=r"only copy of the data is in the memory.*ovsdb-server/compact"):
        decide([alone], run)


@pytest.mark.parametrize("name", ["c1", "c3"])
def test_changed_settings_restart_nobody_who_runs_on_a_deleted_file(name: str) -> None:
    due = {"restart_reason": "its settings have changed"}
    seen = [on_deleted_file(n, **due) if n == name else up(n, **due) for n in NAMES]
    assert step(decide(seen))[:2] == ("stop", (name,))


def test_nobody_is_stopped_while_the_disks_of_the_others_are_full() -> None:
    seen = [up("c1", restart_reason="new"), up("c2", free_bytes=10**9), up("c3", free_bytes=0)]
    action, _members, reason = step(decide(seen))
    assert action == "wait"
    assert "the disk of c3 is full, so too few members could write without c1" in reason
    assert step(decide([seen[0], seen[1], up("c3", free_bytes=10**6)]))[:2] == ("restart", ("c1",))


@pytest.fixture
def failed(paper: t.Any) -> t.Callable[..., Observation]:
    """A server that could not write: at first its status says so, later it has closed the database."""

    def observation(name: str, *, closed: bool = False, **changes: t.Any) -> Observation:
        answer = paper.Raft(3).set(1, status="failed", connected=False).answers()[0]
        if closed:
            answer = dataclasses.replace(
                answer, cluster_status=None, earlier_status=None, problems=(Problem("no_database", "It has none."),)
            )
        return up(name, **{"connected": False, "answer": answer.as_dict(), **changes})

    return observation


def test_servers_that_could_not_write_are_restarted_at_once_when_nobody_leads(failed: t.Any) -> None:
    seen = [failed("c1"), failed("c2", closed=True), up("c3", connected=False, leader=False)]
    action, restarted, reason = step(decide(seen))
    assert (action, restarted) == ("restart", ("c1", "c2"))
    assert "after a failed write" in reason
    assert step(decide(seen[:2]))[:2] == ("restart", ("c1", "c2"))


def test_of_servers_that_could_not_write_those_with_room_are_restarted(failed: t.Any) -> None:
    full = {"start_problem": "/var/lib/ovn has 0 KiB free."}
    seen = [failed("c1", **full), failed("c2", closed=True), failed("c3", **full)]
    assert step(decide(seen))[:2] == ("restart", ("c2",))
    seen[1] = failed("c2", closed=True, **full)
    with pytest.raises(Refused, match=r"northbound on c1 is not restarted: .* has 0 KiB free"):
        decide(seen)


def test_nobody_waits_for_one_that_has_no_room(failed: t.Any) -> None:
    full = failed("c1", start_problem="/var/lib/ovn has 0 KiB free.")
    result = decide([full, up("c2"), up("c3")])
    assert result.step is None
    assert "northbound on c1 stopped after a failed write, and is not restarted" in result.warnings[0]
    with pytest.raises(Refused, match=r"northbound on c1 is not restarted"):  # c2 alone commits no removal
        decide([full, up("c2"), lost("c3")])
    assert step(decide([full, up("c2"), up("c3", restart_reason="new")]))[:2] == ("restart", ("c3",))
    electing = [full, *(up(n, connected=False, leader=False) for n in ("c2", "c3"))]
    assert step(decide(electing))[0] == "wait"


def test_check_mode_restarts_one_that_could_not_write_once(failed: t.Any) -> None:
    for seen in ([failed("c1"), up("c2"), up("c3")], [failed("c1"), failed("c2"), failed("c3", closed=True)]):
        steps = predict_rounds(RUN, {o.member: o for o in seen}, lambda *_: "")[0]
        assert len([sentence for sentence in steps if "restart northbound" in sentence]) == 1, steps


@pytest.mark.parametrize("restart", [True, False])
@pytest.mark.parametrize("closed", [True, False])
def test_one_that_could_not_write_is_restarted_while_others_lead(failed: t.Any, closed: bool, restart: bool) -> None:
    run = dataclasses.replace(RUN, restart=restart)
    assert step(decide([failed("c1", closed=closed), up("c2"), up("c3")], run))[:2] == ("restart", ("c1",))


@pytest.mark.parametrize(
    "changes", [{"file_class": "left"}, {"connected": True}, {"running": False}, {"answer": {}}], ids=str
)
def test_not_every_server_without_the_database_could_not_write(failed: t.Any, changes: dict[str, t.Any]) -> None:
    assert not failed("c1", **{"closed": True, **changes}).write_failed


def test_a_container_that_could_not_write_is_replaced_first(failed: t.Any) -> None:
    """Its server never tries again, and no run restarts what it did not start."""
    why = {"replace_reason": "it runs in container ovn_nb_db"}
    run = dataclasses.replace(RUN, adopt=True)
    seen = [up("c1", **why), up("c2", **why), failed("c3", **why)]
    assert step(decide(seen, run))[:2] == ("stop", ("c3",))
    without_leader = [failed("c1", **why), failed("c2", **why), up("c3", connected=False, leader=False, **why)]
    action, _members, reason = step(decide(without_leader, run))
    assert action == "wait"
    assert reason.endswith("the container of c1, c2 could not write: free space on its disk, then restart it")
    lost = up("c2", file_class="none", file_sid=None)  # it has to join again, which takes a majority of the others
    closed = decide([failed("c1", **why), lost, up("c3")], run, closed=["may_stop c2"])
    assert step(closed)[:2] == ("wait", ("c2",))
    assert step(closed)[2].endswith(
        "is closed; the container of c1 could not write: free space on its disk, then restart it"
    )


JOINED_AGAIN = {**LISTED, NEW[:4]: ADDRESSES["c3"]}


@pytest.mark.parametrize("file_class", ["member", "foreign-sid"])
def test_a_member_that_joined_by_an_older_copy_of_the_record_is_confirmed_and_its_old_id_removed(
    file_class: str,
) -> None:
    joined = up("c3", sid=NEW, file_sid=NEW, file_class=file_class)
    result = decide([up("c1"), up("c2", listed=JOINED_AGAIN), joined])
    assert members(result)["c3"] == Member(ADDRESSES["c3"], "confirmed", NEW)
    assert step(result)[0] == "kick"
    assert "3333" in step(result)[2]


def test_a_copied_file_of_another_member_is_no_new_id() -> None:
    copied = down("c3", file_sid=SIDS["c1"], file_class="foreign-sid")
    with pytest.raises(Refused):
        decide([up("c1"), up("c2"), copied])


def test_an_old_copy_from_before_it_joined_again_is_replaced() -> None:
    former = down("c3", file_sid=NEW, file_class="foreign-sid")
    assert step(decide([up("c1"), up("c2"), former]))[:2] == ("kick", ("c2",))
    result = decide([up("c1", listed=WITHOUT_C3), up("c2", listed=WITHOUT_C3), former])
    assert members(result)["c3"] == Member(ADDRESSES["c3"], "expected", NEW)
    assert result.step is not None
    assert (result.step.action, result.step.expects["c3"]["file_class"]) == ("start", "foreign-sid")


@pytest.mark.parametrize(
    "others",
    [
        [up("c1"), up("c2", listed={**LISTED, NEW[:4]: ADDRESSES["c3"]})],
        [lost("c1"), up("c2", leader=False)],
        [up("c1", sid=NEW, file_sid=NEW), up("c2")],
    ],
    ids=["the leader lists it", "nobody leads and nobody could", "it is the file of another member"],
)
def test_a_foreign_server_id_that_may_be_somebodys_is_refused(others: list[Observation]) -> None:
    reason = "FILE has sid X, the record says Y: an old copy, or of another member. Run the playbook: it replaces an old copy."
    with pytest.raises(Refused, match=r"on c3: FILE .* or of another member\. Move it away, then run again\. Nothing"):
        decide([*others, down("c3", file_sid=NEW, file_class="foreign-sid", file_reason=reason)])


@pytest.mark.parametrize(
    ("others", "expected"),
    [
        ([up("c1", leader=False, connected=False), up("c2", leader=False, connected=False)], ("wait", ("c1", "c2"))),
        ([down("c1"), down("c2")], ("start", ("c1", "c2"))),
        ([down("c1"), up("c2", leader=False, connected=False)], ("start", ("c1",))),
    ],
    ids=["the others run", "the others are down", "one of the others is down"],
)
def test_a_file_of_which_only_a_leader_can_tell_keeps_the_others_from_nothing(
    others: list[Observation], expected: tuple[str, tuple[str, ...]]
) -> None:
    former = down("c3", file_sid=NEW, file_class="foreign-sid")
    assert step(decide([*others, former]))[:2] == expected


def test_a_wait_for_a_leader_names_the_file_that_needs_one() -> None:
    waiting = [up("c1", leader=False, connected=False), up("c2", leader=False, connected=False)]
    reason = step(decide([*waiting, down("c3", file_sid=NEW, file_class="foreign-sid")]))[2]
    assert reason == "wait for northbound to elect a leader, which alone knows whose file c3 has"


@pytest.mark.parametrize("running", [False, True], ids=["its server is down", "its server runs"])
def test_member_joined_by_hand_is_recorded_while_nobody_leads(running: bool) -> None:
    listed = {**LISTED, NEW[:4]: ADDRESSES["c3"]}
    joined = {"file_sid": NEW, "file_class": "foreign-sid"}
    own = up("c3", sid=NEW, leader=False, connected=False, listed=listed, **joined) if running else down("c3", **joined)
    other = up("c2", leader=False, connected=False, listed=listed)
    assert members(decide([lost("c1"), other, own]))["c3"] == Member(ADDRESSES["c3"], "confirmed", NEW)


def test_an_older_copy_of_the_record_calls_nobody_a_stranger() -> None:
    older = RECORD.with_member("c3", state="confirmed", sid=NEW).replace(revision=3)
    result = decide([up("c1"), up("c2"), down("c3", older, file_class="foreign-sid")])
    assert result.record is not None
    assert members(result)["c3"].sid == SIDS["c3"]


def test_an_older_copy_of_the_record_is_written_again_although_nobody_leads() -> None:
    older = RECORD.with_member("c3", state="confirmed", sid=NEW).replace(revision=3)
    seen = [lost("c1"), up("c2", connected=False, leader=False), down("c3", older, file_class="foreign-sid")]
    result = decide(seen)
    assert result.refusal is not None
    assert result.record is not None


def test_a_member_that_joined_while_it_was_held_back_starts_from_its_file() -> None:
    record = with_state("c3", "replacing", None)
    result = decide([lost("c1", record), up("c2", record, connected=False, leader=False), down("c3", record)])
    assert step(result)[:2] == ("start", ("c3",))
    assert members(result)["c3"].state == "expected"


def test_a_member_that_is_down_and_joined_while_it_was_held_back_is_confirmed() -> None:
    record = with_state("c3", "replacing", None)
    result = decide([up("c1", record), up("c2", record), down("c3", record)])
    assert members(result)["c3"] == Member(ADDRESSES["c3"], "confirmed", SIDS["c3"])
    assert step(result)[:2] == ("start", ("c3",))


def test_nobody_is_confirmed_under_an_address_that_the_leader_does_not_list() -> None:
    run = dataclasses.replace(RUN, declared={**ADDRESSES, "c3": ELSEWHERE})
    record = RECORD.replace(members={**RECORD.members, "c3": Member(ELSEWHERE)})
    with pytest.raises(
        Refused, match=r"c3 has the northbound address ssl:192.0.2.3:6643, the inventory says ssl:192.0.2.99:6643"
    ):
        decide([up("c1", record), up("c2", record), up("c3", record)], run)


def test_the_address_in_the_record_follows_the_inventory_where_the_leader_lists_it() -> None:
    record = RECORD.replace(members={**RECORD.members, "c3": Member(ELSEWHERE)})
    result = decide([up("c1", record), up("c2", record), up("c3", record)])
    assert members(result)["c3"] == Member(ADDRESSES["c3"], "confirmed", SIDS["c3"])


def test_a_file_that_lies_under_another_declared_address_is_not_adopted() -> None:
    run = dataclasses.replace(RUN, declared={**ADDRESSES, "c3": ELSEWHERE})
    with pytest.raises(Refused, match="c3 has the northbound address"):
        decide([up("c1", None), up("c2", None), down("c3", None)], run)


@pytest.mark.parametrize("sid", [None, SIDS["c3"]])
def test_a_held_back_member_that_nobody_lists_gets_its_new_address(sid: str | None) -> None:
    record = with_state("c3", "replacing", sid).replace(
        members={**RECORD.members, "c3": Member(ELSEWHERE, "replacing", sid)}
    )
    seen = [up("c1", record, listed=WITHOUT_C3), up("c2", record, listed=WITHOUT_C3), lost("c3", record)]
    assert members(decide(seen))["c3"].address == ADDRESSES["c3"]


def test_a_server_that_left_before_it_was_confirmed_joins_again() -> None:
    record = with_state("c3", "expected", None)
    left = up("c3", record, file_class="left", connected=False, sid=None, cid=None, listed={})
    seen = [up("c1", record, listed=WITHOUT_C3), up("c2", record, listed=WITHOUT_C3), left]
    assert step(decide(seen))[:2] == ("stop", ("c3",))


def test_a_member_that_is_not_declared_stops_the_run_before_anybody_is_replaced() -> None:
    run = dataclasses.replace(RUN, declared={name: ADDRESSES[name] for name in ("c1",)})
    record = Record("northbound", {"c1": RECORD.members["c1"]}, 7, cid=CID)
    with pytest.raises(
        Refused, match=r"has a member 2222 \(unresponsive\) at ssl:192.0.2.2:6643 that the inventory does not name"
    ):
        decide([on_deleted_file("c1", record, leader=True)], run)


def test_an_accepted_loss_is_noted_for_a_launcher_that_waits_for_the_disk() -> None:
    record = with_state("c3", "expected", None)
    seen = [
        up("c1", record, listed=WITHOUT_C3),
        up("c2", record, listed=WITHOUT_C3),
        lost("c3", record, file_class="disk-missing", file_sid=SIDS["c3"]),
    ]
    result = decide(seen, dataclasses.replace(RUN, accept_lost_disk=True))
    assert members(result)["c3"].sid == SIDS["c3"]


def test_a_closed_gate_names_the_disk_that_it_waits_for() -> None:
    seen = [
        up("c1", restart_reason="new"),
        up("c2"),
        lost("c3", file_class="disk-missing", file_reason="the disk is away."),
    ]
    reason = step(decide(seen, closed=["may_stop c1"]))[2]
    assert reason.endswith(
        "c3 (the disk is away). Mount its disk, or accept the loss with ovn_central_permit=lost_disk"
    )


def test_a_closed_gate_names_the_disk_of_a_member_whose_id_an_adopted_record_does_not_know() -> None:
    record = with_state("c3", "replacing", None)
    away = lost("c3", record, file_class="disk-missing", file_reason="the disk is away.")
    seen = [up("c1", record, restart_reason="new"), up("c2", record), away]
    reason = step(decide(seen, closed=["may_stop c1"]))[2]
    assert "c3 (the disk is away). Mount its disk" in reason


@pytest.mark.parametrize("listed", [LISTED, WITHOUT_C3], ids=["removal", "join"])
def test_full_disk_of_the_leader_keeps_members_from_changing(listed: dict[str, str]) -> None:
    record = RECORD if listed is LISTED else with_state("c3", "expected", SIDS["c3"])
    seen = [up("c1", record, listed=listed), up("c2", record, listed=listed, free_bytes=0), lost("c3", record)]
    action, _members, reason = step(decide(seen))
    assert (action, "the disk of the leader c2 is full" in reason) == ("wait", True)


def test_full_disk_keeps_a_member_listed_whose_removal_too_few_could_write() -> None:
    action, _members, reason = step(decide([up("c1", free_bytes=0), up("c2"), lost("c3")]))
    assert (action, "the disk of c1 is full, so too few members could write" in reason) == ("wait", True)
    record = with_state("c3", "expected", SIDS["c3"])
    seen = [up("c1", record, listed=WITHOUT_C3, free_bytes=0), up("c2", record, listed=WITHOUT_C3), lost("c3", record)]
    assert step(decide(seen))[:2] == ("start", ("c3",)), "with the new member two of three can write"


def test_closed_gate_names_the_disk_of_a_removed_member() -> None:
    """At size 2 no gate of a stop opens before it has joined again."""
    away = lost("c3", file_class="disk-missing", file_reason="the disk is away.")
    seen = [up("c1", restart_reason="new", listed=WITHOUT_C3), up("c2", listed=WITHOUT_C3), away]
    assert "c3 (the disk is away). Mount its disk" in step(decide(seen, closed=["may_stop c1"]))[2]


@pytest.mark.parametrize("gate", ["one_leader None", "quiet None"])
def test_a_member_whose_removal_may_be_undone_is_neither_stopped_nor_held_back(gate: str) -> None:
    """The leader uses a list before a majority has it; the next leader may be without it, and then needs the member."""
    removed = up("c3", connected=False)
    seen = [up("c1", listed=WITHOUT_C3), up("c2", listed=WITHOUT_C3), removed]
    result = decide(seen, closed=[gate])
    assert step(result)[:2] == ("wait", ("c3",))
    assert result.record is None
    assert step(decide(seen))[:2] == ("stop", ("c3",))


def test_a_cluster_without_a_leader_is_not_adopted_as_less_than_a_member_lists() -> None:
    run = dataclasses.replace(RUN, declared={"c1": ADDRESSES["c1"]})
    alone = up("c1", None, leader=False, connected=False)
    with pytest.raises(
        Refused, match=r"has a member 2222, which c1 lists, at ssl:192.0.2.2:6643 that the inventory does not name"
    ):
        decide([alone], run)


def test_a_cluster_is_not_adopted_as_less_than_its_leader_lists_to_start_a_member() -> None:
    listed = {**LISTED, "9999": ELSEWHERE}
    seen = [up("c1", None, listed=listed), up("c2", None, listed=listed), down("c3", None)]
    with pytest.raises(
        Refused, match=f"has a member 9999, which c2 lists, at {ELSEWHERE} that the inventory does not name"
    ):
        decide(seen)


def test_a_member_without_a_leader_is_not_adopted_under_another_address_than_its_own() -> None:
    run = dataclasses.replace(RUN, declared={**ADDRESSES, "c1": ELSEWHERE})
    seen = [up(name, None, leader=False, connected=False) for name in NAMES]
    with pytest.raises(Refused, match=f"c1 has the northbound address {ADDRESSES['c1']}, the inventory says"):
        decide(seen, run)


def test_a_doubtful_file_is_refused_while_new_members_are_declared() -> None:
    record = Record("northbound", {"c1": RECORD.members["c1"]}, 7, cid=CID)
    doubtful = down("c1", record, file_class="foreign-sid", file_sid=NEW, file_reason="it has another server id.")
    with pytest.raises(Refused, match="northbound on c1: it has another server id"):
        decide([doubtful, lost("c2", record), lost("c3", record)])


def test_a_member_whose_disk_is_away_is_reported_with_what_to_do() -> None:
    away = down("c3", file_class="disk-missing", file_reason="The file lay on file system 1.")
    (message,) = incomplete(RUN, {o.member: o for o in (up("c1"), up("c2"), away)})
    assert message.startswith(
        "northbound on c3 takes no part in its cluster: The file lay on file system 1. Mount its disk, or"
    )
    assert RUN.texts.reach not in message
    (unreachable,) = incomplete(RUN, {o.member: o for o in (up("c1"), up("c2"))})
    assert unreachable.endswith(RUN.texts.reach)


def test_a_running_member_whose_file_cannot_be_found_is_reported() -> None:
    unsure = up("c3", file_class="unknown", file_reason="The launcher failed.")
    (message,) = incomplete(RUN, {o.member: o for o in (up("c1"), up("c2"), unsure)})
    assert message == (
        "northbound on c3 runs, and its file could not be found: The launcher failed. Correct that, then run again."
    )


@pytest.mark.parametrize("file_class", ["broken", "outdated-copy", "dead-join"])
def test_adoption_refuses_a_changed_address_of_a_file_that_does_not_start(file_class: str) -> None:
    run = dataclasses.replace(RUN, declared={**ADDRESSES, "c3": ELSEWHERE})
    seen = [up("c1", None), up("c2", None), down("c3", None, file_class=file_class)]
    with pytest.raises(Refused, match=f"c3 has the northbound address {ADDRESSES['c3']}, the inventory says"):
        decide(seen, run)


def test_adoption_without_a_leader_refuses_a_changed_address_that_another_member_lists() -> None:
    run = dataclasses.replace(RUN, declared={**ADDRESSES, "c3": ELSEWHERE})
    alone = up("c2", None, leader=False, connected=False)
    seen = [down("c1", None, file_class="none", file_sid=None, file_cid=None), alone]
    with pytest.raises(Refused, match=f"c3 has the northbound address {ADDRESSES['c3']}, the inventory says"):
        decide([*seen, down("c3", None, file_class="broken")], run)


@pytest.mark.parametrize("file_class", ["broken", "dead-join"])
def test_adoption_accepts_a_damaged_copy_of_another_members_file(file_class: str) -> None:
    seen = [up("c1", None), up("c2", None), down("c3", None, file_class=file_class, file_sid=SIDS["c2"])]
    assert members(decide(seen))["c3"].address == ADDRESSES["c3"]


def test_a_damaged_copy_of_the_file_of_a_member_whose_disk_is_away_removes_only_its_own_id() -> None:
    away = down("c1", None, file_class="disk-missing", file_sid=None, file_cid=None)
    copy = down("c3", None, file_class="dead-join", file_sid=SIDS["c1"])
    others = [up(n, None, sid=FIVE_SIDS[n], file_sid=FIVE_SIDS[n], listed=ALL_FIVE) for n in ("c2", "c4", "c5")]
    removal = decide([away, copy, *others], FIVE_RUN, closed=["may_add None"]).step
    assert removal is not None
    assert (removal.action, removal.sid) == ("kick", SIDS["c3"][:4])


def test_a_server_id_that_no_run_has_recorded_stays_while_the_disk_of_its_member_is_away() -> None:
    listed = {**LISTED, NEW[:4]: ADDRESSES["c3"]}
    away = down("c3", file_class="disk-missing", file_sid=None, file_cid=None)
    assert decide([up("c1"), up("c2", listed=listed), away]).step is None


def test_a_member_that_joined_by_hand_is_restarted_after_a_failed_write_when_nobody_leads(failed: t.Any) -> None:
    """Its vote is needed: both of its server ids are listed."""
    listed = {**LISTED, NEW[:4]: ADDRESSES["c3"]}
    quiet = {"leader": False, "connected": False, "listed": listed}
    beside = failed("c3", sid=NEW, file_sid=NEW, file_class="foreign-sid", listed=listed)
    result = decide([up("c1", **quiet), up("c2", **quiet), beside])
    assert members(result)["c3"].sid == NEW
    assert step(result)[:2] == ("restart", ("c3",))


def test_stop_of_a_server_that_no_list_has_passes_no_gate() -> None:
    """It joined under another id than the recorded one, which is still listed, and was removed again."""
    removed = up("c3", sid=NEW, file_sid=NEW, file_class="left", connected=False)
    assert step(decide([up("c1"), up("c2"), removed], closed=["may_stop c3"]))[:2] == ("stop", ("c3",))
    unknown = dataclasses.replace(removed, sid=None)
    assert step(decide([up("c1"), up("c2"), unknown], closed=["may_stop c3"]))[:2] == ("stop", ("c3",))
    listed = on_deleted_file("c3")
    assert step(decide([up("c1"), up("c2"), listed], closed=["may_stop c3"]))[:2] == ("wait", ("c3",))


NO_LOAD = {"start_problem": "certificate and key are no pair."}


@pytest.mark.parametrize(
    "seen",
    [
        pytest.param([up("c1"), up("c2"), lost("c3", **NO_LOAD)], id="kick before the join"),
        pytest.param([up("c1"), up("c2"), on_deleted_file("c3", **NO_LOAD)], id="stop before the join"),
        pytest.param(
            [up("c1", restart_reason="new"), up("c2", restart_reason="new"), up("c3", restart_reason="new", **NO_LOAD)],
            id="restart of another member",
        ),
        pytest.param([lost("c1"), up("c2"), up("c3", restart_reason="new", **NO_LOAD)], id="replacement of another"),
    ],
)
def test_start_problem_refuses_before_the_first_step(seen: list[Observation]) -> None:
    with pytest.raises(
        Refused, match=r"northbound on c3 is not .*started: it would not come back. certificate and key"
    ):
        decide(seen)


def test_moved_disk_refuses_before_another_member_is_replaced() -> None:
    moved = lost("c3")
    copy = up("c2", sid=SIDS["c3"], file_sid=SIDS["c3"], leader=False)
    with pytest.raises(Refused, match="answers on another host"):
        decide([up("c1", leader=True, restart_reason="new"), copy, moved])


def test_start_problem_of_another_member_keeps_none_from_starting_with_its_file() -> None:
    seen = [down("c1"), down("c2"), down("c3", **NO_LOAD)]
    assert step(decide(seen))[:2] == ("start", ("c1", "c2"))


def test_foreseen_refusal_still_records_a_member_that_has_joined() -> None:
    record = with_state("c1", "expected", None)
    result = decide([up("c1", record), up("c2", record), lost("c3", record, **NO_LOAD)])
    assert (result.step, members(result)["c1"].state, members(result)["c3"].state) == (None, "confirmed", "confirmed")
    assert "it would not come back" in str(result.refusal)


def test_changed_address_without_a_leader_keeps_no_member_from_its_restart() -> None:
    run = dataclasses.replace(RUN, declared={**ADDRESSES, "c3": ELSEWHERE})
    record = with_state("c3", "expected", None)
    joiner = down("c3", record, file_class="joining", file_sid=NEW)
    assert step(decide([down("c1", record), up("c2", record, leader=False), joiner], run))[:2] == ("start", ("c1",))
    waiting = [up("c1", record, connected=False), up("c2", record, leader=False, connected=False), joiner]
    with pytest.raises(Refused, match="c3 has the northbound address"):
        decide(waiting, run)
    outdated = [dataclasses.replace(o, restart_reason="its settings have changed") for o in waiting[:2]]
    assert step(decide([*outdated, joiner], run))[:2] == ("wait", ("c1", "c2"))
    with pytest.raises(Refused, match="c3 has the northbound address"):  # its own settings let nobody elect a leader
        decide(
            [*waiting[:2], dataclasses.replace(joiner, running=True, restart_reason="its settings have changed")], run
        )


def test_adoption_records_no_server_that_has_left_its_cluster() -> None:
    run = dataclasses.replace(RUN, declared={"c1": ADDRESSES["c1"]})
    left = up("c1", None, file_class="left", connected=False, leader=False, sid=None, cid=None, listed={})
    with pytest.raises(Refused, match="northbound has no quorum: 0 of 0 members can run"):
        decide([left], run)


def test_leader_that_does_not_tell_its_list_makes_nobody_a_stranger() -> None:
    seen = [up("c1"), up("c2", listed={}), up("c3")]
    assert decide(seen).step is None


def test_connected_server_that_was_removed_has_to_join_again() -> None:
    """It calls itself connected until its first attempt to be elected has failed."""
    seen = [up(name, listed=WITHOUT_C3) for name in ("c1", "c2")]
    assert step(decide([*seen, up("c3")]))[:2] == ("stop", ("c3",))


def test_server_without_a_file_or_a_place_in_the_list_has_to_join_again() -> None:
    record = with_state("c3", "expected", None)
    seen = [up(name, record, listed=WITHOUT_C3) for name in ("c1", "c2")]
    alone = on_deleted_file("c3", record, connected=False, leader=False, listed={})
    assert step(decide([*seen, alone]))[:2] == ("stop", ("c3",))


@pytest.mark.parametrize(
    ("listed", "reports", "expected"),
    [
        pytest.param(LISTED, True, "wait", id="two removals that are not on record"),
        pytest.param(ALL_FIVE, True, "2 of 5 members can run, 3 are needed", id="no removals"),
        pytest.param({}, True, "2 of 5 members can run, 3 are needed", id="no list"),
        pytest.param(LISTED, False, "wait", id="a server that loads its file"),
    ],
)
def test_quorum_counts_by_the_lists_of_the_servers(listed: dict[str, str], reports: bool, expected: str) -> None:
    quiet = {"leader": False, "connected": False, "listed": listed}
    loads = {} if reports else {"listed": {}, "sid": None}
    seen = [up("c1", FIVE_RECORD, **quiet), up("c2", FIVE_RECORD, **{**quiet, **loads})]
    seen += [Observation(n, file_class="broken", record=FIVE_RECORD.as_dict()) for n in ("c3", "c4", "c5")]
    if expected == "wait":
        assert step(decide(seen, FIVE_RUN))[0] == "wait"
        return
    with pytest.raises(Refused, match=expected):
        decide(seen, FIVE_RUN)


def test_members_that_were_not_examined_may_have_a_quorum() -> None:
    """A join that is not on record is found by the address that the others list."""
    listed = {**{s: a for s, a in LISTED.items() if a != ADDRESSES["c3"]}, NEW[:4]: ADDRESSES["c3"]}
    seen = [up("c1", leader=False, connected=False, listed=listed), lost("c2", file_class="broken")]
    assert decide(seen).step is None


def test_list_of_a_removed_server_gives_no_quorum() -> None:
    """The leader lists c2 and c3 alone, and c3 is lost."""
    listed = {short: address for short, address in LISTED.items() if address != ADDRESSES["c1"]}
    with pytest.raises(Refused, match="1 of 2 members can run, 2 are needed"):
        decide([up("c1"), up("c2", listed=listed), lost("c3")])


def test_lost_quorum_says_why_members_would_not_start() -> None:
    seen = [down("c1", **NO_LOAD), up("c2"), down("c3", **NO_LOAD)]
    with pytest.raises(Refused, match=r"c1 \(member, and it would not start: certificate and key are no pair\)"):
        decide(seen)


def test_failed_write_with_room_is_restarted_although_another_one_has_none(failed: t.Any) -> None:
    full = failed("c1", start_problem="/var/lib/ovn has 0 KiB free.")
    quiet = {"leader": False, "connected": False}
    assert step(decide([full, failed("c2"), up("c3", **quiet)]))[:2] == ("restart", ("c2",))


def test_failed_write_is_not_restarted_without_its_disk(failed: t.Any) -> None:
    away = failed("c2", file_class="disk-missing", file_reason="the disk is away.")
    for leads in (True, False):
        first = up("c1", leader=leads, connected=leads)
        with pytest.raises(
            Refused, match=r"northbound on c2 is not restarted: it would not come back. the disk is away"
        ):
            decide([first, away, lost("c3", file_class="broken")])


def test_server_that_joins_keeps_no_member_from_starting_whose_disk_is_back() -> None:
    record = with_state("c2", "replacing", SIDS["c2"])
    record = record.with_member("c3", state="expected", sid=None)
    two = {SIDS[n][:4]: ADDRESSES[n] for n in ("c1", "c2")}
    joins = up("c3", record, sid=NEW, file_sid=NEW, file_class="joining", leader=False, connected=False, listed={})
    waiting = up("c1", record, leader=False, connected=False, listed=two)
    assert step(decide([waiting, down("c2", record), joins]))[:2] == ("start", ("c2",))


@pytest.mark.parametrize(
    "silent",
    [
        pytest.param({"file_class": "left", "sid": None, "cid": None}, id="removed"),
        pytest.param({"sid": None, "starting": True}, id="loads its file"),
    ],
)
def test_server_without_a_list_keeps_no_member_from_starting_whose_disk_is_back(silent: dict[str, t.Any]) -> None:
    record = with_state("c3", "replacing", SIDS["c3"])
    two = {SIDS[n][:4]: ADDRESSES[n] for n in ("c1", "c3")}
    quiet = {"leader": False, "connected": False}
    seen = [up("c1", record, listed=two, **quiet), up("c2", record, listed={}, **{**quiet, **silent})]
    assert step(decide([*seen, down("c3", record)]))[:2] == ("start", ("c3",))


@pytest.mark.parametrize("state", ["expected", "replacing"])
def test_given_up_member_is_not_confirmed_while_the_leader_tells_no_list(state: str) -> None:
    record = with_state("c3", state, SIDS["c3"])
    seen = [up("c1", record, listed=WITHOUT_C3), up("c2", record, listed={}), down("c3", record)]
    result = decide(seen, closed=["may_add None", "may_remove None"])
    assert result.record is None or result.record.members["c3"].state != "confirmed"
    assert result.step is None or result.step.action == "wait"


@pytest.mark.parametrize(
    ("ours", "listed", "starts"),
    [
        pytest.param(True, LISTED, True, id="each server lists it"),
        pytest.param(True, WITHOUT_C3, False, id="a server does not list it"),
        pytest.param(False, LISTED, False, id="nothing of ours has served the file"),
    ],
)
def test_member_whose_disk_is_back_starts_while_nobody_leads(ours: bool, listed: dict[str, str], starts: bool) -> None:
    record = with_state("c3", "replacing", SIDS["c3"])
    waiting = up("c1", record, leader=False, connected=False, listed=listed)
    seen = [waiting, lost("c2", record, file_class="broken"), down("c3", record, ours=ours)]
    if starts:
        assert step(decide(seen))[:2] == ("start", ("c3",))
        return
    with pytest.raises(Refused, match="has no quorum"):
        decide(seen)

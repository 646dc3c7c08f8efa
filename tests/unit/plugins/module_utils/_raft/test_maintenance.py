"""Progress for every member (R29), nothing inferred from an absence (R26), and what others remember (R25). One row a test."""

from __future__ import annotations

import dataclasses
import typing as t

import pytest
from raft_observations import (
    ADDRESSES,
    LISTED,
    NAMES,
    PERMIT,
    RECORD,
    RUN,
    SIDS,
    WITHOUT_C3,
    down,
    lost,
    up,
    with_state,
)

from ansible_collections.c5c3.ovn.plugins.module_utils._base.errors import Refused
from ansible_collections.c5c3.ovn.plugins.module_utils._raft.observation import Observation
from ansible_collections.c5c3.ovn.plugins.module_utils._raft.plan import plan_round
from ansible_collections.c5c3.ovn.plugins.module_utils._raft.record import Member, Record
from ansible_collections.c5c3.ovn.plugins.module_utils._raft.step import History, Round, Run

HISTORY = History()
BAD = "its settings have changed"


def decide(
    observations: t.Iterable[Observation], run: Run = RUN, closed: t.Collection[str] = (), history: History = HISTORY
) -> Round:
    """`closed` names the gates that are closed; all others are open."""
    return plan_round(
        run,
        {o.member: o for o in observations},
        lambda name, _seen, _member: f"{name} is closed" if name in closed else "",
        history,
    )


def planned(result: Round) -> tuple[str, tuple[str, ...]] | None:
    return (result.step.action, result.step.members) if result.step else None


def status(leader: str = "c2", end: int = 100, **match: int) -> dict[str, t.Any]:
    """The answer of a leader whose log ends before `end`, and which entries the others have."""
    lines = "".join(
        f"    {SIDS[n][:4]} ({SIDS[n][:4]} at {ADDRESSES[n]}){' (self)' if n == leader else ''} next_index={end} "
        f"match_index={match.get(n, end - 1)}{'' if n == leader else ' last msg 10 ms ago'}\n"
        for n in NAMES
    )
    text = (
        f"{SIDS[leader][:4]}\nName: OVN_Northbound\nCluster ID: aaaa ({RECORD.cid})\nServer ID: {SIDS[leader][:4]} ({SIDS[leader]})\n"
        f"Address: {ADDRESSES[leader]}\nStatus: cluster member\nRole: leader\nTerm: 2\nLeader: self\nVote: self\n\n"
        f"Election timer: 1000\nLog: [2, {end}]\nEntries not yet committed: 0\nEntries not yet applied: 0\n"
        f"Connections: \nDisconnections: 0\nServers:\n{lines}"
    )
    return {"member": leader, "database": "OVN_Northbound", "cluster_status": text}


def joiner(name: str, **changes: t.Any) -> Observation:
    """Running, expected, and not a member yet."""
    record = with_state(name, "expected", None)
    return up(name, record, **{"file_class": "joining", "connected": False, "cid": None, **changes})


LEADERLESS = [up(n, leader=False, connected=False, restart_reason=BAD) for n in NAMES]
EXPECTED_C3 = with_state("c3", "expected", None)
ALONE = {SIDS["c1"][:4]: ADDRESSES["c1"]}
GROWING = EXPECTED_C3.with_member("c2", state="expected", sid=None).replace(revision=9)
NOT_FORMED = GROWING.replace(formed=False, revision=10)
ANONYMOUS_C3 = with_state("c3", "replacing", None)
COPIED_C3 = with_state("c3", "replacing", SIDS["c1"])
REPLACING_C3 = with_state("c3", "replacing", SIDS["c3"])

PROGRESS: list[t.Any] = [
    pytest.param(
        [up("c1", restart_reason=BAD), up("c2", restart_reason=BAD), up("c3", connected=False, restart_reason=BAD)],
        ("may_stop",),
        ("restart", ("c3",)),
        id="a follower that takes no part restarts although the gate of all others is closed",
    ),
    pytest.param(
        [up("c1", EXPECTED_C3), up("c2", EXPECTED_C3), joiner("c3", restart_reason=BAD)],
        ("may_stop", "may_add"),
        ("restart", ("c3",)),
        id="corrected settings reach a joiner",
    ),
    pytest.param(
        [up("c1", EXPECTED_C3), up("c2", EXPECTED_C3), joiner("c3")],
        (),
        ("wait", ("c3",)),
        id="a joiner with the right settings is waited for",
    ),
    pytest.param(
        [
            up("c1", restart_reason=BAD),
            up("c2", restart_reason=BAD, answer=status(c1=99, c3=40)),
            up("c3", restart_reason=BAD),
        ],
        (),
        ("restart", ("c3",)),
        id="the follower that lags most restarts first",
    ),
    pytest.param(
        [
            up("c1", restart_reason=BAD),
            up("c2", restart_reason=BAD, answer=status(c1=40, c3=99)),
            up("c3", restart_reason=BAD),
        ],
        (),
        ("restart", ("c1",)),
        id="the follower that lags most restarts first, whichever it is",
    ),
    pytest.param(
        [up("c1", EXPECTED_C3), up("c2", EXPECTED_C3, listed=WITHOUT_C3), up("c3", EXPECTED_C3, connected=False)],
        (),
        ("stop", ("c3",)),
        id="an expected member that runs and is listed nowhere is no joiner",
    ),
    pytest.param(
        [up("c1", EXPECTED_C3), up("c2", EXPECTED_C3, listed=WITHOUT_C3), up("c3", EXPECTED_C3, connected=False)],
        ("quiet",),
        ("wait", ("c3",)),
        id="while members are being added, the leader's list proves nothing about a joiner",
    ),
    pytest.param(
        [up("c1", file_class="unknown"), up("c2"), up("c3")],
        (),
        None,
        id="a tool that failed says nothing about a member that takes part",
    ),
    pytest.param(
        [down("c3", file_class="outdated-copy", last_index=5, witness_index=9), up("c1"), up("c2")],
        (),
        ("kick", ("c2",)),
        id="an old copy of a member is replaced",
    ),
    pytest.param(
        [down("c3", file_class="other-disk"), up("c1"), up("c2")],
        (),
        ("kick", ("c2",)),
        id="a member's file on another disk is replaced",
    ),
    pytest.param(
        [lost("c3", file_class="disk-missing"), up("c1"), up("c2")],
        (),
        None,
        id="a member whose disk is not mounted is not replaced",
    ),
    pytest.param(
        [
            up("c1", REPLACING_C3),
            up("c2", REPLACING_C3),
            lost("c3", REPLACING_C3, file_class="disk-missing"),
        ],
        (),
        None,
        id="a replacement does not go on while the disk is not mounted",
    ),
    pytest.param(
        [up("c1", EXPECTED_C3), up("c2", EXPECTED_C3), lost("c3", EXPECTED_C3, file_class="disk-missing")],
        (),
        None,
        id="a member that may have joined does not join again while its disk is not mounted",
    ),
    pytest.param(
        [up("c1"), up("c2"), up("c3", file_class="disk-missing")],
        (),
        None,
        id="a member whose disk was unmounted under it goes on",
    ),
    pytest.param(
        [up("c1"), up("c2"), up("c3", file_class="disk-missing", connected=False, restart_reason=BAD)],
        ("may_stop",),
        ("wait", ("c3",)),
        id="a member whose disk was unmounted under it is not restarted to give it settings",
    ),
    pytest.param(
        [
            up("c1", EXPECTED_C3, listed=WITHOUT_C3),
            up("c2", EXPECTED_C3, listed=WITHOUT_C3),
            down("c3", EXPECTED_C3, file_class="broken", file_sid=SIDS["c1"]),
        ],
        (),
        ("start", ("c3",)),
        id="a damaged copy of another member's file is given up, and that member is not removed",
    ),
    pytest.param(
        [
            up("c1", NOT_FORMED, listed=ALONE, leader=True, restart_reason=BAD),
            joiner("c2", cid=None),
            Observation("c3", record=NOT_FORMED.as_dict()),
        ],
        ("may_stop", "may_add"),
        ("restart", ("c1",)),
        id="a leader that nobody could join yet gets corrected settings first",
    ),
    pytest.param(
        [
            up("c1", GROWING, listed=ALONE, leader=True, restart_reason=BAD),
            joiner("c2", cid=None),
            Observation("c3", record=GROWING.as_dict()),
        ],
        ("may_stop", "may_add"),
        ("wait", ("c2",)),
        id="the only member that clients know restarts with leave only",
    ),
    pytest.param(
        [up("c1", EXPECTED_C3), up("c2", EXPECTED_C3), up("c3", EXPECTED_C3, file_class="none", file_sid=None)],
        (),
        ("stop", ("c3",)),
        id="a member that joined and lost its file before its join was recorded is replaced",
    ),
    pytest.param(
        [up("c1", ANONYMOUS_C3), up("c2", ANONYMOUS_C3), down("c3", ANONYMOUS_C3, file_class="broken")],
        (),
        ("kick", ("c2",)),
        id="a lost record does not hide the old id of a damaged member",
    ),
    pytest.param(
        [
            up("c1", COPIED_C3, listed=WITHOUT_C3),
            up("c2", COPIED_C3, listed=WITHOUT_C3),
            down("c3", COPIED_C3, file_class="broken", file_sid=SIDS["c1"]),
        ],
        (),
        ("start", ("c3",)),
        id="a member that is to be replaced under the id of another one joins, and nobody is removed",
    ),
    pytest.param(
        [up("c1", REPLACING_C3), up("c2", REPLACING_C3), up("c3", REPLACING_C3)],
        (),
        None,
        id="a member that was to be replaced, but takes part, stays",
    ),
    pytest.param(
        [up("c1", REPLACING_C3), up("c2", REPLACING_C3), down("c3", REPLACING_C3)],
        (),
        ("start", ("c3",)),
        id="a disk that came back before the member was removed is started",
    ),
]


@pytest.mark.parametrize(("observations", "closed", "step"), PROGRESS)
def test_planned(
    observations: list[Observation], closed: tuple[str, ...], step: tuple[str, tuple[str, ...]] | None
) -> None:
    assert planned(decide(observations, closed=closed)) == step


@pytest.mark.parametrize(
    ("seconds", "step"),
    [(1.0, ("wait", NAMES)), (60.0, ("restart", NAMES))],
    ids=["an election may be going on", "longer"],
)
def test_without_a_leader_corrected_settings_reach_all_members_after_an_election_has_had_its_time(
    seconds: float, step: tuple[str, tuple[str, ...]]
) -> None:
    assert planned(decide(LEADERLESS, history=History(leaderless=seconds))) == step


def test_an_unknown_member_may_lead_so_nobody_restarts_without_a_gate() -> None:
    result = decide(LEADERLESS[:2], history=History(leaderless=60.0))
    assert planned(result) == ("wait", ("c1", "c2"))


def test_three_of_five_declared_members_may_be_all_there_are() -> None:
    """R34: those that never joined have no vote."""
    five = {**ADDRESSES, "c4": "ssl:192.0.2.4:6643", "c5": "ssl:192.0.2.5:6643"}
    voting = [up("c1", leader=False), up("c2", leader=False), lost("c3")]
    fresh = [Observation(name, record=RECORD.as_dict()) for name in ("c4", "c5")]
    result = decide([*voting, *fresh], dataclasses.replace(RUN, declared=five))
    assert planned(result) == ("wait", ("c1", "c2"))


REFUSED: list[t.Any] = [
    pytest.param(
        [up("c1"), up("c2"), down("c3", file_class="unknown", file_reason="ovsdb-tool: killed")],
        None,
        id="a tool that failed is no reason to replace a member",
    ),
    pytest.param(
        [up("c1"), up("c2", restart_reason=BAD), up("c3", restart_reason=BAD, start_problem="the key is missing")],
        "c3 is not restarted: .* the key is missing",
        id="nothing is stopped that would not come back",
    ),
    pytest.param(
        [up("c1"), up("c2"), down("c3", start_problem="192.0.2.3 is not an address of this host")],
        "cannot start: on c3 192.0.2.3",
        id="a member that cannot start is named with the reason",
    ),
    pytest.param(
        [
            up("c1", EXPECTED_C3, listed=WITHOUT_C3),
            up("c2", EXPECTED_C3, listed=WITHOUT_C3),
            lost("c3", EXPECTED_C3, start_problem="192.0.2.3 is not an address of this host"),
        ],
        "c3 is not started",
        id="nobody joins with an address that is not its own",
    ),
    pytest.param(
        [
            down("c1", file_class="outdated-copy", last_index=5, witness_index=9),
            down("c2", file_class="outdated-copy", last_index=7, witness_index=9),
            up("c3", last_index=9),
        ],
        "no quorum: 1 of 3 .* c1 .an old copy: its log ends at entry 5 of term None, the member had entry 9",
        id="two old copies of three are reported with what they hold",
    ),
]


@pytest.mark.parametrize(("observations", "message"), REFUSED)
def test_refused(observations: list[Observation], message: str | None) -> None:
    if message is None:
        assert decide(observations).step is None
        return
    with pytest.raises(Refused, match=message):
        decide(observations)


def test_a_server_that_answers_elsewhere_is_never_removed_for_a_member_that_lost_its_disk() -> None:
    members = [lost("c1"), up("c2"), up("c3", sid=SIDS["c1"])]
    with pytest.raises(Refused, match="answers on another host"):
        decide(members)


MOVED = {**ADDRESSES, "c3": "ssl:192.0.2.9:6643"}


def test_the_address_of_a_member_that_never_joined_follows_the_inventory() -> None:
    members = [up(n, EXPECTED_C3, listed=WITHOUT_C3) for n in ("c1", "c2")]
    blank = Observation("c3", record=EXPECTED_C3.as_dict())
    result = decide([*members, blank], dataclasses.replace(RUN, declared=MOVED))
    assert planned(result) == ("start", ("c3",))
    assert result.record is not None
    assert result.record.members["c3"].address == MOVED["c3"]


def test_a_join_under_a_wrong_address_is_given_up() -> None:
    members = [up(n, EXPECTED_C3, listed=WITHOUT_C3) for n in ("c1", "c2")]
    failed = down("c3", EXPECTED_C3, file_class="foreign-address", file_cid=None)
    result = decide([*members, failed], dataclasses.replace(RUN, declared=MOVED))
    assert planned(result) == ("start", ("c3",))
    assert result.record is not None
    assert (result.record.members["c3"].address, result.record.members["c3"].sid) == (MOVED["c3"], SIDS["c3"])


@pytest.mark.parametrize("running", [True, False])
def test_the_address_of_a_joiner_that_nobody_lists_follows_the_inventory(running: bool) -> None:
    members = [up(n, EXPECTED_C3, listed=WITHOUT_C3) for n in ("c1", "c2")]
    stuck = joiner("c3", running=running)
    result = decide([*members, stuck], dataclasses.replace(RUN, declared=MOVED))
    assert result.record is not None
    assert result.record.members["c3"].address == MOVED["c3"]


def test_a_file_that_never_starts_is_given_up_when_its_member_is_expected_again() -> None:
    members = [up(n, ANONYMOUS_C3, listed=WITHOUT_C3) for n in ("c1", "c2")]
    result = decide([*members, down("c3", ANONYMOUS_C3, file_class="dead-join")])
    assert planned(result) == ("start", ("c3",))
    assert result.record is not None
    assert (result.record.members["c3"].state, result.record.members["c3"].sid) == ("expected", SIDS["c3"])


def test_the_leader_of_the_later_term_counts() -> None:
    """An isolated leader calls itself so for some time, and its list and log are of the past."""
    old = up("c1", leader=True, answer=status("c1", end=50))
    new = up(
        "c2", answer={**status("c2"), "cluster_status": status("c2")["cluster_status"].replace("Term: 2", "Term: 3")}
    )
    behind = up("c3", witnesses={SIDS["c3"][:4]: 80}, restart_reason=BAD)
    assert planned(decide([old, new, behind], history=History(ahead=80))) == ("restart", ("c3",))


def test_without_a_leader_nobody_is_stopped_that_would_not_come_back() -> None:
    broken = [dataclasses.replace(o, start_problem="the private key is missing") for o in LEADERLESS]
    with pytest.raises(Refused, match="the private key is missing"):
        decide(broken, history=History(leaderless=60.0))


def test_members_that_joined_before_a_run_noted_it_are_a_quorum() -> None:
    record = with_state("c2", "expected", None).with_member("c3", state="expected", sid=None)
    electing = [up(n, record, leader=False, connected=False) for n in ("c2", "c3")]
    assert planned(decide([lost("c1", record), *electing])) == ("wait", ("c2", "c3"))


def test_a_server_that_the_leader_heard_a_moment_ago_is_not_removed() -> None:
    members = [lost("c1"), up("c2", answer=status()), up("c3")]
    assert planned(decide(members)) == ("wait", ("c2",))


def test_corrected_settings_reach_members_while_a_joiner_waits_for_them() -> None:
    members = [up("c1", EXPECTED_C3, restart_reason=BAD), up("c2", EXPECTED_C3, restart_reason=BAD), joiner("c3")]
    assert planned(decide(members)) == ("restart", ("c1",))
    assert planned(decide(members, closed=("may_stop",))) == ("wait", ("c3",))
    members[0] = up("c1", EXPECTED_C3, restart_reason=BAD, start_problem="no space")
    waited = decide(members).step
    assert waited is not None
    assert (waited.action, waited.members) == ("wait", ("c3",))
    assert "northbound on c1 is not restarted: it would not come back. no space" in waited.reason


def test_who_has_joined_is_noted_before_a_rule_refuses_the_rest() -> None:
    members = [
        up("c1", EXPECTED_C3),
        up("c2", EXPECTED_C3, restart_reason=BAD, start_problem="no space"),
        up("c3", EXPECTED_C3),
    ]
    noted = decide(members)
    assert noted.step is None
    assert noted.record is not None
    assert noted.record.members["c3"].state == "confirmed"
    assert noted.refusal is not None
    after = [dataclasses.replace(o, record=noted.record.as_dict()) for o in members]
    with pytest.raises(Refused, match="no space"):
        decide(after)


@pytest.mark.parametrize(
    ("file_class", "words"),
    [
        pytest.param("outdated-copy", "start the old copies and accept the loss", id="older copies"),
        pytest.param("other-disk", "start the files on the other disks as they are", id="files on other disks"),
    ],
)
def test_an_accepted_rollback_starts_the_files_as_they_are(file_class: str, words: str) -> None:
    old = [down(n, file_class=file_class, last_index=5, witness_index=9) for n in NAMES]
    with pytest.raises(Refused, match=f"{words}.* ovn_central_permit=rollback"):
        decide(old)
    assert planned(decide(old, dataclasses.replace(RUN, accept_rollback=True))) == ("start", NAMES)


def test_a_rollback_is_not_accepted_while_a_disk_is_missing() -> None:
    members = [lost("c3", file_class="disk-missing"), up("c1"), up("c2")]
    accepted = dataclasses.replace(RUN, accept_rollback=True)
    with pytest.raises(Refused, match="disk of c3 is not mounted"):
        decide(members, accepted)
    assert planned(decide(members, dataclasses.replace(accepted, accept_lost_disk=True)))[0] == "kick"
    members[0] = lost("c3", file_class="unknown", file_reason="ovsdb-tool failed.")
    with pytest.raises(Refused, match=r"a file cannot be examined, .*: on c3 ovsdb-tool failed\. Correct that"):
        decide(members, accepted)


def test_an_accepted_lost_disk_is_a_lost_file() -> None:
    members = [lost("c3", file_class="disk-missing"), up("c1"), up("c2")]
    accepted = decide(members, dataclasses.replace(RUN, accept_lost_disk=True))
    assert planned(accepted) == ("kick", ("c2",))
    assert accepted.step is not None
    assert accepted.step.sid == SIDS["c3"]


def test_a_member_that_joined_again_and_lost_its_disk_before_a_run_saw_it_is_asked_for_its_disk() -> None:
    """The record names the id that was given up; the one that the leader lists at its address is not recorded."""
    new = f"4444{SIDS['c3'][4:]}"
    joined = {**WITHOUT_C3, new[:4]: ADDRESSES["c3"]}
    seen = [
        lost("c3", EXPECTED_C3, file_class="disk-missing", file_sid=new),
        *(up(n, EXPECTED_C3, listed=joined) for n in ("c1", "c2")),
    ]
    assert planned(decide(seen)) is None
    accepted = decide(seen, dataclasses.replace(RUN, accept_lost_disk=True))
    assert planned(accepted) == ("kick", ("c2",))
    assert accepted.record is not None
    assert accepted.record.members["c3"].sid == new


def test_a_step_on_an_accepted_lost_disk_fits_what_the_launcher_says_of_it() -> None:
    """The launcher says so until the record gives the file up, and then that there is no file."""
    assert lost("c3", file_class="disk-missing").target() == lost("c3").target()


def test_a_member_whose_disk_was_unmounted_under_it_is_reported_and_not_restarted() -> None:
    reason = "northbound member c3: the disk that held it is not mounted."
    running = [up("c1"), up("c2"), up("c3", file_class="disk-missing", file_reason=reason)]
    assert decide(running).warnings == (f"northbound on c3 runs, but would not start again: {reason}",)
    due = [*running[:2], dataclasses.replace(running[2], restart_reason=BAD)]
    with pytest.raises(Refused, match=r"it would not come back\. northbound member c3: the disk"):
        decide(due)


def test_without_a_quorum_the_missing_disk_is_named() -> None:
    members = [lost(n, file_class="disk-missing", file_reason=f"{n}: not mounted.") for n in ("c1", "c2")]
    with pytest.raises(Refused, match=r"Missing: c1 \(c1: not mounted\); c2 \(c2: not mounted\)"):
        decide([*members, up("c3", leader=False, connected=False)])


@pytest.mark.parametrize("record", [None, PERMIT], ids=["no record", "a bootstrap that was cut off"])
def test_nothing_is_created_beside_a_disk_that_is_not_mounted(record: Record | None) -> None:
    copy = record.as_dict() if record else None
    fresh = [Observation(n, record=copy) for n in ("c1", "c2")]
    away = Observation("c3", record=copy, file_class="disk-missing", file_reason="its disk is away.")
    with pytest.raises(Refused, match=r"on c3 its disk is away\. Mount it, .* ovn_central_permit=lost_disk"):
        decide([*fresh, away])
    accepted = dataclasses.replace(RUN, accept_lost_disk=True)
    assert planned(decide([*fresh, away], accepted)) == ("start", ("c1",))


def test_nothing_is_created_before_somebody_has_looked_for_an_older_control_plane() -> None:
    run = dataclasses.replace(RUN, witnesses=None)
    with pytest.raises(Refused, match="no older control plane was searched for"):
        decide([Observation(n) for n in NAMES], run)
    assert planned(decide([Observation(n) for n in NAMES], dataclasses.replace(run, new_cluster=True))) == (
        "start",
        ("c1",),
    )


def test_a_member_that_is_to_join_and_never_did_has_no_vote() -> None:
    five = {**ADDRESSES, "c4": "ssl:192.0.2.4:6643", "c5": "ssl:192.0.2.5:6643"}
    members = {**RECORD.members, "c5": Member(five["c5"], "replacing")}
    voting = [up("c1", leader=False), up("c2", leader=False), lost("c3")]
    fresh = [Observation(name, record=RECORD.replace(members=members).as_dict()) for name in ("c4", "c5")]
    voting = [dataclasses.replace(o, record=RECORD.replace(members=members).as_dict()) for o in voting]
    assert planned(decide([*voting, *fresh], dataclasses.replace(RUN, declared=five))) == ("wait", ("c1", "c2"))


@pytest.mark.parametrize(
    "joined",
    [
        [up("c1", EXPECTED_C3), up("c2", EXPECTED_C3), Observation("c3", record=EXPECTED_C3.as_dict())],
        [up("c1", EXPECTED_C3), up("c2", EXPECTED_C3, listed=WITHOUT_C3), down("c3", EXPECTED_C3)],
        [up("c1", EXPECTED_C3), up("c2", EXPECTED_C3, listed=WITHOUT_C3)],
    ],
    ids=["the leader lists it", "it has a file", "nobody could look"],
)
def test_the_address_of_a_member_that_may_have_joined_is_its_identity(joined: list[Observation]) -> None:
    with pytest.raises(Refused, match="part of a member's identity"):
        decide(joined, dataclasses.replace(RUN, declared=MOVED))


def test_nothing_is_created_while_any_member_could_not_start() -> None:
    fresh = [Observation("c1"), Observation("c2"), Observation("c3", start_problem="192.0.2.3 is not local")]
    with pytest.raises(Refused, match="a member would not start: on c3"):
        decide(fresh)


def test_a_cluster_is_formed_once_all_members_take_part() -> None:
    result = decide([up(n, RECORD.replace(formed=False)) for n in NAMES])
    assert result.record is not None
    assert result.record.formed


def test_an_unknown_member_forbids_a_change_of_the_others() -> None:
    members = [lost("c1"), up("c2"), down("c3", file_class="unknown")]
    with pytest.raises(Refused, match="c3 could not be examined"):
        decide(members)


def test_a_leader_that_lacks_what_another_remembers_is_compared_twice_and_refused() -> None:
    members = [up("c1", witnesses={SIDS["c1"][:4]: 120}), up("c2", answer=status()), up("c3")]
    first = decide(members)
    assert planned(first) == ("wait", ("c2",))
    assert first.ahead == 120
    with pytest.raises(Refused, match=r"c1 remembers log entry 120, .* ends at 99"):
        decide(members, history=History(ahead=120))
    accepted = dataclasses.replace(RUN, accept_rollback=True)
    assert planned(decide(members, accepted, history=History(ahead=120))) is None


def test_leader_with_another_entry_in_the_place_of_a_committed_one_is_refused() -> None:
    """The log has grown beyond the remembered entry, so its length shows nothing."""
    members = [
        down("c1", witness_entry=(1, 80)),
        up("c2", answer={**status(), "log_terms": "term 2 1\nterm 70 2\n"}),
        up("c3"),
    ]
    with pytest.raises(Refused, match=r"c1 remembers log entry 80 of term 1, .* leader c2 has another one there"):
        decide(members)
    assert planned(decide(members, dataclasses.replace(RUN, accept_rollback=True))) == ("start", ("c1",))
    members[0] = down("c1", witness_entry=(1, 69))
    assert planned(decide(members)) == ("start", ("c1",))
    members[0] = lost("c1", file_class="disk-missing", file_sid=SIDS["c1"], witness_entry=(1, 80))
    with pytest.raises(Refused, match=r"Mount the disk of c1, which may have the entry"):
        decide(members)


def test_a_leader_that_has_caught_up_with_the_witness_of_a_round_before_goes_on() -> None:
    members = [up("c1", witnesses={SIDS["c1"][:4]: 120}), up("c2", answer=status(end=125)), up("c3")]
    assert planned(decide(members, history=History(ahead=120))) is None


def test_a_witness_of_a_server_that_is_no_member_any_more_says_nothing() -> None:
    members = [up("c1", witnesses={"abcd": 120}), up("c2", answer=status()), up("c3")]
    assert planned(decide(members)) is None


def test_a_step_names_what_it_relies_on() -> None:
    result = decide([up("c1"), up("c2"), up("c3", restart_reason=BAD)])
    assert result.step is not None
    assert result.step.expects == {"c3": {"running": True, "connected": True, "leader": False, "sid": SIDS["c3"]}}


def test_a_ghost_is_evicted_beside_a_follower_that_takes_no_part() -> None:
    listed = {**LISTED, "dead": ADDRESSES["c1"]}
    members = [up("c1", connected=False), up("c2", listed=listed), up("c3")]
    assert planned(decide(members)) == ("kick", ("c2",))

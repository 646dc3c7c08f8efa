"""What an adoption does with members that others run: those in containers give way to new ones (R5, R8); and who may be away meanwhile."""

from __future__ import annotations

import dataclasses
import typing as t

import pytest
from raft_observations import (
    ADDRESSES,
    CID,
    LISTED,
    NAMES,
    RECORD,
    RUN,
    SIDS,
    WITHOUT_C3,
    blank,
    down,
    lost,
    up,
    with_state,
)

from ansible_collections.c5c3.ovn.plugins.module_utils._base.errors import Refused
from ansible_collections.c5c3.ovn.plugins.module_utils._raft.observation import Observation
from ansible_collections.c5c3.ovn.plugins.module_utils._raft.plan import (
    check_before_changes,
    plan_round,
    predict_rounds,
)
from ansible_collections.c5c3.ovn.plugins.module_utils._raft.record import Member, Record, parse_record
from ansible_collections.c5c3.ovn.plugins.module_utils._raft.rounds import incomplete
from ansible_collections.c5c3.ovn.plugins.module_utils._raft.step import History, Round, Run, Unexamined

ADOPTION = dataclasses.replace(RUN, adopt=True, bootstrap=False)
WHY = "it runs in container ovn_nb_db, and a new member joins in its place"
UNIT = "it runs in ovn-ovsdb-server-nb.service and is adopted"
HISTORY = History()
Asked = list[tuple[str, t.Optional[str]]]


def contained(name: str, record: Record | None = RECORD, **changes: t.Any) -> Observation:
    return up(name, record, **{"replace_reason": WHY, **changes})


def decide(
    observations: t.Iterable[Observation],
    run: Run = ADOPTION,
    closed: str = "",
    history: History = HISTORY,
    asked: Asked | None = None,
) -> Round:
    """`closed` is the gate that is closed; all others are open. `asked` becomes the gates that were asked for, each with its member."""

    def gate(name: str, _seen: t.Sequence[Observation], member: str | None) -> str:
        if asked is not None:
            asked.append((name, member))
        return f"{name} is closed" if name == closed else ""

    return plan_round(run, {o.member: o for o in observations}, gate, history)


def planned(result: Round) -> tuple[str, tuple[str, ...]] | None:
    return (result.step.action, result.step.members) if result.step else None


def states(result: Round) -> dict[str, tuple[str, str | None]]:
    """The members that the record of this round does not call confirmed."""
    members = result.record.members if result.record else {}
    return {name: (m.state, m.sid) for name, m in members.items() if m.state != "confirmed"}


def answer(**match: int) -> dict[str, t.Any]:
    """The answer of c2, which leads; its log ends at entry 99."""
    lines = "".join(
        f"    {SIDS[n][:4]} ({SIDS[n][:4]} at {ADDRESSES[n]}){' (self)' if n == 'c2' else ''} next_index=100 "
        f"match_index={match.get(n, 99)}\n"
        for n in NAMES
    )
    text = (
        f"{SIDS['c2'][:4]}\nName: OVN_Northbound\nCluster ID: aaaa ({CID})\nServer ID: {SIDS['c2'][:4]} ({SIDS['c2']})\n"
        f"Address: {ADDRESSES['c2']}\nStatus: cluster member\nRole: leader\nTerm: 2\nLeader: self\nVote: self\n\n"
        f"Election timer: 1000\nLog: [2, 100]\nEntries not yet committed: 0\nEntries not yet applied: 0\n"
        f"Connections: \nDisconnections: 0\nServers:\n{lines}"
    )
    return {"member": "c2", "database": "OVN_Northbound", "cluster_status": text}


EXPECTED_C3 = with_state("c3", "expected", SIDS["c3"])
REPLACING_C3 = with_state("c3", "replacing", SIDS["c3"])
NEW = "44440000-0000-4000-8000-000000000000"
JOINED = {**WITHOUT_C3, NEW[:4]: ADDRESSES["c3"]}

PLANNED: list[t.Any] = [
    pytest.param(
        [contained("c1"), contained("c2", answer=answer(c1=90, c3=40)), contained("c3")],
        ("stop", ("c3",)),
        id="the follower that lags most comes first",
    ),
    pytest.param(
        [contained("c1"), contained("c2", answer=answer(c1=40, c3=90)), contained("c3")],
        ("stop", ("c1",)),
        id="the follower that lags most comes first, whichever it is",
    ),
    pytest.param(
        [contained("c1", leader=True), contained("c2", leader=False), contained("c3")],
        ("stop", ("c2",)),
        id="a follower comes before the leader, whichever that is",
    ),
    pytest.param([up("c1"), contained("c2"), up("c3")], ("stop", ("c2",)), id="the leader comes last"),
    pytest.param(
        [up("c1", restart_reason=UNIT), contained("c2"), up("c3")],
        ("restart", ("c1",)),
        id="a follower of a unit comes before a leader in a container",
    ),
    pytest.param(
        [up("c1", restart_reason=UNIT), contained("c2"), contained("c3")],
        ("stop", ("c3",)),
        id="a follower in a container comes before one of a unit",
    ),
    pytest.param(
        [up("c1"), up("c2", restart_reason=UNIT), contained("c3")],
        ("stop", ("c3",)),
        id="a follower in a container comes before a leader of a unit",
    ),
    pytest.param(
        [contained("c1", REPLACING_C3), contained("c2", REPLACING_C3), lost("c3", REPLACING_C3)],
        ("kick", ("c2",)),
        id="after the stop the old id is removed before the next one stops",
    ),
    pytest.param(
        [
            contained("c1", REPLACING_C3, listed=WITHOUT_C3),
            contained("c2", REPLACING_C3, listed=WITHOUT_C3),
            lost("c3", REPLACING_C3),
        ],
        ("start", ("c3",)),
        id="after the removal the new one joins before the next one stops",
    ),
    pytest.param(
        [
            contained("c1", EXPECTED_C3, listed=WITHOUT_C3),
            contained("c2", EXPECTED_C3, listed=WITHOUT_C3),
            lost("c3", EXPECTED_C3),
        ],
        ("start", ("c3",)),
        id="a start that was cut off is repeated",
    ),
    pytest.param(
        [
            contained("c1", EXPECTED_C3, listed=WITHOUT_C3),
            contained("c2", EXPECTED_C3, listed=WITHOUT_C3),
            up("c3", EXPECTED_C3, file_class="joining", connected=False, cid=None, sid=NEW, file_sid=NEW),
        ],
        ("wait", ("c3",)),
        id="a joiner is waited for",
    ),
    pytest.param(
        [
            contained("c1", EXPECTED_C3, listed=JOINED),
            contained("c2", EXPECTED_C3, listed=JOINED),
            up("c3", EXPECTED_C3, sid=NEW, file_sid=NEW, listed=JOINED),
        ],
        ("stop", ("c1",)),
        id="the next one stops once the new one has joined",
    ),
    pytest.param(
        [contained("c1", REPLACING_C3), contained("c2", REPLACING_C3), contained("c3", REPLACING_C3)],
        ("stop", ("c1",)),
        id="one that was to stop and takes part is a member like all others",
    ),
    pytest.param(
        [contained("c1"), contained("c2", listed=WITHOUT_C3), contained("c3", connected=False)],
        ("stop", ("c3",)),
        id="one that somebody removed stops before it joins again",
    ),
    pytest.param(
        [up("c1"), up("c2"), contained("c3", connected=False)],
        None,
        id="one that takes no part, but is listed, is left to a person",
    ),
    pytest.param([up(n) for n in NAMES], None, id="nothing is left when ours run"),
]


@pytest.mark.parametrize(("observations", "step"), PLANNED)
def test_planned(observations: list[Observation], step: tuple[str, tuple[str, ...]] | None) -> None:
    assert planned(decide(observations)) == step


ALL = [contained(n) for n in NAMES]


def test_the_stop_of_one_member_is_recorded_with_its_id() -> None:
    result = decide(ALL)
    assert result.step is not None
    assert result.step.reason == f"replace northbound on c1: {WHY}"
    assert result.step.expects == {"c1": ALL[0].target()}
    assert states(result) == {"c1": ("replacing", SIDS["c1"])}
    assert result.record is not None
    assert result.record.revision == RECORD.revision + 1


def test_the_stop_of_a_member_without_a_record_is_recorded_as_well() -> None:
    result = decide([contained(n, None) for n in NAMES])
    assert planned(result) == ("stop", ("c1",))
    assert states(result) == {"c1": ("replacing", SIDS["c1"])}


def test_the_id_that_is_removed_is_the_one_of_the_container() -> None:
    members = [contained("c1", REPLACING_C3), contained("c2", REPLACING_C3), lost("c3", REPLACING_C3)]
    kick = decide(members)
    assert kick.step is not None
    assert kick.step.sid == SIDS["c3"]
    assert kick.record is None
    joining = decide([*(dataclasses.replace(o, listed=WITHOUT_C3) for o in members[:2]), members[2]])
    assert states(joining) == {"c3": ("expected", SIDS["c3"])}


def test_all_gates_of_a_replacement_are_asked_before_its_stop() -> None:
    asked: Asked = []
    decide(ALL, asked=asked)
    assert asked == [("may_add", None), ("may_stop", "c1"), ("may_remove", SIDS["c1"])]


@pytest.mark.parametrize("gate", ["may_add", "may_stop", "may_remove"])
def test_each_gate_holds_it_back(gate: str) -> None:
    result = decide(ALL, closed=gate)
    assert planned(result) == ("wait", ("c1",))
    assert result.step is not None
    assert result.step.reason == f"replace northbound on c1: {WHY}: {gate} is closed"
    assert result.record is None


def test_a_full_disk_of_another_member_holds_it_back() -> None:
    result = decide([ALL[0], ALL[1], contained("c3", free_bytes=0)])
    assert planned(result) == ("wait", ("c1",))
    assert result.step is not None
    assert "the disk of c3 is full" in result.step.reason


def test_a_leader_waits_for_the_restart_of_a_follower_that_a_gate_holds_back() -> None:
    observations = [up("c1", restart_reason=UNIT), contained("c2"), up("c3")]
    result = decide(observations, closed="may_stop")
    assert planned(result) == ("wait", ("c1",))
    assert result.record is None


def test_a_member_that_would_not_come_back_is_not_stopped() -> None:
    with pytest.raises(Refused, match=r"c1 is not started: it would not come back. no space"):
        decide([contained("c1", start_problem="no space"), *ALL[1:]])


def test_nothing_is_stopped_while_a_member_could_not_be_examined() -> None:
    with pytest.raises(Unexamined, match="c3 could not be examined"):
        decide(ALL[:2])


def test_the_only_member_is_taken_over_by_hand() -> None:
    record = Record("northbound", {"c2": RECORD.members["c2"]}, revision=1, cid=CID)
    alone = contained("c2", record, listed={SIDS["c2"][:4]: ADDRESSES["c2"]})
    run = dataclasses.replace(ADOPTION, declared={"c2": ADDRESSES["c2"]}, allow_outage=True)
    with pytest.raises(Refused, match=r"c2: it runs in container .* the only member, .*in docs/adopt\.md"):
        decide([alone], run)


def test_a_leader_that_lists_nobody_else_is_the_only_member() -> None:
    """The others were never members, and wait for their disks."""
    members = {n: RECORD.members[n] if n == "c2" else Member(ADDRESSES[n]) for n in NAMES}
    record = RECORD.replace(members=members)
    others = [lost(n, record, file_class="disk-missing", file_reason="not mounted") for n in ("c1", "c3")]
    with pytest.raises(Refused, match=r"the only member, .* docs/adopt\.md"):
        decide([contained("c2", record, listed={SIDS["c2"][:4]: ADDRESSES["c2"]}), *others])


@pytest.mark.parametrize(
    ("run", "step"),
    [
        pytest.param(ADOPTION, ("wait", NAMES), id="an adoption"),
        pytest.param(RUN, ("restart", NAMES), id="any other run"),
    ],
)
def test_without_a_leader_an_adoption_does_not_restart_all_members_at_once(
    run: Run, step: tuple[str, tuple[str, ...]]
) -> None:
    leaderless = [up(n, leader=False, connected=False, restart_reason=UNIT) for n in NAMES]
    assert planned(decide(leaderless, run, history=History(leaderless=60.0))) == step


def test_without_a_leader_no_container_is_stopped() -> None:
    leaderless = [contained(n, leader=False, connected=False) for n in NAMES]
    assert planned(decide(leaderless, history=History(leaderless=60.0))) == ("wait", NAMES)


def open_gate(_name: str, _seen: t.Sequence[Observation], _member: str | None) -> str:
    return ""


def replaced(*names: str) -> list[str]:
    words = (
        "replace northbound on {}: it runs in container",
        "remove the lost member {} ({})",
        "join {} to northbound",
    )
    return [word.format(name, SIDS[name]) for name in names for word in words]


@pytest.mark.parametrize(
    ("observations", "expected"),
    [
        pytest.param(
            [contained(n) for n in NAMES],
            replaced("c1", "c3", "c2"),
            id="containers, the leader last",
        ),
        pytest.param(
            [contained(n, None) for n in NAMES],
            replaced("c1", "c3", "c2"),
            id="containers without a record",
        ),
        pytest.param(
            [up("c1", restart_reason=UNIT), *(contained(n) for n in ("c2", "c3"))],
            [*replaced("c3"), f"restart northbound on c1: {UNIT}", *replaced("c2")],
            id="a leader in a container, and a follower of a unit",
        ),
        pytest.param(
            [contained("c1"), up("c2", restart_reason=UNIT), up("c3")],
            [*replaced("c1"), f"restart northbound on c2: {UNIT}"],
            id="a leader of a unit",
        ),
        pytest.param(
            [
                contained("c1", REPLACING_C3),
                contained("c2", REPLACING_C3),
                lost("c3", REPLACING_C3),
            ],
            [*replaced("c3")[1:], *replaced("c1", "c2")],
            id="an adoption that was cut off",
        ),
    ],
)
def test_check_mode_foresees_the_whole_order_of_an_adoption(
    observations: list[Observation], expected: list[str]
) -> None:
    reasons, after = predict_rounds(ADOPTION, {o.member: o for o in observations}, open_gate)
    assert len(reasons) == len(expected)
    assert [part for reason, part in zip(reasons, expected) if part not in reason] == []
    assert all(o.connected and not o.replace_reason and not o.restart_reason for o in after.values())
    was_replaced = {o.member for o in observations if o.replace_reason or not o.running}
    assert {name for name, o in after.items() if o.sid != SIDS[name]} == was_replaced
    record = parse_record(after["c1"].record)
    assert {name: (m.state, m.sid) for name, m in record.members.items()} == {
        name: ("confirmed", o.sid) for name, o in after.items()
    }


ONLY_TWO = RECORD.replace(members={n: RECORD.members[n] for n in ("c1", "c2")})


@pytest.mark.parametrize(
    "observations",
    [
        pytest.param([up("c1", None), up("c2", None), Observation("c3")], id="no record, no file"),
        pytest.param([up("c1", None), up("c2", None), down("c3", None)], id="no record, a file"),
        pytest.param([up("c1", None), up("c2", None), blank("c3")], id="no record, nothing installed"),
        pytest.param(
            [up("c1", None), up("c2", None), Observation("c3", installed=False, file_class="unexamined")],
            id="no record, a file that nothing can examine yet",
        ),
        pytest.param([up("c1", ONLY_TWO), up("c2", ONLY_TWO), down("c3", None)], id="a record without it"),
        pytest.param([up("c1"), up("c2"), lost("c3")], id="a member on record whose file is gone"),
        pytest.param(
            [up("c1", connected=False, leader=False), lost("c2"), lost("c3")], id="one that runs without the others"
        ),
    ],
)
def test_an_adoption_takes_nobody_in_that_may_only_be_down(observations: list[Observation]) -> None:
    """Before the first change it refuses; in its rounds it waits, for what runs a member may start it again."""
    seen = {o.member: theirs(o) for o in observations}
    away = ", ".join(o.member for o in observations if not o.running)
    with pytest.raises(
        Refused, match=rf"northbound does not run on {away}, and runs on other hosts\. Nothing was changed"
    ):
        check_before_changes(ADOPTION, seen)
    if any(o.record for o in observations):
        result = decide(seen.values())
        assert planned(result) == ("wait", tuple(away.split(", ")))
        assert result.record is None
        assert result.step is not None
        assert result.step.reason.startswith(f"wait until northbound runs again on {away}: start what ran it")
    else:
        with pytest.raises(Refused, match=f"northbound does not run on {away}"):
            decide(seen.values())


def theirs(o: Observation) -> Observation:
    """No unit of ours was ever enabled there, unless it runs."""
    return dataclasses.replace(o, ours=o.running)


@pytest.mark.parametrize("record", [REPLACING_C3, EXPECTED_C3], ids=["not removed yet", "removed"])
@pytest.mark.parametrize("file_class", ["member", "unexamined", "broken"])
def test_a_file_that_no_run_has_put_there_is_not_started(record: Record, file_class: str) -> None:
    """Somebody has copied it out of the container, which may come back."""
    seen = [up("c1", record), up("c2", record), theirs(down("c3", record, file_class=file_class))]
    for plan in (lambda: decide(seen), lambda: check_before_changes(ADOPTION, {o.member: o for o in seen})):
        with pytest.raises(Refused, match=r"lies in our place on c3, and no run has put it there.* Move the file away"):
            plan()


@pytest.mark.parametrize(
    ("listed", "named"), [(LISTED, True), (WITHOUT_C3, False)], ids=["still a member", "removed already"]
)
def test_only_a_member_is_worth_starting_again_when_nobody_leads(listed: dict[str, str], named: bool) -> None:
    nobody = {"leader": False, "connected": False, "listed": listed}
    seen = [up("c1", REPLACING_C3, **nobody), up("c2", REPLACING_C3, **nobody), lost("c3", REPLACING_C3)]
    result = decide(seen)
    assert result.step is not None
    assert ("start what ran c3, which a run has stopped" in result.step.reason) is named


def test_what_is_away_is_told_apart_from_what_is_no_member() -> None:
    stranger = [up(n, ONLY_TWO, listed=WITHOUT_C3) for n in ("c1", "c2")] + [theirs(Observation("c3"))]
    with pytest.raises(
        Refused, match=r"c3 is no member of the cluster: take it out of ovn_central, and c5c3\.ovn\.site"
    ):
        check_before_changes(ADOPTION, {o.member: o for o in stranger})
    member = [up("c1"), up("c2"), theirs(lost("c3"))]
    with pytest.raises(Refused, match=r"Start what ran it on c3, .* ovn_central_permit=lost_disk replaces the"):
        check_before_changes(ADOPTION, {o.member: o for o in member})


def test_without_a_leader_those_are_named_that_a_run_has_stopped() -> None:
    nobody = {"leader": False, "connected": False}
    members = {**REPLACING_C3.members}
    record = REPLACING_C3.replace(members=members)
    seen = [up("c1", record, **nobody), theirs(lost("c2", record)), lost("c3", record)]
    result = decide(seen)
    assert planned(result) == ("wait", ("c2", "c3"))


@pytest.mark.parametrize(
    ("observations", "step"),
    [
        pytest.param(
            [up("c1", REPLACING_C3), up("c2", REPLACING_C3), lost("c3", REPLACING_C3)],
            ("kick", ("c2",)),
            id="a member that a run has stopped",
        ),
        pytest.param(
            [
                up("c1", EXPECTED_C3, listed=WITHOUT_C3),
                up("c2", EXPECTED_C3, listed=WITHOUT_C3),
                lost("c3", EXPECTED_C3),
            ],
            ("start", ("c3",)),
            id="a member that a run has removed",
        ),
        pytest.param([up("c1"), up("c2"), down("c3")], ("start", ("c3",)), id="a member on record that has its file"),
        pytest.param([down(n) for n in NAMES], ("start", NAMES), id="files after a total outage"),
        pytest.param(
            [down(n, None) for n in NAMES], ("start", NAMES), id="files without a record after a total outage"
        ),
        pytest.param(
            [up("c1"), up("c2"), lost("c3", file_class="disk-missing")], None, id="a disk that is not mounted"
        ),
        pytest.param([up(n, None) for n in NAMES], None, id="all run"),
    ],
)
def test_an_adoption_goes_on_with_what_is_known(
    observations: list[Observation], step: tuple[str, tuple[str, ...]] | None
) -> None:
    assert planned(decide(observations)) == step


@pytest.mark.parametrize("file_class", ["none", "disk-missing"])
def test_what_is_gone_for_good_is_replaced_once_the_operator_says_so(file_class: str) -> None:
    seen = [up("c1"), up("c2"), theirs(lost("c3", file_class=file_class))]
    assert planned(decide(seen)) == ("wait", ("c3",))
    accepted = dataclasses.replace(ADOPTION, accept_lost_disk=True)
    assert planned(decide(seen, accepted)) == ("kick", ("c2",))
    assert planned(check_before_changes(accepted, {o.member: o for o in seen})) == ("kick", ("c2",))


def test_a_file_in_the_place_of_what_is_down_is_never_started_by_that_option() -> None:
    """It may be older than the one in the container, which comes back."""
    accepted = dataclasses.replace(ADOPTION, accept_lost_disk=True)
    assert planned(decide([up("c1"), up("c2"), theirs(down("c3"))], accepted)) == ("wait", ("c3",))


def test_our_member_that_lost_its_file_is_replaced_by_an_adoption_as_well() -> None:
    assert planned(decide([up("c1"), contained("c2"), lost("c3")])) == ("kick", ("c2",))


def test_nobody_is_stopped_while_another_takes_no_part() -> None:
    result = decide([contained("c1"), up("c2"), up("c3", connected=False)])
    assert planned(result) == ("wait", ("c1",))
    assert result.step is not None
    assert result.step.reason.endswith("c3 takes no part in the cluster")
    assert result.record is None


def test_any_other_run_takes_in_who_is_down() -> None:
    assert planned(decide([up("c1", None), up("c2", None), down("c3", None)], RUN)) == ("start", ("c3",))
    assert planned(decide([up("c1"), up("c2"), lost("c3")], RUN)) == ("kick", ("c2",))


def test_a_member_that_no_tool_could_examine_is_not_called_down() -> None:
    with pytest.raises(Unexamined, match="c3 could not be examined"):
        decide([up("c1", None), up("c2", None), down("c3", None, file_class="unknown", file_cid=None)])


UNKNOWN = {"file_class": "unknown", "connected": False, "sid": None, "cid": None, "file_cid": None, "file_sid": None}


def test_an_adoption_changes_nothing_beside_a_server_that_nobody_could_examine() -> None:
    silent = {o.member: o for o in (up("c1", None), up("c2", None), up("c3", None, **UNKNOWN))}
    with pytest.raises(Unexamined, match=r"on c3 runs and could not be examined\. Nothing was changed"):
        check_before_changes(ADOPTION, silent)
    assert check_before_changes(RUN, silent) == Round()


@pytest.mark.parametrize(
    ("changes", "action"),
    [
        pytest.param({**UNKNOWN, "running": False, "listed": {}}, "", id="it does not run, and the run examines it"),
        pytest.param({"file_class": "unknown", "restart_reason": UNIT}, "restart", id="it takes part"),
    ],
)
def test_before_an_adoption_a_file_of_an_unknown_class_forbids_nothing_else(
    changes: dict[str, t.Any], action: str
) -> None:
    decided = check_before_changes(ADOPTION, {o.member: o for o in (up("c1"), up("c2"), up("c3", **changes))})
    assert (decided.step.action if decided.step else "") == action


def test_before_an_adoption_the_stop_of_a_container_is_planned_whatever_the_run_puts_right() -> None:
    """The host has neither certificates nor gates yet."""
    members = [contained(n, None, start_problem="the certificate is missing") for n in NAMES]
    decided = check_before_changes(ADOPTION, {o.member: o for o in members})
    assert planned(decided) == ("stop", ("c1",))


def test_a_container_that_takes_no_part_is_reported_with_what_to_do() -> None:
    seen = {o.member: o for o in (up("c1"), up("c2"), contained("c3", connected=False))}
    (message,) = incomplete(ADOPTION, seen)
    assert message == (
        "northbound on c3 takes no part in its cluster: it runs in container ovn_nb_db. See the log of its server, repair it, then run again."
    )

"""The decision table of the bootstrap rule and of maintenance, one row a test; the id is the sentence that fails."""

from __future__ import annotations

import dataclasses
import re
import typing as t

import pytest
from raft_observations import (
    ADDRESSES,
    CID,
    LISTED,
    NAMES,
    OTHER,
    PERMIT,
    RECORD,
    RUN,
    SIDS,
    WITHOUT_C3,
    blank,
    cut_off,
    down,
    lost,
    up,
    with_state,
)

from ansible_collections.c5c3.ovn.plugins.module_utils._base.errors import OvnError, Refused
from ansible_collections.c5c3.ovn.plugins.module_utils._raft.answer import Answer
from ansible_collections.c5c3.ovn.plugins.module_utils._raft.observation import Observation
from ansible_collections.c5c3.ovn.plugins.module_utils._raft.plan import plan_round, predict_rounds
from ansible_collections.c5c3.ovn.plugins.module_utils._raft.record import Member, Permit, Record, parse_record
from ansible_collections.c5c3.ovn.plugins.module_utils._raft.step import Round, Run


def decide(observations: t.Iterable[Observation], run: Run = RUN, closed: str = "") -> Round:
    return plan_round(run, {o.member: o for o in observations}, lambda name, _seen, _member: closed)


def steps(result: Round) -> tuple[str, tuple[str, ...]] | None:
    return (result.step.action, result.step.members) if result.step else None


NAMED = {name: f"ssl:{name}:6643" for name in NAMES}

CUT_OFF = Record(
    "northbound",
    {n: Member(ADDRESSES[n]) for n in NAMES},
    revision=1,
    permit=Permit("c1", "a run before", "2026-01-01T00:00:00Z"),
    formed=False,
)

REFUSED: list[t.Any] = [
    pytest.param(
        [up(n, RECORD.replace(database="southbound")) for n in NAMES],
        RUN,
        "The state record of northbound is about southbound",
        id="a record of the other database",
    ),
    pytest.param(
        [blank(n) for n in NAMES],
        dataclasses.replace(RUN, declared=NAMED),
        "a name",
        id="names are no addresses to create with",
    ),
    pytest.param([blank("c1"), blank("c2")], RUN, "c3 could not be examined", id="an unexamined host forbids creation"),
    pytest.param(
        [blank(n) for n in NAMES],
        dataclasses.replace(RUN, bootstrap=False),
        "ovn_central_bootstrap",
        id="no creation without leave",
    ),
    pytest.param(
        [dataclasses.replace(blank(n), record=CUT_OFF.as_dict()) for n in NAMES],
        dataclasses.replace(RUN, bootstrap=False),
        "ovn_central_bootstrap",
        id="no creation without leave after a first run that was cut off",
    ),
    pytest.param(
        [blank(n) for n in NAMES],
        dataclasses.replace(RUN, expected_cid=CID),
        "neither a database",
        id="an expected cluster is never created",
    ),
    pytest.param(
        [blank(n, PERMIT) for n in NAMES],
        dataclasses.replace(RUN, expected_cid=CID),
        f"Cluster {CID} of northbound is expected",
        id="no cut-off creation goes on where a cluster is expected",
    ),
    pytest.param(
        [down("c1", None), down("c2", None, file_cid=OTHER), blank("c3")],
        RUN,
        "split",
        id="files of two clusters without record are a split",
    ),
    pytest.param(
        [
            down("c1", None, file_class="standalone", file_cid=None, file_reason="standalone file"),
            blank("c2"),
            blank("c3"),
        ],
        RUN,
        "standalone",
        id="a standalone file is never built upon",
    ),
    pytest.param(
        [down("c1", None, file_class="unidentifiable", file_cid=None), blank("c2"), blank("c3")],
        RUN,
        "no cluster id can be read",
        id="an unreadable file without record forbids creation",
    ),
    pytest.param(
        [Observation("c1", installed=False, file_class="unexamined"), blank("c2"), blank("c3")],
        RUN,
        "Check mode cannot predict",
        id="check mode promises no creation beside a file that nothing can examine yet",
    ),
    pytest.param([lost(n) for n in NAMES], RUN, "no quorum", id="total loss is never repaired by creating"),
    pytest.param([up("c1"), lost("c2"), lost("c3")], RUN, "no quorum", id="two volumes lost"),
    pytest.param(
        [up("c1"), up("c2"), up("c3", cid=OTHER)], RUN, "split", id="a member of another cluster freezes the run"
    ),
    pytest.param(
        [up(n) for n in NAMES],
        dataclasses.replace(RUN, expected_cid=OTHER),
        "inventory expects",
        id="wrong expected cluster",
    ),
    pytest.param(
        [up(n, None) for n in NAMES],
        dataclasses.replace(RUN, expected_cid=OTHER),
        "inventory expects",
        id="a wrong cluster is not adopted either",
    ),
    pytest.param(
        [up("c1", PERMIT, listed={"1111": ADDRESSES["c1"]}), blank("c2", PERMIT), blank("c3", PERMIT)],
        dataclasses.replace(RUN, expected_cid=OTHER),
        "inventory expects",
        id="a wrong cluster is not taken for the one that was just created",
    ),
    pytest.param([up(n, RECORD.replace(hold=True)) for n in NAMES], RUN, "on hold", id="a hold stops the run"),
    pytest.param(
        [up("c1")],
        dataclasses.replace(RUN, declared={"c1": ADDRESSES["c1"]}),
        "the inventory no longer has it",
        id="members are not dropped silently",
    ),
    pytest.param(
        [up(n) for n in NAMES],
        dataclasses.replace(RUN, declared={**ADDRESSES, "c3": "ssl:192.0.2.9:6643"}),
        "identity",
        id="an address change is refused",
    ),
    pytest.param(
        [up("c1"), up("c2")],
        dataclasses.replace(RUN, declared={"c1": "a:1", "c2": "a:2"}),
        "odd number",
        id="two members",
    ),
    pytest.param(
        [up("c1")],
        dataclasses.replace(RUN, declared={**ADDRESSES, "c3": ADDRESSES["c1"]}),
        "same northbound address",
        id="one address twice",
    ),
    pytest.param(
        [up("c2"), lost("c1")], RUN, "c3 could not be examined", id="no replacement while a member is unknown"
    ),
    pytest.param(
        [up("c1", RECORD.replace(cid=OTHER)), up("c2"), up("c3")],
        RUN,
        "different clusters",
        id="copies that name different clusters",
    ),
    pytest.param(
        [down("c1", PERMIT, file_class="none", file_cid=None, file_sid=None), down("c2", PERMIT), blank("c3", PERMIT)],
        RUN,
        "only c1 was allowed",
        id="another member created",
    ),
    pytest.param(
        [blank("c1", PERMIT), blank("c2", PERMIT)],
        RUN,
        "c3 could not be examined",
        id="a cut-off bootstrap needs every host",
    ),
]


@pytest.mark.parametrize(("observations", "run", "message"), REFUSED)
def test_refused(observations: list[Observation], run: Run, message: str) -> None:
    with pytest.raises(OvnError, match=message):
        decide(observations, run)


PLANNED: list[t.Any] = [
    pytest.param([up(n) for n in NAMES], None, id="nothing to do on a healthy cluster"),
    pytest.param([blank(n) for n in NAMES], ("start", ("c1",)), id="the first declared host creates"),
    pytest.param(
        [blank(n, PERMIT) for n in NAMES], ("start", ("c1",)), id="a cut-off creation is repeated on the same host"
    ),
    pytest.param([up("c1"), up("c2"), down("c3")], ("start", ("c3",)), id="a file that is there is just started"),
    pytest.param([down(n) for n in NAMES], ("start", NAMES), id="after a total outage everybody starts from the files"),
    pytest.param(
        [down("c1"), lost("c2"), lost("c3")], ("start", ("c1",)), id="what exists is started even without quorum"
    ),
    pytest.param(
        [lost("c1"), up("c2"), up("c3")], ("kick", ("c2",)), id="a lost first member is removed before it joins"
    ),
    pytest.param(
        [lost("c1", running=True, connected=True, cid=CID, sid=SIDS["c1"]), up("c2"), up("c3")],
        ("stop", ("c1",)),
        id="a server on a deleted file is stopped first",
    ),
    pytest.param(
        [
            lost("c1", with_state("c1", "replacing", SIDS["c1"])),
            up("c2", listed={k: v for k, v in LISTED.items() if k != "1111"}),
            up("c3"),
        ],
        ("start", ("c1",)),
        id="a member that was removed joins again",
    ),
    pytest.param(
        [up("c1", connected=False), up("c2", listed={k: v for k, v in LISTED.items() if k != "1111"}), up("c3")],
        ("stop", ("c1",)),
        id="a zombie is stopped before it joins again",
    ),
    pytest.param(
        [
            down("c1", with_state("c1", "expected", SIDS["c1"])),
            up("c2", listed={k: v for k, v in LISTED.items() if k != "1111"}),
            up("c3"),
        ],
        ("start", ("c1",)),
        id="a given-up file joins, it is not just started",
    ),
    pytest.param(
        [up("c1"), up("c2", listed={**LISTED, "dead": ADDRESSES["c1"]}), up("c3")],
        ("kick", ("c2",)),
        id="a ghost is evicted by the leader",
    ),
    pytest.param(
        [up("c1"), up("c2"), cut_off("c3", "dead-join")],
        ("kick", ("c2",)),
        id="a join that was cut off is removed where it is listed",
    ),
    pytest.param(
        [up("c1", listed=WITHOUT_C3), up("c2", listed=WITHOUT_C3), cut_off("c3", "dead-join")],
        ("start", ("c3",)),
        id="a join that was cut off starts again",
    ),
    pytest.param(
        [up("c1"), up("c2", restart_reason="new"), up("c3", restart_reason="new")],
        ("restart", ("c3",)),
        id="followers restart first",
    ),
    pytest.param(
        [up("c1"), up("c2", restart_reason="new"), up("c3")], ("restart", ("c2",)), id="the leader restarts last"
    ),
    pytest.param(
        [up("c1", leader=False), up("c2", leader=False), up("c3")], ("wait", NAMES), id="an election is awaited"
    ),
    pytest.param([up("c1"), up("c2")], None, id="nothing to do with a member unknown"),
]


@pytest.mark.parametrize(("observations", "step"), PLANNED)
def test_planned(observations: list[Observation], step: tuple[str, tuple[str, ...]] | None) -> None:
    assert steps(decide(observations)) == step


@pytest.mark.parametrize(
    ("file_class", "file_sid", "given_up"),
    [
        ("dead-join", SIDS["c3"], SIDS["c3"]),
        ("joining-outdated", SIDS["c3"], SIDS["c3"]),
        ("broken", None, "00000000-0000-0000-0000-000000000000"),
        ("unidentifiable", None, "00000000-0000-0000-0000-000000000000"),
    ],
)
def test_a_file_that_never_starts_is_given_up_in_the_record(
    file_class: str, file_sid: str | None, given_up: str
) -> None:
    """Else the launcher waits for the run for ever, and the run for the launcher."""
    joiner = cut_off("c3", file_class, file_sid=file_sid)
    record = parse_record(joiner.record)
    result = decide([up("c1", record, listed=WITHOUT_C3), up("c2", record, listed=WITHOUT_C3), joiner])
    assert steps(result) == ("start", ("c3",))
    assert result.record is not None
    assert result.record.members["c3"] == Member(ADDRESSES["c3"], "expected", given_up)


def test_copies_of_one_revision_that_differ_are_refused() -> None:
    other = RECORD.with_member("c1", state="replacing", sid=SIDS["c1"])
    with pytest.raises(OvnError, match=r"on c1 and c3 are both revision .* differ in member c1\."):
        decide([up("c1"), up("c3", other)])


def test_a_copy_that_more_than_half_of_all_hosts_hold_is_written_over_one_that_differs() -> None:
    """A run that was killed while it wrote leaves such copies: nobody acted on the one of the minority."""
    other = RECORD.with_member("c1", state="replacing", sid=SIDS["c1"])
    result = decide([up("c1"), up("c2"), up("c3", other)])
    assert result.record is not None
    assert result.record.members == RECORD.members


@pytest.mark.parametrize(("last", "state"), [(100, "responding"), (600000, "unresponsive")])
def test_a_member_at_an_address_that_nobody_declared_is_no_ghost(last: int, state: str) -> None:
    stranger = "ssl:192.0.2.9:6643"
    text = (
        f"{SIDS['c2'][:4]}\nName: OVN_Northbound\nCluster ID: aaaa ({CID})\nServer ID: 2222 ({SIDS['c2']})\n"
        f"Address: {ADDRESSES['c2']}\nStatus: cluster member\nRole: leader\nTerm: 2\nLeader: self\nVote: self\n\n"
        "Election timer: 1000\nLog: [2, 9]\nEntries not yet committed: 0\nEntries not yet applied: 0\n"
        "Connections: ->1111 <-1111 ->3333 <-3333 ->9999 <-9999\nDisconnections: 0\nServers:\n"
        f"    2222 (2222 at {ADDRESSES['c2']}) (self) next_index=2 match_index=8\n"
        f"    9999 (9999 at {stranger}) next_index=9 match_index=8 last msg {last} ms ago\n"
    )
    answer = Answer("c2", "OVN_Northbound", cluster_status=text).as_dict()
    members = [up("c1"), up("c2", listed={**LISTED, "9999": stranger}, answer=answer), up("c3")]
    with pytest.raises(OvnError, match=f"member 9999 .{state}. at"):
        decide(members)


def test_a_closed_gate_waits_and_says_why() -> None:
    result = decide([lost("c1"), up("c2"), up("c3")], closed="the cluster is not quiet")
    assert result.step is not None
    assert result.step.action == "wait"
    assert "the cluster is not quiet" in result.step.reason


def test_bootstrap_ends_with_every_member_confirmed_and_one_cid() -> None:
    """Play the rounds of a first rollout with a world that does what each step says."""
    world = {name: blank(name) for name in NAMES}
    taken = []
    for _round in range(10):
        result = decide(world.values())
        if result.record:
            world = {n: dataclasses.replace(o, record=result.record.as_dict()) for n, o in world.items()}
        if result.step is None:
            break
        taken.append((result.step.action, result.step.members))
        (name,) = result.step.members
        joined = up(name, leader=name == "c1")
        world[name] = dataclasses.replace(joined, record=world[name].record)
        in_cluster = {SIDS[n][:4]: ADDRESSES[n] for n, o in world.items() if o.connected}
        world = {n: dataclasses.replace(o, listed=in_cluster) if o.connected else o for n, o in world.items()}
    assert taken == [("start", ("c1",)), ("start", ("c2",)), ("start", ("c3",))]
    record = world["c1"].record
    assert record is not None
    assert record["cid"] == CID
    assert record["permit"] is None
    assert {n: (m["state"], m["sid"]) for n, m in record["members"].items()} == {
        n: ("confirmed", SIDS[n]) for n in NAMES
    }
    assert steps(decide(world.values())) is None
    assert decide(world.values()).record is None


def test_a_lost_record_is_adopted_with_a_warning() -> None:
    result = decide([up(n, None) for n in NAMES])
    assert result.step is None
    assert result.record is not None
    assert result.record.cid == CID
    assert result.record.permit is None
    assert "adopted" in result.warnings[0]


@pytest.mark.parametrize("record", [None, RECORD], ids=["adopted", "recorded"])
def test_member_keeps_the_spelling_of_its_address(record: Record | None) -> None:
    """Launchers compare texts, so the record has what the file has."""
    spelled = {name: address.replace(":192", ":[192").replace(":6643", "]:6643") for name, address in ADDRESSES.items()}
    if record is not None:
        members = {name: dataclasses.replace(m, address=spelled[name]) for name, m in record.members.items()}
        record = record.replace(members=members)
    listed = {sid: spelled[name] for name, sid in zip(NAMES, LISTED)}
    decided = decide([up(name, record, listed=listed) for name in NAMES])
    assert steps(decided) is None
    kept = decided.record or record
    assert kept is not None
    assert {name: member.address for name, member in kept.members.items()} == spelled


def test_a_member_is_not_adopted_under_another_address_than_the_cluster_knows() -> None:
    declared = {**ADDRESSES, "c1": "tcp:192.0.2.99:6643"}
    with pytest.raises(
        Refused,
        match=rf"c1 has the northbound address {re.escape(ADDRESSES['c1'])}, the inventory says tcp:192\.0\.2\.99:6643",
    ):
        decide(
            [up("c1", None, file_class="unknown"), *(up(n, None) for n in NAMES[1:])],
            dataclasses.replace(RUN, declared=declared),
        )


def test_the_list_of_the_newest_leader_counts_for_an_adoption(paper: t.Any) -> None:
    """An isolated leader of an older term still lists a member under its former address."""

    def leads(name: str, term: int, listed: dict[str, str]) -> Observation:
        (answer, *_others) = paper.Raft(1).set(1, term=term).answers()
        return up(name, None, leader=True, listed=listed, answer=answer.as_dict())

    former = {**LISTED, SIDS["c3"][:4]: "ssl:192.0.2.99:6643"}
    result = decide([leads("c1", 3, former), leads("c2", 4, LISTED), up("c3", None)])
    assert result.record is not None
    assert result.record.members["c3"] == Member(ADDRESSES["c3"], "confirmed", SIDS["c3"])
    with pytest.raises(Refused, match="c3 has the northbound address"):
        decide([leads("c1", 5, former), leads("c2", 4, LISTED), up("c3", None)])


def test_a_missing_copy_of_the_record_is_written_again() -> None:
    result = decide([up("c1", None), up("c2"), up("c3")])
    assert result.record is not None
    assert result.record.revision == RECORD.revision + 1
    assert result.record.members == RECORD.members


def test_the_only_member_restarts_only_with_leave() -> None:
    record = Record("northbound", {"c2": RECORD.members["c2"]}, revision=1, cid=CID)
    alone = up("c2", record, listed={"2222": ADDRESSES["c2"]}, restart_reason="new")
    run = dataclasses.replace(RUN, declared={"c2": ADDRESSES["c2"]})
    refused = decide([alone], run)
    assert refused.step is None
    assert "ovn_central_permit=outage" in refused.warnings[0]
    assert steps(decide([alone], dataclasses.replace(run, allow_outage=True))) == ("restart", ("c2",))


def test_a_removed_member_is_expected_with_the_id_that_it_gave_up() -> None:
    listed = {k: v for k, v in LISTED.items() if k != "1111"}
    result = decide([lost("c1", with_state("c1", "replacing", SIDS["c1"])), up("c2", listed=listed), up("c3")])
    assert result.record is not None
    assert result.record.members["c1"] == Member(ADDRESSES["c1"], "expected", SIDS["c1"])


FORESEEN: list[t.Any] = [
    pytest.param([blank(n) for n in NAMES], ["create", "join c2", "join c3"], id="a first rollout"),
    pytest.param([up(n) for n in NAMES], [], id="nothing to do"),
    pytest.param([lost("c1"), up("c2"), up("c3")], ["remove the lost member c1", "join c1"], id="a lost first member"),
    pytest.param(
        [lost("c1", running=True, connected=True, cid=CID, sid=SIDS["c1"]), up("c2"), up("c3")],
        ["stop northbound on c1", "remove the lost member c1", "join c1"],
        id="a server on a deleted file",
    ),
    pytest.param(
        [up(n, restart_reason="new") for n in NAMES],
        ["on c1: new", "on c3: new", "on c2: new"],
        id="a rolling restart with the leader last",
    ),
    pytest.param([down(n) for n in NAMES], ["start northbound on c1, c2, c3"], id="after a total outage"),
    pytest.param(
        [down("c1"), lost("c2"), lost("c3")],
        ["start northbound on c1"],
        id="the only file that is left promises no repair",
    ),
    pytest.param(
        [blank("c1"), up("c2"), up("c3")],
        ["remove the lost member c1", "join c1"],
        id="a reinstalled host, nothing is installed on it yet",
    ),
]


@pytest.mark.parametrize(("observations", "expected"), FORESEEN)
def test_check_mode_foresees_every_step_in_order(observations: list[Observation], expected: list[str]) -> None:
    reasons = predict_rounds(RUN, {o.member: o for o in observations}, lambda _name, _seen, _member: "")[0]
    assert len(reasons) == len(expected)
    for reason, part in zip(reasons, expected):
        assert part in reason


def test_names_are_used_with_leave() -> None:
    run = dataclasses.replace(RUN, declared=NAMED, allow_names=True)
    assert steps(decide([blank(n) for n in NAMES], run)) == ("start", ("c1",))

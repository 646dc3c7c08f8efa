"""The plan of both databases as the role sees it."""

from __future__ import annotations

import typing as t

import pytest

from ansible_collections.c5c3.ovn.plugins.module_utils._raft.machine_plan import machine_plan
from ansible_collections.c5c3.ovn.plugins.module_utils._raft.record import Member, Record

ADDRESSES = {"c1": "ssl:192.0.2.1:6643", "c2": "ssl:192.0.2.2:6643", "c3": "ssl:192.0.2.3:6643"}
RUN: dict[str, t.Any] = {
    "run": "r",
    "time": "2026-01-01T00:00:00Z",
    "declared": {"northbound": ADDRESSES, "southbound": ADDRESSES},
    "expected_cid": {"northbound": "", "southbound": ""},
    "bootstrap": True,
    "restart": True,
    "allow_outage": False,
    "allow_names": False,
    "wait_timeout": 60,
}
Observed = t.Callable[[str], list[dict[str, t.Any]]]
CID = "aaaaaaaa-0000-4000-8000-000000000000"
SIDS = {name: f"{i}{i}{i}{i}0000-0000-4000-8000-000000000000" for i, name in enumerate(ADDRESSES, 1)}
RECORD = Record(
    "northbound", {name: Member(address, "confirmed", SIDS[name]) for name, address in ADDRESSES.items()}, 1, cid=CID
).as_dict()


def seen(database: str, **changes: t.Any) -> list[dict[str, t.Any]]:
    return [{"observation": {"database": database, "member": name, **changes}} for name in ADDRESSES]


def serving(database: str) -> list[dict[str, t.Any]]:
    """Every member takes part, and nothing is left to do."""
    listed = {sid[:4]: ADDRESSES[name] for name, sid in SIDS.items()}
    common = {"record": {**RECORD, "database": database}, "file_class": "member", "file_cid": CID, "cid": CID}
    live = {"running": True, "connected": True, "listed": listed}
    return [
        {"observation": {"database": database, "member": name, "sid": sid, "leader": name == "c1", **common, **live}}
        for name, sid in SIDS.items()
    ]


def test_one_database_comes_after_the_other_and_the_whole_order_is_told() -> None:
    plan = machine_plan([*seen("northbound"), *seen("southbound")], RUN, {})
    assert plan["refusals"] == []
    assert plan["database"] == "northbound"
    assert plan["step"]["state"] == "started"
    assert plan["step"]["expects"] == {
        "c1": {"running": False, "connected": False, "leader": False, "file_class": "none"}
    }
    assert plan["record"]["permit"]["member"] == "c1"
    assert [message.split()[0] for message in plan["messages"]] == ["create", "join", "join"] * 2
    assert plan["founding"] == ["northbound", "southbound"]
    assert plan["observe"] == plan["left"] == ["northbound", "southbound"]


def test_the_next_database_has_its_turn_when_the_first_is_done() -> None:
    first = machine_plan([*seen("northbound"), *seen("southbound")], RUN, {})
    its_turn = machine_plan([*serving("northbound"), *seen("southbound")], RUN, first)
    assert (its_turn["database"], its_turn["observe"], its_turn["left"]) == ("southbound", *[["southbound"]] * 2)
    end = machine_plan(serving("southbound"), RUN, its_turn)
    assert (end["database"], end["left"]) == ("", [])


def electing(database: str) -> list[dict[str, t.Any]]:
    """Nobody leads: there is nothing to do but to wait."""
    return [
        {"observation": {**one["observation"], "leader": False, "connected": False, "listed": {}}}
        for one in serving(database)
    ]


def restarting(database: str) -> list[dict[str, t.Any]]:
    return [{"observation": {**one["observation"], "restart_reason": "other settings"}} for one in serving(database)]


def one_is_down(database: str) -> list[dict[str, t.Any]]:
    changes = {"running": False, "connected": False}
    one, two, three = serving(database)
    return [one, two, {"observation": {**three["observation"], **changes}}]


@pytest.mark.parametrize(
    ("northbound", "southbound", "turn", "state"),
    [
        pytest.param(electing, seen, "southbound", "started", id="creation"),
        pytest.param(electing, one_is_down, "southbound", "started", id="a member that is down"),
        pytest.param(electing, restarting, "northbound", "waited", id="restarts do not overtake"),
        pytest.param(electing, electing, "northbound", "waited", id="both wait"),
        pytest.param(electing, serving, "northbound", "waited", id="the other one is done"),
        pytest.param(one_is_down, seen, "northbound", "started", id="the first one does not wait"),
    ],
)
def test_while_the_first_database_waits_members_of_the_second_are_started(
    northbound: Observed, southbound: Observed, turn: str, state: str
) -> None:
    plan = machine_plan([*northbound("northbound"), *southbound("southbound")], RUN, {})
    assert (plan["database"], plan["step"]["state"]) == (turn, state)
    assert plan["observe"] == plan["left"] == ["northbound", "southbound"]


def test_a_wait_counts_on_while_the_other_database_has_its_turn() -> None:
    observed = [*electing("northbound"), *seen("southbound")]
    first = machine_plan(observed, RUN, {})
    since = first["progress"]["northbound"]["since"]
    assert machine_plan(observed, RUN, first)["progress"]["northbound"]["since"] == since


def test_a_record_is_written_before_the_other_database_has_its_turn() -> None:
    observed = electing("northbound")
    observed[2]["observation"]["record"] = {**RECORD, "revision": 0}
    plan = machine_plan([*observed, *seen("southbound")], RUN, {})
    assert (plan["database"], plan["step"]) == ("northbound", None)
    assert plan["record"] is not None
    alone = machine_plan([*observed, *serving("southbound")], RUN, {})
    assert (alone["database"], alone["step"]["state"]) == ("northbound", "waited")


def test_a_step_that_has_not_got_its_turn_is_not_late() -> None:
    observed = [*seen("northbound"), *seen("southbound")]
    assert set(machine_plan(observed, RUN, {})["progress"]) == {"northbound"}


def test_beside_a_restart_the_other_database_is_not_observed() -> None:
    broken = serving("northbound")
    broken[2]["observation"].update(connected=False, restart_reason="other settings")
    plan = machine_plan([*broken, *seen("southbound")], RUN, {})
    assert (plan["database"], plan["step"]["state"]) == ("northbound", "restarted")
    assert (plan["observe"], plan["left"]) == (["northbound"], ["northbound", "southbound"])


def test_a_warning_is_reported_once() -> None:
    observed = [*seen("northbound"), *restarting("southbound")]
    run = {**RUN, "restart": False}
    first = machine_plan(observed, run, {})
    assert first["new_warnings"] == ["southbound: a restart is due on c1, c2, c3 (other settings)."]
    again = machine_plan(observed, run, first)
    assert (again["new_warnings"], again["left"]) == ([], ["northbound", "southbound"])


def test_the_plan_keeps_the_size_of_a_database_whose_turn_is_over() -> None:
    large = serving("northbound")
    large[1]["observation"]["file_bytes"] = 104_000_000
    first = machine_plan([*large, *seen("southbound")], RUN, {})
    assert (first["database"], first["observe"]) == ("southbound", ["southbound"])
    end = machine_plan(serving("southbound"), RUN, first)
    assert end["sizes"] == {
        "northbound": {"file_bytes": 104_000_000, "election_timer": None},
        "southbound": {"file_bytes": 0, "election_timer": None},
    }


def test_the_cluster_ids_of_both_databases_are_known_at_the_end() -> None:
    """They are noted beside the CA."""
    first = machine_plan([*serving("northbound"), *seen("southbound")], RUN, {})
    assert set(first["cids"]) == {"northbound"}
    end = machine_plan(serving("southbound"), RUN, first)
    assert set(end["cids"]) == {"northbound", "southbound"}


def test_nothing_is_left_where_both_databases_are_as_declared() -> None:
    plan = machine_plan([*serving("northbound"), *serving("southbound")], RUN, {})
    assert (plan["database"], plan["left"], plan["refusals"], plan["messages"]) == ("", [], [], [])


def test_no_as_an_extra_variable_of_the_command_line_is_no() -> None:
    """There `-e ovn_central_bootstrap=false` is a text, and a text with something in it is true."""
    plan = machine_plan([*seen("northbound"), *seen("southbound")], {**RUN, "bootstrap": False}, {})
    assert plan["step"] is None
    assert len(plan["refusals"]) == 2
    assert all("ovn_central_bootstrap is false" in refusal for refusal in plan["refusals"])


def test_an_adoption_creates_nothing() -> None:
    plan = machine_plan([*seen("northbound"), *seen("southbound")], {**RUN, "adopt": True}, {})
    assert all("an adoption creates none. c5c3.ovn.site creates a new" in refusal for refusal in plan["refusals"])
    assert len(plan["refusals"]) == 2


def test_an_adoption_does_not_end_what_a_first_run_has_begun() -> None:
    """A record with a permit, and no server that is seen: one that was not found could be there."""
    begun = machine_plan([*seen("northbound"), *serving("southbound")], RUN, {})
    observed = [*seen("northbound", record=begun["record"]), *serving("southbound")]
    assert machine_plan(observed, RUN, {})["founding"] == ["northbound"]
    plan = machine_plan(observed, {**RUN, "adopt": True}, {})
    assert (plan["founding"], plan["step"]) == ([], None)
    assert "was cut off before the cluster existed, and an adoption creates none" in plan["refusals"][0]


def test_an_adoption_lets_no_member_join_that_may_only_be_down() -> None:
    """The file of a container is in a volume: while it is down, its member looks like a lost disk."""
    down = {"running": False, "connected": False, "file_class": "none", "sid": None, "cid": None, "ours": False}
    observed = serving("northbound")
    observed[2]["observation"].update(down, file_cid=None)
    assert machine_plan([*observed, *serving("southbound")], RUN, {})["refusals"] == []
    run = {**RUN, "adopt": True}
    (refusal,) = machine_plan([*observed, *serving("southbound")], {**run, "before_changes": True}, {})["refusals"]
    assert "northbound does not run on c3, and runs on other hosts" in refusal
    assert "Start what ran it" in refusal
    plan = machine_plan([*observed, *serving("southbound")], run, {})
    assert (plan["step"]["state"], plan["record"]) == ("waited", None)


def test_an_adoption_takes_over_members_even_if_no_restart_is_wanted() -> None:
    observed = serving("northbound")
    for result in observed:
        result["observation"]["restart_reason"] = "it runs in ovn-ovsdb-server-nb.service and is adopted"
    assert machine_plan(observed, {**RUN, "restart": False}, {})["step"] is None
    step = machine_plan(observed, {**RUN, "restart": False, "adopt": True}, {})["step"]
    assert step["reason"].startswith("restart northbound on c2: it runs in ovn-ovsdb-server-nb.service and is adopted")


ADOPTION = {**RUN, "adopt": True}


def answer(database: str, name: str) -> dict[str, t.Any]:
    """A member with two answers in a row, and no gate that they close. c1 leads."""
    leads, sid, name_of = name == "c1", SIDS[name], {"northbound": "OVN_Northbound", "southbound": "OVN_Southbound"}
    role = "Role: leader\nTerm: 2\nLeader: self" if leads else f"Role: follower\nTerm: 2\nLeader: {SIDS['c1'][:4]}"
    links = " ".join(f"->{other[:4]} <-{other[:4]}" for other in SIDS.values() if other != sid)
    servers = "".join(
        f"    {other[:4]} ({other[:4]} at {ADDRESSES[one]}){' (self)' if one == name else ''}"
        f"{' next_index=100 match_index=99' if leads else ''}{'' if one == name else ' last msg 50 ms ago'}\n"
        for one, other in SIDS.items()
    )
    text = (
        f"{sid[:4]}\nName: {name_of[database]}\nCluster ID: {CID[:4]} ({CID})\nServer ID: {sid[:4]} ({sid})\n"
        f"Address: {ADDRESSES[name]}\nStatus: cluster member\n{role}\nVote: unknown\n\n"
        f"{'Last Election won: 60000 ms ago' if leads else ''}\nElection timer: 1000\nLog: [2, 100]\n"
        f"Entries not yet committed: 0\nEntries not yet applied: 0\nConnections: {links}\nDisconnections: 0\n"
        f"Servers:\n{servers}"
    )
    view = {"model": "clustered", "connected": True, "leader": leads, "cluster_id": CID, "server_id": sid}
    facts = {"server": {**view, "log_index": 99, "process": name}, "taken": 1000.0}
    return {"member": name, "database": name_of[database], "cluster_status": text, "earlier_status": text, **facts}


def contained(database: str) -> list[dict[str, t.Any]]:
    """Every member runs in a container, as `ovn_raft_member` observes it."""
    observed = serving(database)
    for one in observed:
        data = one["observation"]
        data.update(file_sid=data["sid"], answer=answer(database, data["member"]))
        data["replace_reason"] = f"it runs in container {database}, and a new member joins in its place"
    return observed


def test_an_adoption_replaces_members_in_containers_one_at_a_time() -> None:
    plan = machine_plan([*contained("northbound"), *serving("southbound")], ADOPTION, {})
    assert plan["refusals"] == []
    assert (plan["database"], plan["step"]["state"], plan["step"]["members"]) == ("northbound", "stopped", ["c2"])
    seen_so = {"running": True, "connected": True, "leader": False, "sid": SIDS["c2"]}
    assert plan["step"]["expects"] == {"c2": seen_so}
    states = {name: member["state"] for name, member in plan["record"]["members"].items()}
    assert states == {"c1": "confirmed", "c2": "replacing", "c3": "confirmed"}
    assert plan["observe"] == ["northbound"]


def test_check_mode_tells_the_whole_order_of_an_adoption_whatever_the_leader_hears_now() -> None:
    plan = machine_plan([*contained("northbound"), *serving("southbound")], ADOPTION, {})
    expected = [
        words.format(name)
        for name in ("c2", "c3", "c1")
        for words in ("replace northbound on {}: it runs in", "remove the lost member {} (", "join {} to northbound")
    ]
    assert len(plan["messages"]) == len(expected)
    assert [part for message, part in zip(plan["messages"], expected) if not message.startswith(part)] == []


def test_an_adoption_of_members_in_containers_is_due() -> None:
    run = {**ADOPTION, "before_changes": True}
    plan = machine_plan([*contained("northbound"), *serving("southbound")], run, {})
    assert (plan["due"], plan["refusals"], plan["step"]) == (True, [], None)


def test_a_gate_holds_the_replacement_of_a_member_back() -> None:
    observed = contained("northbound")
    view = observed[2]["observation"]["answer"]["server"]
    view["connected"] = False
    plan = machine_plan([*observed, *serving("southbound")], {**ADOPTION, "check_mode": False}, {})
    assert (plan["step"]["state"], plan["step"]["members"], plan["record"]) == ("waited", ["c2"], None)
    assert plan["step"]["reason"].startswith("replace northbound on c2: it runs in container northbound")
    assert plan["step"]["reason"].endswith(": not live: c3")


def test_after_the_stop_the_old_member_is_removed_and_a_new_one_joins() -> None:
    stop = machine_plan([*contained("northbound"), *serving("southbound")], ADOPTION, {})
    observed = contained("northbound")
    gone: dict[str, t.Any] = {
        "running": False,
        "connected": False,
        "leader": False,
        "sid": None,
        "cid": None,
        "listed": {},
        "answer": {},
    }
    observed[1]["observation"].update(gone, file_class="none", file_cid=None, file_sid=None, replace_reason="")
    for one in observed:
        one["observation"]["record"] = stop["record"]
    kick = machine_plan(observed, ADOPTION, stop)
    assert (kick["refusals"], kick["step"]["state"]) == ([], "waited")
    assert "the leader has heard it a moment ago" in kick["step"]["reason"]
    leader = observed[0]["observation"]
    late = leader["answer"]["cluster_status"].replace(
        f"at {ADDRESSES['c2']}) next_index=100 match_index=99 last msg 50 ms",
        f"at {ADDRESSES['c2']}) next_index=100 match_index=99 last msg 60000 ms",
    )
    leader["answer"].update(cluster_status=late, earlier_status=late)
    kick = machine_plan(observed, ADOPTION, stop)
    assert (kick["step"]["state"], kick["step"]["members"], kick["step"]["sid"]) == ("kicked", ["c1"], SIDS["c2"])
    assert kick["record"] is None


def test_a_refusal_of_one_database_is_told_beside_the_plan_of_the_other() -> None:
    files = seen("southbound", file_class="standalone", file_reason="southbound on c1: a standalone database")
    plan = machine_plan([*seen("northbound"), *files], RUN, {})
    assert len(plan["refusals"]) == 1
    assert "standalone" in plan["refusals"][0]
    assert plan["database"] == "northbound"


@pytest.mark.parametrize(("refused", "other"), [("northbound", "southbound"), ("southbound", "northbound")])
def test_the_other_database_goes_as_far_as_it_can_and_the_refusal_is_kept(refused: str, other: str) -> None:
    files = seen(refused, file_class="standalone", file_reason=f"{refused} on c1: a standalone database")
    plan = machine_plan([*files, *seen(other)], RUN, {})
    assert (plan["database"], plan["observe"], plan["left"]) == (other, [other], [other])
    end = machine_plan(serving(other), RUN, plan)
    assert (end["database"], end["left"]) == ("", [])
    assert end["refusals"] == plan["refusals"] != []
    assert end["incomplete"] == {other: []}


def test_a_database_that_is_refused_in_a_later_round_leaves_the_turn_to_the_other() -> None:
    first = machine_plan([*seen("northbound"), *seen("southbound")], RUN, {})
    files = seen("northbound", file_class="standalone", file_reason="northbound on c1: a standalone database")
    refused = machine_plan(files, RUN, first)
    assert (refused["database"], refused["observe"], refused["left"]) == ("", ["southbound"], ["southbound"])
    assert len(refused["refusals"]) == 1


def test_witnesses_of_an_older_control_plane_forbid_its_creation() -> None:
    run = {**RUN, "witnesses": ["hypervisor compute1 has ovn-remote ssl:192.0.2.99:6642"]}
    plan = machine_plan([*seen("northbound"), *seen("southbound")], run, {})
    assert all(
        "compute1 has ovn-remote" in refusal and "ovn_central_permit=new_cluster" in refusal
        for refusal in plan["refusals"]
    )
    assert len(plan["refusals"]) == 2
    wanted = machine_plan([*seen("northbound"), *seen("southbound")], {**run, "new_cluster": True}, {})
    assert wanted["refusals"] == []


def test_waiting_ends_with_the_reason() -> None:
    electing = seen("northbound", record=RECORD, file_class="member", file_cid=CID, running=True, cid=CID)
    run = {**RUN, "declared": {"northbound": ADDRESSES}}
    first = machine_plan(electing, run, {})
    assert first["step"]["state"] == "waited"
    assert first["refusals"] == []
    progress = first["progress"]["northbound"]
    old = {**first, "progress": {"northbound": {**progress, "since": progress["since"] - 61}}}
    assert "Timed out after 60 s" in machine_plan(electing, run, old)["refusals"][0]


BEFORE = {**RUN, "before_changes": True}


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({}, ""),
        ({"file_class": "unexamined", "installed": False}, ""),
        ({"file_class": "unknown"}, ""),
        ({"start_problem": "the certificate is missing"}, ""),
        ({"host_problem": "192.0.2.77 is not an address of this host"}, "on c1 192.0.2.77 is not an address"),
        ({"file_class": "standalone", "file_reason": "a standalone database"}, "standalone"),
        ({"record": {**RECORD, "hold": True}}, "on hold"),
        ({"record": RECORD, "file_class": "none"}, "no quorum"),
    ],
    ids=[
        "machines without anything",
        "a file that nothing can examine before the installation",
        "a tool that is missing before the installation",
        "a certificate that the run is about to write",
        "an address that is not here",
        "a standalone database",
        "a recovery that is under way",
        "a cluster that lost all its members",
    ],
)
def test_what_forbids_a_run_before_it_changes_anything(changes: dict[str, t.Any], words: str) -> None:
    plan = machine_plan(seen("northbound", **changes), {**BEFORE, "declared": {"northbound": ADDRESSES}}, {})
    assert [words in refusal for refusal in plan["refusals"]] == ([True] if words else [])
    assert (plan["database"], plan["step"]) == ("", None)


def test_a_founding_is_announced_before_anything_is_changed() -> None:
    assert machine_plan([*seen("northbound"), *serving("southbound")], BEFORE, {})["founding"] == ["northbound"]


def judged_by_an_older_record() -> list[dict[str, t.Any]]:
    """One of three members is lost, and the launcher of another calls its file foreign, because its copy of the record is older."""
    older = {**RECORD, "revision": 0, "members": {**RECORD["members"], "c3": {**RECORD["members"]["c3"], "sid": CID}}}
    one, two, three = serving("northbound")
    one["observation"].update(file_class="none", running=False, connected=False, leader=False, file_sid=None)
    two["observation"].update(connected=False)
    three["observation"].update(
        record=older, file_class="foreign-sid", file_sid=SIDS["c3"], running=False, connected=False
    )
    return [one, two, three]


def test_plan_rewrites_older_record_before_it_refuses() -> None:
    """The launcher starts that member with the new copy, and the cluster has a quorum again."""
    plan = machine_plan([*judged_by_an_older_record(), *serving("southbound")], BEFORE, {})
    assert (plan["refusals"], plan["due"]) == ([], True)


def test_older_record_excuses_no_refusal_about_another_member() -> None:
    """The member that is judged by it runs. What the new copy does not change would end the run after it has changed something."""
    one, two, _three = serving("northbound")
    three = judged_by_an_older_record()[2]
    three["observation"].update(running=True, connected=True)
    two["observation"].update(file_class="none", running=False, connected=False, sid=None)
    observed = [one, two, three, *serving("southbound")]
    assert machine_plan(observed, BEFORE, {})["refusals"] == []
    two["observation"].update(host_problem="192.0.2.77 is not an address of this host")
    (refusal,) = machine_plan(observed, BEFORE, {})["refusals"]
    assert "northbound on c2 is not started: it would not come back. 192.0.2.77 is not an address" in refusal


def test_a_database_whose_record_is_written_although_it_is_refused_is_named() -> None:
    """What members remember of it must stay then."""
    observed = [*judged_by_an_older_record(), *serving("southbound")]
    plan = machine_plan(observed, {**RUN, "check_mode": False}, {})
    assert (plan["refusals"], plan["refused"], plan["left"]) == ([], ["northbound"], ["northbound", "southbound"])
    assert plan["record"] is not None


def test_before_the_first_change_it_says_whether_anything_is_due() -> None:
    """A run with nothing to do needs neither the lock nor a second look, but its warnings and cluster ids."""
    plan = machine_plan([*serving("northbound"), *serving("southbound")], BEFORE, {})
    assert (plan["due"], plan["refusals"], plan["step"]) == (False, [], None)
    assert set(plan["cids"]) == {"northbound", "southbound"}
    assert plan["incomplete"] == {"northbound": [], "southbound": []}


@pytest.mark.parametrize(
    "southbound",
    [
        pytest.param(seen("southbound"), id="a database does not exist yet"),
        pytest.param(
            restarting("southbound"),
            id="members have to restart",
        ),
        pytest.param(
            [
                *serving("southbound")[:2],
                {"observation": {**serving("southbound")[2]["observation"], "running": False, "connected": False}},
            ],
            id="a member is down",
        ),
        pytest.param(
            [
                {"observation": {**one["observation"], "leader": False, "connected": False}}
                for one in serving("southbound")
            ],
            id="nobody leads",
        ),
    ],
)
def test_what_is_due_in_one_database_is_due(southbound: list[dict[str, t.Any]]) -> None:
    plan = machine_plan([*serving("northbound"), *southbound], BEFORE, {})
    assert plan["due"]
    assert plan["step"] is None

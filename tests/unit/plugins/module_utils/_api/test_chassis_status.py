from __future__ import annotations

import datetime
import typing as t

import pytest

from ansible_collections.c5c3.ovn.plugins.module_utils._api.chassis_status import (
    ChassisFacts,
    chassis_status,
    condition_of,
    judge_datapath_condition,
    observe_answers,
    status_of_agent,
    with_datapath,
)

NOW = datetime.datetime(2026, 3, 1, 12, 0, tzinfo=datetime.timezone.utc)
HALF_A_MINUTE = datetime.timedelta(seconds=30)
BEAT = NOW - HALF_A_MINUTE
WELL = chassis_status({}, ChassisFacts(True, True, BEAT, ""), generation=1, now=NOW)
LATE = chassis_status({}, ChassisFacts(True, False, BEAT, ""), generation=1, now=NOW)
ABSENT = chassis_status({}, ChassisFacts(False, False, None, "x"), generation=1, now=NOW)
BARE = chassis_status({}, ChassisFacts(None, None, BEAT, None, unprepared="x"), generation=1, now=NOW)
AWAY = chassis_status({}, ChassisFacts(None, None, BEAT, None, unreachable="x"), generation=1, now=NOW)


@pytest.mark.parametrize(
    ("seen", "ready", "reason", "ovs"),
    [
        pytest.param(ChassisFacts(True, True, None, ""), "True", "Registered", "True", id="all is well"),
        pytest.param(
            ChassisFacts(True, False, None, ""), "False", "NoHeartbeat", "True", id="no answer to the heartbeat"
        ),
        pytest.param(ChassisFacts(False, False, None, "x"), "False", "NotRegistered", "False", id="not there yet"),
        pytest.param(ChassisFacts(None, None, None, ""), "True", "PodsReady", "True", id="only the pods were observed"),
        pytest.param(
            ChassisFacts(None, None, None, "no pod"),
            "False",
            "PodsNotReady",
            "False",
            id="only a missing pod was observed",
        ),
        pytest.param(ChassisFacts(None, None, None, None), "Unknown", "NotSeen", "Unknown", id="nothing was observed"),
    ],
)
def test_conditions(seen: ChassisFacts, ready: str, reason: str, ovs: str) -> None:
    first, second = chassis_status({}, seen, generation=3, now=NOW)["conditions"]
    assert (first["type"], first["status"], first["reason"]) == ("Ready", ready, reason)
    assert (second["type"], second["status"]) == ("OVSConnected", ovs)
    assert first["observedGeneration"] == 3


def test_times_change_only_with_what_they_are_about() -> None:
    beat = NOW - datetime.timedelta(minutes=10)
    first = chassis_status({}, ChassisFacts(True, True, beat, ""), generation=1, now=NOW)
    assert first["registeredAt"] == "2026-03-01T12:00:00Z"
    assert first["lastHeartbeat"] == "2026-03-01T11:50:00Z"
    later = NOW + datetime.timedelta(hours=1)
    soon = beat + datetime.timedelta(minutes=1)
    assert chassis_status(first, ChassisFacts(True, True, soon, ""), generation=1, now=later) == first
    lost = chassis_status(first, ChassisFacts(False, False, None, ""), generation=1, now=later)
    assert lost["registeredAt"] == first["registeredAt"]
    assert lost["conditions"][0]["lastTransitionTime"] == "2026-03-01T13:00:00Z"
    assert lost["conditions"][1] == first["conditions"][1]
    beats = chassis_status(first, ChassisFacts(True, True, later, ""), generation=1, now=later)
    assert beats["lastHeartbeat"] == "2026-03-01T13:00:00Z"


def test_the_message_of_a_late_chassis_says_since_when_and_what_next() -> None:
    message = condition_of(LATE, "Ready")["message"]
    assert message.startswith("ovn-controller does not answer heartbeats, last at 2026-03-01T11:59:30Z: it is frozen")
    assert "Look at the log of the pod ovn-controller on this node" in message
    never = chassis_status({}, ChassisFacts(True, False, None, ""), generation=1, now=NOW)
    assert condition_of(never, "Ready")["message"].startswith("ovn-controller does not answer heartbeats: it is")


@pytest.mark.parametrize(
    ("before", "pods", "agent", "ready", "reason"),
    [
        pytest.param(LATE, "", True, "False", "NoHeartbeat", id="ready pods do not make a late chassis ready"),
        pytest.param(WELL, "", True, "True", "Registered", id="what the agent has written stays"),
        pytest.param(WELL, None, True, "True", "Registered", id="also if nothing was observed"),
        pytest.param(WELL, "pod is missing", True, "False", "PodsNotReady", id="without its pod no agent writes"),
        pytest.param(AWAY, "", True, "Unknown", "SouthboundUnreachable", id="a node that could not ask asks again"),
        pytest.param(BARE, "", True, "Unknown", "NotConfigured", id="nor do they configure a node"),
        pytest.param(ABSENT, "", False, "True", "PodsReady", id="nobody would correct what a run has found long ago"),
        pytest.param(LATE, "", False, "True", "PodsReady", id="nor what an agent has written that does not any more"),
        pytest.param(AWAY, "", False, "True", "PodsReady", id="nor that it could not ask"),
        pytest.param(WELL, "", False, "True", "PodsReady", id="nor that all was well"),
        pytest.param(WELL, None, False, "Unknown", "NotSeen", id="nobody knows"),
        pytest.param(WELL, "pod is missing", False, "False", "PodsNotReady", id="its pod is missing"),
    ],
)
def test_a_run_without_the_southbound_database(
    before: t.Any, pods: str | None, agent: bool, ready: str, reason: str
) -> None:
    facts = ChassisFacts(None, None, None, pods, has_agent=agent)
    status = chassis_status(before, facts, generation=1, now=NOW)
    found = condition_of(status, "Ready")
    assert (found["status"], found["reason"]) == (ready, reason)


@pytest.mark.parametrize(
    ("agent", "since"), [(True, None), (False, "2026-03-01T12:00:00Z")], ids=["not registered", "ready by its pods"]
)
def test_a_chassis_that_was_never_registered(agent: bool, since: str | None) -> None:
    """As long as its status says so, it has no time at which it was."""
    status = chassis_status(ABSENT, ChassisFacts(None, None, None, "", has_agent=agent), generation=1, now=NOW)
    assert status.get("registeredAt") == since


def test_runs_and_agents_write_the_same() -> None:
    """The agent does not see pods: it keeps what a run has said of them."""
    facts = ChassisFacts(True, True, BEAT, None)
    assert status_of_agent(WELL, facts, generation=1, now=NOW, stale=HALF_A_MINUTE) == WELL
    late = facts._replace(alive=False)
    assert status_of_agent(LATE, late, generation=1, now=NOW, stale=HALF_A_MINUTE) == LATE
    assert chassis_status(LATE, late._replace(pods=""), generation=1, now=NOW) == LATE


def test_an_agent_alone() -> None:
    status = status_of_agent({}, ChassisFacts(True, True, BEAT, None), generation=1, now=NOW, stale=HALF_A_MINUTE)
    assert [one["type"] for one in status["conditions"]] == ["Ready"]
    assert status["lastHeartbeat"] == "2026-03-01T11:59:30Z"


def test_other_conditions_stay() -> None:
    before = {"conditions": [{"type": "Theirs", "status": "True"}, *WELL["conditions"]]}
    status = status_of_agent(before, ChassisFacts(True, False, BEAT, None), generation=1, now=NOW, stale=HALF_A_MINUTE)
    assert [one["type"] for one in status["conditions"]] == ["Ready", "Theirs", "OVSConnected"]


@pytest.mark.parametrize(
    ("before", "seconds", "moves"),
    [
        pytest.param(0, 29, False, id="newer by less than half an interval"),
        pytest.param(0, 30, True, id="newer by half an interval"),
        pytest.param(0, 60, True, id="newer by an interval"),
        pytest.param(0, -29, False, id="older by a little"),
        pytest.param(0, -30, True, id="older: the clock of the node was ahead"),
        pytest.param(5 * 365 * 86400, 0, True, id="older by years: the node has started with a wrong clock"),
        pytest.param(90, 80, False, id="both a minute ahead of the clock that judges"),
        pytest.param(91, 80, True, id="what was written is later than now"),
    ],
)
def test_a_heartbeat_is_written_when_it_differs_by_half_an_interval(before: int, seconds: int, moves: bool) -> None:
    """`before` and `seconds` count from half a minute ago."""
    former = chassis_status(
        {}, ChassisFacts(True, True, BEAT + datetime.timedelta(seconds=before), ""), generation=1, now=NOW
    )
    facts = ChassisFacts(True, True, BEAT + datetime.timedelta(seconds=seconds), None)
    status = status_of_agent(former, facts, generation=1, now=NOW, stale=HALF_A_MINUTE)
    assert (status["lastHeartbeat"] != former["lastHeartbeat"]) is moves
    assert {**former, "lastHeartbeat": ""} == {**status, "lastHeartbeat": ""}


@pytest.mark.parametrize("text", ["2026-03-01T12:00:00+99:99", "0000-01-01T00:00:00Z"])
def test_a_heartbeat_that_is_no_time_is_written_anew(text: str) -> None:
    """Root on a node may write it; runs of all nodes must go on."""
    before = {**WELL, "lastHeartbeat": text}
    assert chassis_status(before, ChassisFacts(True, True, BEAT, ""), generation=1, now=NOW) == WELL
    unknown = chassis_status(before, ChassisFacts(True, True, None, ""), generation=1, now=NOW)
    assert unknown["lastHeartbeat"] == text


def test_a_node_that_cannot_ask() -> None:
    facts = ChassisFacts(None, None, BEAT, None, unreachable="No member answers.")
    found = condition_of(status_of_agent(WELL, facts, generation=1, now=NOW, stale=HALF_A_MINUTE), "Ready")
    assert (found["status"], found["reason"]) == ("Unknown", "SouthboundUnreachable")
    assert "No member answers. Look at the Southbound database" in found["message"]


FACTS = {
    "type": "system",
    "conntrack_zones": True,
    "handlers": None,
    "lookups": {"hit": 5210, "missed": 98, "lost": 60},
    "lost": 0,
    "missed": 4,
    "seconds": 60.1,
    "uplinks_down": [],
}
UPLINK = {"bridge": "br-ex", "networks": ["physnet1"], "ports": {"eth1": "has no link (link_state is down)"}}
NOT_COMPARED = {"lost": None, "missed": None}


@pytest.mark.parametrize(
    ("facts", "expected", "words"),
    [
        pytest.param(FACTS, ("True", "NoPacketsLost"), "loses no packets", id="healthy"),
        pytest.param({**FACTS, **NOT_COMPARED}, None, "", id="the first reading of this process"),
        pytest.param(
            {**FACTS, "lost": 3},
            ("False", "PacketsLost"),
            "The datapath loses packets: its datapath lost 3 of 4 packets without a flow in 60.1 s. Check the load",
            id="lost meanwhile",
        ),
        pytest.param(
            {**FACTS, **NOT_COMPARED, "conntrack_zones": False, "uplinks_down": [UPLINK]},
            ("False", "ConntrackZonesMissing"),
            "8 s. Boot a kernel with conntrack zones, or set ovs.datapathType of the OVNCluster to netdev. bridge br-ex of",
            id="two problems at the first reading",
        ),
        pytest.param(
            {**FACTS, "uplinks_down": [UPLINK]},
            ("False", "UplinkDown"),
            "eth1 has no link (link_state is down). Check",
            id="uplink",
        ),
        pytest.param(
            {**FACTS, **NOT_COMPARED, "lookups": None}, ("Unknown", "NotSeen"), "does not answer", id="frozen"
        ),
        pytest.param(None, ("Unknown", "NotSeen"), "does not answer", id="no ovs-vswitchd, or no bridge"),
    ],
)
def test_condition_of_the_datapath(facts: t.Any, expected: tuple[str, str] | None, words: str) -> None:
    judged = judge_datapath_condition(facts)
    assert (judged and judged[:2]) == expected
    assert not judged or words in judged[2]


def test_condition_of_the_datapath_keeps_its_place_and_the_time_of_its_last_change() -> None:
    first = with_datapath(LATE, ("True", "NoPacketsLost", "x"), generation=1, now=NOW)
    assert [one["type"] for one in first["conditions"]] == ["Ready", "OVSConnected", "DatapathHealthy"]
    assert {**first, "conditions": first["conditions"][:2]} == LATE
    later = NOW + HALF_A_MINUTE
    assert with_datapath(first, ("True", "NoPacketsLost", "x"), generation=1, now=later) == first
    mixed = {"conditions": [first["conditions"][2], first["conditions"][0]]}
    lost = with_datapath(mixed, ("False", "PacketsLost", "y"), generation=2, now=later)
    assert lost["conditions"][1] == first["conditions"][0]
    assert lost["conditions"][0] == {
        "type": "DatapathHealthy",
        "status": "False",
        "reason": "PacketsLost",
        "message": "y",
        "lastTransitionTime": "2026-03-01T12:00:30Z",
        "observedGeneration": 2,
    }


def test_observer_and_agent_without_a_new_reading_keep_the_condition_of_the_datapath() -> None:
    before = with_datapath(WELL, ("False", "PacketsLost", "y"), generation=1, now=NOW)
    late = ChassisFacts(True, False, None, None)
    status = status_of_agent(before, late, generation=1, now=NOW + HALF_A_MINUTE, stale=datetime.timedelta(0))
    assert condition_of(status, "DatapathHealthy") == condition_of(before, "DatapathHealthy")


def beats(*times: float, until: float = 1000) -> tuple[float, ...]:
    """When the agent of a chassis writes lastHeartbeat: at `times`, then every 60 s from the last one on, before `until`."""
    last = times[-1]
    return (*times, *(last + 60 * number for number in range(1, 20) if last + 60 * number < until))


@pytest.mark.parametrize(
    ("chassis", "late"),
    [
        pytest.param({"a": beats(0), "b": beats(9)}, {}, id="all answer"),
        pytest.param({"a": beats(0), "b": beats(9, until=300)}, {"b": 330}, id="one has died right after its answer"),
        pytest.param({"a": beats(9), "b": beats(0, until=300)}, {"b": 340}, id="the other one writes late"),
        pytest.param(
            {"a": beats(0), "b": beats(0, until=300), "c": beats(0, until=300)}, {"b": 330, "c": 330}, id="two"
        ),
        pytest.param({"a": beats(0, until=300), "b": beats(3, until=300)}, {}, id="nobody sends heartbeats"),
        pytest.param({"a": (0, 60, *beats(700)), "b": (3, 63, *beats(709))}, {}, id="nobody did for a while"),
        pytest.param({"a": beats(0, until=300)}, {}, id="it has no others"),
        pytest.param({"a": beats(0), "b": ()}, {}, id="it has never answered"),
        pytest.param({"a": beats(0), "b": beats(500)}, {}, id="it joins, which is no answer of others"),
        pytest.param({"a": beats(0), "b": beats(5, 65, 150)}, {}, id="it answers at the last moment"),
        pytest.param({"a": beats(0), "b": beats(5, 65, 151)}, {"b": 150}, id="and a moment later"),
        pytest.param({"a": beats(0, 31, 120), "b": beats(9, 129)}, {}, id="another client has sent one in between"),
    ],
)
def test_chassis_is_late_if_another_has_answered_later(chassis: dict[str, t.Any], late: dict[str, float]) -> None:
    """An observer that looks every 5 s. Each value of lastHeartbeat is another one, and none of them a time."""
    found: dict[str, float] = {}
    known: dict[str, t.Any] = {}
    for now in range(0, 1000, 5):
        written = {name: sum(at <= now for at in times) for name, times in chassis.items()}
        texts = {name: f"{name} {number}" for name, number in written.items() if number}
        known = observe_answers(known, texts, now, 60)
        for name, one in known.items():
            if one.is_late(now, 30):
                found.setdefault(name, now)
    assert found == late

"""The status of an OVNCluster: each case is a sentence about a control plane."""

from __future__ import annotations

import json
import typing as t

import pytest

from ansible_collections.c5c3.ovn.plugins.module_utils._api.certificate_status import ObservedCertificates
from ansible_collections.c5c3.ovn.plugins.module_utils._api.crds import CLUSTER_STATUS
from ansible_collections.c5c3.ovn.plugins.module_utils._api.status import (
    cluster_status,
    machines_status,
    members_of,
    pod_of,
    relays_condition,
    rolled_out,
)
from ansible_collections.c5c3.ovn.plugins.module_utils._api.status_conditions import (
    ChassisCount,
    StatusCondition,
    TargetOutcome,
    operator_status,
)
from ansible_collections.c5c3.ovn.plugins.module_utils._daemons.schema_update import Schemas
from ansible_collections.c5c3.ovn.plugins.module_utils._kubernetes.rollout_progress import PendingItem
from ansible_collections.c5c3.ovn.plugins.module_utils._raft.answer import Answer, merge
from ansible_collections.c5c3.ovn.plugins.module_utils._raft.verdict import Reason, Verdict, assess

if t.TYPE_CHECKING:
    from conftest import Say

ENDPOINTS = {
    "northbound": "tcp:nb:6641",
    "southbound": "tcp:sb:6642",
    "southboundUnrestricted": "tcp:sb:16642",
    "serviceNorthbound": "tcp:ovn-nb:6641",
    "serviceSouthbound": "tcp:ovn-sb:6642",
    "northboundClusterIPs": "tcp:192.0.2.1:6641",
    "southboundUnrestrictedClusterIPs": "tcp:192.0.2.2:16642",
    "leaderProxyNorthbound": "tcp:192.0.2.3:6641",
    "leaderProxySouthbound": "tcp:192.0.2.3:16642",
}
NORTHD: t.Sequence[str] = ("ovn-northd-a",)
NOTHING: t.Sequence[PendingItem] = ()
THEN, NOW = "2026-01-01T00:00:00Z", "2026-01-02T00:00:00Z"


def status(
    northbound: Verdict,
    southbound: Verdict,
    *,
    previous: dict[str, t.Any] | None = None,
    chassis: ChassisCount | None = None,
    northd: t.Sequence[str] | None = NORTHD,
    now: str = NOW,
    declared: int = 3,
    left: t.Sequence[PendingItem] | None = NOTHING,
    schemas: dict[str, Schemas] | None = None,
    endpoints: dict[str, str] | None = None,
    certificates: ObservedCertificates | None = None,
    claims: t.Sequence[str] | None = None,
) -> dict[str, t.Any]:
    return cluster_status(
        generation=3,
        declared=declared,
        left=left,
        schemas=schemas,
        previous=previous or {},
        verdicts={"northbound": northbound, "southbound": southbound},
        endpoints=endpoints or ENDPOINTS,
        chassis=chassis,
        now=now,
        northd=northd,
        certificates=certificates,
        claims=claims,
    )


def conditions(found: dict[str, t.Any]) -> dict[str, tuple[str, str]]:
    return {c["type"]: (c["status"], c["reason"]) for c in found["conditions"]}


def words(found: dict[str, t.Any], kind: str) -> str:
    return next(str(c["message"]) for c in found["conditions"] if c["type"] == kind)


def written(value: t.Any, path: str = "") -> t.Iterator[str]:
    """Paths of the fields."""
    if isinstance(value, list):
        yield from (found for item in value for found in written(item, f"{path}[]"))
    elif isinstance(value, dict):
        yield from (found for name, item in value.items() for found in written(item, f"{path}.{name}"))
    else:
        yield path


def promised(schema: dict[str, t.Any], path: str = "") -> t.Iterator[str]:
    if schema["type"] == "array":
        yield from promised(schema["items"], f"{path}[]")
    elif "properties" in schema:
        yield from (
            found for name, field in schema["properties"].items() for found in promised(field, f"{path}.{name}")
        )
    else:
        yield path


def test_what_the_schema_promises_is_written_and_no_more(say: Say) -> None:
    verdict = assess(say.healthy(), 3)
    found = status(verdict, verdict, chassis=ChassisCount(2, ()), certificates=ObservedCertificates({"ssl:a:1": 2e9}))
    assert status(verdict, verdict, previous=found)["certificateNotAfter"] == found["certificateNotAfter"]
    outcome = TargetOutcome(True, "AsDeclared", "As declared.")
    of_operator = operator_status(found, outcome, {"rack1": outcome}, generation=1, now=NOW)
    assert set(written(of_operator)) == set(promised(CLUSTER_STATUS))


def test_what_the_operator_wrote_stays(say: Say) -> None:
    verdict = assess(say.healthy(), 3)
    outcome = TargetOutcome(False, "Unreachable", "It is away.")
    before = operator_status(status(verdict, verdict), outcome, {"rack1": outcome}, generation=1, now=NOW)
    after = status(verdict, verdict, previous=before)
    assert after["hypervisorClusters"] == before["hypervisorClusters"]
    assert conditions(after)["Reconciled"] == ("False", "Unreachable")
    assert operator_status(after, outcome, {"rack1": outcome}, generation=1, now="2027-01-01T00:00:00Z") == after


def test_the_status_of_machines_has_no_generation_and_no_northd(say: Say) -> None:
    verdict = assess(say.healthy(), 3)
    found = machines_status(
        previous={},
        verdicts={"northbound": verdict, "southbound": verdict},
        endpoints=ENDPOINTS,
        chassis=ChassisCount(2, ("b",)),
        certificates=ObservedCertificates({"ssl:a:1": 2e9}),
        claims=(),
        now=NOW,
    )
    assert conditions(found) == {
        "Ready": ("True", "ControlPlaneReady"),
        "NorthboundReady": ("True", "Healthy"),
        "SouthboundReady": ("True", "Healthy"),
        "ControllersReady": ("False", "ChassisUnresponsive"),
        "CertificateValid": ("True", "Valid"),
        "ClaimsConsistent": ("True", "NoConflicts"),
    }
    assert (found["chassisCount"], found["activeControllers"]) == (2, 1)
    assert set(written(found)) < set(promised(CLUSTER_STATUS))
    assert not any("observedGeneration" in path for path in written(found))


CASES: list[tuple[str, t.Callable[[Say], list[Answer]], str, str, str]] = [
    # sentence, what the members say, status, reason, part of the message
    (
        "three of three is ready",
        lambda say: say.healthy(),
        "True",
        "Healthy",
        "3 of 3 members take part, ovn-northbound-0",
    ),
    (
        "a dead member leaves it ready and is named",
        lambda say: [say.member(0, leader=True), say.member(1), say.unresponsive(2)],
        "True",
        "Degraded",
        "ovn-northbound-2 is not reachable",
    ),
    (
        "an election leaves it ready",
        lambda say: [say.unresponsive(0), say.member(1), say.member(2)],
        "True",
        "Degraded",
        "no member leads",
    ),
    (
        "a leader alone is not ready",
        lambda say: [say.member(0, leader=True), say.unresponsive(1), say.unresponsive(2)],
        "False",
        "NoQuorum",
        "1 of 3 members take part, no member leads.",
    ),
    (
        "a follower alone is not ready",
        lambda say: [say.unresponsive(0), say.member(1), say.unresponsive(2)],
        "False",
        "NoQuorum",
        "Start the missing ones",
    ),
    (
        "a stopped cluster is not ready",
        lambda say: [say.unresponsive(n) for n in range(3)],
        "False",
        "Unreachable",
        "0 of 3",
    ),
    (
        "two clusters are not ready",
        lambda say: [say.member(0, True), say.member(1), say.member(2, cid="b" * 8 + say.cluster[8:])],
        "False",
        "Split",
        "different clusters",
    ),
    (
        "the first member of three is not ready yet",
        lambda say: [say.member(0, leader=True), *(say.member(n, connected=False, index=None) for n in (1, 2))],
        "False",
        "NoQuorum",
        "1 of 3",
    ),
    (
        "a member that joins leaves it ready",
        lambda say: [say.member(0, leader=True), say.member(1), say.member(2, connected=False, index=None)],
        "True",
        "Forming",
        "ovn-northbound-2 is joining",
    ),
]


@pytest.mark.parametrize(
    ("build", "ready", "reason", "message"), [case[1:] for case in CASES], ids=[c[0] for c in CASES]
)
def test_condition(say: Say, build: t.Callable[[Say], list[Answer]], ready: str, reason: str, message: str) -> None:
    good = assess(say.healthy(), 3)
    found = status(assess(build(say), 3), good)
    assert conditions(found)["NorthboundReady"] == (ready, reason)
    assert conditions(found)["SouthboundReady"] == ("True", "Healthy")
    assert conditions(found)["Ready"] == (ready, "ControlPlaneReady" if ready == "True" else "NorthboundNotReady")
    assert message in words(found, "NorthboundReady")


def test_members_and_identity(say: Say) -> None:
    found = status(assess([say.member(0, True), say.member(1), say.unresponsive(2)], 3), assess(say.healthy(), 3))
    assert found["northbound"] == {
        "verdict": "degraded",
        "writable": True,
        "clusterId": say.cluster,
        "leader": "ovn-northbound-0",
        "members": [
            {
                "name": "ovn-northbound-0",
                "serverId": "00000000-0000-4000-8000-000000000000",
                "role": "leader",
                "connected": True,
            },
            {
                "name": "ovn-northbound-1",
                "serverId": "11110000-0000-4000-8000-000000000001",
                "role": "follower",
                "connected": True,
            },
            {"name": "ovn-northbound-2", "serverId": "", "role": "", "connected": False},
        ],
    }
    assert found["endpoints"] == ENDPOINTS
    assert found["observedGeneration"] == 3
    json.dumps(found)


def test_the_name_of_a_cluster_survives_its_members(say: Say) -> None:
    good = assess(say.healthy(), 3)
    before = status(good, good)
    after = status(assess([say.unresponsive(n) for n in range(3)], 3), good, previous=before)
    assert after["northbound"]["clusterId"] == say.cluster
    assert after["northbound"]["leader"] == ""


def test_time_moves_only_with_the_status(say: Say) -> None:
    good = assess(say.healthy(), 3)
    before = status(good, good, now=THEN)
    assert status(good, good, previous=before) == before
    degraded = status(assess([say.member(0, True), say.member(1), say.unresponsive(2)], 3), good, previous=before)
    assert {c["lastTransitionTime"] for c in degraded["conditions"]} == {THEN}
    lost = status(assess([say.unresponsive(n) for n in range(3)], 3), good, previous=before)
    moved = {c["type"] for c in lost["conditions"] if c["lastTransitionTime"] == NOW}
    assert moved == {"Ready", "NorthboundReady"}


def test_a_number_that_grows_is_no_news(say: Say) -> None:
    good = assess(say.healthy(), 3)

    def behind(entries: int) -> Verdict:
        message = f"ovn-northbound-1 is {entries} log entries behind the leader."
        return good._replace(verdict="degraded", reasons=(Reason("lagging", "ovn-northbound-1", message),))

    before = status(behind(70), good)
    assert "70 log entries" in words(before, "NorthboundReady")
    assert status(behind(90), good, previous=before) == before


def test_warnings_are_not_reported(say: Say) -> None:
    verdict = assess(say.healthy(), 3)
    assert [reason.code for reason in verdict.reasons] == ["partial_view"]
    found = status(verdict, verdict)
    assert words(found, "NorthboundReady") == "3 of 3 members take part, ovn-northbound-0 leads."


@pytest.mark.parametrize(
    ("chassis", "expected"),
    [
        pytest.param(ChassisCount(2, ()), ("True", "AllAnswer"), id="all answer"),
        pytest.param(ChassisCount(2, ("c1",)), ("False", "ChassisUnresponsive"), id="one does not answer"),
        pytest.param(ChassisCount(0, ()), ("False", "NoChassis"), id="there are none"),
        pytest.param(ChassisCount(2, None), ("Unknown", "HeartbeatsDisabled"), id="they are told not to answer"),
        pytest.param(None, ("Unknown", "NotObserved"), id="nobody has looked"),
    ],
)
def test_chassis(say: Say, chassis: ChassisCount | None, expected: tuple[str, str]) -> None:
    good = assess(say.healthy(), 3)
    found = status(good, good, chassis=chassis)
    assert conditions(found)["ControllersReady"] == expected
    assert conditions(found)["Ready"][0] == "True"
    assert found.get("chassisCount") == (chassis.registered if chassis else None)
    known = chassis is not None and chassis.late is not None
    assert (found.get("activeControllers") is not None) == known


def test_claims_of_chassis(say: Say) -> None:
    good = assess(say.healthy(), 3)
    assert "ClaimsConsistent" not in conditions(status(good, good))
    assert conditions(status(good, good, claims=[]))["ClaimsConsistent"] == ("True", "NoConflicts")
    found = status(good, good, claims=[f"{number}." for number in range(7)])
    assert conditions(found)["ClaimsConsistent"] == ("False", "ConflictingClaims")
    assert words(found, "ClaimsConsistent") == "0. 1. 2. 3. 4. And 2 more."
    assert conditions(found)["Ready"][0] == "True"
    assert status(good, good, previous=found) == found


def test_late_chassis_are_named(say: Say) -> None:
    good = assess(say.healthy(), 3)
    few = status(good, good, chassis=ChassisCount(9, ("c2", "c1")))
    assert few["activeControllers"] == 7
    assert words(few, "ControllersReady") == "7 of 9 chassis answer. No answer: c1, c2."
    many = status(good, good, chassis=ChassisCount(900, tuple(f"c{number}" for number in range(7))))
    assert words(many, "ControllersReady").endswith("No answer: c0, c1, c2, c3, c4 and 2 more.")


def test_known_chassis_stay_when_the_caller_does_not_know(say: Say) -> None:
    good, lost = assess(say.healthy(), 3), assess([say.unresponsive(n) for n in range(3)], 3)
    before = status(good, good, chassis=ChassisCount(2, ()), now=THEN)
    assert status(good, good, previous=before) == before
    after = status(good, lost, previous=before)
    assert (after["chassisCount"], conditions(after)["ControllersReady"][0]) == (2, "Unknown")


def test_northd(say: Say) -> None:
    good = assess(say.healthy(), 3)
    unseen = status(good, good, northd=None)
    assert conditions(unseen)["NorthdReady"] == ("Unknown", "NotObserved")
    assert conditions(unseen)["Ready"] == ("Unknown", "NorthdNotReady")
    stopped = status(assess([say.unresponsive(n) for n in range(3)], 3), good, northd=None)
    assert conditions(stopped)["Ready"] == ("False", "NorthboundNotReady")
    active = status(good, good, northd=["northd-a"], now=THEN)
    assert conditions(active)["NorthdReady"] == ("True", "Active")
    assert status(good, good, previous=active, northd=None) == active
    nobody = status(good, good, previous=active, northd=[])
    assert conditions(nobody)["Ready"] == ("False", "NorthdNotReady")


OUTDATED = PendingItem("restart", "A restart is due on ovn-northbound-0: its pod template has changed.")


@pytest.mark.parametrize(
    ("before", "declared", "left", "observed", "expected"),
    [
        (None, 3, [], 3, ("True", "RolledOut")),
        (2, 3, [], 3, ("True", "RolledOut")),
        (2, 3, [OUTDATED], 2, ("False", "RestartsDue")),
        (None, 3, [OUTDATED], None, ("False", "RestartsDue")),
        (3, 3, [OUTDATED], 3, ("False", "RestartsDue")),
        (2, 3, [PendingItem("missing", "Pod ovn-northbound-2 does not run.")], 2, ("False", "PodsMissing")),
        (2, 3, [PendingItem("missing", "Pod restarts-northbound-2 does not run.")], 2, ("False", "PodsMissing")),
        (2, 3, None, 2, ("Unknown", "NotObserved")),
        (3, 4, [], 3, ("False", "NotRolledOut")),
        (2, 4, [OUTDATED], 2, ("False", "NotRolledOut")),
    ],
    ids=[
        "first roll-out",
        "all pods are new",
        "a member waits for its restart",
        "the first roll-out lacks one",
        "the same specification, but another launcher",
        "a pod is missing",
        "a pod of a cluster with a telling name is missing",
        "nobody has looked",
        "the specification was changed since",
        "and the one before it was not finished",
    ],
)
def test_a_generation_is_observed_when_all_pods_have_it(
    say: Say,
    before: int | None,
    declared: int,
    left: list[PendingItem] | None,
    observed: int | None,
    expected: tuple[str, str],
) -> None:
    good = assess(say.healthy(), 3)
    previous = {} if before is None else {"observedGeneration": before}
    found = status(good, good, previous=previous, declared=declared, left=left)
    assert found.get("observedGeneration") == observed
    assert conditions(found)["UpToDate"] == expected
    assert conditions(found)["Ready"][0] == "True"  # old pods serve as well
    if left and expected[1] != "NotRolledOut":
        assert words(found, "UpToDate") == " ".join(one.message for one in left)
    # What the observer goes on from: the generation whose objects are there.
    assert rolled_out(found) == 3
    assert status(good, good, previous=found, declared=declared, left=left) == found


def test_who_finishes_what_a_run_has_begun_says_so(say: Say) -> None:
    good = assess(say.healthy(), 3)
    begun = status(good, good, left=[OUTDATED], now=THEN)
    assert status(good, good, previous=begun, left=None) == begun
    finished = status(good, good, previous=begun, left=[])
    assert (finished["observedGeneration"], conditions(finished)["UpToDate"]) == (3, ("True", "RolledOut"))


def test_nobody_has_ever_run(say: Say) -> None:
    assert rolled_out({}) == 0
    assert rolled_out({"observedGeneration": 5}) == 5


SAME = {"northbound": Schemas("7.0.0", "7.0.0"), "southbound": Schemas("20.27.0", "20.27.0")}


def test_schema(say: Say) -> None:
    good = assess(say.healthy(), 3)
    assert "SchemaCurrent" not in conditions(status(good, good))
    same = status(good, good, schemas=SAME)
    assert conditions(same)["SchemaCurrent"] == ("True", "AsImage")
    assert words(same, "SchemaCurrent") == "Northbound 7.0.0, Southbound 20.27.0."
    old = status(good, good, schemas={**SAME, "southbound": Schemas("20.9.0", "20.27.0")})
    assert conditions(old)["SchemaCurrent"] == ("False", "OtherThanImage")
    assert "Southbound database has schema 20.9.0, its image brings 20.27.0" in words(old, "SchemaCurrent")
    assert conditions(old)["Ready"][0] == "True"
    # A database that cannot be asked says nothing new.
    for unknown in (None, {**SAME, "southbound": Schemas(None, "20.27.0")}):
        assert status(good, good, previous=old, schemas=unknown) == old


def test_an_unresponsive_pod_is_listed_once() -> None:
    """From a control socket: the leader's list has addresses, those who were asked have names."""
    listed = {"member": "ssl:ovn-southbound-1.ovn-southbound.ns.svc.cluster.local:6644", "reachable": False}
    asked = {"member": "ovn-southbound-1", "reachable": False}
    other = {"member": "ovn-southbound-0", "reachable": True}
    verdict = Verdict("no_quorum", False, (), members=(listed, other, asked))
    assert list(members_of(verdict)) == ["ovn-southbound-0", "ovn-southbound-1"]


def test_members_are_in_the_order_of_their_ordinals() -> None:
    members = tuple({"member": f"ovn-southbound-{n}", "reachable": True} for n in (10, 9, 1))
    assert list(members_of(Verdict("healthy", True, (), members=members))) == [
        f"ovn-southbound-{n}" for n in (1, 9, 10)
    ]


@pytest.mark.parametrize(
    ("place", "name"),
    [
        ("ssl:ovn-northbound-0.ovn-northbound.ns.svc.cluster.local:6641", "ovn-northbound-0"),
        ("ovn-northbound-0", "ovn-northbound-0"),
        ("tcp:192.0.2.1:6641", "192.0.2.1"),
        ("ssl:[2001:db8::1]:6641", "2001:db8::1"),
        ("", ""),
    ],
)
def test_pod_of(place: str, name: str) -> None:
    assert pod_of(place) == name


def test_answers_of_pods_are_never_merged(say: Say) -> None:
    assert len(merge([say.member(0), say.unresponsive(1), say.unresponsive(2)])) == 3


OUTSIDE = "ssl:192.0.2.1:31641,ssl:192.0.2.2:30642,ssl:192.0.2.3:32101"
INSIDE = ",".join(f"ssl:ovn-northbound-{n}.ovn-northbound.x.svc.cluster.local:6641" for n in range(3))


@pytest.mark.parametrize(
    ("endpoints", "told"),
    [
        (OUTSIDE, "Clients get no answer at ssl:192.0.2.3:32101."),
        (OUTSIDE.rpartition(",")[0], ""),
        (INSIDE, ""),
        ("", ""),
    ],
    ids=["of a node", "not all members have one", "inside, where the member is named anyway", "not told yet"],
)
def test_the_address_of_a_dead_member_is_named(say: Say, endpoints: str, told: str) -> None:
    dead = assess([say.member(0, leader=True), say.member(1), say.unresponsive(2)], 3)
    message = words(status(dead, dead, endpoints={**ENDPOINTS, "northbound": endpoints}), "NorthboundReady")
    assert ("Clients get no answer" in message) is bool(told)
    assert told in message
    whole = assess(say.healthy(), 3)
    assert "no answer" not in words(
        status(whole, whole, endpoints={**ENDPOINTS, "northbound": endpoints}), "NorthboundReady"
    )


BEFORE = {"type": "RelaysReady", "status": "True", "reason": "AllServe", "message": "3 of 3 relays serve chassis."}


@pytest.mark.parametrize(
    ("problems", "status", "reason"),
    [
        pytest.param({"ssl:a:6642": "", "ssl:b:6642": ""}, "True", "AllServe", id="all serve"),
        pytest.param({"ssl:a:6642": "", "ssl:b:6642": "no answer"}, "False", "NotServing", id="one does not"),
    ],
)
def test_it_counts_them(problems: dict[str, str], status: str, reason: str) -> None:
    found = relays_condition(problems, None)
    assert found is not None
    assert found[:3] == ("RelaysReady", status, reason)
    assert ("1 of 2 relays" in found.message) is (status == "False")
    assert ("ssl:b:6642 does not: no answer." in found.message) is (status == "False")


def test_who_has_not_asked_keeps_what_was_found() -> None:
    assert relays_condition(None, BEFORE) == StatusCondition(*BEFORE.values())
    assert relays_condition(None, None) is None


def test_without_relays_there_is_none() -> None:
    assert relays_condition({}, BEFORE) is None

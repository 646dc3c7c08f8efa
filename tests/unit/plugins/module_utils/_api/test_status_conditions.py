"""The operator's part of a status."""

from __future__ import annotations

from ansible_collections.c5c3.ovn.plugins.module_utils._api.status_conditions import TargetOutcome, operator_status

GOOD = TargetOutcome(True, "AsDeclared", "As declared.")
AWAY = TargetOutcome(False, "Unreachable", "It is away.")


def condition(control_plane: TargetOutcome, clusters: dict[str, TargetOutcome]) -> tuple[str, str, str]:
    status = operator_status({}, control_plane, clusters, generation=3, now="now")
    (one,) = status["conditions"]
    assert one["observedGeneration"] == 3
    return one["status"], one["reason"], one["message"]


def test_all_is_as_declared() -> None:
    assert condition(GOOD, {}) == ("True", "AsDeclared", "The control plane is as declared.")
    assert condition(GOOD, {"a": GOOD, "b": GOOD})[2].endswith("so are the hypervisors of 2 of 2 clusters.")


def test_the_control_plane_counts_before_all() -> None:
    broken = TargetOutcome(False, "Refused", "Fewer members.")
    assert condition(broken, {"a": AWAY}) == ("False", "Refused", "Fewer members.")


def test_the_first_cluster_is_told_and_the_others_are_named() -> None:
    assert condition(GOOD, {"b": AWAY, "a": GOOD, "c": AWAY}) == (
        "False",
        "Unreachable",
        "Hypervisor cluster b: It is away. Not ready, too: c.",
    )


def test_the_time_of_a_condition_is_when_its_status_changed() -> None:
    first = operator_status({}, GOOD, {"a": AWAY}, generation=1, now="1")
    same = operator_status(first, TargetOutcome(False, "Refused", "Else."), {"a": AWAY}, generation=2, now="2")
    assert same["conditions"][0]["lastTransitionTime"] == "1"
    assert operator_status(same, GOOD, {"a": GOOD}, generation=2, now="3")["conditions"][0]["lastTransitionTime"] == "3"


def test_what_others_wrote_stays() -> None:
    others = {"conditions": [{"type": "Ready", "status": "True"}], "endpoints": {"northbound": "ssl:a:1"}}
    status = operator_status(others, GOOD, {}, generation=1, now="now")
    assert status["conditions"][0] == others["conditions"][0]
    assert status["endpoints"] == others["endpoints"]
    assert "hypervisorClusters" not in status


def test_the_clusters_are_in_one_order_and_those_that_are_gone_leave() -> None:
    """So that two runs that end in another order write the same."""
    status = operator_status({}, GOOD, {"b": GOOD, "a": AWAY}, generation=1, now="now")
    assert status == operator_status(status, GOOD, {"a": AWAY, "b": GOOD}, generation=1, now="later")
    assert status["hypervisorClusters"] == [
        {"name": "a", "ready": False, "reason": "Unreachable", "message": "It is away."},
        {"name": "b", "ready": True, "reason": "AsDeclared", "message": "As declared."},
    ]
    assert "hypervisorClusters" not in operator_status(status, GOOD, {}, generation=2, now="now")

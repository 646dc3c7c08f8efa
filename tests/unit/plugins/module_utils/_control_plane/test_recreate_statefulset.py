"""A StatefulSet is recreated only if it is as the run knows it, and if the API server would accept the next one."""

from __future__ import annotations

import typing as t

import pytest
from fake_cluster import FakeCluster

from ansible_collections.c5c3.ovn.plugins.module_utils._api.spec import parse_spec
from ansible_collections.c5c3.ovn.plugins.module_utils._base.errors import (
    InvalidInput,
    OvnError,
    Refused,
    TimedOut,
    Unreachable,
)
from ansible_collections.c5c3.ovn.plugins.module_utils._control_plane import recreate_statefulset
from ansible_collections.c5c3.ovn.plugins.module_utils._control_plane.recreate_statefulset import (
    await_gone,
    delete_statefulset_orphan,
    dry_run_create,
    outdated_claim_template,
    predict_statefulset,
)

Object = dict[str, t.Any]
SET = ("StatefulSet", "ovn-northbound")


def stateful_set(size: str = "1Gi", image: str = "ovn:1", replicas: int = 3, **metadata: str) -> Object:
    claim = {"spec": {"resources": {"requests": {"storage": size}}}}
    return {
        "apiVersion": "apps/v1",
        "kind": "StatefulSet",
        "metadata": {"name": "ovn-northbound", "namespace": "x", "uid": "u", "resourceVersion": "1", **metadata},
        "spec": {"replicas": replicas, "template": {"image": image}, "volumeClaimTemplates": [claim]},
    }


def declared(**changes: t.Any) -> Object:
    """As a run declares it: it has neither uid nor version."""
    there = stateful_set(**changes)
    return {**there, "metadata": {"name": "ovn-northbound", "namespace": "x"}}


def test_statefulset_without_claim_templates_is_refused() -> None:
    """The field is optional: a StatefulSet of another client may lack it."""
    there = stateful_set()
    del there["spec"]["volumeClaimTemplates"]
    with pytest.raises(Refused, match="StatefulSet ovn-northbound in namespace x has no volumeClaimTemplates"):
        outdated_claim_template(there, parse_spec({}, name="ovn", namespace="x").northbound.storage)


def cluster_with(there: Object | None) -> FakeCluster:
    return FakeCluster(*([there] if there else []))


@pytest.mark.parametrize(
    ("there", "conflicts", "message"),
    [
        (stateful_set(), 0, ""),
        (stateful_set(), 2, ""),
        (stateful_set(), 99, "other clients keep changing it"),
        (stateful_set(replicas=5), 0, "another client scaled it from 3 to 5 meanwhile"),
        (stateful_set(uid="another"), 0, "another client deleted it meanwhile"),
        (stateful_set(deletionTimestamp="2026-01-01T00:00:00Z"), 0, "another client deleted it meanwhile"),
        (None, 0, "another client deleted it meanwhile"),
    ],
    ids=["as known", "its status moves", "always another version", "scaled", "another one", "on its way out", "gone"],
)
def test_only_what_is_as_known_is_taken_away(
    there: Object | None, conflicts: int, message: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(recreate_statefulset, "_PAUSE", 0)
    cluster = cluster_with(there)
    for number in range(conflicts):  # its controller has written the status
        status = {"status": {"replicas": number}}
        cluster.before("delete", lambda status=status: cluster.put({**cluster.stored(*SET), **status}))
    assert delete_statefulset_orphan(cluster, stateful_set(), 3) == message
    desired = {"uid": "u", "resourceVersion": str(1 + conflicts)}
    assert [call.body["preconditions"] for call in cluster.deleted] == ([] if message else [desired])
    assert {call.body["propagationPolicy"] for call in cluster.written} <= {"Orphan"}


@pytest.mark.parametrize(
    ("error", "message"),
    [
        (None, ""),
        (InvalidInput("spec.template is wrong."), "the one that replaces it: spec.template is wrong"),
        (
            Refused("exceeded quota: two.", http_status=403),
            "exceeded quota: two; a quota may refuse the dry run only",
        ),
    ],
    ids=["accepted", "wrong", "no room for one more"],
)
def test_what_the_api_server_would_not_accept_deletes_nothing(error: OvnError | None, message: str) -> None:
    cluster = FakeCluster(stateful_set())
    if error:
        cluster.before("apply", error)
    why = dry_run_create(cluster, declared(size="2Gi"))
    assert message in why
    assert bool(why) is bool(error)
    assert [(call.verb, call.name, call.dry_run) for call in cluster.written] == [
        ("apply", "ovn-northbound-dry-run", True)
    ]
    assert cluster.deleted == []


def test_an_api_server_that_is_away_is_no_reason_to_go_on() -> None:
    cluster = FakeCluster(stateful_set())
    cluster.before("apply", Unreachable("away"))
    with pytest.raises(Unreachable):
        dry_run_create(cluster, declared(size="2Gi"))


@pytest.mark.parametrize(
    ("finalizers", "message"),
    [
        (["orphan"], "Its pods go on without it"),
        (["foregroundDeletion"], "together with its pods (--cascade=foreground)"),
        (["example.com/backup"], "It waits for example.com/backup"),
        ([], "It waits for its end"),
    ],
)
def test_why_a_deleted_one_is_still_there(finalizers: list[str], message: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(recreate_statefulset, "_GONE_SECONDS", 0)
    there = stateful_set()
    there["metadata"]["finalizers"] = finalizers
    with pytest.raises(TimedOut) as late:
        await_gone(FakeCluster(there), there)
    assert message in str(late.value)
    assert ("go on" in str(late.value)) is (finalizers == ["orphan"])


def test_the_rest_of_a_change_stays_in_the_diff() -> None:
    after = predict_statefulset(stateful_set(image="ovn:2"), stateful_set("2Gi", image="ovn:2"))
    assert after["spec"] == stateful_set("2Gi", image="ovn:2")["spec"]

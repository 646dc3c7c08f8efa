"""Claims grow; they never shrink or move."""

from __future__ import annotations

import types
import typing as t

import pytest

from ansible_collections.c5c3.ovn.plugins.module_utils._api.database_spec import Storage
from ansible_collections.c5c3.ovn.plugins.module_utils._api.spec import parse_spec
from ansible_collections.c5c3.ovn.plugins.module_utils._base.errors import Refused
from ansible_collections.c5c3.ovn.plugins.module_utils._control_plane.observed_state import ObservedCluster
from ansible_collections.c5c3.ovn.plugins.module_utils._control_plane.recreate_statefulset import (
    kept_message,
    outdated_claim_template,
    recreation_message,
)
from ansible_collections.c5c3.ovn.plugins.module_utils._control_plane.storage import (
    check_claims,
    claim_change,
    is_bound,
    is_empty,
)

MANAGED = {"app.kubernetes.io/managed-by": "c5c3.ovn"}


def claim(size: str, storage_class: str | None = "fast") -> dict[str, t.Any]:
    spec: dict[str, t.Any] = {"resources": {"requests": {"storage": size}}}
    if storage_class:
        spec["storageClassName"] = storage_class
    metadata = {"name": "data-ovn-northbound-0", "labels": MANAGED}
    return {"metadata": metadata, "spec": spec, "status": {"phase": "Bound"}}


@pytest.mark.parametrize(
    ("there", "size", "storage_class", "patch"),
    [
        ("10Gi", "10Gi", None, None),
        ("1024Mi", "1Gi", "fast", None),
        ("10Gi", "20Gi", "fast", {"spec": {"resources": {"requests": {"storage": "20Gi"}}}}),
    ],
    ids=["as declared", "the same in another unit", "grows"],
)
def test_claim_change(there: str, size: str, storage_class: str | None, patch: dict[str, t.Any] | None) -> None:
    assert claim_change(claim(there), size, storage_class) == patch


@pytest.mark.parametrize(
    ("size", "storage_class", "message"),
    [("5Gi", None, "A volume does not shrink"), ("10Gi", "slow", "Data does not move to another class: declare fast")],
    ids=["smaller", "another class"],
)
def test_what_would_need_another_volume_is_refused(size: str, storage_class: str | None, message: str) -> None:
    with pytest.raises(Refused, match=message) as late:
        claim_change(claim("10Gi"), size, storage_class)
    assert "Nothing was changed" not in str(late.value)  # it may be told at the end of a run, too

    there = {**claim("10Gi"), "apiVersion": "v1", "kind": "PersistentVolumeClaim"}
    live = ObservedCluster("ovn", "x", {}, None, {("v1", "PersistentVolumeClaim", "x", "data-ovn-northbound-0"): there})
    storage = {"size": size, **({"storageClass": storage_class} if storage_class else {})}
    spec = parse_spec({"northbound": {"storage": storage}}, name="ovn", namespace="x")
    desired = types.SimpleNamespace(name="ovn", spec=spec)
    with pytest.raises(Refused, match=rf"{message}.* Nothing was changed\.$"):
        check_claims(t.cast(t.Any, None), t.cast(t.Any, desired), live)


@pytest.mark.parametrize(("status", "bound"), [({}, False), ({"phase": "Pending"}, False), ({"phase": "Bound"}, True)])
def test_a_claim_has_a_volume_when_it_is_bound(status: dict[str, t.Any], bound: bool) -> None:
    assert is_bound({**claim("1Gi"), "status": status}) is bound


PENDING = {"status": {"phase": "Pending"}}


@pytest.mark.parametrize(
    ("changes", "empty"),
    [
        (PENDING, True),
        ({"status": {}}, True),
        ({}, False),
        ({**PENDING, "spec": {**claim("1Gi")["spec"], "volumeName": "pv"}}, False),
        ({**PENDING, "spec": {**claim("1Gi")["spec"], "dataSource": {"kind": "VolumeSnapshot"}}}, False),
        ({**PENDING, "spec": {**claim("1Gi")["spec"], "selector": {"matchLabels": {"restored": "0"}}}}, False),
        ({**PENDING, "metadata": {"name": "data-ovn-northbound-0"}}, False),
    ],
    ids=[
        "pending",
        "just made",
        "bound",
        "a volume is chosen",
        "filled from a snapshot",
        "waits for a restored volume",
        "made by hand",
    ],
)
def test_only_a_claim_of_ours_without_a_volume_is_empty(changes: dict[str, t.Any], empty: bool) -> None:
    there = {**claim("1Gi"), **changes}
    assert is_empty(there) is empty
    if empty:
        assert claim_change(there, "1Gi", "slow") is None
        return
    with pytest.raises(Refused, match=r"has storage class fast, the specification says slow\."):
        claim_change(there, "1Gi", "slow")


def test_a_claim_of_no_class_waits_for_a_volume_that_somebody_makes() -> None:
    there = {**claim("1Gi"), **PENDING}
    there["spec"]["storageClassName"] = ""
    assert not is_empty(there)
    with pytest.raises(Refused, match="leave storageClass out, or delete it and its pod"):
        claim_change(there, "1Gi", "slow")


def stateful_set(size: str, storage_class: str | None = None) -> dict[str, t.Any]:
    spec: dict[str, t.Any] = {"resources": {"requests": {"storage": size}}}
    if storage_class:
        spec["storageClassName"] = storage_class
    return {"spec": {"volumeClaimTemplates": [{"spec": spec}]}}


@pytest.mark.parametrize(
    ("there", "storage", "differs"),
    [
        (None, Storage("1Gi", None), {}),
        (stateful_set("1Gi"), Storage("1024Mi", None), {}),
        (stateful_set("1Gi"), Storage("2Gi", None), {"size": "2Gi"}),
        (stateful_set("1Gi", "a"), Storage("1Gi", "a"), {}),
        (stateful_set("1Gi", "a"), Storage("1Gi", "b"), {"storage class": "storage class b"}),
        (stateful_set("1Gi"), Storage("1Gi", "b"), {"storage class": "storage class b"}),
        (stateful_set("1Gi", "a"), Storage("1Gi", None), {"storage class": "the cluster's default storage class"}),
    ],
)
def test_a_template_for_other_storage_is_stale(
    there: dict[str, t.Any] | None, storage: Storage, differs: dict[str, str]
) -> None:
    assert outdated_claim_template(there, storage) == differs


def test_what_differs_is_told() -> None:
    differs = outdated_claim_template(stateful_set("1Gi", "a"), Storage("2Gi", "b"))
    assert (
        recreation_message("x", differs) == "recreate the StatefulSet x, so that new claims get 2Gi and storage class b"
    )
    kept = "StatefulSet x still creates claims of the old size and storage class: why. Run again."
    assert kept_message("x", differs, "why") == kept

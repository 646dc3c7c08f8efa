"""Claims grow; they never shrink or move."""

from __future__ import annotations

import types
import typing as t

import pytest

from ansible_collections.c5c3.ovn.plugins.module_utils._errors import Refused
from ansible_collections.c5c3.ovn.plugins.module_utils._rollout.live import Live
from ansible_collections.c5c3.ovn.plugins.module_utils._rollout.storage import check_claims, claim_change, is_bound
from ansible_collections.c5c3.ovn.plugins.module_utils._rollout.template import is_stale
from ansible_collections.c5c3.ovn.plugins.module_utils._spec import parse_spec


def claim(size: str, storage_class: str | None = "fast") -> dict[str, t.Any]:
    spec: dict[str, t.Any] = {"resources": {"requests": {"storage": size}}}
    if storage_class:
        spec["storageClassName"] = storage_class
    return {"metadata": {"name": "data-ovn-northbound-0"}, "spec": spec}


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
    ("size", "storage_class", "words"),
    [("5Gi", None, "A volume does not shrink"), ("10Gi", "slow", "Data does not move by itself")],
    ids=["smaller", "another class"],
)
def test_what_would_need_another_volume_is_refused(size: str, storage_class: str | None, words: str) -> None:
    with pytest.raises(Refused, match=words) as late:
        claim_change(claim("10Gi"), size, storage_class)
    assert "Nothing was changed" not in str(late.value)  # it may be told at the end of a run, too

    there = {**claim("10Gi"), "apiVersion": "v1", "kind": "PersistentVolumeClaim"}
    live = Live("ovn", "x", {}, None, {("v1", "PersistentVolumeClaim", "x", "data-ovn-northbound-0"): there})
    storage = {"size": size, **({"storageClass": storage_class} if storage_class else {})}
    spec = parse_spec({"northbound": {"storage": storage}}, name="ovn", namespace="x")
    wanted = types.SimpleNamespace(name="ovn", spec=spec)
    with pytest.raises(Refused, match=rf"{words}.* Nothing was changed\.$"):
        check_claims(t.cast(t.Any, None), t.cast(t.Any, wanted), live)


@pytest.mark.parametrize(("status", "bound"), [({}, False), ({"phase": "Pending"}, False), ({"phase": "Bound"}, True)])
def test_a_claim_has_a_volume_when_it_is_bound(status: dict[str, t.Any], bound: bool) -> None:
    assert is_bound({**claim("1Gi"), "status": status}) is bound


def stateful_set(size: str) -> dict[str, t.Any]:
    return {"spec": {"volumeClaimTemplates": [{"spec": {"resources": {"requests": {"storage": size}}}}]}}


@pytest.mark.parametrize(
    ("there", "size", "stale"),
    [(None, "1Gi", False), (stateful_set("1Gi"), "1024Mi", False), (stateful_set("1Gi"), "2Gi", True)],
)
def test_a_template_of_another_size_is_stale(there: dict[str, t.Any] | None, size: str, stale: bool) -> None:
    assert is_stale(there, size) is stale

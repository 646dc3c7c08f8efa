from __future__ import annotations

import typing as t

import pytest

from ansible_collections.c5c3.ovn.plugins.module_utils._api.spec import parse_spec
from ansible_collections.c5c3.ovn.plugins.module_utils._precheck.observed_cluster import ObservedKubernetes
from ansible_collections.c5c3.ovn.plugins.module_utils._precheck.storage import judge_storage

Object = dict[str, t.Any]


def storage_class(name: str, default: bool = False) -> Object:
    marks = {"storageclass.kubernetes.io/is-default-class": "true"} if default else {}
    return {"metadata": {"name": name, "annotations": marks}}


def volume(storage_class: str, phase: str = "Available") -> Object:
    return {"spec": {"storageClassName": storage_class}, "status": {"phase": phase}}


def claims(*databases: str) -> list[Object]:
    return [{"metadata": {"name": f"data-ovn-{database}-0"}} for database in databases]


BOTH = claims("northbound", "southbound")


@pytest.mark.parametrize(
    ("declared", "classes", "volumes", "there", "codes"),
    [
        pytest.param("fast", [storage_class("fast")], [], [], [], id="declared and there"),
        pytest.param("fast", [storage_class("slow")], [], [], ["storage_class_missing"], id="declared and missing"),
        pytest.param("fast", [], [volume("fast"), volume("fast")], [], [], id="volumes made by hand need no class"),
        pytest.param("fast", [], [volume("fast")], [], ["storage_class_missing"], id="too few volumes made by hand"),
        pytest.param(
            "fast", [], [volume("fast", "Bound")] * 2, [], ["storage_class_missing"], id="volumes that are taken"
        ),
        pytest.param(None, [storage_class("fast", default=True)], [], [], [], id="a default"),
        pytest.param(None, [storage_class("fast")], [], [], ["storage_class_default_missing"], id="no default"),
        pytest.param(None, [], [volume(""), volume("")], [], [], id="volumes without a class"),
        pytest.param("fast", [], [], BOTH, [], id="all claims exist"),
        pytest.param("fast", [], [], claims("northbound"), ["storage_class_missing"], id="one claim exists"),
        pytest.param("fast", None, [], [], [], id="classes cannot be read"),
        pytest.param("fast", [], None, [], [], id="volumes cannot be read"),
    ],
)
def test_judge_storage(
    declared: str | None,
    classes: list[Object] | None,
    volumes: list[Object] | None,
    there: list[Object],
    codes: list[str],
) -> None:
    storage = {"storageClass": declared} if declared else {}
    raw = {database: {"replicas": 1, "storage": storage} for database in ("northbound", "southbound")}
    observed = ObservedKubernetes(storage_classes=classes, volumes=volumes, claims=there)
    found = judge_storage(parse_spec(raw, name="ovn", namespace="net"), observed)
    assert [one.code for one in found] == codes


def test_the_claims_that_would_wait_and_the_classes_that_exist_are_named() -> None:
    raw = {"northbound": {"replicas": 1, "storage": {"storageClass": "fats"}}, "southbound": {"replicas": 1}}
    observed = ObservedKubernetes(storage_classes=[storage_class("fast", default=True)], volumes=[])
    (found,) = judge_storage(parse_spec(raw, name="ovn", namespace="net"), observed)
    assert found.object == "StorageClass fats"
    assert found.cause == (
        "It does not exist: data-ovn-northbound-0 would wait for a volume forever. The classes of this cluster are fast."
    )

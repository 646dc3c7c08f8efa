"""Whether a live object already is what we would apply."""

from __future__ import annotations

import copy
import decimal
from typing import Any

import pytest

from ansible_collections.c5c3.ovn.plugins.module_utils._kubernetes.compare import (
    APPLIED,
    applied_hash,
    canonical_quantity,
    contains,
    format_manifest,
    is_applied,
    parse_quantity,
    quantity_of,
    was_created,
    with_hash,
)

DESIRED: dict[str, Any] = {
    "apiVersion": "apps/v1",
    "kind": "StatefulSet",
    "metadata": {"name": "a", "namespace": "n", "labels": {"l": "1"}},
    "spec": {
        "replicas": 3,
        "template": {
            "spec": {
                "containers": [
                    {
                        "name": "database",
                        "args": ["a", "b"],
                        "env": [{"name": "X", "value": "1"}, {"name": "EMPTY", "value": ""}],
                        "ports": [{"containerPort": 6641}],
                        "resources": {"requests": {"memory": "1Gi", "cpu": "0.5"}},
                        "securityContext": {"privileged": False, "capabilities": {"drop": ["ALL"]}},
                        "volumeMounts": [{"name": "data", "mountPath": "/data"}],
                    }
                ],
                "volumes": [{"name": "run", "emptyDir": {}}],
            }
        },
    },
}


def live() -> dict[str, Any]:
    """As the API server gives it back: with defaults, without empty values, quantities in its own words."""
    answer = copy.deepcopy(with_hash(DESIRED))
    answer["status"] = {"readyReplicas": 3}
    answer["metadata"].update(uid="u", resourceVersion="7", generation=1)
    spec = answer["spec"]["template"]["spec"]
    spec["restartPolicy"] = "Always"
    container = spec["containers"][0]
    container["terminationMessagePath"] = "/dev/termination-log"
    container["env"][1].pop("value")
    container["ports"][0]["protocol"] = "TCP"
    container["resources"]["requests"] = {"memory": "1024Mi", "cpu": "500m"}
    container["securityContext"].pop("privileged")
    return answer


def container(answer: dict[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = answer["spec"]["template"]["spec"]["containers"][0]
    return found


def test_defaults_of_the_server_are_no_difference() -> None:
    assert is_applied(DESIRED, live())


@pytest.mark.parametrize(
    "drift",
    [
        pytest.param(lambda o: o["spec"].update(replicas=1), id="a number"),
        pytest.param(lambda o: o["spec"].pop("replicas"), id="a field is gone"),
        pytest.param(lambda o: o["metadata"]["labels"].pop("l"), id="a label is gone"),
        pytest.param(lambda o: o["metadata"]["annotations"].pop(APPLIED), id="not applied by us"),
        pytest.param(lambda o: container(o)["args"].append("c"), id="one argument more"),
        pytest.param(lambda o: container(o)["args"].reverse(), id="another order of arguments"),
        pytest.param(lambda o: container(o)["env"].pop(0), id="a variable is gone"),
        pytest.param(lambda o: container(o)["env"][1].update(value="x"), id="an empty value is filled"),
        pytest.param(lambda o: container(o)["ports"][0].update(containerPort=1), id="another port"),
        pytest.param(lambda o: container(o)["resources"]["requests"].update(memory="2Gi"), id="another quantity"),
        pytest.param(lambda o: container(o)["resources"].pop("requests"), id="no quantities at all"),
        pytest.param(lambda o: container(o)["securityContext"].update(privileged=True), id="a false value became true"),
        pytest.param(lambda o: o["spec"]["template"]["spec"]["volumes"].clear(), id="no volumes"),
        pytest.param(lambda o: o["spec"]["template"]["spec"].update(containers=None), id="another type"),
    ],
)
def test_drift_is_seen(drift: Any) -> None:
    answer = live()
    drift(answer)
    assert not is_applied(DESIRED, answer)


@pytest.mark.parametrize(
    "addition",
    [
        pytest.param(lambda o: o["metadata"]["labels"].update(other="x"), id="a label"),
        pytest.param(lambda o: container(o)["env"].insert(0, {"name": "Y", "value": "2"}), id="a variable"),
        pytest.param(
            lambda o: o["spec"]["template"]["spec"]["containers"].insert(0, {"name": "sidecar"}), id="a container"
        ),
    ],
)
def test_fields_of_other_managers_are_no_difference(addition: Any) -> None:
    answer = live()
    addition(answer)
    assert is_applied(DESIRED, answer)


def test_a_field_that_we_no_longer_set_is_a_difference() -> None:
    fewer = copy.deepcopy(DESIRED)
    fewer["spec"]["template"]["spec"]["containers"][0].pop("env")
    assert contains(live(), fewer)
    assert not is_applied(fewer, live())


def test_an_opened_port_of_a_network_policy_is_drift() -> None:
    policy = {"kind": "NetworkPolicy", "spec": {"ingress": [{"ports": [{"port": 6641, "protocol": "TCP"}]}]}}
    opened = copy.deepcopy(policy)
    opened["spec"]["ingress"][0]["ports"].append({"port": 22, "protocol": "TCP"})
    assert contains(policy, policy)
    assert not contains(opened, policy)


def test_text_that_looks_like_a_quantity_is_text() -> None:
    assert not contains({"kind": "ConfigMap", "data": {"x": "1000m"}}, {"kind": "ConfigMap", "data": {"x": "1"}})


def test_the_same_port_of_two_protocols() -> None:
    service = {"kind": "Service", "spec": {"ports": [{"port": 53, "protocol": "UDP"}, {"port": 53}]}}
    answer = {"kind": "Service", "spec": {"ports": [{"port": 53, "protocol": "UDP"}, {"port": 53, "protocol": "TCP"}]}}
    assert contains(answer, service)
    answer["spec"]["ports"].pop()
    assert not contains(answer, service)


@pytest.mark.parametrize(
    ("one", "other"),
    [("1Gi", "1024Mi"), ("0.5", "500m"), ("1000m", 1), ("2k", "2000"), ("1.5Gi", "1536Mi")],
)
def test_quantities(one: Any, other: Any) -> None:
    assert quantity_of(one) == quantity_of(other)


def test_no_quantity_is_itself() -> None:
    assert quantity_of("max") == "max"


def test_the_hash_does_not_depend_on_the_order_of_keys() -> None:
    assert applied_hash({"a": 1, "b": 2}) == applied_hash({"b": 2, "a": 1})
    assert applied_hash({"a": 1}) != applied_hash({"a": "1"})


def test_the_hash_leaves_the_manifest_alone() -> None:
    manifest = copy.deepcopy(DESIRED)
    assert with_hash(manifest)["metadata"]["annotations"] == {APPLIED: applied_hash(DESIRED)}
    assert manifest == DESIRED


def test_a_diff_shows_neither_secrets_nor_what_changes_by_itself() -> None:
    secret = {"kind": "Secret", "metadata": {"name": "s", "uid": "u", "managedFields": []}, "data": {"tls.key": "a2V5"}}
    told = format_manifest(secret)
    assert told["metadata"] == {"name": "s"}
    assert "a2V5" not in str(told)
    assert told["data"] != format_manifest({**secret, "data": {"tls.key": "b3RoZXI="}})["data"]
    assert format_manifest(None) == {}


@pytest.mark.parametrize(
    ("manager", "second", "created"),
    [("c5c3.ovn", "10", True), ("c5c3.ovn", "11", True), ("c5c3.ovn", "30", False), ("kubectl", "10", False)],
)
def test_who_made_it(manager: str, second: str, created: bool) -> None:
    fields = [{"manager": manager, "time": f"2026-01-01T00:00:{second}Z"}]
    metadata = {"creationTimestamp": "2026-01-01T00:00:10Z", "managedFields": fields}
    assert was_created({"metadata": metadata}, "c5c3.ovn") is created


CANONICAL = [
    ("1", "1"),
    ("0", "0"),
    ("0.5", "500m"),
    ("1000m", "1"),
    ("1500m", "1500m"),
    ("2.0", "2"),
    ("1024Mi", "1Gi"),
    ("10Gi", "10Gi"),
    ("1.5Gi", "1536Mi"),
    ("1000M", "1G"),
    ("1000000", "1M"),
    ("1024", "1024"),
    ("1Ki", "1Ki"),
    ("0.5Ki", "512"),
    ("0.9765625Ki", "1k"),
    ("0Gi", "0"),
    ("0.000001E", "1T"),
    ("7.5Ei", "7680Pi"),
]


@pytest.mark.parametrize(("text", "canonical"), CANONICAL)
def test_canonical_quantity(text: str, canonical: str) -> None:
    assert canonical_quantity(text) == canonical
    assert canonical_quantity(canonical) == canonical


@pytest.mark.parametrize(
    ("value", "number"),
    [
        ("10Gi", 10 * 1024**3),
        ("1k", 1000),
        ("250m", decimal.Decimal("0.25")),
        ("3E", 3 * 10**18),
        # What no specification of ours holds, but answers of an API server
        (2, 2),
        (0.1, decimal.Decimal("0.1")),
        ("1e3", 1000),
        ("1500u", decimal.Decimal("0.0015")),
        ("-1Ki", -1024),
    ],
)
def test_parse_quantity(value: str | float, number: decimal.Decimal) -> None:
    assert parse_quantity(value) == number


@pytest.mark.parametrize("text", ["", "x", "10GB", "-1", "1 Gi", "1e3", ".5", "1.Gi", "1\n", "0.0001", "1.3Ki"])
def test_what_is_no_quantity(text: str) -> None:
    with pytest.raises(ValueError, match=r"no quantity|fraction"):
        canonical_quantity(text)

"""Which node may have a certificate with which name: a kubelet writes the annotations of its Node."""

from __future__ import annotations

import pathlib
import typing as t

import pytest
import southbound_registry

from ansible_collections.c5c3.ovn.plugins.module_utils._agent.api_client import Api
from ansible_collections.c5c3.ovn.plugins.module_utils._agent.node_certificate import NodeCertificate
from ansible_collections.c5c3.ovn.plugins.module_utils._base.errors import InvalidInput, Refused
from ansible_collections.c5c3.ovn.plugins.module_utils._hypervisors.chassis_names import (
    ConfirmedNames,
    NameEvidence,
    check_common_name,
    common_name_problems,
    confirm_names,
    renewable_names,
)
from ansible_collections.c5c3.ovn.plugins.module_utils._hypervisors.nodes import Node
from ansible_collections.c5c3.ovn.plugins.module_utils._hypervisors.settings import Chassis
from ansible_collections.c5c3.ovn.plugins.module_utils._hypervisors.southbound import Registry

VICTIM = "192.0.2.7"


def chassis(name: str) -> Chassis:
    """Of node a, at the address of the victim, which it may claim as well."""
    return Chassis(Node("a", "u", {}, {}, (VICTIM,), True), name, "a", ("geneve",), (VICTIM,), (), {})


def registry(*rows: tuple[str, str]) -> Registry:
    """Name and owner, at the address of the victim."""
    return southbound_registry.registry(*((name, VICTIM, owner) for name, owner in rows))


def evidence(**changes: t.Any) -> NameEvidence:
    return NameEvidence("ours", {}, {})._replace(**changes)


@pytest.mark.parametrize(
    ("name", "rows", "known", "words"),
    [
        pytest.param("a", [], evidence(), "", id="the name of the Node"),
        pytest.param("a", [("a", "ours")], evidence(), "", id="registered already"),
        pytest.param("a", [("a", "")], evidence(), "not marked as one of this cluster", id="a machine has it"),
        pytest.param("a", [("a", "x")], evidence(), "not marked as one of this cluster", id="another cluster has it"),
        pytest.param("a", [("a", "")], evidence(owner=""), "not marked", id="before the first run nothing is ours"),
        pytest.param("a", None, evidence(), "the Southbound database was not asked", id="nobody could be asked"),
        pytest.param("a", [], evidence(others=["a"]), "another chassis", id="a machine that is not registered"),
        pytest.param(
            "c1", [("c1", "")], evidence(), "not marked as one of this cluster", id="the victim by annotation"
        ),
        pytest.param("c1", [], evidence(), "from an annotation", id="a name by annotation"),
        pytest.param("c1", [("c1", "ours")], evidence(), "from an annotation", id="of one that was ours"),
        pytest.param("c1", [], evidence(given={"a": "c1"}), "", id="somebody else gave it"),
        pytest.param("c1", [("c1", "")], evidence(given={"a": "c1"}), "not marked", id="given, and a machine has it"),
        pytest.param("c1", [], evidence(given={"b": "c1"}), "from an annotation", id="given to another node"),
        pytest.param("c1", None, evidence(confirmed={"a": "c1"}), "", id="confirmed: a renewal asks nobody"),
        pytest.param("c1", [("c1", "")], evidence(confirmed={"a": "c1"}), "", id="confirmed once"),
        pytest.param(
            "a",
            [("a", "x")],
            evidence(confirmed={"a": "a"}),
            "not marked",
            id="confirmed while the row of others was away",
        ),
        pytest.param("a", [("a", "ours")], evidence(confirmed={"a": "a"}), "", id="confirmed and registered"),
        pytest.param("c1", [], evidence(confirmed={"a": "a"}), "from an annotation", id="another name was confirmed"),
        pytest.param(
            "c1", [], evidence(confirmed={"a": "c1"}, others=["c1"]), "another chassis", id="confirmed, now a machine"
        ),
        pytest.param(
            "c1", [("c1", "ours")], evidence(confirmed=None), "from an annotation", id="registered while nodes shared"
        ),
        pytest.param(
            "c1", [("c1", "ours")], evidence(confirmed=None, given={"a": "c1"}), "", id="registered, and declared"
        ),
        pytest.param("a", [("a", "ours")], evidence(confirmed=None), "", id="registered by the name of the Node"),
        pytest.param("c1", [("c1", "")], evidence(confirmed=None), "not marked", id="shared, of others"),
    ],
)
def test_who_may_have_a_certificate(
    name: str, rows: list[tuple[str, str]] | None, known: NameEvidence, words: str
) -> None:
    found = confirm_names([chassis(name)], None if rows is None else registry(*rows), known)
    assert ("a" in found.problems) is bool(words)
    assert words in found.problems.get("a", "")
    assert found.names == ({} if words else {"a": name})


def test_what_was_not_asked_is_not_recorded() -> None:
    """Or the next run would take nodes that shared a certificate for new ones."""
    found = confirm_names([chassis("a")], None, evidence(confirmed=None))
    assert found.names is None
    assert "a" in found.problems
    assert confirm_names([], registry(), evidence(confirmed=None)) == ConfirmedNames({}, {})


@pytest.mark.parametrize("name", ["x" * 65, "rack 1", "a/b", "", "ä"])
def test_names_that_no_certificate_can_have(name: str) -> None:
    (problem,) = common_name_problems([chassis(name)])
    assert "cannot be the name in a certificate" in problem
    with pytest.raises(InvalidInput, match="cannot be that of a certificate"):
        check_common_name(name)
    assert common_name_problems([chassis("x" * 64), chassis("rack1-a.b_c")]) == []


@pytest.mark.parametrize("name", ["x" * 65, "rack 1", "a/b", "ä"])
def test_agents_refuse_the_same_names(name: str, tmp_path: pathlib.Path) -> None:
    with pytest.raises(Refused, match="cannot be that of a certificate"):
        NodeCertificate(str(tmp_path), t.cast(Api, None)).ensure(name)


@pytest.mark.parametrize(
    ("confirmed", "recorded", "rows", "others", "expected"),
    [
        pytest.param({"a": "c1"}, {"a": "c1"}, [("c1", "ours")], (), {"a": "c1"}, id="as it was"),
        pytest.param({"a": "c1"}, {"a": "c1"}, None, (), {"a": "c1"}, id="nobody could be asked"),
        pytest.param({"a": "c1"}, {"a": "c1"}, [], (), {"a": "c1"}, id="not registered at the moment"),
        pytest.param({"a": "c1"}, {"a": "c1"}, [("c1", "")], (), {"a": "c1"}, id="not marked yet"),
        pytest.param({"a": "c1"}, {"a": "c1"}, [("c1", "x")], (), {}, id="of another cluster meanwhile"),
        pytest.param({"a": "c1"}, {"a": "c1"}, [], ("c1",), {}, id="of a machine of the inventory"),
        pytest.param({"a": "c1"}, {"a": "c2"}, [], (), {}, id="recorded with another name"),
        pytest.param({}, {"a": "c1"}, [], (), {}, id="never confirmed"),
        pytest.param({"b": "c1"}, {"b": "c1"}, [], (), {}, id="of a node that is no hypervisor"),
    ],
)
def test_names_that_a_run_without_a_plan_renews(
    confirmed: t.Any, recorded: t.Any, rows: t.Any, others: t.Any, expected: t.Any
) -> None:
    node = Node("a", "u", {}, {}, (), True)
    known = registry(*rows) if rows is not None else None
    assert renewable_names([node], confirmed, recorded, known, "ours", others) == expected

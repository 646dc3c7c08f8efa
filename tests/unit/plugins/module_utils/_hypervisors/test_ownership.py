from __future__ import annotations

import typing as t

import pytest
from southbound_registry import registry

from ansible_collections.c5c3.ovn.plugins.module_utils._hypervisors.nodes import Node
from ansible_collections.c5c3.ovn.plugins.module_utils._hypervisors.ownership import (
    OwnershipEvidence,
    clashes,
    orphaned_chassis,
)
from ansible_collections.c5c3.ovn.plugins.module_utils._hypervisors.settings import Chassis

OURS = OwnershipEvidence("abc", {"n1": ["192.0.2.1"]})
CHASSIS = Chassis(Node("n1", "u", {}, {}, (), True), "n1", "n1", ("geneve",), ("192.0.2.1",), (), {})


@pytest.mark.parametrize(
    ("ip", "owner", "verdict"),
    [
        pytest.param("192.0.2.1", "", "ours", id="the noted address"),
        pytest.param("192.0.2.9", "abc", "ours", id="it says so"),
        pytest.param("192.0.2.9", "", "doubtful", id="another address"),
        pytest.param("192.0.2.9", "def", "theirs", id="another cluster"),
        pytest.param("192.0.2.1", "def", "theirs", id="another cluster with the noted address"),
    ],
)
def test_judge(ip: str, owner: str, verdict: str) -> None:
    assert OURS.classify("n1", registry(("n1", ip, owner)).chassis["n1"]) == verdict


@pytest.mark.parametrize(
    ("ips", "rows", "message"),
    [
        pytest.param(["192.0.2.1"], [], None, id="new"),
        pytest.param(["192.0.2.1"], [("n1", "192.0.2.1", "")], None, id="the same machine"),
        pytest.param(["192.0.2.1"], [("n1", "192.0.2.1", "def")], None, id="the same machine in a new cluster"),
        pytest.param(["192.0.2.1"], [("n1", "192.0.2.9", "abc")], None, id="registered by its label"),
        pytest.param(["192.0.2.1"], [("n1", "192.0.2.9", "")], "already has a chassis", id="a machine of this name"),
        pytest.param(["192.0.2.1"], [("n1", "192.0.2.9", "def")], "already has a chassis", id="another cluster"),
        pytest.param(None, [("n1", "192.0.2.9", "def")], "not known yet", id="no address to compare"),
        pytest.param(None, [("n1", "192.0.2.9", "abc")], None, id="no address, but it says that it is ours"),
        pytest.param(["192.0.2.1"], [("x", "192.0.2.1", "")], 'belongs to chassis "x"', id="the address of another"),
        pytest.param(["192.0.2.1"], [("old", "192.0.2.1", "")], None, id="the address of one that leaves"),
    ],
)
def test_clashes(ips: list[str] | None, rows: list[tuple[str, str, str]], message: str | None) -> None:
    one = CHASSIS._replace(ips=None if ips is None else tuple(ips))
    problems = clashes([one], registry(*rows), OURS, set(), {"old"})
    assert len(problems) == (message is not None)
    assert message is None or message in problems[0]
    assert clashes([one], registry(*rows), OURS, {"n1"}, {"old"}) == [], "a node that we know is not asked again"
    assert clashes([one], None, OURS, set(), set()) == []


def test_nobody_owns_anything_before_the_first_run() -> None:
    assert clashes([CHASSIS], registry(("n1", "192.0.2.9", "abc")), OwnershipEvidence("", {}), set(), set())


@pytest.mark.parametrize(
    ("ours", "found"),
    [
        pytest.param(OURS, {"host-n3": "n3"}, id="only our own"),
        pytest.param(OwnershipEvidence("", {}), {}, id="the first run"),
    ],
)
def test_orphaned_chassis(ours: OwnershipEvidence, found: dict[str, str]) -> None:
    rows = registry(("n1", "192.0.2.1", "abc"), ("n2", "192.0.2.2", ""), ("n3", "192.0.2.3", "abc"))
    assert orphaned_chassis(t.cast("t.Any", rows), ours, {"n1"}) == found
    assert orphaned_chassis(None, ours, set()) == {}

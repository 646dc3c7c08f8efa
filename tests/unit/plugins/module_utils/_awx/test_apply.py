"""In which order links between nodes are written: no node is without one on the way, as long as AWX allows it."""

from __future__ import annotations

import pytest

from ansible_collections.c5c3.ovn.plugins.module_utils._awx.apply import Link, foreign_links, link_steps, own_links

ORDER = ["check", "approve", "run", "verify"]
WANTED: set[Link] = {(a, b, "success_nodes") for a, b in zip(ORDER, ORDER[1:])}
IDS = {"check": 1, "approve": 2, "run": 3}


@pytest.mark.parametrize(
    ("there", "steps"),
    [
        pytest.param(WANTED, [], id="all right"),
        pytest.param(
            WANTED - {("approve", "run", "success_nodes")} | {("check", "run", "success_nodes")},
            [("attached", ("approve", "run", "success_nodes")), ("detached", ("check", "run", "success_nodes"))],
            id="around the approval",
        ),
        pytest.param(
            WANTED - {("approve", "run", "success_nodes")} | {("approve", "run", "always_nodes")},
            [("detached", ("approve", "run", "always_nodes")), ("attached", ("approve", "run", "success_nodes"))],
            id="always after the approval",
        ),
        pytest.param(
            WANTED - {("approve", "run", "success_nodes")} | {("run", "approve", "failure_nodes")},
            [("detached", ("run", "approve", "failure_nodes")), ("attached", ("approve", "run", "success_nodes"))],
            id="back",
        ),
        pytest.param(
            WANTED | {("check", "verify", "failure_nodes")},
            [("detached", ("check", "verify", "failure_nodes"))],
            id="one too many",
        ),
    ],
)
def test_steps(there: set[Link], steps: list[tuple[str, Link]]) -> None:
    assert link_steps(ORDER, there, WANTED) == steps


def test_all_relations_count() -> None:
    found = {
        "check": {"id": 1, "success_nodes": [2], "failure_nodes": [3], "always_nodes": [9]},
        "approve": {"id": 2, "always_nodes": [3]},
        "mine": {"id": 9, "failure_nodes": [3], "success_nodes": [8]},
    }
    assert own_links(found, IDS) == {
        ("check", "approve", "success_nodes"),
        ("check", "run", "failure_nodes"),
        ("approve", "run", "always_nodes"),
    }
    assert foreign_links(found, IDS) == [("mine", "run")]

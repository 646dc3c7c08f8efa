"""A control plane that others run: which runs the inventory forbids."""

from __future__ import annotations

import typing as t

import pytest

from ansible_collections.c5c3.ovn.plugins.module_utils._roles.foreign_central import foreign_central_problem

Vars = dict[str, t.Any]
THEIRS, OURS = {"ovn_central_managed": False}, {"ovn_central_managed": "true"}


@pytest.mark.parametrize(
    ("hosts", "changes", "problem"),
    [
        pytest.param([], True, "", id="none"),
        pytest.param([{}, OURS], True, "", id="ours"),
        pytest.param([THEIRS, THEIRS], False, "", id="only read"),
        pytest.param([THEIRS, {"ovn_central_managed": "no"}], True, "Others run the control plane on c0, c1 (ovn_central_managed", id="changed"),
        pytest.param([THEIRS, {}], False, "ovn_central_managed is false for c0, but not for c1. Set it for all", id="one half"),
        pytest.param([{**THEIRS, "ovn_backend": "kubernetes"}], False, "ovn_central_managed is false for c0, which is a Kubernetes", id="an OVNCluster"),
    ],
)  # fmt: skip
def test_problem(hosts: list[Vars], changes: bool, problem: str) -> None:
    hostvars = {f"c{number}": variables for number, variables in enumerate(hosts)}
    found = foreign_central_problem(list(hostvars), hostvars, changes)
    assert found.startswith(problem)
    assert bool(found) == bool(problem)

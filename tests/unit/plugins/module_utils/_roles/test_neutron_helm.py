"""Whose overrides for Helm a file has."""

from __future__ import annotations

import typing as t

import pytest

from ansible_collections.c5c3.ovn.plugins.module_utils._roles.neutron_helm import helm_problem

FILE = {"ovn_neutron_helm_file": "/x/overrides.yaml"}
CLUSTER = {"ovn_backend": "kubernetes", **FILE}


@pytest.mark.parametrize(
    ("hosts", "refused"),
    [
        pytest.param({"a": CLUSTER, "b": CLUSTER}, True, id="two clusters"),
        pytest.param({"a": FILE, "b": FILE}, False, id="two controllers of one Neutron"),
        pytest.param({"a": CLUSTER, "b": FILE}, True, id="a cluster and a machine"),
        pytest.param({"a": CLUSTER, "b": {**FILE, "ovn_backend": "kubernetes"}}, True, id="by the role's option"),
        pytest.param({"a": CLUSTER, "b": {**CLUSTER, "ovn_neutron_helm_file": "/y"}}, False, id="a file of its own"),
        pytest.param({"a": CLUSTER, "b": {"ovn_backend": "kubernetes"}}, False, id="none"),
        pytest.param({"a": CLUSTER}, False, id="alone"),
    ],
)
def test_clusters_have_files_of_their_own(hosts: dict[str, dict[str, t.Any]], refused: bool) -> None:
    problem = helm_problem(hosts, list(hosts), "a", FILE["ovn_neutron_helm_file"])
    assert problem.startswith("ovn_neutron_helm_file of a, b is /x/overrides.yaml: ") is refused
    assert bool(problem) is refused
    assert helm_problem(hosts, list(hosts), "a", "") == ""

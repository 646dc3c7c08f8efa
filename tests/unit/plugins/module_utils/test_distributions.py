"""Packages, paths and units of distributions, and what an inventory says in their place."""

from __future__ import annotations

import typing as t

import pytest

from ansible_collections.c5c3.ovn.plugins.module_utils._distributions import Role, distribution_data
from ansible_collections.c5c3.ovn.plugins.module_utils._errors import InvalidInput

ROCKY = {"id": "rocky", "name": "Rocky Linux 9.4 (Blue Onyx)"}
CENTRAL: dict[str, t.Any] = {
    "packages": ["ovn24.03-central"],
    "files": [],
    "masked_units": [],
    "northd": "/usr/sbin/northd",
}


@pytest.mark.parametrize("observed", [{}, {"id": ""}, {"id": "debian"}, {"id": "ubuntu"}])
@pytest.mark.parametrize("role", ["central", "hypervisor"])
def test_debian_and_ubuntu_are_known(role: Role, observed: dict[str, str]) -> None:
    data = distribution_data(role, {}, observed, "h1")
    assert data["problem"] == ""
    assert all(data[key] for key in data if key != "problem")


def test_an_inventory_replaces_what_it_names() -> None:
    given = {"packages": ["ovn-central", "mine"], "northd": "/opt/northd", "files": None}
    data = distribution_data("central", given, {"id": "debian"}, "h1")
    assert data == {
        **distribution_data("central", {}, {}, "h1"),
        "packages": given["packages"],
        "northd": "/opt/northd",
    }


@pytest.mark.parametrize(
    ("given", "missing"),
    [
        ({}, "packages, files, masked_units, northd"),
        ({"packages": ["x"], "northd": ""}, "files, masked_units, northd"),
    ],
)
def test_an_unknown_distribution_is_named_with_what_to_set(given: dict[str, t.Any], missing: str) -> None:
    problem = distribution_data("central", given, ROCKY, "h1")["problem"]
    assert problem.startswith("h1 runs Rocky Linux 9.4 (Blue Onyx), whose packages")
    assert f"Set {missing} in ovn_central_distribution" in problem


def test_an_unknown_distribution_that_is_described() -> None:
    assert distribution_data("central", CENTRAL, ROCKY, "h1") == {**CENTRAL, "problem": ""}


def test_a_key_that_does_not_exist() -> None:
    with pytest.raises(InvalidInput, match=r"ovn_hypervisor_distribution has no northd\. It has packages, files"):
        distribution_data("hypervisor", {"northd": "/x"}, {}, "h1")

"""Packages, paths and units of distributions, and what an inventory says in their place."""

from __future__ import annotations

import pathlib
import re
import typing as t

import pytest

from ansible_collections.c5c3.ovn.plugins.module_utils._base.errors import InvalidInput
from ansible_collections.c5c3.ovn.plugins.module_utils._machine.distributions import Role, distribution_data

ROCKY = {"id": "rocky", "name": "Rocky Linux 9.4 (Blue Onyx)"}
CENTRAL: dict[str, t.Any] = {
    "packages": ["ovn24.03-central"],
    "files": [],
    "masked_units": [],
    "northd": "/usr/sbin/northd",
    "appctl": "/usr/sbin/ovn-appctl",
    "run_directory": "/run/openvswitch/ovn",
    "schema_directory": "/usr/share/openvswitch",
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
        ({}, "packages, files, masked_units, northd, appctl, run_directory, schema_directory"),
        ({**CENTRAL, "northd": "", "appctl": None}, "northd, appctl"),
    ],
)
def test_an_unknown_distribution_is_named_with_what_to_set(given: dict[str, t.Any], missing: str) -> None:
    problem = distribution_data("central", given, ROCKY, "h1")["problem"]
    assert problem.startswith("h1 runs Rocky Linux 9.4 (Blue Onyx), whose packages")
    assert f"Set {missing} in ovn_central_distribution" in problem


def test_an_unknown_distribution_that_is_described() -> None:
    computed = {"problem": "", "runtime_directory": "openvswitch/ovn"}
    assert distribution_data("central", CENTRAL, ROCKY, "h1") == {**CENTRAL, **computed}


@pytest.mark.parametrize("given", ["/run/ovn", "/var/run/ovn", "/run/ovn/"])
@pytest.mark.parametrize("role", ["central", "hypervisor"])
def test_var_run_is_an_older_name_of_run(role: Role, given: str) -> None:
    data = distribution_data(role, {"run_directory": given}, {}, "h1")
    assert (data["run_directory"], data["runtime_directory"]) == ("/run/ovn", "ovn")


@pytest.mark.parametrize("given", ["/run", "/var/lib/ovn", "ovn", "/run/../etc"])
def test_a_run_directory_that_systemd_cannot_create(given: str) -> None:
    with pytest.raises(InvalidInput, match=r"run_directory of ovn_central_distribution is .* below /run"):
        distribution_data("central", {"run_directory": given}, {}, "h1")


def test_a_key_that_does_not_exist() -> None:
    with pytest.raises(InvalidInput, match=r"ovn_hypervisor_distribution has no northd\. It has packages, files"):
        distribution_data("hypervisor", {"northd": "/x"}, {}, "h1")


ROOT = pathlib.Path(__file__).parents[5]
FIXED = re.compile(r"/run/ovn\b|/usr/share/ovn|RuntimeDirectory=ovn|(?<![-\w/])ovn-appctl\b")


def code_of(path: pathlib.Path) -> list[str]:
    return [line for line in path.read_text(encoding="utf-8").splitlines() if not line.lstrip().startswith("#")]


def test_no_role_has_a_path_of_a_distribution_of_its_own() -> None:
    files = [*ROOT.glob("roles/*/tasks/*.yml"), *ROOT.glob("roles/*/vars/*.yml"), *ROOT.glob("roles/*/templates/*")]
    assert len(files) > 50
    assert {
        f"{path.parent.parent.name}/{path.name}": line for path in files for line in code_of(path) if FIXED.search(line)
    } == {}

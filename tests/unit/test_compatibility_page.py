"""docs/compatibility.md names the versions that the tests pin, and all of them."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
import yaml

from ansible_collections.c5c3.ovn.plugins.module_utils._raft.version import FAULTS

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs" / "compatibility.md").read_text(encoding="utf-8")
# What runs Ansible. Other lists pin tools alone.
PINNED = [ROOT / "requirements" / name for name in ("oldest.txt", "venv.txt", "newest.txt")]


def table(page: str, first: str) -> dict[str, list[str]]:
    """Return the rows of the table whose head begins with `first`: first cell, without backquotes, to the other cells."""
    lines = page.splitlines()
    start = next(number for number, line in enumerate(lines) if line.startswith(f"| {first} |"))
    rows = {}
    for line in lines[start + 2 :]:
        if not line.startswith("|"):
            break
        name, *cells = (cell.strip() for cell in line.strip("|").split("|"))
        rows[name.strip("`")] = cells
    return rows


def pins(path: Path) -> dict[str, str]:
    """Return the packages of a frozen list with their versions."""
    return dict(re.findall(r"^([\w.-]+)==(\S+)", path.read_text(encoding="utf-8"), re.MULTILINE))


def load(name: str) -> Any:
    return yaml.safe_load((ROOT / name).read_text(encoding="utf-8"))


def test_every_pinned_ansible_has_a_row_and_no_other() -> None:
    pinned = {pins(path)["ansible-core"]: pins(path)["ansible"] for path in PINNED if path.exists()}
    assert {core: cells[0] for core, cells in table(PAGE, "ansible-core").items()} == pinned


def test_the_required_ansible_is_the_declared_one() -> None:
    assert re.findall(r"requires ansible-core `(.*?)`", PAGE) == [load("meta/runtime.yml")["requires_ansible"]]


def test_the_libraries_are_the_pinned_ones() -> None:
    pinned = pins(ROOT / "requirements" / "venv.txt")
    libraries = table(PAGE, "Library")
    needed = re.findall(r"^([\w-]+)", (ROOT / "meta" / "ee-requirements.txt").read_text(encoding="utf-8"), re.MULTILINE)
    assert sorted(libraries) == sorted(needed)
    assert {name: cells[0] for name, cells in libraries.items()} == {name: pinned[name] for name in libraries}


def test_the_collections_are_the_declared_ones() -> None:
    named = {name: cells[0].strip("`") for name, cells in table(PAGE, "Collection").items()}
    assert named == load("galaxy.yml")["dependencies"]


def test_kubernetes_is_the_version_of_the_test_bed() -> None:
    text = (ROOT / "tests" / "testbed" / "versions.env").read_text(encoding="utf-8")
    versions = dict(re.findall(r"^(\w+)=(\S+)$", text, re.MULTILINE))
    rows = table(PAGE, "Kubernetes")
    assert [(name, cells[0]) for name, cells in rows.items() if cells[1].startswith("tested")] == [
        (versions["KUBERNETES_VERSION"], versions["ETCD_VERSION"])
    ]


@pytest.mark.parametrize(
    "scenario", sorted(path.parents[1].name for path in ROOT.glob("molecule/*/inventory/machines.yml"))
)
def test_each_molecule_scenario_with_machines_is_a_tested_distribution(scenario: str) -> None:
    suite = load(f"molecule/{scenario}/inventory/machines.yml")["all"]["vars"]["machines_suite"]
    rows = {name: cells for name, cells in table(PAGE, "Distribution").items() if f"({suite})" in name}
    assert len(rows) == 1
    [(ovn, openvswitch, machines, _images)] = rows.values()
    assert f"tested: `molecule/{scenario}`" in machines
    # The comment of the scenario says what its packages are.
    text = (ROOT / "molecule" / scenario / "molecule.yml").read_text(encoding="utf-8")
    assert re.findall(r"OVN (\d+\.\d+), Open vSwitch (\d+\.\d+)", text) == [(ovn, openvswitch)]


def test_no_other_distribution_counts_as_tested() -> None:
    tested = {name for name, cells in table(PAGE, "Distribution").items() if cells[2].startswith("tested")}
    suites = {
        load(str(p.relative_to(ROOT)))["all"]["vars"]["machines_suite"]
        for p in ROOT.glob("molecule/*/inventory/machines.yml")
    }
    assert {name.split("(")[1].rstrip(")") for name in tested} == suites


def test_the_known_faults_are_those_that_a_run_names() -> None:
    releases = {fault.message: ", ".join(".".join(map(str, version)) for version in fault.fixed) for fault in FAULTS}
    assert {name: cells[0] for name, cells in table(PAGE, "Fault").items()} == releases

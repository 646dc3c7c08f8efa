"""The inventories in examples use no variable that the collection does not know, and the page about them lists each one."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from inventory_names import OUR_NAME, known_variables

ROOT = Path(__file__).resolve().parents[2]
EXAMPLES = sorted((ROOT / "examples").glob("*/inventory/hosts.yml"))
GROUPS = {"ovn_central", "ovn_hypervisors", "ovn_gateways"}


def variables_in(inventory: Any) -> Iterator[str]:
    """Yield the name of each variable of groups and hosts, at any depth of groups."""
    for group in (group for group in inventory.values() if group):
        yield from group.get("vars", {})
        for variables in group.get("hosts", {}).values():
            yield from variables or {}
        yield from variables_in(group.get("children", {}))


def groups_in(inventory: Any) -> Iterator[str]:
    """Yield the name of each group, at any depth."""
    for name, group in inventory.items():
        yield name
        yield from groups_in((group or {}).get("children", {}))


def unknown_names(inventory: Any) -> list[str]:
    """Return what looks like a variable or a group of ours and is none."""
    unknown = {name for name in variables_in(inventory) if OUR_NAME.fullmatch(name)} - known_variables()
    return sorted(unknown | ({name for name in groups_in(inventory) if OUR_NAME.fullmatch(name)} - GROUPS))


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.parents[1].name)
def test_every_variable_is_known(path: Path) -> None:
    assert unknown_names(yaml.safe_load(path.read_text(encoding="utf-8"))) == []


def test_a_mistyped_variable_or_group_is_found() -> None:
    inventory = yaml.safe_load(
        """
        all:
          vars: {ovn_tsl: true, ovn_tls: true, ansible_user: root}
          children:
            ovn_central: {hosts: {db1: {ovn_adress: 192.0.2.1}, db2:}, vars: {ovn_central_election_timer: 5000}}
            ovn_hypervisor: {children: {rack1: {hosts: {c1: {ovn_hypervisor_gatway: true}}}}}
        """
    )
    assert unknown_names(inventory) == ["ovn_adress", "ovn_hypervisor", "ovn_hypervisor_gatway", "ovn_tsl"]


def test_the_page_lists_every_example() -> None:
    page = (ROOT / "examples" / "README.md").read_text(encoding="utf-8")
    assert len(EXAMPLES) >= 6
    assert [path for path in EXAMPLES if f"]({path.relative_to(ROOT / 'examples')}) |" not in page] == []


@pytest.mark.parametrize("page", ["README.md", "docs/first-hosts.md"])
def test_the_first_steps_show_the_example_with_three_machines(page: str) -> None:
    text = (ROOT / page).read_text(encoding="utf-8")
    shown = re.findall(r"```yaml\n# inventory/hosts\.yml\n(.*?)```", text, re.DOTALL)
    example = ROOT / "examples" / "three-machines" / "inventory" / "hosts.yml"
    assert [yaml.safe_load(block) for block in shown] == [yaml.safe_load(example.read_text(encoding="utf-8"))]


def test_the_readme_stays_short() -> None:
    assert len((ROOT / "README.md").read_text(encoding="utf-8").splitlines()) <= 135

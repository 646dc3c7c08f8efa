"""What the collection says about itself in several places agrees."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml

COLLECTION = Path(__file__).resolve().parents[2]
MODULES = sorted(path.stem for path in (COLLECTION / "plugins" / "modules").glob("*.py"))
ROLES = sorted(path for path in (COLLECTION / "roles").glob("*") if path.is_dir())


def load(path: Path) -> Any:
    return yaml.safe_load(path.read_text(encoding="utf-8"))


def test_the_action_group_is_exactly_our_modules() -> None:
    runtime = load(COLLECTION / "meta" / "runtime.yml")
    members = {member for member in runtime["action_groups"]["ovn"] if isinstance(member, str)}
    assert members == {*MODULES, *runtime["plugin_routing"]["modules"]}


def options_of(role: Path) -> dict[str, dict[str, Any]]:
    specs = load(role / "meta" / "argument_specs.yml")["argument_specs"]
    options: dict[str, dict[str, Any]] = specs["main"].get("options", {})
    return options


@pytest.mark.parametrize("name", MODULES)
def test_a_module_documents_its_action_group(name: str) -> None:
    text = (COLLECTION / "plugins" / "modules" / f"{name}.py").read_text(encoding="utf-8")
    assert "- c5c3.ovn._attributes.action_group\n" in text


@pytest.mark.parametrize("role", ROLES, ids=lambda role: role.name)
class TestRole:
    def test_it_has_what_users_and_galaxy_expect(self, role: Path) -> None:
        expected = ("README.md", "meta/main.yml", "meta/argument_specs.yml", "defaults/main.yml", "tasks/main.yml")
        assert [name for name in expected if not (role / name).is_file()] == []

    def test_its_defaults_are_the_documented_ones(self, role: Path) -> None:
        defaults = load(role / "defaults" / "main.yml") or {}
        options = options_of(role)
        assert set(defaults) - set(options) == set(), "in defaults/main.yml, but not in meta/argument_specs.yml"
        promised = {name for name, option in options.items() if "default" in option}
        assert promised - set(defaults) == set(), (
            "with a default in meta/argument_specs.yml, but not in defaults/main.yml"
        )
        plain = {name: value for name, value in defaults.items() if name in promised and "{{" not in str(value)}
        assert plain == {name: options[name]["default"] for name in plain}

    def test_what_is_required_has_no_default(self, role: Path) -> None:
        assert {
            name for name, option in options_of(role).items() if option.get("required") and "default" in option
        } == set()

    def test_its_readme_says_where_the_options_are(self, role: Path) -> None:
        readme = (role / "README.md").read_text(encoding="utf-8")
        assert f"`ansible-doc -t role c5c3.ovn.{role.name}`" in readme

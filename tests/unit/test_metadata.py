"""What the collection says about itself in several places agrees."""

from __future__ import annotations

import ast
import re
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml
from ansible.inventory.manager import IGNORED

from ansible_collections.c5c3.ovn.plugins.module_utils._roles.pki_plan import CA_DIRECTORY
from ansible_collections.c5c3.ovn.plugins.module_utils._roles.shared_variables import SPECIFICATION

COLLECTION = Path(__file__).resolve().parents[2]
MODULES = sorted(path.stem for path in (COLLECTION / "plugins" / "modules").glob("*.py"))
ROLES = sorted(path for path in (COLLECTION / "roles").glob("*") if path.is_dir())


def load(path: Path) -> Any:
    return yaml.safe_load(path.read_text(encoding="utf-8"))


def documentation_of(path: Path) -> dict[str, Any]:
    """The documentation of a module or, by its file and class attribute, of a fragment."""
    return load_text(assigned(path)["DOCUMENTATION"])


def load_text(text: str) -> dict[str, Any]:
    loaded: dict[str, Any] = yaml.safe_load(text)
    return loaded


def assigned(path: Path) -> dict[str, str]:
    """The texts that a file assigns to names, wherever in it."""
    return {
        target.id: node.value.value
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str)
        for target in node.targets
        if isinstance(target, ast.Name)
    }


def fragments_of(module: str) -> list[dict[str, Any]]:
    """The module's own documentation and that of its fragments."""
    own = documentation_of(COLLECTION / "plugins" / "modules" / f"{module}.py")
    found = [own]
    for fragment in own.get("extends_documentation_fragment") or ():
        _namespace, _collection, file, *part = fragment.split(".")
        texts = assigned(COLLECTION / "plugins" / "doc_fragments" / f"{file}.py")
        found.append(load_text(texts[(part or ["DOCUMENTATION"])[0].upper()]))
    return found


def options_of_module(module: str) -> set[str]:
    return {option for fragment in fragments_of(module) for option in fragment.get("options") or ()}


def options_of_fragment(name: str) -> set[str]:
    texts = assigned(COLLECTION / "plugins" / "doc_fragments" / f"{name}.py")
    return set(load_text(texts["DOCUMENTATION"])["options"])


# The files of a client are those of a connection: ovn_certificate has options of the same names, for the files that it writes.
ENDPOINTS = {"endpoints", "northbound", "southbound"}
PROMISES = {
    "kubernetes": lambda options: options_of_fragment("_kubernetes_auth") <= options,
    "ovsdb": lambda options: options_of_fragment("_ovsdb") <= options and bool(ENDPOINTS & options),
}


@pytest.mark.parametrize("group", PROMISES)
def test_an_action_group_has_exactly_the_modules_that_take_its_options(group: str) -> None:
    runtime = load(COLLECTION / "meta" / "runtime.yml")
    assert set(runtime["action_groups"]) == set(PROMISES)
    members = {member for member in runtime["action_groups"][group] if isinstance(member, str)}
    redirects = {
        name: entry["redirect"].rpartition(".")[2] for name, entry in runtime["plugin_routing"]["modules"].items()
    }
    takes = {module for module in MODULES if PROMISES[group](options_of_module(module))}
    assert members == takes | {name for name, module in redirects.items() if module in takes}


@pytest.mark.parametrize("name", MODULES)
def test_a_module_documents_its_action_groups(name: str) -> None:
    groups = load(COLLECTION / "meta" / "runtime.yml")["action_groups"]
    documented = [
        membership
        for fragment in fragments_of(name)
        for membership in (fragment.get("attributes") or {}).get("action_group", {}).get("membership", ())
    ]
    assert documented == [f"c5c3.ovn.{group}" for group, members in groups.items() if name in members]


def options_of(role: Path) -> dict[str, dict[str, Any]]:
    specs = load(role / "meta" / "argument_specs.yml")["argument_specs"]
    options: dict[str, dict[str, Any]] = specs["main"].get("options", {})
    return options


@pytest.mark.parametrize("role", ROLES, ids=lambda role: role.name)
class TestRole:
    def test_it_has_what_users_and_galaxy_expect(self, role: Path) -> None:
        expected = ("README.md", "meta/main.yml", "meta/argument_specs.yml", "tasks/main.yml")
        assert [name for name in expected if not (role / name).is_file()] == []

    def test_its_defaults_are_the_documented_ones(self, role: Path) -> None:
        """A role whose steps read the specification has its defaults there alone."""
        file = role / "defaults" / "main.yml"
        if not file.exists():
            folders = [COLLECTION / "plugins" / name for name in ("action", "plugin_utils")]
            steps = [path.read_text(encoding="utf-8") for folder in folders for path in folder.glob("*.py")]
            assert [text for text in steps if f'ROLE = "{role.name}"' in text]
            return
        defaults = load(file) or {}
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


def test_ansible_takes_the_folder_of_the_ca_for_no_inventory() -> None:
    """`-i inventory` reads every file below the folder, and the CA lies there."""
    assert IGNORED.search(CA_DIRECTORY.encode())


ROLE_NAMES = "|".join(sorted((role.name for role in ROLES), key=len, reverse=True))
VARIABLE = re.compile(rf"(?<![\w.$/-])(?:{ROLE_NAMES})_[a-z_]*[a-z]\b(?!\*|\.(?:py|yml|html)\b)")
SETS = re.compile(r"\b(?:register|loop_var): (\w+)")
# Variables that a play or task gives to a role, facts and groups that they set, and what a step computes for the files of awx
PARAMETERS = {
    "ovn_awx_image_pull",
    "ovn_central_asked_host",
    "ovn_central_checked",
    "ovn_hypervisor_checked",
    "ovn_hypervisor_found",
    "ovn_neutron_serial",
    "ovn_packages_refreshed",
    "ovn_ping_selected",
    "ovn_pki_accesses",
    "ovn_pki_issued_kind",
    "ovn_pki_note",
    "ovn_pki_purpose",
    "ovn_pki_recorded",
    "ovn_verify_central",
    "ovn_verify_changes_central",
    "ovn_verify_cluster_resource",
    "ovn_verify_controllers_required",
    "ovn_verify_hypervisors_required",
    "ovn_verify_known_tags",
    "ovn_verify_localhost_required",
    "ovn_verify_report",
    "ovn_verify_report_required",
}
WRONG_ON_PURPOSE = {"ovn_awx_replicas", "ovn_central_acept_rollback", "ovn_hypervisor_gatway", "ovn_ping_some_name"}


def unknown_variables(text: str) -> set[str]:
    """Return the names with the prefix of a role that are no option, no result of a task and no name of a plug-in or playbook."""
    plugins = {path.stem for path in (COLLECTION / "plugins").glob("*/*")}
    tasks = [*COLLECTION.glob("roles/*/tasks/*.yml"), *COLLECTION.glob("playbooks/**/*.yml")]
    results = {name for path in tasks for name in SETS.findall(path.read_text(encoding="utf-8"))}
    options = {name for role in ROLES for name in options_of(role)}
    return (
        set(VARIABLE.findall(text)) - options - results - plugins - set(SPECIFICATION) - PARAMETERS - WRONG_ON_PURPOSE
    )


def test_every_variable_of_a_role_exists() -> None:
    """Roles ignore an unknown variable, so a test that sets one asserts nothing."""
    listed = subprocess.run(["git", "ls-files"], cwd=COLLECTION, check=True, capture_output=True, text=True).stdout
    texts = {name: (COLLECTION / name).read_text(encoding="utf-8", errors="replace") for name in listed.split()}
    together = unknown_variables("\n".join(texts.values()))
    assert {name: [path for path, text in texts.items() if name in text] for name in together} == {}


def test_invented_variable_is_unknown() -> None:
    invented = f"{ROLES[0].name}_invented"
    assert unknown_variables(f"{invented}: 1, ovn_tls, ovn_central_permit") == {invented}

"""What the collection needs is declared, what is declared is needed, and the declared minimum is what the session `oldest` tests."""

from __future__ import annotations

import ast
import importlib.metadata
import importlib.util
import json
import re
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest
import yaml

COLLECTION = Path(__file__).resolve().parents[2]
OURS = "c5c3.ovn"
# The name of a distribution, where it is not that of its package
DISTRIBUTIONS = {"websocket": "websocket-client", "yaml": "PyYAML"}
# For type checkers alone
ONLY_TYPES = {"_typeshed"}
Version = tuple[int, ...]


def version(text: str) -> Version:
    return tuple(int(number) for number in re.findall(r"\d+", text))


def requirements(name: str) -> dict[str, str]:
    """Distribution to the rest of its line in a file of requirements."""
    lines = [line.partition("#")[0].strip() for line in (COLLECTION / name).read_text(encoding="utf-8").splitlines()]
    found = [re.fullmatch(r"([\w.-]+)\s*(.*)", line) for line in lines if line]
    return {match.group(1): match.group(2) for match in found if match}


OPERATOR = COLLECTION / "plugins" / "module_utils" / "_operator"


def imported(files: Iterable[Path] | None = None) -> set[str]:
    """The full names of all modules that plugins import, or those `files`, without our own."""
    names = set[str]()
    for path in (COLLECTION / "plugins").rglob("*.py") if files is None else files:
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Import):
                names |= {alias.name for alias in node.names}
            elif isinstance(node, ast.ImportFrom) and not node.level and node.module:
                names.add(node.module)
    return {name for name in names if not name.startswith(f"ansible_collections.{OURS}")}


def used_collections() -> set[str]:
    """The collections of imports, and of the modules and plugins that roles and playbooks name."""
    used = {".".join(name.split(".")[1:3]) for name in imported() if name.startswith("ansible_collections.")}
    for folder in ("roles", "playbooks"):
        for path in (COLLECTION / folder).rglob("*.yml"):
            used |= collections_named(_code(path))
    return used - {OURS, "ansible.builtin", "ansible.legacy"}


def collections_named(code: str) -> set[str]:
    """The collections of modules, filters and tests, lookups, connections and become methods."""
    name = r"([a-z_]+\.[a-z_]+)\.[a-z_0-9]+\b"
    patterns = (
        rf"(?<![\w./]){name}:(?=\s)",
        rf"\|\s*{name}",
        rf"\bis (?:not )?{name}",
        rf"\b(?:lookup|query|q)\(\s*['\"]{name}",
        rf"(?:\b|_)(?:connection|become_method):\s*['\"]?{name}",
    )
    return {found for pattern in patterns for found in re.findall(pattern, code)}


@pytest.mark.parametrize(
    "code",
    [
        "    a_b.c.module:\n",
        "{{ x | a_b.c.filter }}",
        "{{ x |a_b.c.filter(1) }}",
        "when: x is not a_b.c.test",
        "{{ lookup('a_b.c.file', x) }}",
        '{{ query("a_b.c.file", x) }}',
        "  connection: a_b.c.kubectl",
        "ansible_connection: 'a_b.c.kubectl'",
        "become_method: a_b.c.sudo",
    ],
)
def test_each_way_to_name_a_plugin_is_seen(code: str) -> None:
    assert collections_named(code) == {"a_b.c"}


def _code(path: Path) -> str:
    return "\n".join(
        line for line in path.read_text(encoding="utf-8").splitlines() if not line.lstrip().startswith("#")
    )


def galaxy() -> dict[str, Any]:
    loaded: dict[str, Any] = yaml.safe_load((COLLECTION / "galaxy.yml").read_text(encoding="utf-8"))
    return loaded


def requires_ansible() -> str:
    runtime = yaml.safe_load((COLLECTION / "meta" / "runtime.yml").read_text(encoding="utf-8"))
    return str(runtime["requires_ansible"]).removeprefix(">=")


def test_python_libraries_are_those_that_are_imported() -> None:
    without_operator = [path for path in (COLLECTION / "plugins").rglob("*.py") if OPERATOR not in path.parents]
    assert set(requirements("meta/ee-requirements.txt")) == distributions(imported(without_operator))


def test_the_image_of_the_operator_has_what_it_imports() -> None:
    image = requirements("images/operator/requirements.txt")
    needed = distributions(imported(OPERATOR.glob("*.py")))
    assert needed - set(image) == {"PyYAML"}, "it comes with kubernetes"
    pinned = requirements("requirements/venv.txt")
    assert image == {name: pinned[name] for name in image}, "tested with other versions"


def distributions(modules: Iterable[str]) -> set[str]:
    """What has to be installed for these modules."""
    known = {*sys.stdlib_module_names, *ONLY_TYPES, "ansible", "ansible_collections"}
    packages = {name.partition(".")[0] for name in modules} - known
    return {DISTRIBUTIONS.get(name, name) for name in packages}


def test_one_package_alone_imports_the_clients_of_ovsdb() -> None:
    found = re.compile(r"^\s*(?:import|from) (?:ovs|ovsdbapp)\b", re.MULTILINE)
    plugins = COLLECTION / "plugins"
    files = [path for path in plugins.rglob("*.py") if found.search(path.read_text(encoding="utf-8"))]
    assert {path.parent.relative_to(plugins).as_posix() for path in files} == {"module_utils/_ovsdb"}


def test_collections_are_those_that_are_used() -> None:
    assert set(galaxy()["dependencies"]) == used_collections()


def test_declared_minimums_are_those_that_are_tested() -> None:
    pinned = requirements("requirements/oldest.txt")
    declared = requirements("meta/ee-requirements.txt")
    assert declared == {name: f">={pinned[name].removeprefix('==')}" for name in declared}
    assert version(pinned["ansible-core"])[:2] == version(requires_ansible())[:2]


def test_roles_need_the_same_ansible_core() -> None:
    for path in (COLLECTION / "roles").glob("*/meta/main.yml"):
        meta = yaml.safe_load(path.read_text(encoding="utf-8"))
        assert version(meta["galaxy_info"]["min_ansible_version"]) == version(requires_ansible())[:2], path


def test_tools_of_this_repository_have_what_plugins_import() -> None:
    for name in ("requirements/venv.txt", "requirements/newest.txt", "requirements/oldest.txt"):
        assert set(requirements("meta/ee-requirements.txt")) <= set(requirements(name)), name


@pytest.mark.parametrize("collection", galaxy()["dependencies"])
def test_installed_collections_are_in_the_declared_range(collection: str) -> None:
    """Those of the oldest ansible are the declared minimum itself."""
    package = importlib.util.find_spec(f"ansible_collections.{collection}")
    assert package is not None
    assert package.submodule_search_locations is not None
    manifest = Path(next(iter(package.submodule_search_locations)), "MANIFEST.json")
    installed = version(json.loads(manifest.read_text(encoding="utf-8"))["collection_info"]["version"])
    limits = dict(re.findall(r"(>=|<)([\d.]+)", galaxy()["dependencies"][collection]))
    assert version(limits[">="]) <= installed
    assert "<" not in limits or installed < version(limits["<"])
    if version(importlib.metadata.version("ansible-core"))[:2] == version(requires_ansible())[:2]:
        assert installed == version(limits[">="])

"""The floors of the house: packages of module_utils import only what lies below them (docs/contributing/architecture.md). Tests are where their files are."""

from __future__ import annotations

import ast
import typing as t
from pathlib import Path

UTILS = Path(__file__).resolve().parents[2] / "plugins" / "module_utils"
TESTS = Path(__file__).resolve().parent / "plugins"
COLLECTION = ["ansible_collections", "c5c3", "ovn", "plugins", "module_utils"]
# From the ground up; those of one tuple do not import one another.
FLOORS: tuple[tuple[str, ...], ...] = (
    ("_base",),
    ("_machine", "_neutron"),
    ("_awx", "_kubernetes", "_ovsdb", "_pki"),
    ("_chassis", "_connectivity_test"),
    ("_raft",),
    ("_daemons",),
    ("_api", "_host"),
    ("_manifests",),
    ("_agent",),
    ("_control_plane", "_hypervisors", "_report", "_roles"),
    ("_precheck",),
    ("_operator",),
)
FLOOR_OF = {package: number for number, packages in enumerate(FLOORS) for package in packages}


def modules() -> dict[str, Path]:
    names = {path: ".".join(path.relative_to(UTILS).with_suffix("").parts) for path in UTILS.rglob("*.py")}
    return {name.removesuffix(".__init__"): path for path, name in names.items()}


def imports(name: str, path: Path, known: t.Container[str]) -> t.Iterator[str]:
    """The modules of ours that a file imports, wherever in the file."""
    package = name.split(".") if path.name == "__init__.py" else name.split(".")[:-1]
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if not isinstance(node, ast.ImportFrom):
            continue
        words = (node.module or "").split(".") if node.module else []
        if node.level or words[: len(COLLECTION)] == COLLECTION:
            base = [*package[: len(package) - node.level + 1], *words] if node.level else words[len(COLLECTION) :]
            for alias in node.names:
                full = ".".join([*base, alias.name])
                yield full if full in known else ".".join(base)


GRAPH = {name: sorted(set(imports(name, path, modules()))) for name, path in modules().items()}


def test_no_import_runs_upwards() -> None:
    upwards = [
        f"{name} imports {other}"
        for name, others in GRAPH.items()
        for other in others
        if name.partition(".")[0] != other.partition(".")[0]
        and FLOOR_OF[name.partition(".")[0]] <= FLOOR_OF[other.partition(".")[0]]
    ]
    assert not upwards


def test_every_package_has_a_floor() -> None:
    assert {name.partition(".")[0] for name in GRAPH} == set(FLOOR_OF)


def test_no_file_imports_itself_by_way_of_others() -> None:
    below: dict[str, set[str]] = {name: set(others) & set(GRAPH) for name, others in GRAPH.items()}
    while True:
        ground = {name for name, others in below.items() if not others}
        if not ground:
            break
        below = {name: others - ground for name, others in below.items() if name not in ground}
    # What is left imports something that is left: cycles, and what lies above them.
    assert not {name: sorted(others) for name, others in below.items()}


# Tests without a file of their own, and what they test instead.
ACROSS_FILES = {
    "module_utils/_manifests/test_every_field_has_an_effect.py": "every field of the schemas, through all that reads it",
    "module_utils/_manifests/test_pod_requests.py": "requests of all containers, through all builders of pods",
    "module_utils/_manifests/test_stop_budget.py": "_base/deadline.py in units, manifests and the launcher",
    "module_utils/_raft/test_adoption.py": "maintenance.py, plan.py and simulate.py with members that others run",
    "module_utils/_raft/test_dead_ends.py": "plan.py and simulate.py in situations that once stopped every run",
    "plugin_utils/test_waits_for.py": "the files of plugins/action that say what a module waits for",
}


def test_a_test_has_the_name_of_what_it_tests() -> None:
    """tests/unit/plugins/FOLDER/test_X.py is for plugins/FOLDER/X.py."""
    tests = {path.relative_to(TESTS) for path in TESTS.rglob("test_*.py")}
    plugins = TESTS.parents[2] / "plugins"
    alone = {
        str(path)
        for path in tests
        if not any((plugins / path.parent / f"{private}{path.stem[5:]}.py").exists() for private in ("", "_"))
    }
    assert alone == set(ACROSS_FILES)

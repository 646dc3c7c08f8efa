"""What messages tell people to set exists, under a name that they can set: roles do not have the options of modules."""

from __future__ import annotations

import ast
import re
import typing as t
from pathlib import Path

import pytest
import yaml
from inventory_names import known_variables

COLLECTION = Path(__file__).resolve().parents[2]
PLUGINS = COLLECTION / "plugins"
TEXTS = {path: path.read_text(encoding="utf-8") for path in COLLECTION.glob("roles/*/tasks/*.yml")}
# Of _daemons: what containers and units run.
SHELL_SCRIPTS = (
    "chassis_launcher.py",
    "flow_restore.py",
    "metadata_agent_launcher.py",
    "raft_file.py",
    "raft_launcher.py",
    "raft_witness.py",
    "relay_launcher.py",
)


def options_of_modules() -> dict[str, set[str]]:
    """The modules that have an option."""
    found: dict[str, set[str]] = {}
    for path in PLUGINS.glob("modules/*.py"):
        documented = re.search(
            r'^DOCUMENTATION = r"""(.*?)"""', path.read_text(encoding="utf-8"), re.DOTALL | re.MULTILINE
        )
        assert documented, path
        for option in yaml.safe_load(documented[1]).get("options") or {}:
            found.setdefault(option, set()).add(path.stem)
    return found


def variables() -> set[str]:
    """What an inventory can set: options of roles, and the variables that their defaults and the code read."""
    specs = [
        yaml.safe_load(path.read_text(encoding="utf-8")) for path in COLLECTION.glob("roles/*/meta/argument_specs.yml")
    ]
    options = {o for spec in specs for entry in spec["argument_specs"].values() for o in entry.get("options") or {}}
    defaults = " ".join(path.read_text(encoding="utf-8") for path in COLLECTION.glob("roles/*/defaults/main.yml"))
    readers = [PLUGINS / "module_utils" / "_base/inventory.py", *PLUGINS.glob("module_utils/_roles/*.py")]
    read = {name for path in readers for name in re.findall(r'"(ovn_\w+)"', path.read_text(encoding="utf-8"))}
    return known_variables() | options | read | set(re.findall(r"\bovn_\w+", defaults)) | {"ovn_verify_report"}


MODULES = {path.stem for path in PLUGINS.glob("modules/*.py")}
# Other options of one word are words of any sentence, too.
OPTIONS = {option: modules for option, modules in options_of_modules().items() if "_" in option or option == "state"}
VARIABLES = variables()
GROUPS = {"ovn_central", "ovn_hypervisors", "ovn_gateways"}
NAMES_OF_NEUTRON = {"ovn_nb_connection", "ovn_sb_connection", "ovn_nb_global"}
ONE = "|".join(sorted(OPTIONS, key=len, reverse=True))
ADVICE = re.compile(
    rf"\b(?:[Ss]et|[Ww]ith|[Uu]se|[Gg]ive|[Rr]aise|[Cc]orrect|a) ((?!state\b)(?:{ONE}))\b|\b({ONE})(?:: |=)(?:true|false|absent|present)\b"
)


def messages(code: str) -> t.Iterator[str]:
    """The texts of a file that are no docstrings; what is filled in is an ellipsis."""
    tree = ast.parse(code)
    inner = {id(part) for node in ast.walk(tree) if isinstance(node, ast.JoinedStr) for part in ast.walk(node)} - {
        id(node) for node in ast.walk(tree) if isinstance(node, ast.JoinedStr)
    }
    inner |= {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    for node in ast.walk(tree):
        if isinstance(node, ast.JoinedStr):
            yield "".join(part.value if isinstance(part, ast.Constant) else "…" for part in node.values)
        elif isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in inner:
            yield node.value


def in_the_code() -> list[tuple[str, str]]:
    """File and message, of all that has words. Launchers are shell."""
    return [
        (str(path.relative_to(PLUGINS)), text)
        for path in sorted(PLUGINS.glob("module_utils/**/*.py"))
        if path.name not in SHELL_SCRIPTS
        for text in messages(path.read_text(encoding="utf-8"))
        if " " in text.strip() and "\n" not in text
    ]


def only_computed(option: str) -> bool:
    """Whether each role that calls a module with this option gives it, and no variable is meant for it: then people cannot and need not."""
    callers = {path.parent for path, text in TEXTS.items() if any(f"c5c3.ovn.{m}:" in text for m in OPTIONS[option])}
    giving = {path.parent for path, text in TEXTS.items() if re.search(rf"^\s+{option}: ", text, re.MULTILINE)}
    return callers <= giving and not any(name.endswith(f"_{option}") for name in VARIABLES)


def misleading(text: str) -> list[str]:
    """Return the options of modules that the text advises without a variable for those who run a role."""
    advised = {first or second for first, second in ADVICE.findall(text)}
    named = set(re.findall(r"\bovn_\w+", text)) & VARIABLES
    return sorted(option for option in advised if not named and not only_computed(option))


def test_variables_in_messages_exist() -> None:
    known = VARIABLES | MODULES | GROUPS | NAMES_OF_NEUTRON
    unknown = [
        (place, name)
        for place, text in in_the_code()
        for name in re.findall(r"\bovn_[a-z_]+[a-z]\b", text)
        if name not in known
    ]
    assert unknown == []


def test_advised_options_of_modules_have_their_variable_beside_them() -> None:
    assert [(place, option, text) for place, text in in_the_code() for option in misleading(text)] == []


@pytest.mark.parametrize(
    ("code", "found"),
    [
        ('raise Refused("Wait, or set break_lock: true.")', ["break_lock"]),
        ('raise Refused("Wait, or set break_lock: true (ovn_break_lock).")', []),
        ('raise Refused("Wait, or set break_lock: true (ovn_nothing_break_lock).")', ["break_lock"]),
        ('raise Refused(f"Run with system_id: {name}, or without it.")', ["system_id"]),
        ('warning(f"{name} is unknown: set expected_members.")', []),
        ('raise Refused("It is there twice. Remove it with state: absent.")', ["state"]),
        ('raise Refused("It is there twice. Remove it with state: absent (ovn_ping_state=absent).")', []),
        ('raise Refused(f"{key} is shared with others; use cms_options.")', ["cms_options"]),
        ('def f():\n    """Set break_lock: true."""', []),
    ],
)
def test_what_is_misleading(code: str, found: list[str]) -> None:
    assert [option for text in messages(code) for option in misleading(text)] == found


def test_the_terminal_of_the_test_bed_finds_every_report() -> None:
    """It shows what follows a task of this name (tests/testbed/terminal.sh), and nothing else of what the playbooks print."""
    terminal = COLLECTION / "tests" / "testbed" / "terminal.sh"
    assert "*'show the report'" in terminal.read_text(encoding="utf-8")
    action = re.compile(r"- name: (.*)\n\s+c5c3\.ovn\.(?:ping|precheck|verify)_report:")
    names = [name for text in TEXTS.values() for name in action.findall(text)]
    assert len(names) >= 2
    assert names == ["Show the report"] * len(names)

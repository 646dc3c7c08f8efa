"""docs/variables.md is what its program writes, and that shows every option readably."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module")
def variables() -> ModuleType:
    spec = importlib.util.spec_from_file_location("docs_variables", ROOT / "docs" / "site" / "variables.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_page_is_up_to_date(variables: ModuleType) -> None:
    written = (ROOT / "docs" / "variables.md").read_text(encoding="utf-8")
    assert written == variables.page(), "run: .venv/bin/python docs/site/variables.py > docs/variables.md"


@pytest.mark.parametrize(
    ("description", "shown"),
    [
        pytest.param("Whether O(ovn_tls) is V(true). More.", "Whether `ovn_tls` is `true`.", id="option and value"),
        pytest.param(["First.", "Second."], "First.", id="a list"),
        pytest.param("As O(c5c3.ovn.ovn_database#module:connections) takes it.", "As `connections` takes it.", id="of a module"),
        pytest.param("Made by P(c5c3.ovn.ovn_pki#role), B(once).", "Made by `c5c3.ovn.ovn_pki`, **once**.", id="plugin, bold"),
        pytest.param(r"One of V(a\)b|c).", r"One of `a)b\|c`.", id="a parenthesis, and a bar in a table"),
    ],
)  # fmt: skip
def test_a_description_becomes_one_sentence_of_markdown(
    variables: ModuleType, description: str | list[str], shown: str
) -> None:
    assert variables.first_sentence(description) == shown


@pytest.mark.parametrize(
    ("sentence", "shown"),
    [
        pytest.param("Whether it is on, if so.", "Whether it is on, if so.", id="short"),
        pytest.param(
            "Networks from which clients may connect to the ports (6641 and 16642), if `ovn_firewall` is `managed` here.",
            "Networks from which clients may connect to the ports.",
            id="parentheses and a clause",
        ),
        pytest.param(
            "Image of the databases, of northd and of ovn-controller with `repository`, `tag`, `digest` and `pullPolicy`.",
            "Image of the databases, of northd and of ovn-controller with `repository`, `tag`, `digest` and `pullPolicy`.",
            id="an enumeration",
        ),
        pytest.param(
            "Listeners, each as `ssl:PORT (a wildcard; or not)` in the order of their names and then of their numbers.",
            "Listeners, each as `ssl:PORT (a wildcard; or not)` in the order of their names and then of their numbers.",
            id="within code",
        ),
    ],
)
def test_long_sentence_ends_before_its_last_clauses(variables: ModuleType, sentence: str, shown: str) -> None:
    assert variables.short_line(sentence) == shown


@pytest.mark.parametrize(
    ("option", "shown"),
    [
        pytest.param({}, "", id="none"),
        pytest.param({"required": True}, "required", id="required"),
        pytest.param({"default": ""}, "", id="empty"),
        pytest.param({"default": False}, "`false`", id="boolean"),
        pytest.param({"default": "host"}, "`host`", id="text"),
        pytest.param({"default": "C(groups['ovn_central'])"}, "`groups['ovn_central']`", id="computed"),
        pytest.param({"default": ["geneve"]}, '`["geneve"]`', id="list"),
    ],
)
def test_a_default_is_shown_as_an_inventory_writes_it(
    variables: ModuleType, option: dict[str, Any], shown: str
) -> None:
    assert variables.default_of(option) == shown

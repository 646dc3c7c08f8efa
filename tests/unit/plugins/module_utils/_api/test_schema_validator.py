from __future__ import annotations

import re
import subprocess
import sys
import typing as t

import jsonschema
import pytest

from ansible_collections.c5c3.ovn.plugins.module_utils._api import schema_validator
from ansible_collections.c5c3.ovn.plugins.module_utils._api.crds import custom_resource_definitions
from ansible_collections.c5c3.ovn.plugins.module_utils._api.fields import listing, record
from ansible_collections.c5c3.ovn.plugins.module_utils._api.schema_validator import validator_class
from ansible_collections.c5c3.ovn.plugins.module_utils._api.validation_messages import MESSAGES
from ansible_collections.c5c3.ovn.plugins.module_utils._base.errors import Refused

Schema = dict[str, t.Any]
ROOTS = [d["spec"]["versions"][0]["schema"]["openAPIV3Schema"] for d in custom_resource_definitions()]
# Keywords that only lead to other schemas, those that say nothing about values, and those that only the API server checks.
LEADING = {"items", "additionalProperties"}
SILENT = {"description", "default", "x-kubernetes-list-map-keys", "x-kubernetes-int-or-string"}
OF_THE_SERVER = {"x-kubernetes-validations", "format"}


def schemas(schema: Schema) -> t.Iterator[Schema]:
    yield schema
    inner = [*schema.get("properties", {}).values(), *(schema[key] for key in sorted(LEADING) if key in schema)]
    for one in inner:
        yield from schemas(one)


ALL = [schema for root in ROOTS for schema in schemas(root)]


def mistakes(schema: Schema, value: t.Any) -> list[tuple[str, list[str | int]]]:
    return [(error.validator, list(error.absolute_path)) for error in validator_class()(schema).iter_errors(value)]


@pytest.mark.parametrize("root", ROOTS, ids=["OVNCluster", "OVNChassis"])
def test_our_schemas_are_schemas(root: Schema) -> None:
    """No run checks them."""
    jsonschema.Draft4Validator.check_schema(root)


def test_every_keyword_of_our_schemas_is_checked_and_has_a_message() -> None:
    used = {keyword for schema in ALL for keyword in schema} - LEADING - SILENT - OF_THE_SERVER
    assert used <= set(validator_class().VALIDATORS)
    assert used == set(MESSAGES)


def test_every_pattern_is_about_the_whole_text() -> None:
    for pattern in {schema["pattern"] for schema in ALL if "pattern" in schema}:
        assert re.fullmatch(r"\^[^$]*\$", pattern), pattern


def test_a_field_that_is_not_declared() -> None:
    inner = record("Inner.", {"a": {"type": "string"}})
    assert mistakes(record("Outer.", {"b": inner}), {"b": {"a": "", "c": 1}}) == [("properties", ["b"])]


@pytest.mark.parametrize(
    ("pattern", "text", "fits"),
    [
        ("^a$", "a", True),
        ("^a$", "a\n", False),
        ("^a$", "ab", False),
        (r"^\w$", "x", True),
        (r"^\w$", "ä", False),
        (r"^[^\s]$", "\u00a0", True),
    ],
)
def test_patterns_are_those_of_go(pattern: str, text: str, fits: bool) -> None:
    assert (not mistakes({"type": "string", "pattern": pattern}, text)) == fits


@pytest.mark.parametrize(
    ("kind", "value", "fits"),
    [
        ("integer", 2, True),
        ("integer", 2.0, False),
        ("integer", True, False),
        ("boolean", 1, False),
        ("object", {"a": 1}, True),
        ("object", {1: "a"}, False),
        ("string", None, False),
    ],
)
def test_types(kind: str, value: t.Any, fits: bool) -> None:
    assert (not mistakes({"type": kind}, value)) == fits


NAMED = record("One.", {"a": {"type": "string"}, "b": {"type": "integer"}})


@pytest.mark.parametrize(
    ("items", "kind", "keys", "value", "places"),
    [
        pytest.param({"type": "string"}, "set", [], ["x", "y"], [], id="a set"),
        pytest.param({"type": "string"}, "set", [], ["x", "y", "x", "x"], [2, 3], id="a set with repetitions"),
        pytest.param({"type": "string"}, "atomic", [], ["x", "x"], [], id="any list"),
        pytest.param(NAMED, "map", ["a"], [{"a": "x", "b": 1}, {"a": "y", "b": 1}], [], id="a map"),
        pytest.param(NAMED, "map", ["a"], [{"a": "x", "b": 1}, {"a": "x", "b": 2}], [1], id="a map with a repetition"),
        pytest.param(NAMED, "map", ["a", "b"], [{"a": "x", "b": 1}, {"a": "x", "b": 2}], [], id="a map with two keys"),
        pytest.param(NAMED, "map", ["a"], [{"b": 1}, {"b": 1}], [], id="items without a name"),
    ],
)
def test_kinds_of_lists(items: Schema, kind: str, keys: list[str], value: list[t.Any], places: list[int]) -> None:
    schema = listing(
        "All.", items, **{"x-kubernetes-list-type": kind, **({"x-kubernetes-list-map-keys": keys} if keys else {})}
    )
    assert mistakes(schema, value) == [("x-kubernetes-list-type", [place]) for place in places]


def test_a_list_that_is_none_is_one_mistake() -> None:
    assert mistakes({"type": "array", "items": {}, "x-kubernetes-list-type": "set"}, "xx") == [("type", [])]


def test_made_once() -> None:
    assert validator_class() is validator_class()


def test_without_the_library_the_message_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    schema_validator.validator_class.cache_clear()
    monkeypatch.setitem(sys.modules, "jsonschema", None)
    with pytest.raises(Refused, match=r"^Cannot check the specification: .* pip install jsonschema$"):
        validator_class()


def test_nothing_is_imported_before_the_first_specification() -> None:
    """A task that reads endpoints or removes a cluster does not pay for it."""
    package = schema_validator.__name__.rpartition(".")[0]
    code = f"import sys, {package}.spec; print(sorted({{'jsonschema', 'kubernetes'}} & set(sys.modules)))"
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60)
    assert result.stdout == "[]\n"

from __future__ import annotations

import re
import subprocess
import sys
import typing as t

import jsonschema
import pytest

from ansible_collections.c5c3.ovn.plugins.module_utils._api import schema_validator
from ansible_collections.c5c3.ovn.plugins.module_utils._api.crds import custom_resource_definitions
from ansible_collections.c5c3.ovn.plugins.module_utils._api.declaration import listing, mapping, number, record, text
from ansible_collections.c5c3.ovn.plugins.module_utils._api.pod_fields import _quantities
from ansible_collections.c5c3.ovn.plugins.module_utils._api.schema_validator import complete, validator_class
from ansible_collections.c5c3.ovn.plugins.module_utils._api.validation_messages import MESSAGES
from ansible_collections.c5c3.ovn.plugins.module_utils._base.errors import InvalidInput, Refused

TYRE = record("One.", {"inches": number("Inches.", 10, 30, default=15), "brand": text("Brand.")})
SCHEMA = record(
    "A car.",
    {
        "engine": record("What moves it.", {"name": text("Its name.", default="V8")}, given=True),
        "tyres": listing("All.", TYRE, 8),
        "extras": mapping("Whatever.", default={"radio": "FM"}),
        "limits": _quantities("What it never exceeds.")["schema"],
        "owner": text("Whose it is."),
    },
)
NOTHING = {"engine": {"name": "V8"}, "extras": {"radio": "FM"}}


@pytest.mark.parametrize(
    ("value", "completed"),
    [
        pytest.param({}, NOTHING, id="defaults"),
        pytest.param({"engine": None, "owner": None}, NOTHING, id="null is not given"),
        pytest.param({"engine": {}}, NOTHING, id="defaults of a field that is there"),
        pytest.param({"engine": {"name": "V6"}, "extras": {}}, {"engine": {"name": "V6"}, "extras": {}}, id="given"),
        pytest.param(
            {"tyres": [{}, {"inches": 12}]}, {**NOTHING, "tyres": [{"inches": 15}, {"inches": 12}]}, id="list"
        ),
        pytest.param({"limits": {"cpu": 2}}, {**NOTHING, "limits": {"cpu": "2"}}, id="a number or a text is a text"),
    ],
)
def test_completed(value: dict[str, t.Any], completed: dict[str, t.Any]) -> None:
    assert complete(SCHEMA, value, "car") == completed


def test_neither_the_value_nor_the_schema_is_changed() -> None:
    value: dict[str, t.Any] = {"tyres": [{"brand": None}]}
    completed = complete(SCHEMA, value, "car")
    completed["extras"]["radio"] = completed["tyres"][0]["inches"] = None
    assert value == {"tyres": [{"brand": None}]}
    assert complete(SCHEMA, {}, "car") == NOTHING


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ({"colour": None}, r"^car\.colour is no field of the resource\. Known are "),
        ({"extras": {"radio": None}}, r"^car\.extras\[radio\] is None, but it has to be a text\.$"),
        ({"tyres": [None]}, r"^car\.tyres\[0\] is None, but it has to be a mapping\.$"),
        ({"limits": {"cpu": True}}, r"^car\.limits\[cpu\] is True, but it has to be a text\. Put it in quotes\.$"),
        ({"limits": {"cpu": 1.5}}, r"^car\.limits\[cpu\] is 1\.5, but it has to be a text\. Put it in quotes\.$"),
        ([], r"^car is \[\], but it has to be a mapping\.$"),
    ],
)
def test_what_completing_leaves_alone_is_refused(value: t.Any, message: str) -> None:
    with pytest.raises(InvalidInput, match=message):
        complete(SCHEMA, value, "car")


def test_all_mistakes_at_once() -> None:
    with pytest.raises(InvalidInput) as e:
        complete(SCHEMA, {"tyres": [{"inches": 40}], "engine": {"name": 8}, "owners": "me"}, "car")
    assert str(e.value) == (
        "car.owners is no field of the resource. Did you mean owner? "
        "car.engine.name is 8, but it has to be a text. Put it in quotes. "
        "car.tyres[0].inches is 40. Use 10 to 30: Inches."
    )


def test_many_mistakes_are_counted() -> None:
    with pytest.raises(InvalidInput, match=r"tyres\[4\]\.inches is 9\. .*Inches\. There are 2 more mistakes\.$") as e:
        complete(SCHEMA, {"tyres": [{"inches": 9}] * 7}, "car")
    assert str(e.value).count("inches is 9") == 5


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

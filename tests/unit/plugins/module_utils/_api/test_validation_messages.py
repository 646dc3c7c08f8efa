from __future__ import annotations

import typing as t

import pytest

from ansible_collections.c5c3.ovn.plugins.module_utils._api.declaration import listing, mapping, number, record, text
from ansible_collections.c5c3.ovn.plugins.module_utils._api.schema_validator import validator_class
from ansible_collections.c5c3.ovn.plugins.module_utils._api.validation_messages import (
    MESSAGES,
    format_value,
    list_mistakes,
    nearest,
)

Schema = dict[str, t.Any]
SET = {"x-kubernetes-list-type": "set"}
# Keyword, schema, value, message
ONE_OF_EACH: list[tuple[str, Schema, t.Any, str]] = [
    ("type", text("A."), 1, "x is 1, but it has to be a text. Put it in quotes."),
    ("type", text("A."), [], "x is [], but it has to be a text."),
    ("type", {"type": "boolean"}, "no", 'x is "no", but it has to be true or false.'),
    ("type", mapping("A."), {2: "b"}, "x has the key 2, which is no text. Put it in quotes."),
    (
        "anyOf",
        {"anyOf": [{"type": "integer"}, {"type": "string"}]},
        1.5,
        "x is 1.5, but it has to be a text. Put it in quotes.",
    ),
    (
        "properties",
        record("A.", {"name": text("B.")}),
        {"nam": ""},
        "x.nam is no field of the resource. Did you mean name?",
    ),
    (
        "required",
        record("A.", {"name": text("Its name."), "age": text("Its age.")}, required=["name", "age"]),
        {},
        "x.name is missing. Set it: Its name. x.age is missing. Set it: Its age.",
    ),
    (
        "maxProperties",
        mapping("A.", maxProperties=1),
        {"a": "", "b": ""},
        "x has 2 entries, at most 1 are possible. Remove some.",
    ),
    ("maxItems", listing("A.", text("B."), 1), ["a", "b"], "x has 2 entries, at most 1 are possible. Remove some."),
    (
        "x-kubernetes-list-type",
        listing("A.", text("B."), **SET),
        ["a", "b", "a"],
        "x[2] repeats a. Remove one of the two.",
    ),
    ("enum", text("A.", enum=["a", "b"]), "c", 'x is "c". Use one of "a", "b".'),
    ("minimum", number("Of them.", 1, 9), 0, "x is 0. Use 1 to 9: Of them."),
    ("maximum", {"type": "integer", "minimum": 1, "maximum": 9}, 10, "x is 10. Use 1 to 9"),
    ("minLength", text("A.", minLength=1), "", "x is empty. Leave it out for the default, or set it: A."),
    ("maxLength", text("A.", maxLength=1), "ab", "x has 2 characters. Use at most 1."),
    ("pattern", text("A.", pattern="^a$"), "b", 'x is "b", which does not have the form ^a$. A.'),
]


def mistakes(schema: Schema, value: t.Any) -> list[str]:
    return list_mistakes(schema, "x", validator_class()(schema).iter_errors(value))


@pytest.mark.parametrize(("schema", "value", "message"), [row[1:] for row in ONE_OF_EACH])
def test_message(schema: Schema, value: t.Any, message: str) -> None:
    assert mistakes(schema, value) == [message]


def test_every_keyword_is_here() -> None:
    assert [keyword for keyword in MESSAGES if keyword not in {row[0] for row in ONE_OF_EACH}] == []


@pytest.mark.parametrize(
    ("schema", "value", "message"),
    [
        pytest.param(text("A.", enum=["a"]), 1, "has to be a text", id="of another type"),
        pytest.param(text("A.", pattern="^a$", maxLength=2), "bbb", "has 3 characters", id="too long"),
        pytest.param(
            record("A.", {"name": text("B.")}, required=["name"]), {"nam": ""}, "Did you mean name", id="misspelt"
        ),
    ],
)
def test_one_message_for_a_place(schema: Schema, value: t.Any, message: str) -> None:
    [only] = mistakes(schema, value)
    assert message in only


def test_paths() -> None:
    tyre = record("One.", {"nuts": mapping("By name.")})
    car = record("A car.", {"tyres": listing("All.", tyre, 20), "extras": mapping("Whatever.")})
    value = {"tyres": [{"nuts": {}}] * 10 + [{"nuts": {"a b": 1}}], "extras": {"b": 1, "a": 1}}
    value["tyres"][2] = 7
    assert [message.partition(" is ")[0] for message in mistakes({**car, "maxProperties": 1}, value)] == [
        "x has 2 entries, at most 1 are possible. Remove some.",
        "x.extras[a]",
        "x.extras[b]",
        "x.tyres[2]",
        "x.tyres[10].nuts[a b]",
    ]


@pytest.mark.parametrize(
    ("name", "hint"),
    [
        ("bridge_mappings", "Did you mean bridgeMappings?"),
        ("Replica", "Did you mean replicas?"),
        ("qqqq", "Known are bridgeMappings, replicas."),
    ],
)
def test_nearest(name: str, hint: str) -> None:
    assert nearest(name, ["replicas", "bridgeMappings"]) == hint


@pytest.mark.parametrize(
    ("value", "shown"),
    [("a", '"a"'), (1, "1"), ([True], "[True]"), ("a" * 79, f'"{"a" * 76}...'), ("a" * 78, f'"{"a" * 78}"')],
)
def test_format_value(value: t.Any, shown: str) -> None:
    assert format_value(value) == shown

from __future__ import annotations

import dataclasses
import typing as t
from dataclasses import field

import pytest

from ansible_collections.c5c3.ovn.plugins.module_utils._api import pod_fields, spec
from ansible_collections.c5c3.ovn.plugins.module_utils._api.declaration import (
    declare,
    key_of,
    list_reader,
    listing,
    mapping,
    number,
    optional_part,
    part,
    read,
    record,
    schema_of,
    text,
)
from ansible_collections.c5c3.ovn.plugins.module_utils._api.schema_validator import complete
from ansible_collections.c5c3.ovn.plugins.module_utils._base.errors import InvalidInput


@dataclasses.dataclass(frozen=True)
class Wheel:
    tyre_size: int = field(metadata=declare(number("Inches.", 10, 30), required=True))


@dataclasses.dataclass(frozen=True)
class Engine:
    name: str = field(metadata=declare(text("Its name.", default="V8")))
    serial: str | None = field(metadata=declare(text("Its number.")))


@dataclasses.dataclass(frozen=True)
class Car:
    owner: str
    engine: Engine = field(metadata=part(Engine, "What moves it.", given=True))
    spare_engine: Engine = field(metadata=part(Engine, "What moves it later."))
    towed_wheel: Wheel | None = field(metadata=optional_part(Wheel, "One more."))
    wheels: tuple[Wheel, ...] = field(metadata=declare(listing("All.", schema_of(Wheel, "One.")), list_reader(Wheel)))
    seat_rows: tuple[int, ...] = field(metadata=declare(listing("Seats of each row.", number("Seats.", 1, 3))))
    extras: t.Mapping[str, str] = field(metadata=declare(mapping("Whatever.")))
    load: str = field(metadata=declare(text("Load.", default="1Ki"), pod_fields.quantity))


SCHEMA = schema_of(Car, "A car.", given=True)


def drive(raw: dict[str, t.Any]) -> Car:
    return read(Car, complete(SCHEMA, raw, "car"), "car", owner="me")


def test_schema_is_what_the_fields_say() -> None:
    assert schema_of(Wheel, "One.") == record("One.", {"tyreSize": number("Inches.", 10, 30)}, required=["tyreSize"])
    assert list(SCHEMA["properties"])[:3] == ["engine", "spareEngine", "towedWheel"]
    assert SCHEMA["default"] == {"engine": {"name": "V8"}, "load": "1Ki"}


def test_what_nobody_gives() -> None:
    assert drive({}) == Car("me", Engine("V8", None), Engine(None, None), None, (), (), {}, "1Ki")


def test_what_somebody_gives() -> None:
    raw = {
        "engine": {"serial": "1"},
        "spareEngine": {},
        "towedWheel": {"tyreSize": 11},
        "wheels": [{"tyreSize": 12}],
        "seatRows": [2, 3],
        "extras": {"a": "b"},
        "load": "2048",
    }
    expected = Car("me", Engine("V8", "1"), Engine("V8", None), Wheel(11), (Wheel(12),), (2, 3), {"a": "b"}, "2048")
    assert drive(raw) == expected


def test_a_reader_names_the_path() -> None:
    with pytest.raises(InvalidInput, match=r"^car\.load: "):
        drive({"load": "much"})


def test_keys() -> None:
    assert [key_of(name) for name in ("tls", "priority_class_name")] == ["tls", "priorityClassName"]


def declared_classes(kind: type, found: list[type]) -> list[type]:
    """The class and every class of its fields."""
    if dataclasses.is_dataclass(kind) and kind not in found:
        found.append(kind)
        for hint in t.get_type_hints(kind).values():
            for inner in (hint, *t.get_args(hint)):
                if isinstance(inner, type):
                    declared_classes(inner, found)
    return found


# How `t.get_args` has the None of `int | None`.
NONE = t.get_args(t.Optional[int])[1]
OF_TYPE = {"string": str, "integer": int, "boolean": bool}


@pytest.mark.parametrize("kind", declared_classes(spec.ClusterSpec, []), ids=lambda kind: kind.__name__)
def test_annotations_fit_the_schema(kind: type) -> None:
    """mypy believes the annotation, the API server the schema."""
    hints = t.get_type_hints(kind)
    for own in dataclasses.fields(kind):
        if not own.metadata:
            continue
        schema, hint = own.metadata["schema"], hints[own.name]
        inner = {None if one is NONE else one for one in t.get_args(hint)} or {hint}
        # A number that may be a percentage is read as text.
        kind = schema.get("type", "string")
        if kind in OF_TYPE and t.get_origin(hint) is t.Literal:
            assert list(t.get_args(hint)) == schema["enum"], own.name
        elif kind in OF_TYPE:
            always = "default" in schema or own.metadata["required"]
            assert inner == {OF_TYPE[kind]} | (set() if always else {None}), own.name
        elif kind == "array":
            assert t.get_origin(hint) is tuple, own.name
        elif "additionalProperties" in schema:
            inner_map = "additionalProperties" in schema["additionalProperties"]
            assert hint == (t.Mapping[str, t.Mapping[str, str]] if inner_map else t.Mapping[str, str]), own.name
        else:
            assert inner - {None} == {own.metadata["read"].args[0]}, own.name
            assert (None in inner) == (own.metadata["absent"] is None), own.name

from __future__ import annotations

import typing as t

import pytest

from ansible_collections.c5c3.ovn.plugins.module_utils._api.fields import listing, mapping, number, record, text
from ansible_collections.c5c3.ovn.plugins.module_utils._api.pod_fields import _quantities
from ansible_collections.c5c3.ovn.plugins.module_utils._api.validation import complete
from ansible_collections.c5c3.ovn.plugins.module_utils._base.errors import InvalidInput

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

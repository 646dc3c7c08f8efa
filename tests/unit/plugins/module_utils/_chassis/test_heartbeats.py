from __future__ import annotations

import pytest

from ansible_collections.c5c3.ovn.plugins.module_utils._chassis.heartbeats import (
    RollCall,
    describe_chassis,
    late_names,
)
from ansible_collections.c5c3.ovn.plugins.module_utils._chassis.southbound_rows import ChassisRow, PrivateRow


def row(name: str, **settings: str) -> ChassisRow:
    settings = {key.replace("_", "-"): value for key, value in settings.items()}
    return ChassisRow(
        name,
        f"{name}.example.com",
        frozenset({("vxlan", "192.0.2.1"), ("geneve", "192.0.2.1")}),
        settings,
        ("z2", "z1"),
    )


LATEST = 6

CASES: list[tuple[str, list[ChassisRow], list[PrivateRow] | None, int | None, dict[str, bool | None], list[str]]] = [
    ("nobody", [], [], 5, {}, []),
    ("who repeats the number is alive", [row("a")], [PrivateRow("a", 5, 1)], 5, {"a": True}, []),
    ("who is further is alive", [row("a")], [PrivateRow("a", 6, 1)], 5, {"a": True}, []),
    ("an answer above the latest is from before the database was created again", [row("a")], [PrivateRow("a", 900, 1)], 5, {"a": False}, ["a"]),
    ("an old version answers above the latest", [ChassisRow("a", "a", nb_cfg=900)], None, 5, {"a": False}, ["a"]),
    ("who is behind is late", [row("a")], [PrivateRow("a", 4, 1)], 5, {"a": False}, ["a"]),
    ("who never answered is late", [row("a")], [], 5, {"a": False}, ["a"]),
    ("a left-over is late", [], [PrivateRow("a", 5, 1)], 5, {"a": False}, ["a"]),
    ("another zone never answers", [row("a", is_remote="true")], [], 5, {"a": False}, []),
    ("nobody can tell", [row("a")], [PrivateRow("a", 0, 0)], None, {"a": None}, []),
    ("an old version answers in its own row", [ChassisRow("a", "a", nb_cfg=5)], None, 5, {"a": True}, []),
]  # fmt: skip


@pytest.mark.parametrize(
    ("chassis", "private", "expected", "alive", "late"), [case[1:] for case in CASES], ids=[case[0] for case in CASES]
)
def test_alive(
    chassis: list[ChassisRow],
    private: list[PrivateRow] | None,
    expected: int | None,
    alive: dict[str, bool | None],
    late: list[str],
) -> None:
    entries = describe_chassis(chassis, private, expected, LATEST)
    assert {entry["name"]: entry["alive"] for entry in entries} == alive
    assert late_names(entries) == late


def test_a_roll_call_looks_at_all_only_when_nobody_known_is_late() -> None:
    late = {f"c{number}" for number in range(1000)}
    looks, questions = 0, 0

    def look() -> list[str]:
        nonlocal looks
        looks += 1
        return sorted(late)

    def is_late(name: str) -> bool:
        nonlocal questions
        questions += 1
        return name in late

    roll_call = RollCall(look, is_late)
    for name in sorted(late):
        assert not roll_call.complete()
        late.remove(name)
    late.add("new")
    assert not roll_call.complete()
    late.remove("new")
    assert roll_call.complete()
    assert looks == 3
    assert questions < 3000


def test_a_roll_call_asks_again_where_one_row_does_not_tell() -> None:
    answers = [["a"], ["a"], []]
    roll_call = RollCall(lambda: answers.pop(0), lambda _name: False)
    assert [roll_call.complete() for _look in range(3)] == [False, False, True]


def test_an_entry_has_everything() -> None:
    settings = {
        "ovn_bridge_mappings": "physnet1:br-ex",
        "ovn_cms_options": " enable-chassis-as-gw , availability-zones=a:b,",
    }
    assert describe_chassis([row("a", **settings)], [PrivateRow("a", 5, 1795164164353)], 5, LATEST) == [
        {
            "name": "a",
            "hostname": "a.example.com",
            "registered": True,
            "alive": True,
            "remote": False,
            "nb_cfg": 5,
            "nb_cfg_timestamp": 1795164164353,
            "encapsulations": [{"type": "geneve", "ip": "192.0.2.1"}, {"type": "vxlan", "ip": "192.0.2.1"}],
            "bridge_mappings": [{"physical_network": "physnet1", "bridge": "br-ex"}],
            "gateway": True,
            "cms_options": ["enable-chassis-as-gw", "availability-zones=a:b"],
            "transport_zones": ["z1", "z2"],
        }
    ]

from __future__ import annotations

import json
import typing as t

import pytest

from ansible_collections.c5c3.ovn.plugins.module_utils._base.errors import InvalidInput, Refused
from ansible_collections.c5c3.ovn.plugins.module_utils._chassis.bridges import Bridge, BridgePlan, BridgePort
from ansible_collections.c5c3.ovn.plugins.module_utils._chassis.operations import Rows, operations
from ansible_collections.c5c3.ovn.plugins.module_utils._chassis.ownership import KEY, Owned, parse_owned
from ansible_collections.c5c3.ovn.plugins.module_utils._chassis.plan import (
    ChassisPlan,
    ObservedChassis,
    Ssl,
    desired_chassis,
    diff_of,
    make_plan,
)
from ansible_collections.c5c3.ovn.plugins.module_utils._chassis.southbound_removal import plan_absent

TLS = {"private_key": "/k", "certificate": "/c", "ca_certificate": "/a"}


def record(**parts: list[str]) -> str:
    text = Owned(**{name: frozenset(value) for name, value in parts.items()}).to_text()
    assert text
    return text


def after(actual: t.Mapping[str, str], changes: t.Mapping[str, str | None]) -> dict[str, str]:
    return {key: value for key, value in {**actual, **changes}.items() if value is not None}


@pytest.mark.parametrize(
    ("params", "actual", "result"),
    [
        pytest.param({}, {"a": "1"}, {"a": "1"}, id="no option, no change"),
        pytest.param(
            {"external_ids": {"a": True}},
            {"b": "1"},
            {"a": "true", "b": "1", KEY: record(external_ids=["a"])},
            id="a key of others survives",
        ),
        pytest.param(
            {"external_ids": {"a": "1"}},
            {"a": "1"},
            {"a": "1", KEY: record(external_ids=["a"])},
            id="what a task names is ours, even if another client wrote it first",
        ),
        pytest.param({"external_ids": {"a": None}}, {"a": "1"}, {}, id="null removes a key, also of another client"),
        pytest.param(
            {"external_ids": {"a": ""}},
            {"a": "1"},
            {"a": "", KEY: record(external_ids=["a"])},
            id="an empty text is a value of a free key",
        ),
        pytest.param(
            {"external_ids": {"a": None}},
            {"a": "1", "b": "2", KEY: record(external_ids=["a", "b"])},
            {"b": "2", KEY: record(external_ids=["b"])},
            id="a removed key leaves the record",
        ),
        pytest.param(
            {"external_ids": {"c": "3"}},
            {"a": "1", "b": "2", KEY: record(external_ids=["a"])},
            {"a": "1", "b": "2", "c": "3", KEY: record(external_ids=["a", "c"])},
            id="the record grows",
        ),
        pytest.param(
            {"external_ids": {"c": "3"}, "purge": True},
            {"a": "1", "b": "2", KEY: record(external_ids=["a"])},
            {"b": "2", "c": "3", KEY: record(external_ids=["c"])},
            id="purge takes our keys that are not named",
        ),
        pytest.param(
            {"purge": True},
            {"a": "1", "ovn-cms-options": "x,t", KEY: record(external_ids=["a"], cms_options=["t"])},
            {"ovn-cms-options": "x"},
            id="purge of everything",
        ),
        pytest.param(
            {"purge": True}, {"a": "1", KEY: "{broken"}, {"a": "1"}, id="a damaged record owns nothing and is removed"
        ),
        pytest.param(
            {"gateway": True, "external_ids": {"k": 1.5}},
            {"ovn-cms-options": "x"},
            {
                "ovn-cms-options": "x,enable-chassis-as-gw",
                "k": "1.5",
                KEY: record(external_ids=["k"], cms_options=["enable-chassis-as-gw"]),
            },
            id="tokens are merged",
        ),
    ],
)
def test_external_ids(params: dict[str, t.Any], actual: dict[str, str], result: dict[str, str]) -> None:
    desired = desired_chassis(params)
    plan = make_plan(desired, ObservedChassis(external_ids=actual))
    assert after(actual, plan.external_ids) == result
    assert make_plan(desired, ObservedChassis(external_ids=result)).empty
    diff = diff_of(plan, ObservedChassis(external_ids=actual))
    for side, values in (("before", actual), ("after", result)):
        shown = diff[side].get("external_ids", {})
        assert shown == {key: values[key] for key in plan.external_ids if key in values and key != KEY}


GIVEN = {
    "system_id": "c1",
    "encapsulation": {"ip": ["192.0.2.1"]},
    "gateway": True,
    "external_ids": {"ct-zone-range": "1-9"},
}
SPECIFIC = {"ovn-encap-ip-c1": "192.0.2.9", "ovn-cms-options-c1": "x", "ct-zone-range-c1": "1-5"}


@pytest.mark.parametrize(
    ("params", "stored", "removed"),
    [
        pytest.param({}, {"ovn-encap-ip-c1": "192.0.2.1", "ovn-cms-options-c1": "enable-chassis-as-gw"}, [], id="same"),
        pytest.param({}, {"ovn-encap-ip-c2": "192.0.2.9"}, [], id="of another chassis"),
        pytest.param({}, {"ovn-remote-c1": "tcp:a:1"}, [], id="not a key of the task"),
        pytest.param({"purge": True}, SPECIFIC, sorted(SPECIFIC), id="removed"),
        pytest.param(
            {"external_ids": {"ovn-encap-ip-c1": None, "ovn-cms-options-c1": "y"}},
            SPECIFIC,
            ["ovn-encap-ip-c1"],
            id="named",
        ),
    ],
)
def test_keys_of_this_chassis_alone(params: dict[str, t.Any], stored: dict[str, str], removed: list[str]) -> None:
    plan = make_plan(desired_chassis({**GIVEN, **params}), ObservedChassis(stored))
    assert sorted(key for key, value in plan.external_ids.items() if value is None) == removed


@pytest.mark.parametrize("key", SPECIFIC)
@pytest.mark.parametrize("params", [{}, {"purge": True, "preserve_foreign": True}], ids=["no purge", "foreign"])
def test_key_that_ovn_controller_would_read_instead_is_refused(key: str, params: dict[str, t.Any]) -> None:
    with pytest.raises(Refused, match=f"{key} is {SPECIFIC[key]} and replaces") as caught:
        make_plan(desired_chassis({**GIVEN, **params}), ObservedChassis({key: SPECIFIC[key]}))
    assert "Nothing was written" in str(caught.value)


def test_the_diff_has_the_record_only_if_nothing_else_differs() -> None:
    actual = {"a": "1", "b": "2", KEY: record(external_ids=["b"])}
    plan = make_plan(desired_chassis({"external_ids": {"a": "1"}}), ObservedChassis(external_ids=actual))
    recorded = {"before": {"recorded": {"external_ids": ["b"]}}, "after": {"recorded": {"external_ids": ["a", "b"]}}}
    assert diff_of(plan, ObservedChassis(external_ids=actual)) == recorded


def test_other_config_has_its_own_record() -> None:
    actual = ObservedChassis(other_config={"x": "1"}, external_ids={KEY: record(other_config=["x"])})
    plan = make_plan(desired_chassis({"other_config": {"y": 2}, "purge": True}), actual)
    assert plan.other_config == {"x": None, "y": "2"}
    assert parse_owned(plan.external_ids[KEY]).other_config == {"y"}


@pytest.mark.parametrize(
    ("params", "words"),
    [
        ({"external_ids": {"system-id": "a"}, "system_id": "b"}, "option of its own"),
        ({"external_ids": {"ovn-remote": "ssl://192.0.2.1:6642"}}, "Use remote."),
        ({"external_ids": {"ovn-bridge-mappings": "a:b, c:d"}}, "Use bridge_mappings."),
        ({"external_ids": {"ovn-cms-options": "a"}}, "cms_options"),
        ({"external_ids": {KEY: "a"}}, "record"),
        ({"external_ids": {"": "a"}}, "empty key"),
        ({"external_ids": {"a": ["b"]}}, "list"),
        ({"external_ids": {"a": {"b": 1}}}, "dict"),
        ({"external_ids": {"a": "b\0"}}, "NUL"),
        ({"external_ids": {"a\0": "b"}}, "NUL"),
        ({"other_config": {"a": "\udcff"}}, "UTF-8"),
        ({"private_key": "/k"}, "certificate is missing"),
        ({**TLS, "certificate": ""}, "certificate is missing"),
        pytest.param({"encapsulation": {"ip": [""]}}, "encapsulation.ip is an empty text", id="an empty address"),
        pytest.param({"encapsulation": {"type": [""]}}, "would have no tunnels", id="an empty type"),
    ],
)
def test_options_that_are_refused(params: dict[str, t.Any], words: str) -> None:
    with pytest.raises(InvalidInput) as caught:
        desired_chassis(params)
    assert words in str(caught.value)


def test_an_empty_text_for_a_list_is_an_empty_list() -> None:
    params = {"remote": [""], "cms_options": [""], "transport_zones": [""]}
    desired = desired_chassis(params)
    assert {key: value.text for key, value in desired.external_ids.items()} == {
        "ovn-remote": None,
        "ovn-transport-zones": None,
    }
    assert desired.cms.tokens == ()


LIVE = {"system-id": "old", "ovn-remote": "tcp:a:1"}


@pytest.mark.parametrize(
    ("params", "actual", "refused"),
    [
        ({"system_id": "new"}, LIVE, True),
        ({"system_id": ""}, LIVE, True),
        ({"purge": True}, {**LIVE, KEY: record(external_ids=["system-id"])}, True),
        ({"system_id": "new", "allow_rename": True}, LIVE, False),
        ({"system_id": "old"}, LIVE, False),
        ({"system_id": "new"}, {"system-id": "old"}, False),
        ({"system_id": "new"}, {"ovn-remote": "tcp:a:1"}, False),
    ],
)
def test_a_live_chassis_is_not_renamed(params: dict[str, t.Any], actual: dict[str, str], refused: bool) -> None:
    desired = desired_chassis(params)
    if refused:
        with pytest.raises(Refused, match="ovn-appctl -t ovn-controller exit"):
            make_plan(desired, ObservedChassis(external_ids=actual))
    else:
        make_plan(desired, ObservedChassis(external_ids=actual))


@pytest.mark.parametrize(
    ("params", "actual", "planned"),
    [
        (TLS, None, Ssl("/k", "/c", "/a")),
        (TLS, Ssl("/k", "/c", "/a", ours=False), None),
        (TLS, Ssl("/k", "/c", "/b"), Ssl("/k", "/c", "/a")),
        ({}, Ssl("/k", "/c", "/b"), None),
        (dict.fromkeys(TLS, ""), Ssl("/k", "/c", "/b"), "absent"),
        (dict.fromkeys(TLS, ""), None, None),
    ],
)
def test_ssl(params: dict[str, t.Any], actual: Ssl | None, planned: t.Any) -> None:
    assert make_plan(desired_chassis(params), ObservedChassis(ssl=actual)).ssl == planned


def test_absent_takes_away_what_is_ours() -> None:
    owned = record(external_ids=["a", "gone"], other_config=["o"], cms_options=["t"])
    actual = ObservedChassis(
        external_ids={"a": "1", "b": "2", "ovn-cms-options": "t,x", KEY: owned},
        other_config={"o": "1", "p": "2"},
        bridges={"br": Bridge("", frozenset({"br"}), True)},
        ports={"br": BridgePort("br")},
        ssl=Ssl("/k", "/c", "/a"),
    )
    plan = plan_absent(actual)
    assert after(actual.external_ids, plan.external_ids) == {"b": "2", "ovn-cms-options": "x"}
    assert plan.other_config == {"o": None}
    assert plan.bridges.old_bridges == ["br"]
    assert plan.ssl == "absent"
    assert plan_absent(ObservedChassis(external_ids={"b": "2"}, ssl=Ssl("/k", "/c", "/a", ours=False))).empty


def test_the_diff_of_bridges_and_paths() -> None:
    actual = ObservedChassis(bridges={"br-a": Bridge("")}, ssl=Ssl("/k", "/old", "/a"))
    params = {
        **TLS,
        "bridges": [
            {"name": "br-a", "datapath_type": "netdev", "ports": ["eth1"]},
            {"name": "br-b", "datapath_type": "netdev"},
        ],
    }
    assert diff_of(make_plan(desired_chassis(params), actual), actual) == {
        "before": {"bridges": {"br-a": {"ports": [], "datapath_type": "system"}}, "ssl": {"certificate": "/old"}},
        "after": {
            "bridges": {
                "br-a": {"ports": ["eth1"], "datapath_type": "netdev"},
                "br-b": {"datapath_type": "netdev", "ports": []},
            },
            "ssl": {"certificate": "/c"},
        },
    }


ROWS = Rows("r", {"external_ids": ["map", []], "other_config": ["map", []]}, {"br-a": "u"}, {}, {}, None)


def test_one_transaction_guards_what_it_decided_upon() -> None:
    bridges = BridgePlan({"br-b": "netdev"}, {}, {"eth1": "br-a", "eth2": "br-b"}, [], {})
    plan = ChassisPlan({"a": "1", "b": None}, {}, bridges, Ssl("/k", "/c", "/a"), [])
    written = operations(plan, ROWS)
    assert [(op["op"], op.get("table")) for op in written] == [
        ("wait", "Open_vSwitch"),
        ("insert", "Interface"),
        ("insert", "Port"),
        ("insert", "Interface"),
        ("insert", "Port"),
        ("insert", "Bridge"),
        ("insert", "Interface"),
        ("insert", "Port"),
        ("mutate", "Bridge"),
        ("insert", "SSL"),
        ("update", "Open_vSwitch"),
        ("mutate", "Open_vSwitch"),
        ("comment", None),
        ("select", "Open_vSwitch"),
    ]
    names = [op["uuid-name"] for op in written if op["op"] == "insert"]
    assert len(names) == len(set(names))
    (root,) = (op for op in written if op["op"] == "mutate" and op["table"] == "Open_vSwitch")
    assert root["mutations"][0] == ["external_ids", "delete", ["set", ["a", "b"]]]
    assert root["mutations"][1] == ["external_ids", "insert", ["map", [["a", "1"]]]]
    assert root["mutations"].count(["next_cfg", "+=", 1]) == 1
    json.dumps(written)

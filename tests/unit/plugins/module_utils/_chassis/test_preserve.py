"""An Open vSwitch of somebody else: what is refused, what is kept, what is recorded as ours."""

from __future__ import annotations

import typing as t

import pytest

from ansible_collections.c5c3.ovn.plugins.module_utils._base.errors import Refused
from ansible_collections.c5c3.ovn.plugins.module_utils._chassis.bridges import Bridge, BridgePort
from ansible_collections.c5c3.ovn.plugins.module_utils._chassis.ownership import KEY, parse_owned
from ansible_collections.c5c3.ovn.plugins.module_utils._chassis.plan import ObservedChassis, desired_chassis, make_plan
from ansible_collections.c5c3.ovn.plugins.module_utils._chassis.southbound_removal import plan_absent

MAPPING = [{"physical_network": "physnet1", "bridge": "br-ex"}]


def options(**more: t.Any) -> dict[str, t.Any]:
    return {"preserve_foreign": True, "system_id": "ch1", "remote": ["tcp:192.0.2.11:6642"], **more}


def stored(**keys: str) -> ObservedChassis:
    return ObservedChassis(external_ids=keys)


def after(plan: t.Any, actual: ObservedChassis) -> dict[str, str]:
    return {key: value for key, value in {**actual.external_ids, **plan.external_ids}.items() if value is not None}


def test_our_keys_come_and_go_and_theirs_stay() -> None:
    actual = ObservedChassis(external_ids={"system-id": "ch1", "theirs": "1", "ovn-cms-options": "theirs"})
    desired = desired_chassis(options(gateway=True))
    first = after(make_plan(desired, actual), actual)
    assert parse_owned(first[KEY]).external_ids == {"ovn-remote"}
    second = ObservedChassis(external_ids=first, bridges={"br-int": Bridge()})
    assert make_plan(desired, second).empty
    assert after(plan_absent(second), second) == actual.external_ids


def test_a_chassis_is_known_also_where_all_its_keys_were_there() -> None:
    actual = ObservedChassis(external_ids={"system-id": "ch1", "ovn-remote": "tcp:192.0.2.11:6642"})
    desired = desired_chassis(options())
    first = after(make_plan(desired, actual), actual)
    assert make_plan(desired, ObservedChassis(external_ids=first, bridges={"br-int": Bridge()})).empty
    assert after(plan_absent(ObservedChassis(external_ids=first)), ObservedChassis(external_ids=first)) == dict(
        actual.external_ids
    )


@pytest.mark.parametrize(
    ("given", "actual", "message"),
    [
        pytest.param(
            {}, {"ovn-remote": "tcp:203.0.113.1:6642"}, "ovn-remote is tcp:203.0.113.1:6642, not tcp:192.0.2.11:6642",
            id="another control plane",
        ),
        pytest.param({}, {"system-id": "1f0c"}, "the chassis can have the name 1f0c (ovn_system_id", id="another name"),
        pytest.param(
            {"external_ids": {"theirs": None}}, {"theirs": "1"}, "theirs is 1, not absent", id="a key to be removed"
        ),
    ],
)  # fmt: skip
def test_a_key_of_others_is_never_overwritten(given: dict[str, t.Any], actual: dict[str, str], message: str) -> None:
    with pytest.raises(Refused) as caught:
        make_plan(desired_chassis(options(**given)), stored(**actual))
    assert message in str(caught.value)
    assert "Nothing was written." in str(caught.value)
    make_plan(desired_chassis({**options(**given), "preserve_foreign": False}), stored(**{"ovn-x": "1"}))


def test_other_config_of_others() -> None:
    actual = ObservedChassis(other_config={"stats-update-interval": "5000"})
    with pytest.raises(Refused, match="stats-update-interval is 5000, not 10000"):
        make_plan(desired_chassis(options(other_config={"stats-update-interval": 10000})), actual)


@pytest.mark.parametrize(
    ("given", "bridges", "message"),
    [
        pytest.param({"bridge_mappings": MAPPING}, {}, "Bridge br-ex does not exist, and only bridge_mappings", id="new"),
        pytest.param({"bridge_mappings": MAPPING, "bridges": [{"name": "br-ex"}]}, {}, "", id="declared"),
        pytest.param({"bridge_mappings": MAPPING}, {"br-ex": Bridge()}, "", id="theirs, as it is"),
        pytest.param(
            {"bridge_mappings": [{**MAPPING[0], "ports": ["eth1"]}]}, {"br-ex": Bridge()}, "port eth1 on bridge br-ex",
            id="a port on theirs",
        ),
        pytest.param(
            {"bridge_mappings": [{**MAPPING[0], "ports": ["eth1"]}]}, {"br-ex": Bridge(ours=True)}, "", id="ours",
        ),
        pytest.param(
            {"bridges": [{"name": "br-ex", "datapath_type": "netdev"}]}, {"br-ex": Bridge()},
            "datapath type netdev of bridge br-ex", id="the type of theirs",
        ),
        pytest.param({}, {"br-int": Bridge()}, "Bridge br-int is there already", id="their integration bridge"),
        pytest.param({"external_ids": {"ovn-bridge": "br-ovn"}}, {"br-int": Bridge()}, "", id="beside theirs"),
        pytest.param(
            {"external_ids": {"ovn-bridge": "br-ovn"}}, {"br-ovn": Bridge()}, "Bridge br-ovn is there already",
            id="theirs of that name",
        ),
    ],
)  # fmt: skip
def test_bridges_of_others(given: dict[str, t.Any], bridges: dict[str, Bridge], message: str) -> None:
    actual = ObservedChassis(bridges=bridges, ports={"br-ex": BridgePort("br-ex")} if "br-ex" in bridges else {})
    desired = desired_chassis(options(**given))
    if not message:
        make_plan(desired, actual)
        return
    with pytest.raises(Refused) as caught:
        make_plan(desired, actual)
    assert message in str(caught.value)


def test_an_integration_bridge_that_a_key_of_others_names() -> None:
    with pytest.raises(Refused, match="Bridge br-theirs is there already"):
        make_plan(desired_chassis(options()), stored(**{"ovn-bridge": "br-theirs"}))


def test_their_tls_files_stay() -> None:
    paths = {"private_key": "/k", "certificate": "/c", "ca_certificate": "/a"}
    assert make_plan(desired_chassis(options(**paths)), ObservedChassis()).ssl is None


def test_what_has_to_be_read() -> None:
    assert desired_chassis(options(external_ids={"ovn-bridge": "br-ovn"})).watched == {"br-int", "br-ovn"}
    assert desired_chassis({"system_id": "ch1"}).watched == set()

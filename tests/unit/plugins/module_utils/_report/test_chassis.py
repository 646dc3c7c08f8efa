"""Chassis in the report that the Southbound database alone says something about."""

from __future__ import annotations

import typing as t

import pytest

from ansible_collections.c5c3.ovn.plugins.module_utils._chassis.heartbeats import describe_chassis
from ansible_collections.c5c3.ovn.plugins.module_utils._chassis.southbound_rows import ChassisRow
from ansible_collections.c5c3.ovn.plugins.module_utils._report.chassis import report_chassis
from ansible_collections.c5c3.ovn.plugins.module_utils._report.findings import ReportFindings
from ansible_collections.c5c3.ovn.plugins.module_utils._report.installation import Installation

GATEWAY = {"ovn-cms-options": "availability-zones=az1,enable-chassis-as-gw"}
NODE = {"ovn-cms-options": "enable-chassis-as-gw,c5c3-ovn-owner=uid"}  # of a Kubernetes cluster
MAPPING = {"ovn-bridge-mappings": "physnet1:br-ex"}


def findings_of(*, managed: bool = True, **settings: t.Mapping[str, str]) -> ReportFindings:
    """What the report says of an inventory with chassis `one`, if the Southbound database has these with these settings."""
    rows = [ChassisRow(name, f"{name}.example.com", settings=own) for name, own in settings.items()]
    heartbeat = {"nb_cfg": 1, "probed": False, "chassis": describe_chassis(rows, None, 0, 0)}
    findings, lines = ReportFindings(), list[str]()
    report_chassis(Installation({}, {"one": "one"}, heartbeat, managed=managed), findings, lines)
    assert findings.problems == []
    assert any(line.startswith("Chassis") and ("warning" in line) is bool(findings.warnings) for line in lines)
    return findings


@pytest.mark.parametrize(
    ("settings", "is_warned"),
    [
        pytest.param({**GATEWAY, **MAPPING}, False, id="a gateway with a mapping"),
        pytest.param(MAPPING, False, id="no gateway"),
        pytest.param({}, False, id="neither"),
        pytest.param(GATEWAY, True, id="a machine"),
        pytest.param(NODE, True, id="a node of a Kubernetes cluster"),
        pytest.param({**GATEWAY, "ovn-bridge-mappings": "physnet1"}, True, id="a mapping without a bridge"),
    ],
)
def test_a_gateway_without_a_bridge_mapping(settings: dict[str, str], is_warned: bool) -> None:
    found = [(one.code, one.message.partition(":")[0]) for one in findings_of(one=settings).warnings]
    message = "Chassis one (one.example.com) is a gateway (enable-chassis-as-gw) without a bridge mapping"
    assert found == [("gateway_without_mapping", message)] * is_warned


def test_mapping_with_a_blank_is_reported() -> None:
    (found,) = findings_of(one={"ovn-bridge-mappings": "net1:br-one, net2:br-two"}).warnings
    assert found.code == "mapping_with_blank"
    assert 'has the bridge mapping " net2:br-two"' in found.message


@pytest.mark.parametrize("managed", [True, False])
def test_gateways_of_others_are_theirs(managed: bool) -> None:
    found = findings_of(managed=managed, one=MAPPING, theirs=GATEWAY).warnings
    assert ("gateway_without_mapping" in [one.code for one in found]) is managed


def datapath(kind: str) -> dict[str, t.Any]:
    known = {"type": kind, "conntrack_zones": True, "handlers": 1, "lookups": None, "lost": 0, "missed": 0}
    return {**known, "seconds": 1.0, "uplinks_down": []}


@pytest.mark.parametrize(
    ("kinds", "types"),
    [
        pytest.param([], "", id="none is known"),
        pytest.param(["netdev"] * 3, "", id="all in userspace"),
        pytest.param(["system"], "", id="the only one, in the kernel"),
        pytest.param(
            ["system", "netdev", "system"],
            "netdev on 1 of 3 machines (hv1), system on the others.",
            id="one in userspace",
        ),
        pytest.param(
            ["netdev"] * 6 + ["system"] * 5,
            "system on 5 of 11 machines (hv6, hv7, hv8 and 2 more), netdev on the others.",
            id="more than are named",
        ),
        pytest.param(
            ["system", "netdev"],
            "netdev on 1 of 2 machines (hv1), system on the others.",
            id="as many of each",
        ),
    ],
)
def test_datapaths_of_different_types(kinds: list[str], types: str) -> None:
    datapaths = {f"hv{n}": datapath(kind) for n, kind in enumerate(kinds)}
    for acknowledged in (False, True):
        findings = ReportFindings(frozenset({"datapath_types_mixed"} if acknowledged else ()))
        report_chassis(Installation({}, datapaths=datapaths), findings, [])
        assert (findings.problems, findings.warnings if acknowledged else findings.acknowledged) == ([], [])
        found = findings.acknowledged if acknowledged else findings.warnings
        assert [one.code for one in found] == ["datapath_types_mixed"] * bool(types)
        assert all(one.message.startswith(f"Datapath types differ: {types} Usually") for one in found)


def test_gateways_of_another_zone_are_not_ours() -> None:
    assert findings_of(one=MAPPING, far={**GATEWAY, "is-remote": "true"}).warnings == []

"""Findings of all hosts together."""

from __future__ import annotations

import dataclasses
import typing as t

import pytest
from precheck_facts import central, declare, hypervisor, measured

from ansible_collections.c5c3.ovn.plugins.module_utils._precheck.judge_inventory import (
    judge_central_clusters,
    judge_inventory,
    judge_measuring,
    judge_registered,
    not_checked,
)
from ansible_collections.c5c3.ovn.plugins.module_utils._precheck.measure import MeasuredHost

OURS = {"own_units": ["c5c3-ovn-northbound.service"]}
Groups = dict[str, dict[str, dict[str, t.Any]]]


def members(count: int) -> Groups:
    return {"ovn_central": {f"db{n}": {"ovn_address": f"192.0.2.{n}"} for n in range(1, count + 1)}}


def found(groups: Groups, changes: t.Mapping[str, t.Mapping[str, t.Any]] | None = None) -> list[tuple[str, str]]:
    declared = declare(groups)
    hosts = [measured(host, **(changes or {}).get(name, {})) for name, host in declared.items()]
    return [(finding.code, finding.object) for finding in judge_inventory(list(declared.values()), hosts)]


@pytest.mark.parametrize("count", [1, 3, 5])
def test_good_counts(count: int) -> None:
    assert found(members(count)) == []


@pytest.mark.parametrize("count", [2, 4, 6, 7])
def test_other_counts(count: int) -> None:
    assert found(members(count)) == [("central_count", "ovn_central")]


def test_the_count_of_members_that_are_there_is_the_matter_of_the_role() -> None:
    assert found(members(2), {"db1": OURS, "db2": OURS}) == []
    assert found(members(2), {"db1": OURS}) == [("central_count", "ovn_central")]


@pytest.mark.parametrize(
    ("central", "options", "expected"),
    [
        pytest.param(["rack1"], {}, [], id="one cluster"),
        pytest.param(["db1", "rack1"], {}, [("central_count", "ovn_central")], id="a machine and a cluster"),
        pytest.param(["rack1", "rack2"], {}, [("central_count", "ovn_central")], id="two clusters"),
        pytest.param(
            ["rack1"],
            {"for_machines": {"ovn_central_database_options": {"northbound": {"use_logical_dp_groups": "true"}}}},
            [("specification_invalid", "rack1")],
            id="options that are for machines",
        ),
        pytest.param(["rack1"], {"for_machines": {"ovn_central_log_level": None}}, [], id="an option without a value"),
    ],
)
def test_a_cluster_is_the_only_central_host(
    central: list[str], options: dict[str, t.Any], expected: list[tuple[str, str]]
) -> None:
    clusters = {name: options for name in central if name.startswith("rack")}
    findings = judge_central_clusters(central, clusters)
    assert [(one.code, one.object) for one in findings] == expected
    assert all(one.cause and one.next_step for one in findings)


def test_machines_beside_a_cluster_are_counted_with_it() -> None:
    groups = members(2)
    groups["ovn_central"]["rack1"] = {"ovn_backend": "kubernetes"}
    assert found(groups) == []


def test_the_count_is_not_judged_from_hypervisors_alone() -> None:
    declared = declare(members(2))
    assert judge_inventory(list(declared.values()), [hypervisor()]) == []


@pytest.mark.parametrize(
    ("groups", "expected"),
    [
        pytest.param(
            {"ovn_central": {"a": {"ovn_address": "192.0.2.1"}, "b": {"ansible_host": "192.0.2.1"}, "c": {}}},
            [("duplicate_central_address", "a, b")],
            id="one address of two central hosts",
        ),
        pytest.param(
            {"ovn_hypervisors": {"a": {"ovn_system_id": "b"}, "b": {}}},
            [("duplicate_system_id", "a, b")],
            id="the name of another host",
        ),
        pytest.param(
            {
                "ovn_hypervisors": {
                    "a": {"ovn_encapsulation_ip": ["192.0.2.1", "192.0.2.2"]},
                    "b": {"ovn_encapsulation_ip": "192.0.2.2"},
                    "c": {"ovn_encapsulation_ip": "192.0.2.1", "ovn_hypervisor_state": "gone"},
                }
            },
            [("duplicate_encapsulation_ip", "a, b")],
            id="one of two tunnel addresses, not that of a dead machine",
        ),
        pytest.param(
            {
                "ovn_central": {"a": {"ovn_address": "2001:db8::1"}, "b": {"ovn_address": "[2001:DB8:0::1]"}, "e": {}},
                "ovn_hypervisors": {
                    "c": {"ovn_encapsulation_ip": "192.0.2.1"},
                    "d": {"ovn_encapsulation_ip": "::ffff:192.0.2.1"},
                },
            },
            [("duplicate_central_address", "a, b"), ("duplicate_encapsulation_ip", "c, d")],
            id="other spellings of one address",
        ),
        pytest.param(
            {
                "ovn_central": {"a": {"ovn_address": "192.0.2.1"}},
                "ovn_hypervisors": {"b": {"ovn_address": "192.0.2.1"}},
            },
            [],
            id="the two groups may share addresses",
        ),
    ],
)
def test_what_must_be_unique(groups: Groups, expected: list[tuple[str, str]]) -> None:
    assert found(groups) == expected


def test_two_names_of_one_machine() -> None:
    same = {"system": {"machine": "boot/net:[1]"}}
    assert found(members(3), {"db1": same, "db3": same}) == [("same_machine", "db1, db3")]
    assert found(members(3), {"db1": same, "db3": {"system": {"machine": "boot/net:[2]"}}}) == []


def test_a_machine_may_be_in_both_groups() -> None:
    both = {"one": {"ovn_address": "192.0.2.1"}}
    assert found({"ovn_central": both, "ovn_hypervisors": both}, {"one": {"system": {"machine": "x"}}}) == []


def unmeasured(host: MeasuredHost, unreachable: bool, problem: str) -> MeasuredHost:
    return dataclasses.replace(host, facts={}, unreachable=unreachable, problem=problem)


def test_a_central_host_has_to_be_reachable() -> None:
    hosts = [unmeasured(central(), True, "Task failed: no route\nmore")]
    assert [(one.code, one.object, one.cause) for one in judge_measuring(hosts)] == [
        ("host_unreachable", "db1", "central host, no route")
    ]
    assert not_checked(hosts) == []


def test_a_hypervisor_that_is_down_is_only_named() -> None:
    hosts = [unmeasured(hypervisor(), True, "no route"), hypervisor("compute2")]
    assert judge_measuring(hosts) == []
    assert not_checked(hosts) == ["compute1"]


def test_a_check_that_failed_is_a_finding_everywhere() -> None:
    hosts = [unmeasured(hypervisor(), False, "no Python")]
    assert [(one.code, one.object) for one in judge_measuring(hosts)] == [("not_measured", "compute1")]


def test_hosts_whose_variables_cannot_be_read_have_nothing_in_common() -> None:
    """Neither the system id that nobody knows nor a name that stands for an address."""
    hosts = declare(
        {"ovn_central": {"a": {"ovn_address": "b"}, "b": {}, "c": {}}, "ovn_hypervisors": {"d": {}, "e": {}}}
    )
    unread = [dataclasses.replace(one, problem="undefined", system_id="") for one in hosts.values() if one.name != "a"]
    assert judge_inventory([hosts["a"], *unread], []) == []


def test_chassis_that_returns_with_its_declared_hostname_is_the_same() -> None:
    """It was installed again and has another address; the role compares the row with the declared name."""
    registered = {
        "Chassis": [{"name": "compute1", "hostname": "node1"}],
        "Encap": [{"chassis_name": "compute1", "type": "geneve", "ip": "192.0.2.99"}],
    }
    chassis = {"system_id": "", "remote": "", "hostname": "compute1"}
    declared = hypervisor(chassis=chassis, variables={"ovn_hypervisor_hostname": "node1"})
    assert judge_registered([declared], registered) == []
    assert [one.code for one in judge_registered([hypervisor(chassis=chassis)], registered)] == ["chassis_clash"]


def test_chassis_of_another_southbound_is_not_compared() -> None:
    registered = {"Chassis": [], "Encap": [{"chassis_name": "former", "type": "geneve", "ip": "192.0.2.21"}]}
    own = {"ovn_encapsulation_ip": "192.0.2.21"}
    assert [one.object for one in judge_registered([hypervisor(variables=own)], registered)] == ["compute1"]
    elsewhere = {**own, "ovn_southbound_endpoints": ["tcp:203.0.113.1:6642"]}
    assert judge_registered([hypervisor(variables=elsewhere)], registered) == []

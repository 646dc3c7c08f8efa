"""From variables of hosts and options of the role to a report."""

from __future__ import annotations

import typing as t

import pytest
from precheck_facts import facts

from ansible_collections.c5c3.ovn.plugins.module_utils._base.errors import InvalidInput
from ansible_collections.c5c3.ovn.plugins.module_utils._precheck.from_hostvars import (
    PrecheckOptions,
    central_outside,
    measurement_of_host,
    precheck,
)

GROUPS = {"ovn_central": ["db1"], "ovn_hypervisors": ["compute1", "rack1", "gone1"]}


def variables(**changes: t.Any) -> dict[str, t.Any]:
    return {"ovn_precheck_measured": {"facts": facts(**changes), "control_clock": {"sent": 100.0, "received": 103.0}}}


def hostvars(**changes: t.Mapping[str, t.Any]) -> dict[str, dict[str, t.Any]]:
    inventory = {
        "db1": {**variables(), "ovn_address": "192.0.2.11"},
        "compute1": {**variables(), "ovn_address": "192.0.2.21"},
        "rack1": {"ovn_backend": "kubernetes"},
        "gone1": {"ovn_hypervisor_state": "gone"},
    }
    return {name: {**own, **changes.get(name, {})} for name, own in inventory.items()}


def lines(*hosts: str, given: t.Mapping[str, t.Any] | None = None, **changes: t.Mapping[str, t.Any]) -> list[str]:
    found: list[str] = precheck(hostvars(**changes), GROUPS, hosts or list(hostvars()), given or {})["lines"]
    return found


def test_a_good_run() -> None:
    assert lines() == ["Precheck ok: 3 hosts, nothing found"]


def test_hosts_outside_of_the_run_are_not_judged() -> None:
    assert lines("compute1", db1={"ovn_precheck_measured": {}}) == ["Precheck ok: 1 host, nothing found"]
    assert "not_measured db1: the check failed: no result" in lines(db1={"ovn_precheck_measured": {}})[1]


def test_the_options_of_the_role_count() -> None:
    slow = variables(clock={"began": 90.0, "ended": 91.0})
    assert "clock_difference db1" in lines(db1=slow)[1]
    assert lines(db1=variables(clock={"began": 96.0, "ended": 97.0})) == ["Precheck ok: 3 hosts, nothing found"]
    assert lines(db1=slow, given={"ignore": "clock_difference"})[1] == "Ignored: clock_difference db1"
    disk = [
        {"path": "/var/lib/ovn", "mount": "/", "type": "ext4", "free": 3 << 20, "size": 9 << 20, "read_only": False}
    ]
    assert "3 MiB are free in /, of 1024 MiB" in lines(db1=variables(file_systems=disk))[1]
    assert len(lines(db1=variables(file_systems=disk), given={"free_space": 3})) == 1


def test_the_options_of_a_group_count_for_its_hosts_only() -> None:
    full = {"path": "/var/lib/ovn", "mount": "/", "type": "ext4", "free": 3 << 20, "size": 9 << 20, "read_only": False}
    lenient = {**variables(file_systems=[full]), "ovn_precheck_free_space": 3}
    # Whichever host the judgement is templated on, whose options are `given`.
    for given in ({"free_space": 3}, {"free_space": 1024}):
        result = lines(db1=variables(file_systems=[full]), compute1=lenient, given=given)
        assert [line.split(":")[0] for line in result[1:]] == ["disk_space db1 /var/lib/ovn"]


def test_a_group_ignores_findings_of_its_hosts_only() -> None:
    slow = {"clock": {"began": 90.0, "ended": 91.0}}
    careless = {**variables(clock={"began": 0.0, "ended": 1.0}), "ovn_precheck_ignore": "clock_difference"}
    for given in ({"ignore": ["clock_difference"]}, {"ignore": []}):
        result = lines(db1=variables(**slow), compute1=careless, given=given)
        assert [line.split(":")[0] for line in result[1:]] == ["clock_difference db1", "Ignored"]
        assert result[2] == "Ignored: clock_difference compute1"


def test_the_mtu_of_guests_of_a_group() -> None:
    small = variables(underlay={"name": "eth1", "mtu": 1450})
    assert lines(compute1=small)[1].startswith("mtu_too_small compute1")
    assert len(lines(compute1={**small, "ovn_precheck_guest_mtu": "1392"}, given={"guest_mtu": 0})) == 1


def test_options_in_any_spelling() -> None:
    assert PrecheckOptions.of({"ignore": "port_taken, disk_space", "guest_mtu": ""}).ignore == [
        "port_taken",
        "disk_space",
    ]
    assert PrecheckOptions.of({"ignore": ""}).ignore == []
    assert measurement_of_host(hostvars(), GROUPS, "compute1", {"guest_mtu": "8942"})["tunnel"]["packet_size"] == 9000
    with pytest.raises(InvalidInput, match=r'ovn_precheck_guest_mtu is "large"'):
        PrecheckOptions.of({"guest_mtu": "large"})
    with pytest.raises(InvalidInput, match="no code of a finding"):
        measurement_of_host(hostvars(), GROUPS, "compute1", {"ignore": ["nothing"]})


def test_findings_of_a_cluster_are_among_the_others() -> None:
    one = {"code": "central_count", "object": "namespace ovn-system", "cause": "even.", "next_step": "Use 3."}
    assert (
        lines(rack1={"ovn_central_precheck": {"findings": [one]}, "ovn_precheck_hypervisors": {"skipped": True}})[1]
        == "central_count rack1 namespace ovn-system: even. Use 3."
    )
    unseen = {"findings": [], "facts": {"not_tested": [{"what": "quota", "cause": "not readable"}]}}
    both = {"ovn_central_precheck": unseen, "ovn_precheck_hypervisors": unseen}
    assert lines(rack1=both)[1:] == ["Not tested: rack1 quota: not readable"]
    failed = {"ovn_precheck_hypervisors": {"msg": "no kubeconfig."}}
    assert lines(rack1=failed)[1].startswith("not_measured rack1: the check failed: no kubeconfig. ")


def test_a_control_plane_has_machines_or_one_cluster() -> None:
    groups = {"ovn_central": ["db1", "rack1"], "ovn_hypervisors": ["compute1"]}
    findings = precheck(hostvars(), groups, ["db1", "rack1", "compute1"], {})["findings"]
    assert [one["code"] for one in findings] == ["central_count"]
    assert findings[0]["cause"].endswith("It has db1, rack1")
    assert precheck(hostvars(), groups, ["compute1"], {})["findings"] == []
    options = {"rack1": {"ovn_central_database_options": {"southbound": {"x": "y"}}}}
    one = {"ovn_central": ["rack1"], "ovn_hypervisors": ["compute1"]}
    findings = precheck(hostvars(**options), one, ["rack1"], {})["findings"]
    assert [(one["code"], one["object"]) for one in findings] == [("specification_invalid", "rack1")]


class Broken(dict[str, t.Any]):
    """Variables of which one cannot be templated, as hostvars has them."""

    def __init__(self, variables: t.Mapping[str, t.Any], name: str) -> None:
        super().__init__(variables)
        self.broken = name

    def get(self, name: str, default: t.Any = None) -> t.Any:
        if name == self.broken:
            raise RuntimeError("'site' is undefined\n\nmore")
        return super().get(name, default)


@pytest.mark.parametrize("name", ["ovn_encapsulation_ip", "ovn_precheck_guest_mtu"])
def test_a_variable_that_cannot_be_templated_is_a_finding_of_its_host(name: str) -> None:
    inventory: dict[str, dict[str, t.Any]] = hostvars()
    slow = {**variables(clock={"began": 0.0, "ended": 1.0}), "ovn_address": "192.0.2.11"}
    inventory.update(compute1=Broken(inventory["compute1"], name), db1=slow)
    findings = precheck(inventory, GROUPS, list(inventory), {})["findings"]
    assert [(one["code"], one["object"]) for one in findings] == [
        ("not_measured", "compute1"),
        ("clock_difference", "db1"),
    ]
    assert findings[0]["cause"] == "the check failed: its variables cannot be read: 'site' is undefined"


class Undefined:
    """A value that raises when it is used, as undefined ones do in some versions of Ansible."""

    def __int__(self) -> int:
        raise RuntimeError("it is undefined")


def test_an_option_that_raises_only_when_it_is_used() -> None:
    inventory = hostvars(compute1={"ovn_precheck_guest_mtu": Undefined()})
    findings = precheck(inventory, GROUPS, list(inventory), {})["findings"]
    assert [(one["code"], one["object"]) for one in findings] == [("not_measured", "compute1")]


@pytest.mark.parametrize("name", ["ovn_backend", "ovn_precheck_ignore", "ovn_central_database_options"])
def test_a_variable_of_a_cluster_that_cannot_be_templated(name: str) -> None:
    inventory: dict[str, dict[str, t.Any]] = hostvars()
    inventory["rack1"] = Broken(inventory["rack1"], name)
    findings = precheck(inventory, {"ovn_central": ["rack1"]}, ["rack1"], {})["findings"]
    assert [(one["code"], one["object"]) for one in findings] == [("not_measured", "rack1")]


def test_the_version_of_a_control_plane_outside_of_the_run() -> None:
    newer = {
        "ovn_precheck_central": variables(packages={"installed": {"ovn-central": "25.03.0-1"}})["ovn_precheck_measured"]
    }
    inventory = hostvars(db1={"ovn_precheck_measured": {}}, compute1=newer)
    assert central_outside(inventory, GROUPS, ["compute1"]) == "db1"
    findings = precheck(inventory, GROUPS, ["compute1"], {})["findings"]
    assert [(one["code"], one["cause"]) for one in findings] == [
        ("mixed_versions", "its ovn-controller is 23.03, older than northd (25.03)")
    ]
    # It is not this run that gives it the declared version.
    inventory["db1"]["ovn_packages_versions"] = {"*": "26.03.*"}
    assert precheck(inventory, GROUPS, ["compute1"], {})["findings"] == findings
    obtainable = {"installed": {}, "candidates": {"ovn-central": "25.03.0-1"}}
    nothing = {"ovn_precheck_central": variables(packages=obtainable)["ovn_precheck_measured"]}
    assert (
        precheck(hostvars(db1={"ovn_precheck_measured": {}}, compute1=nothing), GROUPS, ["compute1"], {})["findings"]
        == []
    )
    for silent in ({"unreachable": True, "msg": "no route"}, {"skipped": True}, {}):
        inventory["compute1"]["ovn_precheck_central"] = silent
        assert precheck(inventory, GROUPS, ["compute1"], {})["findings"] == []


def test_when_no_central_host_is_asked() -> None:
    assert central_outside(hostvars(), GROUPS, ["db1", "compute1"]) == ""
    chassis = variables(own_units=["c5c3-ovn-controller.service"])
    assert central_outside(hostvars(compute1=chassis), GROUPS, ["compute1"]) == ""
    assert central_outside(hostvars(db1={"ovn_backend": "kubernetes"}), GROUPS, ["compute1"]) == ""
    assert central_outside(hostvars(), GROUPS, ["rack1"]) == ""


def test_a_misspelt_package_is_a_finding_beside_others() -> None:
    wrong = {
        **variables(packages={"problem": '"=1.2" names no package'}),
        "ovn_central_distribution": {"packages": ["=1.2"]},
    }
    slow = variables(clock={"began": 90.0, "ended": 91.0})
    findings = precheck(hostvars(db1=wrong, compute1=slow), GROUPS, ["db1", "compute1"], {})["findings"]
    assert {one["code"] for one in findings} >= {"not_measured", "clock_difference"}

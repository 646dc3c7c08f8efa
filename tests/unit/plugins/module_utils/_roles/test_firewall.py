"""Who may send to which port of a machine, from an inventory."""

from __future__ import annotations

import typing as t

import pytest

from ansible_collections.c5c3.ovn.plugins.module_utils._base.errors import InvalidInput
from ansible_collections.c5c3.ovn.plugins.module_utils._roles.firewall import (
    desired_firewall,
    firewall_kept,
    firewall_problem,
    managed_central_hosts,
    tunnel_networks_problem,
)

Vars = dict[str, t.Any]
MANAGED = {"ovn_firewall": "managed"}


def machines(**more: Vars) -> dict[str, Vars]:
    return {
        "central1": {"ansible_host": "192.0.2.1"},
        "central2": {"ovn_address": "[2001:db8::2]", "ansible_host": "203.0.113.2"},
        "compute1": {"ansible_host": "192.0.2.11", "ovn_encapsulation_ip": "198.51.100.11"},
        "compute2": {"ansible_host": "192.0.2.12", "ovn_encapsulation_ip": ["198.51.100.12", "198.51.101.12"]},
        **more,
    }


GROUPS = {"ovn_central": ["central1", "central2"], "ovn_hypervisors": ["compute1", "compute2"]}
CENTRAL = ["192.0.2.1", "2001:db8::2"]
CHASSIS = ["192.0.2.11", "198.51.100.11", "192.0.2.12", "198.51.100.12", "198.51.101.12"]


def sources(found: Vars) -> dict[int, list[str]]:
    return {one["port"]: one["sources"] for one in found["options"]["ports"]}


def all_managed(hosts: dict[str, Vars], **more: t.Any) -> dict[str, Vars]:
    return {name: {**MANAGED, **more, **variables} for name, variables in hosts.items()}


def test_a_central_host_lets_in_whom_the_table_of_flows_names() -> None:
    options = {"ovn_central_networks": {"clients": ["10.1.0.0/16"], "chassis": "10.2.0.0/16,fd00::/64"}}
    found = desired_firewall(all_managed(machines(), **options), GROUPS, "central1")
    assert (found["options"]["state"], found["packages"]) == ("present", ["nftables"])
    assert sources(found) == {
        6643: CENTRAL,
        6644: CENTRAL,
        6641: ["10.1.0.0/16", *CENTRAL],
        16642: ["10.1.0.0/16", *CENTRAL],
        6642: [*CHASSIS, "10.2.0.0/16", "fd00::/64", *CENTRAL],
    }
    assert {one["protocol"] for one in found["options"]["ports"]} == {"tcp"}


def test_neutron_is_a_client_where_it_runs_on_machines() -> None:
    hosts = machines(controller1={"ansible_host": "192.0.2.31"}, cloud={"ovn_backend": "kubernetes"})
    groups = {**GROUPS, "ovn_controllers": ["controller1", "cloud"]}
    found = sources(desired_firewall(all_managed(hosts), groups, "central1"))
    assert found[6641] == found[16642] == ["192.0.2.31", *CENTRAL]
    assert "192.0.2.31" not in found[6642] + found[6643]
    assert desired_firewall(all_managed(hosts), groups, "controller1")["options"]["state"] == "absent"


@pytest.mark.parametrize(
    ("variables", "state", "printed"),
    [
        ({}, "absent", False),
        ({"ovn_firewall": ""}, "absent", False),
        ({"ovn_firewall": "none"}, "absent", False),
        ({"ovn_firewall": "print"}, "absent", True),
        (MANAGED, "present", False),
        ({**MANAGED, "ovn_firewall": "none"}, "absent", False),
        ({**MANAGED, "ovn_backend": "kubernetes"}, "absent", False),
    ],
)
def test_nothing_is_managed_unless_somebody_says_so(variables: Vars, state: str, printed: bool) -> None:
    hosts = machines(central1={"ansible_host": "192.0.2.1", **variables})
    found = desired_firewall(hosts, GROUPS, "central1")
    assert (found["options"]["state"], bool(found["printed"])) == (state, printed)
    assert bool(found["packages"]) == (state == "present")


def test_an_option_of_the_role_counts_more_than_the_inventory() -> None:
    given = {"ovn_firewall": "managed", "ovn_central_networks": ""}
    hosts = machines(central1={"ansible_host": "192.0.2.1", "ovn_central_networks": {"clients": ["10.0.0.0/8"]}})
    assert sources(desired_firewall(hosts, GROUPS, "central1", given))[6641] == ["10.0.0.0/8", *CENTRAL]


@pytest.mark.parametrize(
    ("changes", "let_in"),
    [
        ({"ovn_hypervisor_state": "absent"}, True),  # it removes its rows through the port of chassis
        ({"ovn_hypervisor_state": "gone"}, False),
        ({"ovn_backend": "kubernetes"}, False),
    ],
)
def test_which_hypervisors_are_let_in(changes: Vars, let_in: bool) -> None:
    hosts = all_managed(machines())
    hosts["compute2"] |= changes
    found = sources(desired_firewall(hosts, GROUPS, "central1"))[6642]
    assert ("192.0.2.12" in found) == let_in
    assert "192.0.2.11" in found


def test_tunnels_are_filtered_where_networks_are_declared_for_them() -> None:
    networks = ["198.51.100.0/23"]
    hosts = all_managed(machines())
    assert desired_firewall(hosts, GROUPS, "compute1")["options"]["state"] == "absent"
    hosts = all_managed(machines(), ovn_hypervisor_tunnel_networks=networks)
    found = desired_firewall(hosts, GROUPS, "compute1")
    assert found["options"]["ports"] == [{"protocol": "udp", "port": 6081, "sources": networks}]
    assert tunnel_networks_problem(hosts, GROUPS, "compute1") == ""
    hosts["compute1"]["ovn_hypervisor_encapsulation_type"] = ["geneve", "vxlan"]
    assert sources(desired_firewall(hosts, GROUPS, "compute1")) == {6081: networks, 4789: networks}
    hosts["compute1"]["ovn_hypervisor_datapath_type"] = "netdev"
    assert desired_firewall(hosts, GROUPS, "compute1")["options"]["ports"] == []


def test_a_machine_with_both_roles_has_one_table() -> None:
    groups = {**GROUPS, "ovn_hypervisors": ["central1", "compute1", "compute2"]}
    hosts = all_managed(machines(), ovn_hypervisor_tunnel_networks=["192.0.2.0/24", "198.51.100.0/23"])
    hosts["central1"]["ovn_firewall"] = "managed"
    found = desired_firewall(hosts, groups, "central1")
    assert list(sources(found)) == [6643, 6641, 6644, 16642, 6642, 6081]
    hosts["central1"]["ovn_firewall"] = "print"
    found = desired_firewall(hosts, groups, "central1")
    assert [one["port"] for one in found["printed"]] == [6643, 6641, 6644, 16642, 6642, 6081]


def test_a_chassis_outside_of_the_networks_of_tunnels_is_named() -> None:
    hosts = all_managed(machines(), ovn_hypervisor_tunnel_networks=["198.51.100.0/24"])
    problem = tunnel_networks_problem(hosts, GROUPS, "compute1")
    assert "ovn_hypervisor_tunnel_networks of compute1 leaves out" in problem
    assert "compute2 (198.51.101.12)" in problem
    assert "compute1 (" not in problem
    assert tunnel_networks_problem(hosts, GROUPS, "central1") == ""
    hosts["compute2"]["ovn_backend"] = "kubernetes"
    assert tunnel_networks_problem(hosts, GROUPS, "compute1") == ""


@pytest.mark.parametrize(
    ("variables", "message"),
    [
        ({"ovn_firewall": "yes"}, "ovn_firewall of central1 is yes. Use managed, print or none"),
        (
            {**MANAGED, "ovn_central_networks": {"clients": ["192.0.2.5/24"]}},
            "ovn_central_networks.clients of central1 has 192.0.2.5/24",
        ),
        (
            {**MANAGED, "ovn_central_networks": {"chassis": ["rack1"]}},
            "ovn_central_networks.chassis of central1 has rack1",
        ),
        (
            {**MANAGED, "ovn_central_networks": ["192.0.2.0/24"]},
            r"ovn_central_networks of central1 is \['192.0.2.0/24'\]. Give a dictionary with members, clients, chassis",
        ),
    ],
)
def test_what_is_refused(variables: Vars, message: str) -> None:
    with pytest.raises(InvalidInput, match=message):
        desired_firewall(machines(central1=variables), GROUPS, "central1")


def test_who_has_to_let_a_new_hypervisor_in() -> None:
    hosts = all_managed(machines())
    assert managed_central_hosts(hosts, GROUPS) == ["central1", "central2"]
    hosts["central1"]["ovn_central_rollout"] = {"ended": True}
    assert managed_central_hosts(hosts, GROUPS) == ["central2"]
    hosts["central1"]["ovn_central_rollout"] = {"ended": False}
    hosts["central2"]["ovn_firewall"] = "print"
    assert managed_central_hosts(hosts, GROUPS) == ["central1"]
    assert managed_central_hosts(machines(), GROUPS) == []
    assert managed_central_hosts({}, {}) == []


STRANGER = {"changed": True, "strangers": [{"port": 6641, "address": "203.0.113.7"}]}


@pytest.mark.parametrize(
    ("observed", "disconnect", "problem"),
    [
        ({"changed": True, "strangers": []}, False, ""),
        (
            STRANGER,
            False,
            "it would shut out who is connected: 203.0.113.7 to port 6641. Add them to ovn_central_networks, as clients",
        ),
        (STRANGER, "yes", ""),
        (
            {"failed": True, "msg": "The firewall is not changed: why."},
            True,
            "central1: The firewall is not changed: why. Nothing was",
        ),
    ],
)
def test_what_keeps_a_firewall_from_being_loaded(observed: Vars, disconnect: t.Any, problem: str) -> None:
    found = firewall_problem(observed, "central1", disconnect)
    assert problem in found
    assert bool(found) == bool(problem)


def test_what_is_said_of_rules_that_stay() -> None:
    reasons = ["/run/ovn/ovnsb_db.pid is there", "c5c3-ovn-southbound.service is enabled"]
    text = firewall_kept({"changed": False, "kept_for": reasons}, "compute1")
    assert text.startswith(
        f"The firewall of compute1 keeps the rules of the databases: {', '.join(reasons)}. If compute1"
    )
    assert "systemctl disable --now UNIT" in text
    for nothing in ({"changed": False, "kept_for": []}, {"failed": True, "msg": "why"}, {}):
        assert firewall_kept(nothing, "compute1") == ""


@pytest.mark.parametrize("role", ["ovn_central", "ovn_hypervisor"])
@pytest.mark.parametrize(
    ("host", "variables", "directory"),
    [
        ("central1", {}, ""),
        ("central1", {"ovn_backend": "kubernetes"}, "/run/ovn"),
        ("compute1", {}, "/run/ovn"),
        ("compute1", {"ovn_central_distribution": {"run_directory": "/run/own"}}, "/run/own"),
    ],
)
def test_databases_keep_the_rules_of_a_machine_that_is_no_central_host(
    role: t.Literal["ovn_central", "ovn_hypervisor"], host: str, variables: Vars, directory: str
) -> None:
    hosts = {name: {**own, **variables} for name, own in machines().items()}
    kept = desired_firewall(hosts, GROUPS, host, role=role)["options"]["keep_for"]
    units = ["c5c3-ovn-northbound.service", "c5c3-ovn-southbound.service", "c5c3-ovn-southbound-relay.service"]
    files = [f"{directory}/ovnnb_db.pid", f"{directory}/ovnsb_db.pid"]
    assert kept == ({"files": files, "units": units} if directory else {"files": [], "units": []})


def test_a_unit_loads_what_is_managed() -> None:
    managed = desired_firewall(all_managed(machines()), GROUPS, "central1")
    assert managed["units"] == [{"name": "c5c3-ovn-firewall.service", "enabled": True, "state": "started"}]
    assert [file["path"] for file in managed["unit_files"]] == ["/etc/systemd/system/c5c3-ovn-firewall.service"]
    none = desired_firewall(machines(), GROUPS, "central1")
    assert none["units"] == [{"name": "c5c3-ovn-firewall.service", "enabled": False, "state": "stopped"}]
    assert none["unit_files"] == [
        {"path": "/etc/systemd/system/c5c3-ovn-firewall.service", "state": "absent"},
    ]


BOTH = {**GROUPS, "ovn_hypervisors": ["central1", "compute1", "compute2"]}


@pytest.mark.parametrize(
    ("variables", "host", "state", "owns"),
    [
        # The unit starts with a table that ovn_central writes, and goes with it.
        (MANAGED, "central1", "present", False),
        ({}, "central1", "present", False),
        ({**MANAGED, "ovn_backend": "kubernetes"}, "central1", "absent", True),
        (MANAGED, "compute1", "absent", True),
        ({**MANAGED, "ovn_hypervisor_tunnel_networks": ["192.0.2.0/24"]}, "compute1", "present", True),
    ],
)
def test_the_role_of_hypervisors_only_lets_in_on_a_central_host(
    variables: Vars, host: str, state: str, owns: bool
) -> None:
    hosts = {name: {**own, **variables} for name, own in machines().items()}
    found = desired_firewall(hosts, BOTH, host, role="ovn_hypervisor")
    assert (found["options"]["state"], found["options"]["purge"]) == (state, owns)
    assert (bool(found["unit_files"]), bool(found["units"])) == (owns, owns)
    assert desired_firewall(all_managed(machines()), BOTH, host)["options"]["purge"]

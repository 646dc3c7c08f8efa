"""The options of the role ovn_hypervisor to the desired state, and what a machine lacks."""

from __future__ import annotations

import typing as t

import pytest

from ansible_collections.c5c3.ovn.plugins.module_utils._base.errors import InvalidInput
from ansible_collections.c5c3.ovn.plugins.module_utils._roles.hypervisor import (
    find_control_plane,
    gateway_warnings,
    machine_state,
    outdated_units,
    unmasked_units,
)

UNITS = "/etc/systemd/system"
FLOWS = f"{UNITS}/ovs-vswitchd.service.d/c5c3-ovn-flows"
UNDERLAY = {"bridge": "br-u", "interface": "eth1", "address": "192.0.2.5/24"}
MACHINE: dict[str, t.Any] = {
    "host": "h1",
    "bridges": [],
    "underlay": {},
    "openvswitch_service": "openvswitch-switch.service",
    "unit": f"{UNITS}/c5c3-ovn-controller.service",
    "underlay_unit": f"{UNITS}/c5c3-ovn-underlay.service",
    "system_id_file": "/etc/openvswitch/system-id.conf",
    "private_key": "/k",
    "certificate": "/c",
    "ca_certificate": "/a",
    "tls": True,
    "openvswitch": "managed",
    "openvswitch_packages": ["openvswitch-switch"],
    "masked_units": ["ovn-controller.service"],
    "unknown_units": ["ovs-vswitchd.service"],
    "controller": "/usr/bin/ovn-controller",
    "run_directory": "/run/ovn",
    "openvswitch_database": "unix:/run/openvswitch/db.sock",
}


def running(*units: str) -> list[dict[str, t.Any]]:
    return [{"name": unit, "enabled": True, "state": "started"} for unit in units]


def test_a_machine() -> None:
    found = machine_state(MACHINE)
    assert found["bridges"] == []
    assert found["openvswitch"] == "managed"
    # Those of Open vSwitch are named, so that systemd reads what lies beside them, and neither started nor restarted for it.
    assert found["openvswitch_units"] == [
        {"name": "ovsdb-server.service"},
        {"name": "ovs-vswitchd.service"},
        *running("openvswitch-switch.service"),
    ]
    assert found["units"] == running("c5c3-ovn-controller.service")
    assert found["masked_before_packages"] == ["ovn-controller.service"]
    assert found["excluded_packages"] == []
    assert found["wanted_unit"] == "openvswitch-switch.service"
    drop_ins = [f"{UNITS}/{unit}.service.d/c5c3-ovn.conf" for unit in ("ovsdb-server", "ovs-vswitchd")]
    assert found["files"] == [
        "/k",
        "/c",
        MACHINE["system_id_file"],
        FLOWS,
        *drop_ins,
        MACHINE["underlay_unit"],
        MACHINE["unit"],
    ]


def test_the_command_of_ovn_controller() -> None:
    command = (
        "/usr/bin/ovn-controller unix:/run/openvswitch/db.sock -vconsole:off -vsyslog:err -vfile:info --no-chdir "
        "--log-file=/var/log/ovn/ovn-controller.log --pidfile=/run/ovn/ovn-controller.pid"
    )
    assert machine_state({**MACHINE, "tls": False})["controller"]["command"] == command
    assert machine_state(MACHINE)["controller"]["command"] == command


def test_ovn_controller_is_restarted_for_another_sandbox() -> None:
    """A key in a home makes one; the command has no path of a key."""
    before, after = (machine_state({**MACHINE, "private_key": key})["controller"] for key in ("/etc/k", "/root/k"))
    assert "ProtectHome=read-only" in after["sandbox"]
    assert before["command"] == after["command"]
    assert before["revision"] != after["revision"]


def drop_ins(**options: t.Any) -> dict[str, str]:
    return {file["path"]: file["content"] for file in machine_state({**MACHINE, **options})["openvswitch_files"]}


def test_the_units_of_open_vswitch_are_restricted() -> None:
    found = drop_ins()
    database, vswitchd = (f"{UNITS}/{name}.service.d/c5c3-ovn.conf" for name in ("ovsdb-server", "ovs-vswitchd"))
    assert list(found) == [FLOWS, database, vswitchd]
    assert "\nNoNewPrivileges=yes\n" in found[database]
    # The module of the datapath is loaded by a unit of systemd, before the daemon that must not.
    assert found[vswitchd].index("After=modprobe@openvswitch.service") < found[vswitchd].index("[Service]")


def test_the_units_of_open_vswitch_can_be_left_as_they_are() -> None:
    """But for what keeps the kernel's flows, which is no restriction."""
    left = drop_ins(openvswitch_sandbox=False)
    script = left.pop(FLOWS)
    assert "flow-restore-wait" in script
    assert [line for text in left.values() for line in text.splitlines() if not line.startswith("#")] == [
        "[Service]",
        f"ExecStartPre=-/bin/sh {FLOWS} keep",
        f"ExecStartPost=-/bin/sh {FLOWS} await",
    ]


def test_ovn_controller_waits_before_it_clears_flows() -> None:
    """Unless Open vSwitch is somebody else's, whose settings stay; who sets the key decides."""
    assert machine_state(MACHINE)["external_ids"] == {"ovn-ofctrl-wait-before-clear": "8000"}
    in_userspace = machine_state({**MACHINE, "datapath_type": "netdev"})
    assert in_userspace["external_ids"] == {"ovn-ofctrl-wait-before-clear": "4000"}
    given = {"ovn-ofctrl-wait-before-clear": "16000", "garp-max-timeout-sec": "4"}
    assert machine_state({**MACHINE, "external_ids": given})["external_ids"] == given
    assert machine_state({**MACHINE, "openvswitch": "existing"})["external_ids"] == {}


def test_open_vswitch_of_another_distribution_is_left_alone() -> None:
    found = machine_state({**MACHINE, "openvswitch_service": "openvswitch.service"})
    assert found["openvswitch_files"] == []
    assert found["openvswitch_units"] == running("openvswitch.service")


def test_an_open_vswitch_of_others_is_not_touched() -> None:
    found = machine_state({**MACHINE, "openvswitch": "existing"})
    assert found["openvswitch_units"] == []
    assert found["excluded_packages"] == ["openvswitch-switch"]
    assert found["masked_before_packages"] == ["ovn-controller.service", "ovs-vswitchd.service"]
    assert found["wanted_unit"] == ""
    assert found["openvswitch_files"] == []
    assert found["controller"]["command"].endswith(" -p /k -c /c -C /a")
    assert MACHINE["system_id_file"] not in found["files"]
    without = machine_state({**MACHINE, "openvswitch": "existing", "tls": False})
    assert without["controller"]["command"].endswith("--pidfile=/run/ovn/ovn-controller.pid")
    with pytest.raises(
        InvalidInput, match="ovn_hypervisor_underlay is set, and ovn_hypervisor_openvswitch is existing"
    ):
        machine_state({**MACHINE, "openvswitch": "existing", "underlay": UNDERLAY})


def test_an_underlay_has_a_bridge_and_a_unit_of_its_own() -> None:
    found = machine_state({**MACHINE, "bridges": [{"name": "br-x"}], "underlay": UNDERLAY})
    assert found["bridges"] == [{"name": "br-x"}, {"name": "br-u", "ports": ["eth1"], "datapath_type": "netdev"}]
    assert found["units"] == running("c5c3-ovn-underlay.service", "c5c3-ovn-controller.service")


HOSTS: dict[str, dict[str, t.Any]] = {
    "db1": {"ansible_host": "192.0.2.1"},
    "db2": {"ovn_address": "2001:db8::2"},
    "k": {"ovn_backend": "kubernetes", "ovn_kubeconfig": "/k"},
}
ENDPOINTS = {
    "northbound": "ssl:n:1",
    "southbound": "ssl:s:1,ssl:s:2",
    "northbound_inside": "ssl:in:1",
    "southbound_inside": "ssl:is:1",
}
ANSWER = {"exists": True, "endpoints": ENDPOINTS}
INSIDE = {"exists": True, "endpoints": {**ENDPOINTS, "southbound": "ssl:is:1"}}
WITH_ROLE = {**ANSWER, "cluster": {"spec": {"relay": {"rbac": True}}}}
MACHINES = {
    "central_host": "db1",
    "central_hosts": ["db1", "db2"],
    "backend": "host",
    "tls": True,
    "ovn_southbound_rbac": True,
}
OF_CLUSTER = {**MACHINES, "central_host": "k", "central_hosts": ["k"], "host": "h1"}


@pytest.mark.parametrize(
    ("options", "southbound"),
    [
        pytest.param({}, ["ssl:192.0.2.1:6642", "ssl:[2001:db8::2]:6642"], id="machine"),
        pytest.param({"tls": "no"}, ["tcp:192.0.2.1:6642", "tcp:[2001:db8::2]:6642"], id="without TLS"),
        pytest.param(
            {"backend": "kubernetes", "node_certificates": "shared"},
            ["ssl:192.0.2.1:16642", "ssl:[2001:db8::2]:16642"],
            id="nodes that share a certificate have no role",
        ),
        pytest.param(
            {"backend": "kubernetes"},
            ["ssl:192.0.2.1:6642", "ssl:[2001:db8::2]:6642"],
            id="nodes with certificates of their own",
        ),
        pytest.param(
            {"backend": "kubernetes", "ovn_southbound_rbac": False},
            ["ssl:192.0.2.1:6642", "ssl:[2001:db8::2]:6642"],
            id="nodes without RBAC",
        ),
        pytest.param({"central_hosts": [], "central_host": ""}, [], id="no central host"),
    ],
)
def test_a_control_plane_on_machines(options: dict[str, t.Any], southbound: list[str]) -> None:
    found = find_control_plane(HOSTS, {**MACHINES, **options})
    assert found["southbound"] == southbound
    assert [one.rpartition(":")[2] for one in found["northbound"]] == ["6641"] * len(southbound)
    assert (found["is_cluster"], found["asked"], found["problem"]) == (False, False, "")


@pytest.mark.parametrize("endpoint", ["ssl://192.0.2.1:6642", "tcp:192.0.2.1/24:6642"])
def test_endpoint_that_cannot_work_is_refused_by_its_option(endpoint: str) -> None:
    with pytest.raises(InvalidInput, match=r"ovn_southbound_endpoints: .* Use ssl:HOST:PORT, tcp:HOST:PORT .*Nothing"):
        find_control_plane(HOSTS, {**MACHINES, "ovn_southbound_endpoints": [endpoint]})


def test_a_control_plane_of_others_has_one_port() -> None:
    theirs = {name: {**variables, "ovn_central_managed": False} for name, variables in HOSTS.items()}
    found = find_control_plane(theirs, {**MACHINES, "backend": "kubernetes"})
    assert found["southbound"] == ["ssl:192.0.2.1:6642", "ssl:[2001:db8::2]:6642"]


def test_the_socket_on_the_central_host() -> None:
    """There the rows of a dead machine are deleted."""
    other = {**HOSTS["db1"], "ovn_central_distribution": {"run_directory": "/var/run/openvswitch"}}
    found = find_control_plane({**HOSTS, "db1": other}, MACHINES)
    assert found["southbound_socket"] == "unix:/run/openvswitch/ovnsb_db.sock"
    assert find_control_plane(HOSTS, MACHINES)["southbound_socket"] == "unix:/run/ovn/ovnsb_db.sock"
    assert find_control_plane(HOSTS, OF_CLUSTER)["southbound_socket"] == ""


@pytest.mark.parametrize(
    ("options", "asked", "southbound"),
    [
        pytest.param({}, True, [], id="not asked yet"),
        pytest.param({"answer": ANSWER}, True, ["ssl:s:1", "ssl:s:2"], id="asked"),
        pytest.param({"ovn_southbound_endpoints": ["ssl:x:1"]}, False, [], id="the inventory says it"),
        pytest.param({"ovn_southbound_endpoints": ""}, True, [], id="empty is absent"),
    ],
)
def test_a_control_plane_in_kubernetes(options: dict[str, t.Any], asked: bool, southbound: list[str]) -> None:
    found = find_control_plane(HOSTS, {**OF_CLUSTER, **options})
    assert (found["is_cluster"], found["asked"], found["southbound"]) == (True, asked, southbound)


@pytest.mark.parametrize(
    ("published", "answer", "expected"),
    [
        pytest.param(ANSWER["endpoints"], {"skipped": True}, (True, ["ssl:s:1", "ssl:s:2"], False), id="in this run"),
        pytest.param(
            INSIDE["endpoints"], {"skipped": True}, (True, ["ssl:is:1"], True), id="only inside of its cluster"
        ),
        pytest.param({"southbound": "ssl:old:1"}, ANSWER, (True, ["ssl:s:1", "ssl:s:2"], False), id="an answer counts"),
        pytest.param({"southbound": ""}, {}, (False, [], False), id="no address yet"),
        pytest.param({}, {}, (False, [], False), id="check mode"),
    ],
)
def test_endpoints_that_this_run_has_published(
    published: dict[str, str], answer: dict[str, t.Any], expected: tuple[bool, list[str], bool]
) -> None:
    hosts = {**HOSTS, "k": {**HOSTS["k"], "ovn_central_cluster": {"endpoints": published}}}
    found = find_control_plane(hosts, {**OF_CLUSTER, "answer": answer})
    assert found["asked"]
    assert (found["published"], found["southbound"], bool(found["problem"])) == expected


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"answer": ANSWER}, []),
        (
            {"answer": {"exists": False, "endpoints": {"southbound": ""}}},
            ["k has no control plane yet. Run c5c3.ovn.central first."],
        ),
        (
            {"answer": {"exists": True, "endpoints": {"southbound": ""}}},
            ["The Southbound members of k have no address yet", "look at their Services"],
        ),
        ({"answer": WITH_ROLE}, []),
        (
            {"answer": WITH_ROLE, "backend": "kubernetes", "node_certificates": "shared"},
            ["nodes of h1 share one", "ovn_node_certificates to own", "run c5c3.ovn.central first"],
        ),
        ({"answer": WITH_ROLE, "backend": "kubernetes"}, []),
        ({"answer": WITH_ROLE, "backend": "kubernetes", "tls": False}, []),
        (
            {"answer": INSIDE},
            [
                "k is only reachable inside its cluster",
                "Set northbound.service.type and southbound.service.type of its ovn_cluster_spec",
                "h1 can connect.",
            ],
        ),
        (
            {"answer": INSIDE, "backend": "kubernetes"},
            [
                "Set northbound.service.type and southbound.service.type of its ovn_cluster_spec",
                "same ovn_kubeconfig and ovn_context",
                "ssl:is:1 and ssl:in:1.",
            ],
        ),
        ({"answer": INSIDE, "backend": "kubernetes", "kubeconfig": "/k", "context": ""}, []),
        ({"answer": INSIDE, "kubeconfig": "/k", "context": ""}, ["inside its cluster"]),
        ({"answer": INSIDE, "backend": "kubernetes", "kubeconfig": "/k", "context": "other"}, ["inside its cluster"]),
    ],
    ids=[
        "outside",
        "none",
        "no address",
        "a machine has a name",
        "nodes that share a certificate",
        "nodes with their own",
        "no TLS",
        "machine",
        "another cluster",
        "the same cluster",
        "a machine that manages it",
        "another context",
    ],
)
def test_why_nobody_can_connect(options: dict[str, t.Any], words: list[str]) -> None:
    problem = find_control_plane(HOSTS, {**OF_CLUSTER, **options})["problem"]
    assert bool(problem) == bool(words)
    assert [word for word in words if word not in problem] == []


@pytest.mark.parametrize(
    ("files", "outdated"),
    [
        pytest.param({"/c": "a\nb\n", "/u": "u: v"}, [], id="as desired"),
        pytest.param({"/c": "a\n", "/u": "u: v\n"}, ["/c"], id="another text"),
        pytest.param({"/c": "a\nb\n"}, ["/u"], id="no unit of the underlay"),
        pytest.param({"/u": ""}, ["/c", "/u"], id="nothing"),
    ],
)
def test_outdated_units(files: dict[str, str], outdated: list[str]) -> None:
    desired = [{"path": "/c", "content": "a\nb\n"}, {"path": "/u", "content": "u: v\n"}]
    assert outdated_units(files, desired) == outdated


def test_units_that_are_not_masked() -> None:
    """A unit with a file of its own in /etc is disabled and stopped instead."""
    units = ["masked.service", "running.service", "missing.service", "own.service"]
    actions = [
        "mask running.service",
        "stop running.service",
        "mask missing.service",
        "disable own.service",
        "start x.service",
    ]
    assert unmasked_units({"actions": actions}, units) == units[1:]
    assert unmasked_units({"failed": True, "msg": "systemctl failed"}, units) == units


class Undefined(dict[str, t.Any]):
    """Variables of a host whose address cannot be resolved in this run."""

    def get(self, name: str, default: t.Any = None) -> t.Any:
        if name == "ovn_address":
            raise AssertionError("its address was asked for")
        return super().get(name, default)


def test_declared_endpoints_need_no_address() -> None:
    """A run that is limited to one hypervisor may not know the addresses of central hosts."""
    given = {
        **MACHINE,
        "backend": "host",
        "central_host": "c1",
        "central_hosts": ["c1"],
        "ovn_southbound_rbac": True,
        "tls": True,
    }
    declared = {"ovn_southbound_endpoints": ["ssl:192.0.2.1:6642"], "ovn_northbound_endpoints": ["ssl:192.0.2.1:6641"]}
    found = find_control_plane({"c1": Undefined()}, {**given, **declared})
    assert (found["is_cluster"], found["asked"], found["southbound"]) == (False, False, [])
    for few in ({}, {"ovn_southbound_endpoints": ["ssl:192.0.2.1:6642"]}):
        with pytest.raises(AssertionError, match="address was asked for"):
            find_control_plane({"c1": Undefined()}, {**given, **few})


def test_a_gateway_is_warned_of_and_no_other_host() -> None:
    gateway = machine_state({**MACHINE, "gateway": True})["warnings"]
    assert [text.partition(":")[0] for text in gateway] == [
        "h1 is a gateway (group ovn_gateways, or ovn_hypervisor_gateway) without a bridge mapping"
    ]
    assert machine_state({**MACHINE, "gateway": False})["warnings"] == []


@pytest.mark.parametrize(
    ("mappings", "expected"),
    [
        pytest.param([{"physical_network": "physnet1", "bridge": "br-ex"}], "", id="a mapping"),
        pytest.param([], "without a bridge mapping", id="no mapping"),
        pytest.param(None, "unless somebody else sets ovn-bridge-mappings", id="mappings are left alone"),
    ],
)
def test_what_a_gateway_lacks(mappings: list[dict[str, t.Any]] | None, expected: str) -> None:
    warnings = gateway_warnings("gw1", mappings)
    assert bool(warnings) is bool(expected)
    assert all(expected in text for text in warnings)

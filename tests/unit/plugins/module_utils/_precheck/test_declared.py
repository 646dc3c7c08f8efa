"""What an inventory declares, and what is measured because of it."""

from __future__ import annotations

import typing as t
from pathlib import Path

import pytest
import yaml
from precheck_facts import declare

from ansible_collections.c5c3.ovn.plugins.module_utils._machine.distributions import distribution_data
from ansible_collections.c5c3.ovn.plugins.module_utils._precheck.declared import declared_hosts, measurement

ROLES = Path(__file__).resolve().parents[5] / "roles"
CENTRAL_PACKAGES: list[str] = distribution_data("central", {}, {"id": "debian"}, "db1")["packages"]
HYPERVISOR_PACKAGES: list[str] = distribution_data("hypervisor", {}, {"id": "debian"}, "db1")["packages"]
CENTRAL = {
    "db1": {"ansible_host": "192.0.2.11"},
    "db2": {"ovn_address": "db2.example.com"},
    "db3": {"ovn_address": "[2001:db8::13]"},
}


def vars_of(role: str, file: str = "vars") -> dict[str, t.Any]:
    found: dict[str, t.Any] = yaml.safe_load((ROLES / role / file / "main.yml").read_text())
    return found


def options_of(host: str, groups: t.Mapping[str, t.Mapping[str, t.Any]], guest_mtu: int = 0) -> dict[str, t.Any]:
    hostvars = {name: variables for hosts in groups.values() for name, variables in hosts.items()}
    return measurement(hostvars, {group: list(hosts) for group, hosts in groups.items()}, host, guest_mtu)


def test_the_packages_are_those_of_the_roles() -> None:
    host = declare({"ovn_central": {"db1": {}}, "ovn_hypervisors": {"db1": {}}})["db1"]
    assert list(host.packages) == list(dict.fromkeys([*CENTRAL_PACKAGES, *HYPERVISOR_PACKAGES]))


def test_directories_and_listener_are_those_of_the_role() -> None:
    host, defaults = declare({"ovn_central": {"db1": {}}})["db1"], vars_of("ovn_central", "defaults")
    assert host.paths == (defaults["ovn_central_database_directory"], defaults["ovn_central_config_directory"])
    assert f"[{host.listen_address}]" == defaults["ovn_central_listen_address"]


def test_a_central_host_asks_the_others_at_all_their_ports() -> None:
    options = options_of("db1", {"ovn_central": CENTRAL})
    assert options["local_addresses"] == ["192.0.2.11"]
    assert options["tcp_ports"] == [6641, 6642, 6643, 6644, 16642]
    assert {(peer["host"], peer["address"]) for peer in options["peers"]} == {
        ("db2", "db2.example.com"),
        ("db3", "2001:db8::13"),
    }
    assert {peer["port"] for peer in options["peers"]} == {6641, 6642, 6643, 6644, 16642}
    assert "tunnel" not in options
    assert options["kernel_modules"] == options["udp_ports"] == []


def test_a_hypervisor_asks_the_southbound_members_and_its_neighbors() -> None:
    hypervisors = {f"compute{n}": {"ovn_encapsulation_ip": f"198.51.100.{n}"} for n in range(1, 7)}
    options = options_of("compute5", {"ovn_central": CENTRAL, "ovn_hypervisors": hypervisors}, 1400)
    assert options["peers"] == [
        {"host": "db1", "address": "192.0.2.11", "port": 6642},
        {"host": "db2", "address": "db2.example.com", "port": 6642},
        {"host": "db3", "address": "2001:db8::13", "port": 6642},
    ]
    assert [peer["host"] for peer in options["tunnel"]["peers"]] == ["compute6", "compute1", "compute2"]
    assert options["tunnel"]["packet_size"] == 1458
    assert options["local_addresses"] == ["198.51.100.5"]
    assert options["kernel_modules"] == ["openvswitch", "geneve"]
    assert options["udp_ports"] == [6081]


@pytest.mark.parametrize(
    ("variables", "part", "expected"),
    [
        pytest.param(
            {"ovn_southbound_endpoints": "ssl:192.0.2.1:6642,ssl:[2001:db8::1]:7642"},
            "peers",
            [
                {"host": "192.0.2.1", "address": "192.0.2.1", "port": 6642},
                {"host": "2001:db8::1", "address": "2001:db8::1", "port": 7642},
            ],
            id="a control plane elsewhere",
        ),
        pytest.param({"ovn_hypervisor_datapath_type": "netdev"}, "kernel_modules", [], id="userspace needs no module"),
        pytest.param({"ovn_hypervisor_datapath_type": "netdev"}, "udp_ports", [], id="userspace takes no port"),
        pytest.param(
            {"ovn_hypervisor_encapsulation_type": "geneve,vxlan"}, "udp_ports", [6081, 4789], id="both tunnels"
        ),
        pytest.param(
            {"ovn_hypervisor_underlay": {"interface": "eth1"}},
            "local_addresses",
            [],
            id="an underlay that a bridge gets",
        ),
        pytest.param(
            {"ovn_encapsulation_ip": ["192.0.2.1", "192.0.2.2"]},
            "local_addresses",
            ["192.0.2.1", "192.0.2.2"],
            id="two addresses",
        ),
        pytest.param({}, "paths", ["/usr", "/var/cache/apt"], id="where packages go"),
        pytest.param({"ovn_hypervisor_distribution": {"packages": []}}, "paths", [], id="no packages need no place"),
        pytest.param(
            {"ovn_hypervisor_distribution": {"packages": ["my-ovn"]}}, "packages", ["my-ovn"], id="own packages"
        ),
        pytest.param(
            {"ovn_hypervisor_distribution": {"packages": []}}, "packages", [], id="nothing is to be installed"
        ),
        pytest.param(
            {"ovn_hypervisor_distribution": {"packages": ""}},
            "packages",
            list(HYPERVISOR_PACKAGES),
            id="an empty text is absent",
        ),
    ],
)
def test_options_of_a_hypervisor(variables: dict[str, t.Any], part: str, expected: t.Any) -> None:
    assert options_of("compute1", {"ovn_hypervisors": {"compute1": variables}})[part] == expected


def test_central_hosts_of_others_are_only_reached() -> None:
    """Nothing is measured on them: no run changes them."""
    theirs = {"db1": {"ovn_address": "192.0.2.11", "ovn_central_managed": False}}
    groups = {"ovn_central": theirs, "ovn_hypervisors": {"compute1": {}}}
    assert options_of("db1", groups) == {}
    assert options_of("compute1", groups)["peers"] == [{"host": "db1", "address": "192.0.2.11", "port": 6642}]


def test_a_host_in_both_groups_is_measured_for_both() -> None:
    both = {"one": {"ovn_address": "192.0.2.1", "ovn_encapsulation_ip": "198.51.100.1"}}
    options = options_of("one", {"ovn_central": both, "ovn_hypervisors": both})
    assert options["local_addresses"] == ["192.0.2.1", "198.51.100.1"]
    assert options["packages"] == list(dict.fromkeys([*CENTRAL_PACKAGES, *HYPERVISOR_PACKAGES]))
    assert options["peers"] == []


@pytest.mark.parametrize(
    "variables",
    [
        pytest.param({"ovn_hypervisor_state": "gone"}, id="dead"),
        pytest.param({"ovn_hypervisor_state": "absent"}, id="removed"),
        pytest.param({"ovn_backend": "kubernetes"}, id="a whole cluster"),
    ],
)
def test_hosts_that_are_not_measured(variables: dict[str, t.Any]) -> None:
    assert options_of("compute1", {"ovn_hypervisors": {"compute1": variables}}) == {}


@pytest.mark.parametrize(
    ("variables", "octets"),
    [
        pytest.param({"ovn_encapsulation_ip": "192.0.2.1"}, 58, id="geneve over IPv4"),
        pytest.param({"ovn_encapsulation_ip": "2001:db8::1"}, 78, id="geneve over IPv6"),
        pytest.param(
            {"ovn_encapsulation_ip": "192.0.2.1", "ovn_hypervisor_encapsulation_type": ["vxlan"]}, 50, id="vxlan"
        ),
        pytest.param(
            {"ovn_encapsulation_ip": "192.0.2.1", "ovn_hypervisor_encapsulation_type": ["stt"]}, 0, id="unknown"
        ),
    ],
)
def test_octets_of_the_encapsulation(variables: dict[str, t.Any], octets: int) -> None:
    assert declare({"ovn_hypervisors": {"compute1": variables}})["compute1"].overhead() == octets


@pytest.mark.parametrize(
    ("variables", "uris", "proxy"),
    [
        pytest.param({}, [], "", id="none"),
        pytest.param(
            {"ovn_packages_repository": {"uris": "https://a.example.com/x http://b.example.com", "suites": "./"}},
            ["https://a.example.com/x", "http://b.example.com"],
            "",
            id="a text",
        ),
        pytest.param({"ovn_packages_repository": {"uris": ["file:/srv/x"]}}, ["file:/srv/x"], "", id="a list"),
        pytest.param(
            {
                "ovn_packages_repository": {"uris": ["https://me:secret@a.example.com:8443/x@y"]},
                "ovn_packages_proxy": "http://me:secret@proxy.example.com:3128",
            },
            ["https://a.example.com:8443/x@y"],
            "http://proxy.example.com:3128",
            id="passwords stay here",
        ),
        pytest.param({"ovn_packages_repository": "nonsense"}, [], "", id="what the role will refuse"),
    ],
)
def test_archives_of_the_run(variables: dict[str, t.Any], uris: list[str], proxy: str) -> None:
    options = measurement({"db1": variables}, {"ovn_central": ["db1"]}, "db1")
    assert (options["archive_uris"], options["archive_proxy"]) == (uris, proxy)


@pytest.mark.parametrize(
    ("versions", "expected"),
    [
        pytest.param(None, ["ovn-central", "x=1"], id="none"),
        pytest.param({"ovn-*": "25.03.*"}, ["ovn-central=25.03.*", "x=1"], id="a pattern"),
        pytest.param({"*": "2"}, ["ovn-central=2", "x=1"], id="that of the list counts more"),
        pytest.param("nonsense", ["ovn-central", "x=1"], id="what the role will refuse"),
    ],
)
def test_versions_of_packages(versions: t.Any, expected: list[str]) -> None:
    variables = {
        "ovn_central_distribution": {"packages": ["ovn-central", "x=1", "x=1"]},
        "ovn_packages_versions": versions,
    }
    assert measurement({"db1": variables}, {"ovn_central": ["db1"]}, "db1")["packages"][:2] == expected


class Broken(dict[str, t.Any]):
    """Variables of which one cannot be templated, as hostvars has them."""

    def get(self, name: str, default: t.Any = None) -> t.Any:
        if name == "ovn_address":
            raise RuntimeError("'site' is undefined")
        return super().get(name, default)


def test_endpoint_that_cannot_work_is_a_problem_before_the_first_change() -> None:
    given = {"ovn_southbound_endpoints": ["ssl://192.0.2.1:6642"]}
    host = declare({"ovn_hypervisors": {"compute1": given}})["compute1"]
    assert "ovn_southbound_endpoints: " in host.problem
    assert "Use ssl:HOST:PORT, tcp:HOST:PORT" in host.problem


def test_variables_that_cannot_be_read_are_a_problem_of_one_host() -> None:
    hostvars = {"db1": {"ovn_address": "192.0.2.1"}, "db2": Broken(), "db3": {"ovn_address": "192.0.2.3"}}
    groups = {"ovn_central": list(hostvars)}
    declared = declared_hosts(hostvars, groups, hostvars)
    assert {name: host.problem for name, host in declared.items()} == {
        "db1": "",
        "db2": "its variables cannot be read: 'site' is undefined",
        "db3": "",
    }
    assert measurement(hostvars, groups, "db2") == {}
    assert {peer["host"] for peer in measurement(hostvars, groups, "db1")["peers"]} == {"db3"}

"""Findings of packages, versions, and other people's Open vSwitch and OVN."""

from __future__ import annotations

import typing as t

import pytest
from precheck_facts import central, declare, hypervisor, measured, process

from ansible_collections.c5c3.ovn.plugins.module_utils._machine.supervisor import Supervisor
from ansible_collections.c5c3.ovn.plugins.module_utils._precheck.judge_software import (
    judge_software,
    not_tested,
    ovn_version,
)
from ansible_collections.c5c3.ovn.plugins.module_utils._precheck.measure import MeasuredHost

MEMBER = {"own_units": ["c5c3-ovn-northbound.service"]}
CHASSIS = {"own_units": ["c5c3-ovn-controller.service"]}
CONTAINER = Supervisor("container", "0123456789ab", "docker")


def found(*hosts: MeasuredHost) -> list[tuple[str, str, str]]:
    return [(one.code, one.object, one.cause) for one in judge_software(hosts, [host.declared for host in hosts])]


def cause(*hosts: MeasuredHost) -> str:
    """Code and cause of the only finding; empty without one."""
    results = found(*hosts)
    assert len(results) < 2
    return f"{results[0][0]}: {results[0][2]}" if results else ""


def packages(**changes: t.Any) -> dict[str, t.Any]:
    return {"candidates": {}, "index": True, "archives": [], **changes}


def archive(state: str, error: str = "") -> dict[str, t.Any]:
    return {"host": "deb.example.com", "address": "deb.example.com", "port": 80, "state": state, "error": error}


ALL = "ovn-central, openvswitch-common, python3-openvswitch, python3-ovsdbapp"
INSTALLED = dict.fromkeys(ALL.split(", "), "23.03.1-1")


@pytest.mark.parametrize(
    ("facts", "expected"),
    [
        pytest.param({}, "", id="all of them can be had"),
        pytest.param(packages(installed=INSTALLED), "", id="all of them are there"),
        pytest.param(packages(), f"packages_missing: its package index does not have {ALL}", id="not in the index"),
        pytest.param(packages(manager=""), "", id="another package manager"),
        pytest.param(packages(index=False, archives=[archive("connected")]), "", id="no index, but an archive"),
        pytest.param(
            packages(index=False, archives=[archive("timed_out"), archive("connected")]), "", id="one archive of two"
        ),
        pytest.param(
            packages(index=False, archives=[archive("unresolved", "Name or service not known")]),
            "archive_unreachable: its package index is missing or incomplete, and no archive answers: deb.example.com:80 (Name or service not known)",
            id="no index and no archive",
        ),
        pytest.param(
            packages(index=False),
            "archive_unreachable: its package index is missing or incomplete, and no archive is configured",
            id="no index and no archive configured",
        ),
        pytest.param(packages(index=False, unprobed=["file:"]), "", id="an archive that nobody can connect to"),
        pytest.param(
            packages(index=False, archives=[archive("timed_out")], unprobed=["file:"]), "", id="one of two is a folder"
        ),
        pytest.param({"archives": [archive("connected")]}, "", id="an archive has what is in the index"),
        pytest.param(
            {"archives": [archive("timed_out")]},
            "archive_unreachable: no archive answers: deb.example.com:80 (no answer)",
            id="what is in the index cannot be fetched",
        ),
        pytest.param(
            {"archives": [archive("refused")]},
            "archive_unreachable: no archive answers: deb.example.com:80 (connection refused)",
            id="an archive that refuses is none",
        ),
        pytest.param({"installed": INSTALLED, "archives": [archive("timed_out")]}, "", id="nothing has to be fetched"),
        pytest.param(
            packages(problem="apt-cache policy failed: E: a line.\n is odd. Repair it on this host, then run again."),
            "not_measured: its packages could not be read: apt-cache policy failed: E: a line. is odd",
            id="apt that cannot be asked",
        ),
    ],
)
def test_packages(facts: dict[str, t.Any], expected: str) -> None:
    assert cause(central(packages=facts)) == expected
    assert cause(central(packages=facts, **MEMBER)) == ""


def test_packages_of_a_central_host_are_installed_with_their_units_masked() -> None:
    """Else they start standalone databases, and those would be the next finding."""
    hosts = [host(packages=packages(index=False)) for host in (central, hypervisor)]
    steps = [one.next_step for one in judge_software(hosts, [host.declared for host in hosts])]
    assert ["after `systemctl mask ovn-central " in step for step in steps] == [True, False]


def test_archives_that_nobody_can_connect_to_are_named() -> None:
    one = packages(index=False, unprobed=["file:", "cdrom:"])
    hosts = [central(packages=one), central("db2", packages=one, **MEMBER), central("db3")]
    hosts.append(central("db4", packages={"unprobed": ["file:"]}))  # its index has all
    assert not_tested(hosts) == ["db1 archives of its packages: nobody can connect to file:, cdrom:"]


REPOSITORY = {"ovn_packages_repository": {"uris": "https://ovn.example.com", "suites": "./"}}


@pytest.mark.parametrize(
    ("facts", "expected"),
    [
        pytest.param({}, "", id="the index has all"),
        pytest.param(packages(repository=[archive("connected")]), "", id="its index is not here yet"),
        pytest.param(
            packages(index=False, archives=[archive("timed_out")], repository=[archive("connected")]),
            "",
            id="the only one that answers",
        ),
        pytest.param(
            packages(archives=[archive("connected")], repository=[archive("timed_out")]),
            "archive_unreachable: ovn_packages_repository does not answer: deb.example.com:80 (no answer)",
            id="no answer",
        ),
        pytest.param(packages(unprobed=["file:"]), "", id="in a folder"),
    ],
)
def test_packages_of_a_repository(facts: dict[str, t.Any], expected: str) -> None:
    host = central(packages=facts, variables=REPOSITORY)
    assert cause(host) == expected
    text = f"db1 packages: whether ovn_packages_repository has {ALL}"
    assert (text in not_tested([host])) == ("candidates" in facts)


def test_a_name_with_a_version_is_that_of_the_package() -> None:
    pinned = {"variables": {"ovn_central_distribution": {"packages": ["ovn-central=23.03.*", "no-such=1"]}}}
    assert cause(central(**pinned)) == "packages_missing: its package index does not have no-such=1"


@pytest.mark.parametrize(
    ("facts", "finding", "line"),
    [
        pytest.param({}, False, "", id="the index has such a version"),
        pytest.param({"candidates": {}}, True, "", id="it has not"),
        pytest.param({"installed": {"ovn-central": "25.03.1-1"}, "candidates": {}}, False, "", id="it is there"),
        pytest.param(
            {"installed": {"ovn-central": "23.03.1-1"}, "candidates": {}}, True, "", id="another one is there"
        ),
        pytest.param({"candidates": {}, "index_age": 1e6}, False, "of an earlier day", id="an old index"),
        pytest.param(
            {"candidates": {}, "index": False, "archives": [archive("connected")]}, False, "missing or", id="none"
        ),
        pytest.param({"candidates": {}, "manager": ""}, False, "", id="another package manager"),
    ],
)
def test_versions_that_are_declared(facts: dict[str, t.Any], finding: bool, line: str) -> None:
    variables = {
        "ovn_central_distribution": {"packages": ["ovn-central"]},
        "ovn_packages_versions": {"ovn-*": "25.03.*"},
    }
    host = central(packages=facts, variables=variables)
    assert cause(host) == ("packages_missing: its package index does not have ovn-central=25.03.*" if finding else "")
    assert [text.partition("; the package index is ")[2].startswith(line) for text in not_tested([host])] == (
        [True] if line else []
    )


@pytest.mark.parametrize(
    ("variables", "facts", "expected"),
    [
        pytest.param({}, {}, "", id="Python has it"),
        pytest.param({}, {"library_missing": True}, "python3-cryptography", id="it is to be installed"),
        pytest.param({"ovn_tls": False}, {"library_missing": True}, "", id="no certificates"),
        pytest.param({"ovn_tls": "nonsense"}, {"library_missing": True}, "", id="what the roles will refuse"),
    ],
)
def test_the_library_of_certificates(variables: dict[str, t.Any], facts: dict[str, t.Any], expected: str) -> None:
    text = f"packages_missing: its package index does not have {expected}" if expected else ""
    assert cause(central(packages=facts, variables=variables)) == text
    assert cause(hypervisor(packages=facts, variables=variables)) == text


def test_what_is_no_package_is_the_only_finding() -> None:
    problem = '"=1" names no package. Give NAME or NAME=VERSION.'
    host = central(packages={"problem": problem}, variables={"ovn_central_distribution": {"packages": ["=1"]}})
    assert cause(host) == 'not_measured: its packages could not be read: "=1" names no package'
    assert not_tested([host]) == []


def of_version(host: t.Callable[..., MeasuredHost], name: str, version: str, **changes: t.Any) -> MeasuredHost:
    package = "ovn-central" if host is central else "ovn-host"
    names = ("openvswitch-common", "openvswitch-switch", "python3-openvswitch", "python3-ovsdbapp")
    others = dict.fromkeys(names, "3.1")
    return host(name, packages={"candidates": others, "installed": {package: version}}, **changes)


@pytest.mark.parametrize(
    ("text", "version"),
    [
        pytest.param("23.03.1-1~deb12u2", (23, 3), id="Debian"),
        pytest.param("1:24.03.2-0ubuntu0.24.04.1", (24, 3), id="an epoch"),
        pytest.param("", (), id="unknown"),
        pytest.param("main-2026", (), id="no version"),
    ],
)
def test_version_of_a_package(text: str, version: tuple[int, ...]) -> None:
    assert ovn_version(of_version(central, "db1", text), "central") == version


@pytest.mark.parametrize(
    ("hosts", "expected"),
    [
        pytest.param(
            [of_version(central, "a", "23.03.1"), of_version(central, "b", "23.03.2")], "", id="releases of one version"
        ),
        pytest.param(
            [of_version(central, "a", "23.03.1"), of_version(central, "b", "25.03.0")],
            "mixed_versions: its hosts have different versions of OVN: a 23.03, b 25.03",
            id="two versions",
        ),
        pytest.param(
            [of_version(central, "a", "23.03.1", **MEMBER), of_version(central, "b", "25.03.0", **MEMBER)],
            "",
            id="members that are there",
        ),
        pytest.param(
            [of_version(central, "a", "25.03.0"), of_version(hypervisor, "c", "23.03.1")],
            "mixed_versions: its ovn-controller is 23.03, older than northd (25.03)",
            id="an older hypervisor",
        ),
        pytest.param(
            [of_version(central, "a", "23.03.1"), of_version(hypervisor, "c", "25.03.0")], "", id="a newer hypervisor"
        ),
        pytest.param(
            [of_version(central, "a", "25.03.0"), of_version(hypervisor, "c", "23.03.1", **CHASSIS)],
            "",
            id="a hypervisor that is there",
        ),
        pytest.param([of_version(hypervisor, "c", "23.03.1")], "", id="no control plane in this run"),
    ],
)
def test_versions(hosts: list[MeasuredHost], expected: str) -> None:
    assert cause(*hosts) == expected


SWITCH = "ovsdb-server /etc/openvswitch/conf.db --remote=db:Open_vSwitch,Open_vSwitch,manager_options vswitch"


@pytest.mark.parametrize(
    ("daemon", "control_plane", "expected"),
    [
        pytest.param(
            process("ovn-northd", "ovn-northd.service"),
            [7],
            "ovn-northd in ovn-northd.service",
            id="ovn-central of the distribution",
        ),
        pytest.param(process("ovn-northd", "c5c3-ovn-northd.service"), [7], "", id="ours"),
        pytest.param(process("ovsdb-server", CONTAINER), [7], f"ovsdb-server in docker {CONTAINER}", id="a container"),
        pytest.param(process("ovsdb-server"), [7], "ovsdb-server in process 7, started by hand", id="ovn-ctl"),
        pytest.param(process("ovsdb-server", "ovsdb-server.service", SWITCH), [], "", id="that of Open vSwitch"),
        pytest.param(process("ovn-controller", "ovn-controller.service"), [], "", id="a chassis"),
    ],
)
def test_another_control_plane(daemon: dict[str, t.Any], control_plane: list[int], expected: str) -> None:
    found = {"daemons": [daemon], "control_plane": control_plane}
    assert cause(central(**found)) == (f"foreign_ovn: another control plane runs there: {expected}" if expected else "")
    assert cause(central(**found, **MEMBER)) == ""


@pytest.mark.parametrize(
    ("daemon", "expected"),
    [
        pytest.param(process("ovn-controller", "ovn-controller.service"), "", id="the distribution's is taken over"),
        pytest.param(process("ovn-controller", "c5c3-ovn-controller.service"), "", id="ours"),
        pytest.param(
            process("ovn-controller", CONTAINER),
            f"foreign_ovn: another ovn-controller runs there: ovn-controller in docker {CONTAINER}",
            id="Kolla",
        ),
        pytest.param(
            process("ovn-controller", "kolla-ovn_controller-container.service"),
            "foreign_ovn: another ovn-controller runs there: ovn-controller in kolla-ovn_controller-container.service",
            id="another unit",
        ),
        pytest.param(
            process("ovn-controller", Supervisor("pod")),
            "foreign_ovn: another ovn-controller runs there: ovn-controller in a pod",
            id="in a pod",
        ),
        pytest.param(process("ovs-vswitchd", "ovs-vswitchd.service"), "", id="the distribution's Open vSwitch"),
        pytest.param(process("ovsdb-server", "ovsdb-server.service", SWITCH), "", id="its database"),
        pytest.param(process("ovsdb-server"), "", id="a database of OVN is no matter of a hypervisor"),
        pytest.param(
            process("ovs-vswitchd", CONTAINER),
            f"foreign_open_vswitch: another Open vSwitch is there: ovs-vswitchd (pid 7, docker {CONTAINER})",
            id="Open vSwitch in a container",
        ),
        pytest.param(
            process("ovsdb-server", "", SWITCH),
            "foreign_open_vswitch: another Open vSwitch is there: ovsdb-server (pid 7, started by hand)",
            id="ovs-ctl",
        ),
    ],
)
def test_another_chassis(daemon: dict[str, t.Any], expected: str) -> None:
    assert cause(hypervisor(daemons=[daemon])) == expected
    assert cause(hypervisor(daemons=[daemon], **CHASSIS)) == ""


EXISTING = {"ovn_hypervisor_openvswitch": "existing"}


def test_an_open_vswitch_that_is_to_be_used() -> None:
    facts = {"bridges": ["br-ex"], "datapath_ports": ["eth7"], "known_interfaces": ["eth7"], "answers": True}
    theirs = process("ovs-vswitchd", CONTAINER)
    assert cause(hypervisor(daemons=[theirs], open_vswitch=facts, variables=EXISTING)) == ""
    refused = cause(hypervisor(daemons=[theirs], open_vswitch=facts))
    assert refused.endswith("bridges br-ex, ports of the kernel's datapath eth7")
    assert cause(hypervisor(variables=EXISTING)) == (
        "open_vswitch_missing: no Open vSwitch answers at unix:/run/openvswitch/db.sock, and ovn_hypervisor_openvswitch is existing"
    )
    controller = process("ovn-controller", "ovn-controller.service")
    found = cause(hypervisor(daemons=[theirs, controller], open_vswitch=facts, variables=EXISTING))
    assert found == "foreign_ovn: another ovn-controller runs there: ovn-controller in ovn-controller.service"
    assert "openvswitch-switch" not in hypervisor(variables=EXISTING).declared.packages
    assert "openvswitch-switch" in hypervisor().declared.packages


def test_ports_that_another_open_vswitch_has_left() -> None:
    facts = {"bridges": [], "datapath_ports": ["eth7"], "known_interfaces": None, "answers": False}
    assert "that no database here knows: eth7" in cause(hypervisor(open_vswitch=facts))


def test_a_named_unit_of_open_vswitch_is_accepted() -> None:
    host = hypervisor(
        daemons=[process("ovs-vswitchd", "my-switch.service")],
        variables={"ovn_hypervisor_distribution": {"openvswitch_service": "my-switch.service"}},
    )
    assert cause(host) == ""


@pytest.mark.parametrize(
    ("remote", "running", "foreign"),
    [
        pytest.param("ssl:203.0.113.1:6642", True, True, id="another control plane"),
        pytest.param("ssl:203.0.113.1:6642,ssl:192.0.2.11:6642", True, False, id="this one among others"),
        pytest.param("ssl:203.0.113.1:6642", False, False, id="nothing runs"),
        pytest.param("", True, False, id="no settings"),
        pytest.param("nonsense", True, True, id="settings that nobody understands"),
        pytest.param("ssl:[2001:DB8:0::B]:6642", True, False, id="another spelling"),
        pytest.param("ssl:db1.example.com:6642", True, False, id="a name, which may be this one"),
        pytest.param("unix:/run/ovn/ovnsb_db.sock", True, True, id="a socket of a host that is no central host"),
    ],
)
def test_a_chassis_of_another_control_plane(remote: str, running: bool, foreign: bool) -> None:
    daemons = [process("ovn-controller", "ovn-controller.service")] if running else []
    host = hypervisor(daemons=daemons, chassis={"system_id": "x", "remote": remote})
    central_hosts = {"db1": {"ovn_address": "192.0.2.11"}, "db2": {"ovn_address": "2001:db8::b"}}
    declared = [*declare({"ovn_central": central_hosts}).values(), host.declared]
    codes = [one.code for one in judge_software([host], declared)]
    assert codes == (["foreign_ovn"] if foreign else [])
    # A control plane in Kubernetes has addresses that only its cluster knows.
    assert judge_software([host], [host.declared]) == []


def test_a_control_plane_whose_names_nobody_has_resolved() -> None:
    daemons = [process("ovn-controller", "ovn-controller.service")]
    host = hypervisor(daemons=daemons, chassis={"system_id": "x", "remote": "ssl:192.0.2.11:6642"})
    declared = [*declare({"ovn_central": {"db1": {"ovn_address": "db1.example.com"}}}).values(), host.declared]
    assert judge_software([host], declared) == []


@pytest.mark.parametrize("remote", ["unix:/run/ovn/ovnsb_db.sock", "tcp:127.0.0.1:6642", "tcp:[::1]:6642"])
def test_the_control_plane_on_the_same_machine_is_this_one(remote: str) -> None:
    both = {"one": {"ovn_address": "192.0.2.11"}}
    declared = declare({"ovn_central": both, "ovn_hypervisors": both})["one"]
    daemons = [process("ovn-controller", "ovn-controller.service")]
    host = measured(declared, daemons=daemons, chassis={"system_id": "x", "remote": remote})
    assert judge_software([host], [declared]) == []

"""Which of the values that Neutron reads counts, and what is said if it is not ours."""

from __future__ import annotations

import typing as t

import pytest

from ansible_collections.c5c3.ovn.plugins.module_utils._neutron.config_files import (
    Reading,
    config_arguments,
    config_problem,
    config_warnings,
    files_in_order,
)
from ansible_collections.c5c3.ovn.plugins.module_utils._neutron.ini import Sections, parse_ini

OURS = "/etc/neutron/neutron.conf.d/50-c5c3-ovn.conf"
ML2, NEUTRON = "/etc/neutron/plugins/ml2/ml2_conf.ini", "/etc/neutron/neutron.conf"
PROGRAM = "neutron-api"
CONFIG = parse_ini(
    """
    [DEFAULT]
    core_plugin = ml2
    [ml2]
    mechanism_drivers = ovn
    tenant_network_types = geneve
    [ovn]
    ovn_nb_connection = ssl:127.0.0.1:26641,ssl:127.0.0.1:26641
    ovn_metadata_enabled = true
    """.replace("\n    ", "\n")
)
ROUTERS: Sections = {"DEFAULT": {"service_plugins": "qos, ovn-router"}}
TREE = {
    "/etc/neutron/neutron.conf.d": ["10-first.conf", "50-c5c3-ovn.conf", "90-last.conf"],
    "/etc/neutron/neutron-api.conf.d": ["api.conf"],
    "/etc/neutron/conf.d/common": ["a.conf"],
}


def listing(folder: str) -> list[str]:
    return [f"{folder}/{name}" for name in TREE.get(folder, [])]


@pytest.mark.parametrize(
    ("declared", "running", "found"),
    [
        ("/usr/bin/neutron-server --config-file /a --config-dir=/b", "", [("file", "/a"), ("dir", "/b")]),
        ("/usr/bin/neutron-server --config-file /a", "neutron-server\0--config-file\0/b", [("file", "/a")]),
        ("/etc/init.d/neutron-api systemd-start", "neutron-api\0--config-file=/b\0--x", [("file", "/b")]),
        (
            "neutron-server --config-file /a $MORE",
            "x\0--config-file\0/a\0--config-file\0/b",
            [("file", "/a"), ("file", "/b")],
        ),
        ("neutron-server --config-file /a $MORE", "", [("file", "/a")]),
        ("neutron-server --config-dir ${CONFDIR}", "", None),
        ("neutron-server --config-dir ${CONFDIR}", "x\0--config-dir\0/b", [("dir", "/b")]),
        ("/usr/bin/podman run -v /etc/kolla/neutron:/etc/neutron img neutron-server --config-dir /a", "podman", None),
        ("sh", "neutron-server (/usr/bin/python3 neutron-server --config-file /b)\0\0", [("file", "/b")]),
        ("uwsgi --pyargv '--config-file=/a --config-file=/b'", "", [("file", "/a"), ("file", "/b")]),
        ("uwsgi --ini /etc/neutron/uwsgi.ini", "uwsgi\0--ini\0/x", []),
    ],
)
def test_what_a_command_line_names(declared: str, running: str, found: list[tuple[str, str]] | None) -> None:
    assert config_arguments(declared, running) == found


DIRECTORIES = ["/etc/neutron/neutron.conf.d/10-first.conf", OURS, "/etc/neutron/neutron.conf.d/90-last.conf"]
OF_PROGRAM = ["/etc/neutron/neutron-api.conf.d/api.conf"]


@pytest.mark.parametrize(
    ("arguments", "environment", "order"),
    [
        pytest.param([], {}, [NEUTRON, ML2, *DIRECTORIES, *OF_PROGRAM], id="defaults"),
        pytest.param(
            [],
            {"OS_NEUTRON_CONFIG_DIR": "/x", "OS_NEUTRON_CONFIG_FILES": "a.ini; /b.ini"},
            ["/x/a.ini", "/b.ini", *DIRECTORIES, *OF_PROGRAM],
            id="uwsgi",
        ),
        pytest.param([("file", ML2)], {}, [*DIRECTORIES, *OF_PROGRAM, ML2], id="a file comes after the directories"),
        pytest.param(
            [("dir", "/etc/neutron/conf.d/common"), ("file", ML2)],
            {},
            ["/etc/neutron/conf.d/common/a.conf", ML2],
            id="a directory comes in their place",
        ),
        pytest.param(
            [("file", ML2), ("dir", "/etc/neutron/neutron.conf.d/")], {}, [ML2, *DIRECTORIES], id="the way out"
        ),
    ],
)
def test_the_order_of_oslo_config(
    arguments: list[tuple[str, str]], environment: dict[str, str], order: list[str]
) -> None:
    """Measured with oslo.config 10.7."""
    known = {path.rstrip("/"): names for path, names in TREE.items()}
    found = files_in_order(
        arguments, PROGRAM, environment, lambda folder: [f"{folder}/{one}" for one in known.get(folder.rstrip("/"), [])]
    )
    assert found == order


def reading(*later: tuple[str, Sections], service: str = "neutron-api.service") -> Reading:
    return Reading(service, [(NEUTRON, ROUTERS), (OURS, CONFIG), *later], 1)


@pytest.mark.parametrize(
    ("later", "problem", "warned"),
    [
        pytest.param({}, "", "", id="nothing else"),
        pytest.param({"ovn": {"ovn_nb_connection": "ssl:127.0.0.1:26641, ssl:127.0.0.1:26641"}}, "", "", id="the same"),
        pytest.param({"DEFAULT": {"core_plugin": "neutron.plugins.ml2.plugin.Ml2Plugin"}}, "", "", id="a synonym"),
        pytest.param({"ovn": {"ovn_metadata_enabled": "True"}}, "", "", id="another spelling"),
        pytest.param(
            {"ovn": {"ovn_nb_connection": "tcp:192.0.2.9:6641"}},
            "ovn_nb_connection in [ovn] is tcp:192.0.2.9:6641 there and ssl:127.0.0.1:26641 in ours",
            "",
            id="other databases",
        ),
        pytest.param(
            {"ovn": {"ovn_nb_connection": "ssl:127.0.0.1:26641"}}, "", "ovn_nb_connection in [ovn]", id="fewer attempts"
        ),
        pytest.param({"ovn": {"ovn_nb_connection": ""}}, "ovn_nb_connection in [ovn] is empty there", "", id="nothing"),
        pytest.param({"DEFAULT": {"core_plugin": "other"}}, "core_plugin in [DEFAULT] is other there", "", id="plugin"),
        pytest.param(
            {"ml2": {"mechanism_drivers": "openvswitch"}},
            "mechanism_drivers in [ml2] is openvswitch there",
            "",
            id="driver",
        ),
        pytest.param(
            {"ml2": {"mechanism_drivers": "ovn,sriovnicswitch"}}, "", "mechanism_drivers in [ml2]", id="one more driver"
        ),
        pytest.param(
            {"ml2": {"tenant_network_types": "vlan"}, "other": {"password": "1234"}},
            "",
            "tenant_network_types in [ml2]",
            id="a setting",
        ),
    ],
)
def test_what_counts_more_than_ours(later: Sections, problem: str, warned: str) -> None:
    found = [reading((ML2, later))]
    told = config_problem(found, CONFIG, OURS)
    assert bool(told) is bool(problem)
    if problem:
        assert told.startswith(
            f"neutron-api.service would read {ML2} after {OURS}, and the last value counts: {problem}"
        )
        assert f"Nothing was changed. Delete these options from {ML2}, or start the services with " in told
    warnings = config_warnings(found, CONFIG, OURS)
    assert ([warned in text for text in warnings]) == ([True] if warned else [])
    assert "vlan" not in str(warnings)


def test_the_last_of_them_counts() -> None:
    theirs: Sections = {"ovn": {"ovn_nb_connection": "tcp:192.0.2.9:6641"}}
    ours = {"ovn": {"ovn_nb_connection": CONFIG["ovn"]["ovn_nb_connection"]}}
    assert config_problem([reading((ML2, theirs), ("/z", ours))], CONFIG, OURS) == ""
    assert config_problem([reading((ML2, ours), ("/z", theirs))], CONFIG, OURS).startswith(
        "neutron-api.service would read /z"
    )
    assert config_problem([Reading("x", [(ML2, theirs), (OURS, CONFIG)], 1)], CONFIG, OURS) == ""


def test_services_are_told_together() -> None:
    theirs: Sections = {"ovn": {"ovn_nb_connection": "tcp:192.0.2.9:6641"}}
    several = [reading((ML2, theirs), service=name) for name in ("a.service", "b.service")]
    told = config_problem(several, CONFIG, OURS)
    assert told.startswith(f"a.service, b.service would read {ML2} after")
    assert told.count("ovn_nb_connection") == 1


@pytest.mark.parametrize(
    ("directory", "told"),
    [
        ("/etc/neutron/conf.d/common", "is started with --config-dir /etc/neutron/conf.d/common."),
        ("", "is started with other files."),
    ],
)
def test_a_service_that_does_not_read_ours(directory: str, told: str) -> None:
    problem = config_problem(
        [Reading("x.service", [(NEUTRON, ROUTERS)], None, [directory] if directory else [])], CONFIG, OURS
    )
    assert problem.startswith(
        f"x.service does not read {OURS}: it {told} Nothing was changed. Set ovn_neutron_config_file"
    )
    assert (f", for example {directory}/50-c5c3-ovn.conf, or" in problem) is bool(directory)


@pytest.mark.parametrize(
    ("files", "told"),
    [
        ([(NEUTRON, ROUTERS)], ""),
        ([(NEUTRON, {"DEFAULT": {"service_plugins": "neutron.services.ovn_l3.plugin.OVNL3RouterPlugin"}})], ""),
        ([(NEUTRON, {"DEFAULT": {"service_plugins": "router"}})], f"are router, without ovn-router, {NEUTRON}"),
        ([(NEUTRON, {})], f"are none, without ovn-router, {NEUTRON}"),
        ([(NEUTRON, ROUTERS), (ML2, {"DEFAULT": {"service_plugins": "qos"}})], f"are qos, without ovn-router, {ML2}"),
        ([], ""),  # in a container
    ],
)
def test_a_neutron_without_routers_is_warned_of(files: list[tuple[str, t.Any]], told: str) -> None:
    found = config_warnings([Reading("x.service", [*files, (OURS, CONFIG)], len(files))], CONFIG, OURS)
    words, _comma, file = told.rpartition(", ")
    assert [words in text and text.endswith(f"of {file}.") for text in found] == ([True] if told else [])


def test_what_is_ours_is_put_right_where_it_comes_from() -> None:
    ours: Sections = {"DEFAULT": {"service_plugins": "qos"}}
    (told,) = config_warnings([Reading("x.service", [(NEUTRON, ROUTERS), (OURS, ours)], 1)], ours, OURS)
    assert told.endswith("Add it to service_plugins in [DEFAULT] of ovn_neutron_config.")


@pytest.mark.parametrize(
    ("second", "example"),
    [(["/etc/neutron/conf.d/common", "/b"], "/etc/neutron/conf.d/common/50-c5c3-ovn.conf"), (["/b"], "")],
)
def test_the_directory_that_is_advised_is_read_by_all(second: list[str], example: str) -> None:
    first = ["/etc/neutron/conf.d/common", "/a"]
    problem = config_problem([Reading("x.service", [], None, one) for one in (first, second)], CONFIG, OURS)
    assert (f"for example {example}, or" in problem) is bool(example)
    assert ("for example" in problem) is bool(example)

"""What stands in the way of an adoption, on one host; and the order of northd."""

from __future__ import annotations

import typing as t

import pytest

from ansible_collections.c5c3.ovn.plugins.module_utils._adoption.problems import (
    adoption_problems,
    foreign_message,
    northd_order,
)

ADDRESS, FILE = "tcp:192.0.2.11:6643", "/var/lib/ovn/ovnnb_db.db"


def unit(name: str) -> dict[str, str]:
    return {"kind": "unit", "name": name, "runtime": ""}


NORTHBOUND: dict[str, t.Any] = {
    "name": "northbound",
    "pid": 812,
    "supervisor": unit("ovn-ovsdb-server-nb.service"),
    "own": False,
    "file": FILE,
    "clustered": True,
    "control_socket": "/run/ovn/ovnnb_db.ctl",
    "remotes": ["punix:/run/ovn/ovnnb_db.sock"],
    "connections": [],
    "address": ADDRESS,
    "private_key": "",
    "certificate": "",
    "ca_certificate": "",
    "ca_digests": [],
    "version": "3.1.0",
    "state": "",
    "problem": "",
}
NORTHD = {
    **NORTHBOUND,
    "name": "northd",
    "pid": 813,
    "supervisor": unit("ovn-northd.service"),
    "file": "",
    "control_socket": "/run/ovn/ovn-northd.813.ctl",
    "state": "standby",
}


def found(*daemons: dict[str, t.Any], **facts: t.Any) -> dict[str, t.Any]:
    return {"daemons": list(daemons), "version": "3.1.0", "missing_files": [], "ca_digests": [], **facts}


def desired(address: str = ADDRESS, run_directory: str = "/run/ovn", **facts: t.Any) -> dict[str, t.Any]:
    scheme = address[:3]
    northbound = {
        "database_file": FILE,
        "environment": {
            "OVN_LOCAL_ADDRESS": address,
            "OVN_CA_CERTIFICATE": "/etc/ovn/tls/ca.pem",
            "OVN_RUN_DIR": run_directory,
        },
        "settings": {"connections": [{"target": f"p{scheme}:6641:[::]"}]},
    }
    return {"databases": {"northbound": {**northbound, **facts}}}


CONTAINER = {"kind": "container", "name": "ovn_nb_db", "runtime": "docker"}
VOLUME = "/var/lib/docker/volumes/ovn_nb_db/_data/ovnnb.db"
PLACE = {"occupied": False, "free": 2000}


def contained(**facts: t.Any) -> dict[str, t.Any]:
    """As Kolla runs it: other paths inside, which do not matter."""
    container = {"name": "ovn_nb_db", "units": [], "policy": "no", "host_file": VOLUME, "problem": "", **facts}
    inside = {"file": "/var/lib/openvswitch/ovn-nb/ovnnb.db", "control_socket": "/run/openvswitch/x.ctl"}
    return {
        **NORTHBOUND,
        **inside,
        "supervisor": CONTAINER,
        "container": container,
        "file_bytes": 1000,
        "root": "/proc/812/root",
    }


SSL = ADDRESS.replace("tcp", "ssl")
WITH_TLS = {
    "address": SSL,
    "private_key": "/etc/ovn/key.pem",
    "certificate": "/etc/ovn/cert.pem",
    "ca_certificate": "/etc/ovn/ca.pem",
}


@pytest.mark.parametrize(
    ("result", "declared"),
    [
        pytest.param(found(NORTHBOUND, NORTHD), desired(), id="what Debian's units run"),
        pytest.param(found(), desired(), id="nothing runs"),
        pytest.param(
            found({**NORTHBOUND, "own": True, "address": "x", "file": "y"}, missing_files=["z"]), desired(), id="ours"
        ),
        pytest.param(
            found({**NORTHBOUND, "supervisor": {"kind": "none", "name": "", "runtime": ""}}), desired(), id="by hand"
        ),
        pytest.param(
            found({**NORTHBOUND, **WITH_TLS, "ca_digests": ["a"]}, ca_digests=["a", "b"]),
            desired(SSL),
            id="the same CA",
        ),
        pytest.param(found({**NORTHBOUND, "version": "3.1.0"}, version="3.10.0"), desired(), id="an older version"),
        pytest.param(
            found(NORTHBOUND, {**NORTHD, "supervisor": {"kind": "none", "name": "", "runtime": ""}}),
            desired(),
            id="northd by hand",
        ),
        pytest.param(
            found(contained(), {**NORTHD, "supervisor": CONTAINER, "container": {"problem": ""}}, places={FILE: PLACE}),
            desired(),
            id="containers",
        ),
        pytest.param(
            found(contained(host_file=FILE), places={FILE: {**PLACE, "occupied": True}}),
            desired(),
            id="a container with the file of the host",
        ),
    ],
)
def test_nothing_stands_in_the_way(result: dict[str, t.Any], declared: dict[str, t.Any]) -> None:
    assert adoption_problems(result, declared) == []


@pytest.mark.parametrize(
    ("result", "declared", "parts"),
    [
        pytest.param(
            found(contained(problem="its file is in no volume")),
            desired(),
            (
                "in container ovn_nb_db",
                "its file is in no volume",
                "docs/adopt.md",
                "docker update --restart=no ovn_nb_db && docker stop ovn_nb_db",
            ),
            id="a container",
        ),
        pytest.param(
            found({**NORTHBOUND, "supervisor": CONTAINER}),
            desired(),
            ("cannot be adopted while it runs: its container could not be",),
            id="a container of which nothing is known",
        ),
        pytest.param(
            found({**NORTHD, "supervisor": CONTAINER, "container": {"problem": "its engine is gone"}}),
            desired(),
            ("northd in container ovn_nb_db", "its engine is gone"),
            id="northd in a container",
        ),
        pytest.param(
            found(contained(), places={FILE: {**PLACE, "occupied": True}}),
            desired(),
            (f"{FILE} exists already", VOLUME, "Nothing is overwritten"),
            id="a file where the copy would be",
        ),
        pytest.param(
            found(contained(), places={FILE: {**PLACE, "free": 1999}}),
            desired(),
            ("1000 bytes", "1999 bytes left", "Make space"),
            id="no space for the copy",
        ),
        pytest.param(
            found(contained(), places={FILE: {**PLACE, "free": None}}),
            desired(),
            (f"no folder for {FILE}",),
            id="no folder for the copy",
        ),
        pytest.param(
            found({**NORTHBOUND, "supervisor": {"kind": "pod", "name": "", "runtime": ""}}),
            desired(),
            ("in a pod",),
            id="a pod",
        ),
        pytest.param(
            found(
                NORTHBOUND,
                {**NORTHD, "supervisor": {"kind": "none", "name": "", "runtime": ""}, "root": "/proc/813/root"},
            ),
            desired(),
            ("a root directory of its own", "ovs-appctl -t /proc/813/root/run/ovn/ovn-northd.813.ctl exit"),
            id="northd in a root directory of its own",
        ),
        pytest.param(
            found({**NORTHBOUND, "clustered": False, "address": ""}),
            desired(),
            ("standalone", f"ovsdb-tool create-cluster NEW_FILE {FILE} {ADDRESS}"),
            id="a standalone database",
        ),
        pytest.param(
            found({**NORTHBOUND, "file": "/srv/ovn/ovnnb_db.db"}),
            desired(),
            ("Set ovn_central_database_directory=/srv/ovn",),
            id="another directory",
        ),
        pytest.param(
            found({**NORTHBOUND, "file": "/srv/ovn/ovnnb.db"}),
            desired(),
            ("rename the file to /srv/ovn/ovnnb_db.db",),
            id="another name of the file",
        ),
        pytest.param(
            found({**NORTHBOUND, "control_socket": "/run/openvswitch/ovnnb_db.ctl"}),
            desired(),
            ("/run/openvswitch/ovnnb_db.ctl", "--unixctl=/run/ovn/ovnnb_db.ctl"),
            id="another control socket",
        ),
        pytest.param(
            found(NORTHBOUND),
            desired(run_directory="/run/openvswitch"),
            ("/run/ovn/ovnnb_db.ctl", "--unixctl=/run/openvswitch/ovnnb_db.ctl"),
            id="the run directory of another distribution",
        ),
        pytest.param(found(NORTHBOUND), desired(SSL), (ADDRESS, SSL, "Set ovn_tls=false"), id="tcp instead of ssl"),
        pytest.param(
            found({**NORTHBOUND, "address": "tcp:192.0.2.99:6643"}),
            desired(),
            ("Set ovn_address=192.0.2.99",),
            id="another address",
        ),
        pytest.param(
            found({**NORTHBOUND, "address": "tcp:192.0.2.11:7643"}), desired(), ("uses port 6643",), id="another port"
        ),
        pytest.param(
            found({**NORTHBOUND, **WITH_TLS, "ca_digests": ["a"]}, ca_digests=["b"]),
            desired(SSL),
            ("/etc/ovn/ca.pem", "ovn_central_private_key=/etc/ovn/key.pem, ovn_central_certificate=/etc/ovn/cert.pem"),
            id="another CA",
        ),
        pytest.param(
            found({**NORTHBOUND, **WITH_TLS}),
            desired(SSL),
            ("/etc/ovn/ca.pem", "cannot be read"),
            id="a CA that cannot be read",
        ),
        pytest.param(
            found({**NORTHBOUND, "version": "3.10.0"}, version="3.9.1"),
            desired(),
            ("3.10.0", "3.9.1"),
            id="a newer version",
        ),
        pytest.param(
            found({**NORTHBOUND, "problem": "no answer within 5 s."}),
            desired(),
            ("does not respond: no answer within 5 s. Repair it",),
            id="no answer",
        ),
        pytest.param(
            found({**NORTHBOUND, "remotes": ["ptcp:7000:0.0.0.0"]}), desired(), ("ptcp:7000:0.0.0.0",), id="a listener"
        ),
        pytest.param(
            found(NORTHBOUND, missing_files=["/usr/bin/x"]),
            desired(),
            ("/usr/bin/x is missing", "by hand"),
            id="packages",
        ),
        pytest.param(
            found(missing_files=["/usr/bin/x"]), desired(), ("/usr/bin/x is missing", "Mask ovn-central"), id="stopped"
        ),
        pytest.param(
            found(missing_files=["/usr/lib/python3/dist-packages/ovs", "/usr/lib/python3/dist-packages/ovsdbapp"]),
            desired(),
            (
                "ovsdbapp are missing",
                "no unit has to be masked",
                "apt-get install python3-openvswitch python3-ovsdbapp",
            ),
            id="libraries",
        ),
        pytest.param(
            found(NORTHBOUND, {**NORTHD, "supervisor": unit("ovn-ovsdb-server-nb.service")}),
            desired(),
            ("ovn-ovsdb-server-nb.service runs several daemons",),
            id="one unit for all",
        ),
    ],
)
def test_what_stands_in_the_way_is_named_with_the_next_step(
    result: dict[str, t.Any], declared: dict[str, t.Any], parts: tuple[str, ...]
) -> None:
    (problem,) = adoption_problems(result, declared)
    assert [part for part in parts if part not in problem] == []
    assert problem.endswith(".")
    assert ".." not in problem


def test_a_rollout_is_told_about_the_adoption() -> None:
    message = foreign_message(found(NORTHBOUND, NORTHD, {**NORTHD, "own": True, "pid": 9}))
    assert f"northbound in ovn-ovsdb-server-nb.service (process 812, {FILE})" in message
    assert "northd in ovn-northd.service (process 813)" in message
    assert "process 9" not in message
    assert "c5c3.ovn.adopt" in message


def test_ours_alone_is_no_message() -> None:
    assert foreign_message(found({**NORTHBOUND, "own": True})) == ""


def test_the_active_northd_is_adopted_last() -> None:
    hosts = {
        "central1": found({**NORTHD, "state": "active"}, NORTHBOUND),
        "central2": found(NORTHD),
        "central3": found(NORTHD),
        "central4": found({**NORTHD, "own": True}),
        "central5": found(NORTHBOUND),
    }
    assert northd_order(hosts) == ["central2", "central3", "central1"]

"""What stands in the way of an adoption, on one host; and the order of northd."""

from __future__ import annotations

import typing as t

import pytest

from ansible_collections.c5c3.ovn.plugins.module_utils._host.adoption_problems import (
    adoption_problems,
    foreign_message,
    listener_problems,
    northd_order,
)

ADDRESS, FILE = "tcp:192.0.2.11:6643", "/var/lib/ovn/ovnnb_db.db"


def unit(name: str) -> dict[str, str]:
    return {"kind": "unit", "name": name, "runtime": ""}


NORTHBOUND: dict[str, t.Any] = {
    "name": "northbound",
    "pid": 812,
    "supervisor": unit("ovn-ovsdb-server-nb.service"),
    "container": None,
    "root": "",
    "own": False,
    "file": FILE,
    "clustered": True,
    "control_socket": "/run/ovn/ovnnb_db.ctl",
    "sockets": {"control": "/run/ovn/ovnnb_db.ctl", "database": "/run/ovn/ovnnb_db.sock"},
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
    "sockets": {"control": "/run/ovn/ovn-northd.813.ctl", "database": ""},
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
        "listeners": [{"target": f"p{scheme}:6641:[::]"}],
    }
    return {"databases": {"northbound": {**northbound, **facts}}}


def contained(daemon: dict[str, t.Any], name: str = "ovn_nb_db", unit: str = "", **facts: t.Any) -> dict[str, t.Any]:
    """The same daemon in a container, with a file and sockets in places of its own."""
    root = f"/proc/{daemon['pid']}/root"
    return {
        **daemon,
        "supervisor": {"kind": "container", "name": name, "runtime": "docker", "unit": unit},
        "container": {"name": name, "policy": "always", "units": [], "problem": "", **facts},
        "root": root,
        "file": daemon["file"] and "/var/lib/openvswitch/ovn-nb/ovnnb.db",
        "control_socket": "/run/openvswitch/x.ctl",
        "sockets": {"control": f"{root}/run/openvswitch/x.ctl", "database": f"{root}/run/openvswitch/x.sock"},
    }


def without_database_socket(daemon: dict[str, t.Any]) -> dict[str, t.Any]:
    return {**daemon, "sockets": {**daemon["sockets"], "database": ""}, "problem": "no such socket."}


def by_hand(daemon: dict[str, t.Any]) -> dict[str, t.Any]:
    return {**daemon, "supervisor": {"kind": "none", "name": "", "runtime": ""}}


OWNED = "it belongs to the Nomad job ovn, which would start it again. End it there"
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
        pytest.param(found({**NORTHBOUND, "address": "tcp:[192.0.2.11]:6643"}), desired(), id="IPv4 in brackets"),
        pytest.param(
            found({**NORTHBOUND, "address": "tcp:[2001:DB8:0::1]:6643"}), desired("tcp:[2001:db8::1]:6643"), id="IPv6"
        ),
        pytest.param(
            found({**NORTHBOUND, "own": True, "address": "x", "file": "y"}, missing_files=["z"]), desired(), id="ours"
        ),
        pytest.param(found(by_hand(NORTHBOUND)), desired(), id="by hand"),
        pytest.param(
            found({**NORTHBOUND, **WITH_TLS, "ca_digests": ["a"]}, ca_digests=["a", "b"]),
            desired(SSL),
            id="the same CA",
        ),
        pytest.param(found({**NORTHBOUND, "version": "3.1.0"}, version="3.10.0"), desired(), id="an older version"),
        pytest.param(found(NORTHBOUND, by_hand(NORTHD)), desired(), id="northd by hand"),
        pytest.param(found(contained(NORTHBOUND), contained(NORTHD, "ovn_northd")), desired(), id="containers"),
        pytest.param(
            found(contained(NORTHBOUND, units=["nb.service"]), contained(NORTHD, "ovn_northd", units=["n.service"])),
            desired(),
            id="containers with units of their own",
        ),
        pytest.param(
            found(contained(NORTHBOUND, unit="nb.service", units=["nb.service"])),
            desired(),
            id="a container in the unit that starts it",
        ),
        pytest.param(
            found({**contained(NORTHBOUND), **WITH_TLS, "ca_digests": ["a"]}, ca_digests=["a"]),
            desired(SSL),
            id="the same CA in a container",
        ),
    ],
)
def test_nothing_stands_in_the_way(result: dict[str, t.Any], declared: dict[str, t.Any]) -> None:
    assert adoption_problems(result, declared) == []


@pytest.mark.parametrize(
    ("result", "declared", "parts"),
    [
        pytest.param(
            found(contained(NORTHBOUND, problem=OWNED)),
            desired(),
            (
                "northbound in container ovn_nb_db",
                f"cannot be taken over while it runs: {OWNED}",
                'See "Containers" in docs/adopt.md',
                "the command that stops it is: docker update --restart=no ovn_nb_db && docker stop ovn_nb_db",
            ),
            id="a container that would come back",
        ),
        pytest.param(
            found(contained(NORTHD, "ovn_northd", problem=OWNED, units=["a.service", "b.service"])),
            desired(),
            (
                f"northd in container ovn_northd (process 813) cannot be taken over while it runs: {OWNED}",
                "systemctl disable --now a.service b.service && docker update --restart=no ovn_northd && docker stop",
            ),
            id="northd in a container that units would start again",
        ),
        pytest.param(
            found({**NORTHBOUND, "supervisor": {"kind": "pod", "name": "", "runtime": ""}}),
            desired(),
            ("in a pod", "where it is declared", 'See "Containers" in docs/adopt.md'),
            id="a pod",
        ),
        pytest.param(
            found(
                NORTHBOUND,
                {
                    **by_hand(NORTHD),
                    "root": "/proc/813/root",
                    "sockets": {"control": "/proc/813/root/run/ovn/ovn-northd.813.ctl", "database": ""},
                },
            ),
            desired(),
            ("a root directory of its own", "ovs-appctl -t /proc/813/root/run/ovn/ovn-northd.813.ctl exit"),
            id="northd in a root directory of its own",
        ),
        pytest.param(
            found({**contained(NORTHBOUND), "clustered": False, "address": ""}),
            desired(),
            ("standalone",),
            id="a standalone database in a container",
        ),
        pytest.param(
            found({**contained(NORTHBOUND), "problem": "no answer within 5 s."}),
            desired(),
            ("container ovn_nb_db", "does not respond: no answer within 5 s. Repair it"),
            id="no answer from a container",
        ),
        pytest.param(
            found(without_database_socket(contained(NORTHBOUND))),
            desired(),
            (
                "northbound in container ovn_nb_db",
                "has no Unix socket for clients",
                "start it with --remote=punix:/var/run/ovn/ovnnb_db.sock and --unixctl=/var/run/ovn/ovnnb_db.ctl",
            ),
            id="no socket for clients in a container",
        ),
        pytest.param(
            found({**contained(NORTHBOUND), "version": "", "problem": "no such socket."}),
            desired(),
            (
                "northbound in container ovn_nb_db",
                "does not respond at its control socket /run/openvswitch/x.ctl: no such socket. ",
                "start it with --remote=punix:/var/run/ovn/ovnnb_db.sock and --unixctl=/var/run/ovn/ovnnb_db.ctl",
            ),
            id="no answer of a control socket in a container",
        ),
        pytest.param(
            found({**contained({**NORTHBOUND, "name": "southbound"}), "version": "", "problem": "no such socket."}),
            desired(),
            ("--remote=punix:/var/run/ovn/ovnsb_db.sock and --unixctl=/var/run/ovn/ovnsb_db.ctl",),
            id="no answer of the other database",
        ),
        pytest.param(
            found({**NORTHBOUND, "version": "", "problem": "no such socket."}),
            desired(),
            ("does not respond: no such socket. Repair it first",),
            id="no answer of a control socket outside",
        ),
        pytest.param(
            found({**contained(NORTHD, "ovn_northd"), "version": "", "problem": "no such socket."}),
            desired(),
            ("northd in container ovn_northd (process 813) does not respond: no such socket. Repair it first",),
            id="no answer of northd in a container",
        ),
        pytest.param(
            found({**contained(NORTHBOUND), **WITH_TLS, "ca_digests": ["a"]}, ca_digests=["b"]),
            desired(SSL),
            (
                "trusts the CA in /etc/ovn/ca.pem",
                "Use the files that are there (in its container: copy them to the host): ovn_central_private_key=",
            ),
            id="another CA in a container",
        ),
        pytest.param(
            found(contained(NORTHBOUND, units=["ovn.service"]), contained(NORTHD, "northd", units=["ovn.service"])),
            desired(),
            ("ovn.service runs several daemons",),
            id="one unit for several containers",
        ),
        pytest.param(
            found(contained(NORTHBOUND, unit="ovn.service"), contained(NORTHD, "northd", units=["ovn.service"])),
            desired(),
            ("ovn.service runs several daemons",),
            id="a container in the unit that starts another one",
        ),
        pytest.param(
            found(contained(NORTHBOUND, units=["ovn-northd.service"]), NORTHD),
            desired(),
            ("ovn-northd.service runs several daemons",),
            id="a unit that runs a daemon and starts a container",
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
            (
                "trusts the CA in /etc/ovn/ca.pem",
                "there: ovn_central_private_key=/etc/ovn/key.pem, ovn_central_certificate=/etc/ovn/cert.pem",
            ),
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


def test_a_container_whose_engine_is_unknown_has_no_command() -> None:
    daemon = contained(NORTHBOUND, "0123456789ab", problem="its engine has no command that is known here")
    supervisor = {"kind": "container", "name": "0123456789ab", "runtime": "", "unit": ""}
    (problem,) = adoption_problems(found({**daemon, "supervisor": supervisor}), desired())
    assert problem.endswith('See "Containers" in docs/adopt.md.')


def test_a_rollout_is_told_about_the_adoption() -> None:
    message = foreign_message(found(NORTHBOUND, NORTHD, {**NORTHD, "own": True, "pid": 9}))
    assert f"northbound in ovn-ovsdb-server-nb.service (process 812, {FILE})" in message
    assert "northd in ovn-northd.service (process 813)" in message
    assert "process 9" not in message
    assert "c5c3.ovn.adopt" in message


def test_ours_alone_is_no_message() -> None:
    assert foreign_message(found({**NORTHBOUND, "own": True})) == ""


def test_the_active_northd_is_adopted_last() -> None:
    states = {"central1": "active", "central2": "standby", "central3": "", "central4": None}
    assert northd_order(states) == ["central2", "central3", "central1"]


def test_server_of_both_databases_is_refused() -> None:
    both = [NORTHBOUND, {**NORTHBOUND, "name": "southbound", "problem": "not asked"}]
    shared = [problem for problem in adoption_problems(found(*both), desired()) if "together" in problem]
    assert shared == [
        "the ovsdb-server with process id 812 serves both databases, which could only be stopped together. Give each a server of its own first."
    ]


UUID = "11111111-1111-4111-8111-111111111111"


def problems(rows: t.Sequence[str] = (), command: t.Sequence[str] = (), *desired: str, **role: str) -> list[str]:
    found = [{"_uuid": UUID, "target": target, "role": role.get("role", "")} for target in rows]
    wanted: list[dict[str, t.Any]] = [{"target": target} for target in desired]
    if "desired_role" in role:
        wanted[0]["role"] = role["desired_role"]
    return listener_problems("southbound", wanted, found, command)


@pytest.mark.parametrize(
    ("rows", "command", "desired"),
    [
        pytest.param((), (), "ptcp:6642:[::]", id="nobody listens yet"),
        pytest.param(("ptcp:6642:0.0.0.0",), (), "ptcp:6642:0.0.0.0", id="the row is there already"),
        pytest.param(("ptcp:16642:0.0.0.0",), (), "ptcp:6642:[::]", id="a row on another port stays"),
        pytest.param((), ("ptcp:6642:0.0.0.0",), "ptcp:6642:[::]", id="a row takes over from the command line"),
        pytest.param((), ("ptcp:6642:192.0.2.1",), "ptcp:6642:0.0.0.0", id="all addresses instead of one"),
        pytest.param(
            ("ptcp:7000",), ("ptcp:7000",), "ptcp:6642:[::]", id="a row has the same port as the command line"
        ),
        pytest.param((), ("punix:/run/ovn/ovnsb_db.sock", "db:x,y,z"), "ptcp:6642:[::]", id="other remotes"),
        pytest.param(("tcp:192.0.2.9:6642",), (), "ptcp:6642:[::]", id="a row that calls out"),
    ],
)
def test_listeners_that_stay(rows: tuple[str, ...], command: tuple[str, ...], desired: str) -> None:
    assert problems(rows, command, desired) == []


@pytest.mark.parametrize(
    ("rows", "command", "desired", "remedy"),
    [
        pytest.param(
            ("ptcp:6642:0.0.0.0",), (), "ptcp:6642:[::]", 'Set ovn_central_listen_address="0.0.0.0"', id="two wildcards"
        ),
        pytest.param(("pssl:6642:[::]",), (), "ptcp:6642:[::]", "Set ovn_tls=true", id="clients use TLS"),
        pytest.param(("ptcp:6642",), (), "pssl:6642:[::]", "Set ovn_tls=false", id="clients use no TLS"),
        pytest.param(
            ("ptcp:6642",),
            (),
            "ptcp:6642:0.0.0.0",
            f"ovn-sbctl set Connection {UUID} 'target=\"ptcp:6642:0.0.0.0\"'",
            id="another name for the same addresses",
        ),
        pytest.param(
            ("ptcp:6642:192.0.2.1",), (), "ptcp:6642:[::]", f"set Connection {UUID}", id="a single address in a row"
        ),
        pytest.param((), ("pssl:6642:[::]",), "ptcp:6642:[::]", "Set ovn_tls=true", id="TLS by the command line"),
        pytest.param(
            (),
            ("ptcp:6642:[::1]",),
            "ptcp:6642:0.0.0.0",
            'Set ovn_central_listen_address="[::]"',
            id="IPv6 by the command line",
        ),
        pytest.param(
            (), ("ptcp:7000:0.0.0.0",), "ptcp:6642:[::]", "ovn_central_extra_connections", id="a port of its own"
        ),
    ],
)
def test_listeners_that_clients_would_lose(
    rows: tuple[str, ...], command: tuple[str, ...], desired: str, remedy: str
) -> None:
    (problem,) = problems(rows, command, desired)
    assert remedy in problem
    assert "southbound" in problem


@pytest.mark.parametrize(
    ("now", "desired", "allowed"),
    [
        ("", "ovn-controller", False),
        ("ovn-controller", "ovn-controller", True),
        ("ovn-controller", "", False),
        ("", "", True),
    ],
)
def test_a_role_is_no_matter_of_an_adoption(now: str, desired: str, allowed: bool) -> None:
    found = problems(["pssl:6642:[::]"], (), "pssl:6642:[::]", role=now, desired_role=desired)
    assert [("ovn_southbound_rbac=false" in problem) for problem in found] == ([] if allowed else [True])


def test_a_listener_of_the_command_line_that_would_get_a_role_is_a_problem() -> None:
    target = "pssl:6642:[::]"
    (found,) = problems([], (target,), target, desired_role="ovn-controller")
    assert 'would get "ovn-controller"' in found
    assert "ovn_southbound_rbac=false" in found
    assert problems([], (target,), target, desired_role="") == []

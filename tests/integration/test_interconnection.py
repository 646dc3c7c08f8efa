"""OVN interconnection is a client of ours: ovn-ic works with both databases over TLS, and what it needs in them stays when a run converges them."""

from __future__ import annotations

import json
import pathlib
import typing as t

import pytest
from conftest import Daemon, MakeCluster, Pki, RaftCluster, RunModule, listens, run, until

pytestmark = pytest.mark.timeout(180)
SCHEMAS = {"ic_nb": "/usr/share/ovn/ovn-ic-nb.ovsschema", "ic_sb": "/usr/share/ovn/ovn-ic-sb.ovsschema"}


@pytest.fixture
def servers(daemons: None, short_dir: pathlib.Path) -> t.Iterator[dict[str, str]]:
    """The endpoints of both databases of interconnection, each with one server without Raft."""
    started, endpoints = [], {}
    for name, schema in SCHEMAS.items():
        file, socket = short_dir / f"{name}.db", short_dir / f"{name}.sock"
        run("ovsdb-tool", "create", str(file), schema)
        command = ["ovsdb-server", "-vconsole:off", "--no-chdir", f"--remote=punix:{socket}", str(file)]
        started.append(Daemon([*command, f"--unixctl={short_dir / name}.ctl"], short_dir / f"{name}.out"))
        until(lambda socket=socket: listens(socket), f"{name} listens")
        endpoints[name] = f"unix:{socket}"
    yield endpoints
    for server in started:
        server.kill()


def converge(run_module: RunModule, cluster: RaftCluster, **options: t.Any) -> t.Any:
    member = cluster.leader
    place = {"database": member.database, "control_socket": member.control_socket, "socket": member.socket}
    return run_module("ovn_database", {**place, "wait_timeout": 30, **options})


def test_ovn_ic_works_with_our_databases(
    servers: dict[str, str], raft_cluster: MakeCluster, pki: Pki, run_module: RunModule, short_dir: pathlib.Path
) -> None:
    northbound, southbound = (
        raft_cluster(3, database, tls=True, election_timer=10_000) for database in ("northbound", "southbound")
    )
    run("ovn-sbctl", f"--db={','.join(southbound.sockets)}", "init")
    nbctl = ("ovn-nbctl", f"--db={','.join(northbound.sockets)}", "--timeout=20")
    run(*nbctl, "set", "NB_Global", ".", "name=zone1", "options:ic-route-adv=true", "options:ic-route-learn=true")
    files = pki.issue("interconnection")
    ic = Daemon(
        [
            *("ovn-ic", "-vconsole:off", "--no-chdir", f"--unixctl={short_dir}/ovn-ic.ctl"),
            *(f"--ovnnb-db={','.join(northbound.endpoints)}", f"--ovnsb-db={','.join(southbound.endpoints)}"),
            *(f"--ic-nb-db={servers['ic_nb']}", f"--ic-sb-db={servers['ic_sb']}"),
            *("-p", files.private_key, "-c", files.certificate, "-C", files.ca_certificate),
        ],
        short_dir / "ovn-ic.out",
    )
    try:
        icsb = ("ovn-ic-sbctl", f"--db={servers['ic_sb']}", "--timeout=20")
        until(lambda: "zone1" in run(*icsb, "show"), "ovn-ic registers its zone", 30)

        # What a run of ours declares for the Northbound database
        wanted = {"options": {"northd_probe_interval": 30000}, "connections": [{"target": "pssl:7003:127.0.0.9"}]}
        assert converge(run_module, northbound, **wanted)["changed"]
        row = run(*nbctl, "--format=json", "--columns=name,options", "list", "NB_Global")
        name, (_map, options) = json.loads(row)["data"][0]
        assert (name, dict(options)) == (
            "zone1",
            {"ic-route-adv": "true", "ic-route-learn": "true", "northd_probe_interval": "30000"},
        )
        assert not converge(run_module, northbound, **wanted)["changed"]

        run("ovn-ic-nbctl", f"--db={servers['ic_nb']}", "--timeout=20", "ts-add", "transit1")
        until(
            lambda: "transit1" in run(*nbctl, "--bare", "--columns=name", "list", "Logical_Switch"), "it is there", 30
        )
    finally:
        ic.kill()

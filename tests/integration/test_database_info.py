"""ovn_database_info against real database servers."""

from __future__ import annotations

import functools
import json
import pathlib
import signal
import subprocess
import typing as t

import pytest
from conftest import Daemon, MakeCluster, Pki, RaftCluster, Ran, RunModule, listens, run, until
from test_gone_chassis import Pods

from ansible_collections.c5c3.ovn.plugins.module_utils._base.deadline import Deadline
from ansible_collections.c5c3.ovn.plugins.module_utils._base.errors import Unreachable
from ansible_collections.c5c3.ovn.plugins.module_utils._control_plane.database_pods import DatabasePods
from ansible_collections.c5c3.ovn.plugins.module_utils._ovsdb.table_reader import read_database

Read = t.Callable[..., Ran]

# A schema with every type. It has the name of Open vSwitch's, so the module reads it.
TYPES: dict[str, t.Any] = {
    "name": "Open_vSwitch",
    "version": "1.2.3",
    "tables": {
        "Thing": {
            "isRoot": True,
            "columns": {
                "name": {"type": "string"},
                "number": {"type": "integer"},
                "size": {"type": "real"},
                "flag": {"type": "boolean"},
                "id": {"type": "uuid"},
                "kind": {"type": {"key": {"type": "string", "enum": ["set", ["big", "small"]]}}},
                "maybe": {"type": {"key": "integer", "min": 0, "max": 1}},
                "sizes": {"type": {"key": "real", "min": 0, "max": "unlimited"}},
                "words": {"type": {"key": "string", "min": 0, "max": 3}},
                "keys": {"type": {"key": "string", "value": "string", "min": 0, "max": "unlimited"}},
                "next": {"type": {"key": {"type": "uuid", "refTable": "Thing", "refType": "weak"}, "min": 0, "max": 1}},
                "queues": {
                    "type": {
                        "key": "integer",
                        "value": {"type": "uuid", "refTable": "Queue"},
                        "min": 0,
                        "max": "unlimited",
                    }
                },
            },
        },
        "Queue": {"columns": {"rate": {"type": "integer"}}},
    },
}
ID = "0f7ab1b0-0000-4000-8000-000000000001"


class Server:
    """An ovsdb-server with a database that is not clustered."""

    def __init__(self, directory: pathlib.Path, schema: t.Mapping[str, t.Any] | str) -> None:
        file = directory / "schema"
        file.write_text(schema if isinstance(schema, str) else json.dumps(schema))
        run("ovsdb-tool", "create", str(directory / "db"), str(file))
        self.endpoint = f"unix:{directory}/db.sock"
        self.daemon = Daemon(
            ["ovsdb-server", "-vconsole:off", f"--remote=p{self.endpoint}", "--unixctl=none", str(directory / "db")],
            directory / "db.out",
        )
        until(lambda: listens(directory / "db.sock"), "the server")

    def transact(self, *operations: dict[str, t.Any]) -> None:
        answers = json.loads(run("ovsdb-client", "transact", self.endpoint, json.dumps(["Open_vSwitch", *operations])))
        assert not [answer for answer in answers if "error" in answer], answers


@pytest.fixture
def types(daemons: None, short_dir: pathlib.Path) -> t.Iterator[Server]:
    """Three things in a ring, each of them refers to the next one."""
    server = Server(short_dir, TYPES)
    rows = (
        {"name": "a", "number": -3, "size": 2, "flag": True, "kind": "big", "words": ["set", ["z", "y"]]},
        {"name": "b", "number": 5, "size": 0.5, "kind": "small", "maybe": 0, "sizes": ["set", [3, 1.5]]},
        {"name": "c", "number": 12, "kind": "small", "keys": ["map", [["k", "1"], ["j", "2"]]], "id": ["uuid", ID]},
    )
    following = {"a": "b", "b": "c", "c": "a"}
    inserts = [
        {
            "op": "insert",
            "table": "Thing",
            "uuid-name": row["name"],
            "row": {**row, "next": ["named-uuid", following[str(row["name"])]]},
        }
        for row in rows
    ]
    queue = {"op": "insert", "table": "Queue", "uuid-name": "q", "row": {"rate": 10}}
    inserts[0]["row"]["queues"] = ["map", [[10, ["named-uuid", "q"]]]]
    server.transact(*inserts, queue)
    yield server
    server.daemon.kill()


@pytest.fixture
def read(types: Server, run_module: RunModule) -> Read:
    """`read(tables=[...], ...)`: the module with the socket of `types`."""
    given = {"database": "open_vswitch", "endpoints": types.endpoint, "tables": ["Thing"]}
    return lambda may_fail=False, **options: run_module("ovn_database_info", {**given, **options}, may_fail=may_fail)


def names(ran: Ran) -> list[str]:
    return [row["name"] for row in ran["tables"]["Thing"]]


def test_types(read: Read) -> None:
    ran = read()
    first, second, third = ran["tables"]["Thing"]
    assert (first["name"], first["number"], first["size"], first["flag"], first["kind"]) == ("a", -3, 2.0, True, "big")
    assert isinstance(first["size"], float)
    assert (first["maybe"], second["maybe"]) == (None, 0)
    assert (second["sizes"], first["words"], third["keys"]) == ([1.5, 3.0], ["y", "z"], {"j": "2", "k": "1"})
    assert (third["id"], first["next"], third["next"]) == (ID, second["_uuid"], first["_uuid"])
    assert list(first["queues"]) == ["10"]
    assert "_version" not in first
    assert not ran["changed"]
    assert (ran["database"], ran["schema_version"]) == ("Open_vSwitch", "1.2.3")
    assert ran["server"] == {
        "model": "standalone",
        "leader": True,
        "cluster_id": None,
        "server_id": None,
        "index": None,
    }
    assert ran.get("result", "absent") == "absent"


def test_columns(read: Read) -> None:
    assert [sorted(row) for row in read(columns=["number", "name"])["tables"]["Thing"]] == [
        ["_uuid", "name", "number"]
    ] * 3
    assert sorted(read(columns={"Thing": "_version"})["tables"]["Thing"][0]) == ["_uuid", "_version"]
    both = read(tables=["Thing", "Queue"], columns={"Thing": ["name"]})["tables"]
    assert [sorted(row) for row in both["Queue"]] == [["_uuid", "rate"]]


@pytest.mark.parametrize(
    ("where", "expected"),
    [
        ({"name": "a"}, ["a"]),
        ({"kind": "small", "number": "5"}, ["b"]),
        ({"maybe": None}, ["a", "c"]),
        ({"maybe": 0}, ["b"]),
        ({"flag": "true"}, ["a"]),
        ({"id": ID}, ["c"]),
        ({"words": ["y", "z"]}, ["a"]),
        ({"keys": {"j": "2", "k": "1"}}, ["c"]),
        ([{"column": "number", "op": "==", "value": 12}], ["c"]),
        ([{"column": "number", "op": "!=", "value": 12}], ["a", "b"]),
        ([{"column": "number", "op": "<", "value": 5}], ["a"]),
        ([{"column": "number", "op": "<=", "value": 5}], ["a", "b"]),
        ([{"column": "size", "op": ">", "value": 0.5}], ["a"]),
        ([{"column": "size", "op": ">=", "value": "0.5"}], ["a", "b"]),
        ([{"column": "words", "op": "includes", "value": "y"}], ["a"]),
        ([{"column": "words", "op": "excludes", "value": ["y"]}], ["b", "c"]),
        ([{"column": "keys", "op": "includes", "value": {"k": "1"}}], ["c"]),
        ([{"column": "keys", "op": "excludes", "value": {"k": "1"}}], ["a", "b"]),
        ([{"column": "next", "op": "==", "value": []}], []),
        ([{"table": "Thing", "column": "kind", "value": "small"}, {"column": "number", "op": ">", "value": 5}], ["c"]),
    ],
)
def test_conditions(where: t.Any, expected: list[str], read: Read) -> None:
    assert names(read(where=where)) == expected


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (
            {"tables": ["Things"]},
            'Open_vSwitch has no table "Things". Did you mean Thing? The schema of the server has version 1.2.3.',
        ),
        ({"timeout": 0}, "timeout is 0: it must be more than 0 seconds."),
        ({"database": "northbound"}, "serves Open_vSwitch, not OVN_Northbound. Compare database and endpoint."),
    ],
)
def test_mistakes_are_named(options: dict[str, t.Any], message: str, read: Read) -> None:
    ran = read(**options, may_fail=True)
    assert ran.failed
    assert message in ran["msg"]


def test_expand(read: Read) -> None:
    first = read(expand=["next.next.next", "Thing.queues"])["tables"]["Thing"][0]
    assert (first["next"]["name"], first["next"]["next"]["name"]) == ("b", "c")
    assert first["next"]["next"]["next"] == first["_uuid"]  # the ring ends
    assert first["queues"]["10"]["rate"] == 10
    assert isinstance(first["next"]["queues"], dict)


def test_expand_reads_the_rows_that_a_few_refer_to(read: Read) -> None:
    ran = read(where={"name": "b"}, expand=["next.next", "queues"], columns={"Thing": ["name"], "Queue": ["rate"]})
    (row,) = ran["tables"]["Thing"]
    assert sorted(row) == ["_uuid", "name", "next", "queues"]
    assert row["next"]["next"]["name"] == "a"
    assert isinstance(row["next"]["next"]["next"], str)


def test_query(read: Read) -> None:
    ran = read(query="tables.Thing[?number > `0`].name")
    assert ran["result"] == ["b", "c"]
    assert names(ran) == ["a", "b", "c"]
    assert read(query="nothing.here")["result"] is None


def test_what_the_query_needs_is_named(types: Server, run_module: RunModule) -> None:
    options = {"database": "open_vswitch", "endpoints": types.endpoint, "tables": ["Thing"], "query": "tables"}
    hide = "import sys; sys.modules['jmespath'] = None; import runpy; "
    hide += "runpy.run_module('ansible_collections.c5c3.ovn.plugins.modules.ovn_database_info', run_name='__main__')"
    arguments = ["bash", "-c", f'"$0" -c "{hide}"']
    ran = run_module("ovn_database_info", options, prefix=arguments, may_fail=True)
    assert "install python3-jmespath (Debian), or jmespath from PyPI" in ran["msg"]


def test_check_mode_reads(types: Server, run_module: RunModule) -> None:
    options = {"database": "open_vswitch", "endpoints": [types.endpoint], "tables": ["Queue"]}
    ran = run_module("ovn_database_info", options, check=True)
    assert ran["tables"]["Queue"][0]["rate"] == 10


def test_secrets_are_hidden(daemons: None, short_dir: pathlib.Path, run_module: RunModule) -> None:
    server = Server(short_dir, pathlib.Path("/usr/share/openvswitch/vswitch.ovsschema").read_text())
    try:
        vsctl = ["ovs-vsctl", f"--db={server.endpoint}", "--no-wait"]
        pem = 'external_ids:key="-----BEGIN PRIVATE KEY-----"'
        run(*vsctl, "add-br", "br0", "--", "add-port", "br0", "t0")
        run(*vsctl, "set", "interface", "t0", "options:psk=topsecret", "options:remote_ip=192.0.2.1", pem)
        options = {"database": "open_vswitch", "endpoints": [server.endpoint], "tables": ["Bridge"]}
        ran = run_module("ovn_database_info", {**options, "expand": ["ports.interfaces"], "query": "tables"})
        assert "topsecret" not in json.dumps(ran.result)
        tunnel = ran["tables"]["Bridge"][0]["ports"][1]["interfaces"][0]
        assert tunnel["options"] == {"psk": "********", "remote_ip": "192.0.2.1"}
        assert tunnel["external_ids"] == {"key": "********"}
    finally:
        server.daemon.kill()


def fill(cluster: RaftCluster) -> None:
    nbctl = ["ovn-nbctl", f"--db={','.join(cluster.sockets)}"]
    run(*nbctl, "ls-add", "sw0", "--", "lsp-add", "sw0", "p1", "--", "lsp-add", "sw0", "p2", "--", "ls-add", "sw1")


SWITCHES = {"database": "northbound", "tables": ["Logical_Switch"], "columns": ["name"], "timeout": 5}


def test_a_cluster(raft_cluster: MakeCluster, run_module: RunModule) -> None:
    cluster = raft_cluster(3, election_timer=10_000)
    fill(cluster)
    leader, followers = cluster.leader, cluster.followers
    ask = functools.partial(run_module, "ovn_database_info")
    endpoints = ["tcp:127.0.0.99:1", followers[0].endpoint, leader.endpoint]
    cluster.await_same_log()
    ran = ask({**SWITCHES, "endpoints": endpoints})
    assert [row["name"] for row in ran["tables"]["Logical_Switch"]] == ["sw0", "sw1"]
    assert ran["endpoint"] == followers[0].endpoint
    assert (ran["server"]["model"], ran["server"]["leader"]) == ("clustered", False)
    assert ran["server"]["cluster_id"] == cluster.cluster_id
    assert ask({**SWITCHES, "endpoints": [",".join(endpoints)], "leader_only": True})["endpoint"] == leader.endpoint
    refused = ask({**SWITCHES, "endpoints": followers[0].endpoint, "leader_only": True}, may_fail=True)
    assert "does not lead OVN_Northbound, and leader_only is set" in refused["msg"]

    followers[0].freeze()
    ran = ask({**SWITCHES, "endpoints": [followers[0].endpoint, followers[1].endpoint]}, timeout=5)
    assert ran["endpoint"] == followers[1].endpoint
    frozen = ask({**SWITCHES, "endpoints": followers[0].endpoint, "timeout": 1}, may_fail=True)
    assert "did not answer within 1 s" in frozen["msg"]

    leader.kill()
    until(lambda: "lost its cluster" in ask({**SWITCHES, "endpoints": followers[1].endpoint}, may_fail=True).get("msg", ""),
          "the member to notice that it is alone", 60)  # fmt: skip
    gone = ask({**SWITCHES, "endpoints": leader.socket}, may_fail=True)
    assert "is not reachable" in gone["msg"]


def test_in_pods_a_member_that_can_answer_does(raft_cluster: MakeCluster) -> None:
    cluster = raft_cluster(1, "southbound")
    run("ovn-sbctl", f"--db={cluster.sockets[0]}", "chassis-add", "c1", "geneve", "192.0.2.1")
    pods = DatabasePods(Pods(cluster), "x", "ovn", "southbound")
    options = {"tables": ["Chassis"], "columns": ["name"], "where": {}, "expand": ["encaps"], "leader_only": True}
    facts = pods.ask(lambda connection: read_database(connection, "OVN_Southbound", options), Deadline(30))
    (chassis,) = facts.tables["Chassis"]
    assert (chassis["name"], chassis["encaps"][0]["ip"]) == ("c1", "192.0.2.1")
    assert facts.endpoint == "pod m1"
    with pytest.raises(Unreachable):
        DatabasePods(Pods(cluster, {"m1"}), "x", "ovn", "southbound").ask(
            lambda connection: read_database(connection, "OVN_Southbound", options), Deadline(30)
        )


def test_tls(raft_cluster: MakeCluster, pki: Pki, make_pki: t.Callable[[str], Pki], run_module: RunModule) -> None:
    cluster = raft_cluster(1, tls=True)
    fill(cluster)
    endpoints = {"endpoints": cluster.endpoints}
    ran = run_module("ovn_database_info", {**SWITCHES, **endpoints, **pki.issue("client").options()})
    assert len(ran["tables"]["Logical_Switch"]) == 2
    foreign = make_pki("other").issue("client").options()
    failed = run_module("ovn_database_info", {**SWITCHES, **endpoints, **foreign}, may_fail=True)
    assert "serves a certificate that ca_certificate does not trust" in failed["msg"]
    failed = run_module("ovn_database_info", {**SWITCHES, **endpoints}, may_fail=True)
    assert "private_key is missing" in failed["msg"]


def test_many_rows(raft_cluster: MakeCluster, run_module: RunModule) -> None:
    """More references than are asked for one by one."""
    cluster = raft_cluster(1)
    ports = [word for number in range(500) for word in ("--", "lsp-add", "sw0", f"p{number}")]
    run("ovn-nbctl", f"--db={cluster.sockets[0]}", "ls-add", "sw0", *ports)
    options = {**SWITCHES, "endpoints": cluster.sockets, "expand": ["ports"]}
    for where in ({}, {"name": "sw0"}):
        (switch,) = run_module("ovn_database_info", {**options, "where": where})["tables"]["Logical_Switch"]
        assert {port["name"] for port in switch["ports"]} == {f"p{number}" for number in range(500)}


def test_a_server_that_ends_meanwhile(types: Server, run_module: RunModule) -> None:
    types.daemon.signal(signal.SIGSTOP)
    arguments = {"database": "open_vswitch", "endpoints": types.endpoint, "tables": ["Thing"], "timeout": 1}
    assert "did not answer within 1 s" in run_module("ovn_database_info", arguments, may_fail=True)["msg"]
    types.daemon.kill()
    assert subprocess.run(["true"], check=True)
    assert "Connection refused" in run_module("ovn_database_info", arguments, may_fail=True)["msg"]

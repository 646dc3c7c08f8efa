"""The network of the connectivity test in a real Northbound database, with each of the two clients."""

from __future__ import annotations

import pathlib
import sys
import typing as t

import pytest
from _hidden_library import hide
from _pki import Pki
from conftest import MakeCluster, Member, RunModule, run

from ansible_collections.c5c3.ovn.plugins.module_utils._base.deadline import Deadline
from ansible_collections.c5c3.ovn.plugins.module_utils._base.errors import Conflict, Refused
from ansible_collections.c5c3.ovn.plugins.module_utils._connectivity_test import network_ovsdbapp
from ansible_collections.c5c3.ovn.plugins.module_utils._connectivity_test.network import (
    MARK,
    DesiredNetwork,
    SwitchPort,
)
from ansible_collections.c5c3.ovn.plugins.module_utils._ovsdb.endpoint import parse_endpoints
from ansible_collections.c5c3.ovn.plugins.module_utils._ovsdb.tls_files import TlsFiles

PORTS = [
    {"name": "t-h1", "mac": "02:c5:c3:00:00:01", "ip": "198.18.0.1"},
    {"name": "t-h2", "mac": "02:c5:c3:00:00:02", "ip": "198.18.0.2"},
]
CLIENTS = ["ovsdbapp", "json_rpc"]


def nbctl(socket: str, *arguments: str) -> str:
    return run("ovn-nbctl", f"--db={socket}", "--no-leader-only", "--timeout=20", *arguments).strip()


def sentence(port: dict[str, str]) -> str:
    return f"port {port['name']} ({port['mac']} {port['ip']})"


@pytest.mark.parametrize("client", CLIENTS)
def test_network(raft_cluster: MakeCluster, run_module: RunModule, client: str) -> None:
    cluster = raft_cluster(3, election_timer=5000)  # entries are counted, and an election adds one
    member = cluster.followers[0]
    nbctl(member.socket, "init")
    nbctl(member.socket, "ls-add", "neutron-1")
    options = {"northbound": ["unix:/nonexistent", member.socket], "name": "t", "ports": PORTS, "client": client}
    removal = {**options, "state": "absent"}

    def converge(changed: list[str], **changes: t.Any) -> None:
        """The prediction of check mode, what is written, and nothing the second time."""
        wanted = {**options, **changes}
        before, entries = nbctl(member.socket, "show"), cluster.leader.log_next
        for check in (True, False):
            ran = run_module("ovn_test_network", wanted, check=check)
            assert (ran["changed"], ran["written"]) == (bool(changed), changed)
            assert not check or nbctl(member.socket, "show") == before
        assert cluster.leader.log_next == entries + bool(changed)  # one transaction
        assert not run_module("ovn_test_network", wanted)["changed"]
        assert cluster.leader.log_next == entries + bool(changed)

    converge(["switch t", *map(sentence, PORTS)])
    assert nbctl(member.socket, "lsp-get-addresses", "t-h2") == "02:c5:c3:00:00:02 198.18.0.2"
    converge([], ports=PORTS[:1])  # the other one stays

    moved = {**PORTS[0], "ip": "198.18.0.9"}
    third = {"name": "t-h3", "mac": "02:c5:c3:00:00:03", "ip": "198.18.0.3"}
    converge([sentence(moved), sentence(third)], ports=[moved, PORTS[1], third])
    assert nbctl(member.socket, "lsp-get-addresses", "t-h1") == "02:c5:c3:00:00:01 198.18.0.9"
    assert len(nbctl(member.socket, "lsp-list", "t").splitlines()) == 3

    converge(["switch t", "port t-h1", "port t-h2", "port t-h3"], state="absent")
    assert not run_module("ovn_test_network", removal)["changed"]
    assert "neutron-1" in nbctl(member.socket, "show")
    assert nbctl(member.socket, "--bare", "--columns=name", "list", "Logical_Switch_Port") == ""


@pytest.mark.parametrize("client", CLIENTS)
def test_foreign_switches_are_never_changed(raft_cluster: MakeCluster, run_module: RunModule, client: str) -> None:
    member = raft_cluster(1).members[0]
    nbctl(member.socket, "init")
    nbctl(member.socket, "ls-add", "t", "--", "lsp-add", "t", "t-h1")
    options = {"northbound": [member.socket], "name": "t", "ports": PORTS, "client": client}
    refused = run_module("ovn_test_network", options, may_fail=True)
    assert refused.failed
    assert "t, t-h1, which is not part of a test network" in refused["msg"]
    assert not run_module("ovn_test_network", {**options, "state": "absent"})["changed"]
    assert nbctl(member.socket, "lsp-list", "t") != ""


@pytest.mark.parametrize("client", CLIENTS)
def test_a_second_switch_is_refused_and_removed(raft_cluster: MakeCluster, run_module: RunModule, client: str) -> None:
    member = raft_cluster(1).members[0]
    nbctl(member.socket, "init")
    for _number in range(2):
        nbctl(member.socket, "create", "Logical_Switch", "name=t", f"external_ids:{MARK}=t")
    options = {"northbound": [member.socket], "name": "t", "ports": PORTS, "client": client}
    refused = run_module("ovn_test_network", options, may_fail=True)
    assert "There are 2 logical switches of the test network t" in refused["msg"]
    assert run_module("ovn_test_network", {**options, "state": "absent"})["written"] == ["switch t"]
    assert nbctl(member.socket, "show") == ""


@pytest.mark.parametrize("client", CLIENTS)
@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"northbound": ["unix:/nonexistent"]}, "not reachable"),
        (
            {"northbound": ["unix:/nonexistent", "unix:/nowhere"]},
            "No server of the OVN_Northbound database can be used",
        ),
        ({"northbound": []}, "No endpoint is given"),
        ({"northbound": ["http://x"]}, "not an OVSDB endpoint"),
        ({"northbound": ["ssl:127.0.0.1:1"]}, "private_key"),
        ({"ports": [{**PORTS[0], "mac": "01:00:00:00:00:01"}]}, "not a unicast MAC"),
        ({"ports": [{**PORTS[0], "ip": "::1.2"}]}, "not an IP address"),
        ({"ports": [PORTS[0], PORTS[0]]}, "a port is there twice"),
        ({"ports": [{**PORTS[0], "name": ""}]}, "need a name"),
        ({"name": ""}, "need a name"),
    ],
)
def test_bad_input(run_module: RunModule, client: str, change: dict[str, t.Any], words: str) -> None:
    failed = run_module("ovn_test_network", {"ports": PORTS, "client": client, **change}, may_fail=True)
    assert failed.failed
    assert words in failed["msg"]


@pytest.mark.parametrize("client", CLIENTS)
def test_tls(raft_cluster: MakeCluster, run_module: RunModule, make_pki: t.Callable[[str], Pki], client: str) -> None:
    member = raft_cluster(1, tls=True).members[0]
    assert member.tls is not None
    options = {"northbound": [member.endpoint], "ports": PORTS, "client": client}
    assert run_module("ovn_test_network", {**options, **member.tls.options()})["changed"]
    stranger = run_module("ovn_test_network", {**options, **make_pki("other").issue("me").options()}, may_fail=True)
    assert stranger.failed
    assert member.endpoint in stranger["msg"]
    assert "certificate" in stranger["msg"]


@pytest.mark.parametrize("library", ["ovsdbapp", "ovs"])
def test_without_the_library(
    raft_cluster: MakeCluster,
    run_module: RunModule,
    tmp_path: pathlib.Path,
    monkeypatch: pytest.MonkeyPatch,
    library: str,
) -> None:
    member = raft_cluster(1).members[0]
    nbctl(member.socket, "init")
    without = hide(library, tmp_path, monkeypatch)
    options = {"northbound": [member.socket], "name": "t", "ports": PORTS}
    failed = run_module("ovn_test_network", options, may_fail=True, prefix=without)
    assert failed.failed
    for words in (
        f"The Python library ovsdbapp cannot be used by {sys.executable}",
        f"No module named '{library}'",
        "Install python3-ovsdbapp",
        "Nothing was changed",
    ):
        assert words in failed["msg"]
    assert nbctl(member.socket, "show") == ""
    assert run_module("ovn_test_network", {**options, "client": "json_rpc"}, prefix=without)["changed"]


class Rival:
    """Another client that writes after our rows were read and before our transaction is sent: once."""

    def __init__(self, member: Member, monkeypatch: pytest.MonkeyPatch, *arguments: str) -> None:
        self.replicas: list[dict[str, list[str]]] = []
        original = network_ovsdbapp.commands

        def commands(session: t.Any, name: str, plan: t.Any) -> t.Any:
            names = {table: sorted(row.name for row in session.rows(table)) for table in session.idl.tables}
            self.replicas.append(names)
            if len(self.replicas) == 1:
                nbctl(member.socket, *arguments)
            return original(session, name, plan)

        monkeypatch.setattr(network_ovsdbapp, "commands", commands)


def converge(member: Member, *ports: SwitchPort) -> tuple[str, ...]:
    plan = network_ovsdbapp.converge(
        parse_endpoints([member.socket]), TlsFiles(), Deadline(20), DesiredNetwork("t", ports), False
    )
    return plan.messages


ONE = SwitchPort("t-h1", "02:c5:c3:00:00:01 198.18.0.1")
TWO = SwitchPort("t-h2", "02:c5:c3:00:00:02 198.18.0.2")


def test_rows_deleted_by_another_run_are_planned_again(
    raft_cluster: MakeCluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The second port would be written into a switch that is gone, and vanish with it."""
    member = raft_cluster(1).members[0]
    nbctl(member.socket, "init")
    nbctl(member.socket, "ls-add", "neutron-1", "--", "lsp-add", "neutron-1", "neutron-p")
    converge(member, ONE)
    rival = Rival(member, monkeypatch, "ls-del", "t")
    assert converge(member, ONE, TWO) == ("switch t", f"port t-h1 ({ONE.addresses})", f"port t-h2 ({TWO.addresses})")
    assert len(nbctl(member.socket, "lsp-list", "t").splitlines()) == 2
    # Nothing of the other networks was copied.
    assert rival.replicas == [
        {"Logical_Switch": ["t"], "Logical_Switch_Port": ["t-h1"]},
        {"Logical_Switch": [], "Logical_Switch_Port": []},
    ]


def test_a_rival_with_the_same_switch(raft_cluster: MakeCluster, monkeypatch: pytest.MonkeyPatch) -> None:
    member = raft_cluster(1).members[0]
    nbctl(member.socket, "init")
    Rival(member, monkeypatch, "create", "Logical_Switch", "name=t", f"external_ids:{MARK}=t")
    with pytest.raises(Refused, match="2 logical switches of the test network t"):
        converge(member, ONE)


def test_a_rival_with_the_same_port(raft_cluster: MakeCluster, monkeypatch: pytest.MonkeyPatch) -> None:
    member = raft_cluster(1).members[0]
    nbctl(member.socket, "init")
    Rival(member, monkeypatch, "ls-add", "x", "--", "lsp-add", "x", ONE.name)
    with pytest.raises(Conflict, match=r"t-h1.*Nothing was written"):
        converge(member, ONE)
    assert "t-h1" in nbctl(member.socket, "lsp-list", "x")
    assert nbctl(member.socket, "--bare", "--columns=name", "list", "Logical_Switch") == "x"

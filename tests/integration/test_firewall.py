"""The module ovn_firewall with real nftables: real clients on other hosts, each a network namespace, try the ports of real servers."""

from __future__ import annotations

import contextlib
import dataclasses
import os
import pathlib
import shutil
import socket
import subprocess
import sys
import typing as t

import pytest
from _lan import Lan
from conftest import Daemon, Ran, RunModule, listens, run, until

pytestmark = pytest.mark.usefixtures("daemons")

# Connect, or say why not; a dropped packet is a time-out.
TRY = "import socket, sys; socket.create_connection((sys.argv[1], int(sys.argv[2])), 0.7).close()"
SEND = """
import socket, sys
socket.socket(socket.AF_INET, socket.SOCK_DGRAM).sendto(sys.argv[3].encode(), (sys.argv[1], int(sys.argv[2])))
"""
RECEIVE = """
import socket, sys
receiver = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
receiver.bind(("0.0.0.0", int(sys.argv[1])))
while True:
    print(receiver.recv(99).decode(), flush=True)
"""
# Listeners for IPv4 and IPv6, which are not accepted from: the kernel answers.
LISTEN = """
import signal, socket, sys
kept = [socket.create_server(("::", int(port)), family=socket.AF_INET6, dualstack_ipv6=True) for port in sys.argv[1:]]
print("ready", flush=True)
signal.pause()
"""


@pytest.fixture
def lan() -> t.Iterator[Lan]:
    if shutil.which("nft") is None or os.geteuid() != 0:
        sys.__stderr__.write("\nNOT TESTED with real nftables: needs root and nft (Debian: apt-get install nftables)\n")
        pytest.skip("NOT TESTED with real nftables: needs root and nft")
    network = Lan("central1", "central2", "compute1", "stranger")
    yield network
    network.close()


@dataclasses.dataclass
class Host:
    """central1, on which the module runs."""

    lan: Lan
    run_module: RunModule
    file: pathlib.Path

    def apply(self, *ports: dict[str, t.Any], **options: t.Any) -> Ran:
        keywords = {name: options.pop(name) for name in ("check", "diff", "may_fail") if name in options}
        arguments = {"ports": list(ports), "file": str(self.file), **options}
        return self.run_module("ovn_firewall", arguments, prefix=self.lan.enter("central1"), **keywords)

    def nft(self, *arguments: str) -> str:
        return self.lan.run("central1", "nft", *arguments)

    @property
    def tables(self) -> str:
        return self.nft("list", "tables")

    def lets_in(self, name: str, port: int, address: str | None = None) -> bool:
        """Return whether a client on this host connects; one that is refused is a mistake of the test."""
        target = address or self.lan.ipv4("central1")
        command = [*self.lan.enter(name), sys.executable, "-c", TRY, target, str(port)]
        tried = subprocess.run(command, capture_output=True, text=True, timeout=30, check=False)
        assert not tried.returncode or "timed out" in tried.stderr, tried.stderr
        return not tried.returncode

    @contextlib.contextmanager
    def serves(self, *ports: int) -> t.Iterator[None]:
        log = self.file.parent.parent / "listeners.log"
        command = [sys.executable, "-c", LISTEN, *map(str, ports)]
        daemon = Daemon([*self.lan.enter("central1"), *command], log)
        try:
            until(lambda: "ready" in log.read_text(), "the listeners of central1")
            yield
        finally:
            daemon.kill()


@pytest.fixture
def host(lan: Lan, run_module: RunModule, tmp_path: pathlib.Path) -> Host:
    return Host(lan, run_module, tmp_path / "etc" / "firewall.nft")


def tcp(port: int, *sources: str) -> dict[str, t.Any]:
    return {"port": port, "sources": list(sources)}


def test_only_declared_sources_connect_over_ipv4_and_ipv6(host: Host) -> None:
    lan = host.lan
    with host.serves(6641, 6642, 7000):
        sources = [lan.ipv4("central2"), lan.ipv6("central2")]
        compute = [lan.ipv4("compute1"), lan.ipv6("compute1")]
        assert host.lets_in("stranger", 6641), "the test would prove nothing"
        assert host.apply(tcp(6641, *sources), tcp(6642, *sources, *compute))["changed"]
        for version in (lan.ipv4, lan.ipv6):
            address = version("central1")
            seen = {
                (name, port): host.lets_in(name, port, address)
                for name in ("central1", "central2", "compute1", "stranger")
                for port in (6641, 6642, 7000)
            }
            shut_out = {("compute1", 6641), ("stranger", 6641), ("stranger", 6642)}
            assert {key for key, let_in in seen.items() if not let_in} == shut_out, address


def test_a_second_run_changes_nothing_and_check_mode_says_what_a_run_would_do(host: Host) -> None:
    ports = [
        tcp(6641, "192.0.2.2", "192.0.2.3", "10.0.0.0/24", "10.0.1.0/24", "10.0.0.7", "2001:db8::2", "fd00::/64"),
        {"protocol": "udp", "port": 6081, "sources": ["192.0.2.0/24"]},
    ]
    foreseen = host.apply(*ports, check=True, diff=True)
    assert (foreseen["changed"], host.file.exists(), host.tables) == (True, False, "")
    done = host.apply(*ports, diff=True)
    assert (done["actions"], done["diff"]) == (foreseen["actions"], foreseen["diff"])
    assert done["diff"][0]["after"] == done["ruleset"]
    loaded = host.nft("-n", "list", "table", "inet", "c5c3_ovn")
    assert "10.0.0.0/23" in loaded, "neighbors are one network"
    for check in (True, False):
        again = host.apply(*ports, check=check)
        assert (again["changed"], again["actions"]) == (False, [])
    assert host.nft("-n", "list", "table", "inet", "c5c3_ovn") == loaded
    # What the unit does when the machine starts
    host.nft("flush", "ruleset")
    host.nft("-f", str(host.file))
    assert host.apply(*ports, check=True)["changed"] is False


@pytest.mark.parametrize(
    "change",
    [
        ["flush", "ruleset"],
        ["flush", "chain", "inet", "c5c3_ovn", "input"],
        ["insert", "rule", "inet", "c5c3_ovn", "input", "tcp", "dport", "6641", "accept"],
        ["add", "element", "inet", "c5c3_ovn", "tcp_6641_ipv4", "{ 203.0.113.5-203.0.113.9 }"],
        ["add", "chain", "inet", "c5c3_ovn", "more"],
        ["add", "set", "inet", "c5c3_ovn", "ports", "{ type inet_service; }"],
    ],
    ids=lambda change: " ".join(change[:2]),
)
def test_rules_changed_by_hand_are_restored(host: Host, change: list[str]) -> None:
    host.apply(tcp(6641, "192.0.2.2"))
    loaded = host.nft("list", "table", "inet", "c5c3_ovn")
    host.nft(*change)
    foreseen, done = host.apply(tcp(6641, "192.0.2.2"), check=True), host.apply(tcp(6641, "192.0.2.2"))
    assert foreseen["actions"] == done["actions"] == ["load table inet c5c3_ovn"]
    assert host.nft("list", "table", "inet", "c5c3_ovn") == loaded


def test_a_killed_run_is_finished_by_the_next(host: Host) -> None:
    host.apply(tcp(6641, "192.0.2.2"))
    old = host.file.read_text()
    host.apply(tcp(6641, "192.0.2.3"))
    new = host.file.read_text()
    # Killed after the file was replaced, before it was loaded
    host.file.write_text(old)
    host.nft("-f", str(host.file))
    host.file.write_text(new)
    assert host.apply(tcp(6641, "192.0.2.3"))["actions"] == ["load table inet c5c3_ovn"]
    # Killed between the table and the file of a removal
    host.nft("delete", "table", "inet", "c5c3_ovn")
    assert host.apply(state="absent")["actions"] == [f"delete {host.file}"]
    assert host.apply(state="absent")["changed"] is False


def test_a_source_that_is_removed_is_shut_out_at_once_and_not_before_the_end_of_a_rollout(host: Host) -> None:
    lan = host.lan
    with host.serves(6641, 6642):
        assert not host.apply(tcp(6641, lan.ipv4("central2")), purge=False)["changed"], "all ports are open"
        host.apply(tcp(6641, lan.ipv4("central2"), lan.ipv4("stranger")))
        assert host.lets_in("stranger", 6641)
        # compute1 comes and stranger goes: the one before the rollout, the other after it
        desired = tcp(6641, lan.ipv4("central2"), lan.ipv4("compute1"))
        foreseen = host.apply(desired, tcp(6642), purge=False, check=True)
        assert host.apply(desired, tcp(6642), purge=False)["actions"] == foreseen["actions"]
        assert [host.lets_in(name, 6641) for name in ("central2", "compute1", "stranger")] == [True, True, True]
        assert host.lets_in("stranger", 6642), "a port without a filter stays open"
        assert not host.apply(desired, tcp(6642), purge=False)["changed"]
        host.apply(desired, tcp(6642))
        assert [host.lets_in(name, 6641) for name in ("central2", "compute1", "stranger")] == [True, True, False]
        assert not host.lets_in("stranger", 6642)
        assert not host.apply(desired, tcp(6642), purge=False)["changed"], "nothing to let in"


def test_tables_of_others_are_left_alone(host: Host, tmp_path: pathlib.Path) -> None:
    foreign = tmp_path / "foreign.nft"
    foreign.write_text(
        "table inet filter {\n chain input { type filter hook input priority 0; policy accept; tcp dport 22 accept; }\n}\n"
        "table ip c5c3_ovn {\n chain mine { }\n}\n"
    )
    host.nft("-f", str(foreign))
    before = host.nft("list", "ruleset")
    host.apply(tcp(6641, "192.0.2.2"))
    host.apply(tcp(6641, "192.0.2.3"))
    assert host.apply(state="absent", check=True)["actions"] == [
        "delete table inet c5c3_ovn",
        f"delete {host.file}",
    ]
    assert host.apply(state="absent")["changed"]
    assert host.nft("list", "ruleset") == before
    assert not host.file.exists()


def test_tunnels_come_from_declared_networks_alone(host: Host, tmp_path: pathlib.Path) -> None:
    lan = host.lan
    host.apply({"protocol": "udp", "port": 6081, "sources": [lan.ipv4("compute1")]})
    log = tmp_path / "received"
    daemon = Daemon([*lan.enter("central1"), sys.executable, "-c", RECEIVE, "6081"], log)
    try:
        until(lambda: "6081" in lan.run("central1", "ss", "-Hlun"), "the receiver")
        for name in ("stranger", "compute1"):
            run(*lan.enter(name), sys.executable, "-c", SEND, lan.ipv4("central1"), "6081", name)
        until(lambda: "compute1" in log.read_text(), "the packet of compute1")
        assert log.read_text() == "compute1\n"
    finally:
        daemon.kill()


def test_connected_clients_without_a_rule_are_reported_first(host: Host, tmp_path: pathlib.Path) -> None:
    lan = host.lan
    with host.serves(6641), contextlib.ExitStack() as stack:
        for name, address in (("stranger", lan.ipv6("central1")), ("central2", lan.ipv4("central1"))):
            code = f"import signal, socket; s = socket.create_connection(('{address}', 6641), 5); signal.pause()"
            client = Daemon([*lan.enter(name), sys.executable, "-c", code], tmp_path / name)
            stack.callback(client.kill)
        until(lambda: lan.run("central1", "ss", "-Htn").count("ESTAB") == 2, "both clients")
        stranger = {"port": 6641, "address": lan.ipv6("stranger")}
        assert host.apply(tcp(6641, lan.ipv4("central2")), check=True)["strangers"] == [stranger]
        known = host.apply(tcp(6641, lan.ipv4("central2"), "2001:db8::/64"), check=True)
        assert known["strangers"] == []


def test_names_are_resolved_on_the_host_and_one_that_is_unknown_changes_nothing(host: Host) -> None:
    host.apply(tcp(6641, "192.0.2.2"))
    before, script = host.nft("list", "ruleset"), host.file.read_text()
    failed = host.apply(tcp(6641, "192.0.2.3", "no.such.host.invalid"), may_fail=True)
    assert failed.failed
    assert '"no.such.host.invalid", a source for port 6641' in failed["msg"]
    assert "ovn_address" in failed["msg"]
    assert "192.0.2.0/33" in host.apply(tcp(6641, "192.0.2.0/33"), may_fail=True)["msg"]
    assert (host.nft("list", "ruleset"), host.file.read_text()) == (before, script)
    own = socket.gethostname()
    with contextlib.suppress(OSError):
        address = socket.gethostbyname(own)
        assert address in host.apply(tcp(6641, own), check=True)["ruleset"]


def test_rules_refused_by_nft_change_nothing(host: Host) -> None:
    host.apply(tcp(6641, "192.0.2.2"))
    before, script = host.nft("list", "ruleset"), host.file.read_text()
    failed = host.apply(tcp(99999, "192.0.2.2"), may_fail=True)
    assert "nft -c -f" in failed["msg"]
    assert (host.nft("list", "ruleset"), host.file.read_text()) == (before, script)
    assert sorted(path.name for path in host.file.parent.iterdir()) == ["firewall.nft"]


def test_a_cluster_works_behind_its_firewall(host: Host) -> None:
    lan, directory = host.lan, host.file.parent
    directory.mkdir(parents=True, exist_ok=True)
    files = {name: directory / name for name in ("central1", "central2")}
    schema = "/usr/share/ovn/ovn-nb.ovsschema"
    raft = {name: f"tcp:{lan.ipv4(name)}:6643" for name in files}
    run("ovsdb-tool", "create-cluster", str(files["central1"]), schema, raft["central1"])
    run("ovsdb-tool", "join-cluster", str(files["central2"]), "OVN_Northbound", raft["central2"], raft["central1"])
    central = [lan.ipv4("central1"), lan.ipv4("central2")]
    host.apply(tcp(6641, *central), tcp(6643, lan.ipv4("central2")))
    with contextlib.ExitStack() as stack:
        for name, file in files.items():
            daemon = Daemon(
                [
                    *lan.enter(name),
                    "ovsdb-server",
                    "-vconsole:off",
                    "-vfile:off",
                    f"--unixctl={file}.ctl",
                    f"--remote=punix:{file}.sock",
                    "--remote=ptcp:6641:0.0.0.0",
                    str(file),
                ],
                directory / f"{name}.log",
            )
            stack.callback(daemon.kill)
            until(lambda file=file: listens(f"{file}.sock"), f"the socket of {name}")
        run("ovsdb-client", "-t", "30", "wait", f"unix:{files['central2']}.sock", "OVN_Northbound", "connected")
        ask = ["ovsdb-client", "-t", "2", "list-dbs", f"tcp:{lan.ipv4('central1')}:6641"]
        assert "OVN_Northbound" in run(*lan.enter("central2"), *ask)
        with pytest.raises(pytest.fail.Exception):
            run(*lan.enter("stranger"), *ask)
        # Shut out of Raft, the other member is heard no more; let in, it comes back by itself.
        host.apply(tcp(6641, *central), tcp(6643, lan.ipv4("stranger")))
        status = ["ovs-appctl", "-t", f"{files['central2']}.ctl", "cluster/status", "OVN_Northbound"]
        until(lambda: "disconnected" in run(*status) or "candidate" in run(*status), "the end of Raft", 60)
        host.apply(tcp(6641, *central), tcp(6643, *central))
        until(lambda: "cluster member" in run(*status) and "Leader: unknown" not in run(*status), "a leader", 60)

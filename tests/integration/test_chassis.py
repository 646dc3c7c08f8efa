"""ovn_chassis against a real ovsdb-server, ovs-vswitchd, Southbound cluster and ovn-controller."""

from __future__ import annotations

import concurrent.futures
import dataclasses
import functools
import json
import os
import pathlib
import signal
import socket
import subprocess
import sys
import threading
import time
import typing as t

import pytest
from _vswitch import Vswitch, require_vswitch
from conftest import MakeCluster, Pki, RaftCluster, RunModule, run, within

FULL = {
    "system_id": "compute-1",
    "hostname": "compute-1.example.com",
    "remote": ["ssl:192.0.2.11:6642", "ssl:192.0.2.12:6642"],
    "encapsulation": {"type": ["geneve", "vxlan"], "ip": ["192.0.2.21"]},
    "bridge_mappings": [{"physical_network": "physnet1", "bridge": "br-ex", "ports": ["eth1"]}],
    "bridges": [{"name": "br-other", "datapath_type": "netdev"}],
    "datapath_type": "netdev",
    "gateway": True,
    "availability_zones": ["az1", "az2"],
    "cms_options": ["enable-chassis-as-extport-host"],
    "mac_mappings": [{"physical_network": "physnet1", "mac": "02:AA:00:00:00:01"}],
    "transport_zones": ["tz1"],
    "monitor_all": True,
    "remote_probe_interval": 60000,
    "openflow_probe_interval": 10,
    "bridge_probe_interval": 10000,
    "external_ids": {"ovn-encap-csum": True},
    "other_config": {"stats-update-interval": 10000},
    "private_key": "/etc/ovn/tls/chassis-key.pem",
    "certificate": "/etc/ovn/tls/chassis-cert.pem",
    "ca_certificate": "/etc/ovn/tls/ca.pem",
}
STORED = {
    "system-id": "compute-1",
    "hostname": "compute-1.example.com",
    "ovn-remote": "ssl:192.0.2.11:6642,ssl:192.0.2.12:6642",
    "ovn-encap-type": "geneve,vxlan",
    "ovn-encap-ip": "192.0.2.21",
    "ovn-bridge-mappings": "physnet1:br-ex",
    "ovn-bridge-datapath-type": "netdev",
    "ovn-cms-options": "enable-chassis-as-gw,availability-zones=az1:az2,enable-chassis-as-extport-host",
    "ovn-chassis-mac-mappings": "physnet1:02:aa:00:00:00:01",
    "ovn-transport-zones": "tz1",
    "ovn-monitor-all": "true",
    "ovn-remote-probe-interval": "60000",
    "ovn-openflow-probe-interval": "10",
    "ovn-bridge-remote-probe-interval": "10000",
    "ovn-encap-csum": "true",
}


@pytest.fixture
def vswitch(short_dir: pathlib.Path) -> t.Iterator[Vswitch]:
    """A database without ovs-vswitchd."""
    require_vswitch()
    machine = Vswitch(short_dir, "ch1")
    try:
        yield machine.start()
    finally:
        machine.stop()


class Chassis(t.Protocol):
    def __call__(self, args: dict[str, t.Any], **options: t.Any) -> t.Any: ...


@pytest.fixture
def chassis(vswitch: Vswitch, run_module: RunModule) -> Chassis:
    """`chassis({...})`: the module in the chassis' network namespace; nothing is awaited unless asked for."""

    def execute(args: dict[str, t.Any], **options: t.Any) -> t.Any:
        given = {"database": vswitch.endpoint, "wait_for": "none", **args}
        return run_module("ovn_chassis", given, **{"prefix": vswitch.prefix, **options})

    return execute


def test_everything_at_once_in_one_transaction(vswitch: Vswitch, chassis: Chassis) -> None:
    vswitch.device("eth1")
    vswitch.start_vswitchd()
    before = vswitch.dump()
    predicted = chassis({**FULL, "wait_for": "applied"}, check=True)
    assert predicted["changed"]
    assert vswitch.dump() == before

    start = vswitch.next_cfg
    done = chassis({**FULL, "wait_for": "applied"})
    assert done["changed"]
    assert done["diff"] == predicted["diff"]
    assert done["next_cfg"] == vswitch.next_cfg == start + 1
    assert vswitch.root()["cur_cfg"] >= start + 1
    stored = vswitch.external_ids
    record = stored.pop("c5c3-ovn-owned")
    assert "system-id" in record
    assert stored == STORED
    assert vswitch.root()["other_config"] == {"stats-update-interval": "10000"}
    assert vswitch.bridges() == {"br-ex": ["eth1"], "br-other": []}
    assert vswitch.vsctl("get", "bridge", "br-ex", "datapath_type") == "netdev"
    assert "/etc/ovn/tls/chassis-cert.pem" in vswitch.vsctl("get-ssl")

    again = chassis({**FULL, "wait_for": "applied"})
    assert not again["changed"]
    assert again["diff"] == {"before": {}, "after": {}}
    assert vswitch.next_cfg == start + 1

    predicted = chassis({"state": "absent", "wait_for": "applied"}, check=True)
    gone = chassis({"state": "absent", "wait_for": "applied"})
    assert gone["diff"] == predicted["diff"]
    assert vswitch.next_cfg == start + 2
    assert vswitch.external_ids == {}
    assert vswitch.root()["other_config"] == {}
    assert vswitch.bridges() == {}
    assert vswitch.root()["ssl"] == ["set", []]
    assert not chassis({"state": "absent"})["changed"]


# --- ownership --------------------------------------------------------------------------------------------------------


def test_what_others_own_survives(vswitch: Vswitch, chassis: Chassis) -> None:
    vswitch.vsctl(
        "--no-wait",
        *("set", "open", ".", "external_ids:neutron=1", 'external_ids:ovn-cms-options="card=a,x"'),
        *("other_config:ovn-chassis-idx-c1=1",),
        *("--", "add-br", "br-ex", "--", "add-port", "br-ex", "eth7"),
    )
    vswitch.device("eth1")
    mapping = [{"physical_network": "p", "bridge": "br-ex", "ports": ["eth1"]}]
    chassis({"system_id": "c1", "gateway": True, "bridge_mappings": mapping, "other_config": {"max-idle": 5000}})
    assert vswitch.external_ids["neutron"] == "1"
    assert vswitch.external_ids["ovn-cms-options"] == "card=a,x,enable-chassis-as-gw"
    assert sorted(vswitch.bridges()["br-ex"]) == ["eth1", "eth7"]

    purged = chassis({"system_id": "c1", "purge": True})
    assert purged["diff"]["before"]["other_config"] == {"max-idle": "5000"}
    assert vswitch.external_ids["ovn-cms-options"] == "card=a,x"
    assert vswitch.root()["other_config"] == {"ovn-chassis-idx-c1": "1"}
    assert "ovn-bridge-mappings" not in vswitch.external_ids

    chassis({"state": "absent"})
    assert vswitch.external_ids == {"neutron": "1", "ovn-cms-options": "card=a,x"}
    assert vswitch.bridges() == {"br-ex": ["eth7"]}, "our port goes, their bridge and port stay"


def test_a_bridge_of_ours_with_a_port_of_others_stays(vswitch: Vswitch, chassis: Chassis) -> None:
    chassis({"bridges": [{"name": "br-a"}, {"name": "br-b"}]})
    vswitch.vsctl("--no-wait", "add-port", "br-b", "theirs")
    gone = chassis({"state": "absent"})
    assert gone["kept"] == ["Bridge br-b stays because ports of others are on it: theirs."]
    assert vswitch.bridges() == {"br-b": ["theirs"]}
    assert not chassis({"state": "absent"})["changed"]


def test_a_patch_port_of_the_controller_does_not_keep_a_bridge(vswitch: Vswitch, chassis: Chassis) -> None:
    chassis({"bridges": [{"name": "br-a"}]})
    vswitch.vsctl(
        "--no-wait", "add-port", "br-a", "patch", "--", "set", "port", "patch", "external_ids:ovn-localnet-port=l"
    )
    chassis({"state": "absent"})
    assert vswitch.bridges() == {}


def test_options_that_take_a_setting_away(vswitch: Vswitch, chassis: Chassis) -> None:
    vswitch.device("eth1")
    chassis(FULL)
    empty = {
        "hostname": "",
        "encapsulation": {"type": [], "ip": []},
        "bridge_mappings": [],
        "datapath_type": "",
        "gateway": False,
        "availability_zones": [],
        "cms_options": [],
        "mac_mappings": [],
        "transport_zones": "",
        "external_ids": {"ovn-encap-csum": None, "ovn-monitor-all": None},
        "other_config": {"stats-update-interval": None},
        **dict.fromkeys(("private_key", "certificate", "ca_certificate"), ""),
    }
    chassis(empty)
    left = vswitch.external_ids
    assert sorted(set(left) - {"c5c3-ovn-owned"}) == [
        "ovn-bridge-remote-probe-interval",
        "ovn-openflow-probe-interval",
        "ovn-remote",
        "ovn-remote-probe-interval",
        "system-id",
    ]
    assert vswitch.root()["ssl"] == ["set", []]
    assert vswitch.bridges() == {"br-ex": ["eth1"], "br-other": []}, "bridges go with state: absent only"
    assert not chassis(empty)["changed"]


# --- values -----------------------------------------------------------------------------------------------------------

VALUES = [
    "a,b",
    'say "hi"',
    "two words",
    " edges ",
    "k=v",
    "Grüße 北京 🦀",
    "",
    "x" * 10000,
    "a\nb\tc",
    "\\",
    "{}",
    "[]",
    "%s",
]


def test_any_text_is_stored_as_it_is(vswitch: Vswitch, chassis: Chassis) -> None:
    keys: dict[str, t.Any] = {f"key {i}": value for i, value in enumerate(VALUES)}
    keys.update({value: "v" for value in VALUES if value})
    start = vswitch.next_cfg
    chassis({"external_ids": keys, "other_config": keys})
    stored = vswitch.external_ids
    stored.pop("c5c3-ovn-owned")
    assert stored == keys
    assert vswitch.root()["other_config"] == keys
    assert vswitch.next_cfg == start + 1
    assert not chassis({"external_ids": keys, "other_config": keys})["changed"]
    chassis({"state": "absent"})
    assert vswitch.external_ids == {}
    assert vswitch.root()["other_config"] == {}


REFUSED: list[tuple[dict[str, t.Any], str]] = [
    ({"system_id": "a\0b"}, "NUL"),
    ({"bridges": [{"name": "b" * 16}]}, "at most 15"),
    ({"bridges": [{"name": "b" * 10000}]}, "10000"),
    ({"bridge_mappings": [{"physical_network": "a,b", "bridge": "br"}]}, "separator"),
    ({"bridge_mappings": [{"physical_network": "a", "bridge": "b:r"}]}, "separator"),
    (
        {"bridges": [{"name": "br-ex", "ports": ["eth9"]}]},
        "No such network device on this host: eth9 (for bridge br-ex)",
    ),
    ({"encapsulation": {"type": "geneve", "ip": "192.0.2.300"}}, "not an IPv4"),
    ({"remote": ["192.0.2.1:6642"]}, "not an OVSDB endpoint"),
    ({"private_key": "/k"}, "go together"),
    ({"external_ids": {"a": {"b": 1}}}, "must be a text"),
    ({"timeout": 0}, "timeout"),
    ({"wait_for": "registered"}, "southbound"),
    ({"database": "nonsense"}, "not an OVSDB endpoint"),
    ({"database": "unix:/nonexistent/db.sock"}, "not reachable: No such file"),
    ({"database": "unix:/" + "x" * 200}, "too long"),
    ({"database": "tcp:127.0.0.1:1"}, "refused"),
    ({"database": f"tcp:{'x' * 70}.example:6640"}, "no usable address"),
    ({"database": "ssl:127.0.0.1:1"}, "private_key is missing"),
    (
        {"database": "ssl:127.0.0.1:1", "private_key": "/no/k", "certificate": "/no/c", "ca_certificate": "/no/a"},
        "private_key '/no/k' does not exist",
    ),
]


@pytest.mark.parametrize(("args", "words"), REFUSED, ids=[words for _args, words in REFUSED])
def test_bad_input_is_told_and_nothing_is_written(
    vswitch: Vswitch, chassis: Chassis, args: dict[str, t.Any], words: str
) -> None:
    before = vswitch.dump()
    for check in (True, False):
        ran = chassis({"system_id": "c1", "other_config": {"a": "b"}, **args}, may_fail=True, check=check)
        assert ran.failed
        assert words in ran["msg"]
    assert vswitch.dump() == before


def test_a_missing_device_is_taken_when_allowed(vswitch: Vswitch, chassis: Chassis) -> None:
    vswitch.start_vswitchd()
    args = {"bridges": [{"name": "br-ex", "datapath_type": "netdev", "ports": ["eth9"]}], "allow_missing_ports": True}
    ran = chassis({**args, "wait_for": "applied"})
    assert "No such device" in ran["port_errors"]["eth9"]
    assert vswitch.bridges() == {"br-ex": ["eth9"]}
    told = chassis({**args, "allow_missing_ports": False, "wait_for": "applied"}, may_fail=True)
    assert "eth9: could not open network device eth9 (No such device)" in told["msg"]
    assert not told["changed"]


def test_a_bridge_that_the_host_cannot_have_is_told(vswitch: Vswitch, chassis: Chassis) -> None:
    vswitch.start_vswitchd()
    ran = chassis({"bridges": [{"name": "br-ex", "datapath_type": "system"}], "wait_for": "applied"}, may_fail=True)
    assert 'br-ex: the bridge was not created with datapath type "system"' in ran["msg"]
    assert ran["changed"], "the failure tells that the write happened"
    assert ran["diff"]["after"]["bridges"]["br-ex"]["datapath_type"] == "system"


def test_a_port_of_another_bridge_is_refused(vswitch: Vswitch, chassis: Chassis) -> None:
    vswitch.device("eth1", "eth2")
    vswitch.vsctl(
        "--no-wait",
        "add-br",
        "br-a",
        "--",
        "add-port",
        "br-a",
        "eth1",
        "--",
        "add-bond",
        "br-a",
        "bond",
        "eth2",
        "eth3",
    )
    before = vswitch.dump()
    for port, words in (
        ("eth1", "already a port of bridge br-a"),
        ("eth2", "interface of another port"),
        ("br-a", "a bridge itself"),
    ):
        ran = chassis({"system_id": "c", "bridges": [{"name": "br-b", "ports": [port]}]}, may_fail=True)
        assert words in ran["msg"]
    assert vswitch.dump() == before
    assert not chassis({"bridges": [{"name": "br-a", "ports": ["bond"]}]})["changed"], "a bond is a port"


# --- servers that are none, or not the right one ----------------------------------------------------------------------


def test_another_database(raft_cluster: MakeCluster, chassis: Chassis) -> None:
    cluster = raft_cluster(1, "southbound")
    ran = chassis({"database": cluster.sockets[0], "system_id": "c"}, may_fail=True)
    assert "serves OVN_Southbound, not Open_vSwitch" in ran["msg"]


def test_the_chassis_database_is_not_the_southbound(vswitch: Vswitch, chassis: Chassis) -> None:
    ran = chassis({"southbound": [vswitch.endpoint], "system_id": "c"}, may_fail=True)
    assert "OVN_Southbound" in ran["msg"]
    assert vswitch.external_ids == {}


def test_a_socket_that_never_answers(vswitch: Vswitch, chassis: Chassis, short_dir: pathlib.Path) -> None:
    with socket.socket(socket.AF_UNIX) as silent:
        silent.bind(str(short_dir / "silent.sock"))
        silent.listen(5)
        for option in ("database", "southbound"):
            args = {option: f"unix:{short_dir}/silent.sock", "system_id": "c", "timeout": 2}
            ran = chassis(args, may_fail=True, timeout=30)
            assert f"unix:{short_dir}/silent.sock did not answer within" in ran["msg"]
            assert ran.seconds < within(12)
    assert vswitch.external_ids == {}


def test_a_frozen_database_server(vswitch: Vswitch, chassis: Chassis) -> None:
    vswitch.daemons["ovsdb-server"].signal(signal.SIGSTOP)
    ran = chassis({"system_id": "c", "timeout": 2}, may_fail=True)
    assert "did not answer within 2 s" in ran["msg"]


def test_nobody_applies_the_settings(vswitch: Vswitch, chassis: Chassis) -> None:
    ran = chassis({"system_id": "c", "wait_for": "applied", "wait_timeout": 1}, may_fail=True)
    assert "ovs-vswitchd does not run or hangs" in ran["msg"]
    assert ran["changed"]
    assert vswitch.external_ids["system-id"] == "c"
    again = chassis({"system_id": "c", "wait_for": "applied", "wait_timeout": 1}, may_fail=True)
    assert again.failed
    assert not again["changed"]
    vswitch.start_vswitchd()
    assert not chassis({"system_id": "c", "wait_for": "applied"})["changed"]


def test_the_database_over_tls(vswitch: Vswitch, chassis: Chassis, make_pki: t.Callable[[str], Pki]) -> None:
    ours, other = make_pki("ours"), make_pki("other")
    server, client = ours.issue("server"), ours.issue("client")
    vswitch.daemons["ovsdb-server"].kill()
    tls = ["-p", server.private_key, "-c", server.certificate, "-C", server.ca_certificate]
    vswitch.start("--remote=pssl:6640:127.0.0.1", *tls)
    args = {"database": "ssl:127.0.0.1:6640", "system_id": "c", "timeout": 5}
    assert chassis({**args, **client.options()})["changed"]
    assert client.certificate in vswitch.vsctl("get-ssl")
    assert not chassis({**args, **client.options()})["changed"]
    for files in (other.issue("stranger"), dataclasses.replace(client, ca_certificate=other.ca_certificate)):
        ran = chassis({**args, **files.options()}, may_fail=True)
        assert "ssl:127.0.0.1:6640" in ran["msg"]
        assert "certificate" in ran["msg"] or "trust" in ran["msg"]
    assert client.certificate in vswitch.vsctl("get-ssl")


# --- others write at the same time, or we are killed ------------------------------------------------------------------


def test_two_runs_at_once_both_end_right(vswitch: Vswitch, chassis: Chassis) -> None:
    vswitch.device("eth1", "eth2")
    tasks: list[dict[str, t.Any]] = [
        {"gateway": True, "external_ids": {"a": 1}, "bridges": [{"name": "br-ex", "ports": ["eth1"]}]},
        {"cms_options": ["t"], "external_ids": {"b": 2}, "bridges": [{"name": "br-ex", "ports": ["eth2"]}]},
    ]
    start = vswitch.next_cfg
    with concurrent.futures.ThreadPoolExecutor() as pool:
        list(pool.map(chassis, tasks))
    keys = vswitch.external_ids
    assert (keys["a"], keys["b"]) == ("1", "2")
    assert sorted(keys["ovn-cms-options"].split(",")) == ["enable-chassis-as-gw", "t"]
    assert sorted(vswitch.bridges()["br-ex"]) == ["eth1", "eth2"]
    assert vswitch.next_cfg == start + 2
    assert not any(chassis(task)["changed"] for task in tasks)


def test_a_writer_in_between_is_seen(vswitch: Vswitch, chassis: Chassis) -> None:
    """Each of our writes meets others between read and write: it is planned anew, and nothing is lost."""
    stop = threading.Event()

    def disturb() -> None:
        count = 0
        while not stop.is_set():
            count += 1
            vswitch.vsctl("--no-wait", "set", "open", ".", f"external_ids:noise={count}")

    thread = threading.Thread(target=disturb)
    thread.start()
    try:
        for number in range(5):
            chassis({"external_ids": {"mine": number}})
    finally:
        stop.set()
        thread.join()
    assert vswitch.external_ids["mine"] == "4"
    assert int(vswitch.external_ids["noise"]) > 0


def test_a_killed_run_leaves_the_old_or_the_new_state(vswitch: Vswitch, collection_path: str) -> None:
    vswitch.device("eth1")
    old = vswitch.dump()
    args = {**FULL, "database": vswitch.endpoint, "wait_for": "none", "_ansible_remote_tmp": "/tmp"}
    module = "ansible_collections.c5c3.ovn.plugins.modules.ovn_chassis"
    states = set()
    for delay in (0.05, 0.2, 0.3, 0.35, 0.4, 0.5, 0.7, 1.0):
        process = subprocess.Popen(
            [*vswitch.prefix, sys.executable, "-m", module],
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            env={**os.environ, "PYTHONPATH": collection_path},
        )
        assert process.stdin is not None
        process.stdin.write(json.dumps({"ANSIBLE_MODULE_ARGS": args}).encode())
        process.stdin.close()
        time.sleep(delay)
        process.kill()
        process.wait()
        if vswitch.dump() == old:
            states.add("old")
            continue
        states.add("new")
        assert vswitch.external_ids.keys() == {*STORED, "c5c3-ovn-owned"}
        assert vswitch.bridges() == {"br-ex": ["eth1"], "br-other": []}
    assert states <= {"old", "new"}


# --- cost -------------------------------------------------------------------------------------------------------------


class CountingProxy:
    """Forwards one unix socket to another and counts the client's requests and the bytes that the server answers."""

    def __init__(self, path: pathlib.Path, target: str) -> None:
        self.requests = 0
        self.received = 0
        self._target = target.removeprefix("unix:")
        self._listener = socket.socket(socket.AF_UNIX)
        self._listener.bind(str(path))
        self._listener.listen(5)
        threading.Thread(target=self._serve, daemon=True).start()

    def _serve(self) -> None:
        while True:
            try:
                client, _address = self._listener.accept()
            except OSError:
                return
            server = socket.socket(socket.AF_UNIX)
            server.connect(self._target)
            threading.Thread(target=self._forward, args=(client, server, True), daemon=True).start()
            threading.Thread(target=self._forward, args=(server, client, False), daemon=True).start()

    def _forward(self, source: socket.socket, sink: socket.socket, ours: bool) -> None:
        while True:
            data = source.recv(1 << 20)
            if not data:
                sink.close()
                return
            if ours:
                self.requests += data.count(b'"method"')
            else:
                self.received += len(data)
            sink.sendall(data)

    def close(self) -> None:
        self._listener.close()


def test_five_thousand_ports_of_others_cost_nothing(
    vswitch: Vswitch, chassis: Chassis, short_dir: pathlib.Path
) -> None:
    vswitch.device("eth1")
    proxy = CountingProxy(short_dir / "proxy.sock", vswitch.endpoint)

    def cost() -> tuple[list[int], list[int]]:
        requests, received = [], []
        for args in (FULL, FULL, {"state": "absent"}):
            before = proxy.requests, proxy.received
            chassis({**args, "database": f"unix:{short_dir}/proxy.sock"})
            requests.append(proxy.requests - before[0])
            received.append(proxy.received - before[1])
        return requests, received

    vswitch.vsctl("--no-wait", "add-br", "br-int")
    empty, few_bytes = cost()
    for first in range(0, 5000, 500):
        adds = [word for port in range(first, first + 500) for word in ("--", "add-port", "br-int", f"p{port}")]
        vswitch.vsctl("--no-wait", *adds[1:])
    full, many_bytes = cost()
    proxy.close()
    assert full == empty
    assert empty[0] <= 3
    assert empty[1] <= 2
    assert all(many <= 1.1 * few for many, few in zip(many_bytes, few_bytes))


# --- the Southbound database ------------------------------------------------------------------------------------------


def register(cluster: RaftCluster, name: str, hostname: str, ip: str) -> None:
    """A chassis as another host's ovn-controller would make it."""
    run(
        *("ovn-sbctl", f"--db={cluster.sockets[0]}", "--no-leader-only", "chassis-add", name, "geneve", ip),
        *("--", "set", "chassis", name, f"hostname={hostname}"),
    )


@pytest.fixture
def southbound(raft_cluster: MakeCluster) -> RaftCluster:
    cluster = raft_cluster(1, "southbound")
    run("ovn-sbctl", f"--db={cluster.sockets[0]}", "init")
    return cluster


def test_clashes_are_refused_before_anything_is_written(
    vswitch: Vswitch, chassis: Chassis, southbound: RaftCluster
) -> None:
    register(southbound, "c2", "host2", "192.0.2.2")
    mine = {
        "system_id": "c1",
        "hostname": "host1",
        "encapsulation": {"type": "geneve", "ip": "192.0.2.1"},
        "southbound": southbound.sockets,
    }
    before = vswitch.dump()
    taken = chassis({**mine, "encapsulation": {"type": "vxlan", "ip": "192.0.2.2"}}, may_fail=True)
    assert 'Encapsulation address 192.0.2.2 (geneve) belongs to chassis "c2"' in taken["msg"]
    for check in (True, False):
        double = chassis({**mine, "system_id": "c2"}, may_fail=True, check=check)
        assert 'already has a chassis "c2" of host host2' in double["msg"]
        assert "Nothing was written" in double["msg"]
    assert vswitch.dump() == before

    assert chassis({**mine, "system_id": "c2", "allow_takeover": True}, check=True)["changed"]
    assert chassis({**mine, "system_id": "c2", "hostname": "host2"}, check=True)["changed"], (
        "the host has a new address"
    )
    same = {**mine, "system_id": "c2", "encapsulation": {"type": "geneve", "ip": "192.0.2.2"}}
    assert chassis(same, check=True)["registered"], "the host has a new name"
    assert chassis(mine)["registered"] is False


@pytest.mark.parametrize("tls", [False, True], ids=["tcp", "tls"])
def test_registration_is_awaited(
    vswitch: Vswitch, chassis: Chassis, raft_cluster: MakeCluster, request: pytest.FixtureRequest, tls: bool
) -> None:
    cluster = raft_cluster(3, "southbound", tls=tls)
    run("ovn-sbctl", f"--db={cluster.leader.socket}", "init")
    files = request.getfixturevalue("pki").issue("c1").options() if tls else {}
    vswitch.start_vswitchd()
    args = {
        "system_id": "c1",
        "hostname": "host1",
        "remote": cluster.sockets,
        "encapsulation": {"type": ["geneve", "vxlan"], "ip": ["127.0.0.1"]},
        "datapath_type": "netdev",
        "southbound": cluster.endpoints if tls else cluster.sockets,
        "wait_for": "registered",
        **files,
    }
    # The module runs outside the namespace here, where the cluster's loopback addresses are.
    outside = functools.partial(chassis, prefix=())
    ran = outside({**args, "wait_timeout": 2}, may_fail=True)
    assert "it has no row there" in ran["msg"]
    assert "connection-status" in ran["msg"]
    assert ran["changed"]
    assert ran["registered"] is False

    vswitch.start_controller()
    ran = outside({**args, "wait_timeout": 30})
    assert ran["registered"]
    assert not ran["changed"]

    renamed = outside({**args, "system_id": "c9"}, may_fail=True)
    assert "allow_rename" in renamed["msg"]
    moved = outside({**args, "encapsulation": {"type": "geneve", "ip": "127.0.0.2"}, "wait_timeout": 30})
    assert moved["registered"]
    assert run("ovn-sbctl", f"--db={cluster.leader.socket}", "--bare", "--columns=ip", "list", "Encap").split() == [
        "127.0.0.2"
    ]

    cluster.kill_all()
    dead = outside({**args, "timeout": 3}, may_fail=True, timeout=90)
    assert "OVN_Southbound" in dead["msg"] or "not reachable" in dead["msg"]

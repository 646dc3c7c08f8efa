"""ovn_chassis against a real ovsdb-server, ovs-vswitchd, Southbound cluster and ovn-controller: what it writes, and what it refuses."""

from __future__ import annotations

import functools
import typing as t

import _chassis
import pytest
from _chassis import FULL, STORED, Chassis
from _vswitch import Vswitch
from conftest import MakeCluster, RaftCluster, run, until

vswitch, chassis = _chassis.vswitch, _chassis.chassis  # fixtures


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


def test_foreign_settings_survive(vswitch: Vswitch, chassis: Chassis) -> None:
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
    assert gone["kept"] == [
        "Bridge br-b stays because ports of others are on it: theirs. Delete it when they are gone."
    ]
    assert vswitch.bridges() == {"br-b": ["theirs"]}
    assert not chassis({"state": "absent"})["changed"]


def test_a_patch_port_of_the_controller_does_not_keep_a_bridge(vswitch: Vswitch, chassis: Chassis) -> None:
    chassis({"system_id": "c1", "bridges": [{"name": "br-a"}]})
    vswitch.vsctl("--no-wait", "add-br", "br-int")
    for bridge in ("br-a", "br-int"):
        add = ("add-port", bridge, f"patch-{bridge}", "--", "set", "port", f"patch-{bridge}")
        vswitch.vsctl("--no-wait", *add, "external_ids:ovn-localnet-port=l")
    gone = chassis({"state": "absent"})
    assert (vswitch.bridges(), gone["kept"]) == ({}, [])
    assert not chassis({"state": "absent"})["changed"]


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
def test_bad_input_is_reported_and_nothing_is_written(
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


def test_a_bridge_that_the_host_cannot_have_is_reported(vswitch: Vswitch, chassis: Chassis) -> None:
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
    run("ovn-sbctl", f"--db={','.join(cluster.sockets)}", "init")
    files = request.getfixturevalue("pki").issue("c1").options() if tls else {}
    vswitch.start_vswitchd()
    until(lambda: vswitch.vsctl("get", "Open_vSwitch", ".", "datapath_types") != "[]", "ovs-vswitchd")
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
    assert run("ovn-sbctl", f"--db={','.join(cluster.sockets)}", "--bare", "--columns=ip", "list", "Encap").split() == [
        "127.0.0.2"
    ]

    cluster.kill_all()
    dead = outside({**args, "timeout": 3}, may_fail=True, timeout=90)
    assert "OVN_Southbound" in dead["msg"] or "not reachable" in dead["msg"]


NETWORKS = {
    "system_id": "c1",
    "hostname": "host1",
    "encapsulation": {"type": ["geneve"], "ip": ["127.0.0.1"]},
    "datapath_type": "netdev",
    "bridge_mappings": [
        {"physical_network": "net1", "bridge": "br-one"},
        {"physical_network": "net2", "bridge": "br-two"},
    ],
}


def test_mappings_that_ovn_controller_does_not_read_are_written_again(
    vswitch: Vswitch, chassis: Chassis, southbound: RaftCluster
) -> None:
    """It trims no blanks: the localnet port of net2 gets no patch port before."""
    vswitch.start_vswitchd()
    given = {**NETWORKS, "remote": southbound.sockets}
    chassis({**given, "wait_for": "applied"})
    vswitch.vsctl("set", "Open_vSwitch", ".", 'external_ids:ovn-bridge-mappings="net1:br-one, net2:br-two"')
    ports = [("p1", "", ""), ("ln1", "localnet", "net1"), ("ln2", "localnet", "net2")]
    rows = [
        (
            "--",
            "create",
            "Port_Binding",
            f"logical_port={name}",
            f'type="{kind}"',
            "datapath=@network",
            f"tunnel_key={key}",
        )
        + ((f"options:network_name={network}",) if network else ())
        for key, (name, kind, network) in enumerate(ports, 1)
    ]
    create = ["--id=@network", "create", "Datapath_Binding", "tunnel_key=1", *(word for row in rows for word in row)]
    run("ovn-sbctl", f"--db={southbound.sockets[0]}", *create)
    vswitch.start_controller()
    until(lambda: "br-int" in vswitch.bridges(), "the integration bridge")
    interface = ("--", "set", "Interface", "vif", "type=internal", "external_ids:iface-id=p1")
    vswitch.vsctl("add-port", "br-int", "vif", *interface)
    until(lambda: "patch-br-int-to-ln1" in vswitch.bridges()["br-int"], "the patch port of net1")
    assert "patch-br-int-to-ln2" not in vswitch.bridges()["br-int"]

    ran = chassis({**given, "wait_for": "applied"})
    assert ran["diff"]["after"]["external_ids"] == {"ovn-bridge-mappings": "net1:br-one,net2:br-two"}
    until(lambda: "patch-br-int-to-ln2" in vswitch.bridges()["br-int"], "the patch port of net2")
    assert not chassis({**given, "wait_for": "applied"})["changed"]


def test_key_of_one_chassis_is_refused_or_purged(vswitch: Vswitch, chassis: Chassis, southbound: RaftCluster) -> None:
    """Since OVN 23.03 ovn-controller reads it instead of the key of all."""
    vswitch.start_vswitchd()
    given = {**NETWORKS, "remote": southbound.sockets, "southbound": southbound.sockets, "wait_for": "registered"}
    outside = functools.partial(chassis, prefix=())
    vswitch.vsctl("set", "Open_vSwitch", ".", "external_ids:ovn-encap-ip-c1=127.0.0.9")
    before = vswitch.dump()
    refused = outside(given, may_fail=True)
    assert "ovn-encap-ip-c1 is 127.0.0.9 and replaces ovn-encap-ip" in refused["msg"]
    assert vswitch.dump() == before

    encapsulation = {"external_ids": {"ovn-encap-ip-c1": "127.0.0.9"}}
    vswitch.start_controller()
    assert outside({**given, **encapsulation})["registered"], "named by the task, it is what registers"
    list_addresses = ("ovn-sbctl", f"--db={southbound.sockets[0]}", "--bare", "--columns=ip", "list", "Encap")
    assert run(*list_addresses).split() == ["127.0.0.9"]
    ran = outside({**given, "purge": True})
    assert ran["diff"]["before"]["external_ids"] == {"ovn-encap-ip-c1": "127.0.0.9"}
    assert ran["registered"]
    assert run(*list_addresses).split() == ["127.0.0.1"]


def test_address_in_another_spelling_clashes(vswitch: Vswitch, chassis: Chassis, southbound: RaftCluster) -> None:
    register(southbound, "c2", "host2", "2001:DB8:0:0::21")
    args = {"system_id": "c1", "encapsulation": {"type": "geneve", "ip": "2001:db8::21"}}
    ran = chassis({**args, "southbound": southbound.sockets}, may_fail=True)
    assert 'Encapsulation address 2001:db8::21 (geneve) belongs to chassis "c2"' in ran["msg"]

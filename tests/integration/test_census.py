"""c5c3.ovn.census on a Northbound database with rows of all owners, and that nothing of ours writes rows of others."""

from __future__ import annotations

import json
import pathlib
import typing as t

import _owners
import _playbooks
import pytest
from conftest import MakeCluster, Member, Pki, RunModule, run, within

from ansible_collections.c5c3.ovn.plugins.module_utils._connectivity_test.network import MARK

pytestmark = pytest.mark.timeout(300)

Row = dict[str, t.Any]
# What northd and whoever runs the databases write; all other rows belong to an owner.
WHOLE_OVN = ("NB_Global", "Connection")


def dump(member: Member) -> dict[str, dict[str, Row]]:
    """Every row of the database with all columns, `_version` too: a row that was deleted and made again would show."""
    schema = json.loads(run("ovsdb-client", "get-schema", member.socket, member.schema_name))
    tables = sorted(schema["tables"])
    columns = {table: ["_uuid", "_version", *schema["tables"][table]["columns"]] for table in tables}
    request = [{"op": "select", "table": table, "where": [], "columns": columns[table]} for table in tables]
    answers = json.loads(run("ovsdb-client", "query", member.socket, json.dumps([member.schema_name, *request])))
    return {
        table: {row["_uuid"][1]: row for row in answer["rows"]} for table, answer in zip(tables, answers, strict=True)
    }


def foreign(rows: dict[str, dict[str, Row]]) -> str:
    """All rows but ours, as one text."""
    others = {
        table: {uuid: row for uuid, row in found.items() if MARK not in dict(row.get("external_ids", ["", []])[1])}
        for table, found in rows.items()
        if table not in WHOLE_OVN
    }
    return json.dumps(others, indent=1, sort_keys=True)


@pytest.fixture
def northbound(raft_cluster: MakeCluster) -> Member:
    (member,) = raft_cluster(1).members
    _owners.fill(member.socket)
    return member


Play = t.Callable[..., tuple[int, str]]


@pytest.fixture
def play(collection_path: str, short_dir: pathlib.Path, northbound: Member) -> Play:
    """`play("-e", ...)`: exit code and output of the playbook with two central hosts, one of them dead; `asked` are variables of the other."""
    # The daemons of a host have their sockets in one folder.
    (short_dir / "ovnnb_db.sock").symlink_to(northbound.socket.removeprefix("unix:"))

    def execute(*arguments: str, asked: Row | None = None, **groups: Row) -> tuple[int, str]:
        gone = {"ansible_connection": "ssh", "ansible_host": "127.0.0.1", "ansible_port": 1}
        own = {"ovn_central_distribution": {"run_directory": str(short_dir)}} if asked is None else asked
        made = {"ovn_central": {"hosts": {"dead": gone, "db1": own}}, **groups}
        inventory = _playbooks.write_inventory(short_dir / "hosts.yml", made, ansible_become=False, ovn_tls=False)
        scratch = short_dir / "tmp"
        env = _playbooks.environment(scratch, collection_path, ANSIBLE_REMOTE_TEMP=str(scratch))
        done = _playbooks.run(["-i", str(inventory), "c5c3.ovn.census", *arguments], env, timeout=240)
        return done.returncode, done.stdout + done.stderr

    return execute


def counted(output: str) -> dict[str, dict[str, int]]:
    """The table of the output: for each owner how many rows it has of each table."""
    lines = output.splitlines()
    start = next(number for number, line in enumerate(lines) if line.startswith("rows "))
    table = [line.split() for line in lines[start : lines.index("", start)]]
    return {
        owner: {line[0]: int(line[column]) for line in table[1:] if line[column] != "0"}
        for column, owner in enumerate(table[0])
        if column
    }


EXPECTED = {
    "neutron": {
        "ACL": 2,
        "Address_Set": 1,
        "DHCP_Options": 1,
        "DNS": 1,
        "HA_Chassis": 1,
        "HA_Chassis_Group": 1,
        "Logical_Router": 1,
        "Logical_Router_Port": 1,
        "Logical_Router_Static_Route": 1,
        "Logical_Switch": 1,
        "Logical_Switch_Port": 3,
        "Meter": 1,
        "Meter_Band": 1,
        "NAT": 2,
        "Port_Group": 2,
        "QoS": 1,
    },
    "octavia": {"Load_Balancer": 1, "Load_Balancer_Health_Check": 1},
    "kube-ovn": {
        "ACL": 3,
        "Address_Set": 2,
        "DHCP_Options": 1,
        "Load_Balancer": 2,
        "Logical_Router": 2,
        "Logical_Router_Policy": 1,
        "Logical_Router_Port": 3,
        "Logical_Router_Static_Route": 2,
        "Logical_Switch": 4,
        "Logical_Switch_Port": 5,
        "NAT": 2,
        "Port_Group": 3,
    },
    "ovn-kubernetes": {
        "ACL": 1,
        "Address_Set": 1,
        "Load_Balancer": 1,
        "Load_Balancer_Group": 1,
        "Logical_Router": 2,
        "Logical_Router_Port": 1,
        "Logical_Switch": 3,
        "Logical_Switch_Port": 4,
        "NAT": 1,
        "Port_Group": 1,
    },
    "c5c3": {"NB_Global": 1},
    "unknown": {
        "ACL": 2,
        "Address_Set": 1,
        "DHCP_Options": 1,
        "Logical_Router": 1,
        "Logical_Switch": 1,
        "Logical_Switch_Port": 1,
        "NAT": 1,
        "Port_Group": 1,
    },
}
PORTS = [{"name": f"t-h{number}", "mac": f"02:c5:c3:00:00:0{number}", "ip": f"198.18.0.{number}"} for number in (1, 2)]


@pytest.mark.parametrize("check", [False, True])
def test_rows_of_all_owners(northbound: Member, play: Play, check: bool) -> None:
    before = dump(northbound)
    mode = json.dumps({"ovn_neutron_sync_mode": "repair"})
    code, output = play(*["--check"] * check, "-e", mode, "-e", "ovn_census_rows=true")
    assert code == 0, output
    assert counted(output) == EXPECTED
    text = " ".join(output.split())
    assert "WARNING neutron_sync_mode repair 55 rows of others are not in Neutron's database: " in text
    assert "Releases before 29.0.0 also delete 3 of them: 3 ACL (" in text
    assert "they end with an error at 1 Logical_Router_Port (neutron-" in text
    assert "update_mac_aging_settings writes options:mac_binding_age_threshold of every router (now 300, unset)" in text
    assert "WARNING Logical_Switch join 2 rows have this name: " in text
    assert "WARNING kube-ovn without ENABLE_EXTERNAL_VPC Its garbage collection deletes 5 Logical_Switch (" in text
    assert "WARNING Chassis of the Southbound database" in text
    lines = output.splitlines()
    assert "kube-ovn  NAT  snat 192.0.2.99 10.16.0.9  (of ovn-cluster)" in lines
    assert "ovn-kubernetes  Logical_Switch  node1" in lines
    assert f"octavia  Load_Balancer  {_owners.BALANCER}" in lines
    assert len(lines) > sum(sum(found.values()) for found in EXPECTED.values())
    assert "changed=1" not in output
    assert dump(northbound) == before


def test_our_network_and_settings_are_ours(northbound: Member, play: Play, run_module: RunModule) -> None:
    run_module("ovn_test_network", {"northbound": [northbound.socket], "ports": PORTS})
    connection = {"database": "northbound", "control_socket": northbound.control_socket, "socket": northbound.socket}
    run_module("ovn_database", {**connection, "connections": [{"target": "ptcp:0:127.0.0.9"}]})
    code, output = play()
    assert code == 0, output
    ours = {"Logical_Switch": 1, "Logical_Switch_Port": 2, "NB_Global": 1, "Connection": 1}
    assert counted(output) == {**EXPECTED, "c5c3": ours}
    assert "neutron_sync_mode" not in output
    assert "c5c3  Logical_Switch" not in output  # rows only on request


def test_an_ovn_that_is_not_ours(northbound: Member, play: Play) -> None:
    """Named by its endpoints; whoever runs it is not known."""
    before = dump(northbound)
    theirs = ("-e", '{"ovn_central_managed": false}')  # of all central hosts, or none
    for arguments, asked in (
        ((), {"ovn_census_northbound_endpoints": ["unix:/nowhere/db.sock", northbound.socket]}),
        (theirs, {"ovn_northbound_endpoints": [northbound.socket]}),
    ):
        code, output = play(*arguments, asked=asked)
        assert code == 0, output
        found = counted(output)
        assert "c5c3" not in found
        assert found["unknown"] == {**EXPECTED["unknown"], "NB_Global": 1}
    assert dump(northbound) == before


def test_an_ovn_with_tls(play: Play, raft_cluster: MakeCluster, pki: Pki) -> None:
    (member,) = raft_cluster(1, tls=True).members
    _owners.fill(member.socket, _owners.UNKNOWN)
    files = {f"ovn_census_{name}": file for name, file in pki.issue("client").options().items()}
    code, output = play(asked={"ovn_census_northbound_endpoints": ["ssl:127.0.0.99:1", member.endpoint], **files})
    assert code == 0, output
    assert counted(output) == {"unknown": {**EXPECTED["unknown"], "NB_Global": 1}}


def test_a_control_plane_in_kubernetes_is_asked_with_its_kubeconfig(play: Play) -> None:
    """Pods that answer are in test_database_info.py."""
    cluster = {"ovn_backend": "kubernetes", "ovn_kubeconfig": "/nowhere/kubeconfig", "ovn_context": "blue"}
    code, output = play(ovn_central={"hosts": {"control-plane": cluster}})
    assert code == 2, output
    assert "Cannot connect: kubeconfig /nowhere/kubeconfig, context blue: no such file" in " ".join(output.split())


def test_nobody_is_asked(play: Play) -> None:
    code, output = play(
        "-e", "ovn_central_elsewhere=true", ovn_central={"hosts": {}}, ovn_hypervisors={"hosts": {"h1": {}}}
    )
    assert code == 2, output
    assert "no host of the group ovn_central takes part in this run. Add one, with" in " ".join(output.split())


@pytest.mark.parametrize(
    ("mode", "text"),
    [
        (False, ""),  # as YAML reads off
        ("log", ""),
        ("migrate", "WARNING neutron_sync_mode migrate"),
    ],
)
def test_the_mode_of_neutrons_hosts(northbound: Member, play: Play, mode: t.Any, text: str) -> None:
    code, output = play(ovn_controllers={"hosts": {"api1": {}}, "vars": {"ovn_neutron_sync_mode": mode}})
    assert code == 0, output
    assert [line for line in output.splitlines() if "WARNING neutron_sync_mode" in line] == ([text] if text else [])


def test_nobody_answers(northbound: Member, play: Play) -> None:
    northbound.kill()
    code, output = play()
    assert code == 2, output
    assert "No member of the Northbound database can answer; each said why, see above." in " ".join(output.split())


def test_a_limit_without_localhost_is_refused(play: Play) -> None:
    code, output = play("--limit", "db1")
    assert code == 2, output
    assert "Nothing would be printed: the output comes from localhost" in " ".join(output.split())


def test_nothing_of_ours_writes_rows_of_others(
    northbound: Member, raft_cluster: MakeCluster, run_module: RunModule
) -> None:
    """Settings, heartbeat, and the network of the ping with each of its clients: made, changed, refused for a name of others, and removed."""
    (southbound,) = raft_cluster(1, "southbound").members
    run("ovn-sbctl", f"--db={southbound.socket}", "init")
    before = dump(northbound)
    rows = sum(map(len, before.values()))
    assert rows == sum(sum(found.values()) for found in EXPECTED.values())

    place = {"database": "northbound", "control_socket": northbound.control_socket, "socket": northbound.socket}
    settings = {
        "connections": [{"target": "ptcp:0:127.0.0.9", "inactivity_probe": 60000}],
        "options": {"northd_probe_interval": 10000},
        "election_timer": 1500,
        "purge_connections": True,
    }
    heartbeat = {"northbound": [northbound.socket], "southbound": [southbound.socket], "timeout": round(within(2))}
    written = [run_module("ovn_database", {**place, **settings})["changed"]]
    run_module("ovn_sync", heartbeat)
    for client in ("ovsdbapp", "json_rpc"):
        network = {"northbound": [northbound.socket], "client": client, "name": "t", "ports": PORTS}
        moved = [{**PORTS[0], "ip": "198.18.0.9"}]
        for change in ({}, {"ports": moved}, {"state": "absent"}):
            written.append(run_module("ovn_test_network", {**network, **change})["changed"])
            assert foreign(dump(northbound)) == foreign(before)
        for taken in ({"name": "ovn-default"}, {"ports": [{**PORTS[0], "name": "web.default"}]}):
            refused = run_module("ovn_test_network", {**network, **taken}, may_fail=True)
            assert "is not part of a test network of ours" in refused["msg"]
            assert not run_module("ovn_test_network", {**network, **taken, "state": "absent"})["changed"]
    assert all(written)

    after = dump(northbound)
    assert foreign(after) == foreign(before)
    assert {table for table in after if after[table] != before[table]} == set(WHOLE_OVN)
    (settings_before,), (settings_after,) = (list(found["NB_Global"].values()) for found in (before, after))
    changed = {column for column in settings_after if settings_after[column] != settings_before[column]}
    assert changed == {"_version", "connections", "nb_cfg", "options"}
    options = [dict(row["options"][1]) for row in (settings_before, settings_after)]
    assert options[0] == {"bfd-mult": "3", "svc_ipv4_cidr": "10.96.0.0/12"}
    assert options[1] == {**options[0], "northd_probe_interval": "10000"}

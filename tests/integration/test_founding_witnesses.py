"""ovn_founding_witnesses on real Open vSwitch databases, records and database files."""

from __future__ import annotations

import json
import pathlib
import socket
import sys
import typing as t

import pytest
from _vswitch import Vswitch
from conftest import MakeCluster, RunModule, next_address

from ansible_collections.c5c3.ovn.plugins.module_utils._raft.record import Member, Record

CID = "11111111-1111-4111-8111-111111111111"


@pytest.fixture
def vswitch(short_dir: pathlib.Path) -> t.Iterator[Vswitch]:
    with Vswitch(short_dir, "ovs") as switch:
        yield switch


@pytest.fixture
def look(run_module: RunModule, tmp_path: pathlib.Path) -> t.Callable[..., t.Any]:
    def ask(**options: t.Any) -> t.Any:
        arguments = {
            "openvswitch_database": f"unix:{tmp_path}/none.sock",
            "record_directories": [str(tmp_path / "etc" / "c5c3-ovn")],
            "database_directories": [str(tmp_path / "lib")],
            **options,
        }
        ran = run_module("ovn_founding_witnesses", arguments)
        assert ran["changed"] is False
        return ran

    return ask


def texts(ran: t.Any) -> list[str]:
    return [known["text"] for known in ran["witnesses"]]


RECORD = Record("northbound", {"central1": Member("ssl:192.0.2.1:6643")}, 1, cid=CID).as_dict()


def write_record(directory: pathlib.Path, **changes: t.Any) -> None:
    directory.mkdir(parents=True)
    (directory / "record.json").write_text(json.dumps({**RECORD, **changes}))


def test_a_new_machine_knows_nothing(look: t.Any) -> None:
    ran = look()
    assert texts(ran) == []
    assert ran["unexamined"] == []


def test_a_chassis_names_the_control_plane_that_it_follows(look: t.Any, vswitch: Vswitch) -> None:
    options = {"openvswitch_database": vswitch.endpoint, "own_endpoints": ["ssl:127.0.0.1:1", "ssl:[::1]:1"]}
    vswitch.vsctl(
        "--no-wait",
        "set",
        "Open_vSwitch",
        ".",
        "external_ids:ovn-remote-probe-interval=60000",
        "external_ids:ovn-encap-type=geneve",
    )
    before = vswitch.dump()
    assert texts(look(**options)) == [], "a chassis without control plane"
    assert vswitch.dump() == before
    vswitch.vsctl("--no-wait", "set", "Open_vSwitch", ".", 'external_ids:ovn-remote="ssl:[::1]:1,ssl:127.0.0.1:1"')
    assert texts(look(**options)) == [], "the control plane that is to be created; nobody answers there"
    vswitch.vsctl(
        "--no-wait", "set", "Open_vSwitch", ".", 'external_ids:ovn-remote="ssl:127.0.0.1:1,ssl:192.0.2.11:6642"'
    )
    assert texts(look(**options)) == ["ovn-remote ssl:127.0.0.1:1,ssl:192.0.2.11:6642"]
    vswitch.vsctl("--no-wait", "remove", "Open_vSwitch", ".", "external_ids", "ovn-remote")
    vswitch.vsctl("--no-wait", "set", "Open_vSwitch", ".", 'external_ids:ovn-remote-second="tcp:192.0.2.12:6642"')
    assert texts(look(**options)) == ["ovn-remote-second tcp:192.0.2.12:6642"], "one of several chassis on a machine"
    vswitch.vsctl("--no-wait", "set", "Open_vSwitch", ".", "external_ids:ovn-remote-second=nonsense")
    assert texts(look(**options)) == ["ovn-remote-second nonsense"]


def test_a_declared_address_where_somebody_answers_is_a_witness(look: t.Any, vswitch: Vswitch) -> None:
    with socket.create_server((next_address(), 0)) as server:
        host, port = server.getsockname()
        remote = f"tcp:{host}:{port}"
        vswitch.vsctl("--no-wait", "set", "Open_vSwitch", ".", f'external_ids:ovn-remote="{remote}"')
        options = {"openvswitch_database": vswitch.endpoint, "own_endpoints": [f"ssl:{host}:{port}"]}
        assert texts(look(**options)) == [f"ovn-remote {remote}, and {remote} answers"]
    assert texts(look(**options)) == []


def test_a_chassis_that_has_followed_a_control_plane_still_shows_it(look: t.Any, vswitch: Vswitch) -> None:
    """All central hosts were lost with disks and records, the new ones have the same addresses. ovn-controller wrote this on a machine."""
    keys = [f"external_ids:{key}" for key in ('ovn-nb-cfg="0"', 'ovn-nb-cfg-ts="0"', 'ovn-startup-ts="1795349279667"')]
    vswitch.vsctl("--no-wait", "add-br", "br-int", "--", "set", "Bridge", "br-int", *keys)
    vswitch.vsctl("--no-wait", "set", "Open_vSwitch", ".", 'external_ids:ovn-remote="ssl:127.0.0.1:1"')
    options = {"openvswitch_database": vswitch.endpoint, "own_endpoints": ["ssl:127.0.0.1:1"]}
    assert texts(look(**options)) == [], "ovn-controller has started there, and reached nobody"
    vswitch.vsctl("--no-wait", "set", "Bridge", "br-int", 'external_ids:ovn-nb-cfg="3"')
    assert texts(look(**options)) == ["bridge br-int with ovn-nb-cfg, so it has followed a Southbound database"]


def test_a_database_that_does_not_answer_is_not_taken_for_none(
    look: t.Any, vswitch: Vswitch, tmp_path: pathlib.Path
) -> None:
    vswitch.daemons["ovsdb-server"].kill()
    write_record(tmp_path / "etc" / "c5c3-ovn" / "northbound")
    ran = look(openvswitch_database=vswitch.endpoint)
    assert [vswitch.endpoint in reason for reason in ran["unexamined"]] == [True]
    assert len(ran["witnesses"]) == 1, "the rest was looked at"


class TestRecords:
    def test_renamed_directories_count(self, look: t.Any, tmp_path: pathlib.Path) -> None:
        etc = tmp_path / "etc"
        write_record(etc / "c5c3-ovn.old" / "northbound")
        write_record(etc / "c5c3-ovn" / "southbound.bak", database="southbound")
        write_record(etc / "other" / "northbound")
        ran = look()
        assert [(known["database"], known["text"]) for known in ran["witnesses"]] == [
            ("southbound", f"the state record of southbound cluster {CID} ({etc}/c5c3-ovn/southbound.bak/record.json)"),
            ("northbound", f"the state record of northbound cluster {CID} ({etc}/c5c3-ovn.old/northbound/record.json)"),
        ]

    def test_a_record_as_runs_write_it_counts_once_also_when_its_link_is_gone(
        self, look: t.Any, run_module: RunModule, tmp_path: pathlib.Path
    ) -> None:
        link = tmp_path / "etc" / "c5c3-ovn" / "northbound"
        run_module("ovn_raft_record", {"path": str(link), "record": RECORD})
        assert texts(look()) == [f"the state record of northbound cluster {CID} ({link}/record.json)"]
        link.unlink()
        assert len(texts(look())) == 1

    def test_a_first_run_that_was_cut_off_is_no_witness(self, look: t.Any, tmp_path: pathlib.Path) -> None:
        permit = {"member": "central1", "run": "first", "time": "now", "file": None}
        write_record(tmp_path / "etc" / "c5c3-ovn" / "northbound", cid=None, permit=permit)
        assert texts(look()) == []

    def test_a_record_that_cannot_be_read_is_one(self, look: t.Any, tmp_path: pathlib.Path) -> None:
        directory = tmp_path / "etc" / "c5c3-ovn" / "northbound"
        write_record(directory)
        (directory / "record.json").write_text("{")
        assert texts(look()) == [f"a state record that cannot be read ({directory}/record.json)"]


def test_database_files_count_also_when_they_were_moved_aside(
    look: t.Any, raft_cluster: MakeCluster, tmp_path: pathlib.Path
) -> None:
    member = raft_cluster(0, "southbound").new_member()
    member.create()
    library = tmp_path / "lib"
    library.mkdir()
    moved = library / "ovnsb_db.db.broken.20261122"
    moved.write_bytes(member.file.read_bytes())
    (library / "ovnnb_db.db").write_text("OVSDB JSON 15 0123456789abcdef\n{}")
    (library / ".ovnnb_db.db.~lock~").touch()
    (library / "ovn.sock").mkdir()
    ran = look()
    assert ran["witnesses"] == [{"text": f"a database file of a cluster member ({moved})", "database": "southbound"}]
    assert ran["unexamined"] == []


def test_new_central_hosts_create_nothing_while_hypervisors_follow_others(
    run_playbook: t.Any, vswitch: Vswitch, short_dir: pathlib.Path
) -> None:
    """The tasks of the role, with a hypervisor that answers and one that does not."""
    vswitch.vsctl("--no-wait", "set", "Open_vSwitch", ".", 'external_ids:ovn-remote="ssl:192.0.2.11:6642"')
    pki = short_dir / "pki"
    pki.mkdir()
    (pki / "ca.pem").write_text("a CA")
    cluster = {"database": "northbound", "members": ["old1", "old2"], "noted": "2026-11-22"}
    (pki / "clusters.json").write_text(json.dumps({"clusters": {CID: cluster}}))
    local = {"ansible_connection": "local", "ansible_python_interpreter": sys.executable}
    central = {name: {**local, "ovn_address": next_address()} for name in ("new1", "new2", "new3")}
    gone = {"ansible_host": next_address(), "ansible_port": 1, "ansible_ssh_common_args": "-o ConnectTimeout=2"}
    hypervisors = {"hv1": {**local, "ovn_hypervisor_openvswitch_database": vswitch.endpoint}, "hv2": gone}
    inventory = short_dir / "inventory.yml"
    inventory.write_text(json.dumps({"ovn_central": {"hosts": central}, "ovn_hypervisors": {"hosts": hypervisors}}))
    report = short_dir / "report"
    witnesses = {"name": "c5c3.ovn.ovn_central", "tasks_from": "host_witnesses"}
    databases = ["northbound", "southbound"]
    member = "{{ inventory_hostname }}"
    addresses = {name: f"ssl:{variables['ovn_address']}:6643" for name, variables in central.items()}
    check = {
        "members": [{"observation": {"database": database, "member": member}} for database in databases],
        "desired": {"raft_addresses": dict.fromkeys(databases, addresses), "wait_timeout": 120},
        "packages_plan": {},
        "planned": False,
        "northd": {"state": None},
        "tls": True,
    }
    saved = {"content": "{{ ansible_failed_result.msg }}", "dest": str(report)}
    play = {
        "hosts": "ovn_central",
        "gather_facts": False,
        "any_errors_fatal": True,
        "vars": {
            "ovn_pki_ca_directory": str(pki),
            "ovn_central_config_directory": str(short_dir / "etc"),
            "ovn_central_database_directory": str(short_dir / "lib"),
        },
        "tasks": [
            {"ansible.builtin.set_fact": {"ovn_central_plan": {"founding": databases}, "ovn_central_check": check}},
            {
                "block": [{"ansible.builtin.include_role": witnesses}],
                "rescue": [{"ansible.builtin.copy": saved, "run_once": True}],
            },
        ],
    }
    output = run_playbook([play], inventory=str(inventory))
    assert "Not searched for an older control plane: hv2: unreachable" in output
    northbound, southbound = report.read_text().split("\n")
    assert northbound.startswith("northbound is not created")
    assert "hypervisor hv1 has ovn-remote ssl:192.0.2.11:6642" in northbound
    assert f"the CA in {pki} has served northbound cluster {CID} of old1, old2" in northbound
    assert southbound.startswith("southbound is not created")
    assert not (short_dir / "etc").exists()

"""The tasks of ovn_central and ovn_hypervisor that set up the firewall, with real nftables in a network of their own. systemd is a stand-in here."""

from __future__ import annotations

import json
import os
import pathlib
import shutil
import sys
import typing as t

import pytest
from _local_site import LocalSite

pytestmark = pytest.mark.timeout(900)

Task = dict[str, t.Any]
TABLE = "nft list table inet c5c3_ovn"


@pytest.fixture
def site(short_dir: pathlib.Path, collection_path: str) -> LocalSite:
    if shutil.which("nft") is None or os.geteuid() != 0:
        sys.__stderr__.write("\nNOT TESTED with real nftables: needs root and nft (Debian: apt-get install nftables)\n")
        pytest.skip("NOT TESTED with real nftables: needs root and nft")
    made = LocalSite(short_dir, collection_path)
    # What is written to /etc ends with the run.
    made.prepare = (
        "mkdir /run/new /run/work && mount -t overlay -o lowerdir=/etc,upperdir=/run/new,workdir=/run/work overlay /etc"
    )
    return made


def tasks_of(role: str, tasks_from: str) -> Task:
    return {"ansible.builtin.include_role": {"name": f"c5c3.ovn.{role}", "tasks_from": tasks_from}}


def command(text: str) -> Task:
    return {"name": f"Run {text}", "ansible.builtin.command": text, "changed_when": False}


def expect(*conditions: str) -> Task:
    return {"name": "Check the table", "ansible.builtin.assert": {"that": list(conditions)}}


def table_has(*texts: str, lacks: str = "") -> list[Task]:
    conditions = [f"{json.dumps(text)} in table.stdout" for text in texts]
    conditions += [f"{json.dumps(lacks)} not in table.stdout"] if lacks else []
    return [{**command(TABLE), "register": "table"}, expect(*conditions)]


def play(hosts: str, *tasks: Task, **variables: t.Any) -> dict[str, t.Any]:
    return {"hosts": hosts, "gather_facts": False, "vars": variables, "tasks": list(tasks)}


def test_a_table_comes_lets_a_new_hypervisor_in_and_goes(site: LocalSite) -> None:
    firewall = tasks_of("ovn_central", "host_firewall")
    let_in = tasks_of("ovn_hypervisor", "host_firewall_central")
    files = "ls /etc/c5c3-ovn/firewall.nft /etc/systemd/system/c5c3-ovn-firewall.service"
    no_table = {**command("nft list tables"), "register": "tables"}
    plays = [
        play("c1", firewall, command(files), *table_has("127.0.0.11", "10.1.0.0/16", "tcp dport 16642 drop")),
        # As if the hypervisor were newer than the table, and a host had left the inventory since
        play("c1", command("nft flush set inet c5c3_ovn tcp_6642_ipv4")),
        play("c1", command("nft add element inet c5c3_ovn tcp_6642_ipv4 { 192.0.2.99 }")),
        play("h1", let_in, *table_has("127.0.0.21", "192.0.2.99")),
        play("c1", firewall, *table_has("127.0.0.21", lacks="192.0.2.99")),
        play("c1", firewall, no_table, expect("not tables.stdout"), ovn_central_firewall="none"),
    ]
    file = site.folder / "firewall.yml"
    file.write_text(json.dumps(plays))
    ran = site.run(
        str(file),
        hypervisors=("h1",),
        ovn_firewall="managed",
        ovn_central_client_networks=["10.1.0.0/16"],
        ovn_hypervisor_encapsulation_ip="127.0.0.21",
    )
    assert ran.code == 0, ran.output


def test_check_mode_and_a_second_run(site: LocalSite) -> None:
    firewall = tasks_of("ovn_central", "host_firewall")
    changed = {"name": "Check that nothing changes", "ansible.builtin.assert": {"that": "not again.changed"}}
    again = {
        "name": "Load the table once more",
        "c5c3.ovn.ovn_firewall": {
            "ports": "{{ (hostvars | c5c3.ovn.firewall_desired(groups, inventory_hostname)).options.ports }}"
        },
        "register": "again",
    }
    nothing = {**command("nft list tables"), "register": "tables"}
    plays = [
        {**play("c1", firewall), "check_mode": True},
        play("c1", nothing, expect("not tables.stdout"), firewall, again, changed),
    ]
    file = site.folder / "firewall.yml"
    file.write_text(json.dumps(plays))
    ran = site.run(str(file), ovn_firewall="managed")
    assert ran.code == 0, ran.output


def test_rules_are_shown_to_people_who_have_their_own_firewall(site: LocalSite) -> None:
    nothing = {**command("nft list tables"), "register": "tables"}
    shown = play("c1", tasks_of("ovn_central", "host_firewall_print"), nothing, expect("not tables.stdout"))
    tunnels = play("h1", tasks_of("ovn_hypervisor", "host_firewall_print"))
    file = site.folder / "firewall.yml"
    file.write_text(json.dumps([shown, tunnels]))
    ran = site.run(
        str(file), hypervisors=("h1",), ovn_firewall="print", ovn_hypervisor_tunnel_networks=["198.51.100.0/24"]
    )
    assert ran.code == 0, ran.output
    assert "tcp dport 6643 drop" in ran.output
    assert "udp dport 6081 drop" in ran.output
    assert "changed=0" in ran.output

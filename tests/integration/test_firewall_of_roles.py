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
FILES = "/etc/c5c3-ovn/firewall.nft /etc/systemd/system/c5c3-ovn-firewall.service"
# What a host should load: tests compare it with what the steps have loaded.
FILTER = """
from ansible_collections.c5c3.ovn.plugins.module_utils._roles.firewall import desired_firewall


class FilterModule:
    def filters(self):
        return {"firewall_desired": desired_firewall}
"""
# Units as systemd has them: known by their files, that of the firewall started only with the file that its condition names, and its end deletes the table.
# Units of databases are what a test says, in /run/unit-NAME-enabled and -active.
SYSTEMCTL = """#!/bin/sh
folder=/etc/systemd/system
show() {
    is() { [ -e "/run/unit-$1-$2" ] && echo "$3" || echo "$4"; }
    echo "Id=$1"
    echo MainPID=0
    if [ -e $folder/$1 ]; then printf 'LoadState=loaded\\nUnitFileState=%s\\n' "$(is $1 enabled enabled disabled)"; else echo LoadState=not-found; fi
    printf 'ActiveState=%s\\n\\n' "$(is $1 active active inactive)"
}
case "$1 $2" in
show*)
    while [ "$1" != -- ]; do shift; done
    shift
    for unit in "$@"; do show "$unit"; done ;;
enable*) [ -e $folder/$2 ] && touch /run/unit-$2-enabled ;;
disable*) [ -e $folder/$2 ] && rm -f /run/unit-$2-enabled ;;
start*) if [ -e $folder/$2 ] && [ -e /etc/c5c3-ovn/firewall.nft ]; then touch /run/unit-$2-active; fi ;;
stop*) rm -f /run/unit-$2-active; nft delete table inet c5c3_ovn ;;
esac
"""
UNIT = "/run/unit-c5c3-ovn-firewall.service"
DATABASE = "c5c3-ovn-southbound.service"


@pytest.fixture
def site(short_dir: pathlib.Path, collection_path: str) -> LocalSite:
    if shutil.which("nft") is None or os.geteuid() != 0:
        sys.__stderr__.write("\nNOT TESTED with real nftables: needs root and nft (Debian: apt-get install nftables)\n")
        pytest.skip("NOT TESTED with real nftables: needs root and nft")
    made = LocalSite(short_dir, collection_path)
    (short_dir / "filter_plugins").mkdir()
    (short_dir / "filter_plugins" / "firewall_desired.py").write_text(FILTER)
    # What is written to /etc ends with the run.
    made.prepare = (
        "mkdir /run/new /run/work && mount -t overlay -o lowerdir=/etc,upperdir=/run/new,workdir=/run/work overlay /etc"
    )
    return made


def tasks_of(role: str, tasks_from: str) -> Task:
    return {"ansible.builtin.include_role": {"name": f"c5c3.ovn.{role}", "tasks_from": tasks_from}}


FIREWALL_SHOWN: Task = {"c5c3.ovn.hypervisor_firewall": {"show": True}, "check_mode": True, "changed_when": False}


def command(text: str) -> Task:
    return {"name": f"Run {text}", "ansible.builtin.command": text, "changed_when": False}


def expect(*conditions: str) -> Task:
    return {"name": "Check the table", "ansible.builtin.assert": {"that": list(conditions)}}


def table_has(*texts: str, lacks: str = "") -> list[Task]:
    conditions = [f"{json.dumps(text)} in table.stdout" for text in texts]
    conditions += [f"{json.dumps(lacks)} not in table.stdout"] if lacks else []
    return [{**command(TABLE), "register": "table"}, expect(*conditions)]


def nothing_is_left() -> list[Task]:
    return [
        {**command("nft list tables"), "register": "tables"},
        {
            **command(f"ls -d {FILES} {UNIT}-enabled {UNIT}-active"),
            "register": "left",
            "failed_when": "left.stdout | length > 0",
        },
        expect("not tables.stdout"),
    ]


def play(hosts: str, *tasks: Task, **variables: t.Any) -> dict[str, t.Any]:
    return {"hosts": hosts, "gather_facts": False, "vars": variables, "tasks": list(tasks)}


def test_a_table_comes_lets_a_new_hypervisor_in_and_goes(site: LocalSite) -> None:
    firewall = tasks_of("ovn_central", "host_firewall")
    let_in = {"c5c3.ovn.hypervisor_firewall": {"central": "c1"}, "delegate_to": "c1"}
    files = "ls /etc/c5c3-ovn/firewall.nft /etc/systemd/system/c5c3-ovn-firewall.service"
    no_table = {**command("nft list tables"), "register": "tables"}
    plays = [
        play("c1", firewall, command(files), *table_has("127.0.0.11", "10.1.0.0/16", "tcp dport 16642 drop")),
        # As if the hypervisor were newer than the table, and a host had left the inventory since
        play("c1", command("nft flush set inet c5c3_ovn tcp_6642_ipv4")),
        play("c1", command("nft add element inet c5c3_ovn tcp_6642_ipv4 { 192.0.2.99 }")),
        play("h1", let_in, *table_has("127.0.0.21", "192.0.2.99")),
        play("c1", firewall, *table_has("127.0.0.21", lacks="192.0.2.99")),
        play("c1", firewall, no_table, expect("not tables.stdout"), ovn_firewall="none"),
    ]
    file = site.folder / "firewall.yml"
    file.write_text(json.dumps(plays))
    ran = site.run(
        str(file),
        hypervisors=("h1",),
        ovn_firewall="managed",
        ovn_central_networks={"clients": ["10.1.0.0/16"]},
        ovn_encapsulation_ip="127.0.0.21",
    )
    assert ran.code == 0, ran.output


def test_check_mode_and_a_second_run(site: LocalSite) -> None:
    firewall = tasks_of("ovn_central", "host_firewall")
    changed = {"name": "Check that nothing changes", "ansible.builtin.assert": {"that": "not again.changed"}}
    again = {
        "name": "Load the table once more",
        "c5c3.ovn.ovn_firewall": {
            "ports": "{{ (hostvars | firewall_desired(groups, inventory_hostname)).options.ports }}"
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
    shown = play(
        "c1",
        {"c5c3.ovn.central_firewall": {"purpose": "show"}, "check_mode": True},
        nothing,
        expect("not tables.stdout"),
    )
    tunnels = play("h1", FIREWALL_SHOWN)
    file = site.folder / "firewall.yml"
    file.write_text(json.dumps([shown, tunnels]))
    ran = site.run(
        str(file), hypervisors=("h1",), ovn_firewall="print", ovn_hypervisor_tunnel_networks=["198.51.100.0/24"]
    )
    assert ran.code == 0, ran.output
    assert "tcp dport 6643 drop" in ran.output
    assert "udp dport 6081 drop" in ran.output
    assert "changed=0" in ran.output


def run_with_unit(site: LocalSite, *plays: dict[str, t.Any], **options: t.Any) -> str:
    (site.folder / "systemctl").write_text(SYSTEMCTL)
    file = site.folder / "firewall.yml"
    file.write_text(json.dumps(plays))
    ran = site.run(str(file), ovn_firewall="managed", **options)
    assert ran.code == 0, ran.output
    return ran.output


AS_CENTRAL, AS_HYPERVISOR = tasks_of("ovn_central", "host_firewall"), {"c5c3.ovn.hypervisor_firewall": None}
IS_LOADED = [command(f"ls {FILES} {UNIT}-enabled {UNIT}-active"), *table_has("tcp dport 6641 drop")]
# Of this machine's names c1 is in ovn_central and h1 is not: h1 is what c1 is when it has left the group.
NAMES: dict[str, t.Any] = {"central": ("c1",), "hypervisors": ("h1",)}


# What needs the rules: how it comes, how it goes, what is said of it.
PID_FILE = (
    ["install -D /dev/null /run/ovn/ovnsb_db.pid"],
    ["rm /run/ovn/ovnsb_db.pid"],
    "/run/ovn/ovnsb_db.pid is there",
)
IN_MAINTENANCE = (
    [f"touch /etc/systemd/system/{DATABASE} /run/unit-{DATABASE}-enabled"],
    [f"rm /run/unit-{DATABASE}-enabled"],
    f"{DATABASE} is enabled",
)
RUNS = (
    [f"touch /etc/systemd/system/{DATABASE} /run/unit-{DATABASE}-active"],
    [f"rm /run/unit-{DATABASE}-active"],
    f"{DATABASE} is active",
)


@pytest.mark.parametrize(
    ("role", "needs"),
    [(AS_CENTRAL, [IN_MAINTENANCE]), (AS_HYPERVISOR, [PID_FILE, IN_MAINTENANCE, RUNS])],
    ids=["ovn_central", "ovn_hypervisor"],
)
def test_a_former_central_host_loses_its_table_when_no_database_runs_or_would_start(
    site: LocalSite, role: Task, needs: list[tuple[list[str], list[str], str]]
) -> None:
    kept = [
        task for comes, goes, _reason in needs for task in (*map(command, comes), role, *IS_LOADED, *map(command, goes))
    ]
    said = run_with_unit(
        site,
        play("c1", AS_CENTRAL, *IS_LOADED),
        play("h1", *kept),
        {**play("h1", role), "check_mode": True},
        play("h1", *IS_LOADED, role, *nothing_is_left(), role, *nothing_is_left()),
        **NAMES,
    )
    for _comes, _goes, reason in needs:
        assert said.count(f"The firewall of h1 keeps the rules of the databases: {reason}. If h1") == 1


def test_a_machine_with_rules_that_stay_is_not_due(site: LocalSite) -> None:
    """A check finds nothing to do, and says in each run what keeps the rules."""
    found = "hostvars | firewall_desired(groups, inventory_hostname, role='ovn_hypervisor')"
    look: Task = {
        "name": "Compare",
        "c5c3.ovn.ovn_host_info": {
            "firewall": [f"{{{{ ({found}).options }}}}"],
            "units": [
                {
                    "files": f"{{{{ ({found}).unit_files }}}}",
                    "units": f"{{{{ ({found}).units }}}}",
                    "keep_for": f"{{{{ ({found}).options.keep_for }}}}",
                }
            ],
        },
        "register": "ovn_hypervisor_found",
    }
    shown = FIREWALL_SHOWN
    due = {"name": "Check that it is due", "ansible.builtin.assert": {"that": "ovn_hypervisor_found.due"}}
    settled = {"name": "Check that it is not", "ansible.builtin.assert": {"that": "not ovn_hypervisor_found.due"}}
    said = run_with_unit(
        site,
        play("c1", AS_CENTRAL, *IS_LOADED),
        play("h1", look, due, shown, *map(command, IN_MAINTENANCE[0]), look, settled, shown, *IS_LOADED),
        **NAMES,
    )
    assert said.count(f"The firewall of h1 keeps the rules of the databases: {DATABASE} is enabled. If h1") == 1


def test_a_former_central_host_keeps_the_rules_of_its_tunnels(site: LocalSite) -> None:
    table = table_has("udp dport 6081 drop", lacks="6641")
    run_with_unit(
        site,
        play("c1", AS_CENTRAL, *IS_LOADED),
        play("h1", AS_HYPERVISOR, *table, command(f"ls {FILES} {UNIT}-enabled {UNIT}-active")),
        ovn_hypervisor_tunnel_networks=["198.51.100.0/24"],
        **NAMES,
    )


def test_the_rules_of_tunnels_come_beside_those_of_a_database_that_would_start(site: LocalSite) -> None:
    both = [*table_has("tcp dport 6641 drop", "udp dport 6081 drop", "198.51.100.0/24"), *IS_LOADED]
    options = "(hostvars | firewall_desired(groups, inventory_hostname, role='ovn_hypervisor')).options"
    load: Task = {
        "name": "Load the table once more",
        "c5c3.ovn.ovn_firewall": {name: f"{{{{ {options}.{name} }}}}" for name in ("ports", "keep_for")},
        "register": "again",
    }
    unchanged = {"name": "Check that nothing changes", "ansible.builtin.assert": {"that": "not again.changed"}}
    run_with_unit(
        site,
        play("c1", AS_CENTRAL, *IS_LOADED),
        play("h1", *map(command, IN_MAINTENANCE[0]), AS_HYPERVISOR, *both, load, unchanged),
        play("h1", *map(command, IN_MAINTENANCE[1]), AS_HYPERVISOR, *table_has("udp dport 6081 drop", lacks="6641")),
        ovn_hypervisor_tunnel_networks=["198.51.100.0/24"],
        **NAMES,
    )


def test_a_database_that_was_never_ours_keeps_no_tunnel_from_its_rules(site: LocalSite) -> None:
    run_with_unit(
        site,
        play("h1", command(PID_FILE[0][0]), AS_HYPERVISOR, *table_has("udp dport 6081 drop", lacks="6641")),
        ovn_hypervisor_tunnel_networks=["198.51.100.0/24"],
        **NAMES,
    )


def test_a_former_central_host_that_is_no_hypervisor(site: LocalSite) -> None:
    comes = {"ansible.builtin.add_host": {"name": "former"}}
    run_with_unit(
        site,
        play("c1", AS_CENTRAL, *IS_LOADED, comes),
        play("former", AS_CENTRAL, *nothing_is_left()),
        **NAMES,
    )


def test_the_role_of_hypervisors_comes_first_on_a_central_host(site: LocalSite) -> None:
    run_with_unit(
        site,
        play("c1", AS_HYPERVISOR, *nothing_is_left(), AS_CENTRAL, *IS_LOADED, AS_HYPERVISOR, *IS_LOADED),
        central=("c1",),
        hypervisors=("c1",),
    )

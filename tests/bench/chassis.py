"""Twelve settings and two bridges on 20 hosts: against a ping, and against a task per key.

A host is an SSH connection of its own to one of five machines, and an Open_vSwitch database of its own there. No ovs-vswitchd
takes the settings over, so what is measured is Ansible, the module and the database.
"""

from __future__ import annotations

import subprocess
import sys
import typing as t
import zipfile

from machines import Machines, all_addresses
from measure import Figure
from playbook import LOGS, play

HOSTS = 20
ROUNDS = 5
LOOPS = 1  # rounds that also run the loop, which takes long
# The last edition of the package `ansible` that carries openvswitch.openvswitch.
_PACKAGE = "ansible==10.7.0"
SETTINGS = {
    "system-id": "{{ inventory_hostname }}",
    "hostname": "{{ inventory_hostname }}.example.com",
    "ovn-remote": "ssl:192.0.2.11:6642,ssl:192.0.2.12:6642,ssl:192.0.2.13:6642",
    "ovn-encap-type": "geneve",
    "ovn-encap-ip": "192.0.2.{{ number }}",
    "ovn-bridge-mappings": "physnet1:br-ex,physnet2:br-vlan",
    "ovn-cms-options": "enable-chassis-as-gw",
    "ovn-transport-zones": "zone1",
    "ovn-monitor-all": "true",
    "ovn-remote-probe-interval": "60000",
    "ovn-openflow-probe-interval": "30",
    "ovn-encap-csum": "true",
}
DATABASE = "/run/c5c3-ovn-bench/{{ inventory_hostname }}"
START = f"""
set -e
rm -rf {DATABASE} && mkdir -p {DATABASE} && cd {DATABASE}
ovsdb-tool create conf.db /usr/share/openvswitch/vswitch.ovsschema
ovsdb-server conf.db --remote=punix:$PWD/db.sock --unixctl=$PWD/ctl --pidfile=$PWD/pid --log-file=$PWD/log -vconsole:off --detach --no-chdir
ovs-vsctl --no-wait --db=unix:$PWD/db.sock init
"""
STOP = f"cd {DATABASE} && kill $(cat pid) && rm -rf {DATABASE}"


def ours(name: str, state: str = "present") -> dict[str, t.Any]:
    settings = {
        "system_id": SETTINGS["system-id"],
        "hostname": SETTINGS["hostname"],
        "remote": SETTINGS["ovn-remote"].split(","),
        "encapsulation": {"type": "geneve", "ip": SETTINGS["ovn-encap-ip"]},
        "bridge_mappings": [
            {"physical_network": "physnet1", "bridge": "br-ex"},
            {"physical_network": "physnet2", "bridge": "br-vlan"},
        ],
        "gateway": True,
        "transport_zones": ["zone1"],
        "monitor_all": True,
        "remote_probe_interval": 60000,
        "openflow_probe_interval": 30,
        "external_ids": {"ovn-encap-csum": True},
    }
    options = {"state": state, "database": f"unix:{DATABASE}/db.sock", "wait_for": "none"}
    return {"name": name, "c5c3.ovn.ovn_chassis": {**options, **(settings if state == "present" else {})}}


def single_keys() -> list[dict[str, t.Any]]:
    environment = {"OVS_RUNDIR": DATABASE}  # where ovs-vsctl, which these modules run, looks for the socket
    key = {
        "name": "loop of keys",
        "openvswitch.openvswitch.openvswitch_db": {
            "table": "Open_vSwitch",
            "record": ".",
            "col": "external_ids",
            "key": "{{ item.key }}",
            "value": "{{ item.value }}",
        },
        "loop": [{"key": key, "value": value} for key, value in SETTINGS.items()],
        "environment": environment,
        # It does nothing here. The module would be wrong about a value that it cannot read back.
        "register": "keys",
        "failed_when": "keys is changed",
    }
    bridge = {
        "name": "loop of bridges",
        "openvswitch.openvswitch.openvswitch_bridge": {"bridge": "{{ item }}"},
        "loop": ["br-ex", "br-vlan"],
        "environment": environment,
    }
    return [key, bridge]


def fetch_collection() -> None:
    """Fetch openvswitch.openvswitch: a wheel of 50 MB, of which one folder stays."""
    if (LOGS / "collections" / "ansible_collections" / "openvswitch" / "openvswitch" / "MANIFEST.json").exists():
        return
    print(f"Downloading {_PACKAGE} for the modules of openvswitch.openvswitch, once", flush=True)
    download = ["download", "--quiet", "--disable-pip-version-check", "--no-deps", "--only-binary=:all:"]
    subprocess.run([sys.executable, "-m", "pip", *download, "--dest", str(LOGS), _PACKAGE], check=True)
    (wheel,) = LOGS.glob("ansible-*.whl")
    with zipfile.ZipFile(wheel) as archive:
        names = [name for name in archive.namelist() if name.startswith("ansible_collections/openvswitch/")]
        archive.extractall(LOGS / "collections", names)
    wheel.unlink()


def hosts_of(addresses: t.Sequence[str]) -> dict[str, dict[str, t.Any]]:
    """The hosts of the inventory, spread over machines with these addresses."""
    return {
        f"host{number}": {"ansible_host": addresses[number % len(addresses)], "number": number}
        for number in range(1, HOSTS + 1)
    }


def many_hosts(machines: Machines) -> list[Figure]:
    fetch_collection()
    machines.up()
    print(f"Chassis: {HOSTS} hosts, {ROUNDS} rounds in turns", flush=True)
    inventory = machines.inventory("hosts", {"chassis": {"hosts": hosts_of(all_addresses())}})
    ping = {"name": "ping", "ansible.builtin.ping": {}}
    tasks: list[dict[str, t.Any]] = [
        {"name": "start", "ansible.builtin.shell": START},
        {"name": "warm up", "ansible.builtin.ping": {}},  # the first task of a module packs it
        ours("warm up"),
        ours("unset", "absent"),
    ]
    for number in range(ROUNDS):
        tasks += [ping, ours("changing"), ours("unchanged")]
        tasks += single_keys() if number < LOOPS else []
        tasks += [ping, ours("unchanged"), ours("unset", "absent")]
    play_of = {"hosts": "chassis", "gather_facts": False}
    try:
        run = play("chassis", [{**play_of, "tasks": tasks}], inventory)
    finally:
        play("chassis-end", [{**play_of, "tasks": [{"name": "stop", "ansible.builtin.shell": STOP}]}], inventory)
    pings = run.times("ping")
    loops = [keys + bridges for keys, bridges in zip(run.times("loop of keys"), run.times("loop of bridges"))]
    what = f"ovn_chassis, 12 settings + 2 bridges, {HOSTS} hosts over SSH"
    return [
        Figure(f"{what}, nothing to do", run.times("unchanged"), "ping", pings, 1.1),
        Figure(f"{what}, all to do", run.times("changing"), "ping", pings, 1.1),
        Figure(
            f"{what}, nothing to do",
            run.times("unchanged"),
            "openvswitch_db + _bridge, a key each",
            loops,
            10,
            faster=True,
        ),
    ]

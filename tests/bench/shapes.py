"""The settings of one hypervisor, in the shapes in which other projects' roles write them: docs/comparison.md.

The shapes are theirs, read in their sources; the playbook and the settings are ours, and nothing of theirs runs, so it costs a
container of Kolla or a chroot nothing here. One host, a local connection, and an Open_vSwitch database without ovs-vswitchd.
"""

from __future__ import annotations

import json
import typing as t

from chassis import DATABASE, SETTINGS, START, STOP, fetch_collection, ours, single_keys
from machines import Machines
from measure import Figure
from playbook import LOGS, play

ROUNDS = 5
BRIDGES = ("br-ex", "br-vlan")
_HOST = "host1"
_VSCTL = f"ovs-vsctl --no-wait --db=unix:{DATABASE}/db.sock"
_ENVIRONMENT = {"OVS_RUNDIR": DATABASE}


def _command_for_each_key() -> list[dict[str, t.Any]]:
    """As openstack-ansible-os_neutron does: one task for each key, the bridges with a module."""
    keys: list[dict[str, t.Any]] = [
        {"name": "commands: key", "ansible.builtin.command": f"{_VSCTL} set open . external-ids:{key}='{value}'"}
        for key, value in SETTINGS.items()
    ]
    bridges = {
        "name": "commands: bridges",
        "openvswitch.openvswitch.openvswitch_bridge": {"bridge": "{{ item }}"},
        "loop": list(BRIDGES),
        "environment": _ENVIRONMENT,
    }
    return [*keys, bridges]


def _one_command() -> dict[str, t.Any]:
    """As edpm-ansible does: all keys in one ovs-vsctl, which does not tell whether it changed anything."""
    keys = " ".join(f"external-ids:{key}='{value}'" for key, value in SETTINGS.items())
    bridges = " ".join(f"-- --may-exist add-br {bridge}" for bridge in BRIDGES)
    return {"name": "one command", "ansible.builtin.shell": f"{_VSCTL} set open . {keys} {bridges}"}


def settings_in_shapes(_machines: Machines) -> list[Figure]:
    fetch_collection()
    print(f"Shapes: one host, {ROUNDS} rounds in turns", flush=True)
    inventory = LOGS / "shapes-inventory.json"
    host = {"ansible_connection": "local", "ansible_python_interpreter": "/usr/bin/python3", "number": 1}
    inventory.write_text(json.dumps({"shapes": {"hosts": {_HOST: host}}}, indent=1))
    tasks: list[dict[str, t.Any]] = [
        {"name": "start", "ansible.builtin.shell": START},
        ours("warm up"),
        _one_command() | {"name": "warm up"},
    ]
    for _number in range(ROUNDS):
        tasks += [ours("unchanged"), *single_keys(), *_command_for_each_key(), _one_command()]
    play_of = {"hosts": "shapes", "gather_facts": False}
    try:
        run = play("shapes", [{**play_of, "tasks": tasks}], inventory)
    finally:
        play("shapes-end", [{**play_of, "tasks": [{"name": "stop", "ansible.builtin.shell": STOP}]}], inventory)
    keys = run.times("commands: key")
    of_a_round = [sum(keys[start : start + len(SETTINGS)]) for start in range(0, len(keys), len(SETTINGS))]
    commands = [sum(pair) for pair in zip(of_a_round, run.times("commands: bridges"))]
    modules = [sum(pair) for pair in zip(run.times("loop of keys"), run.times("loop of bridges"))]
    what = f"{len(SETTINGS)} settings + {len(BRIDGES)} bridges on one host, nothing to do: one ovn_chassis"
    unchanged = run.times("unchanged")
    return [
        Figure(what, unchanged, "openvswitch_db + _bridge, a key each", modules, None, faster=True),
        Figure(what, unchanged, "a task with ovs-vsctl set for each key", commands, None, faster=True),
        Figure(what, unchanged, "one ovs-vsctl with all", run.times("one command"), None, faster=True),
    ]

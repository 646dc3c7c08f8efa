"""Open_vSwitch on 20 hosts: a read and a write by our wire and by ovsdbapp, against a ping, for docs/contributing/decisions/0005-ovsdb-clients.md.

Two modules that differ in their client alone: they read external_ids, write twelve keys of it, and read again. ovsdbapp replicates
that one column. It does not wait for ovs-vswitchd, which does not run here.
Started as a program, it measures on hosts that are all this machine, without SSH: `.venv/bin/python tests/bench/ovsdb_clients.py`.
"""

from __future__ import annotations

import json
import shutil
import sys
import tempfile
import typing as t
from pathlib import Path

from chassis import DATABASE, HOSTS, ROUNDS, SETTINGS, START, STOP, hosts_of
from machines import Machines, all_addresses
from measure import Figure, print_table
from playbook import LOGS, answers, play

_COMMON = """
import time

from ansible.module_utils.basic import AnsibleModule


def main():
    module = AnsibleModule({"socket": {"required": True}, "keys": {"type": "dict", "required": True}})
    remote, keys = module.params["socket"], module.params["keys"]
    before, after = write(remote, keys)
    if {key: after.get(key) for key in keys} != keys:
        module.fail_json(msg="the database has %s" % after)
    module.exit_json(changed=before != after, processor=time.process_time())


if __name__ == "__main__":
    main()
"""
_WIRE = """
from ansible_collections.c5c3.ovn.plugins.module_utils._base.deadline import Deadline
from ansible_collections.c5c3.ovn.plugins.module_utils._ovsdb.endpoint import parse_endpoint
from ansible_collections.c5c3.ovn.plugins.module_utils._ovsdb.rows import decode, encode_map, expect, transact
from ansible_collections.c5c3.ovn.plugins.module_utils._ovsdb.tls_files import TlsFiles
from ansible_collections.c5c3.ovn.plugins.module_utils._ovsdb.wire import Connection

TABLE, COLUMN = "Open_vSwitch", "external_ids"


def write(remote, keys):
    read = {"op": "select", "table": TABLE, "where": [], "columns": ["_uuid", COLUMN]}
    with Connection(parse_endpoint(remote), TlsFiles("", "", ""), Deadline(30)) as connection:
        [row] = transact(connection, TABLE, [read])[0]["rows"]
        before = decode(row[COLUMN])
        change = {
            "op": "update",
            "table": TABLE,
            "where": [["_uuid", "==", row["_uuid"]]],
            "row": {COLUMN: encode_map({**before, **keys})},
        }
        transact(connection, TABLE, [expect(TABLE, decode(row["_uuid"]), {COLUMN: row[COLUMN]}), change])
        [row] = transact(connection, TABLE, [read])[0]["rows"]
        return before, decode(row[COLUMN])
"""
_OVSDBAPP = """
from ovsdbapp.backend.ovs_idl import connection, idlutils, transaction
from ovsdbapp.schema.open_vswitch import impl_idl
from ovs.db import idl

TABLE, COLUMN = "Open_vSwitch", "external_ids"


def write(remote, keys):
    helper = idlutils.get_schema_helper(remote, TABLE)
    helper.register_columns(TABLE, [COLUMN])
    replica = connection.Connection(idl.Idl(remote, helper), timeout=30)
    api = impl_idl.OvsdbIdl(replica, auto_index=False)
    before = dict(api.db_get(TABLE, ".", COLUMN).execute(check_error=True))
    change = transaction.Transaction(api, replica, 30, check_error=True)
    change.add(api.db_set(TABLE, ".", (COLUMN, keys)))
    change.commit()
    after = dict(api.db_get(TABLE, ".", COLUMN).execute(check_error=True))
    replica.stop()
    return before, after
"""
_MODULES = {"bench_wire": _WIRE, "bench_ovsdbapp": _OVSDBAPP}


def _tasks() -> list[dict[str, t.Any]]:
    ping = {"name": "ping", "ansible.builtin.ping": {}}

    def client(module: str, name: str, number: int) -> dict[str, t.Any]:
        keys = {**SETTINGS, "ovn-cms-options": f"{module}-{number}"}
        return {"name": name, module: {"socket": f"unix:{DATABASE}/db.sock", "keys": keys}}

    tasks: list[dict[str, t.Any]] = [
        {"name": "start", "ansible.builtin.shell": START},
        # The first task of a module packs it.
        {**ping, "name": "warm up"},
        *(client(module, "warm up", 0) for module in _MODULES),
    ]
    for number in range(1, ROUNDS + 1):
        # In turns, and each is as often the first after the other's.
        modules = list(_MODULES) if number % 2 else list(_MODULES)[::-1]
        tasks += [ping, *(client(module, module, number) for module in modules)]
    return tasks


def measured(inventory: Path) -> list[Figure]:
    library = LOGS / "library"  # beside the play
    library.mkdir(exist_ok=True)
    for name, code in _MODULES.items():
        (library / f"{name}.py").write_text(code + _COMMON)
    play_of = {"hosts": "chassis", "gather_facts": False}
    try:
        run = play("ovsdb-clients", [{**play_of, "tasks": _tasks()}], inventory)
    finally:
        stop = [{"name": "stop", "ansible.builtin.shell": STOP}]
        play("ovsdb-clients-end", [{**play_of, "tasks": stop}], inventory)
        shutil.rmtree(library)
    pings, wire, ovsdbapp = (run.times(name) for name in ("ping", *_MODULES))
    processor = {module: [answer["processor"] for answer in answers("ovsdb-clients", module)] for module in _MODULES}
    what = f"read and write Open_vSwitch, {HOSTS} hosts"
    more = [theirs - ours for ours, theirs in zip(wire, ovsdbapp)]
    return [
        Figure(f"{what}, our wire", wire, "ping", pings, None),
        Figure(f"{what}, ovsdbapp", ovsdbapp, "ping", pings, None),
        Figure(f"{what}, ovsdbapp less our wire", more, "ping", pings, None),
        Figure(
            f"{what}, processor time of ovsdbapp",
            processor["bench_ovsdbapp"],
            "our wire",
            processor["bench_wire"],
            None,
        ),
    ]


def ovsdb_clients(machines: Machines) -> list[Figure]:
    machines.up()
    print(f"OVSDB clients: {HOSTS} hosts, {ROUNDS} rounds in turns", flush=True)
    return measured(machines.inventory("ovsdb-hosts", {"chassis": {"hosts": hosts_of(all_addresses())}}))


def _on_this_machine() -> None:
    LOGS.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="c5c3-", dir="/tmp") as folder:
        local = {
            "ansible_connection": "local",
            "ansible_python_interpreter": sys.executable,
            "ansible_remote_tmp": f"{folder}/tmp",
            "ansible_pipelining": True,
        }
        hosts = {name: {**variables, **local} for name, variables in hosts_of(["127.0.0.1"]).items()}
        inventory = Path(folder, "hosts.json")
        inventory.write_text(json.dumps({"chassis": {"hosts": hosts}}))
        print_table(measured(inventory))


if __name__ == "__main__":
    _on_this_machine()

"""ovn_chassis on a host with 5000 ports against a host with none: the module alone, without Ansible around it."""

from __future__ import annotations

import contextlib
import json
import os
import socket
import subprocess
import sys
import tempfile
import time
import typing as t
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "integration"))

from _waits import until
from machines import Machines
from measure import Figure

PORTS = 5000
ROUNDS = 15
_SCHEMA = "/usr/share/openvswitch/vswitch.ovsschema"
_SETTINGS = {
    "system_id": "host1",
    "hostname": "host1.example.com",
    "remote": ["ssl:192.0.2.11:6642", "ssl:192.0.2.12:6642", "ssl:192.0.2.13:6642"],
    "encapsulation": {"type": ["geneve"], "ip": ["192.0.2.21"]},
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


class Database:
    """A private ovsdb-server."""

    def __init__(self, directory: Path) -> None:
        directory.mkdir()
        self.endpoint = f"unix:{directory}/db.sock"
        file = directory / "conf.db"
        subprocess.run(["ovsdb-tool", "create", str(file), _SCHEMA], check=True)
        # It ends with this process, however that ends.
        files = [f"--remote=p{self.endpoint}", f"--unixctl={directory}/ctl", f"--log-file={directory}/log"]
        self._process = subprocess.Popen(
            ["setpriv", "--pdeathsig", "KILL", "ovsdb-server", "-vconsole:off", "--no-chdir", *files, str(file)]
        )
        until(lambda: (directory / "db.sock").exists() or self._process.poll() is not None, "the server to listen")
        if self._process.poll() is not None:
            raise RuntimeError(f"ovsdb-server ended with {self._process.returncode}")
        subprocess.run(["ovs-vsctl", "--no-wait", "--retry", f"--db={self.endpoint}", "init"], check=True)

    def add_ports(self, count: int) -> None:
        """br-int with many ports, as instances make them."""
        subprocess.run(["ovs-vsctl", "--no-wait", f"--db={self.endpoint}", "add-br", "br-int"], check=True)
        operations: list[object] = []
        for number in range(count):
            ids = ["map", [["iface-id", f"port-{number}"], ["iface-status", "active"], ["vm-uuid", f"vm-{number}"]]]
            row = {"name": f"tap{number}", "external_ids": ids}
            operations.append({"op": "insert", "table": "Interface", "row": row, "uuid-name": f"i{number}"})
            row = {"name": f"tap{number}", "interfaces": ["named-uuid", f"i{number}"]}
            operations.append({"op": "insert", "table": "Port", "row": row, "uuid-name": f"p{number}"})
        ports = ["set", [["named-uuid", f"p{number}"] for number in range(count)]]
        where = [["name", "==", "br-int"]]
        operations.append(
            {"op": "mutate", "table": "Bridge", "where": where, "mutations": [["ports", "insert", ports]]}
        )
        self._transact(operations)

    def _transact(self, operations: list[object]) -> None:
        """JSON-RPC by hand: so many operations are too long for an argument of ovsdb-client."""
        with socket.socket(socket.AF_UNIX) as connection:
            connection.settimeout(60)
            connection.connect(self.endpoint.removeprefix("unix:"))
            request = {"id": 1, "method": "transact", "params": ["Open_vSwitch", *operations]}
            connection.sendall(json.dumps(request).encode())
            text = b""
            while True:
                text += connection.recv(1 << 20)
                with contextlib.suppress(ValueError):
                    answer = json.loads(text)
                    break
        problems = [result for result in answer["result"] if result and "error" in result]
        if answer["error"] or problems:
            raise RuntimeError(f"ovsdb-server refused the ports: {answer['error'] or problems}")

    def end(self) -> None:
        self._process.kill()
        self._process.wait()


class Cost(t.NamedTuple):
    seconds: float
    megabytes: float


def _module(database: Database, state: str, changed: bool) -> Cost:
    """The module in a process of its own, started as Ansible starts it on a host, but not packed."""
    options = {"state": state, "database": database.endpoint, "wait_for": "none"}
    arguments = {**options, **(_SETTINGS if state == "present" else {}), "_ansible_remote_tmp": tempfile.gettempdir()}
    with tempfile.TemporaryFile("w+") as given, tempfile.TemporaryFile("w+") as output:
        json.dump({"ANSIBLE_MODULE_ARGS": arguments}, given)
        given.seek(0)
        started = time.monotonic()
        process = subprocess.Popen(
            [sys.executable, "-m", "ansible_collections.c5c3.ovn.plugins.modules.ovn_chassis"],
            stdin=given,
            stdout=output,
        )
        _pid, status, usage = os.wait4(process.pid, 0)
        seconds = time.monotonic() - started
        process.returncode = os.waitstatus_to_exitcode(status)
        output.seek(0)
        result = json.loads(output.read() or "{}")
    if process.returncode or result.get("changed") is not changed:
        raise RuntimeError(f"ovn_chassis, which should have said changed={changed}: {result}")
    return Cost(seconds, usage.ru_maxrss / 1024)


def many_ports(machines: Machines) -> list[Figure]:
    """Figures of time and peak memory. The machines are not needed: only a database is involved, on this host."""
    print(f"Ports: a database with {PORTS} ports and an empty one, {ROUNDS} rounds in turns", flush=True)
    changing: dict[bool, list[Cost]] = {False: [], True: []}
    unchanged: dict[bool, list[Cost]] = {False: [], True: []}
    with tempfile.TemporaryDirectory(prefix="c5c3-bench-") as name, contextlib.ExitStack() as stack:
        databases = {full: Database(Path(name, "full" if full else "empty")) for full in (False, True)}
        for database in databases.values():
            stack.callback(database.end)
        databases[True].add_ports(PORTS)
        for _round in range(ROUNDS):
            for full, database in databases.items():
                changing[full].append(_module(database, "present", changed=True))
            for full, database in databases.items():
                unchanged[full].append(_module(database, "present", changed=False))
            for database in databases.values():
                _module(database, "absent", changed=True)
    what = f"ovn_chassis, {PORTS} ports in the database"
    rows = [("nothing to do", unchanged), ("all to do", changing)]
    times = [
        Figure(f"{what}, {words}", _column(costs[True], 0), "no ports", _column(costs[False], 0), 1.5)
        for words, costs in rows
    ]
    memory = [
        Figure(
            f"{what}, {words}: memory", _column(costs[True], 1), "no ports", _column(costs[False], 1), 1.5, unit="MB"
        )
        for words, costs in rows
    ]
    return times + memory


def _column(costs: list[Cost], column: int) -> list[float]:
    return [cost[column] for cost in costs]

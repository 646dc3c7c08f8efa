"""A chassis on loopback: ovsdb-server, ovs-vswitchd (userspace) and ovn-controller in a folder and a network namespace of their own."""

from __future__ import annotations

import json
import os
import pathlib
import shutil
import subprocess
import sys
import typing as t

import pytest
from conftest import Daemon, listens, run, until

SCHEMA = "/usr/share/openvswitch/vswitch.ovsschema"


def require_vswitch() -> None:
    """Skip loudly where private Open vSwitch daemons cannot run."""
    missing = [name for name in ("ovsdb-server", "ovs-vswitchd", "ovn-controller", "ip") if shutil.which(name) is None]
    if not os.path.exists(SCHEMA):
        missing.append(SCHEMA)
    if os.geteuid() != 0:
        missing.append("root (network namespaces)")
    if missing:
        sys.__stderr__.write(f"\nNOT TESTED against a real ovs-vswitchd: {', '.join(missing)} missing\n")
        pytest.skip(f"NOT TESTED against a real ovs-vswitchd: {', '.join(missing)} missing")


class Vswitch:
    """`start()` starts the database; the other daemons on demand. All end with `stop()`. As a context, from one to the other."""

    def __init__(self, directory: pathlib.Path, name: str, namespace: str = "") -> None:
        """`namespace`: one that is there, and stays."""
        require_vswitch()
        self.directory = directory / name
        self.directory.mkdir()
        self.namespace = namespace or f"c5c3-{os.getpid()}-{name}"
        self.daemons: dict[str, Daemon] = {}
        self._is_guest = bool(namespace)
        if not namespace:
            run("ip", "netns", "add", self.namespace)
            run("ip", "-n", self.namespace, "link", "set", "lo", "up")

    @property
    def prefix(self) -> list[str]:
        """The command that starts another one in the namespace."""
        return ["ip", "netns", "exec", self.namespace]

    @property
    def endpoint(self) -> str:
        return f"unix:{self.directory}/db.sock"

    def _start(self, name: str, *command: str, prefix: list[str] | None = None) -> Daemon:
        variables = (
            "OVS_RUNDIR",
            "OVS_DBDIR",
            "OVS_LOGDIR",
            "OVS_SYSCONFDIR",
            "OVN_RUNDIR",
            "OVN_LOGDIR",
            "OVN_SYSCONFDIR",
        )
        environment = [f"{variable}={self.directory}" for variable in variables]
        options = ["--no-chdir", "-vconsole:off", "-vfile:info", "--log-file"]
        if name != "ovn-controller":  # before 24.03 it names its own socket
            options.append(f"--unixctl={self.directory}/{name}.ctl")
        daemon = Daemon(
            [*(self.prefix if prefix is None else prefix), "env", *environment, *command, *options],
            self.directory / f"{name}.out",
        )
        self.daemons[name] = daemon
        return daemon

    def start(self, *options: str) -> Vswitch:
        """The database server; `options` go to ovsdb-server."""
        file = self.directory / "conf.db"
        if not file.exists():
            run("ovsdb-tool", "create", str(file), SCHEMA)
        (self.directory / "db.sock").unlink(missing_ok=True)
        self._start("ovsdb-server", "ovsdb-server", str(file), f"--remote=p{self.endpoint}", *options)
        until(lambda: listens(self.directory / "db.sock"), "the database socket")
        self.vsctl("--no-wait", "init")
        return self

    def start_vswitchd(self) -> Daemon:
        return self._start("ovs-vswitchd", "ovs-vswitchd", self.endpoint, "--disable-system")

    def start_controller(self, *options: str, outside: bool = False) -> Daemon:
        """`outside` of the namespace it reaches servers on this host's loopback."""
        prefix = [] if outside else self.prefix
        return self._start("ovn-controller", "ovn-controller", self.endpoint, *options, prefix=prefix)

    def device(self, *names: str) -> None:
        """Network devices that can become ports."""
        for name in names:
            run("ip", "-n", self.namespace, "link", "add", name, "type", "veth", "peer", "name", f"p-{name}"[:15])

    def address(self, ip: str) -> None:
        run("ip", "-n", self.namespace, "addr", "add", f"{ip}/32", "dev", "lo")

    def vsctl(self, *arguments: str) -> str:
        return run("ovs-vsctl", f"--db={self.endpoint}", "--timeout=20", *arguments).strip()

    def transact(self, *operations: dict[str, t.Any]) -> list[dict[str, t.Any]]:
        text = json.dumps(["Open_vSwitch", *operations])
        return t.cast(
            "list[dict[str, t.Any]]", json.loads(run("ovsdb-client", "-t", "20", "transact", self.endpoint, text))
        )

    def root(self) -> dict[str, t.Any]:
        """The Open_vSwitch row: maps as dicts."""
        row = self.transact({"op": "select", "table": "Open_vSwitch", "where": []})[0]["rows"][0]
        return {k: dict(v[1]) if isinstance(v, list) and v[0] == "map" else v for k, v in row.items()}

    @property
    def external_ids(self) -> dict[str, str]:
        return t.cast("dict[str, str]", self.root()["external_ids"])

    @property
    def next_cfg(self) -> int:
        return int(self.root()["next_cfg"])

    def dump(self) -> str:
        """Everything that a module could write, without what ovs-vswitchd reports."""
        columns = {
            "Open_vSwitch": ["external_ids", "other_config", "bridges", "ssl", "next_cfg"],
            "Bridge": ["name", "ports", "datapath_type", "external_ids"],
            "Port": ["name", "interfaces", "external_ids"],
            "Interface": ["name", "type"],
            "SSL": ["private_key", "certificate", "ca_cert", "external_ids"],
        }
        selects = [{"op": "select", "table": table, "where": [], "columns": c} for table, c in columns.items()]
        tables = [sorted(result["rows"], key=str) for result in self.transact(*selects)]
        return json.dumps(tables, indent=1, sort_keys=True)

    def bridges(self) -> dict[str, list[str]]:
        return {name: self.vsctl("list-ports", name).split() for name in self.vsctl("list-br").split()}

    def __enter__(self) -> Vswitch:
        return self.start()

    def __exit__(self, *_error: object) -> None:
        self.stop()

    def stop(self) -> None:
        try:
            for daemon in reversed(list(self.daemons.values())):
                daemon.kill()
        finally:
            if not self._is_guest:
                subprocess.run(["ip", "netns", "delete", self.namespace], check=False, timeout=20)

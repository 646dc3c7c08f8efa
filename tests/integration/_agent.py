"""The agent of one hypervisor node as a process of its own, with the folders that a pod would have mounted."""

from __future__ import annotations

import json
import pathlib
import sys
import typing as t

from _vswitch import Vswitch
from conftest import Daemon, until

from ansible_collections.c5c3.ovn.plugins.module_utils._agent.archive import build_archive

NODE = "worker-1"


class Agent:
    """The agent of one node, with the folders that a pod would have mounted."""

    def __init__(self, vswitch: Vswitch, directory: pathlib.Path) -> None:
        self.vswitch = vswitch
        self.settings = directory / "settings"
        self.run = directory / "run"
        self.archive = directory / "c5c3-ovn.pyz"
        self.log = directory / "agent.log"
        self.settings.mkdir()
        self.run.mkdir()
        self.archive.write_bytes(build_archive())
        self.daemon: Daemon | None = None

    def write(
        self, default: dict[str, t.Any], own: dict[str, t.Any] | None = None, heartbeat: dict[str, t.Any] | None = None
    ) -> None:
        """As kubelet does it: new files take the place of the old ones."""
        for name, content in (("_default", default), (NODE, own), ("_heartbeat", heartbeat)):
            path = self.settings / name
            if content is None:
                path.unlink(missing_ok=True)
            else:
                new = self.settings / f".{name}.new"
                new.write_text(json.dumps(content))
                new.replace(path)

    def start(self, node_ip: str = "192.0.2.21", *, outside: bool = False, **more: str) -> None:
        """`outside` of the node's network it reaches servers on this host's loopback; `more` is environment."""
        environment = [
            f"OVN_NODE={NODE}",
            f"OVN_NODE_IP={node_ip}",
            f"OVN_SETTINGS_DIR={self.settings}",
            f"OVS_RUNDIR={self.vswitch.directory}",
            f"OVN_RUNDIR={self.run}",
            *(f"{name}={value}" for name, value in more.items()),
        ]
        # -I -S: neither site-packages nor anything of this repository, as in a pod.
        command = ["env", *environment, sys.executable, "-I", "-S", str(self.archive), "chassis"]
        self.daemon = Daemon([*([] if outside else self.vswitch.prefix), *command], self.log)

    @property
    def pid(self) -> int:
        assert self.daemon is not None
        return self.daemon.pid

    @property
    def settled(self) -> bool:
        return (self.run / "settled").exists()

    @property
    def ready(self) -> bool:
        return (self.run / "agent.ready").exists()

    @property
    def trouble(self) -> str:
        try:
            return (self.run / "agent.trouble").read_text()
        except FileNotFoundError:
            return ""

    def until_ready(self) -> None:
        until(lambda: self.ready, f"the agent: {self.trouble}")

    def until_trouble(self, words: str) -> None:
        until(lambda: words in self.trouble, f"trouble with {words!r}")

    def stop(self) -> None:
        if self.daemon is not None:
            self.daemon.kill()

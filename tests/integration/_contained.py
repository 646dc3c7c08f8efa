"""Members in containers: servers with a root directory, sockets and a volume of their own, under an engine that starts them again.

The engine stands in for Docker: it knows inspect, update --restart=no and stop, and restarts what ends until it is told not to.
"""

from __future__ import annotations

import json
import subprocess
import threading
import typing as t
from pathlib import Path

from _foreign import ForeignBackend, ForeignHost, Groups
from _launcher_lib import SCHEMA, tool
from _loopback import CLIENT_PORTS, LoopbackBackend, Tls

from ansible_collections.c5c3.ovn.plugins.module_utils._adoption.processes import find_contained
from ansible_collections.c5c3.ovn.plugins.module_utils._databases import DATABASE_NAMES

_INSIDE = "/var/lib/openvswitch/ovn-nb"
# A root directory in memory, with the programs of the host and one volume.
_ENTER = """
set -e
root=$1 volume=$2 inside=$3
shift 3
mount -t tmpfs tmpfs "$root"
for one in usr etc dev proc; do mkdir "$root/$one"; mount --rbind "/$one" "$root/$one"; done
for one in bin sbin lib lib64; do ln -s "usr/$one" "$root/$one"; done
mkdir -p "$root/run/ovn" "$root/tmp" "$root$inside"
mount --bind "$volume" "$root$inside"
exec setpriv --pdeathsig KILL chroot "$root" "$@"
"""


class ContainedHost(ForeignHost):
    """A central host as Kolla sets it up: its server is in a container whose file has another name in a volume."""

    def __init__(self, root: Path, number: int, database: str, host: str, **options: t.Any) -> None:
        super().__init__(root, number, database, host, **options)
        self.identifier, self.name = f"{number}" * 64, f"ovn_nb_db_{number}"
        self.foreign_unit = ""  # no unit of systemd runs it
        self.volume, self.inside = self.root / "volume", self.root / "inside"
        self.volume.mkdir()
        self.inside.mkdir()
        self.source = self.volume / "ovnnb.db"
        self.policy, self.starts, self.mounts_volume = "unless-stopped", 0, True
        self._engine = threading.Thread(target=self._restart, daemon=True)
        self._changed, self._engine_ended, self._stopped = threading.Lock(), threading.Event(), False

    def create(self, first: ForeignHost) -> None:
        if first is self:
            tool("create-cluster", self.source, SCHEMA, self.address)
        else:
            tool("join-cluster", self.source, DATABASE_NAMES[self.database], self.address, first.address)

    def start_foreign(self, *group: str) -> None:
        """As `ovn-ctl run_nb_ovsdb` in Kolla's container does."""
        del group
        name = DATABASE_NAMES[self.database]
        command = [
            *self.groups.enter(self.id, "system.slice", f"docker-{self.identifier}.scope"),
            *("unshare", "--mount", "sh", "-c", _ENTER, "enter", str(self.inside), str(self.volume), _INSIDE),
            *("/usr/sbin/ovsdb-server", "--remote=punix:/run/ovn/ovnnb_db.sock", "--unixctl=/run/ovn/ovnnb_db.ctl"),
            f"--remote=db:{name},NB_Global,connections",
            f"--remote=ptcp:{CLIENT_PORTS[self.database]}:{self.host}",
            f"{_INSIDE}/{self.source.name}",
        ]
        self.starts += 1
        self.foreign = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        if not self._engine.is_alive():
            self._engine.start()

    def _restart(self) -> None:
        while not self._engine_ended.wait(0.05):
            with self._changed:
                if self.foreign is not None and self.foreign.poll() is not None:
                    self.foreign = None
                    if self.policy != "no" and not self._stopped:
                        self.start_foreign()

    @property
    def is_foreign_active(self) -> bool:
        foreign = self.foreign
        return foreign is not None and foreign.poll() is None

    def end_engine(self) -> None:
        self._engine_ended.set()
        if self._engine.is_alive():
            self._engine.join()

    @property
    def connected(self) -> bool:
        self.member.contained = find_contained(self.database, self.address)
        return super().connected

    @property
    def leads(self) -> bool:
        self.member.contained = find_contained(self.database, self.address)
        return super().leads

    def _run(self, command: list[str], environment: dict[str, str]) -> tuple[int, str, str]:
        if command[0] == "systemctl" and "--no-legend" in command and "list-unit-files" in command:
            return 0, "ssh.service enabled enabled\n", ""
        if command[0] == "systemctl" and "--" in command:
            return 0, "Id=ssh.service\nActiveState=active\nMainPID=7\n", ""
        if command[0] != "docker":
            return super()._run(command, environment)
        if command[1] == self.fails_at:
            raise KeyboardInterrupt
        if command[1] == "inspect":
            host = {"RestartPolicy": {"Name": self.policy}, "AutoRemove": False}
            mount = {"Type": "volume", "Name": "ovn_nb_db", "Source": str(self.volume), "Destination": _INSIDE}
            mounts = [mount] if self.mounts_volume else []
            return 0, json.dumps([{"Name": f"/{self.name}", "HostConfig": host, "Mounts": mounts}]), ""
        assert command[-1] == self.name
        if command[1] == "update":
            assert command[2] == "--restart=no"
            self.policy = "no"
            return 0, "", ""
        assert command[1] == "stop"
        with self._changed:
            self._stopped = True
            if self.foreign is not None:
                self.foreign.terminate()
                self.foreign.wait(timeout=20)
                self.foreign = None
        return 0, "", ""


class ContainedBackend(ForeignBackend):
    """Three hosts, all of them with containers at first."""

    hosts: list[ContainedHost]

    def __init__(self, tls: t.Callable[[str], Tls] | None = None) -> None:
        ForeignHost.groups = Groups()
        LoopbackBackend.__init__(self, host_class=ContainedHost, tls=tls)

    def close(self, *, keep_files: bool = False) -> None:
        for host in self.hosts:
            host.end_engine()
        super().close(keep_files=keep_files)

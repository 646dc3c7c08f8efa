"""A network of our own: a namespace for each host, all on one bridge, with addresses of IPv4 and IPv6. Needs root; nothing outside of it changes."""

from __future__ import annotations

import os
import subprocess
import typing as t

from conftest import run, until


class Lan:
    """Hosts by name, in order: the first one has 192.0.2.1 and 2001:db8::1."""

    def __init__(self, *names: str) -> None:
        self.names = names
        self._holders = {name: self._hold() for name in ("switch", *names)}
        self.ip("switch", "link", "add", "br0", "type", "bridge")
        self.ip("switch", "link", "set", "br0", "up")
        for number, name in enumerate(names, 1):
            peer = ("peer", "name", "eth0", "netns", str(self._holders[name].pid))
            self.ip("switch", "link", "add", f"host{number}", "type", "veth", *peer)
            self.ip("switch", "link", "set", f"host{number}", "master", "br0", "up")
            self.ip(name, "link", "set", "lo", "up")
            self.ip(name, "addr", "add", f"{self.ipv4(name)}/24", "dev", "eth0")
            self.ip(name, "addr", "add", f"{self.ipv6(name)}/64", "dev", "eth0", "nodad")
            self.ip(name, "link", "set", "eth0", "up")

    def ipv4(self, name: str) -> str:
        return f"192.0.2.{self.names.index(name) + 1}"

    def ipv6(self, name: str) -> str:
        return f"2001:db8::{self.names.index(name) + 1:x}"

    def enter(self, name: str) -> list[str]:
        """The command that starts a process in the network of this host."""
        return ["nsenter", f"--net=/proc/{self._holders[name].pid}/ns/net"]

    def run(self, name: str, *command: str) -> str:
        return run(*self.enter(name), *command)

    def ip(self, name: str, *arguments: str) -> None:
        self.run(name, "ip", *arguments)

    def close(self) -> None:
        for holder in self._holders.values():
            holder.kill()
            holder.wait()

    @staticmethod
    def _hold() -> subprocess.Popen[bytes]:
        ours = os.readlink("/proc/self/ns/net")
        holder = subprocess.Popen(["unshare", "--net", "setpriv", "--pdeathsig", "KILL", "sleep", "infinity"])
        until(lambda: t.cast("bool", os.readlink(f"/proc/{holder.pid}/ns/net") != ours), "a network namespace")
        return holder

"""A network of our own: a namespace for each host, a bridge between them, and paths that lose packets in one direction or both.

A path is cut by giving the sender a wrong MAC address of the receiver: the packets leave and nobody takes them, as with a broken switch.
Nobody gets an error, connections that are open stay open and hang. Needs root, bridge and veth; no firewall, no traffic control.
"""

from __future__ import annotations

import collections
import os
import subprocess
import sys
import typing as t
from pathlib import Path

CLIENTS = "clients"
_NOBODY = "02:00:00:00:ff:ff"
_INSIDE = "C5C3_CHAOS_INSIDE"


def enter_own_namespaces() -> None:
    """Start this program again where its interfaces and processes end with it."""
    if os.environ.get(_INSIDE) == "yes":
        return
    if os.geteuid() != 0:
        sys.exit("chaos: it needs root: every host of a cluster gets a network namespace.")
    command = ["unshare", "--net", "--pid", "--fork", "--kill-child=KILL", "--mount-proc", sys.executable, *sys.argv]
    sys.stdout.flush()
    os.execvpe(command[0], command, os.environ | {_INSIDE: "yes"})


class Network:
    """Hosts by name; `CLIENTS` is this process itself."""

    def __init__(self, names: t.Sequence[str]) -> None:
        self.names = [*names, CLIENTS]
        self._holders: dict[str, subprocess.Popen[bytes]] = {}
        self._cuts: collections.Counter[tuple[str, str]] = collections.Counter()  # several faults may cut the same path
        # The product asks a host whether its address is local; here this process asks for all of them.
        Path("/proc/sys/net/ipv4/ip_nonlocal_bind").write_text("1")
        self._ip("link", "set", "lo", "up")
        self._ip("link", "add", "br0", "address", self._mac(CLIENTS), "type", "bridge")
        self._ip("addr", "add", f"{self.address(CLIENTS)}/24", "dev", "br0")
        self._ip("link", "set", "br0", "up")
        for number, name in enumerate(names, 1):
            holder = subprocess.Popen(["unshare", "--net", "setpriv", "--pdeathsig", "KILL", "sleep", "infinity"])
            self._holders[name] = holder
            self._wait_for_namespace(holder)
            peer = ("peer", "name", "eth0", "address", self._mac(name), "netns", str(holder.pid))
            self._ip("link", "add", f"host{number}", "type", "veth", *peer)
            self._ip("link", "set", f"host{number}", "master", "br0", "up")
            self._ip("link", "set", "lo", "up", at=name)
            self._ip("addr", "add", f"{self.address(name)}/24", "dev", "eth0", at=name)
            self._ip("link", "set", "eth0", "up", at=name)
        self.heal()

    @staticmethod
    def _wait_for_namespace(holder: subprocess.Popen[bytes]) -> None:
        ours = os.readlink("/proc/self/ns/net")
        while os.readlink(f"/proc/{holder.pid}/ns/net") == ours:
            if holder.poll() is not None:
                raise RuntimeError("a network namespace cannot be made")

    def close(self) -> None:
        for holder in self._holders.values():
            holder.kill()
            holder.wait()

    def address(self, name: str) -> str:
        return f"192.0.2.{254 if name == CLIENTS else self.names.index(name) + 1}"

    def enter(self, name: str) -> list[str]:
        """The command that starts a process in the network of this host."""
        return ["nsenter", f"--net=/proc/{self._holders[name].pid}/ns/net"]

    def cut(self, sender: str, receiver: str) -> None:
        """Lose every packet from one to the other."""
        self._cuts[sender, receiver] += 1
        self._neighbor(sender, receiver, _NOBODY)

    def restore(self, sender: str, receiver: str) -> None:
        """End one cut of this path; the path works again after the last one."""
        self._cuts[sender, receiver] -= 1
        if not self._cuts[sender, receiver]:
            self._neighbor(sender, receiver, self._mac(receiver))

    def paths(self, name: str) -> list[tuple[str, str]]:
        """All paths from and to this host."""
        others = [other for other in self.names if other != name]
        return [(name, other) for other in others] + [(other, name) for other in others]

    def heal(self) -> None:
        """Make every path work."""
        self._cuts.clear()
        for sender in self.names:
            for receiver in self.names:
                if sender != receiver:
                    self._neighbor(sender, receiver, self._mac(receiver))

    def _mac(self, name: str) -> str:
        return f"02:00:00:00:00:{self.names.index(name) + 1:02x}"

    def _neighbor(self, at: str, of: str, mac: str) -> None:
        device = "br0" if at == CLIENTS else "eth0"
        self._ip("neigh", "replace", self.address(of), "lladdr", mac, "dev", device, "nud", "permanent", at=at)

    def _ip(self, *arguments: str, at: str = CLIENTS) -> None:
        enter = [] if at == CLIENTS else self.enter(at)
        subprocess.run([*enter, "ip", *arguments], check=True, timeout=20)

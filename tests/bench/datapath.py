"""What OVN and our settings cost packets in the kernel's datapath, between two machines that have such a kernel.

Each path in each round: a stream, the time to an answer, new connections. OVN is measured with our settings and with only those that it needs, in an order
that alternates, and each time after every hypervisor has the change.
"""

from __future__ import annotations

import json
import os
import re
import shlex
import sys
import tempfile
import typing as t
from pathlib import Path

from machines import Machines
from measure import Figure, NotHere

sys.path[:0] = [str(Path(__file__).parents[1] / name) for name in ("integration", "testbed")]
from _datapath import NORTHBOUND, Site

ROUNDS = 6
_SCRIPT = Path(__file__).with_name("guest_load.py")
_PORT = 5003
_HOSTS = {"hypervisor1": "172.31.0.21", "hypervisor2": "172.31.0.22"}
# Words before a command on hypervisor1, and the address of the other end.
_OVN = ("ip netns exec c5c3-ping", "198.18.0.2")
_VXLAN = ("ip netns exec plain", "192.0.2.2")
_UNDERLAY = ("", _HOSTS["hypervisor2"])
_NEEDED = re.compile(
    r"system-id|hostname|rundir|c5c3-ovn-owned|ovn-(remote|encap-type|encap-ip|bridge-mappings|cms-options)"
)
_MEASURES = {"tcp": 5, "latency": 1000, "connect": 4}
_RULES = "acl-add c5c3-ping to-lport 1000 ip4 drop -- acl-add c5c3-ping to-lport 1001 'ip4' allow-related"


class _Path:
    """A path between guests, and what was measured on it by measure."""

    def __init__(self, site: Site, place: tuple[str, str]) -> None:
        self._site, (self._prefix, self._address) = site, place
        self.found: dict[str, list[float]] = {}

    def measure(self, *names: str) -> None:
        for name in names:
            words = f"{self._prefix} python3 /run/guest_load.py {name} {self._address} {_PORT} {_MEASURES[name]}"
            *notes, value = self._site.on("hypervisor1", words).splitlines()
            print(f"    {self._prefix or 'underlay'}: {name} {float(value):.0f}", *notes, flush=True)
            self.found.setdefault(name, []).append(float(value))


def _prepare(site: Site) -> None:
    """Add a path of VXLAN, bridges and veth, with the MTU of OVN's guests, and servers on all three."""
    for number, host in enumerate(_HOSTS, 1):
        other = next(address for name, address in _HOSTS.items() if name != host)
        site.on(
            host,
            f"""set -e; ip link add plain type bridge; ip link set plain up
            ip link add plain-vxlan type vxlan id 7 remote {other} dev under0 dstport 4790
            ip link set plain-vxlan mtu 1442 master plain up
            ip netns add plain; ip link add plain-guest type veth peer name eth0 netns plain; ip link set plain-guest mtu 1442 master plain up
            ip -n plain address add 192.0.2.{number}/24 dev eth0; ip -n plain link set eth0 mtu 1442 up""",
        )
        site.on(host, f"cat >/run/guest_load.py <<'END'\n{_SCRIPT.read_text()}\nEND\n")
    for number, (prefix, _address) in enumerate((_OVN, _VXLAN, _UNDERLAY)):
        command = f"{prefix} python3 /run/guest_load.py serve {_PORT}"
        site.on("hypervisor2", f"systemd-run --quiet --unit=load{number} {command}")


def _settings(site: Site, host: str) -> dict[str, str]:
    """Return what our settings add to those that OVN needs."""
    table = json.loads(site.on(host, "ovs-vsctl --format=json --columns=external_ids list open_vswitch"))
    return {key: value for key, value in table["data"][0][0][1] if not _NEEDED.fullmatch(key)}


def _apply(site: Site, added: t.Mapping[str, t.Mapping[str, str]], *, present: bool) -> None:
    """Set or remove these settings, and wait until each hypervisor has what follows from it."""
    for host, values in added.items():
        pairs = " ".join(shlex.quote(f'external_ids:{key}="{value}"') for key, value in values.items())
        words = f"set open_vswitch . {pairs}" if present else f"remove open_vswitch . external_ids {' '.join(values)}"
        site.on(host, f"ovs-vsctl {words}")
    site.on("central1", f"{NORTHBOUND} --wait=hv sync")


def _measure(site: Site) -> dict[str, dict[str, list[float]]]:
    ours, bare, rules, vxlan, underlay = (_Path(site, place) for place in (_OVN, _OVN, _OVN, _VXLAN, _UNDERLAY))
    added = {host: _settings(site, host) for host in _HOSTS}
    print(f"Our settings: {added['hypervisor1']}", flush=True)
    for number in range(ROUNDS):
        print(f"  round {number + 1}", flush=True)
        for path in (bare, ours) if number % 2 else (ours, bare):
            _apply(site, added, present=path is ours)
            path.measure(*_MEASURES)
        _apply(site, added, present=True)
        for path in (vxlan, underlay):
            path.measure(*_MEASURES)
        site.on("central1", f"{NORTHBOUND} --wait=hv {_RULES}")
        rules.measure("connect", "latency")
        site.on("central1", f"{NORTHBOUND} --wait=hv acl-del c5c3-ping")
    paths = {"ours": ours, "bare": bare, "rules": rules, "vxlan": vxlan, "underlay": underlay}
    return {name: path.found for name, path in paths.items()}


def datapath_costs(_machines: Machines) -> list[Figure]:
    if os.geteuid() != 0:
        raise NotHere("it needs root, for machines")
    suite = os.environ.get("SANDBOX_SUITE", "trixie")
    with tempfile.TemporaryDirectory() as folder:
        site = Site(Path(folder), suite, "kernel", hypervisors=2)
        site.sandbox("down")
        try:
            site.sandbox("up")
            _prepare(site)
            found = _measure(site)
        finally:
            site.sandbox("down")
    return [_figure(suite, found, *row) for row in _ROWS]


_ROWS = (
    ("TCP of guests, Geneve", "tcp", "ours", "VXLAN and bridges without OVN", "vxlan"),
    ("TCP of guests, Geneve", "tcp", "ours", "only the settings that OVN needs", "bare"),
    ("time to an answer, Geneve", "latency", "ours", "VXLAN and bridges without OVN", "vxlan"),
    ("time to an answer, Geneve", "latency", "ours", "only the settings that OVN needs", "bare"),
    ("time to an answer, Geneve", "latency", "ours", "host to host", "underlay"),
    ("time to an answer, stateful ACL", "latency", "rules", "without ACLs", "ours"),
    ("new connections a second", "connect", "ours", "VXLAN and bridges without OVN", "vxlan"),
    ("new connections a second", "connect", "ours", "only the settings that OVN needs", "bare"),
    ("new connections a second, stateful ACL", "connect", "rules", "without ACLs", "ours"),
)
_UNITS = {"tcp": "Mbit/s", "latency": "µs", "connect": "/s"}


def _figure(suite: str, found: t.Any, what: str, measure: str, who: str, than: str, other: str) -> Figure:
    return Figure(f"{what}, {suite}", found[who][measure], than, found[other][measure], None, _UNITS[measure])

"""A sandbox whose hypervisors switch packets in a kernel of their own or in userspace, and what its guests notice of an event."""

from __future__ import annotations

import contextlib
import dataclasses
import datetime
import json
import math
import os
import pathlib
import re
import subprocess
import time
import typing as t

import pytest
import yaml
from _waits import within
from cloud_machines import ssh_command

ROOT = pathlib.Path(__file__).resolve().parents[2]
SANDBOX, MACHINES = (ROOT / "tests" / "testbed" / name for name in ("sandbox", "machines"))
STREAM = ROOT / "molecule" / "shared" / "files" / "stream.py"
NETWORK = "203.0.113"
STEP = 0.01
FLOWS = "ovs-ofctl -O OpenFlow15 dump-aggregate br-int"
NORTHBOUND = "ovn-nbctl --db=unix:/run/ovn/ovnnb_db.sock --no-leader-only"
SOUTHBOUND = "ovn-sbctl --db=unix:/run/ovn/ovnsb_db.sock --no-leader-only"


class Site:
    """A sandbox of its own whose hypervisors have a datapath of `kind`: kernel, ipv6 (the kernel's, and no host has an IPv4 address) or userspace.

    `label` tells printed lines of several files apart.
    """

    def __init__(
        self, folder: pathlib.Path, suite: str, kind: str, hypervisors: int = 3, label: str = "machines"
    ) -> None:
        self.suite, self.kind, self.folder = suite, kind, folder
        self.label = f"{suite} {kind}, {label}"
        # Seconds. Open vSwitch 3.1.0 (bookworm) creates the device of the tunnels again when ovs-vswitchd starts, later versions keep it.
        self.longest_tunnel_gap = 1.0 if suite == "bookworm" else 0.0
        self.state = pathlib.Path("/var/tmp/c5c3-ovn-test-datapath")
        self.has_kernel = kind != "userspace"
        self.guest = "2001:2::0:2" if kind == "ipv6" else "198.18.0.2"  # on hypervisor2, by c5c3.ovn.ping
        self.ports = 0  # without a guest
        self.seen: list[str] = []  # a line for each event
        self._environment = {
            **{name: value for name, value in os.environ.items() if name != "KERNEL"},
            "MACHINES_FAMILY": "ipv6" if kind == "ipv6" else "ipv4",
            "SANDBOX_FOLDER": str(folder / "sandbox"),
            "SANDBOX_SUITE": suite,
            "HYPERVISORS": str(hypervisors),
            "MACHINES_STATE": str(self.state),
            "MACHINES_NAMESPACE": "tdatapath",
            "MACHINES_NETWORK": NETWORK,
            "MACHINES_PROVIDER": "yes",
            **({"KERNEL": "1"} if self.has_kernel else {}),
        }

    def sandbox(self, verb: str) -> str:
        return self._run(str(SANDBOX), verb)

    def machines(self, *words: str) -> str:
        return self._run(str(MACHINES), *words)

    def playbook(self, name: str, *words: str, fails: bool = False) -> str:
        inventory = self.folder / "sandbox" / "inventory.yml"
        program = str(ROOT / ".venv/bin/ansible-playbook")
        return self._run(program, "-i", str(inventory), f"c5c3.ovn.{name}", *words, fails=fails)

    def _run(self, *words: str, fails: bool = False) -> str:
        done = subprocess.run(
            words, env=self._environment, capture_output=True, text=True, timeout=within(900), check=False
        )
        logs = "".join(log.read_text()[-3000:] for log in sorted((self.folder / "sandbox").glob("*.log")))
        assert (done.returncode != 0) == fails, (
            f"{' '.join(words)}: {done.returncode}\n{done.stdout}{done.stderr}\n{logs}"
        )
        return done.stdout

    def address(self, host: str) -> str:
        inventory = yaml.safe_load((self.folder / "sandbox" / "inventory.yml").read_text())
        groups = inventory["sandbox"]["children"].values()
        return next(group["hosts"][host]["ansible_host"] for group in groups if host in group["hosts"])

    def start(self, host: str, command: str) -> subprocess.Popen[str]:
        words = ssh_command(self.state, self.address(host), command)
        return subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)

    def on(self, host: str, command: str) -> str:
        process = self.start(host, command)
        output, _none = process.communicate(timeout=within(300))
        assert process.returncode == 0, f"{command} on {host}: {output}"
        return output.strip()


@dataclasses.dataclass(frozen=True)
class Seen:
    """What the guests noticed: `sent` of both, `lost` datagrams, seconds of the longest pauses, seconds until br-int had its flows again.

    `tunnel_gap`: seconds without the device of the tunnels, `Site.longest_tunnel_gap` at most.
    """

    sent: int
    lost: int
    pause: float
    stream_lost: int
    stream_pause: float
    error: str
    flows_after: float
    tunnel_gap: float

    @property
    def lost_outside_tunnel_gap(self) -> int:
        """Lost datagrams without as many as were sent during the gap."""
        return max(0, self.lost - math.ceil(self.tunnel_gap / STEP))


@contextlib.contextmanager
def running_site(site: Site, config: pytest.Config) -> t.Iterator[str]:
    """Roll the site out, with the stream's server on hypervisor2, and give the report. What its tests have seen is printed at the end."""
    if os.geteuid() != 0:
        pytest.skip("!!! NOT TESTED HERE: machines need root")
    site.sandbox("down")  # of a run that was killed
    try:
        report = site.sandbox("up")
        assert "OVN is healthy" in report
        for host in ("hypervisor1", "hypervisor2"):
            copy_stream(site, host)
        echo = "systemd-run --quiet --unit=echo ip netns exec c5c3-ping python3 /run/stream.py serve 5001"
        site.on("hypervisor2", echo)
        yield report
    finally:
        site.sandbox("down")
        with config.pluginmanager.getplugin("capturemanager").global_and_fixture_disabled():
            print("", *(f"{site.label}: {line}" for line in site.seen), sep="\n")


def copy_stream(site: Site, host: str) -> None:
    site.on(host, f"cat >/run/stream.py <<'END'\n{STREAM.read_text()}\nEND\n")


def add_ports(site: Site, number: int) -> None:
    """Have so many ports without a guest on the guests' switch: flows for each of them in every hypervisor."""
    for first in range(site.ports, number, 500):
        words = [
            f"lsp-add c5c3-ping many{n} -- lsp-set-addresses many{n} '02:00:00:00:{n >> 8:02x}:{n & 255:02x} 198.19.{n >> 8}.{n & 255}'"
            for n in range(first, min(number, first + 500))
        ]
        site.on("central1", f"{NORTHBOUND} {' -- '.join(words)}")
    if number > site.ports:
        site.on("central1", f"{NORTHBOUND} --wait=hv --timeout=120 sync")
        site.ports = number


def tunnel_gap(monitor: str) -> float:
    """Return for how many seconds the device was gone, in the output of `ip -ts monitor link`; infinity if it is still gone."""
    gone, gap = None, 0.0
    for stamp, deleted, rest in re.findall(r"^\[(\S+)\] (Deleted )?\d+: genev_sys_6081\b(.*)$", monitor, re.MULTILINE):
        at = datetime.datetime.fromisoformat(stamp)
        if deleted:
            gone = gone or at
        elif gone and "UP" in rest and "master ovs-system" in rest:
            gap, gone = gap + (at - gone).total_seconds(), None
    return math.inf if gone else round(gap, 3)


def flow_count(site: Site) -> int:
    text = site.on("hypervisor1", FLOWS)
    return int(re.findall(r"flow_count=(\d+)", text)[0])


def watch(site: Site, name: str, command: str, seconds: float = 25) -> Seen:
    """Run the command on hypervisor1 under the guests' traffic, print what they noticed, and fail if the tunnels' device was away for too long."""
    before = flow_count(site)
    stream = f"python3 /run/stream.py send {site.guest} 5001 {seconds} {STEP}"
    site.on(
        "hypervisor1", f"ip netns exec c5c3-ping ping -q -c 3 -W 5 {site.guest}"
    )  # ARP or ND, and the switches learn
    traffic = site.start("hypervisor1", f"ip netns exec c5c3-ping {stream}")
    monitor = "systemd-run --quiet --collect --unit=links --property=StandardOutput=file:/run/links ip -ts monitor link"
    # A watch that failed has left its unit.
    site.on("hypervisor1", f"systemctl stop links 2>/dev/null; rm -f /run/links; {monitor}")
    time.sleep(2)  # what is lost later is compared with packets of these seconds
    began = time.monotonic()
    site.on("hypervisor1", command)
    flows = f"{FLOWS} 2>/dev/null | sed -n 's/.*flow_count=\\([0-9]*\\).*/\\1/p'"
    there = f'[ "$({flows})" -ge {before} ] && ! ovs-vsctl get open . other_config:flow-restore-wait'
    site.on("hypervisor1", f"for i in $(seq 300); do {{ {there}; }} >/dev/null 2>&1 && exit; sleep 0.2; done; exit 1")
    after = time.monotonic() - began
    output, _none = traffic.communicate(timeout=seconds + 120)
    result = json.loads(output.splitlines()[-1])
    udp = result["udp"]
    seen = Seen(
        sent=result["sent"],
        lost=result["sent"] - udp["received"],
        pause=udp["pause"],
        stream_lost=result["sent"] - result["received"],
        stream_pause=result["pause"],
        error=result["error"],
        flows_after=round(after, 1),
        tunnel_gap=tunnel_gap(site.on("hypervisor1", "systemctl stop links; cat /run/links")),
    )
    site.seen.append(f"{name}, {site.ports} other ports: {seen}")
    assert seen.tunnel_gap <= site.longest_tunnel_gap, seen
    return seen

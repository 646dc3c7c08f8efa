"""What guests notice of restarts, updates and outages of a hypervisor: packets that go through Geneve from one machine to another, in the kernel's datapath
and in userspace. Each event prints a line: lost datagrams of those sent every 10 ms, longest pauses, seconds until br-int has its flows again.

DATAPATH_PORTS=5000 adds as many ports to the guests' switch.
"""

from __future__ import annotations

import dataclasses
import json
import os
import pathlib
import re
import subprocess
import time
import typing as t

import pytest

pytestmark = pytest.mark.own_machines
ROOT = pathlib.Path(__file__).resolve().parents[2]
SANDBOX, MACHINES = (ROOT / "tests" / "testbed" / name for name in ("sandbox", "machines"))
STREAM = ROOT / "molecule" / "shared" / "files" / "stream.py"
NETWORK = "203.0.113"
STEP = 0.01
HANDLERS = "cat /proc/$(pidof ovs-vswitchd)/task/*/comm | grep -c ^handler"
FLOWS = "ovs-ofctl -O OpenFlow15 dump-aggregate br-int"
POSTINST = "/var/lib/dpkg/info"  # what dpkg runs at the end of an upgrade
NORTHBOUND = "ovn-nbctl --db=unix:/run/ovn/ovnnb_db.sock --no-leader-only"


class Site:
    """A sandbox of its own whose hypervisors have a datapath of `kind`, kernel or userspace."""

    def __init__(self, folder: pathlib.Path, suite: str, kind: str) -> None:
        self.suite, self.kind, self.folder = suite, kind, folder
        self.state = pathlib.Path("/var/tmp/c5c3-ovn-test-datapath")
        self.seen: list[str] = []  # a line for each event
        self._environment = {
            **{name: value for name, value in os.environ.items() if name != "KERNEL"},
            "SANDBOX_FOLDER": str(folder / "sandbox"),
            "SANDBOX_SUITE": suite,
            "MACHINES_STATE": str(self.state),
            "MACHINES_NAMESPACE": "tdatapath",
            "MACHINES_NETWORK": NETWORK,
            **({"KERNEL": "1"} if kind == "kernel" else {}),
        }

    def sandbox(self, verb: str) -> str:
        return self._run(str(SANDBOX), verb)

    def machines(self, *words: str) -> str:
        return self._run(str(MACHINES), *words)

    def playbook(self, name: str, *words: str) -> str:
        inventory = self.folder / "sandbox" / "inventory.yml"
        return self._run(str(ROOT / ".venv/bin/ansible-playbook"), "-i", str(inventory), f"c5c3.ovn.{name}", *words)

    def _run(self, *words: str) -> str:
        done = subprocess.run(words, env=self._environment, capture_output=True, text=True, timeout=900, check=False)
        logs = "".join(log.read_text()[-3000:] for log in sorted((self.folder / "sandbox").glob("*.log")))
        assert done.returncode == 0, f"{' '.join(words)}: {done.returncode}\n{done.stdout}{done.stderr}\n{logs}"
        return done.stdout

    def start(self, host: str, command: str) -> subprocess.Popen[str]:
        octet = {"central1": 11, "hypervisor1": 21, "hypervisor2": 22}[host]
        options = ["BatchMode=yes", "StrictHostKeyChecking=no", "UserKnownHostsFile=/dev/null", "LogLevel=ERROR"]
        words = ["ssh", "-i", str(self.state / "key"), *(f"-o{one}" for one in options), f"root@{NETWORK}.{octet}"]
        return subprocess.Popen([*words, command], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)

    def on(self, host: str, command: str) -> str:
        process = self.start(host, command)
        output, _none = process.communicate(timeout=300)
        assert process.returncode == 0, f"{command} on {host}: {output}"
        return output.strip()


@dataclasses.dataclass(frozen=True)
class Seen:
    """What the guests noticed: `sent` of both, `lost` datagrams, seconds of the longest pauses, seconds until br-int had its flows again."""

    sent: int
    lost: int
    pause: float
    stream_lost: int
    stream_pause: float
    error: str
    flows_after: float


@pytest.fixture(
    scope="module",
    params=[(suite, kind) for kind in ("kernel", "userspace") for suite in ("bookworm", "trixie")],
    ids="-".join,
)
def site(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> t.Iterator[Site]:
    if os.geteuid() != 0:
        pytest.skip("!!! NOT TESTED HERE: machines need root")
    site = Site(tmp_path_factory.mktemp("datapath"), *request.param)
    site.sandbox("down")  # of a run that was killed
    try:
        report = site.sandbox("up")
        assert "OVN is healthy" in report
        assert re.search(r"hypervisor1 -> hypervisor2: 5 of 5 answers.*geneve", report)
        for host in ("hypervisor1", "hypervisor2"):
            copy_stream(site, host)
        site.on(
            "hypervisor2", "systemd-run --quiet --unit=echo ip netns exec c5c3-ping python3 /run/stream.py serve 5001"
        )
        add_ports(site, int(os.environ.get("DATAPATH_PORTS", "0")))
        yield site
    finally:
        site.sandbox("down")
        with request.config.pluginmanager.getplugin("capturemanager").global_and_fixture_disabled():
            print(
                *("", *(f"{suite} {kind}: {line}" for suite, kind in [request.param] for line in site.seen)), sep="\n"
            )


def copy_stream(site: Site, host: str) -> None:
    site.on(host, f"cat >/run/stream.py <<'END'\n{STREAM.read_text()}\nEND\n")


def add_ports(site: Site, number: int) -> None:
    """Ports of the guests' switch without a guest: flows for each of them in every hypervisor."""
    for first in range(0, number, 500):
        words = [
            f"lsp-add c5c3-ping many{n} -- lsp-set-addresses many{n} '02:00:00:00:{n >> 8:02x}:{n & 255:02x} 198.19.{n >> 8}.{n & 255}'"
            for n in range(first, first + 500)
        ]
        site.on("central1", f"{NORTHBOUND} {' -- '.join(words)}")
    if number:
        site.on("central1", f"{NORTHBOUND} --wait=hv --timeout=120 sync")


def flow_count(site: Site) -> int:
    text = site.on("hypervisor1", FLOWS)
    return int(re.findall(r"flow_count=(\d+)", text)[0])


def watch(site: Site, name: str, command: str, seconds: float = 25) -> Seen:
    """Run the command on hypervisor1 under the guests' traffic, and print what they noticed."""
    before = flow_count(site)
    stream = f"python3 /run/stream.py send 198.18.0.2 5001 {seconds} {STEP}"
    site.on("hypervisor1", "ip netns exec c5c3-ping ping -q -c 3 -W 5 198.18.0.2")  # ARP, and the switches learn
    traffic = site.start("hypervisor1", f"ip netns exec c5c3-ping {stream}")
    time.sleep(2)
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
    )
    ports = os.environ.get("DATAPATH_PORTS", "2")
    site.seen.append(f"{ports} ports: {name}: {seen}")
    return seen


def test_a_rollout_and_the_run_after_it(site: Site) -> None:
    assert re.findall(r"ok, (\d+) changed", site.sandbox("up")) == ["0", "0"]
    datapath = "system@ovs-system" if site.kind == "kernel" else "netdev@ovs-netdev"
    assert datapath in site.on("hypervisor1", "ovs-appctl dpctl/show")


EVENTS = {
    "ovs-vswitchd restarts": "systemctl restart ovs-vswitchd",
    "Open vSwitch restarts": "systemctl restart openvswitch-switch",
    "Open vSwitch is upgraded": f"{POSTINST}/openvswitch-switch.postinst configure 1.0",
    "ovs-vswitchd is killed": "kill -9 $(pidof ovs-vswitchd)",
}


@pytest.mark.parametrize("event", EVENTS)
def test_open_vswitch_restarts_under_traffic(site: Site, event: str) -> None:
    """In the kernel, flows that are there go on; the stream goes on in both.

    The new process makes some of them again, and a host that is short of processors loses a packet more meanwhile, not each time. Without any flows, it is
    hundreds.
    """
    for _attempt in range(3):
        pid = site.on("hypervisor1", "pidof ovs-vswitchd")
        seen = watch(site, event, EVENTS[event], 30)
        assert site.on("hypervisor1", "pidof ovs-vswitchd") != pid, "nothing was restarted"
        assert (seen.stream_lost, seen.error) == (0, "")
        if site.kind == "userspace" or seen.lost <= 5:
            return
        assert seen.lost < 50
    pytest.fail(f"More than five packets were lost each time: {site.seen[-3:]}")


CONTROLLER_EVENTS = {
    "ovn-controller restarts": "systemctl restart c5c3-ovn-controller",
    "ovn-controller is upgraded": f"{POSTINST}/ovn-host.postinst configure 1.0; systemctl restart c5c3-ovn-controller",
    "ovn-controller is killed": "kill -9 $(pidof ovn-controller)",
}


@pytest.mark.parametrize("event", CONTROLLER_EVENTS)
def test_ovn_controller_restarts_under_traffic(site: Site, event: str) -> None:
    pid = site.on("hypervisor1", "pidof ovn-controller")
    seen = watch(site, event, CONTROLLER_EVENTS[event], 15)
    assert site.on("hypervisor1", "until pidof ovn-controller; do sleep 0.2; done") != pid, "nothing was restarted"
    assert (seen.stream_lost, seen.error) == (0, "")
    if site.kind == "kernel":
        assert seen.lost == 0


@pytest.mark.parametrize("verb", ["poweroff", "crash"])
def test_a_hypervisor_boots_and_answers(site: Site, verb: str) -> None:
    """Its guests are gone, as where nobody started instances: the ping plugs them again. ovs-vswitchd takes what the kernel does not know."""
    began = time.monotonic()
    site.machines(verb, "hypervisor1")
    site.machines("boot", "hypervisor1")
    booted = time.monotonic() - began
    if site.kind == "kernel":
        assert (
            site.on("hypervisor1", f"until pidof ovs-vswitchd >/dev/null; do sleep 0.2; done; sleep 1; {HANDLERS}")
            != "0"
        )
    text = site.playbook("ping", "-e", "ovn_ping_cleanup=false")
    assert re.search(r"hypervisor1 -> hypervisor2: 5 of 5 answers", text), text
    copy_stream(site, "hypervisor1")
    took = f"SSH after {booted:.1f} s, guests answer each other after {time.monotonic() - began:.1f} s"
    site.seen.append(f"{verb} and boot: {took}")


def test_absent_leaves_nothing_in_the_kernel(site: Site) -> None:
    """Neither a datapath nor a device of tunnels nor a flow; the other hypervisor goes on. Then it is a hypervisor again."""
    site.playbook("ping")  # which removes its guests
    site.playbook("hypervisors", "--limit", "hypervisor2", "-e", "ovn_hypervisor_state=absent")
    left = site.on("hypervisor2", "ip -o link; ovs-dpctl dump-dps 2>/dev/null || true")
    assert not re.search(r"ovs-system|genev_sys|br-int|ovs-netdev|system@", left), left
    assert "br-int" in site.on("hypervisor1", "ip -o link")

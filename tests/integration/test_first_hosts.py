"""docs/first-hosts.md as a new user goes through it: three machines and a control node that have nothing, and a healthy report at the end.

The machines are Debian with Python and an SSH server. They reach a mirror of packages (docs/compatibility.md) instead of Debian's archive.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import tempfile
import typing as t
from pathlib import Path

import pytest
from _empty_control_node import ControlNode, variables
from _package_mirror import Mirror
from cloud_machines import ssh_command

pytestmark = pytest.mark.own_machines
ROOT = Path(__file__).resolve().parents[2]
MACHINES = ROOT / "tests" / "testbed" / "machines"
NETWORK, NODES = "203.0.113", {"node1": 81, "node2": 82, "node3": 83}
NEUTRON = {"private-key": "neutron-key.pem", "certificate": "neutron-cert.pem", "ca-cert": "ca.pem"}
SUITE = os.environ.get("FIRST_HOSTS_SUITE", "bookworm")
# Debian's own units of OVN.
UNITS = [
    f"ovn-{name}.service" for name in ("central", "northd", "ovsdb-server-nb", "ovsdb-server-sb", "host", "controller")
]


class Hosts:
    """Three bare machines of their own, with the mirror as their only package source."""

    def __init__(self, folder: Path) -> None:
        self.state = folder / "state"
        self._environment = {
            **os.environ,
            "MACHINES_STATE": str(self.state),
            "MACHINES_NAMESPACE": f"fh{os.getpid()}",
            "MACHINES_NETWORK": NETWORK,
        }

    def __call__(self, *words: str) -> None:
        done = subprocess.run(
            [MACHINES, *words], env=self._environment, capture_output=True, check=False, text=True, timeout=900
        )
        assert done.returncode == 0, done.stdout + done.stderr

    def ssh(self, name: str, command: str) -> str:
        words = ssh_command(self.state, f"{NETWORK}.{NODES[name]}", command)
        done = subprocess.run(words, capture_output=True, check=False, text=True, timeout=60)
        assert done.returncode == 0, f"{name}: {command}: {done.stdout}{done.stderr}"
        return done.stdout

    def files(self) -> dict[str, str]:
        """Names, sizes and times of all files of each machine that a run could have written."""
        places = "/etc /usr /var /root /opt /srv -path /var/log -prune -o -path /var/lib/systemd -prune -o"
        return {name: self.ssh(name, rf"find {places} -type f -printf '%p %s %T@\n' | sort") for name in NODES}


@pytest.fixture
def place() -> t.Iterator[Path]:
    if os.geteuid() != 0:
        pytest.skip("!!! NOT TESTED HERE: the first hosts are machines that this test boots, that needs root")
    with tempfile.TemporaryDirectory(prefix="c5c3-first-", dir="/var/tmp", ignore_cleanup_errors=True) as folder:
        yield Path(folder)


@pytest.fixture
def hosts(place: Path) -> t.Iterator[Hosts]:
    machines = Hosts(place)
    try:
        machines("up", *(f"{name}={octet}:{SUITE}-bare" for name, octet in NODES.items()))
        yield machines
    finally:
        machines("down")


@pytest.fixture
def mirror(place: Path, hosts: Hosts) -> t.Iterator[Mirror]:
    """The machines' distribution in one folder, OVN and Open vSwitch in another one, which only the inventory knows."""
    mirror = Mirror(place / "mirror", f"{NETWORK}.1")
    try:
        packages = sorted((hosts.state / "node1" / "packages").glob("*.deb"))
        ours = [
            package for package in packages if re.match(r"ovn-|openvswitch-|python3-(openvswitch|ovs)", package.name)
        ]
        mirror.add("debian", [package for package in packages if package not in ours])
        mirror.add("ovn", ours)
        source = f"deb [signed-by=/etc/apt/keyrings/mirror.asc] {mirror.url}/debian ./"
        for name in NODES:
            hosts.ssh(name, f"cat >/etc/apt/keyrings/mirror.asc <<'END'\n{mirror.key}END")
            hosts.ssh(name, f"echo '{source}' >/etc/apt/sources.list")
        yield mirror
    finally:
        mirror.close()


@pytest.fixture
def control(place: Path) -> ControlNode:
    node = ControlNode(place / "home")
    node.install()
    return node


def test_from_three_empty_machines_to_a_healthy_report(hosts: Hosts, mirror: Mirror, control: ControlNode) -> None:
    # 1. The inventory of the page with other addresses. What is added is due to machines in containers (tests/testbed/README.md) and to the mirror.
    shutil.copytree(ROOT / "examples" / "three-machines" / "inventory", control.project / "inventory")
    inventory = control.project / "inventory" / "hosts.yml"
    inventory.write_text(inventory.read_text().replace("192.0.2.1", f"{NETWORK}.8"))
    added: dict[str, t.Any] = {
        "ansible_ssh_private_key_file": str(hosts.state / "key"),
        "ansible_ssh_common_args": "-o StrictHostKeyChecking=no -o UserKnownHostsFile=/dev/null -o LogLevel=ERROR",
        "ansible_control_path": f"{hosts.state}/ssh/%%r@%%h",
        "ovn_pki_ca_directory_is_kept": True,
        "ovn_hypervisor_datapath_type": "netdev",
        "ovn_hypervisor_underlay": {
            "bridge": "br-phy",
            "interface": "under0",
            "address": "{{ ovn_encapsulation_ip }}/24",
        },
        "ovn_packages_repository": {"uris": f"{mirror.url}/ovn", "suites": "./", "signed_by": mirror.key},
    }
    variables(control.project, added)
    answers = control.run("ansible", "-i", "inventory/hosts.yml", "all", "-m", "ansible.builtin.ping")
    assert answers.count('"ping": "pong"') == len(NODES)
    for name in NODES:
        lacking = 'for module in apt cryptography ovs; do ! python3 -c "import $module" 2>/dev/null || exit 1; done; ! command -v ovsdb-server'
        hosts.ssh(name, lacking)

    # 2. Look. Nothing is written, and no package is fetched.
    assert "Precheck ok: 3 hosts, nothing found" in control.play("precheck")
    before, asked = hosts.files(), len(mirror.requested)
    looked = control.play("site", "--check", "--diff")
    assert "ovn-central" in looked
    assert hosts.files() == before
    assert not [path for path in mirror.requested[asked:] if path.endswith(".deb")]

    # 3. Do it.
    done = control.play("site")
    assert_healthy(done)
    fetched = {path.rpartition("/")[2].partition("_")[0] for path in mirror.requested if path.endswith(".deb")}
    assert {"ovn-central", "ovn-host", "openvswitch-switch", "python3-apt", "python3-cryptography"} <= fetched
    assert_only_ours_run(hosts)
    again = control.play("site")
    assert_healthy(again)
    assert set(control.changed) >= set(NODES)
    assert set(control.changed.values()) == {0}, again

    # 4. Is it so? Another heartbeat, and a ping through the tunnels.
    assert_healthy(control.play("verify"))
    pinged = control.play("ping")
    assert re.search(r"node\d -> node\d: 5 of 5 answers.*geneve tunnel", pinged), pinged

    # 5. A certificate for Neutron, with which the databases answer.
    variables(control.project, {**added, "ovn_pki_clients": ["neutron"]})
    control.play("central")
    # One host issues it. Each has the list of issued certificates, from which the report knows when one ends.
    assert {name: control.changed[name] for name in NODES} == {"node1": 2, "node2": 1, "node3": 1}
    clients = control.project / "inventory" / "ovn-pki.cfg" / "clients"
    tls = [f"--{option}={clients}/{file}" for option, file in NEUTRON.items()]
    endpoints = ",".join(f"ssl:{NETWORK}.{octet}:6641" for octet in NODES.values())
    asked_as_neutron = control.run(
        "ovn-nbctl", "--timeout=20", f"--db={endpoints}", *tls, "get", "NB_Global", ".", "name"
    )
    assert asked_as_neutron.strip() == '""'
    assert_only_ours_run(hosts)


def assert_healthy(output: str) -> None:
    assert "OVN is healthy" in output, output[-6000:]
    for line in (
        "Northbound +healthy +.*3/3 members",
        "Southbound +healthy +.*3/3 members",
        "Chassis +healthy +3/3 alive",
    ):
        assert re.search(line, output), f"{line} is not in the report:\n{output[-6000:]}"


def assert_only_ours_run(hosts: Hosts) -> None:
    """Debian's units are masked, and have not run: what they would have created is a standalone database."""
    for name in NODES:
        enabled = hosts.ssh(name, f"systemctl is-enabled {' '.join(UNITS)} || true").split()
        assert enabled == ["masked"] * len(UNITS), dict(zip(UNITS, enabled))
        selected = " ".join(f"--unit={unit}" for unit in UNITS)
        assert hosts.ssh(name, f"journalctl --quiet --output=cat {selected}") == "", f"{name} has run units of Debian"
        assert "Started" in hosts.ssh(name, "journalctl --quiet --output=cat --unit=c5c3-ovn-northbound.service")
        databases = hosts.ssh(name, "find /etc/ovn /var/lib/ovn -name '*.db'").split()
        assert len(databases) == 2, databases
        for database in databases:
            hosts.ssh(name, f"ovsdb-tool db-is-clustered {database}")

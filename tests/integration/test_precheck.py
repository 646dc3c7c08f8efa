"""c5c3.ovn.precheck on hosts that are network namespaces on one switch: what it finds there is really there."""

from __future__ import annotations

import dataclasses
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import typing as t

import pytest
from _vswitch import Vswitch
from conftest import Daemon, listens, run, until

pytestmark = pytest.mark.timeout(300)

SWITCH = "switch"
NAMES = {"db1": 11, "db2": 12, "db3": 13, "compute1": 21, "compute2": 22}
AHEAD = """\
import time
_now = time.time
time.time = lambda: _now() + 3600
"""


@dataclasses.dataclass
class Network:
    """A namespace for each host, and one with the switch between them. The interpreter of a host enters its namespace."""

    directory: pathlib.Path
    prefix: str

    def namespace(self, name: str) -> str:
        return f"{self.prefix}-{name}"

    def inside(self, name: str, *command: str) -> str:
        return run("ip", "netns", "exec", self.namespace(name), *command)

    def set_up(self) -> None:
        for name in (SWITCH, *NAMES):
            run("ip", "netns", "add", self.namespace(name))
            self.inside(name, "ip", "link", "set", "lo", "up")
        self.inside(SWITCH, "ip", "link", "add", "br0", "type", "bridge")
        self.inside(SWITCH, "ip", "link", "set", "br0", "up")
        for name, number in NAMES.items():
            peer = ["peer", "name", "eth0", "netns", self.namespace(name)]
            self.inside(SWITCH, "ip", "link", "add", name, "type", "veth", *peer)
            self.inside(SWITCH, "ip", "link", "set", name, "master", "br0", "up")
            self.inside(name, "ip", "address", "add", f"192.0.2.{number}/24", "dev", "eth0")
            self.inside(name, "ip", "link", "set", "eth0", "up")
            self.interpreter(name)

    def interpreter(self, name: str, *, before: str = "", python_path: str = "") -> None:
        """The mounts of `before` are seen by nobody else."""
        path = self.directory / f"python-{name}"
        inner = f'{before} PYTHONPATH={python_path} exec {sys.executable} "$@"'
        path.write_text(f"#!/bin/sh\nexec ip netns exec {self.namespace(name)} sh -c '{inner}' sh \"$@\"\n")
        path.chmod(0o755)

    def tear_down(self) -> None:
        for name in (SWITCH, *NAMES):
            subprocess.run(["ip", "netns", "delete", self.namespace(name)], check=False)


@pytest.fixture
def network(short_dir: pathlib.Path) -> t.Iterator[Network]:
    if os.geteuid() != 0 or shutil.which("ip") is None:
        pytest.skip("NOT TESTED: network namespaces need root and ip(8)")
    made = Network(short_dir, f"pre{os.getpid()}")
    try:
        made.set_up()
        yield made
    finally:
        made.tear_down()


Variables = dict[str, dict[str, t.Any]]


@dataclasses.dataclass
class Done:
    code: int
    output: str

    @property
    def lines(self) -> dict[str, str]:
        """What was found: code and object to the rest of the line."""
        found = re.findall(r"^([a-z_]+ [^:\n]+): ([^\n]+\.)$", self.output, re.MULTILINE)
        return {key: text for key, text in found if not key.startswith(("task ", "ok ", "fatal "))}


Play = t.Callable[..., Done]


@pytest.fixture
def play(collection_path: str, network: Network) -> Play:
    """`play(db1={...})`: the playbook with these variables of hosts."""

    def execute(*arguments: str, playbook: str = "precheck", **changes: dict[str, t.Any]) -> Done:
        def host(name: str) -> dict[str, t.Any]:
            interpreter = str(network.directory / f"python-{name}")
            own = {"ovn_address": f"192.0.2.{NAMES[name]}", "ansible_python_interpreter": interpreter}
            return {**own, **changes.get(name, {})}

        variables = {
            "ansible_connection": "local",
            "ansible_become": False,
            # The kernel of the test machine may lack openvswitch and geneve.
            "ovn_hypervisor_datapath_type": "netdev",
            # No archive is in this network: what is not installed could not be fetched.
            **{f"ovn_{role}_distribution": {"packages": ["dpkg"]} for role in ("central", "hypervisor")},
        }
        groups = {
            "ovn_central": {"hosts": {name: host(name) for name in NAMES if name.startswith("db")}},
            "ovn_hypervisors": {"hosts": {name: host(name) for name in NAMES if name.startswith("compute")}},
        }
        inventory = network.directory / "hosts.yml"
        inventory.write_text(json.dumps({"all": {"vars": variables, "children": groups}}))
        done = subprocess.run(
            [
                str(pathlib.Path(sys.executable).with_name("ansible-playbook")),
                "-i",
                str(inventory),
                f"c5c3.ovn.{playbook}",
                *arguments,
            ],
            capture_output=True,
            text=True,
            timeout=240,
            check=False,
            env={
                **os.environ,
                "ANSIBLE_COLLECTIONS_PATH": collection_path,
                "ANSIBLE_LOCAL_TEMP": str(network.directory / "tmp"),
                "ANSIBLE_REMOTE_TEMP": str(network.directory / "tmp"),
                "ANSIBLE_NOCOLOR": "1",
                "ANSIBLE_FORKS": "5",
            },
        )
        return Done(done.returncode, done.stdout + done.stderr)

    return execute


def test_nothing_is_found_where_nothing_is_wrong(play: Play) -> None:
    done = play("--check")
    assert done.code == 0, done.output
    assert "Precheck ok: 5 hosts, nothing found" in done.output
    assert "changed=1" not in done.output
    measured = done.output.partition("Measure this machine")[2].partition("TASK")[0]
    assert sorted(re.findall(r"^ok: \[(\w+)\]", measured, re.MULTILINE)) == sorted(NAMES)


def other_database(network: Network, name: str) -> Daemon:
    """A Northbound server that is not ours, on the port that ours will need. Only its file says what it serves."""
    folder = network.directory / name
    folder.mkdir()
    run("ovsdb-tool", "create", str(folder / "data"), "/usr/share/ovn/ovn-nb.ovsschema")
    server = Daemon(
        [
            *("ip", "netns", "exec", network.namespace(name)),
            *("ovsdb-server", "-vconsole:off", f"--unixctl={folder}/ctl", f"--remote=punix:{folder}/sock"),
            *("--log-file", "--remote=ptcp:6641", str(folder / "data")),
        ],
        folder / "out",
    )
    until(lambda: listens(folder / "sock"), "the other database")
    return server


def other_program(network: Network, name: str, kind: str, port: int) -> Daemon:
    """A program that is no daemon of Open vSwitch or OVN, on this port: of TCP if `kind` is STREAM, of UDP if it is DGRAM."""
    listen = "s.listen();" if kind == "STREAM" else ""
    code = f"import signal, socket; s = socket.socket(type=socket.SOCK_{kind}); s.bind(('', {port})); {listen} signal.pause()"
    command = ["ip", "netns", "exec", network.namespace(name), sys.executable, "-c", code]
    program = Daemon(command, network.directory / f"{kind}-{port}")
    until(lambda: str(port) in network.inside(name, "ss", "-Hltun"), f"a program at port {port} of {name}")
    return program


def test_all_findings_come_at_once(play: Play, network: Network, daemons: None) -> None:
    clock = network.directory / "ahead"
    clock.mkdir()
    (clock / "sitecustomize.py").write_text(AHEAD)
    network.interpreter("db1", python_path=str(clock))
    network.inside("db1", "ip", "route", "add", "unreachable", "192.0.2.13")
    other_database(network, "db2")
    other_program(network, "db2", "STREAM", 6642)
    # The switch loses what is longer, so small packets come back and full ones do not.
    network.inside(SWITCH, "ip", "link", "set", "compute1", "mtu", "1400")
    network.inside("compute2", "ip", "link", "set", "eth0", "mtu", "1450")
    done = play(
        db3={
            "ovn_central_database_directory": "/dev/shm/ovn",
            "ovn_central_distribution": {"packages": ["no-such-package"]},
        },
        db2={"ovn_address": "192.0.2.99"},
        compute1={"ovn_system_id": "compute2"},
    )
    assert done.code == 2, done.output
    found = done.lines
    assert "ovsdb-server in process" in found["foreign_ovn db2"]
    # The port of that database is no finding of its own.
    assert re.match(r"TCP port 6642 is held by python[\d.]* \(process \d+", found["port_taken db2"])
    assert "have the same system id compute2" in found["duplicate_system_id compute1, compute2"]
    assert re.search(r"its clock is 3(59\d|60\d) s or more ahead of", found["clock_difference db1"])
    assert "tmpfs mounted at /dev/shm is empty after a reboot" in found["file_system db3 /dev/shm/ovn"]
    assert "no interface of the host has this address" in found["address_not_local db2 192.0.2.99"]
    assert "cannot reach db3 at 192.0.2.13, TCP port 6641, 6642, 6643, 6644, 16642 (" in found["peer_unreachable db1"]
    assert "its package index does not have no-such-package" in found["packages_missing db3"]
    assert "no archive answers: " in found["archive_unreachable db3"]
    assert "MTU 1450 of eth0 carries no packets of guests with MTU 1442" in found["mtu_too_small compute2"]
    assert "do not come back from compute2 (192.0.2.22), small ones do" in found["path_mtu_too_small compute1"]
    # The route that db1 does not have is missing for its answers to db3, too.
    assert (
        "cannot reach db1 at 192.0.2.11, TCP port 6641, 6642, 6643, 6644, 16642 (no answer)"
        in found["peer_unreachable db3"]
    )
    assert len(found) == 12, sorted(found)


def test_own_daemons_are_no_finding(play: Play, network: Network, daemons: None) -> None:
    """The same faults on a member and a chassis that are there are the matter of the roles."""
    units = network.directory / "units"
    units.mkdir()
    for name in ("northbound", "controller"):
        (units / f"c5c3-ovn-{name}.service").touch()
    for name in ("db2", "compute2"):
        network.interpreter(name, before=f"mount --bind {units} /etc/systemd/system;")
    other_database(network, "db2")
    network.inside("compute2", "ip", "link", "set", "eth0", "mtu", "1400")
    done = play(
        db2={
            "ovn_central_database_directory": "/dev/shm/ovn",
            "ovn_central_distribution": {"packages": ["no-such-package"]},
        }
    )
    # compute1 is new and cannot send full packets to compute2.
    assert list(done.lines) == ["path_mtu_too_small compute1"], done.output
    done = play("-e", "ovn_precheck_ignore=path_mtu_too_small,disk_space", "--tags", "precheck", playbook="site")
    assert done.code == 0, done.output
    assert "Precheck ok: 5 hosts, 1 ignored" in done.output
    assert "Ignored: path_mtu_too_small compute1" in done.output


@pytest.fixture
def run_directory() -> t.Iterator[pathlib.Path]:
    with tempfile.TemporaryDirectory(prefix="c5c3-ovn-test-", dir="/run") as name:
        yield pathlib.Path(name)


def test_host_that_comes_back_under_another_name_is_found(
    play: Play, run_directory: pathlib.Path, daemons: None
) -> None:
    """Its former row has its tunnel address. The role would refuse that after it had issued a certificate and written a name."""
    run("ovsdb-tool", "create", str(run_directory / "ovnsb_db.db"), "/usr/share/ovn/ovn-sb.ovsschema")
    socket = run_directory / "ovnsb_db.sock"
    command = ["ovsdb-server", "-vconsole:off", f"--unixctl={run_directory}/ctl", f"--remote=punix:{socket}"]
    server = Daemon([*command, str(run_directory / "ovnsb_db.db")], run_directory / "out")
    until(lambda: listens(socket), "the Southbound server")
    sbctl = ("ovn-sbctl", f"--db=unix:{socket}")
    run(*sbctl, "chassis-add", "former", "geneve", "192.0.2.21")
    own = {"ovn_central_distribution": {"packages": ["dpkg"], "run_directory": str(run_directory)}}
    for arguments in ((), ("--limit", "compute1")):
        done = play(*arguments, db1=own)
        assert done.code == 2, done.output
        assert list(done.lines) == ["chassis_clash compute1"], done.output
        assert '192.0.2.21 (geneve) belongs to chassis "former"' in done.lines["chassis_clash compute1"]
    run(*sbctl, "chassis-del", "former", "--", "chassis-add", "compute2", "geneve", "192.0.2.9")
    run(*sbctl, "set", "Chassis", "compute2", "hostname=another")
    found = play(db1=own).lines
    assert 'already has a chassis "compute2" of host another' in found["chassis_clash compute2"]
    assert play(db1=own, compute2={"ovn_hypervisor_permit": ["takeover"]}).code == 0
    server.kill()


def test_an_open_vswitch_of_others(play: Play, network: Network, daemons: None) -> None:
    """That of a network plugin in the network of compute1: a finding, or what the chassis uses."""
    with Vswitch(network.directory, "plugin", namespace=network.namespace("compute1")) as theirs:
        pid = theirs.start_vswitchd().pid
        theirs.vsctl("add-br", "br-plugin", "--", "set", "Bridge", "br-plugin", "datapath_type=netdev")
        # It writes once more after it has done what it was told.
        version = ("get", "Bridge", "br-plugin", "datapath_version")
        until(lambda: theirs.vsctl(*version) == '"<built-in>"', "the last write of ovs-vswitchd")
        before = (theirs.directory / "conf.db").read_bytes()
        found = play().lines
        assert list(found) == ["foreign_open_vswitch compute1"]
        assert f"ovs-vswitchd (pid {pid}, " in found["foreign_open_vswitch compute1"]
        assert "bridges br-plugin" in found["foreign_open_vswitch compute1"]
        use = {"ovn_hypervisor_openvswitch": "existing"}
        done = play(compute1={**use, "ovn_hypervisor_openvswitch_database": theirs.endpoint})
        assert done.code == 0, done.output
        assert list(play(compute1=use).lines) == ["open_vswitch_missing compute1"]
        assert (theirs.directory / "conf.db").read_bytes() == before
        theirs.device("eth7")
        theirs.vsctl("add-port", "br-plugin", "eth7")
        theirs.vsctl("set", "Open_vSwitch", ".", "external_ids:ovn-bridge-mappings=physnet1:br-plugin")
        link = ("get", "Interface", "eth7", "link_state")
        until(lambda: theirs.vsctl(*link) == "down", "the link state")
        before = (theirs.directory / "conf.db").read_bytes()
        found = play(compute1={**use, "ovn_hypervisor_openvswitch_database": theirs.endpoint}).lines
        assert list(found) == ["uplink_down compute1"]
        cause = (
            "bridge br-plugin of physical network physnet1 has no port that passes packets: eth7 is down (admin_state)"
        )
        assert cause in found["uplink_down compute1"]
        assert (theirs.directory / "conf.db").read_bytes() == before


def test_a_tunnel_port_of_others(play: Play, network: Network) -> None:
    """Of a device of the kernel, which not every kernel has, the unit tests know what ip(8) prints."""
    other = other_program(network, "compute1", "DGRAM", 6081)
    done = play("-e", "ovn_precheck_ignore=kernel_module", compute1={"ovn_hypervisor_datapath_type": "system"})
    other.kill()
    assert done.code == 2, done.output
    assert re.match(
        r"UDP port 6081 of geneve tunnels is held by python[\d.]* \(process \d+",
        done.lines["tunnel_port_taken compute1"],
    )


def test_paths_of_ipv6(play: Play, network: Network) -> None:
    variables = {}
    for name in ("compute1", "compute2"):
        address = f"2001:db8::{NAMES[name]}"
        network.inside(name, "ip", "address", "add", f"{address}/64", "dev", "eth0", "nodad")
        variables[name] = {"ovn_encapsulation_ip": address.upper()}
    assert "Precheck ok: 2 hosts, nothing found" in play("--limit", "compute1,compute2", **variables).output
    network.inside("compute2", "ip", "link", "set", "eth0", "mtu", "1400")
    done = play("--limit", "compute1,compute2", **variables)
    assert set(done.lines) == {"mtu_too_small compute2", "path_mtu_too_small compute1"}, done.output
    cut = "packets of 1500 octets, as guests with MTU 1422 need them, do not come back from compute2 (2001:db8::22)"
    assert done.lines["path_mtu_too_small compute1"].startswith(cut)


def test_a_cluster_of_hypervisors_that_cannot_be_asked(play: Play, network: Network) -> None:
    missing = str(network.directory / "kubeconfig")
    done = play(compute2={"ovn_backend": "kubernetes", "ovn_kubeconfig": missing})
    assert done.code == 2, done.output
    ((found, text),) = done.lines.items()
    assert found.startswith("api_credentials compute2 "), done.output
    assert missing in found + text


def test_hosts_that_are_down(play: Play) -> None:
    """A run needs every central host; a hypervisor that is down holds up no other one."""
    gone = {"ansible_connection": "ssh", "ansible_host": "127.0.0.1", "ansible_port": 1}
    done = play(compute2=gone)
    assert done.code == 0, done.output
    assert "Precheck ok: 4 hosts, nothing found" in done.output
    assert "Not checked: compute2, unreachable" in done.output
    done = play("--check", playbook="site", db1=gone)
    assert done.code == 2, done.output
    assert "Connection refused. Make it reachable" in done.lines["host_unreachable db1"]
    assert "PLAY [Roll out the control plane]" not in done.output
    assert "PLAY [Roll out the hypervisors]" not in done.output


def test_an_unknown_code_is_an_error_before_anything_is_measured(play: Play) -> None:
    done = play("-e", "ovn_precheck_ignore=port_token")
    assert done.code == 2, done.output
    assert (
        "ovn_precheck_ignore has port_token, which is no code of a finding. Use codes of these: central_count,"
        in done.output
    )
    assert "PLAY RECAP" in done.output
    assert "ok: [db1]" not in done.output.partition("Measure this machine")[2]


def test_a_limited_run_measures_its_hosts_alone(play: Play, network: Network) -> None:
    network.inside("db1", "ip", "link", "set", "eth0", "mtu", "1000")
    done = play("--limit", "compute1", compute2={"ovn_system_id": "compute1"})
    assert done.code == 2, done.output
    assert list(done.lines) == ["duplicate_system_id compute1, compute2"], done.output
    assert "Precheck: 1 host, 1 finding" in done.output
    # A central host outside of the run is asked for its version, and not needed for anything.
    assert "Read version and chassis from a central host outside of this run" in done.output
    gone = {"ansible_connection": "ssh", "ansible_host": "127.0.0.1", "ansible_port": 1}
    done = play("--limit", "compute1", db1=gone)
    assert done.code == 0, done.output
    assert "Precheck ok: 1 host, nothing found" in done.output
    assert "[compute1 -> db1" in done.output

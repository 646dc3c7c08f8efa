"""The relay of the Southbound database: what the key of a chassis opens, tried with real clients, and how it takes over the port of chassis."""

from __future__ import annotations

import dataclasses
import json
import pathlib
import signal
import socket
import ssl
import subprocess
import threading
import time
import typing as t

import pytest
from _pki import Pki, TlsPaths
from _relay import Relay
from conftest import Daemon, MakeCluster, Member, RunModule, next_address, run, until, within

from ansible_collections.c5c3.ovn.plugins.module_utils._base.deadline import Deadline
from ansible_collections.c5c3.ovn.plugins.module_utils._base.errors import OvnError
from ansible_collections.c5c3.ovn.plugins.module_utils._daemons.central_host import ask_certificate
from ansible_collections.c5c3.ovn.plugins.module_utils._hypervisors.certificates import pair_of_chassis
from ansible_collections.c5c3.ovn.plugins.module_utils._hypervisors.southbound import delete_chassis
from ansible_collections.c5c3.ovn.plugins.module_utils._ovsdb.endpoint import is_listening, parse_endpoint
from ansible_collections.c5c3.ovn.plugins.module_utils._ovsdb.tls_files import TlsFiles
from ansible_collections.c5c3.ovn.plugins.module_utils._pki.signing import SigningAuthority

SCHEMA_FILE = "/usr/share/ovn/ovn-sb.ovsschema"


@dataclasses.dataclass
class ControlPlane:
    """One member of each database, northd and the relay; `chassis` is the pair of the chassis c1, signed by an authority of its own."""

    northbound: Member
    southbound: Member
    relay: Relay
    northd: Daemon
    northd_control: str
    central: Pki
    chassis_authority: Pki
    chassis: TlsPaths
    port: str  # where chassis connect

    def as_chassis(self, *command: str, endpoint: str = "") -> subprocess.CompletedProcess[str]:
        """Run a client with the key of c1 and the bundle of a hypervisor, which has the central CA alone."""
        keys = ["-p", self.chassis.private_key, "-c", self.chassis.certificate, "-C", self.central.ca_certificate]
        words = [endpoint or self.port if word == "ENDPOINT" else word for word in command]
        return subprocess.run([words[0], *keys, *words[1:]], capture_output=True, text=True, timeout=30, check=False)

    def sbctl(self, *arguments: str) -> str:
        return run("ovn-sbctl", "--no-leader-only", f"--db={self.southbound.socket}", *arguments)


@pytest.fixture
def plane(
    raft_cluster: MakeCluster, pki: Pki, make_pki: t.Callable[[str], Pki], short_dir: pathlib.Path
) -> t.Iterator[ControlPlane]:
    northbound = raft_cluster(1, "northbound", tls=pki).members[0]
    cluster = raft_cluster(0, "southbound", tls=pki)
    member = cluster.new_member()
    host = member.endpoint.split(":")[1]
    member.endpoint = f"ssl:{host}:16642"
    member.create()
    member.start()
    authority = make_pki("chassis")
    assert member.tls is not None
    relay = Relay(short_dir / "relay", [member.endpoint], f"pssl:6642:{host}", member.tls, [pki, authority])
    control = str(short_dir / "northd.ctl")
    northd = Daemon(
        [
            *("ovn-northd", "-vconsole:off", "--no-chdir", f"--unixctl={control}"),
            *(f"--ovnnb-db={northbound.socket}", f"--ovnsb-db={member.socket}"),
        ],
        short_dir / "northd.out",
    )
    pair = authority.issue("c1", usages=("client",))
    ready = ControlPlane(northbound, member, relay, northd, control, pki, authority, pair, f"ssl:{host}:6642")
    try:
        relay.start()
        until(lambda: ready.sbctl("--bare", "list", "RBAC_Role").strip(), "northd to write its rules", 20)
        yield ready
    finally:
        relay.kill()
        northd.kill()


SBCTL = ("ovn-sbctl", "--no-leader-only", "--timeout=5", "--db", "ENDPOINT")


def test_a_chassis_registers_and_changes_its_own_rows_alone(plane: ControlPlane) -> None:
    plane.sbctl("chassis-add", "c2", "geneve", "192.0.2.2")
    registered = plane.as_chassis(*SBCTL, "chassis-add", "c1", "geneve", "192.0.2.1")
    assert registered.returncode == 0, registered.stderr
    assert "192.0.2.1" in plane.sbctl("show")
    denied = {
        "another chassis is deleted": ("chassis-del", "c2"),
        "the settings of all are changed": ("set", "SB_Global", ".", "options:x=y"),
        "a listener is added": ("set-connection", "ptcp:7000"),
        "the rules themselves are changed": ("set", "RBAC_Role", "ovn-controller", "name=other"),
    }
    for attack, command in denied.items():
        answer = plane.as_chassis(*SBCTL, *command)
        assert answer.returncode != 0, attack
        assert "permission error" in answer.stderr, (attack, answer.stderr)
    assert set(plane.sbctl("--bare", "--columns=name", "list", "Chassis").split()) == {"c1", "c2"}


def test_a_run_removes_a_chassis_that_is_gone_with_the_rights_of_that_chassis(
    plane: ControlPlane, tmp_path: pathlib.Path
) -> None:
    """Where each node has a certificate of its own, relays let nobody else delete its rows; the run has the key of the CA."""
    assert plane.as_chassis(*SBCTL, "chassis-add", "c1", "geneve", "192.0.2.1").returncode == 0
    plane.sbctl("chassis-add", "c2", "geneve", "192.0.2.2")
    endpoints = [parse_endpoint(plane.port)]
    signer = SigningAuthority(*plane.chassis_authority.as_texts(), "", 365)
    with pair_of_chassis(signer, "c2", str(tmp_path)) as pair:
        paths = [str(path) for path in pair if path]
        tls = pair._replace(ca_certificate=plane.central.ca_certificate)
        with pytest.raises(OvnError, match="permission error"):
            delete_chassis(["c1"], endpoints, tls, Deadline(10))
        delete_chassis(["c2"], endpoints, tls, Deadline(10))
    until(lambda: plane.sbctl("--bare", "--columns=name", "list", "Chassis").split() == ["c1"], "c2 to go")
    assert plane.sbctl("--bare", "--columns=chassis_name", "list", "Encap").split() == ["c1"]
    assert all(path.startswith(str(tmp_path)) for path in paths), (
        "what a module that was killed leaves is removed by Ansible"
    )
    assert not any(pathlib.Path(path).exists() for path in paths)


def test_the_key_of_a_chassis_opens_no_member(plane: ControlPlane) -> None:
    """Northbound, Southbound without a role, and both Raft ports: the handshake fails, because their servers do not trust its CA."""
    ports = {
        "Northbound": plane.northbound.endpoint,
        "Southbound without a role": plane.southbound.endpoint,
        "Raft of Northbound": plane.northbound.address,
        "Raft of Southbound": plane.southbound.address,
    }
    context = ssl.create_default_context(cafile=plane.central.ca_certificate)
    context.check_hostname = False
    context.load_cert_chain(plane.chassis.certificate, plane.chassis.private_key)
    for what, endpoint in ports.items():
        _scheme, host, port = endpoint.split(":")
        with socket.create_connection((host, int(port)), 5) as raw:
            assert "UNKNOWN_CA" in _refusal(context, raw), what
    answer = plane.as_chassis(*SBCTL, "show", endpoint=plane.southbound.endpoint)
    assert "database connection failed" in answer.stderr


def test_a_chassis_cannot_change_how_the_relay_listens(plane: ControlPlane) -> None:
    row = {"op": "insert", "table": "Connection", "row": {"target": "pssl:7000:127.0.0.1"}, "uuid-name": "c"}
    link = {
        "op": "mutate",
        "table": "Config",
        "where": [],
        "mutations": [["connections", "insert", ["named-uuid", "c"]]],
    }
    answer = plane.as_chassis(
        "ovsdb-client", "-t", "5", "transact", "ENDPOINT", json.dumps(["Local_Config", row, link])
    )
    assert "permission error" in answer.stdout
    answer = plane.as_chassis("ovsdb-client", "-t", "5", "convert", "ENDPOINT", SCHEMA_FILE)
    assert "only the root role may convert" in answer.stderr
    listening = run("ovs-appctl", "-t", plane.relay.control_socket, "ovsdb-server/list-remotes")
    assert listening.split() == ["db:Local_Config,Config,connections", f"punix:{plane.relay.socket}"]


def test_a_chassis_cannot_take_the_lock_of_northd(plane: ControlPlane) -> None:
    """Whoever has a connection to a member may steal it, role or not. Locks of a relay are its own (ovsdb/lock.c)."""
    until(lambda: "active" in run("ovs-appctl", "-t", plane.northd_control, "status"), "northd to be active", 10)
    thief = [
        *("ovsdb-client", "-p", plane.chassis.private_key, "-c", plane.chassis.certificate),
        *("-C", plane.central.ca_certificate, "-t", "4", "steal", plane.port, "ovn_northd"),
    ]
    stolen = subprocess.run(thief, capture_output=True, text=True, timeout=20, check=False)
    assert json.loads(stolen.stdout.split("\n")[0]) == {"locked": True}
    assert "active" in run("ovs-appctl", "-t", plane.northd_control, "status")


def test_nobody_believes_a_server_with_the_certificate_of_a_chassis(
    plane: ControlPlane, short_dir: pathlib.Path
) -> None:
    """Neither a hypervisor, which has the central CA alone, nor the relay, which has both: the certificate is that of a client."""
    host, database = next_address(), short_dir / "false.db"
    run("ovsdb-tool", "create", str(database), SCHEMA_FILE)
    false = Daemon(
        [
            *(
                "ovsdb-server",
                "-vconsole:off",
                "--no-chdir",
                f"--unixctl={short_dir}/false.ctl",
                f"--remote=pssl:16642:{host}",
            ),
            *("-p", plane.chassis.private_key, "-c", plane.chassis.certificate, "-C", plane.central.ca_certificate),
            str(database),
        ],
        short_dir / "false.out",
    )
    try:
        until(lambda: is_listening(host, 16642, 1), "the false server to listen")
        for bundle in (plane.central.ca_certificate, plane.relay.settings.tls.ca_certificate):
            central = plane.central.issue("neutron")
            keys = ["-p", central.private_key, "-c", central.certificate, "-C", str(bundle)]
            command = ["ovsdb-client", *keys, "-t", "5", "list-dbs", f"ssl:{host}:16642"]
            answer = subprocess.run(command, capture_output=True, text=True, timeout=20, check=False)
            assert answer.returncode != 0
            assert "certificate verify failed" in answer.stderr
    finally:
        false.kill()


def test_a_chassis_waits_for_a_relay_that_lost_its_members(plane: ControlPlane) -> None:
    """Reads go on from the copy; what is written meanwhile arrives when the member is there again."""
    assert plane.as_chassis(*SBCTL, "chassis-add", "c1", "geneve", "192.0.2.1").returncode == 0
    plane.southbound.freeze()
    try:
        assert "192.0.2.1" in plane.as_chassis(*SBCTL, "show").stdout
        assert plane.as_chassis(*SBCTL, "set", "Chassis", "c1", "external_ids:lost=yes").returncode != 0
    finally:
        plane.southbound.thaw()
    until(
        lambda: plane.as_chassis(*SBCTL, "set", "Chassis", "c1", "external_ids:back=yes").returncode == 0,
        "a write through the relay",
        within(30),
    )


def _refusal(context: ssl.SSLContext, raw: socket.socket) -> str:
    """Why the server refuses the certificate; empty if it does not."""
    try:
        with context.wrap_socket(raw) as connection:
            connection.settimeout(5)
            connection.recv(1)  # TLS 1.3 tells a client only now that its certificate was refused
    except ssl.SSLError as e:
        return str(e)
    return ""


class TestTakingOver:
    """A member serves chassis itself, as every installation did before there was a relay."""

    @pytest.fixture
    def member(self, raft_cluster: MakeCluster, pki: Pki) -> Member:
        cluster = raft_cluster(0, "southbound", tls=pki)
        member = cluster.new_member()
        member.endpoint = f"ssl:{member.endpoint.split(':')[1]}:26642"  # of the test alone
        member.create()
        member.start(options=["--remote=db:OVN_Southbound,SB_Global,connections"])
        self.sbctl(member, "init")
        host = self.host(member)
        rows = [("chassis", f"pssl:6642:{host}", "ovn-controller"), ("others", f"pssl:16642:{host}", "")]
        for name, target, role in rows:
            create = ["--", f"--id=@{name}", "create", "Connection", f'target="{target}"', f'role="{role}"']
            self.sbctl(member, *create, "--", "add", "SB_Global", ".", "connections", f"@{name}")
        until(lambda: is_listening(host, 6642, 1) and is_listening(host, 16642, 1), "both listeners", 10)
        return member

    @pytest.fixture
    def relay(
        self, member: Member, pki: Pki, make_pki: t.Callable[[str], Pki], short_dir: pathlib.Path
    ) -> t.Iterator[Relay]:
        assert member.tls is not None
        host = self.host(member)
        relay = Relay(
            short_dir / "relay", [f"ssl:{host}:16642"], f"pssl:6642:{host}", member.tls, [pki, make_pki("chassis")]
        )
        yield relay
        relay.kill()

    @staticmethod
    def host(member: Member) -> str:
        return member.address.split(":")[1]

    @staticmethod
    def sbctl(member: Member, *arguments: str) -> str:
        return run("ovn-sbctl", "--no-leader-only", f"--db={member.socket}", *arguments)

    @staticmethod
    def options(member: Member, relay: Relay) -> dict[str, t.Any]:
        return {
            "target": relay.settings.target,
            "control_socket": member.control_socket,
            "socket": member.socket,
            "relay_control_socket": relay.control_socket,
            "relay_socket": relay.socket,
        }

    def settings(self, member: Member) -> dict[str, t.Any]:
        host = self.host(member)
        connections = [{"target": f"pssl:6642:{host}", "state": "absent"}, {"target": f"pssl:16642:{host}"}]
        return {
            "database": "southbound",
            "control_socket": member.control_socket,
            "socket": member.socket,
            "connections": connections,
            "serve_connections": True,
        }

    @staticmethod
    def serving(port: str, member: Member) -> str:
        """The model of the Southbound database on the port; empty if nobody answers."""
        assert member.tls is not None
        keys = ["-p", member.tls.private_key, "-c", member.tls.certificate, "-C", member.tls.ca_certificate]
        query = ["_Server", {"op": "select", "table": "Database", "where": [["name", "==", "OVN_Southbound"]]}]
        command = ["ovsdb-client", *keys, "-t", "5", "query", port, json.dumps(query)]
        answer = subprocess.run(command, capture_output=True, text=True, timeout=20, check=False)
        return str(json.loads(answer.stdout)[0]["rows"][0]["model"]) if answer.returncode == 0 else ""

    def test_the_relay_takes_over_and_a_second_run_changes_nothing(
        self, member: Member, relay: Relay, run_module: RunModule
    ) -> None:
        relay.start()
        host, options = self.host(member), self.options(member, relay)
        action = ["hand port 6642 over from the Southbound member to its relay"]
        assert self.serving(f"ssl:{host}:6642", member) == "clustered"
        assert run_module("ovn_chassis_listener", options, True)["actions"] == action
        assert self.serving(f"ssl:{host}:6642", member) == "clustered"
        refused: list[str] = []
        stop = threading.Event()

        def connect() -> None:
            while not stop.wait(0.01):
                # A full backlog of a busy machine drops a SYN, which is sent again after a second.
                if not is_listening(host, 16642, 10):
                    refused.append("16642")

        client = threading.Thread(target=connect)
        client.start()
        try:
            assert run_module("ovn_chassis_listener", options)["actions"] == action
        finally:
            stop.set()
            client.join()
        assert not refused
        assert self.serving(f"ssl:{host}:6642", member) == "relay"
        assert self.serving(f"ssl:{host}:16642", member) == "clustered"
        assert not run_module("ovn_chassis_listener", options)["changed"]

        settings = self.settings(member)
        predicted = run_module("ovn_database", settings, True)["actions"]
        assert predicted == [
            f"remove connection pssl:6642:{host}",
            "listen on db:OVN_Southbound,SB_Global,connections",
            f"do not listen on pssl:16642:{host}",
        ]
        assert run_module("ovn_database", settings)["actions"] == predicted
        assert not run_module("ovn_database", settings)["changed"]
        assert not run_module("ovn_chassis_listener", options)["changed"]
        assert self.serving(f"ssl:{host}:6642", member) == "relay"
        assert self.serving(f"ssl:{host}:16642", member) == "clustered"
        # Its listeners come from the table again, so a new row has an effect.
        self.sbctl(
            member,
            "--",
            "--id=@c",
            "create",
            "Connection",
            f'target="pssl:7000:{host}"',
            "--",
            "add",
            "SB_Global",
            ".",
            "connections",
            "@c",
        )
        until(lambda: is_listening(host, 7000, 1), "a new listener", 10)

    def test_the_listen_address_changes_with_it(self, member: Member, relay: Relay, run_module: RunModule) -> None:
        """As from [::] to 0.0.0.0: the new address and the old one exclude each other, so nothing of the old one may be left."""
        host = self.host(member)
        mapped = f"[::ffff:{host}]"  # on loopback of its own, unlike a wildcard
        relay.settings = dataclasses.replace(relay.settings, target=f"pssl:6642:{mapped}")
        relay.start()
        options, settings = self.options(member, relay), self.settings(member)
        settings["connections"] = [
            {"target": f"pssl:6642:{mapped}", "state": "absent"},
            {"target": f"pssl:16642:{mapped}"},
            {"target": f"pssl:6642:{host}", "state": "absent"},
            {"target": f"pssl:16642:{host}", "state": "absent"},
        ]
        assert run_module("ovn_chassis_listener", options)["changed"]
        assert self.serving(f"ssl:{host}:6642", member) == "relay"
        predicted = run_module("ovn_database", settings, True)["actions"]
        assert run_module("ovn_database", settings)["actions"] == predicted
        assert f"do not listen on pssl:16642:{host}" in predicted
        until(lambda: self.serving(f"ssl:{host}:16642", member) == "clustered", "the other port", 10)
        listening = run("ss", "--no-header", "--listening", "--tcp", "--numeric", "src", f"[::ffff:{host}]")
        assert {f"{mapped}:6642", f"{mapped}:16642"} <= set(listening.split())
        for name, again in (("ovn_chassis_listener", options), ("ovn_database", settings)):
            assert not run_module(name, again)["changed"], name

        # Afterwards, without a port to hand over, the rows alone change.
        settings["connections"] = [
            {"target": f"pssl:16642:{host}"},
            {"target": f"pssl:16642:{mapped}", "state": "absent"},
        ]
        assert run_module("ovn_database", settings)["changed"]
        until(lambda: self.serving(f"ssl:{host}:16642", member) == "clustered", "the port at its new address")
        assert not run_module("ovn_database", settings)["changed"]

    def test_a_member_that_started_again_meanwhile(self, member: Member, relay: Relay, run_module: RunModule) -> None:
        """A run was killed after the relay took over, and the row is still there: the member, which cannot have the port, goes on without it."""
        relay.start()
        host = self.host(member)
        run_module("ovn_chassis_listener", self.options(member, relay))
        member.stop()
        member.start(options=["--remote=db:OVN_Southbound,SB_Global,connections"])
        assert self.serving(f"ssl:{host}:6642", member) == "relay"
        run_module("ovn_chassis_listener", self.options(member, relay))
        run_module("ovn_database", self.settings(member))
        assert self.serving(f"ssl:{host}:6642", member) == "relay"
        assert self.serving(f"ssl:{host}:16642", member) == "clustered"
        assert not run_module("ovn_database", self.settings(member))["changed"]

    def test_without_a_relay_the_member_keeps_the_port(
        self, member: Member, relay: Relay, run_module: RunModule
    ) -> None:
        options = {**self.options(member, relay), "wait_timeout": 1}
        ran = run_module("ovn_chassis_listener", options, may_fail=True)
        assert "The relay of the Southbound database on this host is not ready" in ran["msg"]
        assert self.serving(f"ssl:{self.host(member)}:6642", member) == "clustered"

    def test_a_relay_that_does_not_listen(self, member: Member, relay: Relay, run_module: RunModule) -> None:
        """It was told another port: after the time-out the member listens again."""
        relay.settings = dataclasses.replace(relay.settings, target=f"pssl:6650:{self.host(member)}")
        relay.start()
        options = {**self.options(member, relay), "target": f"pssl:6642:{self.host(member)}", "wait_timeout": 2}
        ran = run_module("ovn_chassis_listener", options, may_fail=True)
        assert "does not listen on port 6642 after 2 s. The member listens there again." in ran["msg"]
        assert self.serving(f"ssl:{self.host(member)}:6642", member) == "clustered"
        assert member.appctl("ovsdb-server/list-remotes").split() == [
            "db:OVN_Southbound,SB_Global,connections",
            f"pssl:26642:{self.host(member)}",
            f"p{member.socket}",
        ]

    def test_a_relay_that_is_frozen(self, member: Member, relay: Relay, run_module: RunModule) -> None:
        relay.start()
        assert relay.daemon is not None
        relay.daemon.signal(signal.SIGSTOP)
        try:
            options = {**self.options(member, relay), "timeout": 1, "wait_timeout": 2}
            ran = run_module("ovn_chassis_listener", options, may_fail=True)
        finally:
            relay.daemon.signal(signal.SIGCONT)
        assert "is not ready" in ran["msg"]
        assert self.serving(f"ssl:{self.host(member)}:6642", member) == "clustered"


def test_a_relay_without_a_member_is_no_port_for_clients(plane: ControlPlane) -> None:
    """As the report sees it: the port listens and its certificate is right, but chassis go elsewhere."""
    pair = plane.central.issue("central1")
    tls = TlsFiles(pair.private_key, pair.certificate, plane.central.ca_certificate)
    endpoint = parse_endpoint(plane.port)
    assert ask_certificate(endpoint, tls, 5, time.time())["problem"] == ""
    plane.southbound.kill()
    found = until(lambda: ask_certificate(endpoint, tls, 5, time.time())["problem"], "the relay to notice", 45)
    assert found == "the relay of OVN_Southbound there is connected to no member"

"""An OVN that somebody else set up is adopted: real servers in control groups of other units, the product's planner, member and launcher."""

from __future__ import annotations

import hashlib
import json
import ssl
import subprocess
import threading
import typing as t
from pathlib import Path

import pytest
from _foreign import ForeignBackend, ForeignHost, Groups
from _launcher_lib import tool, until
from _loopback import Tls
from _pki import Pki
from conftest import RunModule

from ansible_collections.c5c3.ovn.plugins.module_utils._base.errors import Refused
from ansible_collections.c5c3.ovn.plugins.module_utils._host import foreign_processes
from ansible_collections.c5c3.ovn.plugins.module_utils._raft.gates import gate_reason
from ansible_collections.c5c3.ovn.plugins.module_utils._raft.plan import predict_rounds

UNIT, OWN = "ovn-ovsdb-server-nb.service", "c5c3-ovn-northbound.service"
ADOPTION = f"it runs in {UNIT} and is adopted"


@pytest.fixture
def backend(daemons: None) -> t.Iterator[ForeignBackend]:
    with ForeignBackend() as made:
        made.begin()
        yield made


class Writer:
    """Adds rows through the listeners of all members, as a client would, and keeps those that were acknowledged."""

    def __init__(self, backend: ForeignBackend) -> None:
        self.remote = ",".join(host.endpoint for host in backend.hosts)
        self.acknowledged: list[str] = []
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._write)

    def __enter__(self) -> Writer:
        self._thread.start()
        until(lambda: self.acknowledged, "the first write")
        return self

    def __exit__(self, *exc: object) -> None:
        self._ended.set()
        self._thread.join()

    def _write(self) -> None:
        number = 0
        while not self._ended.is_set():
            number += 1
            operation = {"op": "insert", "table": "Address_Set", "row": {"name": f"adopted_{number}"}}
            words = json.dumps(["OVN_Northbound", operation])
            command = ["ovsdb-client", "--timeout=10", "transact", self.remote, words]
            done = subprocess.run(command, check=False, capture_output=True, text=True, timeout=30)
            if done.returncode == 0 and "uuid" in done.stdout:
                self.acknowledged.append(f"adopted_{number}")


def names(host: ForeignHost) -> set[str]:
    """The rows in this member's own copy."""
    query = ["OVN_Northbound", {"op": "select", "table": "Address_Set", "where": [], "columns": ["name"]}]
    command = ["ovsdb-client", "--timeout=10", "query", host.socket, json.dumps(query)]
    answer = subprocess.run(command, check=True, capture_output=True, text=True, timeout=30).stdout
    return {row["name"] for row in json.loads(answer)[0]["rows"]}


def ids(backend: ForeignBackend) -> dict[str, str]:
    return {host.id: tool("db-sid", host.file) for host in backend.hosts}


def running_units(backend: ForeignBackend) -> list[str]:
    found = [foreign_processes.find_server(str(host.file)) for host in backend.hosts]
    return [server.supervisor.name if server else "" for server in found]


def turns(backend: ForeignBackend, action: str) -> list[str]:
    """The members in the order of the run. A follower that lags comes first, and last who leads then: elections move the leader on a busy machine."""
    ended = [(step.members[0], led) for step, led in backend.done if step.action == action]
    assert sorted(name for name, _led in ended) == [host.id for host in backend.hosts]
    assert not any(led for _name, led in ended[:-1]), ended
    return [name for name, _led in ended]


def test_members_are_adopted_one_by_one_under_writes(backend: ForeignBackend) -> None:
    before, cid = ids(backend), tool("db-cid", backend.hosts[0].file)
    until(lambda: backend.leader, "a leader")
    assert running_units(backend) == [UNIT] * 3
    with Writer(backend) as writer:
        backend.run()
        adopted = len(writer.acknowledged)
        until(lambda: len(writer.acknowledged) > adopted + 3, "writes after the adoption")
    assert [step.reason for step, _led in backend.done] == [
        f"restart northbound on {name}: {ADOPTION}" for name in turns(backend, "restart")
    ]
    assert running_units(backend) == [OWN] * 3
    assert [(host.masked, host.enabled) for host in backend.hosts] == [({UNIT}, {OWN})] * 3
    assert (ids(backend), tool("db-cid", backend.hosts[0].file)) == (before, cid)
    record = json.loads((backend.hosts[0].record / "record.json").read_text())
    assert {name: member["sid"] for name, member in record["members"].items()} == before
    until(lambda: all(set(writer.acknowledged) <= names(host) for host in backend.hosts), "every acknowledged write")
    until(lambda: not backend.problem(), "a whole cluster")
    backend.run()
    assert backend.acts == []


def test_the_order_is_known_before_anything_of_ours_is_installed(backend: ForeignBackend) -> None:
    until(lambda: not gate_reason("quiet", list(backend.observe().values()), None), "a leader for long enough", 30)
    for host in backend.hosts:  # their sockets are where the settings say, so these stay
        host.member.launcher = "/nonexistent"
    observed = backend.observe()
    assert [(o.installed, o.connected, o.file_class) for o in observed.values()] == [(False, True, "member")] * 3
    assert predict_rounds(backend._description(), observed, gate_reason)[0] == [
        f"restart northbound on {name}: {ADOPTION}"
        for name in sorted(observed, key=lambda name: (observed[name].leader, name))
    ]


class BracketedHost(ForeignHost):
    """Its cluster has been created with IPv4 addresses in brackets, which Open vSwitch accepts."""

    def create(self, first: ForeignHost) -> None:
        usual = {host: host.address for host in (self, first)}
        for host, address in usual.items():
            host.address = f"tcp:[{host.host}]:{address.rpartition(':')[2]}"
        super().create(first)
        for host, address in usual.items():
            host.address = address


def test_members_with_an_address_in_another_spelling_are_adopted(daemons: None) -> None:
    with ForeignBackend(host_class=BracketedHost) as backend:
        backend.begin()
        before = ids(backend)
        backend.run()
        assert running_units(backend) == [OWN] * 3
        assert ids(backend) == before
        backend.run()
        assert backend.acts == []
        until(lambda: not backend.problem(), "a whole cluster")


@pytest.mark.parametrize("verb", ["show", "mask", "enable", "stop", "start"])
def test_a_run_that_is_killed_within_a_step_is_finished_by_the_next(backend: ForeignBackend, verb: str) -> None:
    before = ids(backend)
    backend.hosts[1].fails_at = verb
    with pytest.raises(KeyboardInterrupt):
        backend.run()
    backend.hosts[1].fails_at = ""
    with Writer(backend) as writer:
        backend.run()
    assert running_units(backend) == [OWN] * 3
    assert ids(backend) == before
    until(lambda: all(set(writer.acknowledged) <= names(host) for host in backend.hosts), "every acknowledged write")


def test_a_member_whose_units_are_masked_and_that_ends_is_started_by_the_next_run(backend: ForeignBackend) -> None:
    """The run was killed before our unit was enabled, and the host rebooted: nobody but a run starts it any more."""
    before, host = ids(backend), backend.hosts[1]
    host.fails_at = "enable"
    with pytest.raises(KeyboardInterrupt):
        backend.run()
    host.fails_at = ""
    assert (host.masked, host.enabled) == ({UNIT}, set())
    assert host.foreign is not None
    host.foreign.kill()
    host.foreign.wait()
    host.foreign = None
    backend.run()
    assert running_units(backend) == [OWN] * 3
    assert ids(backend) == before
    assert not list(host.record.parent.glob("*.taking-over"))


def test_a_member_is_not_adopted_while_another_one_is_away(backend: ForeignBackend) -> None:
    away = backend.hosts[2]
    away.is_on = False  # nobody can look there
    assert away.foreign is not None
    away.foreign.kill()
    away.foreign.wait()
    with pytest.raises(Refused, match="central3 could not be examined"):
        backend.run()
    assert running_units(backend)[:2] == [UNIT] * 2


def move(host: ForeignHost, *group: str) -> None:
    """The server restarts in another group."""
    host.stop_foreign()
    host.start_foreign(*group)
    until(lambda: host.connected, "connected again", 30)


def test_a_server_that_no_unit_runs_is_adopted(backend: ForeignBackend) -> None:
    move(backend.hosts[1], "user.slice", "session-3.scope")
    backend.run()
    assert "restart northbound on central2: it runs in no unit and is adopted" in [s.reason for s in backend.acts]
    assert running_units(backend) == [OWN] * 3


def test_files_of_servers_that_were_stopped_are_adopted(backend: ForeignBackend) -> None:
    """As it is done with containers: nothing runs, and nothing of ours knows the files."""
    before = ids(backend)
    for host in backend.hosts:
        host.stop_foreign()
    backend.run(bootstrap=False)
    # The first round acquires the lock, and is planned again.
    assert {step.reason for step in backend.acts} == {
        "start northbound on central1, central2, central3 from the files that are there"
    }
    assert (ids(backend), running_units(backend)) == (before, [OWN] * 3)
    assert [host.masked for host in backend.hosts] == [{UNIT}] * 3


def test_a_unit_that_is_stopped_does_not_start_the_server_again(backend: ForeignBackend) -> None:
    """After a power loss two servers would want one file."""
    host = backend.hosts[1]
    move(host, "user.slice", "session-3.scope")
    host.stopped_units = {
        "my-nb.service": f"/usr/sbin/ovsdb-server --remote=punix:/run/x {host.file}",
        "other.service": "/usr/sbin/ovsdb-server /etc/openvswitch/conf.db",
    }
    backend.run()
    assert host.masked == {UNIT, "my-nb.service"}
    assert running_units(backend) == [OWN] * 3


def test_a_container_that_has_its_file_in_our_place_is_not_stopped(backend: ForeignBackend) -> None:
    container = backend.hosts[1]
    move(container, "system.slice", f"docker-{'7' * 64}.scope")
    for act in (container.member.observe, container.member.restart, container.member.start):
        with pytest.raises(Refused, match=r"which is where ours has its file.*docker stop 777777777777"):
            act()
    assert running_units(backend)[1] == "7" * 12
    assert (container.masked, container.enabled) == (set(), set())
    assert container.connected


def test_the_module_tells_who_runs_what(backend: ForeignBackend, run_module: RunModule, tmp_path: Path) -> None:
    ran = run_module("ovn_daemons_info", {"required_files": [str(tmp_path / "missing"), str(tmp_path)]})
    assert ran["changed"] is False
    assert ran["missing_files"] == [str(tmp_path / "missing")]
    assert ran["version"]
    found = {daemon["file"]: daemon for daemon in ran["daemons"]}
    host = backend.hosts[1]
    daemon = found[str(host.file)]
    assert daemon["supervisor"] == {"kind": "unit", "name": UNIT, "runtime": "", "unit": ""}
    facts = [daemon[key] for key in ("name", "own", "clustered", "address", "version", "problem")]
    assert facts == ["northbound", False, True, host.address, ran["version"], ""]
    assert (daemon["server_id"], daemon["cluster_id"]) == (tool("db-sid", host.file), tool("db-cid", host.file))
    assert f"ptcp:6641:{host.host}" in daemon["remotes"]
    assert daemon["control_socket"] == host.control_socket
    assert daemon["pid"] == host.server_pid()


def test_members_with_tls_keep_their_certificates(daemons: None, pki: Pki, run_module: RunModule) -> None:
    given = pki.issue("central", addresses=[f"127.0.0.{number}" for number in range(1, 4)])
    tls = Tls(given.private_key, given.certificate, given.ca_certificate)
    with ForeignBackend(tls=lambda _address: tls) as backend:
        backend.begin()
        before = ids(backend)
        ran = run_module("ovn_daemons_info", {"ca_certificate": given.ca_certificate})
        daemon = next(daemon for daemon in ran["daemons"] if daemon["file"] == str(backend.hosts[0].file))
        assert [daemon[key] for key in ("private_key", "certificate", "ca_certificate")] == list(tls)
        assert daemon["ca_digests"] == ran["ca_digests"]
        der = ssl.PEM_cert_to_DER_cert(Path(given.ca_certificate).read_text())
        assert ran["ca_digests"] == [hashlib.sha256(der).hexdigest()]
        backend.run()
        assert running_units(backend) == [OWN] * 3
        assert ids(backend) == before
        until(lambda: not backend.problem(), "a whole cluster")


def test_files_and_listeners_may_be_named_in_the_database(backend: ForeignBackend, run_module: RunModule) -> None:
    """As ovn-ctl starts it: the SSL table has the files, the Connection table the listeners."""
    leader = until(lambda: backend.leader, "a leader")
    for command in (["set-ssl", "/none/key", "/none/cert", "/none/ca"], ["set-connection", "ptcp:16641:127.0.0.9"]):
        nbctl = ["ovn-nbctl", "--timeout=20", f"--db={leader.socket}", *command]
        subprocess.run(nbctl, check=True, capture_output=True, timeout=30)
    ran = run_module("ovn_daemons_info", {"ca_certificate": "/none/ca"})
    daemon = next(daemon for daemon in ran["daemons"] if daemon["file"] == str(leader.file))
    files = [daemon[key] for key in ("private_key", "certificate", "ca_certificate", "ca_digests")]
    assert files == ["/none/key", "/none/cert", "/none/ca", []]
    assert [row["target"] for row in daemon["connections"]] == ["ptcp:16641:127.0.0.9"]
    assert len(daemon["connections"][0]["_uuid"]) == 36
    assert ran["ca_digests"] == []


def test_ours_is_not_foreign(backend: ForeignBackend, run_module: RunModule) -> None:
    backend.run()
    files = {str(host.file) for host in backend.hosts}
    ran = run_module("ovn_daemons_info", {})
    assert [daemon["own"] for daemon in ran["daemons"] if daemon["file"] in files] == [True] * 3


def test_groups_leave_nothing(daemons: None) -> None:
    groups = Groups()
    subprocess.run([*groups.enter("a", "b.service"), "true"], check=True)
    groups.close()
    assert not groups.root.exists()

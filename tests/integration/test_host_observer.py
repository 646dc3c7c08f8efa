"""The observer of machines: the archive as its unit starts it, with real databases, northd and ovn-controllers."""

from __future__ import annotations

import json
import pathlib
import signal
import sys
import time
import typing as t

import pytest
from _installation import Installation, heartbeat_number
from _pki import Pki, certificates_in
from _vswitch import require_vswitch
from _waits import stays
from conftest import Daemon, RaftCluster, run, until
from prometheus_client.parser import text_string_to_metric_families

from ansible_collections.c5c3.ovn.plugins.module_utils._agent.archive import build_archive
from ansible_collections.c5c3.ovn.plugins.module_utils._agent.metrics import serve_metrics
from ansible_collections.c5c3.ovn.plugins.module_utils._base.databases import DATABASES
from ansible_collections.c5c3.ovn.plugins.module_utils._pki.certificates import not_after
from ansible_collections.c5c3.ovn.plugins.module_utils._raft.record import Member as Recorded
from ansible_collections.c5c3.ovn.plugins.module_utils._raft.record import Record, render_files

if t.TYPE_CHECKING:
    from conftest import MakeCluster, RunModule

INTERVAL = 6.0


class Observed:
    """A control plane, and observers of it, each of another central host."""

    def __init__(self, clusters: dict[str, RaftCluster], folder: pathlib.Path) -> None:
        self.clusters, self.folder = clusters, folder
        self.daemons: list[Daemon] = []
        folder.mkdir()
        self.archive = folder / "c5c3-ovn.pyz"
        self.archive.write_bytes(build_archive())
        for database, cluster in clusters.items():
            members = {f"m{i}": Recorded(m.address, "confirmed", m.server_id) for i, m in enumerate(cluster.members)}
            record = Record(cluster.schema_name, members, 1, cid=cluster.cluster_id)
            (folder / database).mkdir()
            for name, text in render_files(record, 1000).items():
                (folder / database / name).write_text(text)

    def start(self, host: str, **more: str) -> Daemon:
        pki = self.clusters["northbound"].pki
        files = pki.issue("observer") if pki else None
        environment = {f"OVN_{name.upper()}": ",".join(self.clusters[name].endpoints) for name in DATABASES}
        environment |= {f"OVN_{name.upper()}_RECORD": str(self.folder / name) for name in DATABASES}
        if files:
            environment["OVN_PRIVATE_KEY"] = files.private_key
            environment["OVN_CERTIFICATE"] = files.certificate
            environment["OVN_CA_CERTIFICATE"] = files.ca_certificate
        environment["OVN_STATUS_FILE"] = str(self.folder / f"{host}.json")
        environment["OVN_METRICS_FILE"] = str(self.folder / f"{host}.prom")
        environment |= more
        variables = [f"{name}={value}" for name, value in environment.items()]
        command = [sys.executable, "-I", str(self.archive), "host-observer"]
        self.daemons.append(Daemon(["env", *variables, *command], self.folder / f"{host}.log"))
        return self.daemons[-1]

    def stop(self) -> None:
        for daemon in self.daemons:
            daemon.kill()

    def status(self, host: str) -> dict[str, t.Any]:
        file = self.folder / f"{host}.json"
        found: dict[str, t.Any] = json.loads(file.read_text()) if file.exists() else {}
        return found

    def condition(self, host: str, kind: str) -> dict[str, str]:
        return next((one for one in self.status(host).get("conditions", ()) if one["type"] == kind), {})

    def metric(self, host: str, name: str) -> dict[tuple[str, ...], float]:
        families = text_string_to_metric_families((self.folder / f"{host}.prom").read_text())
        family = next((family for family in families if family.name == f"c5c3_ovn_{name}"), None)
        return {tuple(sample.labels.values()): sample.value for sample in family.samples} if family else {}

    @property
    def number(self) -> int:
        """The last heartbeat, in the Northbound database."""
        return heartbeat_number(self.clusters["northbound"])


@pytest.fixture
def observed(raft_cluster: MakeCluster, short_dir: pathlib.Path) -> t.Iterator[Observed]:
    made = Observed({database: raft_cluster(3, database, tls=True) for database in DATABASES}, short_dir / "observed")
    yield made
    made.stop()


@pytest.fixture
def chassis(observed: Observed, short_dir: pathlib.Path) -> t.Iterator[Installation]:
    require_vswitch()
    installation = Installation(observed.clusters["northbound"], observed.clusters["southbound"], short_dir)
    try:
        installation.start_northd()
        for index, name in enumerate(("one", "two"), 1):
            installation.start_chassis(name, f"198.51.100.{index}")
        yield installation
    finally:
        installation.stop()


def test_every_host_sees_a_frozen_chassis_within_two_intervals_and_heartbeats_are_not_tripled(
    observed: Observed, chassis: Installation
) -> None:
    hosts = ("central1", "central2", "central3")
    for host in hosts:
        observed.start(host, OVN_HEARTBEAT_SECONDS=str(INTERVAL))

    def ready() -> set[str]:
        return {observed.condition(host, "ControllersReady").get("status", "") for host in hosts}

    until(lambda: all(observed.status(host).get("activeControllers") == 2 for host in hosts), "both", timeout=60)
    assert ready() == {"True"}
    time.sleep(INTERVAL)  # each sends one when it starts
    first = observed.number
    stays(lambda: observed.number - first <= 4, "at most one in each interval", 3 * INTERVAL)
    assert observed.number - first >= 2

    chassis.chassis["two"].daemons["ovn-controller"].signal(signal.SIGSTOP)
    until(lambda: ready() == {"False"}, "the frozen one", timeout=2 * INTERVAL)
    for host in hosts:
        # The metrics are written after the status.
        until(lambda host=host: observed.metric(host, "chassis_late") == {("two",): 1}, "the metrics of the same round")
        assert observed.metric(host, "chassis_active") == {(): 1}
        answered = observed.metric(host, "chassis_last_heartbeat_timestamp_seconds")
        assert answered["two",] < answered["one",] <= time.time()
    chassis.chassis["two"].daemons["ovn-controller"].signal(signal.SIGCONT)
    until(lambda: ready() == {"True"}, "it to answer again", timeout=2 * INTERVAL)


def test_members_that_are_lost_until_there_is_no_majority(observed: Observed) -> None:
    observed.start("central1")
    until(lambda: observed.condition("central1", "NorthboundReady").get("status") == "True", "healthy", timeout=30)
    until((observed.folder / "central1.prom").exists, "its metrics, which come after the status")
    until(lambda: set(observed.metric("central1", "member_connected").values()) == {1}, "those of a healthy cluster")
    endpoints = {(one,) for cluster in observed.clusters.values() for one in cluster.endpoints}
    until(lambda: set(observed.metric("central1", "certificate_not_after_timestamp_seconds")) == endpoints, "ends")
    ends = observed.metric("central1", "certificate_not_after_timestamp_seconds")
    assert all(end > time.time() for end in ends.values())
    victims = observed.clusters["northbound"].members[:2]
    victims[0].kill()
    until(
        lambda: (
            0 in observed.metric("central1", "member_connected").values()
            and observed.condition("central1", "NorthboundReady")["status"] == "True"
        ),
        "one lost, and the others elect a leader",
        timeout=30,
    )
    victims[1].kill()
    until(lambda: observed.condition("central1", "NorthboundReady")["status"] == "False", "no majority", timeout=60)
    assert observed.condition("central1", "Ready")["status"] == "False"
    assert observed.condition("central1", "SouthboundReady")["status"] == "True"


def authority(pki: Pki) -> tuple[str, int, float]:
    """Subject, serial number and end of a CA."""
    (certificate,) = certificates_in(pathlib.Path(pki.ca_certificate).read_bytes())
    name = f"CN=c5c3 test {pathlib.Path(pki.ca_certificate).stem}"
    return name, certificate.serial_number, not_after(certificate).timestamp()


def test_authorities_are_read_again_when_a_rotation_replaces_them(observed: Observed, short_dir: pathlib.Path) -> None:
    central = observed.clusters["northbound"].pki
    assert central is not None
    former, other = Pki(short_dir / "former", "chassis", days=20), Pki(short_dir / "next", "chassis")
    file = observed.folder / "relay-ca.pem"

    def put(*pkis: Pki) -> None:
        new = file.with_suffix(".new")
        new.write_bytes(b"".join(pathlib.Path(one.ca_certificate).read_bytes() for one in pkis))
        new.replace(file)

    def found() -> set[tuple[str, str, int, float]]:
        samples = observed.metric("central1", "ca_not_after_timestamp_seconds")
        return {(bundle, subject, int(serial, 16), end) for (bundle, subject, serial), end in samples.items()}

    put(central, former, former)
    daemon = observed.start("central1", OVN_CLIENT_CA_CERTIFICATE=str(file), OVN_CERTIFICATE_SECONDS="1")
    until((observed.folder / "central1.prom").exists, "metrics", timeout=30)
    ours, old, new = ("central", *authority(central)), ("chassis", *authority(former)), ("chassis", *authority(other))
    until(lambda: found() == {ours, old}, "both bundles", timeout=30)
    put(central, former, other)
    until(lambda: found() == {ours, old, new}, "the next CA beside the former one", timeout=30)
    put(central, other)
    until(lambda: found() == {ours, new}, "the next CA alone", timeout=30)
    for change in (lambda: file.write_text("no certificate"), file.unlink):
        put(central, other)
        until(lambda: found() == {ours, new}, "it to be readable", timeout=30)
        change()
        until(lambda: found() == {ours}, "no sample of a file that cannot be read", timeout=30)
    assert daemon.running
    assert observed.condition("central1", "CertificateValid")["status"] == "True"


def test_certificates_of_chassis_and_clients_as_runs_record_them(observed: Observed, run_module: RunModule) -> None:
    """A real run of the module writes, the observer reads, before the first list, after a renewal and when the list is spoilt."""
    file = observed.folder / "etc" / "issued-certificates.json"
    for cluster in observed.clusters.values():  # what the members serve is to have time
        assert cluster.pki is not None
        for member in cluster.members:
            member.kill()
            member.tls = cluster.pki.issue(member.name, addresses=[member.endpoint.split(":")[1]], days=300)
            member.start(wait=False)
    observed.start("central1", OVN_ISSUED_CERTIFICATES=str(file), OVN_CERTIFICATE_SECONDS="1")

    def record(holder: str, days: float, kind: str = "chassis", **more: t.Any) -> float:
        end = float(int(time.time() + days * 86400))
        not_after = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(end))
        certificate = {
            "kind": kind,
            "holder": holder,
            "issuer": "CA",
            "serial_number": "1f",
            "not_after": not_after,
            "issued": True,
        }
        run_module("ovn_issued_certificates", {"path": str(file), "certificates": [certificate], **more})
        return end

    def found() -> dict[tuple[str, ...], float]:
        return observed.metric("central1", "issued_certificate_not_after_timestamp_seconds")

    def expect(status: str, reason: str, *words: str) -> None:
        def reached() -> bool:
            condition = observed.condition("central1", "CertificateValid")
            same = (condition.get("status"), condition.get("reason")) == (status, reason)
            return same and all(word in condition["message"] for word in words)

        until(reached, f"{reason} {words}", timeout=90)

    expect("True", "Valid")
    until((observed.folder / "central1.prom").exists, "its metrics, which come after the status")
    assert found() == {}
    ends = {("chassis", "one", "CA"): record("one", 20), ("client", "neutron", "CA"): record("neutron", 300, "client")}
    expect("True", "ChassisCertificateExpiresSoon", "Certificates of chassis end soon: one (")
    until(lambda: found() == ends, "both", timeout=90)
    ends["chassis", "one", "CA"] = record("one", 300)
    expect("True", "Valid")
    until(lambda: found() == ends, "the renewed one", timeout=90)
    record("two", -1)
    expect("False", "ChassisCertificateExpired", "have expired: two (")
    record("neutron", 20, "client", removed_chassis=["two"])
    expect("True", "ClientCertificateExpiresSoon", "neutron (")
    file.write_text("half of i")
    expect("True", "Valid")
    until(lambda: found() == {}, "no sample of a list that cannot be read", timeout=90)


def test_a_directory_that_is_missing_is_named_and_the_status_goes_on(observed: Observed) -> None:
    observed.start("central1", OVN_METRICS_FILE=str(observed.folder / "absent" / "ovn.prom"))
    log = observed.folder / "central1.log"
    until(lambda: log.exists() and "Create its directory, or name another one." in log.read_text(), "the message")
    until(lambda: observed.condition("central1", "NorthboundReady")["status"] == "True", "the status", timeout=30)
    (observed.folder / "absent").mkdir()
    until((observed.folder / "absent" / "ovn.prom").exists, "the file", timeout=30)
    assert [one.name for one in (observed.folder / "absent").iterdir()] == ["ovn.prom"]
    assert log.read_text().count("Create its directory") == 1


def test_a_new_program_goes_on_in_the_same_process(observed: Observed) -> None:
    daemon = observed.start("central1", OVN_HEARTBEAT_SECONDS="4")
    until(lambda: observed.status("central1") != {}, "the first status", timeout=30)
    new = observed.folder / "new"
    new.write_bytes(build_archive())
    new.replace(observed.archive)
    (observed.folder / "central1.json").unlink()
    until(lambda: observed.status("central1") != {}, "a status by the new one", timeout=30)
    assert daemon.running


def test_the_program_is_installed_once_and_only_when_it_differs(run_module: RunModule, short_dir: pathlib.Path) -> None:
    file = short_dir / "lib" / "c5c3-ovn.pyz"
    options = {"path": str(file)}
    assert run_module("ovn_program", options, True)["changed"]
    assert not file.parent.exists()
    assert run_module("ovn_program", options)["changed"]
    assert (file.read_bytes(), file.stat().st_mode & 0o777) == (build_archive(), 0o644)
    assert not run_module("ovn_program", options)["changed"]
    file.write_bytes(b"half of it")
    assert run_module("ovn_program", options, True)["changed"]
    assert run_module("ovn_program", options)["changed"]
    assert [one.name for one in file.parent.iterdir()] == [file.name]
    assert file.read_bytes() == build_archive()


def test_a_setting_that_is_missing_is_named(observed: Observed) -> None:
    daemon = observed.start("central1", OVN_NORTHBOUND_RECORD="")
    until(lambda: not daemon.running, "its end")
    assert "OVN_NORTHBOUND_RECORD is not set." in (observed.folder / "central1.log").read_text()


def test_metrics_over_http() -> None:
    port = serve_metrics(0, lambda: "c5c3_ovn_up 1\n")
    for address in ("127.0.0.1", "[::1]"):
        assert run("curl", "-sS", "--max-time", "5", f"http://{address}:{port}/metrics") == "c5c3_ovn_up 1\n"
    code = run("curl", "-sS", "-o", "/dev/null", "-w", "%{http_code}", f"http://127.0.0.1:{port}/secrets")
    assert code == "404"

"""Members in containers of a real Docker are adopted: each gives way to a new member, and what starts it again does no harm."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import typing as t
from pathlib import Path

import pytest
from _apiserver import skip_loudly
from _contained import IMAGE, ContainedBackend, ContainedHost, Engine
from _launcher_lib import tool, until
from conftest import RunModule, listens
from test_adoption import OWN, Writer, names, running_units, turns

from ansible_collections.c5c3.ovn.plugins.module_utils._base.errors import OvnError, Refused
from ansible_collections.c5c3.ovn.plugins.module_utils._host.foreign_processes import find_processes
from ansible_collections.c5c3.ovn.plugins.module_utils._raft.gates import gate_reason
from ansible_collections.c5c3.ovn.plugins.module_utils._raft.plan import predict_rounds

pytestmark = pytest.mark.docker


@pytest.fixture(scope="module")
def engine() -> t.Iterator[Engine]:
    missing = [name for name in ("docker", "dockerd", "runc") if shutil.which(name) is None]
    if missing or os.geteuid() != 0:
        skip_loudly("a real Docker", f"{', '.join(missing) or 'root'} missing (tests/testbed/packages docker)")
    made = Engine()
    try:
        made.start()
        yield made
    finally:
        made.close()


@pytest.fixture
def backend(daemons: None, engine: Engine) -> t.Iterator[ContainedBackend]:
    with ContainedBackend(engine) as made:
        made.begin()
        yield made


def order(backend: ContainedBackend) -> list[str]:
    """What the run did, without the ids and the addresses."""
    return [step.reason.partition(":")[0].partition(" (")[0] for step, _led in backend.done]


def replaced(names: t.Iterable[str]) -> list[str]:
    verbs = ("replace northbound on {}", "remove the lost member {}", "join {} to northbound")
    return [verb.format(name) for name in names for verb in verbs]


def check_adopted(backend: ContainedBackend, writer: Writer, before: dict[str, tuple[str, str]]) -> None:
    assert running_units(backend) == [OWN] * 3
    for host in backend.hosts:
        assert (host.is_contained, host.restart_policy, host.enabled) == (False, "no", {OWN})
        cid, sid = before[host.id]
        assert tool("db-cid", host.file) == cid
        assert tool("db-sid", host.file) != sid
        assert tool("db-sid", host.source) == sid  # as the container has left it
    until(lambda: all(set(writer.acknowledged) <= names(host) for host in backend.hosts), "every acknowledged write")
    until(lambda: not backend.problem(), "a whole cluster")
    leader = until(lambda: backend.leader, "a leader")
    assert len(leader.member.observe().listed) == 3


def identities(backend: ContainedBackend) -> dict[str, tuple[str, str]]:
    return {host.id: (tool("db-cid", host.source), tool("db-sid", host.source)) for host in backend.hosts}


def test_members_are_replaced_one_by_one_under_writes(backend: ContainedBackend) -> None:
    before = identities(backend)
    until(lambda: backend.leader, "a leader")
    with Writer(backend) as writer:
        backend.run()
        adopted = len(writer.acknowledged)
        until(lambda: len(writer.acknowledged) > adopted + 3, "writes after the adoption")
    assert order(backend) == replaced(turns(backend, "stop"))
    check_adopted(backend, writer, before)
    backend.run()
    assert backend.acts == []


def test_the_order_is_known_before_anything_of_ours_is_installed(backend: ContainedBackend) -> None:
    until(lambda: not gate_reason("quiet", list(backend.observe().values()), None), "a leader for long enough", 30)
    for host in backend.hosts:
        host.member.launcher = "/nonexistent"
    observed = backend.observe()
    planned = predict_rounds(backend._description(), observed, gate_reason)[0]
    names = sorted(observed, key=lambda name: (observed[name].leader, name))  # without writes nobody lags
    assert [one.partition(":")[0].partition(" (")[0] for one in planned] == replaced(names)
    assert all(host.is_contained and not host.file.exists() for host in backend.hosts)


@pytest.mark.parametrize(("verb", "after"), [("update", False), ("update", True), ("stop", True)])
def test_a_run_that_is_killed_is_finished_by_the_next(backend: ContainedBackend, verb: str, after: bool) -> None:
    before = identities(backend)
    host = backend.hosts[1]
    host.fails_at, host.fails_after = verb, after
    with pytest.raises(KeyboardInterrupt):
        backend.run()
    host.fails_at = ""
    with Writer(backend) as writer:
        backend.run()
    check_adopted(backend, writer, before)


@pytest.mark.parametrize("moment", ["stop", "kick", "expected", "start"])
def test_a_container_that_is_started_again_never_harms_the_cluster(backend: ContainedBackend, moment: str) -> None:
    """By somebody, right after the run died: its id is listed, is removed, has given way to another one, or stands beside it."""
    before = identities(backend)
    backend.run_until(moment)
    (host,) = [one for one in backend.hosts if not one.is_contained]
    host.start_container()
    with Writer(backend) as writer:
        until(lambda: len(writer.acknowledged) > 3, "writes")
        backend.run()
    if moment == "start":  # ours is the member; every run before its first change says how to end what is none any more
        assert (host.is_contained, host.connected) == (True, True)
        host.engine.output("stop", host.name)
    check_adopted(backend, writer, before)


def test_a_container_that_is_gone_for_good_is_replaced_once_the_operator_says_so(backend: ContainedBackend) -> None:
    before = identities(backend)
    backend.run_until("start")
    gone = next(one for one in backend.hosts if one.is_contained and not one.leads)
    gone.engine.output("update", "--restart=no", gone.name)
    gone.engine.output("stop", gone.name)
    with pytest.raises(Refused, match=rf"Start what ran it on {gone.id}, .* ovn_central_permit=lost_disk"):
        backend.run()
    with Writer(backend) as writer:
        backend.run(accept_lost_disk=True)
    check_adopted(backend, writer, before)


def test_a_member_of_ours_that_loses_its_disk_meanwhile_is_replaced_as_well(backend: ContainedBackend) -> None:
    before = identities(backend)
    backend.run_until("start")
    (host,) = [one for one in backend.hosts if not one.is_contained]
    host.power_off()
    host.lose_disk()
    host.power_on()
    with Writer(backend) as writer:
        backend.run()
    check_adopted(backend, writer, before)


def test_the_old_container_is_no_member_any_more(backend: ContainedBackend) -> None:
    """It is started beside ours, long after: it finds no cluster, and the run names it."""
    before = identities(backend)
    with Writer(backend) as writer:
        backend.run()
        host = backend.hosts[1]
        host.start_container()
        observed = host.member.observe()
        assert (observed.sid, observed.replace_reason) == (tool("db-sid", host.file), "")
        for act in (host.member.start, host.member.restart):
            with pytest.raises(Refused, match=r"the container is no member any more: end it for good \(docker stop"):
                act()
        done = len(writer.acknowledged)
        until(lambda: len(writer.acknowledged) > done + 5, "writes")
        leader = until(lambda: backend.leader, "a leader")
        status = leader.member.ask().status
        assert status is not None
        assert len(status.servers) == 3
    host.engine.output("stop", host.name)
    check_adopted(backend, writer, before)


def test_a_container_that_is_down_is_neither_replaced_nor_doubled(backend: ContainedBackend) -> None:
    host = backend.hosts[1]
    host.engine.output("stop", host.name)
    with pytest.raises(Refused, match="does not run on central2, and runs on other hosts"):
        backend.run()
    assert not any(one.record.exists() for one in backend.hosts)
    before = identities(backend)
    host.start_container()
    until(lambda: host.connected, "connected again", 30)
    with Writer(backend) as writer:
        backend.run()
    check_adopted(backend, writer, before)


def test_a_server_that_ends_is_started_again_by_the_engine(backend: ContainedBackend) -> None:
    """Without this, the tests above would prove nothing about what keeps it from coming back."""
    host = backend.hosts[1]
    pid = int(host.inspect()["State"]["Pid"])
    subprocess.run(["kill", "-KILL", str(pid)], check=True, timeout=10)
    until(lambda: host.inspect()["RestartCount"] == 1 and host.connected, "connected again", 30)


def occupy(host: ContainedHost) -> None:
    host.file.write_text("theirs")


def share(host: ContainedHost) -> None:
    """A second daemon in the same container."""
    options = ["--ovnnb-db=unix:/nonexistent", "--ovnsb-db=unix:/nonexistent"]
    host.engine.output("exec", "--detach", host.name, "/usr/bin/ovn-northd", "--unixctl=/run/northd.ctl", *options)
    until(lambda: any(one.name == "northd" and one.root for one in find_processes()), "northd")


def stop(host: ContainedHost) -> None:
    """As a step does it."""
    host.member.observe()
    host.member.stop()


@pytest.mark.parametrize(
    ("prepare", "reason"),
    [
        pytest.param(occupy, "is there as well", id="a file in our place"),
        pytest.param(share, r"it runs ovn-northd \(process \d+\) as well", id="two daemons"),
    ],
)
def test_what_is_not_safe_is_refused_while_the_container_runs(
    backend: ContainedBackend, prepare: t.Callable[[ContainedHost], None], reason: str
) -> None:
    host = backend.hosts[1]
    prepare(host)
    with pytest.raises(Refused, match=reason):
        stop(host)
    assert (host.is_contained, host.restart_policy, host.masked, host.enabled) == (True, "unless-stopped", set(), set())
    host.file.unlink(missing_ok=True)
    assert host.connected


def test_an_engine_that_does_not_answer_stops_nothing(backend: ContainedBackend) -> None:
    host = backend.hosts[1]
    real = host.member.run

    def hang(command: list[str], environment: dict[str, str]) -> tuple[int, str, str]:
        return (124, "", "") if "update" in command else real(command, environment)

    host.member.run = hang
    with pytest.raises(OvnError, match="docker update --restart=no ovn_nb_db_2 failed on central2: it took too long"):
        backend.run()
    assert (host.is_contained, host.masked, OWN in host.enabled) == (True, set(), False)
    assert host.connected


def client(engine: Engine, folder: Path) -> list[str]:
    """The command that starts a module where the engine and units are found; no unit starts a container."""
    systemctl = folder / "systemctl"
    systemctl.write_text(
        '#!/bin/sh\n[ "$1" = show ] && echo "Id=ssh.service\nActiveState=active\nUnitFileState=enabled" || echo "ssh.service enabled"\n'
    )
    systemctl.chmod(0o755)
    variables = {**engine.environment, "PATH": f"{folder}:{os.environ['PATH']}"}
    return ["env", *(f"{name}={value}" for name, value in variables.items())]


def test_the_module_tells_what_a_container_is(backend: ContainedBackend, run_module: RunModule, tmp_path: Path) -> None:
    host = backend.hosts[1]
    ran = run_module("ovn_daemons_info", {}, prefix=client(host.engine, tmp_path))
    daemon = next(daemon for daemon in ran["daemons"] if daemon["address"] == host.address)
    assert daemon["supervisor"] == {"kind": "container", "name": host.name, "runtime": "docker", "unit": ""}
    assert daemon["container"] == {"name": host.name, "policy": "unless-stopped", "units": [], "problem": ""}
    assert daemon["problem"] == ""
    query = json.dumps(["OVN_Northbound", {"op": "select", "table": "NB_Global", "where": [], "columns": ["_uuid"]}])
    command = ["ovsdb-client", "--timeout=10", "query", f"unix:{daemon['sockets']['database']}", query]
    assert subprocess.run(command, check=False, capture_output=True, timeout=30).returncode == 0


def northd_in(ran: t.Any) -> list[dict[str, t.Any]]:
    return [
        daemon for daemon in ran["daemons"] if daemon["name"] == "northd" and daemon["supervisor"]["kind"] != "unit"
    ]


def test_northd_in_a_container_is_ended_for_good(engine: Engine, run_module: RunModule, tmp_path: Path) -> None:
    """Its control socket has the process id that it has in the container, and so has that of one that was started by hand."""
    options = ["--ovnnb-db=unix:/nonexistent", "--ovnsb-db=unix:/nonexistent", "--pidfile=/var/run/ovn/ovn-northd.pid"]
    # In a network of its own: northd of other tests is nobody's business here.
    run = ("run", "--detach", "--name=ovn_northd", "--network=none", "--restart=always")
    engine.output(*run, IMAGE, "/usr/bin/ovn-northd", *options)
    try:
        pid = engine.output("inspect", "--format={{.State.Pid}}", "ovn_northd")
        network = tmp_path / "network"
        network.touch()
        subprocess.run(["mount", "--bind", f"/proc/{pid}/ns/net", network], check=True, timeout=10)
        prefix = ["nsenter", f"--net={network}", *client(engine, tmp_path)]
        (northd,) = until(lambda: northd_in(run_module("ovn_daemons_info", {}, prefix=prefix)), "northd")
        assert (northd["problem"], northd["version"] != "", northd["container"]["problem"]) == ("", True, "")
        assert northd["sockets"]["control"].endswith("/root/run/ovn/ovn-northd.1.ctl")
        for check in (True, False):
            ran = run_module("ovn_foreign_northd", {}, check, prefix=prefix)
            assert (ran["changed"], len(ran["ended"])) == (True, 1)
            state = json.loads(engine.output("inspect", "ovn_northd"))[0]
            policy = state["HostConfig"]["RestartPolicy"]["Name"]
            assert (state["State"]["Running"], policy) == ((True, "always") if check else (False, "no"))
        assert run_module("ovn_foreign_northd", {}, prefix=prefix)["changed"] is False
    finally:
        engine.output("rm", "--force", "ovn_northd")
        subprocess.run(["umount", tmp_path / "network"], check=False, timeout=10)


def test_northd_that_nothing_runs_is_ended(daemons: None, run_module: RunModule, tmp_path: Path) -> None:
    options = ["--ovnnb-db=unix:/nonexistent", "--ovnsb-db=unix:/nonexistent", f"--unixctl={tmp_path}/northd.ctl"]
    command = ["setpriv", "--pdeathsig", "KILL", "unshare", "--net", "ovn-northd", *options]
    with (tmp_path / "log").open("wb") as log:
        process = subprocess.Popen(command, stdout=log, stderr=log)
    try:
        until(lambda: listens(tmp_path / "northd.ctl"), "northd")
        prefix = ["nsenter", f"--target={process.pid}", "--net"]
        assert run_module("ovn_foreign_northd", {}, True, prefix=prefix)["changed"] is True
        assert process.poll() is None
        assert run_module("ovn_foreign_northd", {}, prefix=prefix)["ended"] == ["northd in no unit"]
        assert process.wait(timeout=10) == 0
    finally:
        process.kill()
        process.wait()

"""Members in containers are adopted: real servers in root directories of their own, and an engine that starts them again."""

from __future__ import annotations

import typing as t

import pytest
from _contained import ContainedBackend, ContainedHost
from _launcher_lib import tool, until
from conftest import RunModule
from test_adoption import OWN, Writer, names, running_units

from ansible_collections.c5c3.ovn.plugins.module_utils._adoption.processes import find_processes
from ansible_collections.c5c3.ovn.plugins.module_utils._errors import Refused


@pytest.fixture
def backend(daemons: None) -> t.Iterator[ContainedBackend]:
    with ContainedBackend() as made:
        made.begin()
        yield made


def identities(backend: ContainedBackend) -> list[tuple[str, str]]:
    files = [host.file if host.file.exists() else host.source for host in backend.hosts]
    return [(tool("db-cid", file), tool("db-sid", file)) for file in files]


def contained(backend: ContainedBackend) -> list[str]:
    addresses = {host.address for host in backend.hosts}
    return [one.address for one in find_processes() if one.address in addresses and one.root]


def check_adopted(backend: ContainedBackend, writer: Writer) -> None:
    assert running_units(backend) == [OWN] * 3
    assert contained(backend) == []
    for host in backend.hosts:
        assert host.file.is_file()
        assert not host.file.is_symlink()
        assert sorted(path.name for path in host.data.iterdir() if not path.name.startswith(".")) == [host.file.name]
        assert host.source.is_file()
        assert host.policy == "no"
        assert host.enabled == {OWN}
    until(lambda: all(set(writer.acknowledged) <= names(host) for host in backend.hosts), "every acknowledged write")
    assert backend.problem() == ""


def test_members_in_containers_are_adopted_one_by_one_under_writes(backend: ContainedBackend) -> None:
    before, leader = identities(backend), until(lambda: backend.leader, "a leader")
    assert len(contained(backend)) == 3
    with Writer(backend) as writer:
        backend.run()
        adopted = len(writer.acknowledged)
        until(lambda: len(writer.acknowledged) > adopted + 3, "writes after the adoption")
    assert list(dict.fromkeys(step.reason.partition(":")[0] for step in backend.acts)) == [
        f"restart northbound on {host.id}" for host in sorted(backend.hosts, key=lambda host: (host is leader, host.id))
    ]
    check_adopted(backend, writer)
    assert identities(backend) == before
    assert [host.starts for host in backend.hosts] == [1] * 3
    backend.run()
    assert backend.acts == []


@pytest.mark.parametrize("verb", ["enable", "stop", "start"])
def test_a_run_that_is_killed_within_a_step_is_finished_by_the_next(backend: ContainedBackend, verb: str) -> None:
    before = identities(backend)
    backend.hosts[1].fails_at = verb
    with pytest.raises(KeyboardInterrupt):
        backend.run()
    backend.hosts[1].fails_at = ""
    with Writer(backend) as writer:
        backend.run()
    check_adopted(backend, writer)
    assert identities(backend) == before


def test_the_engine_restarts_what_ends_until_it_is_told_not_to(backend: ContainedBackend) -> None:
    """Without this the tests above would prove nothing about the restart policy."""
    host = backend.hosts[1]
    assert host.foreign is not None
    host.foreign.kill()
    until(lambda: host.starts == 2 and host.connected, "connected again", 30)


def refuse_volume(host: ContainedHost) -> None:
    host.mounts_volume = False


def occupy(host: ContainedHost) -> None:
    host.file.write_text("theirs")


@pytest.mark.parametrize(
    ("prepare", "reason"), [(refuse_volume, "is in no volume"), (occupy, "exists already")], ids=["no volume", "a file"]
)
def test_what_is_not_safe_is_refused_while_the_container_runs(
    backend: ContainedBackend, prepare: t.Callable[[ContainedHost], None], reason: str
) -> None:
    prepare(backend.hosts[1])
    with pytest.raises(Refused, match=reason):
        backend.run()
    host = backend.hosts[1]
    assert (host.policy, host.starts, host.masked, host.enabled) == ("unless-stopped", 1, set(), set())
    assert host.connected


def test_the_module_tells_what_a_container_lacks(backend: ContainedBackend, run_module: RunModule) -> None:
    """No engine of this machine knows it: the check before the first change says so, for each host."""
    host = backend.hosts[1]
    ran = run_module("ovn_daemons_info", {"database_files": [str(host.file), "/nonexistent/x.db"]})
    daemon = next(daemon for daemon in ran["daemons"] if daemon["address"] == host.address)
    assert daemon["supervisor"]["kind"] == "container"
    assert daemon["container"]["problem"] == "the engine does not describe it"
    assert daemon["file_bytes"] == host.source.stat().st_size
    assert daemon["problem"] == ""
    assert ran["places"][str(host.file)]["occupied"] is False
    assert ran["places"]["/nonexistent/x.db"]["free"] is None

"""What the launcher advises for a file that it refuses leads to a whole cluster: real servers, the product's loop."""

from __future__ import annotations

import typing as t
from pathlib import Path

import pytest
from _launcher_lib import DATABASE, SCHEMA, tool, until
from _loopback import LoopbackBackend, LoopbackHost

from ansible_collections.c5c3.ovn.plugins.module_utils._base.deadline import Deadline
from ansible_collections.c5c3.ovn.plugins.module_utils._base.errors import Refused
from ansible_collections.c5c3.ovn.plugins.module_utils._ovsdb.server import appctl
from ansible_collections.c5c3.ovn.plugins.module_utils._raft.plan import check_before_changes
from ansible_collections.c5c3.ovn.plugins.module_utils._raft.record import Record, render_files
from ansible_collections.c5c3.ovn.plugins.module_utils._raft.record_dir import read_record, write_files


@pytest.fixture
def backend() -> t.Iterator[LoopbackBackend]:
    """A whole cluster."""
    with LoopbackBackend() as made:
        made.run()
        yield made


def recorded(host: LoopbackHost) -> Record:
    record = read_record(str(host.record))
    assert record is not None
    return record


def write(backend: LoopbackBackend, record: Record) -> None:
    for host in backend.hosts:
        write_files(str(host.record), render_files(record, 1000), record.revision)


def another_address(backend: LoopbackBackend, file: Path) -> None:
    cid, peer = recorded(backend.hosts[0]).cid, backend.hosts[0].address
    tool(f"--cid={cid}", "join-cluster", file, DATABASE, "tcp:127.0.99.9:6643", peer)


def retired_cluster(backend: LoopbackBackend, file: Path) -> None:
    tool("create-cluster", file, SCHEMA, backend.hosts[2].address)
    record = recorded(backend.hosts[0])
    write(backend, record.replace(retired_cids=(tool("db-cid", file),), revision=record.revision + 1))


@pytest.mark.parametrize("make_file", [another_address, retired_cluster])
def test_a_file_that_is_moved_aside_is_replaced_by_the_next_run(
    backend: LoopbackBackend, make_file: t.Callable[[LoopbackBackend, Path], None]
) -> None:
    last = backend.hosts[2]
    before = recorded(last).members[last.id].sid
    last.stop()
    last.file.unlink()
    make_file(backend, last.file)
    with pytest.raises(Refused, match=r"[Mm]ove (it|the file) aside, then run the playbook: it replaces the member"):
        backend.run()
    last.file.rename(f"{last.file}.aside")
    backend.run()
    until(lambda: not backend.problem(), "a whole cluster")
    assert recorded(last).members[last.id].sid not in (None, before)


def test_settings_with_another_address_than_recorded_are_written_by_the_next_run(backend: LoopbackBackend) -> None:
    """A run was killed that replaced the member, and settings of the past are on its host."""
    last = backend.hosts[2]
    record = recorded(last)
    sid = record.members[last.id].sid
    last.stop()
    last.file.unlink()
    leader = until(lambda: backend.leader, "a leader")
    appctl(leader.control_socket, "cluster/kick", DATABASE, str(sid), deadline=Deadline(10))
    until(lambda: str(sid)[:4] not in backend.observe()[leader.id].listed, "unlisted")
    write(backend, record.with_member(last.id, state="expected", sid=sid).replace(revision=record.revision + 1))
    last.configure(backend.hosts, OVN_LOCAL_ADDRESS="tcp:127.0.99.9:6643")
    seen = backend.observe()
    assert "Run the playbook with the recorded address: it writes the settings." in seen[last.id].file_reason
    check_before_changes(backend._description(), seen)  # nothing refuses the run before it writes them
    last.configure(backend.hosts)
    backend.run()
    until(lambda: not backend.problem(), "a whole cluster")

"""A database with thousands of ports: what the generator makes, and what loses nothing of it. Times are figures of `make bench`."""

from __future__ import annotations

import itertools
import typing as t

import pytest
from _cloud import DROP_GROUP, PORTS_OF_PROJECT, count, fill, transactions
from _launcher_lib import until
from _loopback import LoopbackBackend, LoopbackHost

from ansible_collections.c5c3.ovn.plugins.module_utils._ovsdb.endpoint import parse_endpoint
from ansible_collections.c5c3.ovn.plugins.module_utils._raft.sizing import size_of, timers_for

PORTS = 10_000


def _names(ports: int, seed: int) -> list[str]:
    """The names of all ports of instances that the transactions insert."""
    operations = itertools.chain.from_iterable(transactions(ports, seed))
    inserted = (o["row"] for o in operations if o.get("table") == "Logical_Switch_Port" and o["op"] == "insert")
    return [row["name"] for row in inserted if row.get("type") != "router"]


def test_the_same_seed_makes_the_same_cloud() -> None:
    assert list(transactions(1000, 7)) == list(transactions(1000, 7))
    assert list(transactions(1000, 7)) != list(transactions(1000, 8))


@pytest.mark.parametrize("ports", [0, 1, PORTS_OF_PROJECT, PORTS_OF_PROJECT + 1, 1999])
def test_a_cloud_has_exactly_so_many_ports_each_with_its_own_name(ports: int) -> None:
    names = _names(ports, 1)
    assert (len(names), len(set(names))) == (ports, ports)


@pytest.fixture(scope="module")
def cloud(daemons: None) -> t.Iterator[LoopbackBackend]:
    """Three members with a timer that no snapshot of this size outlasts, filled."""
    with LoopbackBackend(election_timer=5000) as backend:
        backend.run()
        assert backend.leader is not None
        fill(parse_endpoint(backend.leader.socket), PORTS)
        yield backend


def _counted(host: LoopbackHost) -> int:
    return count(parse_endpoint(host.socket)).ports


def test_all_ports_are_on_every_member(cloud: LoopbackBackend) -> None:
    groups = PORTS // PORTS_OF_PROJECT * 8 + 1
    # A follower has each transaction a moment after the leader.
    until(lambda: all(_counted(host) == PORTS for host in cloud.hosts), "all ports on every member")
    for host in cloud.hosts:
        counts = count(parse_endpoint(host.socket))
        assert (counts.ports, counts.port_groups, counts.routers) == (PORTS, groups, PORTS // PORTS_OF_PROJECT), host.id


def test_a_restart_of_all_members_keeps_ports_and_server_ids(cloud: LoopbackBackend) -> None:
    before = {name: o.sid for name, o in cloud.observe().items()}
    for host in cloud.hosts:
        host.configure(cloud.hosts, OVN_REVISION="2")
    steps = cloud.run()
    restarts = [step for step in steps if step.startswith("restart ") and ": its settings have changed" in step]
    assert len({step for step in restarts if step.endswith("changed")}) == len(cloud.hosts), steps
    assert {name: o.sid for name, o in cloud.observe().items()} == before
    assert [_counted(host) for host in cloud.hosts] == [PORTS] * 3


def test_a_lost_disk_is_filled_again_from_the_others(cloud: LoopbackBackend) -> None:
    host = cloud.hosts[0]
    before = cloud.observe()[host.id].sid
    host.power_off()
    host.lose_disk()
    host.power_on()
    cloud.run()
    assert cloud.observe()[host.id].sid != before
    assert [_counted(host) for host in cloud.hosts] == [PORTS] * 3
    assert DROP_GROUP in host.file.read_text()


def test_the_size_of_the_files_asks_for_a_longer_timer(cloud: LoopbackBackend) -> None:
    size = size_of(cloud.observe().values())
    assert size.file_bytes >= max(host.file.stat().st_size for host in cloud.hosts) // 2
    assert timers_for(size._replace(election_timer=None), 1000, 1000)[:2] == (5000, 5000)
    assert timers_for(size, 5000, 30000)[:2] == (5000, 30000)

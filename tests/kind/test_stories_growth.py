"""A control plane in Kubernetes grows from one to three members while clients write.

It is a small one beside that of the other stories, in a namespace of its own, because no run makes a control plane smaller again.
"""

from __future__ import annotations

import dataclasses
import re
import typing as t

import pytest
from clusters import (
    CENTRAL,
    SCHEMAS,
    SOCKETS,
    Cluster,
    Member,
    Ran,
    client,
    endpoints,
    extra,
    playbook,
    pod_of,
    silent_addresses,
    small_control_plane,
    uninstall,
    wait_for,
    wait_whole,
)
from pods import Writer

PLANE = Cluster(CENTRAL.name, "grows")
SIZE = 3
LIMITS = "$options --no-leader-only --timeout=10"
# How clients in the cluster add a row: they need the whole name of the Service. northd removes no key of external_ids.
WRITES = {
    "northbound": f"ovn-nbctl --db=ssl:ovn-nb.grows.svc.cluster.local:6641 {LIMITS} ls-add $row",
    "southbound": f"ovn-sbctl --db=ssl:ovn-sb.grows.svc.cluster.local:6642 {LIMITS} set SB_Global . external_ids:$row=1",
}


@dataclasses.dataclass(frozen=True)
class Before:
    """What one database was before it grew."""

    founder: Member
    pod: str
    endpoints: list[str]


@dataclasses.dataclass(frozen=True)
class Growth:
    before: dict[str, Before]
    acknowledged: dict[str, list[str]]
    failures: dict[str, list[str]]
    run: Ran


def central(size: int, name: str = "central", ok: bool = True) -> Ran:
    """Run a playbook as after an edit of the inventory that declares this number of members."""
    spec = small_control_plane(replicas=size, service={"type": "NodePort"})
    variables = {"ovn_namespace": PLANE.namespace, "ovn_cluster_spec": spec}
    return playbook(name, "--limit=control-plane,localhost", *extra(variables), ok=ok)


def started(database: str) -> str:
    """The pod of the first member and how often its server was started."""
    pod = PLANE.get("pod", pod_of(database, 0)) or {}
    return f"{pod['metadata']['uid']} {[one['restartCount'] for one in pod['status']['containerStatuses']]}"


def rows(database: str, index: int) -> list[str]:
    """The rows of the writer that a member has."""
    if database == "northbound":
        listed = client(database, "--bare", "--columns=name", "list", "Logical_Switch", index=index, cluster=PLANE)
    else:
        listed = client(database, "get", "SB_Global", ".", "external_ids", index=index, cluster=PLANE)
    return re.findall(r"writer-\d+", listed)


@pytest.fixture(scope="module")
def growth() -> t.Iterator[Growth]:
    try:
        central(1)
        before = {
            database: Before(
                wait_whole(database, cluster=PLANE, size=1)[0], started(database), endpoints(database, PLANE)
            )
            for database in SCHEMAS
        }
        # In the pods of the first members, which no growth restarts
        writers = {database: Writer(PLANE, pod_of(database, 0), WRITES[database]) for database in SCHEMAS}
        try:
            for writer in writers.values():
                writer.wait_for_rows()
            run = central(SIZE)
            for writer in writers.values():
                writer.wait_for_rows()
        finally:
            for writer in writers.values():
                writer.stop()
        yield Growth(
            before,
            {database: writer.acknowledged for database, writer in writers.items()},
            {database: writer.failures for database, writer in writers.items()},
            run,
        )
        uninstall(PLANE)
    finally:
        delete = ("delete", "namespace", PLANE.namespace, "--ignore-not-found", "--timeout=120s")
        CENTRAL.kubectl(*delete, timeout=150)


@pytest.mark.parametrize("database", SCHEMAS)
def test_two_members_join_the_cluster_of_the_first(database: str, growth: Growth) -> None:
    assert growth.run.changed
    after, before = wait_whole(database, cluster=PLANE, size=SIZE), growth.before[database]
    assert (after[0].cluster_id, after[0].server_id) == (before.founder.cluster_id, before.founder.server_id)
    assert started(database) == before.pod


@pytest.mark.parametrize("database", SCHEMAS)
def test_every_member_has_each_acknowledged_row(database: str, growth: Growth) -> None:
    assert growth.failures[database] == []

    def missing(index: int) -> list[str]:
        held = rows(database, index)
        return [row for row in growth.acknowledged[database] if held.count(row) != 1]

    for index in range(SIZE):
        what = f"{pod_of(database, index)} has each of {len(growth.acknowledged[database])} rows once"
        wait_for(what, lambda i=index: missing(i) == [], 30)


@pytest.mark.parametrize("database", SCHEMAS)
def test_every_member_is_advertised(database: str, growth: Growth) -> None:
    before, after = growth.before[database].endpoints, endpoints(database, PLANE)
    assert (len(before), len(after), len(set(after))) == (1, SIZE, SIZE)
    assert set(before) < set(after)
    assert silent_addresses(database, PLANE) == []


@pytest.mark.usefixtures("growth")
def test_a_second_run_after_the_growth_changes_nothing() -> None:
    again = central(SIZE)
    assert again.changed == [], again.log


@pytest.mark.usefixtures("growth")
@pytest.mark.parametrize("database", SCHEMAS)
def test_the_new_members_vote(database: str) -> None:
    """While the first member is frozen a write needs the votes of both others."""
    signal = f"kill -%s $(cat /run/ovn/{SOCKETS[database]}.pid)"
    PLANE.exec(pod_of(database, 0), "sh", "-c", signal % "STOP")
    try:
        write = (
            ("--may-exist", "ls-add", "voted")
            if database == "northbound"
            else ("set", "SB_Global", ".", "external_ids:voted=1")
        )
        wait_for(
            f"{database} takes a write without its first member",
            lambda: client(database, *write, index=1, cluster=PLANE) is not None,
            60,
        )
    finally:
        PLANE.exec(pod_of(database, 0), "sh", "-c", signal % "CONT", check=False)
    wait_whole(database, cluster=PLANE, size=SIZE)


@pytest.mark.usefixtures("growth")
def test_five_members_need_five_nodes() -> None:
    """Two members of a database never share a node, and the cluster has three: the precheck says so before anything is changed."""
    refused = central(5, name="precheck", ok=False)
    assert refused.rc != 0
    words = "\n".join(refused.failed + refused.messages)
    for database in SCHEMAS:
        assert f"2 have none yet ({pod_of(database, 3)}, {pod_of(database, 4)})" in words, words
        assert (PLANE.get("statefulset", f"ovn-{database}") or {})["spec"]["replicas"] == SIZE
    assert "or declare" not in words, words

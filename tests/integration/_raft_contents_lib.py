"""A cluster whose members hold different data although every status looks healthy."""

from __future__ import annotations

import json
import shutil

from conftest import Member, RaftCluster, run, until


def insert(member: Member, name: str) -> None:
    """One row in a transaction of its own."""
    operation = {"op": "insert", "table": "Logical_Switch", "row": {"name": name}}
    run("ovsdb-client", "-t", "10", "transact", member.socket, json.dumps([member.schema_name, operation]))


def names(member: Member) -> set[str]:
    query = {"op": "select", "table": "Logical_Switch", "where": [], "columns": ["name"]}
    answer = run("ovsdb-client", "-t", "5", "query", member.socket, json.dumps([member.schema_name, query]))
    return {row["name"] for row in json.loads(answer)[0]["rows"]}


def connected(member: Member) -> None:
    run("ovsdb-client", "-t", "30", "wait", member.socket, member.schema_name, "connected", timeout=40)


def diverge(cluster: RaftCluster) -> Member:
    """Members 2 and 3 lose writes that 1 and 3 had acknowledged, because 3 comes back with an old copy of its file. Return member 1."""
    first, second, third = cluster.members
    for number in range(3):
        insert(cluster.leader, f"old{number}")
    third.stop()
    old = shutil.copy(third.file, third.directory / "copy")
    third.start()
    second.stop()
    for number in range(3):
        insert(cluster.leader, f"acknowledged{number}")
    third.stop()
    first.kill()
    shutil.copy(old, third.file)
    second.start(wait=False)
    third.start(wait=False)
    connected(second)
    connected(third)
    for number in range(6):
        insert(cluster.leader, f"new{number}")
    first.start()
    until(lambda: "new5" in names(first), "the last write on the first member")
    cluster.await_same_log()
    return first

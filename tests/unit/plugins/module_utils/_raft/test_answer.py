"""What a member said: answers of one member become one, and those of strangers are checked."""

from __future__ import annotations

import typing as t

import pytest

from ansible_collections.c5c3.ovn.plugins.module_utils._base.errors import OvnError
from ansible_collections.c5c3.ovn.plugins.module_utils._raft.answer import Answer, ServerView, merge
from ansible_collections.c5c3.ovn.plugins.module_utils._raft.verdict import assess


def test_control_socket_and_endpoint_of_one_member_are_one_answer(paper: t.Any) -> None:
    raft = paper.Raft(3)
    local = [paper_.answer() for paper_ in raft.all(remote=False).papers.values()]
    raft.all(local=False, remote=True, days=90.0)
    remote = [
        Answer(f"192.0.2.{n}", a.database, server=a.server, certificate_days=a.certificate_days)
        for n, a in enumerate(raft.answers(), 1)
    ]
    merged = merge([*remote, *local])
    assert len(merged) == 3
    assert all(answer.status and answer.server and answer.certificate_days == 90.0 for answer in merged)
    assert assess([*local, *remote], 3).healthy


def test_hostile_data_is_refused() -> None:
    good = Answer("m1", "OVN_Southbound", server=ServerView("clustered", connected=True, leader=True)).as_dict()
    for data in (
        None,
        [],
        "text",
        7,
        {},
        {"member": "m1"},
        {**good, "more": 1},
        {**good, "server": {"model": 1}},
        {**good, "member": 5},
    ):
        with pytest.raises(OvnError):
            Answer.from_dict(data)
    with pytest.raises(OvnError):
        assess([Answer.from_dict({**good, "cluster_status": "cut"})])

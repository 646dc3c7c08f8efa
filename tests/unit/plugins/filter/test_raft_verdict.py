"""The filter brings results of several hosts together."""

from __future__ import annotations

import typing as t

import pytest
from ansible.errors import AnsibleFilterError

from ansible_collections.c5c3.ovn.plugins.filter.raft_verdict import FilterModule
from ansible_collections.c5c3.ovn.plugins.module_utils._raft.answer import Answer, ServerView

raft_verdict = FilterModule().filters()["raft_verdict"]
CID = "a0b739a1-2c38-479b-9e0d-605e9da30330"


def result(number: int, database: str = "OVN_Southbound", **changes: t.Any) -> dict[str, t.Any]:
    sid = f"{number:04x}40eb-d5d2-427b-9278-ccc262f4ce6c"
    view: dict[str, t.Any] = {
        "model": "clustered",
        "connected": True,
        "leader": number == 1,
        "cluster_id": CID,
        "server_id": sid,
        "log_index": 9,
    }
    server = ServerView(**{**view, **changes})
    return {
        "changed": False,
        "verdict": "degraded",
        "answers": [Answer(f"central{number}", database, server=server).as_dict()],
    }


def test_results_of_three_hosts_are_one_verdict() -> None:
    verdict = raft_verdict([result(1), result(2), result(3)], expected_members=3)
    assert (verdict["verdict"], verdict["leader"], verdict["writable"]) == ("healthy", "central1", True)
    assert [member["member"] for member in verdict["members"]] == ["central1", "central2", "central3"]


def test_a_dictionary_names_the_hosts_that_could_not_be_asked() -> None:
    results = {
        "central1": result(1),
        "central2": result(2),
        "central3": {"unreachable": True, "msg": "no route to host"},
    }
    verdict = raft_verdict(results, 3)
    assert verdict["verdict"] == "degraded"
    assert any(
        reason["member"] == "central3" and "no route to host" in reason["message"] for reason in verdict["reasons"]
    )


def test_a_list_takes_names_of_hosts_that_could_not_be_asked() -> None:
    verdict = raft_verdict([result(1), result(2), "central3"], expected_members=3)
    assert {reason["member"] for reason in verdict["reasons"] if reason["code"] == "unreachable"} == {"central3"}


def test_two_clusters_are_a_split() -> None:
    other = result(3, cluster_id="b0b739a1-2c38-479b-9e0d-605e9da30330")
    assert raft_verdict([result(1), result(2), other], 3)["verdict"] == "split"


def test_the_expected_cluster_id_counts() -> None:
    results = [result(1), result(2), result(3)]
    assert raft_verdict(results, 3, CID)["verdict"] == "healthy"
    assert raft_verdict(results, 3, CID.replace("a", "c"))["verdict"] == "split"
    assert raft_verdict(results, 3, "")["verdict"] == "healthy"  # a variable that is empty


def test_numbers_may_come_as_text() -> None:
    assert raft_verdict([result(1), result(2), result(3)], "3")["healthy"]


def test_nobody_is_unreachable() -> None:
    assert raft_verdict([])["verdict"] == "unreachable"
    assert raft_verdict({"central1": None})["verdict"] == "unreachable"


@pytest.mark.parametrize(
    ("results", "words"),
    [
        ("central1", "a list or a dictionary"),
        (5, "a list or a dictionary"),
        ([{"failed": True, "msg": "x"}], "which host it is"),
        ([result(1), result(2, database="OVN_Northbound")], "OVN_Northbound and OVN_Southbound"),
        ([{"answers": [{"member": 1}]}], "is not an answer"),
        ([{"answers": ["x"]}], "is not an answer"),
    ],
)
def test_wrong_input_is_told(results: t.Any, words: str) -> None:
    with pytest.raises(AnsibleFilterError, match=words):
        raft_verdict(results)

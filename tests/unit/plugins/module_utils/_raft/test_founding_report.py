"""What a run says about an older control plane before it creates a cluster."""

from __future__ import annotations

import json
import typing as t

import pytest

from ansible_collections.c5c3.ovn.plugins.module_utils._base.errors import InvalidInput
from ansible_collections.c5c3.ovn.plugins.module_utils._raft.founding_report import (
    add_to_note,
    note_witnesses,
    parse_note,
    witness_report,
)

CID, OTHER = "11111111-1111-4111-8111-111111111111", "22222222-2222-4222-8222-222222222222"
NOTE = "/etc/site/ovn-pki/clusters.json"
BOTH = ("northbound", "southbound")
CENTRAL = ("central1", "central2")


def looked(host: str, *witnesses: tuple[str, str], unexamined: t.Sequence[str] = ()) -> dict[str, t.Any]:
    found = [{"text": text, "database": database} for text, database in witnesses]
    return {"item": host, "witnesses": found, "unexamined": list(unexamined)}


REMOTE = ("ovn-remote ssl:192.0.2.11:6642", "")


@pytest.mark.parametrize(
    ("results", "sentences"),
    [
        pytest.param([looked("compute1"), looked("central1")], [], id="no host has evidence"),
        pytest.param(
            [looked("compute1", REMOTE), looked("compute2")],
            ["hypervisor compute1 has ovn-remote ssl:192.0.2.11:6642"],
            id="one hypervisor follows one",
        ),
        pytest.param(
            [looked(f"compute{number}", REMOTE) for number in range(1, 1001)],
            ["hypervisors compute1, compute2, compute3 and 997 more have ovn-remote ssl:192.0.2.11:6642"],
            id="a thousand hypervisors that say the same are one sentence",
        ),
        pytest.param(
            [looked("compute1", REMOTE), looked("compute2", ("ovn-remote ssl:192.0.2.99:6642", ""))],
            [
                "hypervisor compute1 has ovn-remote ssl:192.0.2.11:6642",
                "hypervisor compute2 has ovn-remote ssl:192.0.2.99:6642",
            ],
            id="hypervisors that follow different ones are distinguished",
        ),
        pytest.param(
            [looked("central1", ("the state record of northbound cluster 1", "northbound"))],
            ["central host central1 has the state record of northbound cluster 1"],
            id="a central host has an older record",
        ),
    ],
)
def test_sentences(results: list[dict[str, t.Any]], sentences: list[str]) -> None:
    assert witness_report(results, BOTH, CENTRAL).witnesses == sentences


def test_what_concerns_the_other_database_is_no_witness() -> None:
    """A first run that was cut off between the two: the record of the Northbound database is no older control plane."""
    result = looked("central1", ("the record", "northbound"), ("the file", "southbound"))
    assert witness_report([result], ["southbound"], CENTRAL).witnesses == ["central host central1 has the file"]


def test_a_host_that_could_not_be_looked_at_is_named_with_the_reason() -> None:
    results = [
        {"item": "compute1", "unreachable": True, "msg": "Failed to connect"},
        {"item": "compute2", "failed": True, "msg": "no python"},
        {"item": "pods", "skipped": True},
        looked("compute3", REMOTE, unexamined=["a directory is unreadable"]),
    ]
    report = witness_report(results, BOTH, CENTRAL)
    assert report.unexamined == {
        "compute1": "unreachable",
        "compute2": "no python",
        "pods": "a Kubernetes cluster, or declared gone",
        "compute3": "a directory is unreadable",
    }
    assert report.witnesses == ["hypervisor compute3 has ovn-remote ssl:192.0.2.11:6642"]


def test_a_note_names_each_cluster_once() -> None:
    cids = {"northbound": CID, "southbound": OTHER}
    first = add_to_note("", NOTE, cids, CENTRAL, "2026-11-22")
    assert json.loads(first)["clusters"][CID] == {
        "database": "northbound",
        "members": list(CENTRAL),
        "noted": "2026-11-22",
    }
    assert add_to_note(first, NOTE, cids, ["central3"], "2027-01-01") == first
    assert note_witnesses(first, NOTE, ["southbound"]) == [
        f"the CA in /etc/site/ovn-pki has served southbound cluster {OTHER} of central1, central2"
    ]


def test_a_ca_that_has_served_nobody_is_no_witness() -> None:
    """The first run made it and was killed before it created a cluster."""
    assert note_witnesses("", NOTE, BOTH) == []


@pytest.mark.parametrize("damaged", ["{", "[]", '{"clusters": []}', '{"clusters": {"a": 1}}', '{"other": {}}'])
def test_a_damaged_note_is_a_witness_and_is_not_overwritten(damaged: str) -> None:
    assert [NOTE in sentence for sentence in note_witnesses(damaged, NOTE, BOTH)] == [True]
    with pytest.raises(InvalidInput, match="Restore it"):
        add_to_note(damaged, NOTE, {"northbound": CID}, CENTRAL, "now")


def test_an_empty_note_has_no_clusters() -> None:
    assert parse_note("\n", NOTE) == {}

"""Writes of the witness by observer and runs: only what is higher, over exactly what was read, and not too often."""

from __future__ import annotations

import contextlib
import functools
import typing as t

import pytest
from fake_cluster import FakeCluster

from ansible_collections.c5c3.ovn.plugins.module_utils._agent.observer import WitnessWriter, indexes_on_disk
from ansible_collections.c5c3.ovn.plugins.module_utils._api.witness_map import WitnessMap
from ansible_collections.c5c3.ovn.plugins.module_utils._base.errors import Conflict, Refused
from ansible_collections.c5c3.ovn.plugins.module_utils._raft.answer import Answer, ServerView
from ansible_collections.c5c3.ovn.plugins.module_utils._raft.cluster_witness import (
    ClusterWitness,
    MemberWitness,
    merge_cluster_witness,
    parse_cluster_witness,
)
from ansible_collections.c5c3.ovn.plugins.module_utils._raft.view import Sample

CID = "aaaaaaaa-1111-4111-8111-111111111111"
OTHER_CID = "aaaaaaaa-2222-4111-8111-111111111111"
ONE = "bbbb0000-1111-4111-8111-000000000001"
TWO = "cccc0000-1111-4111-8111-000000000002"


WITNESS = ("v1", "ConfigMap", "ovn-northbound-witness", "x")


class Stored:
    """The ConfigMap as observer and runs get and patch it: None if it is not there."""

    def __init__(self, text: str | None = "") -> None:
        self.cluster = FakeCluster()
        self.text = text

    @property
    def text(self) -> str | None:
        there = self.cluster.stored("ConfigMap", WITNESS[2])
        return None if there is None else t.cast(str, there["data"]["witness"])

    @text.setter
    def text(self, text: str | None) -> None:
        """As another client writes it."""
        if text is None:
            self.cluster.remove("ConfigMap", WITNESS[2])
        else:
            metadata = {"name": WITNESS[2], "namespace": "x"}
            self.cluster.put({"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": {"witness": text}})

    def meanwhile(self, *texts: str) -> None:
        """What others write before the next writes arrive."""
        for text in texts:
            self.cluster.before("patch", functools.partial(setattr, self, "text", text))

    def get(self, _path: str = "") -> t.Any:
        return self.cluster.get(*WITNESS)

    def patch(self, *words: t.Any) -> t.Any:
        with contextlib.suppress(Refused):
            return self.cluster.patch(*WITNESS, words[-1])

    def asked(self, verb: str) -> int:
        return len(self.cluster.asked(verb))


def add(sid: str, index: int) -> t.Callable[[ClusterWitness], ClusterWitness]:
    return lambda stored: merge_cluster_witness(stored, ClusterWitness(CID, {sid: MemberWitness(index)}))


def test_a_conflict_is_retried_with_what_the_other_one_wrote() -> None:
    stored = Stored()
    witness = WitnessMap(stored.get, stored.patch, stored.get())
    stored.meanwhile(f"cluster {CID}\nserver {ONE} 30 3f\n", f"cluster {CID}\nserver {ONE} 40 3f\n")
    assert witness.update(add(TWO, 5))
    assert stored.text == witness.text == f"cluster {CID}\nserver {ONE} 40 3f\nserver {TWO} 5 -\n"


def test_what_is_not_higher_is_not_written() -> None:
    stored = Stored(f"cluster {CID}\nserver {ONE} 30 -\n")
    witness = WitnessMap(stored.get, stored.patch)
    assert not witness.update(add(ONE, 29))
    assert not witness.update(add(ONE, 30))
    assert (stored.asked("patch"), stored.asked("get")) == (0, 1)
    assert witness.update(add(ONE, 31))


def test_endless_conflicts_are_an_error() -> None:
    stored = Stored()
    stored.meanwhile(*(f"cluster {CID}\nserver {ONE} {index} -\n" for index in range(20)))
    with pytest.raises(Conflict):
        WitnessMap(stored.get, stored.patch).update(add(TWO, 5))


def test_without_the_config_map_nothing_is_written_until_a_run_has_made_it() -> None:
    stored = Stored(None)
    witness = WitnessMap(stored.get, stored.patch)
    assert not witness.update(add(ONE, 5))
    stored.text = ""
    assert witness.update(add(ONE, 5))
    stored.text = None
    assert not witness.update(add(ONE, 6))
    stored.text = ""
    assert witness.update(add(ONE, 6))


def test_the_observer_writes_every_ten_seconds_at_most() -> None:
    api = Stored()
    writer = WitnessWriter(t.cast(t.Any, api), "/witness")
    for now, index in ((0.0, 5), (4.0, 6), (9.9, 7), (10.0, 8), (15.0, 9)):
        writer.write(CID, {ONE: index}, now)
    assert api.asked("patch") == 2
    assert parse_cluster_witness(api.text or "").members == {ONE: MemberWitness(8)}


@pytest.mark.parametrize(
    ("text", "cluster_id"),
    [
        pytest.param("", None, id="the record names no cluster yet"),
        pytest.param(
            f"cluster {OTHER_CID}\n", CID, id="a run wrote of another cluster: the observer has an old record"
        ),
        pytest.param(f"cluster {CID}\nserver {ONE} 9 3f\n", CID, id="nothing is higher"),
    ],
)
def test_the_observer_writes_nothing(text: str, cluster_id: str | None) -> None:
    api = Stored(text)
    WitnessWriter(t.cast(t.Any, api), "/witness").write(cluster_id, {ONE: 8}, 0.0)
    assert (api.asked("patch"), api.text) == (0, text)


def member(cid: str = CID, sid: str | None = ONE, index: int | None = 12) -> Answer:
    return Answer("m", "OVN_Northbound", server=ServerView("clustered", True, False, cid, sid, index))


@pytest.mark.parametrize(
    ("answer", "samples", "known"),
    [
        pytest.param(
            member(), (Sample(90.0, 10), Sample(95.0, 11), Sample(99.0, 12)), {ONE: 11}, id="what it showed a while ago"
        ),
        pytest.param(member(), (Sample(99.0, 12),), {}, id="what it has just shown may not be on its disk"),
        pytest.param(member(OTHER_CID), (Sample(90.0, 10),), {}, id="a server of another cluster"),
        pytest.param(member(sid=None), (Sample(90.0, 10),), {}, id="a server without an id"),
        pytest.param(Answer("m", "OVN_Northbound"), (Sample(90.0, 10),), {}, id="a server that does not answer now"),
        pytest.param(None, (), {}, id="nobody has answered yet"),
    ],
)
def test_the_index_that_is_on_the_disk(
    answer: Answer | None, samples: tuple[Sample, ...], known: dict[str, int]
) -> None:
    assert indexes_on_disk([(answer, samples)], CID, 100.0) == known

"""A StatefulSet is made anew only if it is as the run knows it, and if the API server would accept the next one."""

from __future__ import annotations

import typing as t

import pytest

from ansible_collections.c5c3.ovn.plugins.module_utils._errors import Conflict, InvalidInput
from ansible_collections.c5c3.ovn.plugins.module_utils._rollout import template
from ansible_collections.c5c3.ovn.plugins.module_utils._rollout.template import foreseen, rehearse, take_away

Object = dict[str, t.Any]


def stateful_set(size: str = "1Gi", image: str = "ovn:1", replicas: int = 3, **metadata: str) -> Object:
    claim = {"spec": {"resources": {"requests": {"storage": size}}}}
    return {
        "kind": "StatefulSet",
        "metadata": {"name": "ovn-northbound", "namespace": "x", "uid": "u", "resourceVersion": "1", **metadata},
        "spec": {"replicas": replicas, "template": {"image": image}, "volumeClaimTemplates": [claim]},
    }


class FakeCluster:
    def __init__(self, there: Object | None, conflicts: int = 0) -> None:
        self.there, self.conflicts = there, conflicts
        self.deleted: list[Object] = []
        self.tried: list[str] = []

    def get(self, *_: t.Any) -> Object | None:
        return self.there

    def delete(self, *_: t.Any, **options: t.Any) -> bool:
        if self.conflicts:
            self.conflicts -= 1
            assert self.there is not None
            version = str(int(self.there["metadata"]["resourceVersion"]) + 1)
            self.there = {**self.there, "metadata": {**self.there["metadata"], "resourceVersion": version}}
            raise Conflict("its controller has written the status")
        self.deleted.append(options)
        self.there = None
        return True

    def apply(self, manifest: Object, *, dry_run: bool) -> Object:
        assert dry_run
        self.tried.append(manifest["metadata"]["name"])
        raise InvalidInput("spec.template is wrong.")


@pytest.mark.parametrize(
    ("there", "conflicts", "words"),
    [
        (stateful_set(), 0, ""),
        (stateful_set(), 2, ""),
        (stateful_set(), 99, "somebody else changes it all the time"),
        (stateful_set(replicas=5), 0, "somebody else scaled it from 3 to 5 meanwhile"),
        (stateful_set(uid="another"), 0, "somebody else deleted it meanwhile"),
        (stateful_set(deletionTimestamp="2026-01-01T00:00:00Z"), 0, "somebody else deleted it meanwhile"),
        (None, 0, "somebody else deleted it meanwhile"),
    ],
    ids=["as known", "its status moves", "always another version", "scaled", "another one", "on its way out", "gone"],
)
def test_only_what_is_as_known_is_taken_away(
    there: Object | None, conflicts: int, words: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(template, "_PAUSE", 0)
    cluster = FakeCluster(there, conflicts)
    assert take_away(t.cast(t.Any, cluster), stateful_set(), 3) == words
    wanted = {"uid": "u", "resource_version": str(1 + conflicts), "propagation": "Orphan"}
    assert cluster.deleted == ([] if words else [wanted])


def test_what_the_api_server_would_not_accept_takes_nothing_away() -> None:
    cluster = FakeCluster(stateful_set())
    with pytest.raises(InvalidInput, match=r"StatefulSet ovn-northbound stays as it is.*spec\.template is wrong"):
        rehearse(t.cast(t.Any, cluster), stateful_set("2Gi"))
    assert cluster.tried == ["ovn-northbound-anew"]
    assert cluster.deleted == []


def test_the_rest_of_a_change_stays_in_the_diff() -> None:
    after = foreseen(stateful_set(image="ovn:2"), stateful_set("2Gi", image="ovn:2"))
    assert after["spec"] == stateful_set("2Gi", image="ovn:2")["spec"]

"""What a run takes from pods of the template before."""

from __future__ import annotations

import types
import typing as t

import pytest

from ansible_collections.c5c3.ovn.plugins.module_utils._pods.schema import Schemas
from ansible_collections.c5c3.ovn.plugins.module_utils._rollout import observed

Object = dict[str, t.Any]
NEW, OLD = Schemas("7.0.0", "7.3.0"), Schemas("7.0.0", "7.0.0")


def pod(name: str, revision: str) -> Object:
    return {"metadata": {"name": name, "uid": name, "labels": {"controller-revision-hash": revision}}}


@pytest.mark.parametrize(
    ("revisions", "schemas"),
    [
        (("new", "new"), NEW),
        (("new", "old"), NEW),
        (("old", "new"), NEW),
        (("old", "old"), Schemas(None, None)),
    ],
    ids=["all are new", "the last waits for its restart", "the first waits for its restart", "all wait"],
)
def test_the_image_is_that_of_new_pods(
    revisions: tuple[str, str], schemas: Schemas, monkeypatch: pytest.MonkeyPatch
) -> None:
    pods = {f"ovn-northbound-{n}": pod(f"ovn-northbound-{n}", revision) for n, revision in enumerate(revisions)}
    monkeypatch.setattr(observed, "schemas_in", lambda name: NEW if "new" in str(pods[name]) else OLD)
    monkeypatch.setattr(observed, "parse_examination", lambda *_: None)
    monkeypatch.setattr(observed, "unknown_because", lambda *_: "")
    cluster = types.SimpleNamespace(
        list=lambda *_, **__: list(pods.values()), exec=lambda _namespace, name, *_, **__: name
    )
    context = types.SimpleNamespace(cluster=cluster, namespace="x", name="ovn", now=lambda: 0.0)
    run = types.SimpleNamespace(database="northbound", declared=list(pods))
    store = types.SimpleNamespace(read=lambda: None)
    there: Object = {"status": {"updateRevision": "new"}}
    database = observed.ObservedDatabase(*t.cast(t.Any, (context, run, store, 2, lambda: there)))
    database.schemas = OLD  # as an earlier look saw it
    database.observe()
    assert database.schemas == schemas

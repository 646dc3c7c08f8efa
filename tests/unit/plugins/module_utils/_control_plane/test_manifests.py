"""The desired objects of one run: the archive of the agents is built once, and not before it is needed."""

from __future__ import annotations

import types
import typing as t

import pytest

from ansible_collections.c5c3.ovn.plugins.module_utils._base.databases import Database
from ansible_collections.c5c3.ovn.plugins.module_utils._control_plane import manifests as module
from ansible_collections.c5c3.ovn.plugins.module_utils._control_plane.manifests import ClusterManifests


def test_the_archive_is_built_at_most_once(monkeypatch: pytest.MonkeyPatch) -> None:
    built: list[bytes] = []
    monkeypatch.setattr(module, "build_archive", lambda: built.append(b"code") or built[-1])
    monkeypatch.setattr(module, "central_manifests", lambda _spec, **values: [values])
    desired = types.SimpleNamespace(spec=None, name="ovn", namespace="x", cluster_domain="cluster.local")
    manifests = ClusterManifests(t.cast(t.Any, desired))
    assert built == []
    replicas: dict[Database, int] = {"northbound": 1, "southbound": 3}
    for _look in range(2):
        (values,) = manifests.build(replicas, None)
        assert (values["archive"], values["replicas"]) == (b"code", replicas)
    assert len(built) == 1

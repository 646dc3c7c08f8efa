from __future__ import annotations

import typing as t

import pytest

from ansible_collections.c5c3.ovn.plugins.module_utils._api.spec import parse_spec
from ansible_collections.c5c3.ovn.plugins.module_utils._manifests.central import central_manifests

OWNER = {
    "apiVersion": "ovn.c5c3.io/v1alpha1",
    "kind": "OVNCluster",
    "metadata": {"name": "prod", "namespace": "net", "uid": "00000000-0000-4000-8000-000000000001"},
    "spec": {},
}


class Manifests(list[dict[str, t.Any]]):
    def named(self, kind: str, name: str) -> dict[str, t.Any]:
        found = [m for m in self if (m["kind"], m["metadata"]["name"]) == (kind, name)]
        assert len(found) == 1, f"{len(found)} of {kind}/{name}"
        return found[0]

    def of(self, kind: str) -> list[dict[str, t.Any]]:
        return [m for m in self if m["kind"] == kind]

    def pod(self, kind: str, name: str) -> dict[str, t.Any]:
        return t.cast("dict[str, t.Any]", self.named(kind, name)["spec"]["template"]["spec"])


@pytest.fixture
def central() -> t.Callable[..., Manifests]:
    """All objects of the control plane `prod` in namespace `net`."""

    def build(raw: dict[str, t.Any] | None = None, **options: t.Any) -> Manifests:
        spec = parse_spec(raw or {}, name="prod", namespace="net")
        replicas = {"northbound": spec.northbound.replicas, "southbound": spec.southbound.replicas}
        given = {
            "name": "prod",
            "namespace": "net",
            "cluster_domain": "example.test",
            "owner": OWNER,
            "launcher": "#!/bin/sh\n",
            "archive": b"PK\x05\x06",
            "replicas": replicas,
            **options,
        }
        return Manifests(central_manifests(spec, **given))

    return build

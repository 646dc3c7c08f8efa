"""The API server in memory, which unit tests ask, and a real one: the same requests have the same outcome."""

from __future__ import annotations

import typing as t
import uuid

import _k8s_objects
from _k8s_objects import SELECTOR, Object, config_map
from fake_cluster import FakeCluster

from ansible_collections.c5c3.ovn.plugins.module_utils._base.errors import OvnError
from ansible_collections.c5c3.ovn.plugins.module_utils._kubernetes.client import Cluster

own_discovery_cache, cluster = _k8s_objects.own_discovery_cache, _k8s_objects.cluster  # fixtures


def outcome(ask: t.Callable[[], t.Any]) -> t.Any:
    """What tests look at: content, the family of an error, and whether something was there."""
    try:
        found = ask()
    except OvnError as e:
        return type(e).__name__, e.details.get("http_status")
    return content_of(found)


def content_of(found: t.Any) -> t.Any:
    if isinstance(found, list):
        return [one["metadata"]["name"] for one in found]
    return (found["data"], found["metadata"]["labels"]) if isinstance(found, dict) else found


def with_metadata(manifest: Object, **metadata: str) -> Object:
    return {**manifest, "metadata": {**manifest["metadata"], **metadata}}


def answers(cluster: Cluster, namespace: str) -> dict[str, t.Any]:
    """Of one API server to the same requests."""
    place = ("v1", "ConfigMap", "a", namespace)
    written = {"created": cluster.create(config_map(namespace, "a", x="1"))}
    written["applied"] = cluster.apply(config_map(namespace, "a", x="2"), force=True)
    written["applied again"] = cluster.apply(config_map(namespace, "a", x="2"), force=True)
    written["patched"] = cluster.patch(*place, {"data": {"x": None, "y": "1"}})
    written["replaced"] = cluster.replace({**written["patched"], "data": {"y": "2"}})
    versions = [one["metadata"]["resourceVersion"] for one in written.values()]
    first = written["created"]["metadata"]["resourceVersion"]
    uid = written["created"]["metadata"]["uid"]
    other = str(uuid.uuid4())
    steps: dict[str, t.Callable[[], t.Any]] = {
        "create it again": lambda: cluster.create(config_map(namespace, "a")),
        "replace an old version": lambda: cluster.replace(written["created"]),
        "apply an old version": lambda: cluster.apply(with_metadata(config_map(namespace, "a"), resourceVersion=first)),
        "apply over another one": lambda: cluster.apply(with_metadata(config_map(namespace, "b"), uid=other)),
        "patch an old version": lambda: cluster.patch(*place, {"metadata": {"resourceVersion": first}}),
        "patch another one": lambda: cluster.patch(*place, {"metadata": {"uid": other}}),
        "delete another one": lambda: cluster.delete(*place, uid=other),
        "delete an old version": lambda: cluster.delete(*place, uid=uid, resource_version=first),
        "rehearse": lambda: cluster.apply(config_map(namespace, "c", x="1"), dry_run=True),
        "get what was rehearsed": lambda: cluster.get("v1", "ConfigMap", "c", namespace),
        "get": lambda: cluster.get(*place),
        "list by a label": lambda: cluster.list("v1", "ConfigMap", namespace, labels=SELECTOR),
        "list by one of two values": lambda: cluster.list(
            *("v1", "ConfigMap", namespace), labels="app.kubernetes.io/instance in (no,test),x in (1,2)"
        ),
        "list by a name": lambda: cluster.list("v1", "ConfigMap", namespace, fields="metadata.name=a"),
        "watch": lambda: [
            one for _event, one in cluster.watch("v1", "ConfigMap", namespace, fields="metadata.name=a", timeout=1)
        ],
        "list what is unknown": lambda: cluster.list("example.com/v1", "Unknown"),
        "delete": lambda: cluster.delete(*place, uid=uid),
        "delete it again": lambda: cluster.delete(*place, uid=uid),
        "get what has gone": lambda: cluster.get(*place),
        "patch what has gone": lambda: cluster.patch(*place, {"data": {}}),
        "replace what has gone": lambda: cluster.replace(written["replaced"]),
        "evict what is not there": lambda: cluster.evict("a", namespace, uid),
    }
    found = {name: outcome(ask) for name, ask in steps.items()}
    return {
        **{name: content_of(one) for name, one in written.items()},
        **found,
        "versions": [versions.index(one) for one in versions],
        "uids": len({one["metadata"]["uid"] for one in written.values()}),
    }


def test_it_answers_like_a_real_one(cluster: Cluster, namespace: str) -> None:
    assert answers(FakeCluster(), namespace) == answers(cluster, namespace)

"""When the address of the leader proxy is published, and when the proxy may be removed."""

from __future__ import annotations

import typing as t

import pytest
from fake_cluster import FakeCluster

from ansible_collections.c5c3.ovn.plugins.module_utils._api.spec import ClusterSpec, parse_spec
from ansible_collections.c5c3.ovn.plugins.module_utils._base.deadline import Deadline
from ansible_collections.c5c3.ovn.plugins.module_utils._base.errors import OvnError, Refused, TimedOut
from ansible_collections.c5c3.ovn.plugins.module_utils._control_plane import leader_proxy
from ansible_collections.c5c3.ovn.plugins.module_utils._control_plane.leader_proxy import (
    Relays,
    await_leader_proxy,
    is_rollout,
    publishable_endpoints,
    published_endpoints,
    refuse_published_removal,
    relays_to_await,
    runs_on_all_nodes,
    tolerates_as_much,
    unpublished_warning,
)
from ansible_collections.c5c3.ovn.plugins.module_utils._kubernetes.client import ExecResult
from ansible_collections.c5c3.ovn.plugins.module_utils._kubernetes.pod_startup import PodStartup
from ansible_collections.c5c3.ovn.plugins.module_utils._manifests import pods as manifests
from ansible_collections.c5c3.ovn.plugins.module_utils._raft.observation import Observation

NORTHBOUND, SOUTHBOUND = "ssl:10.96.0.9:6641", "ssl:10.96.0.9:16642"
PUBLISHED = {"leaderProxyNorthbound": NORTHBOUND, "leaderProxySouthbound": SOUTHBOUND}
SERVICE = {
    "apiVersion": "v1",
    "kind": "Service",
    "metadata": {
        "name": "ovn-leader-proxy",
        "namespace": "net",
        "labels": {
            "app.kubernetes.io/name": "ovn",
            "app.kubernetes.io/instance": "ovn",
            "app.kubernetes.io/component": "leader-proxy",
        },
    },
    "spec": {
        "clusterIP": "10.96.0.9",
        "ports": [{"name": "northbound", "port": 6641}, {"name": "southbound", "port": 16642}],
    },
}


EVERYWHERE = {"kubernetes.io/os": "linux"}


def spec_with(more: dict[str, t.Any] | None = None, **proxy: t.Any) -> ClusterSpec:
    neutron = {"sbConnection": {"allowedNamespaces": ["openstack"]}}
    raw = {"leaderProxy": {"nodeSelector": EVERYWHERE, **proxy}, "neutronIntegration": neutron}
    return parse_spec({**raw, **(more or {})}, name="ovn", namespace="net")


def daemon_set(scheduled: int, available: int, observed: int = 1, **pod: t.Any) -> dict[str, t.Any]:
    status = {"desiredNumberScheduled": scheduled, "numberAvailable": available, "observedGeneration": observed}
    return {
        "apiVersion": "apps/v1",
        "kind": "DaemonSet",
        "metadata": {"name": "ovn-leader-proxy", "namespace": "net", "generation": 1},
        "spec": {"template": {"spec": pod}},
        "status": status if observed else {},
    }


def newer_version(nodes: int) -> dict[str, t.Any]:
    """Its controller has not looked at the new template, and the pods of the former one run."""
    found = daemon_set(nodes, nodes)
    return {**found, "metadata": {**found["metadata"], "generation": 2}}


def cluster_with(*objects: dict[str, t.Any]) -> FakeCluster:
    return FakeCluster(*objects)


@pytest.mark.parametrize(
    ("found", "expected"),
    [
        (daemon_set(3, 3), True),
        (daemon_set(3, 2), False),
        (daemon_set(0, 0), False),
        (daemon_set(3, 3, observed=0), False),
        ({"metadata": {"generation": 1}}, False),
    ],
)
def test_on_all_nodes(found: dict[str, t.Any], expected: bool) -> None:
    assert runs_on_all_nodes(found) is expected


@pytest.mark.parametrize(
    ("proxy", "before", "objects", "expected"),
    [
        ({"enabled": True}, {}, [SERVICE, daemon_set(3, 3)], True),
        ({"enabled": True}, {}, [SERVICE, daemon_set(3, 2)], False),
        ({"enabled": True}, {}, [SERVICE], False),
        ({"enabled": True}, {}, [daemon_set(3, 3)], False),
        ({"enabled": True}, PUBLISHED, [SERVICE, daemon_set(3, 2)], True),  # a node is away
        (
            {"enabled": True},
            {**PUBLISHED, "leaderProxyNorthbound": "ssl:10.96.0.8:6641"},
            [SERVICE, daemon_set(3, 2)],
            False,
        ),
        ({"enabled": True, "published": False}, PUBLISHED, [SERVICE, daemon_set(3, 3)], False),
        ({}, PUBLISHED, [SERVICE, daemon_set(3, 3)], False),
    ],
    ids=[
        "runs",
        "not everywhere",
        "no DaemonSet",
        "no Service",
        "published before",
        "another address",
        "not published",
        "off",
    ],
)
def test_published(
    proxy: dict[str, t.Any], before: dict[str, str], objects: list[dict[str, t.Any]], expected: bool
) -> None:
    desired = (NORTHBOUND, SOUTHBOUND) if expected else ("", "")
    given = [one for one in objects if one["kind"] == "Service"]
    for services in (None, given):
        found = publishable_endpoints(cluster_with(*objects), spec_with(**proxy), before, services)
        assert (found["northbound"], found["southbound"]) == desired
    # Whoever only reads gets what the status has: else the proxy might go from who uses it.
    read = published_endpoints(spec_with(**proxy), before, given)
    assert (read["northbound"], read["southbound"]) == (desired if before == PUBLISHED else ("", ""))


@pytest.mark.parametrize(
    ("proxy", "before", "objects", "words"),
    [
        ({}, {}, [], ""),
        ({"enabled": True}, {}, [daemon_set(2, 2)], ""),
        (
            {"enabled": True},
            {},
            [daemon_set(2, 1)],
            "1 of 2 pods are available. See kubectl -n net describe daemonset ovn-leader-proxy. Its address is published by",
        ),
        ({"enabled": True, "published": False}, {}, [daemon_set(2, 1)], "describe daemonset ovn-leader-proxy."),
        ({"enabled": True}, PUBLISHED, [daemon_set(2, 1)], "Clients on the nodes without one reach no database"),
        ({"enabled": True}, PUBLISHED, [newer_version(2)], ""),
        ({"enabled": True}, PUBLISHED, [], "it does not exist. Run again. Clients on the nodes"),
        ({"enabled": True}, {}, [daemon_set(0, 0)], "no node is chosen. Compare spec.leaderProxy.nodeSelector"),
        (
            {"enabled": True},
            {},
            [daemon_set(0, 0, observed=0)],
            "the controller of DaemonSets has not looked at it yet.",
        ),
    ],
    ids=["off", "runs", "new", "not published", "published", "updated", "deleted", "no node", "no controller"],
)
def test_who_waits_says_why(
    proxy: dict[str, t.Any], before: dict[str, str], objects: list[dict[str, t.Any]], words: str
) -> None:
    _endpoints, warnings = await_leader_proxy(cluster_with(*objects), spec_with(**proxy), before, Deadline(0.1))
    assert [words in one for one in warnings] == ([True] if words else [])


def test_it_is_published_when_it_runs() -> None:
    found = await_leader_proxy(cluster_with(SERVICE, daemon_set(2, 2)), spec_with(enabled=True), {}, Deadline(0.1))
    assert found == ({"leader_proxy_northbound": NORTHBOUND, "leader_proxy_southbound": SOUTHBOUND}, [])


def test_a_run_waits_for_a_new_one_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """A node may be away for days, and each run would wait."""
    cluster = cluster_with(SERVICE, daemon_set(2, 1))
    waited: list[float] = []
    monkeypatch.setattr(cluster, "watch", lambda *_args, timeout, **_options: waited.append(timeout) or iter(()))
    for before in (PUBLISHED, {}):
        assert await_leader_proxy(cluster, spec_with(enabled=True), before, Deadline(300))[1]
    assert waited == [60]


RESOURCE = {"status": {"endpoints": PUBLISHED}}


def test_a_published_proxy_is_not_removed() -> None:
    with pytest.raises(
        Refused,
        match=r"enabled of OVNCluster ovn is false, and its status publishes ssl:10\.96\.0\.9:6641 and ssl:.* Nothing was changed\.",
    ):
        refuse_published_removal(spec_with(), RESOURCE, daemon_set(2, 2))
    refuse_published_removal(
        spec_with(enabled=True, published=False), RESOURCE, daemon_set(2, 2, nodeSelector=EVERYWHERE)
    )
    refuse_published_removal(spec_with(), {"status": {"endpoints": {"northbound": "ssl:a:1"}}}, daemon_set(2, 2))
    refuse_published_removal(spec_with(), None, None)


ALL_TAINTS = [{"operator": "Exists"}]


@pytest.mark.parametrize(
    ("pod", "proxy", "words"),
    [
        ({"nodeSelector": EVERYWHERE, "tolerations": ALL_TAINTS}, {}, ""),
        ({"nodeSelector": {**EVERYWHERE, "role": "control"}}, {}, ""),
        ({"nodeSelector": EVERYWHERE}, {"nodeSelector": {"role": "control"}}, "nodeSelector asks for role=control"),
        ({"nodeSelector": {"role": "control"}}, {"nodeSelector": {"role": "db"}}, "nodeSelector asks for role=db"),
        ({}, {}, "nodeSelector asks for kubernetes.io/os=linux"),
        (
            {"nodeSelector": EVERYWHERE, "tolerations": ALL_TAINTS},
            {"tolerations": [{"key": "control", "operator": "Exists"}]},
            'tolerations lack {"operator": "Exists"}',
        ),
        ({"nodeSelector": EVERYWHERE, "tolerations": [{"key": "control"}]}, {"tolerations": []}, "tolerations lack"),
        ({"nodeSelector": EVERYWHERE, "tolerations": [{"key": "control"}]}, {}, ""),
    ],
    ids=["same", "more nodes", "fewer", "others", "all before", "fewer taints", "no taints", "more taints"],
)
def test_no_node_loses_a_published_proxy(pod: dict[str, t.Any], proxy: dict[str, t.Any], words: str) -> None:
    there = daemon_set(2, 2, **pod)
    if not words:
        refuse_published_removal(spec_with(enabled=True, **proxy), RESOURCE, there)
        return
    for published in (True, False):  # it has to be taken out of the status first
        with pytest.raises(Refused) as refused:
            refuse_published_removal(spec_with(enabled=True, published=published, **proxy), RESOURCE, there)
        assert f"takes the proxy away from nodes ({words}" in str(refused.value)
        assert "set spec.leaderProxy.published to false" in str(refused.value)
    refuse_published_removal(spec_with(enabled=True, **proxy), {"status": {"endpoints": {}}}, there)


@pytest.mark.parametrize(
    ("new", "former", "expected"),
    [
        ({"operator": "Exists"}, {"key": "a", "value": "b", "effect": "NoExecute"}, True),
        ({"operator": "Exists", "effect": "NoSchedule"}, {"key": "a", "effect": "NoSchedule"}, True),
        ({"operator": "Exists", "effect": "NoSchedule"}, {"key": "a"}, False),
        ({"key": "a", "operator": "Exists"}, {"key": "a", "operator": "Equal", "value": "b"}, True),
        ({"key": "a", "value": "b"}, {"key": "a", "operator": "Equal", "value": "b"}, True),
        ({"key": "a", "value": "b"}, {"key": "a", "operator": "Exists"}, False),
        ({"key": "a", "value": "b"}, {"key": "a", "value": "c"}, False),
        ({"key": "a"}, {"key": "b"}, False),
        ({"key": "a"}, {"operator": "Exists"}, False),
        ({"key": "a", "tolerationSeconds": 60}, {"key": "a"}, False),
        ({"key": "a", "tolerationSeconds": 60}, {"key": "a", "tolerationSeconds": 30}, True),
        ({"key": "a", "tolerationSeconds": 30}, {"key": "a", "tolerationSeconds": 60}, False),
    ],
)
def test_what_a_toleration_accepts(new: dict[str, t.Any], former: dict[str, t.Any], expected: bool) -> None:
    assert tolerates_as_much(new, former) is expected
    assert tolerates_as_much(former, former)


CHASSIS_ALONE = {"southbound": {"service": {"type": "NodePort"}}}


@pytest.mark.parametrize(
    ("more", "proxy", "expected"),
    [
        ({}, {"published": False}, False),
        (CHASSIS_ALONE, {"published": False}, True),
        (CHASSIS_ALONE, {"published": True}, False),
        (CHASSIS_ALONE, {"enabled": False, "published": False}, False),
        (
            {"southbound": {"service": {"type": "NodePort", "allowPlaintext": True}}, "tls": {"enabled": False}},
            {"published": False},
            False,
        ),
    ],
    ids=["addresses of Services", "exposed for chassis", "published", "off", "without TLS"],
)
def test_who_has_no_other_address_is_told(more: dict[str, t.Any], proxy: dict[str, t.Any], expected: bool) -> None:
    spec = spec_with(more, **{"enabled": True, **proxy})
    assert ("has no other address of it" in unpublished_warning(spec)) is expected
    if spec.leader_proxy.enabled:
        _endpoints, (warning,) = await_leader_proxy(cluster_with(daemon_set(2, 1)), spec, {}, Deadline(0.1))
        has_other = more is not CHASSIS_ALONE or not spec.leader_proxy.published
        assert ("has no other address of it" not in warning) is has_other


Pod = dict[str, t.Any]


def pod(*, relay: bool = True, revision: str = "new", ready: bool = True) -> Pod:
    return {
        "metadata": {"labels": {"controller-revision-hash": revision}},
        "spec": {"initContainers": [{"name": "relay"}] if relay else []},
        "status": {"containerStatuses": [{"name": "database", "ready": ready}]},
    }


@pytest.mark.parametrize(
    ("others", "awaited"),
    [
        pytest.param({"b": pod(), "c": pod()}, ["b", "c"], id="chassis go there"),
        pytest.param({"b": pod(relay=False)}, [], id="the member serves chassis itself"),
        pytest.param({"b": pod(revision="old")}, [], id="its own restart comes"),
        pytest.param({"b": pod(ready=False)}, [], id="its member serves nobody"),
    ],
)
def test_which_relays_chassis_need(others: dict[str, Pod], awaited: list[str]) -> None:
    assert relays_to_await({"a": pod(revision="old"), **others}, ["a"], "new") == awaited


TEMPLATE = "its pod template has changed"


@pytest.mark.parametrize(
    ("connected", "reason", "rolls"),
    [(True, TEMPLATE, True), (False, TEMPLATE, False), (True, "", False)],
    ids=["another template", "a broken member with another template", "another reason"],
)
def test_a_member_that_is_mended_waits_for_nobody(connected: bool, reason: str, rolls: bool) -> None:
    found = {"a": Observation("a", connected=connected, restart_reason=reason)}
    assert is_rollout(["a"], found) is rolls
    assert not is_rollout(["a", "b"], found)


class Members:
    """Pods a and b; their relays answer one after the other of what is given, the last one for ever."""

    def __init__(self, *answers: ExecResult | OvnError, unrecoverable: bool = False) -> None:
        self.cluster, self.namespace, self.unrecoverable = FakeCluster(), "x", unrecoverable
        self.answers = list(answers)
        self.asked: list[t.Any] = []
        t.cast("t.Any", self.cluster).exec = self._exec

    def _exec(self, *where: t.Any, **_options: t.Any) -> ExecResult:
        self.asked.append(where)
        answer = self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]
        if isinstance(answer, OvnError):
            raise answer
        return answer

    def pods(self) -> dict[str, Pod]:
        return {"a": pod(), "b": pod(), "old": pod(relay=False)}

    def assess_startups(self, names: t.Sequence[str], _pods: t.Any) -> dict[str, PodStartup]:
        return dict.fromkeys(names, PodStartup("Container relay waits (CrashLoopBackOff)", self.unrecoverable))


SERVES, WAITS = ExecResult(0, "", ""), ExecResult(1, "", "The relay has no member.\n")


@pytest.fixture(autouse=True)
def at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(leader_proxy, "_POLL_SECONDS", 0.01)


def wait(members: Members, *names: str, seconds: float = 5) -> bool:
    return Relays(t.cast("t.Any", members)).wait(names, Deadline(seconds))


def test_the_relay_itself_is_asked() -> None:
    members = Members(SERVES)
    assert not wait(members, "a", "old", "away")
    assert members.asked == [("x", "a", "relay", ["sh", f"{manifests.SCRIPTS}/{manifests.RELAY_LAUNCHER}", "ready"])]


def test_whether_it_took_time() -> None:
    assert wait(Members(WAITS, OvnError("the node is busy"), SERVES), "a")
    assert not wait(Members(WAITS))


def test_one_that_serves_nobody_ends_the_run() -> None:
    with pytest.raises(TimedOut) as e:
        wait(Members(WAITS), "a", seconds=0.1)
    text = str(e.value)
    assert text.startswith(
        "The relay in pod a serves no chassis after 0 s, so this run restarts no other pod: The relay has no member."
    )
    assert text.endswith("See kubectl -n x logs a -c relay, then run again.")


def test_one_that_will_never_start_ends_the_run_at_once() -> None:
    with pytest.raises(Refused, match=r"does not start.*CrashLoopBackOff.*Correct that, then run again\."):
        wait(Members(WAITS, unrecoverable=True), "a", seconds=60)

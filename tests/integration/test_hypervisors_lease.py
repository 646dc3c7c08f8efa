"""Two runs of ovn_hypervisors at once: one works, the other one is refused or waits."""

from __future__ import annotations

import concurrent.futures
import threading
import time
import typing as t

import pytest
from _hypervisors import HYPERVISOR, Hypervisors, actions
from conftest import MakeCluster, run

from ansible_collections.c5c3.ovn.plugins.module_utils._base.errors import Refused
from ansible_collections.c5c3.ovn.plugins.module_utils._hypervisors.desired import (
    DesiredHypervisors,
    desired_from_params,
)
from ansible_collections.c5c3.ovn.plugins.module_utils._hypervisors.observed_state import (
    ObservedHypervisors,
    read_state,
)
from ansible_collections.c5c3.ovn.plugins.module_utils._hypervisors.removal import ChassisRemoval
from ansible_collections.c5c3.ovn.plugins.module_utils._hypervisors.run import Hypervisors as Rollout
from ansible_collections.c5c3.ovn.plugins.module_utils._hypervisors.task import AbsentHypervisors
from ansible_collections.c5c3.ovn.plugins.module_utils._kubernetes.client import AUTH_ARG_SPEC, Cluster

OTHER = {"bridgeMappings": [{"physicalNetwork": "physnet1", "bridge": "br-other"}]}


@pytest.fixture(autouse=True)
def nodes(hypervisors: Hypervisors) -> None:
    for number in (1, 2):
        hypervisors.node(f"worker-{number}", f"192.0.2.2{number}")


def leases(hypervisors: Hypervisors) -> dict[str, t.Any]:
    items = hypervisors.get(f"/apis/coordination.k8s.io/v1/namespaces/{hypervisors.namespace}/leases")["items"]
    return {item["metadata"]["name"]: item for item in items}


def holder(hypervisors: Hypervisors) -> str | None:
    return leases(hypervisors)["ovn-hypervisors"]["spec"].get("holderIdentity") or None


def work(hypervisors: Hypervisors) -> None:
    """As another run that is in the middle of something."""
    now = time.strftime("%Y-%m-%dT%H:%M:%S.000000Z", time.gmtime())
    spec = {"holderIdentity": "somebody on host process 1", "leaseDurationSeconds": 600, "renewTime": now}
    place = f"/apis/coordination.k8s.io/v1/namespaces/{hypervisors.namespace}/leases"
    body = {"metadata": {"annotations": {"ovn.c5c3.io/step": "move every bridge"}}, "spec": spec}
    if "ovn-hypervisors" in leases(hypervisors):
        hypervisors.server.request("PATCH", f"{place}/ovn-hypervisors", body)
    else:
        body["metadata"]["name"] = "ovn-hypervisors"
        hypervisors.server.request("POST", place, body)


def test_another_run_is_named(hypervisors: Hypervisors) -> None:
    hypervisors()
    before = hypervisors.versions()
    work(hypervisors)
    for options in ({"spec": OTHER}, {"state": "absent"}):
        refused = hypervisors(may_fail=True, **options)
        assert refused.failed
        for words in ("somebody on host process 1", "move every bridge", "break_lock", "ovn-hypervisors", "namespace"):
            assert words in refused["msg"], options
    assert hypervisors.versions() == before
    assert holder(hypervisors) == "somebody on host process 1"
    # Who has nothing to change disturbs nobody.
    assert not hypervisors()["changed"]
    assert hypervisors(spec=OTHER, break_lock=True)["changed"]
    assert holder(hypervisors) is None
    work(hypervisors)
    assert hypervisors(state="absent", break_lock=True)["changed"]
    assert not leases(hypervisors)


def test_no_lease_where_nothing_is_changed(hypervisors: Hypervisors) -> None:
    assert hypervisors(check=True)["changed"]
    assert not hypervisors(state="absent")["changed"]
    assert not leases(hypervisors)
    hypervisors()
    before = leases(hypervisors)
    for check in (False, True):
        again = hypervisors(check=check)
        assert not again["changed"]
        assert again["requests"] <= 13
    assert hypervisors(check=True, spec=OTHER)["changed"]
    assert hypervisors(check=True, state="absent")["changed"]
    assert leases(hypervisors) == before


def test_it_is_given_back_after_a_failure(hypervisors: Hypervisors) -> None:
    late = hypervisors(may_fail=True, wait=True, wait_timeout=1)
    assert "were not ready" in late["msg"]
    assert holder(hypervisors) is None
    assert hypervisors(spec=OTHER)["changed"]


def test_two_runs_at_the_same_time(hypervisors: Hypervisors) -> None:
    """Each way ends with the objects of one specification, and never with some of both."""
    for number in range(60):
        hypervisors.node(f"node-{number:02}", f"198.51.100.{number + 1}")
    wishes: list[dict[str, t.Any]] = [{}, OTHER]
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        ran = list(pool.map(lambda spec: hypervisors(spec=spec, may_fail=True), wishes))
    for one in ran:
        assert not one.failed or "Another run" in one["msg"]
    won = [spec for spec, one in zip(wishes, ran) if not one.failed]
    assert won
    (settled,) = [spec for spec in won if not hypervisors(spec=spec, check=True)["changed"]]
    assert not hypervisors(spec=settled)["changed"]
    assert holder(hypervisors) is None


def looked(hypervisors: Hypervisors) -> tuple[Cluster, DesiredHypervisors, ObservedHypervisors]:
    """As far as a run comes before it takes the Lease."""
    module = dict.fromkeys(
        (*AUTH_ARG_SPEC, *DesiredHypervisors._fields, "private_key", "certificate", "ca_certificate")
    )
    options = {
        "name": "ovn",
        "state": "present",
        "spec": {"tls": {"enabled": False}},
        "southbound": ["tcp:127.0.0.1:1"],
    }
    times = {"wait": False, "wait_timeout": 5.0, "break_lock": False, "force_conflicts": False}
    place = {"kubeconfig": hypervisors.server.kubeconfig, "namespace": hypervisors.namespace}
    cluster = Cluster({**module, **place})
    wanted = desired_from_params({**module, **place, **options, **times}, cluster.server, "/tmp")
    return cluster, wanted, read_state(cluster, wanted.name, wanted.namespace)


def test_a_run_knows_what_another_one_did_before_the_lease_was_taken(hypervisors: Hypervisors) -> None:
    hypervisors(spec=OTHER)
    first, second = looked(hypervisors), looked(hypervisors)
    hypervisors.node("worker-3", "192.0.2.23")
    hypervisors()
    Rollout(*first, check_mode=False).run()
    assert "worker-3" in hypervisors.settings()["_nodes"]
    hypervisors.node("worker-4", "192.0.2.24")
    hypervisors()
    AbsentHypervisors(*second, check_mode=False).run()
    assert hypervisors.chassis() == {}
    assert not leases(hypervisors)


def test_absent_leaves_what_another_run_has_taken_over(
    hypervisors: Hypervisors, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With `break_lock`, while this one waited for pods."""
    hypervisors()
    monkeypatch.setattr(ChassisRemoval, "run", lambda *_arguments, **_options: work(hypervisors))
    with pytest.raises(Refused, match="Another run acquired the Lease"):
        AbsentHypervisors(*looked(hypervisors), check_mode=False).run()
    assert sorted(hypervisors.settings()["_nodes"]) == ["worker-1", "worker-2"]
    assert holder(hypervisors) == "somebody on host process 1"


def test_what_nodes_tell_is_written_under_the_lease(hypervisors: Hypervisors, raft_cluster: MakeCluster) -> None:
    """Nothing is to be done until a node registers, and then another run is at work."""
    (endpoint,) = raft_cluster(1, "southbound").endpoints
    hypervisors.server.request("PATCH", "/api/v1/nodes/worker-2", {"metadata": {"labels": dict.fromkeys(HYPERVISOR)}})
    options = {"southbound": [endpoint], "spec": {"encapsulation": {"interface": "eth1"}}, "wait_timeout": 20}
    hypervisors(**options)
    hypervisors.pods_are_ready(1)
    (token,) = hypervisors.settings()["_default"]["cms_options"]

    def register() -> None:
        work(hypervisors)
        mark = f'other_config:ovn-cms-options="{token}"'
        add = ("chassis-add", "worker-1", "geneve", "198.51.100.21", "--", "set", "Chassis", "worker-1", mark)
        run("ovn-sbctl", f"--db={endpoint}", "--timeout=20", *add)

    threading.Timer(4, register).start()
    refused = hypervisors(may_fail=True, wait=True, **options)
    assert "somebody on host process 1" in refused["msg"]
    assert hypervisors.chassis() == {}
    done = hypervisors(wait=True, break_lock=True, **options)
    assert actions(done)["OVNChassis worker-1"] == "created"
    assert not hypervisors(wait=True, **options)["changed"]


def test_absent_after_the_namespace(hypervisors: Hypervisors) -> None:
    """There is no place for a Lease any more, and nobody who could want one."""
    hypervisors()
    # Without its controller a namespace is only marked.
    hypervisors.server.request("DELETE", f"/api/v1/namespaces/{hypervisors.namespace}")
    assert hypervisors(state="absent")["changed"]
    assert hypervisors.chassis() == {}

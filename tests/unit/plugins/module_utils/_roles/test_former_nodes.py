"""Which nodes may still use a certificate of a CA that is to be retired."""

from __future__ import annotations

import typing as t

import pytest

from ansible_collections.c5c3.ovn.plugins.module_utils._api.names import labels
from ansible_collections.c5c3.ovn.plugins.module_utils._api.spec import parse_spec
from ansible_collections.c5c3.ovn.plugins.module_utils._manifests.hypervisor_pods import controller_pod
from ansible_collections.c5c3.ovn.plugins.module_utils._roles.former_nodes import former_nodes

Object = dict[str, t.Any]
NEW = "-----BEGIN CERTIFICATE-----\nYmI=\n-----END CERTIFICATE-----\n"
FORMER = "-----BEGIN CERTIFICATE-----\nYWE=\n-----END CERTIFICATE-----\n"
CENTRAL = "-----BEGIN CERTIFICATE-----\nY2M=\n-----END CERTIFICATE-----\n"


def template(issuer: str = NEW, certificates: str = "own") -> Object:
    spec = parse_spec({"tls": {"enabled": True, "nodeCertificates": certificates}}, name="ovn", namespace="x")
    return controller_pod(spec, "ovn-tls", issuer if certificates == "own" else "")


def pod(
    issuer: str = NEW, *, ready: bool = True, certificates: str = "own", phase: str = "Running", **more: str
) -> Object:
    metadata = {"name": "ovn-controller-x", "namespace": "x", "labels": labels("ovn", "controller"), **more}
    conditions = [{"type": "Ready", "status": "True" if ready else "False"}]
    spec = {**template(issuer, certificates), "nodeName": "a"}
    return {
        "kind": "Pod",
        "metadata": metadata,
        "spec": spec,
        "status": {"phase": phase, "conditions": conditions},
    }


def daemon_set(issuer: str = NEW, certificates: str = "own", **status: int) -> Object:
    numbers = {"desiredNumberScheduled": 2, "updatedNumberScheduled": 2, "numberReady": 2, "numberMisscheduled": 0}
    metadata = {"name": "ovn-controller", "namespace": "x", "labels": labels("ovn", "controller"), "generation": 3}
    spec = {"template": {"spec": template(issuer, certificates)}}
    return {
        "kind": "DaemonSet",
        "metadata": metadata,
        "spec": spec,
        "status": {**numbers, "observedGeneration": 3, **status},
    }


POD, DAEMON_SET = "Pod x/ovn-controller-x on node a ", "DaemonSet x/ovn-controller "


@pytest.mark.parametrize(
    ("one", "reason"),
    [
        pytest.param(pod(), "", id="ready"),
        pytest.param(pod(FORMER), f"{POD}has another CA", id="not replaced yet"),
        pytest.param(pod(""), f"{POD}does not name the CA that signs", id="started by a run without the CA"),
        pytest.param(
            pod(ready=False), f"{POD}is not ready", id="without a certificate of the new CA, or on a dead node"
        ),
        pytest.param(pod(deletionTimestamp="2026-01-01T00:00:00Z"), f"{POD}is terminating", id="on a dead node"),
        pytest.param(pod(FORMER, phase="Failed"), "", id="ended"),
        pytest.param(
            pod(ready=False, certificates="shared"), "", id="that of the Secret, which is looked at elsewhere"
        ),
        pytest.param({**pod(FORMER), "metadata": {"name": "y", "namespace": "x"}}, "", id="a pod of others"),
        pytest.param(daemon_set(), "", id="rolled out"),
        pytest.param(daemon_set(FORMER), f"{DAEMON_SET}has another CA", id="no run since the CA was replaced"),
        pytest.param(daemon_set(certificates="shared", numberReady=0), "", id="shared"),
        pytest.param(daemon_set(observedGeneration=2), f"{DAEMON_SET}was not observed by", id="changed just now"),
        pytest.param(daemon_set(numberReady=1), f"{DAEMON_SET}is rolled out on 1 of 2 nodes", id="not ready"),
        pytest.param(daemon_set(updatedNumberScheduled=1), f"{DAEMON_SET}is rolled out on 1 of 2", id="not replaced"),
        pytest.param(
            daemon_set(numberMisscheduled=1), f"{DAEMON_SET}has pods on 1 nodes", id="a taint that came later"
        ),
    ],
)
def test_who_needs_the_former_ca(one: Object, reason: str) -> None:
    found = former_nodes([{"resources": []}, {"resources": [one]}], CENTRAL + NEW)
    assert len(found) == bool(reason)
    assert all(text.startswith(reason) for text in found)


def test_a_ca_that_stays_is_no_problem() -> None:
    assert former_nodes([{"resources": [pod(FORMER), daemon_set(FORMER)]}], CENTRAL + NEW + FORMER) == []
    assert len(former_nodes([{"resources": [pod(), daemon_set()]}], "")) == 2

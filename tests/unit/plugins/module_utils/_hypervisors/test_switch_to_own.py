"""What has to be right before nodes that share a certificate get their own."""

from __future__ import annotations

import types
import typing as t

import pytest

from ansible_collections.c5c3.ovn.plugins.module_utils._api.spec import parse_spec
from ansible_collections.c5c3.ovn.plugins.module_utils._hypervisors.chassis_names import ConfirmedNames
from ansible_collections.c5c3.ovn.plugins.module_utils._hypervisors.desired import DesiredHypervisors
from ansible_collections.c5c3.ovn.plugins.module_utils._hypervisors.observed_state import ObservedHypervisors
from ansible_collections.c5c3.ovn.plugins.module_utils._hypervisors.plan import HypervisorPlan
from ansible_collections.c5c3.ovn.plugins.module_utils._hypervisors.southbound import Registry
from ansible_collections.c5c3.ovn.plugins.module_utils._hypervisors.switch_to_own import (
    SIGNING_ACCESSES,
    is_switch,
    switch_problems,
    without_granted,
)

REGISTRY = Registry({}, {}, 0)
AUTHORITIES = ("v1", "ConfigMap", "net", "ovn-chassis-ca")


def observed(index: t.Mapping[t.Any, t.Any]) -> ObservedHypervisors:
    return ObservedHypervisors("ovn", "net", dict(index), [], {}, None, foreign_config=False)


def desired(*, signs: bool = True, authorities: str = "CA", own: bool = True) -> DesiredHypervisors:
    tls = {"enabled": True, "nodeCertificates": "own" if own else "shared"}
    spec = parse_spec({"tls": tls}, name="ovn", namespace="net")
    values = {
        "spec": spec,
        "namespace": "net",
        "has_node_certificates": own,
        "signer": object() if signs else None,
        "authorities": authorities,
        "tls_secret": "ovn-tls",
    }
    return t.cast(DesiredHypervisors, types.SimpleNamespace(**values))


def plan(registry: Registry | None = REGISTRY, *, named: bool = True, index: t.Any = ()) -> HypervisorPlan:
    certified = ConfirmedNames({}, {} if named else {"a": "Nobody confirmed a."})
    return HypervisorPlan(observed(index), {}, [], frozenset(), {}, registry, certified)


@pytest.mark.parametrize(
    ("wanted", "planned", "more", "words"),
    [
        pytest.param(desired(), plan(), {}, "", id="all is well"),
        pytest.param(desired(), plan(None), {}, "The Southbound database was not asked", id="nobody asked"),
        pytest.param(desired(), plan(named=False), {}, "Nobody confirmed a.", id="a name"),
        pytest.param(desired(), plan(), {"unchecked": "No relay answers."}, "No relay answers.", id="no relay"),
        pytest.param(
            desired(), plan(), {"denied": SIGNING_ACCESSES[3::2]}, "is approve signers, sign signers.", id="no rights"
        ),
        pytest.param(desired(authorities=""), plan(), {}, "Nodes would trust no CA", id="no CA"),
        pytest.param(desired(authorities=""), plan(index={AUTHORITIES: {}}), {}, "", id="a CA of before"),
        pytest.param(desired(signs=False), plan(None, named=False), {}, "", id="another program signs"),
        pytest.param(
            desired(signs=False, authorities=""), plan(), {}, "Nodes would trust no CA", id="that, without CA"
        ),
    ],
)
def test_switch_problems(wanted: DesiredHypervisors, planned: HypervisorPlan, more: t.Any, words: str) -> None:
    found = switch_problems(wanted, planned, **{"unchecked": "", "denied": (), **more})
    assert len(found) == bool(words)
    assert words in " ".join(found)
    assert all(one.startswith("Nodes cannot get certificates of their own") for one in found)


@pytest.mark.parametrize(
    ("denied", "expected"),
    [
        pytest.param(SIGNING_ACCESSES, [*SIGNING_ACCESSES[:3], *SIGNING_ACCESSES[3::2]], id="all"),
        pytest.param(SIGNING_ACCESSES[3::2], [], id="allowed for all signers of the domain"),
        pytest.param(SIGNING_ACCESSES[4::2], [], id="allowed for this signer"),
        pytest.param(SIGNING_ACCESSES[3:5], [SIGNING_ACCESSES[3]], id="may sign, not approve"),
    ],
)
def test_without_granted(denied: t.Any, expected: t.Any) -> None:
    assert without_granted(denied) == list(expected)


def workload(*variables: str) -> dict[t.Any, t.Any]:
    container = {"name": "x", "env": [{"name": name, "value": "/x"} for name in variables]}
    manifest = {"spec": {"template": {"spec": {"containers": [container]}}}}
    return {("apps/v1", "DaemonSet", "net", "ovn-controller"): manifest}


@pytest.mark.parametrize(
    ("own", "index", "expected"),
    [
        pytest.param(True, workload("OVN_UNUSED_TLS_DIR"), True, id="shared until now"),
        pytest.param(True, workload("OVN_NODE_TLS_DIR"), False, id="own already"),
        pytest.param(True, {}, False, id="no pods"),
        pytest.param(False, workload(), False, id="shared"),
    ],
)
def test_is_switch(own: bool, index: t.Any, expected: bool) -> None:
    assert is_switch(desired(own=own), observed(index)) is expected

"""What has to be right before nodes that share a certificate get their own."""

from __future__ import annotations

import types
import typing as t

import pytest

from ansible_collections.c5c3.ovn.plugins.module_utils._api.spec import parse_spec
from ansible_collections.c5c3.ovn.plugins.module_utils._hypervisors.chassis_names import ConfirmedNames
from ansible_collections.c5c3.ovn.plugins.module_utils._hypervisors.desired import DesiredHypervisors
from ansible_collections.c5c3.ovn.plugins.module_utils._hypervisors.nodes import Node
from ansible_collections.c5c3.ovn.plugins.module_utils._hypervisors.observed_state import ObservedHypervisors
from ansible_collections.c5c3.ovn.plugins.module_utils._hypervisors.plan import HypervisorPlan
from ansible_collections.c5c3.ovn.plugins.module_utils._hypervisors.settings import default_settings, plan_chassis
from ansible_collections.c5c3.ovn.plugins.module_utils._hypervisors.southbound import Registry
from ansible_collections.c5c3.ovn.plugins.module_utils._hypervisors.switch_to_own import (
    SIGNING_ACCESSES,
    is_switch,
    network_warnings,
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


Object = dict[str, t.Any]
GATEWAYS: Object = {"gateway": {"nodeSelector": {"gateway": "yes"}}}
PORT = {"bridgeMappings": [{"physicalNetwork": "physnet1", "bridge": "br-ex", "ports": ["eth1"]}]}
NO_PORT = {"bridgeMappings": [{"physicalNetwork": "physnet1", "bridge": "br-ex"}]}
UNDERLAY = {"ovs": {"datapathType": "netdev", "underlay": {"bridge": "br-ex", "interface": "eth1"}}}
COMPUTE: tuple[str, Object, Object] = ("compute", {}, {})
BY_LABEL: tuple[str, Object, Object] = ("gw1", {"gateway": "yes"}, {})
BY_ANNOTATION: tuple[str, Object, Object] = ("gw2", {}, {"gateway": "true"})
UNMAPPED = "Gateways without a bridge mapping: nodes "
WITHOUT_PORT = "Bridges without a declared port on nodes "


@pytest.mark.parametrize(
    ("spec", "nodes", "expected"),
    [
        pytest.param({}, [COMPUTE], [], id="neither gateway nor mapping"),
        pytest.param({**GATEWAYS, **PORT}, [COMPUTE, BY_LABEL, BY_ANNOTATION], [], id="a port for all"),
        pytest.param(
            GATEWAYS, [COMPUTE, BY_LABEL, BY_ANNOTATION], [f"{UNMAPPED}gw1, gw2 (spec.gateway"], id="no mapping"
        ),
        pytest.param(
            GATEWAYS, [("gw1", {"gateway": "yes"}, {"gateway": "false"})], [], id="no gateway by its annotation"
        ),
        pytest.param(
            PORT,
            [("gw1", {}, {"gateway": "true", "bridge-mappings": ""})],
            [f"{UNMAPPED}gw1 "],
            id="an empty annotation",
        ),
        pytest.param(
            GATEWAYS, [("gw1", {"gateway": "yes"}, {"bridge-mappings": "physnet1:br-ex:eth1"})], [], id="an annotation"
        ),
        pytest.param(
            NO_PORT,
            [COMPUTE, BY_ANNOTATION],
            [
                f"{WITHOUT_PORT}compute, gw2: br-ex (physnet1). Unless somebody else adds one there (a bond, DPDK), what is sent"
            ],
            id="no port, no matter which node",
        ),
        pytest.param(
            PORT,
            [COMPUTE, ("other", {}, {"bridge-mappings": "physnet1:br-ex:eth1,physnet2:br-vlan"})],
            [f"{WITHOUT_PORT}other: br-vlan (physnet2)."],
            id="one mapping of one node",
        ),
        pytest.param(
            NO_PORT,
            [("a", {}, {"chassis-settings": '{"bridges": [{"name": "br-ex", "ports": ["eth1"]}]}'})],
            [],
            id="a port of a declared bridge",
        ),
        pytest.param({**NO_PORT, **UNDERLAY}, [COMPUTE], [], id="the bridge of the underlay"),
        pytest.param({**NO_PORT, "ovs": {"mode": "host"}}, [COMPUTE], [], id="bridges of another owner"),
        pytest.param(
            {**GATEWAYS, "ovs": {"mode": "host"}},
            [BY_LABEL],
            [f"{UNMAPPED}gw1 "],
            id="no mapping in an Open vSwitch of others",
        ),
    ],
)
def test_nodes_that_reach_no_provider_network(
    spec: Object, nodes: list[tuple[str, Object, Object]], expected: list[str]
) -> None:
    parsed = parse_spec(spec, name="ovn", namespace="net")
    default = default_settings(parsed, ["ssl:192.0.2.99:6642"])
    found = [
        Node(
            *(name, f"uid-{name}", {"node-role.kubernetes.io/hypervisor": "", **labels}),
            {f"ovn.c5c3.io/{key}": value for key, value in annotations.items()},
            (f"192.0.2.{number}",),
            ready=True,
        )
        for number, (name, labels, annotations) in enumerate(nodes, 1)
    ]
    warnings = network_warnings(parsed, default, plan_chassis(found, parsed, default, {}))
    assert len(warnings) == len(expected)
    for warning, text in zip(warnings, expected):
        assert warning.startswith(text)


def test_many_nodes_are_counted() -> None:
    parsed = parse_spec(NO_PORT, name="ovn", namespace="net")
    default = default_settings(parsed, ["ssl:192.0.2.99:6642"])
    found = [Node(f"n{number}", "", {}, {}, (f"192.0.2.{number}",), ready=True) for number in range(1, 41)]
    (warning,) = network_warnings(parsed, default, plan_chassis(found, parsed, default, {}))
    assert "n10 and 30 more: br-ex (physnet1)." in warning
    assert warning.endswith(
        "The chassis agent knows what is on the bridge: see its log (kubectl logs PODNAME -c agent)."
    )

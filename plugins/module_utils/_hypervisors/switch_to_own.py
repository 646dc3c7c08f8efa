# SPDX-License-Identifier: GPL-3.0-or-later
"""The switch from one certificate for all nodes to one for each: what has to be right before the first pod is replaced, which ends ovn-controller of its node
until its certificate is there. Pure.
"""

from __future__ import annotations

import typing as t

from .._api.chassis_settings import Settings
from .._base.errors import list_names
from .._base.tls_options import CHASSIS_SIGNER
from .._kubernetes.access_review import Access
from .._manifests.ca_bundle import AUTHORITIES, FOLDER_VARIABLE, environment_of
from .._manifests.hypervisors import CONTROLLER
from .certificates import needs_authorities
from .desired import DesiredHypervisors
from .nodes import BRIDGE_MAPPINGS, GATEWAY
from .settings import Chassis

# Nodes whose desired state lets no packet out to a provider network: neither OVN nor Neutron says so. Pure.

if t.TYPE_CHECKING:
    from .._api.spec import ClusterSpec


def network_warnings(spec: ClusterSpec, default: Settings, chassis: t.Iterable[Chassis]) -> list[str]:
    """Return a message for the gateways without a bridge mapping, and one for the nodes of each set of bridges without a declared port."""
    is_host = spec.ovs.mode == "host"  # bridges and their ports are up to the owner of that Open vSwitch
    unmapped: list[str] = []
    without_port: dict[str, list[str]] = {}
    for one in chassis:
        if one.own.get("gateway", default.get("gateway")) and not one.bridge_mappings:
            unmapped.append(one.node.name)
        bridges = [] if is_host else _bridges_without_port(spec, default, one)
        if bridges:
            without_port.setdefault(", ".join(bridges), []).append(one.node.name)
    found = []
    if unmapped:
        unless = ", unless somebody else sets ovn-bridge-mappings there" if is_host else ""
        found.append(
            f"Gateways without a bridge mapping: nodes {list_names(unmapped)} (spec.gateway.nodeSelector, or annotation {GATEWAY}). Routers that are scheduled "
            f"there reach no provider network. Set spec.bridgeMappings or the annotation {BRIDGE_MAPPINGS}{unless}, or let them be no gateways."
        )
    found += [
        f"Bridges without a declared port on nodes {list_names(nodes)}: {bridges}. Unless somebody else adds one there (a bond, DPDK), what is sent to these "
        f"provider networks stays on the node. Name the port in spec.bridgeMappings (ports), or in the annotation {BRIDGE_MAPPINGS} (physnet1:br-ex:eth1). "
        "The chassis agent knows what is on the bridge: see its log (kubectl logs PODNAME -c agent)."
        for bridges, nodes in without_port.items()
    ]
    return found


def _bridges_without_port(spec: ClusterSpec, default: Settings, one: Chassis) -> list[str]:
    """Return the bridges of its mappings with no declared port, each with its network. Ports are devices: a bond or a DPDK port others add."""
    declared = one.own.get("bridges", default.get("bridges")) or []
    with_ports = {bridge.get("name") for bridge in declared if bridge.get("ports")}
    with_ports |= {mapping["bridge"] for mapping in one.bridge_mappings if mapping.get("ports")}
    if spec.ovs.underlay:
        with_ports.add(spec.ovs.underlay.bridge)
    return [
        f"{mapping['bridge']} ({mapping['physical_network']})"
        for mapping in one.bridge_mappings
        if mapping["bridge"] not in with_ports
    ]


if t.TYPE_CHECKING:
    from .observed_state import ObservedHypervisors
    from .plan import HypervisorPlan

_REQUESTS, _GROUP = "certificatesigningrequests", "certificates.k8s.io"
# A right for all signers of our domain does as well as that for ours alone.
_DOMAIN = f"{CHASSIS_SIGNER.partition('/')[0]}/*"
# What who signs needs: the first three for all requests, the others for one of the two names.
SIGNING_ACCESSES = (
    Access(_GROUP, _REQUESTS, "list", "", ""),
    Access(_GROUP, f"{_REQUESTS}/approval", "patch", "", ""),
    Access(_GROUP, f"{_REQUESTS}/status", "patch", "", ""),
    *(Access(_GROUP, "signers", verb, name, "") for verb in ("approve", "sign") for name in (CHASSIS_SIGNER, _DOMAIN)),
)


def without_granted(denied: t.Collection[Access]) -> list[Access]:
    """Return the denied ones of `SIGNING_ACCESSES` that the user needs: a signer may be denied by one of its names."""
    granted = [one for one in SIGNING_ACCESSES if one not in denied]
    verbs = {one.verb for one in granted if one.resource == "signers"}
    return [one for one in denied if one.name != _DOMAIN and not (one.resource == "signers" and one.verb in verbs)]


def is_switch(desired: DesiredHypervisors, observed: ObservedHypervisors) -> bool:
    """Return whether there are pods that have no certificate of their own node, and nodes are to get one."""
    workload = observed.daemon_set(CONTROLLER)
    return desired.has_node_certificates and workload is not None and FOLDER_VARIABLE not in environment_of(workload)


def switch_problems(
    desired: DesiredHypervisors, plan: HypervisorPlan, unchecked: str, denied: t.Sequence[Access]
) -> list[str]:
    """Return why the switch must not begin. `unchecked`: why no relay was asked for the CA, empty if one was; `denied`: what this user may not do.

    If another program signs, it decides who gets a certificate, and this run knows nothing against it.
    """
    problems = []
    if desired.signer is not None:
        if plan.registry is None:
            problems.append(
                "The Southbound database was not asked, so it is not known whether other chassis have the names of the nodes, and whether relays let in the CA "
                "that signs. Give this control node access to it (private_key, certificate and ca_certificate, or tls_secret), then run again."
            )
        else:
            problems += [unchecked] if unchecked else []
            problems += sorted((plan.certified.problems if plan.certified else {}).values())
        if denied:
            accesses = ", ".join(f"{one.verb} {one.resource}" for one in denied)
            problems.append(
                f"This user may not sign for nodes: what is missing in {_GROUP} is {accesses}. Give it the rights of docs/kubernetes-rights.md."
            )
    if needs_authorities(desired) and not desired.authorities and not _has_authorities(plan):
        problems.append(
            f"Nodes would trust no CA, as Secret {desired.namespace}/{desired.tls_secret} gives none. Run c5c3.ovn.hypervisors or c5c3.ovn.site, whose role "
            "ovn_pki writes it, with a user who may read it."
        )
    if problems:
        problems[0] = (
            "Nodes cannot get certificates of their own (tls.nodeCertificates own) yet: the first of them would be without ovn-controller. "
            f"{problems[0]}"
        )
    return problems


def _has_authorities(plan: HypervisorPlan) -> bool:
    return ("v1", "ConfigMap", plan.observed.namespace, AUTHORITIES) in plan.observed.index

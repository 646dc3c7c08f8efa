# SPDX-License-Identifier: GPL-3.0-or-later
"""Which chassis a hypervisor cluster has to have, and which of them have to go: the desired state, compared with the observed one. Pure."""

from __future__ import annotations

import typing as t

from .._api.chassis_settings import Settings
from .._api.service_accounts import account_change, accounts_in_use
from .._base.errors import InvalidInput
from .._manifests.hypervisors import OVS
from .chassis_names import ConfirmedNames, NameEvidence, common_name_problems, confirm_names
from .desired import DesiredHypervisors
from .metadata_agents import gateway_problems
from .nodes import select_nodes
from .observed_state import ObservedHypervisors
from .ownership import OwnershipEvidence, clashes, orphaned_chassis
from .resources import declared_settings, nodes_of_others
from .settings import Chassis, confirmed_names, default_settings, plan_chassis, recorded_nodes, renames
from .southbound import Registry

MOST_LISTED = 10


class HypervisorPlan(t.NamedTuple):
    """`observed` is the state that it was made from, `known` are the nodes that were hypervisors before.

    `to_remove` maps nodes that are no hypervisors any more to their system ids. `registry` is None if the Southbound database was not asked.
    `certified` says who may have a certificate; None if nodes share one.
    """

    observed: ObservedHypervisors
    default: Settings
    chassis: t.Sequence[Chassis]
    known: frozenset[str]
    to_remove: t.Mapping[str, str]
    registry: Registry | None = None
    certified: ConfirmedNames | None = None

    @property
    def uncertified(self) -> frozenset[str]:
        """Return the nodes whose pods wait for a certificate that nobody signs before their names are confirmed."""
        if self.certified is None or self.registry is None:
            return frozenset()
        return frozenset(self.certified.problems)

    @property
    def system_ids(self) -> set[str]:
        """Return the chassis that remain."""
        return {one.system_id for one in self.chassis}

    @property
    def addressed(self) -> list[Chassis]:
        """Return the chassis whose tunnel addresses are known without the nodes."""
        return [one for one in self.chassis if one.ips is not None]

    @property
    def self_addressed(self) -> list[Chassis]:
        """Return the chassis whose tunnel addresses only the nodes know."""
        return [one for one in self.chassis if one.ips is None]


def plan_hypervisors(desired: DesiredHypervisors, observed: ObservedHypervisors, *, changed: bool) -> HypervisorPlan:
    """Return the plan without the Southbound database; one `InvalidInput` names all problems of a kind. `changed`: the run has changed something."""
    recorded = recorded_nodes(observed.settings)
    known = frozenset({*recorded, *observed.our_chassis})
    nodes = select_nodes(observed.nodes, desired.spec, known=bool(known))
    names = {node.name for node in nodes}
    default = default_settings(desired.spec, desired.southbound)
    declared = {node: declared_settings(resource) for node, resource in observed.chassis.items() if node in names}
    chassis = plan_chassis(nodes, desired.spec, default, declared)
    refuse(renames(chassis, recorded), changed)
    refuse(_switch_problems(desired, observed), changed)
    refuse(gateway_problems(desired.spec, chassis), changed)
    change = account_change(accounts_in_use(desired.spec), observed.index, desired.namespace)
    refuse([change] if change else [], changed)
    if desired.spec.has_node_certificates:
        refuse(common_name_problems(chassis), changed)
    refuse(nodes_of_others(observed.chassis, sorted(names), desired.name, desired.namespace), changed)
    return HypervisorPlan(observed, default, chassis, known, nodes_to_remove(observed, recorded, names))


def _switch_problems(desired: DesiredHypervisors, observed: ObservedHypervisors) -> list[str]:
    """Return why the nodes cannot use their own Open vSwitch: ours runs there, and ends with all chassis alone."""
    if desired.spec.ovs.mode == "managed" or observed.daemon_set(OVS) is None:
        return []
    return [
        f"spec.ovs.mode is host, and DaemonSet {OVS} in namespace {desired.namespace} runs an Open vSwitch of ours: two of them would take each other's "
        "ports out of the kernel. Run with state absent (ovn_hypervisor_state: absent) first, then again as now."
    ]


def with_registry(plan: HypervisorPlan, registry: Registry | None, *, changed: bool) -> HypervisorPlan:
    """Return the plan with what the Southbound database knows: chassis of ours without a record are removed, too. `InvalidInput` if another one clashes."""
    ours = OwnershipEvidence(plan.observed.owner, plan.observed.addresses())
    removed = set(plan.to_remove.values())
    refuse(clashes(plan.chassis, registry, ours, plan.known, removed), changed)
    orphaned = orphaned_chassis(registry, ours, plan.system_ids | removed)
    return plan._replace(registry=registry, to_remove={**orphaned, **plan.to_remove})


def with_confirmed_names(plan: HypervisorPlan, others: t.Collection[str]) -> HypervisorPlan:
    """Return the plan with who may have a certificate. `others` are chassis that are not of this cluster."""
    config = plan.observed.settings
    evidence = NameEvidence(
        plan.observed.owner,
        confirmed_names(config),
        {
            node: settings["system_id"]
            for node, resource in plan.observed.chassis.items()
            if "system_id" in (settings := declared_settings(resource))
        },
        others,
    )
    return plan._replace(certified=confirm_names(plan.chassis, plan.registry, evidence))


def nodes_to_remove(
    observed: ObservedHypervisors, recorded: t.Mapping[str, str], remaining: t.Container[str]
) -> dict[str, str]:
    """Return node to system id of the nodes that have a chassis of ours, but are no hypervisors any more or do not exist."""
    ours = {
        node: (resource.get("spec") or {}).get("systemId") or node for node, resource in observed.our_chassis.items()
    }
    return {node: name for node, name in {**ours, **recorded}.items() if node not in remaining}


def refuse(problems: list[str], changed: bool) -> None:
    """Raise `InvalidInput` with these problems, if there are any. `changed`: the run has changed something."""
    if problems:
        more = f" (and {len(problems) - MOST_LISTED} more problems)" if len(problems) > MOST_LISTED else ""
        nothing = "" if changed else " Nothing was changed."
        raise InvalidInput(f"{' '.join(problems[:MOST_LISTED])}{more}{nothing}", problems=problems)

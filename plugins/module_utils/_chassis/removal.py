# SPDX-License-Identifier: GPL-3.0-or-later
"""`state: absent`: what is ours, and what stays because others use it."""

from __future__ import annotations

import typing as t

from .._base.sentences import list_names
from . import cms_options, external_ids, ownership
from .bridges import Bridge, BridgePlan, BridgePort
from .plan import ChassisPlan, ObservedChassis, put_record

_NAMED = 5  # ports in one sentence


def plan_absent(actual: ObservedChassis) -> ChassisPlan:
    """Return the plan that removes what is ours; `kept` names our bridges with ports of others.

    The integration bridge counts as ours if the name of the chassis or its database does: ovn-controller has made it for these.
    """
    record = ownership.parse_owned(actual.external_ids.get(ownership.KEY))
    keys: dict[str, str | None] = {key: None for key in record.external_ids if key in actual.external_ids}
    config: dict[str, str | None] = {key: None for key in record.other_config if key in actual.other_config}
    stored = actual.external_ids.get(external_ids.CMS_OPTIONS)
    rest, _ours = cms_options.merge(stored, record.cms_options, cms_options.DesiredCmsOptions(), purge=True)
    if rest != stored:
        keys[external_ids.CMS_OPTIONS] = rest
    put_record(keys, actual, ownership.Owned())
    is_chassis = record.external_ids & {external_ids.SYSTEM_ID, external_ids.REMOTE}
    integration = external_ids.integration_bridge(actual.external_ids) if is_chassis else None
    bridges, kept = plan_removal(actual.bridges, actual.ports, integration)
    return ChassisPlan(keys, config, bridges, "absent" if actual.ssl and actual.ssl.ours else None, kept)


def plan_removal(
    bridges: t.Mapping[str, Bridge], ports: t.Mapping[str, BridgePort], integration: str | None = None
) -> tuple[BridgePlan, list[str]]:
    """Return the plan that removes our ports, and our bridges and `integration` without ports of others; and one sentence for each of these that stays."""
    plan = BridgePlan.nothing()
    kept = []
    for name, bridge in bridges.items():
        foreign = sorted(p for p in bridge.ports if p != name and not (ports[p].ours or ports[p].ovn))
        ours = bridge.ours or name == integration
        if ours and not foreign:
            plan.old_bridges.append(name)
            continue
        plan.old_ports.update({p: name for p in sorted(bridge.ports) if ports[p].ours})
        if ours:
            names = list_names(foreign, _NAMED)
            kept.append(
                f"Bridge {name} stays because ports of others are on it: {names}. Delete it when they are gone."
            )
    return plan, kept

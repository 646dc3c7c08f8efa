# SPDX-License-Identifier: GPL-3.0-or-later
"""What stays untouched in an Open vSwitch that belongs to somebody else: their keys, bridges and ports. Pure."""

from __future__ import annotations

import typing as t

from .._base.errors import Refused
from .bridges import Bridge, BridgePlan, DesiredBridge
from .external_ids import BRIDGE, INTEGRATION_BRIDGE, SYSTEM_ID, DesiredValue
from .text import format_value

_UNTOUCHED = (
    "This Open vSwitch belongs to somebody else (preserve_foreign), so that is not changed. Nothing was written."
)


def new_keys(
    column: str, desired: t.Mapping[str, DesiredValue], stored: t.Mapping[str, str], owned: t.Container[str]
) -> dict[str, DesiredValue]:
    """Return the desired keys without those that somebody else has set to the same value; `Refused` if one has another value."""
    foreign = [key for key in desired if key in stored and key not in owned]
    different = [key for key in foreign if not desired[key].matches(stored[key])]
    if different:
        found = ", ".join(
            f"{key} is {format_value(stored[key])}, not {_shown(desired[key])}" for key in sorted(different)
        )
        step = "Give the same values, or remove the keys there"
        if SYSTEM_ID in different:
            step += f"; the chassis can have the name {stored[SYSTEM_ID]} (ovn_system_id, on a node the annotation ovn.c5c3.io/system-id)"
        raise Refused(f"Keys of others are in {column} of the table Open_vSwitch: {found}. {_UNTOUCHED} {step}.")
    return {key: value for key, value in desired.items() if key not in foreign}


def refuse_foreign_bridges(
    plan: BridgePlan, desired: t.Mapping[str, DesiredBridge], bridges: t.Mapping[str, Bridge]
) -> None:
    """Raise `Refused` if the plan changes a bridge of others, or makes one that only a mapping names."""
    missing = sorted(name for name in plan.new_bridges if not desired[name].declared)
    if missing:
        raise Refused(
            f"Bridge {', '.join(missing)} does not exist, and only bridge_mappings names it. In an Open vSwitch of somebody else a bridge is created only "
            "if bridges (ovn_hypervisor_bridges) names it as well. Create it there, name it, or correct the mapping. Nothing was written."
        )
    foreign = {name for name, bridge in bridges.items() if not bridge.ours}
    changes = [f"port {port} on bridge {name}" for port, name in sorted(plan.new_ports.items()) if name in foreign]
    changes += [
        f"datapath type {kind} of bridge {name}" for name, kind in plan.datapath_types.items() if name in foreign
    ]
    if changes:
        raise Refused(
            f"A bridge of others would have to change: {', '.join(changes)}. {_UNTOUCHED} Do that with the tool that made the bridge, then run again."
        )


def watched_bridges(desired: t.Mapping[str, DesiredValue]) -> set[str]:
    """Return the bridges of which it has to be known whether they are there: those that ovn-controller would work on with these external_ids."""
    name = desired.get(BRIDGE, DesiredValue(None)).text
    return {INTEGRATION_BRIDGE, *([name] if name else [])}


def refuse_foreign_integration_bridge(
    keys: t.Mapping[str, str | None], bridges: t.Mapping[str, Bridge], plan: BridgePlan, read: t.Container[str]
) -> None:
    """Raise `Refused` if the bridge that ovn-controller would work on is there before the host is a chassis of ours: it would replace the flows."""
    name = keys.get(BRIDGE) or INTEGRATION_BRIDGE
    if name in bridges or (
        name not in read and name not in plan.new_bridges
    ):  # a key of others that nobody asked for names it
        raise Refused(
            f"Bridge {name} is there already, and is not ours: ovn-controller would replace its flows. {_UNTOUCHED} "
            f"Name another integration bridge, for example {BRIDGE}: br-ovn in external_ids (ovn_hypervisor_external_ids), or remove {name} there."
        )


def _shown(value: DesiredValue) -> str:
    return "absent" if value.text is None else format_value(value.text)

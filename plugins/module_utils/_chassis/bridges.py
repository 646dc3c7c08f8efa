# SPDX-License-Identifier: GPL-3.0-or-later
"""Bridges and their ports: what is missing, what is wrong, what can never work."""

from __future__ import annotations

import socket
import typing as t

from .._base.errors import InvalidInput, OvnError, Refused
from .external_ids import checked_datapath_type
from .text import checked_device

# Network devices that a chassis names as ports but does not have, for ovn_chassis and for the agent on a node.


def refuse_missing_devices(new_ports: t.Mapping[str, str], place: str, next_step: str) -> None:
    """Raise `Refused` if a port has no network device here: a typing error would give a bridge without uplink.

    `new_ports`: port to bridge; `place` is "host" or "node".
    """
    missing = _missing_devices(new_ports)
    if missing:
        places = ", ".join(f"{port} (for bridge {new_ports[port]})" for port in missing)
        raise Refused(f"No such network device on this {place}: {places}. Nothing was written. {next_step}")


def refuse_port_errors(errors: t.Mapping[str, str], bridges: t.Container[str], allow_missing_ports: bool) -> None:
    """Raise `Refused` for a bridge that does not work, and for a port unless `allow_missing_ports`. `errors`: bridge or port to error."""
    fatal = {name: error for name, error in errors.items() if name in bridges or not allow_missing_ports}
    if fatal:
        message = "; ".join(f"{name}: {error}" for name, error in sorted(fatal.items()))
        raise Refused(f"The settings are written, but ovs-vswitchd cannot use all bridges and ports: {message}.")


def _missing_devices(names: t.Iterable[str]) -> list[str]:
    """Return the names without a network device in this process' network namespace."""
    try:
        present = {name for _index, name in socket.if_nameindex()}
    except OSError as e:
        raise OvnError(f"The network devices of this host cannot be listed: {e.strerror}.") from e
    return [name for name in names if name not in present]


# In external_ids of ports that ovn-controller makes and removes.
# Patch ports and tunnels (ovn/controller: patch.c, encaps.c).
OVN_PORT_KEYS = (
    "ovn-localnet-port",
    "ovn-l2gateway-port",
    "ovn-l3gateway-port",
    "ovn-logical-patch-port",
    "ovn-chassis-id",
)


class Bridge(t.NamedTuple):
    """A bridge of the database. `ports` are known for `state: absent` only."""

    datapath_type: str = ""
    ports: frozenset[str] = frozenset()
    ours: bool = False


class BridgePort(t.NamedTuple):
    """A port of the database. `bridge` is empty if an interface of another port (a bond) has the name."""

    bridge: str
    ours: bool = False
    ovn: bool = False  # a patch port of ovn-controller: it comes and goes with the bridge mapping


class DesiredBridge(t.NamedTuple):
    """A bridge of the options. `datapath_type` None keeps that of an existing bridge; a new one gets the type of br-int.

    `declared`: the option `bridges` names it, not a mapping alone.
    """

    datapath_type: str | None = None
    ports: tuple[str, ...] = ()
    declared: bool = True


class BridgePlan(t.NamedTuple):
    new_bridges: dict[str, str]  # name: datapath type
    datapath_types: dict[str, str]
    new_ports: dict[str, str]  # port: bridge
    old_bridges: list[str]
    old_ports: dict[str, str]

    @classmethod
    def nothing(cls) -> BridgePlan:
        return cls({}, {}, {}, [], {})

    @property
    def empty(self) -> bool:
        return not any(self)


def desired_bridges(params: t.Mapping[str, t.Any]) -> dict[str, DesiredBridge]:
    """Return all bridges that the options `bridges` and `bridge_mappings` name, each with its ports, by name; `InvalidInput` if they contradict."""
    types: dict[str, str] = {}
    ports: dict[str, list[str]] = {}
    place: dict[str, str] = {}
    named = [("bridges", b["name"], b) for b in params.get("bridges") or []]
    named += [("bridge_mappings", m["bridge"], m) for m in params.get("bridge_mappings") or []]
    for option, name, entry in named:
        checked_device(f"{option}.{'name' if option == 'bridges' else 'bridge'}", name)
        ports.setdefault(name, [])
        kind = entry.get("datapath_type")
        if kind and types.setdefault(name, checked_datapath_type(f"{option}.datapath_type", kind)) != kind:
            raise InvalidInput(f"{option}: bridge {name} has two datapath types, {types[name]} and {kind}.")
        for port in entry.get("ports") or []:
            checked_device(f"{option}.ports", port)
            if place.setdefault(port, name) != name:
                raise InvalidInput(f"{option}: port {port} is given for two bridges, {place[port]} and {name}.")
            if port not in ports[name]:
                ports[name].append(port)
    for port, name in place.items():
        if port in ports:
            raise InvalidInput(f"bridges: {port} is named as a bridge and as a port of bridge {name}.")
    declared = {name for option, name, _entry in named if option == "bridges"}
    return {name: DesiredBridge(types.get(name), tuple(names), name in declared) for name, names in ports.items()}


def plan_bridges(
    desired: t.Mapping[str, DesiredBridge],
    bridges: t.Mapping[str, Bridge],
    ports: t.Mapping[str, BridgePort],
    default_type: str,
) -> BridgePlan:
    """Return what to create or change; `Refused` where that would move a port. `default_type` is the datapath type of a new bridge without one."""
    plan = BridgePlan.nothing()
    for name, target in desired.items():
        bridge = bridges.get(name)
        if bridge is None:
            if name in ports:
                raise Refused(
                    f"Bridge {name} cannot be created: {_whereabouts(name, ports[name])}. Remove that port or choose another name."
                )
            plan.new_bridges[name] = target.datapath_type or default_type
        elif target.datapath_type and (bridge.datapath_type or "system") != target.datapath_type:
            plan.datapath_types[name] = target.datapath_type
        for port in target.ports:
            present = ports.get(port)
            if present is None:
                plan.new_ports[port] = name
            elif present.bridge != name:
                raise Refused(
                    f"Port {port} is to be on bridge {name}, but {_whereabouts(port, present)}. "
                    f"Moving it would cut traffic: remove it there first (ovs-vsctl del-port {port}), then run again."
                )
    return plan


def _whereabouts(name: str, port: BridgePort) -> str:
    if not port.bridge:
        return f"{name} is already an interface of another port, for example a bond"
    if port.bridge == name:
        return f"{name} is a bridge itself"
    return f"{name} is already a port of bridge {port.bridge}"

# SPDX-License-Identifier: GPL-3.0-or-later
"""The files of the ConfigMap `ovn-chassis`: the settings of all nodes, and what differs on single ones, in the options of ovn_chassis.

Beside those `encapsulation` knows `interface` and `cidr` in place of `ip`; without any of the three the tunnels end at the node's address.
"""

from __future__ import annotations

import typing as t

from .._base.errors import InvalidInput, OvnError
from .._chassis.external_ids import TEXT, ArgumentSpec
from .._chassis.options import CHASSIS_OPTIONS

if t.TYPE_CHECKING:
    from .._chassis.addresses import Address

DEFAULT = "_default"
# For the module, not for the agent: which nodes have a chassis, and where their tunnels end as far as that is known.
NODES = "_nodes"
ADDRESSES = "_addresses"
CONFIRMED = "_confirmed"  # which nodes may have a certificate with which name
# For the agent: {"interval": seconds}, if it may write the status of its OVNChassis.
HEARTBEAT = "_heartbeat"

Settings = dict[str, t.Any]

# The options of ovn_chassis that describe a chassis, and two ways to say where the tunnels end that only the node can resolve.
_OPTIONS: dict[str, ArgumentSpec] = {
    **CHASSIS_OPTIONS,
    "encapsulation": {
        "type": "dict",
        "options": {**CHASSIS_OPTIONS["encapsulation"]["options"], "interface": TEXT, "cidr": TEXT},
    },
}
_MAPS = [option for option, spec in _OPTIONS.items() if spec["type"] == "dict" and "options" not in spec]
_PLACES = ("ip", "interface", "cidr")
_EXPECTED_TYPES: dict[str, tuple[type, str]] = {
    "str": (str, "a text"),
    "int": (int, "a whole number"),
    "bool": (bool, "true or false"),
    "dict": (dict, "an object"),
}


def settings_of(default: Settings, of_node: Settings) -> Settings:
    """Return all settings of one node: an option of the node replaces the whole option; of `encapsulation` and maps, each key for itself."""
    maps = {option: {**(default.get(option) or {}), **(of_node.get(option) or {})} for option in _MAPS}
    merged = {**default, **of_node, **{option: content for option, content in maps.items() if content}}
    encapsulation = dict(default.get("encapsulation") or {})
    own = of_node.get("encapsulation") or {}
    if any(own.get(place) for place in _PLACES):  # the node's own way to say where
        encapsulation = {key: value for key, value in encapsulation.items() if key not in _PLACES}
    merged["encapsulation"] = {**encapsulation, **own}
    return merged


def checked(settings: t.Any, where: str) -> Settings:
    """Return the settings; `InvalidInput` if one has not the shape that it needs. `_chassis` checks their values."""
    if not isinstance(settings, dict):
        raise InvalidInput(
            f'{where}: a JSON object is expected, like {{"gateway": true}}, not {_format_value(settings)}.'
        )
    for option, value in settings.items():
        problem = _problem(option, value)
        if problem:
            raise InvalidInput(f"{where}: {problem}.")
    return settings


def _problem(option: str, value: t.Any) -> str | None:
    if option not in _OPTIONS:
        return f"{_format_value(option)} is no setting of a node; there are {', '.join(sorted(_OPTIONS))}"
    problem = _misshapen(option, value, _OPTIONS[option])
    given = [place for place in _PLACES if value.get(place)] if option == "encapsulation" and not problem else []
    return f"encapsulation names {' and '.join(given)}, which exclude each other" if len(given) > 1 else problem


def _misshapen(name: str, value: t.Any, spec: ArgumentSpec) -> str | None:
    """Return what is wrong with the shape of a value; None if nothing is. Ansible is more lenient: it converts."""
    if spec["type"] != "list":
        kind, expected = _EXPECTED_TYPES[spec["type"]]
        fits = isinstance(value, kind) and (kind is bool or not isinstance(value, bool))
        if not fits:
            return f"{name} has to be {expected}, not {_format_value(value)}"
        return _misshapen_record(name, value, spec["options"]) if "options" in spec else None
    if "options" not in spec:
        return None if _is_texts(value) else f"{name} has to be a list of texts, not {_format_value(value)}"
    if not isinstance(value, list) or not all(isinstance(item, dict) for item in value):
        return f"{name} has to be a list of objects, not {_format_value(value)}"
    return next(filter(None, (_misshapen_record(name, item, spec["options"]) for item in value)), None)


def _misshapen_record(name: str, record: Settings, options: dict[str, ArgumentSpec]) -> str | None:
    for key, content in record.items():
        if key not in options:
            return f"{name} holds {_format_value(key)}; there are {', '.join(options)}"
        problem = _misshapen(f"{name}.{key}", content, options[key])
        if problem:
            return problem
    missing = [key for key, spec in options.items() if spec.get("required") and key not in record]
    return f"{name} lacks {' and '.join(missing)} in {_format_value(record)}" if missing else None


def _is_texts(value: t.Any) -> bool:
    return isinstance(value, list) and all(isinstance(item, str) for item in value)


def _format_value(value: t.Any) -> str:
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:57]}..."


def options_of(
    settings: Settings, *, node: str, node_ip: str, addresses: t.Callable[[], t.Sequence[Address]]
) -> Settings:
    """Return the options of ovn_chassis for this node: names that are not given are the Node's, and the tunnels end at an address."""
    encapsulation = dict(settings.get("encapsulation") or {})
    interface, cidr = encapsulation.pop("interface", None), encapsulation.pop("cidr", None)
    if interface or cidr:
        from .._chassis.addresses import tunnel_address

        encapsulation["ip"] = [tunnel_address(addresses(), interface=interface, cidr=cidr, node_ip=node_ip)]
    elif not encapsulation.get("ip"):
        if not node_ip:
            raise OvnError(f"Node {node} has no address yet.")
        encapsulation["ip"] = [node_ip]
    encapsulation.setdefault("type", ["geneve"])
    return {
        **settings,
        "system_id": settings.get("system_id") or node,
        "hostname": settings.get("hostname") or node,
        "encapsulation": encapsulation,
        "purge": True,  # these files say everything about the chassis
    }

# Copyright: (c) 2026, C5C3 contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""PRIVATE to the collection: may change at any time.

The files of the ConfigMap `ovn-chassis`: the settings of all nodes, and what differs on single ones, in the options of ovn_chassis.

Beside those `encapsulation` knows `interface` and `cidr` in place of `ip`; without any of the three the tunnels end at the node's address.
"""

from __future__ import annotations

import typing as t

from .._errors import InvalidInput, OvnError

if t.TYPE_CHECKING:
    from .._chassis.addresses import Address

DEFAULT = "_default"
# For the module, not for the agent: which nodes have a chassis, and where their tunnels end as far as that is known.
NODES = "_nodes"
ADDRESSES = "_addresses"

if t.TYPE_CHECKING:
    Settings = dict[str, t.Any]
else:  # Python 3.8 in a pod cannot evaluate it
    Settings = dict

# The task-like options of ovn_chassis make no sense here: what to wait for, where to connect to, what to permit once.
_TEXTS = ("remote", "availability_zones", "cms_options", "transport_zones")
_WORDS = ("system_id", "hostname", "datapath_type")
_NUMBERS = ("remote_probe_interval", "openflow_probe_interval", "bridge_probe_interval")
_TRUTHS = ("gateway", "monitor_all", "allow_missing_ports")
_MAPS = ("external_ids", "other_config")
_LISTS: dict[str, dict[str, bool]] = {  # option: {key: whether it is a list of texts}
    "bridge_mappings": {"physical_network": False, "bridge": False, "ports": True},
    "bridges": {"name": False, "datapath_type": False, "ports": True},
    "mac_mappings": {"physical_network": False, "mac": False},
}
_REQUIRED = {
    "bridge_mappings": ("physical_network", "bridge"),
    "bridges": ("name",),
    "mac_mappings": ("physical_network", "mac"),
}
_PLACES = ("ip", "interface", "cidr")


def settings_of(default: Settings, of_node: Settings) -> Settings:
    """All settings of one node: an option of the node replaces the whole option; of `encapsulation` and maps, each key for itself."""
    maps = {option: {**(default.get(option) or {}), **(of_node.get(option) or {})} for option in _MAPS}
    merged = {**default, **of_node, **{option: content for option, content in maps.items() if content}}
    encapsulation = dict(default.get("encapsulation") or {})
    own = of_node.get("encapsulation") or {}
    if any(own.get(place) for place in _PLACES):  # the node's own way to say where
        encapsulation = {key: value for key, value in encapsulation.items() if key not in _PLACES}
    merged["encapsulation"] = {**encapsulation, **own}
    return merged


def checked(settings: t.Any, where: str) -> Settings:
    """The settings, if each has the shape that it needs; what a value may be is checked by `_chassis`."""
    if not isinstance(settings, dict):
        raise InvalidInput(f'{where}: a JSON object is expected, like {{"gateway": true}}, not {_shown(settings)}.')
    for option, value in settings.items():
        problem = _problem(option, value)
        if problem:
            raise InvalidInput(f"{where}: {problem}.")
    return settings


def _problem(option: str, value: t.Any) -> str | None:
    if option in _TEXTS:
        return None if _is_texts(value) else f"{option} has to be a list of texts, not {_shown(value)}"
    if option in _WORDS:
        return None if isinstance(value, str) else f"{option} has to be a text, not {_shown(value)}"
    if option in _NUMBERS:
        return (
            None
            if isinstance(value, int) and not isinstance(value, bool)
            else f"{option} has to be a whole number, not {_shown(value)}"
        )
    if option in _TRUTHS:
        return None if isinstance(value, bool) else f"{option} has to be true or false, not {_shown(value)}"
    if option in _MAPS:
        return None if isinstance(value, dict) else f"{option} has to be an object, not {_shown(value)}"
    if option in _LISTS:
        return _list_problem(option, value)
    if option == "encapsulation":
        return _encapsulation_problem(value)
    known = sorted([*_TEXTS, *_WORDS, *_NUMBERS, *_TRUTHS, *_MAPS, *_LISTS, "encapsulation"])
    return f"{_shown(option)} is no setting of a node; there are {', '.join(known)}"


def _list_problem(option: str, value: t.Any) -> str | None:
    keys = _LISTS[option]
    if not isinstance(value, list) or not all(isinstance(item, dict) for item in value):
        return f"{option} has to be a list of objects, not {_shown(value)}"
    for item in value:
        for key, content in item.items():
            if key not in keys:
                return f"{option} holds {_shown(key)}; there are {', '.join(keys)}"
            if not (_is_texts(content) if keys[key] else isinstance(content, str)):
                return f"{option}.{key} has to be a {'list of texts' if keys[key] else 'text'}, not {_shown(content)}"
        missing = [key for key in _REQUIRED[option] if key not in item]
        if missing:
            return f"{option} lacks {' and '.join(missing)} in {_shown(item)}"
    return None


def _encapsulation_problem(value: t.Any) -> str | None:
    if not isinstance(value, dict):
        return f"encapsulation has to be an object, not {_shown(value)}"
    for key, content in value.items():
        if key not in ("type", *_PLACES):
            return f"encapsulation holds {_shown(key)}; there are type, {', '.join(_PLACES)}"
        if not (_is_texts(content) if key in ("type", "ip") else isinstance(content, str)):
            return f"encapsulation.{key} has to be a {'list of texts' if key in ('type', 'ip') else 'text'}, not {_shown(content)}"
    given = [place for place in _PLACES if value.get(place)]
    if len(given) > 1:
        return f"encapsulation names {' and '.join(given)}, which exclude each other"
    return None


def _is_texts(value: t.Any) -> bool:
    return isinstance(value, list) and all(isinstance(item, str) for item in value)


def _shown(value: t.Any) -> str:
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:57]}..."


def options_of(
    settings: Settings, *, node: str, node_ip: str, addresses: t.Callable[[], t.Sequence[Address]]
) -> Settings:
    """The options of ovn_chassis for this node: the names that nobody gave are the Node's, and the tunnels end at an address."""
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

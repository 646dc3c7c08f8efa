# SPDX-License-Identifier: GPL-3.0-or-later
"""The keys of `Open_vSwitch.external_ids` that have an option of their own: how they are written and when two values mean the same."""

from __future__ import annotations

import re
import typing as t

from .._base.errors import InvalidInput
from .._base.inventory import as_list
from .._base.ip_addresses import canonical, literal
from .._ovsdb.endpoint import one_spelling, parse_endpoint
from .text import (
    checked_device,
    checked_word,
    format_value,
    read_bridge_mappings,
    read_items,
    read_mac_mappings,
    read_remotes,
)

SYSTEM_ID = "system-id"
REMOTE = "ovn-remote"
ENCAP_TYPE = "ovn-encap-type"
ENCAP_IP = "ovn-encap-ip"
CMS_OPTIONS = "ovn-cms-options"
BRIDGE_MAPPINGS = "ovn-bridge-mappings"
DATAPATH_TYPE = "ovn-bridge-datapath-type"
BRIDGE = "ovn-bridge"
INTEGRATION_BRIDGE = "br-int"  # without that key
ENCAPSULATIONS = ("geneve", "vxlan")
DATAPATH_TYPES = ("system", "netdev")
_SPECIFIC = ("hostname", "ct-zone-range")  # beside keys that begin with ovn-

ArgumentSpec = dict[str, t.Any]

TEXT: ArgumentSpec = {"type": "str"}
TEXTS: ArgumentSpec = {"type": "list", "elements": "str"}
NUMBER: ArgumentSpec = {"type": "int"}
TRUTH: ArgumentSpec = {"type": "bool"}
REQUIRED_TEXT: ArgumentSpec = {"type": "str", "required": True}

_MAC = r"[0-9a-f]{2}(:[0-9a-f]{2}){5}"
_CLUSTER_ID = r"cid:[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}"


def flow_clear_delay(datapath_type: str | None) -> dict[str, str]:
    """Return the external_ids that make a restarted ovn-controller wait before it clears old flows.

    The value is in milliseconds. Without a wait, packets are lost while ovn-controller computes the new flows. It waits after a restart of ovs-vswitchd, too:
    a datapath in userspace (netdev) passes no packets then, so its wait is half as long. OVN 25.09 and later ignore the key: they know when they are ready.
    """
    return {"ovn-ofctrl-wait-before-clear": "4000" if datapath_type == "netdev" else "8000"}


def _same_text(value: str) -> t.Hashable:
    return value


class DesiredValue(t.NamedTuple):
    """The desired value of a key: `text`, or None if the key must not exist. Two texts with the same `meaning` are equal for OVN."""

    text: str | None
    meaning: t.Callable[[str], t.Hashable] = _same_text

    def matches(self, stored: str | None) -> bool:
        if stored is None or self.text is None:
            return stored is self.text
        return stored == self.text or self.meaning(stored) == self.meaning(self.text)


def _as_set(text: str) -> t.Hashable:
    return frozenset(read_items(text))


def _as_addresses(text: str) -> t.Hashable:
    """Return the addresses as a set: ovn-controller sorts them itself, and takes ovn-encap-ip-default (since OVN 24.09) or the first one."""
    return frozenset(canonical(item) for item in read_items(text))


def _as_remotes(text: str) -> t.Hashable:
    return frozenset(item if item != item.strip() else one_spelling(item) for item in read_remotes(text))


def _as_bridge_mappings(text: str) -> t.Hashable:
    return frozenset(read_bridge_mappings(text))


def _as_mac_mappings(text: str) -> t.Hashable:
    return frozenset(read_mac_mappings(text).items())


def _as_truth(text: str) -> t.Hashable:
    return text.lower() == "true"


def _word(option: str, value: str) -> DesiredValue:
    return DesiredValue(checked_word(option, value) if value else None)


def _system_id(option: str, value: str) -> DesiredValue:
    # A tunnel port is known by its chassis and address, with "@" between them.
    return DesiredValue(checked_word(option, value, "@") if value else None)


def _remote(option: str, value: list[str]) -> DesiredValue:
    remotes = [_checked_remote(item) for text in value for item in as_list(checked_word(option, text))]
    return DesiredValue(",".join(dict.fromkeys(remotes)) or None, _as_remotes)


def _checked_remote(text: str) -> str:
    """Return an endpoint or a cluster id in its one spelling; `InvalidInput` for anything else. Open vSwitch reads no part of a cluster id."""
    return text.lower() if re.fullmatch(_CLUSTER_ID, text.lower()) else str(parse_endpoint(text))


def _refuse_empty_text(option: str, value: list[str]) -> None:
    """Raise `InvalidInput` for an empty text: without its value a chassis has no tunnels, which nobody means by an empty variable."""
    if "" in value:
        raise InvalidInput(
            f"{option} is an empty text, and this chassis would have no tunnels. Give a value, leave the option out to keep what is stored, or give [] to "
            "take it away."
        )


def _encapsulation_type(option: str, value: list[str]) -> DesiredValue:
    _refuse_empty_text(option, value)
    for item in value:
        if item not in ENCAPSULATIONS:
            raise InvalidInput(f'{option}: "{format_value(item)}" is not one of {", ".join(ENCAPSULATIONS)}.')
    return DesiredValue(",".join(dict.fromkeys(value)) or None, _as_set)


def _encapsulation_ip(option: str, value: list[str]) -> DesiredValue:
    _refuse_empty_text(option, value)
    addresses = []
    for item in value:
        address = literal(item.strip())
        if address is None:
            raise InvalidInput(f'{option}: "{format_value(item)}" is not an IPv4 or IPv6 address.')
        if address.is_unspecified or address.is_multicast:
            raise InvalidInput(f"{option}: {address} cannot be the address of a tunnel end.")
        addresses.append(str(address))
    return DesiredValue(",".join(dict.fromkeys(addresses)) or None, _as_addresses)


def _pairs(option: str, pairs: list[tuple[str, str]], meaning: t.Callable[[str], t.Hashable]) -> DesiredValue:
    mapped: dict[str, str] = {}
    for network, other in pairs:
        checked_word(f"{option}.physical_network", network, ",:")
        if mapped.setdefault(network, other) != other:
            raise InvalidInput(f"{option}: {network} is mapped to both {mapped[network]} and {other}.")
    return DesiredValue(",".join(f"{network}:{other}" for network, other in mapped.items()) or None, meaning)


def _bridge_mappings(option: str, value: list[dict[str, t.Any]]) -> DesiredValue:
    pairs = [(m["physical_network"], checked_device(f"{option}.bridge", m["bridge"])) for m in value]
    return _pairs(option, pairs, _as_bridge_mappings)


def _mac_mappings(option: str, value: list[dict[str, t.Any]]) -> DesiredValue:
    pairs = []
    for mapping in value:
        mac = mapping["mac"].lower()
        if not re.fullmatch(_MAC, mac) or int(mac[:2], 16) & 1:
            raise InvalidInput(
                f'{option}.mac: "{format_value(mapping["mac"])}" is not a unicast MAC address like 02:00:00:00:00:01.'
            )
        pairs.append((mapping["physical_network"], mac))
    return _pairs(option, pairs, _as_mac_mappings)


def _boolean(option: str, value: bool) -> DesiredValue:
    return DesiredValue("true" if value else "false", _as_truth)


def _interval(option: str, value: int) -> DesiredValue:
    if value < 0:
        raise InvalidInput(f"{option}: {value} is negative; 0 switches the probe off.")
    return DesiredValue(str(value))


def _datapath_type(option: str, value: str) -> DesiredValue:
    return DesiredValue(checked_datapath_type(option, value) or None)


def _transport_zones(option: str, value: list[str]) -> DesiredValue:
    return DesiredValue(",".join(dict.fromkeys(checked_word(option, zone, ",") for zone in value)) or None, _as_set)


def checked_datapath_type(option: str, value: str) -> str:
    if value and value not in DATAPATH_TYPES:
        raise InvalidInput(f'{option}: "{format_value(value)}" is not one of {", ".join(DATAPATH_TYPES)}.')
    return value


class KeyOption(t.NamedTuple):
    """An option that becomes a key: `write` returns the value of the key from (option, value), `spec` is what Ansible accepts as value."""

    key: str
    write: t.Callable[[str, t.Any], DesiredValue]
    spec: ArgumentSpec


def _records(**options: ArgumentSpec) -> ArgumentSpec:
    return {"type": "list", "elements": "dict", "options": options}


# All that a key needs beside its documentation in ovn_chassis. The settings of nodes in Kubernetes follow from it, too.
KEYS: dict[str, KeyOption] = {
    "system_id": KeyOption(SYSTEM_ID, _system_id, TEXT),
    "hostname": KeyOption("hostname", _word, TEXT),
    "remote": KeyOption(REMOTE, _remote, TEXTS),
    "encapsulation.type": KeyOption(ENCAP_TYPE, _encapsulation_type, TEXTS),
    "encapsulation.ip": KeyOption(ENCAP_IP, _encapsulation_ip, TEXTS),
    "bridge_mappings": KeyOption(
        BRIDGE_MAPPINGS,
        _bridge_mappings,
        _records(physical_network=REQUIRED_TEXT, bridge=REQUIRED_TEXT, ports=TEXTS),
    ),
    "mac_mappings": KeyOption(
        "ovn-chassis-mac-mappings", _mac_mappings, _records(physical_network=REQUIRED_TEXT, mac=REQUIRED_TEXT)
    ),
    "monitor_all": KeyOption("ovn-monitor-all", _boolean, TRUTH),
    "remote_probe_interval": KeyOption("ovn-remote-probe-interval", _interval, NUMBER),
    "openflow_probe_interval": KeyOption("ovn-openflow-probe-interval", _interval, NUMBER),
    "bridge_probe_interval": KeyOption("ovn-bridge-remote-probe-interval", _interval, NUMBER),
    "datapath_type": KeyOption(DATAPATH_TYPE, _datapath_type, TEXT),
    "transport_zones": KeyOption("ovn-transport-zones", _transport_zones, TEXTS),
}


def desired_keys(params: t.Mapping[str, t.Any]) -> dict[str, DesiredValue]:
    """Return the desired value of each key whose option is given (not None), by key; `InvalidInput` names the option of a bad value."""
    flat = {**params, **{f"encapsulation.{k}": v for k, v in (params.get("encapsulation") or {}).items()}}
    return {option.key: option.write(name, flat[name]) for name, option in KEYS.items() if flat.get(name) is not None}


def specific_key(key: str, settings: t.Mapping[str, str]) -> str | None:
    """Return the key of this chassis alone, `KEY-SYSTEM_ID`, if ovn-controller (since OVN 23.03) reads it instead of `key`; None if it does not."""
    name = settings.get(SYSTEM_ID)
    own = f"{key}-{name}"
    return own if name and own in settings and (key.startswith("ovn-") or key in _SPECIFIC) else None


def settings_in_use(external_ids: t.Mapping[str, str]) -> dict[str, str]:
    """Return the keys with the values that ovn-controller uses: the keys of this chassis alone count more."""
    suffix = f"-{external_ids.get(SYSTEM_ID, '')}"
    bases = (key.removesuffix(suffix) for key in external_ids if key.endswith(suffix))
    return {**external_ids, **{key: external_ids[own] for key in bases if (own := specific_key(key, external_ids))}}


def integration_bridge(external_ids: t.Mapping[str, str]) -> str:
    """Return the name of the bridge that ovn-controller connects guests to."""
    return settings_in_use(external_ids).get(BRIDGE) or INTEGRATION_BRIDGE


def encapsulations(external_ids: t.Mapping[str, str]) -> frozenset[tuple[str, str]]:
    """Return (type, ip) of each Encap row that ovn-controller writes for these keys, addresses in their one spelling."""
    addresses = [canonical(ip) for ip in read_items(external_ids.get(ENCAP_IP, ""))]
    return frozenset((kind, ip) for kind in read_items(external_ids.get(ENCAP_TYPE, "")) for ip in addresses)

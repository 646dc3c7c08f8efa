# SPDX-License-Identifier: GPL-3.0-or-later
"""Text that users give: what OVSDB, OVN's comma lists and the kernel can hold."""

from __future__ import annotations

import re
import typing as t

from .._base.errors import InvalidInput

# The lists in `external_ids` of a chassis, each read as the program that uses it reads it. Pure, and part of the archive for pods. None of these programs
# trims blanks unless said so: ` net2` is another network than `net2`.

ZONES = "availability-zones="
_NEXT_REMOTE = re.compile(r",(?=[ \t]*[a-z]+:)")


def read_items(text: str) -> list[str]:
    """Return the items of ovn-encap-type, ovn-encap-ip, ovn-transport-zones and requested-chassis: OVN skips empty ones."""
    return [item for item in text.split(",") if item]


def read_bridge_mappings(text: str) -> list[tuple[str, str]]:
    """Return network and bridge of each mapping that ovn-controller uses: it stops at the first item that is empty or no pair."""
    pairs = []
    for item in text.split(","):
        network, _colon, bridge = item.partition(":")
        if not (network and bridge):
            break
        pairs.append((network, bridge))
    return pairs


def mappings_with_blanks(mappings: t.Iterable[t.Mapping[str, str]]) -> list[str]:
    """Return the mappings (`physical_network`, `bridge`) in whose names a blank at an end is part of the name, which nobody means."""
    pairs = ((one["physical_network"], one["bridge"]) for one in mappings)
    return [
        f"{network}:{bridge}" for network, bridge in pairs if (network.strip(), bridge.strip()) != (network, bridge)
    ]


def read_mac_mappings(text: str) -> dict[str, str]:
    """Return network to MAC address as ovn-controller reads ovn-chassis-mac-mappings: the first one of a network counts."""
    found: dict[str, str] = {}
    for item in read_items(text):
        network, _colon, mac = item.partition(":")
        found.setdefault(network, mac.lower())
    return found


def read_remotes(text: str) -> list[str]:
    """Return the remotes of ovn-remote as Open vSwitch splits them: at a comma before `TYPE:`, and without blanks before an item."""
    return [one.lstrip(" \t") for one in _NEXT_REMOTE.split(text) if one.strip(" \t")]


def read_servers(text: str) -> list[str]:
    """Return the remotes without the id of their cluster."""
    return [remote for remote in read_remotes(text) if not remote.startswith("cid:")]


def read_cms_options(text: str) -> list[str]:
    """Return the tokens of ovn-cms-options as Neutron reads them: without blanks around them."""
    return [token for token in (item.strip() for item in text.split(",")) if token]


def read_zones(tokens: t.Iterable[str]) -> list[str]:
    """Return the availability zones that Neutron reads of the tokens, sorted: only the first token with zones counts."""
    text = next((token[len(ZONES) :] for token in tokens if token.startswith(ZONES)), "")
    return sorted({zone.strip() for zone in text.partition("=")[0].split(":")} - {""})


def format_value(value: str) -> str:
    """Return the value for a message; one of more than 60 characters is cut."""
    return value if len(value) <= 60 else f"{value[:57]}... ({len(value)} characters)"


def checked_text(option: str, value: str) -> str:
    """Return the value itself; `InvalidInput` names `option` if an OVSDB string cannot hold it."""
    if "\0" in value:
        raise InvalidInput(f'{option}: "{format_value(value)}" holds a NUL character, which OVSDB cannot store.')
    try:
        value.encode()
    except UnicodeEncodeError as e:
        raise InvalidInput(f"{option}: {format_value(ascii(value))} is not valid UTF-8 text.") from e
    return value


def checked_word(option: str, value: str, forbidden: str = "") -> str:
    """Return the value itself; `InvalidInput` if it is empty, has blanks at its ends, a control character or one of `forbidden`."""
    checked_text(option, value)
    if not value:
        raise InvalidInput(f"{option}: an empty text is not possible here.")
    if value != value.strip() or not all(c.isprintable() for c in value):
        raise InvalidInput(
            f'{option}: "{format_value(value)}" begins or ends with a blank or holds a control character.'
        )
    for character in forbidden:
        if character in value:
            raise InvalidInput(
                f'{option}: "{format_value(value)}" holds "{character}", which OVN reads as a separator.'
            )
    return value


def checked_device(option: str, value: str) -> str:
    """Return the value itself; `InvalidInput` if the kernel does not accept it as the name of a network device."""
    checked_word(option, value, ",:")
    size = len(value.encode())
    if size > 15:
        raise InvalidInput(f'{option}: "{format_value(value)}" has {size} bytes; a network device name has at most 15.')
    if "/" in value or value in (".", "..") or any(c.isspace() for c in value):
        raise InvalidInput(f'{option}: "{value}" is no name for a network device: no blank, no "/", not "." or "..".')
    return value


def stored_text(option: str, value: t.Any) -> str:
    """Return a value of a free key as OVSDB stores it: booleans are `true` and `false`, numbers are decimal."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, (int, float)):
        return str(value)
    if isinstance(value, str):
        return checked_text(option, value)
    raise InvalidInput(f"{option}: the value must be a text, a number, a boolean or null, not {type(value).__name__}.")

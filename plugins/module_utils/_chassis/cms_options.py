# Copyright: (c) 2026, C5C3 contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""PRIVATE to the collection: may change at any time.

`ovn-cms-options`: one comma list that several tools share. Only our tokens change, the others keep their order.
"""

from __future__ import annotations

import typing as t

from .._errors import InvalidInput
from .external_ids import items_of
from .text import checked_word

GATEWAY = "enable-chassis-as-gw"
ZONES = "availability-zones="
OWNER = "c5c3-ovn-owner="  # the Kubernetes cluster of a chassis; ovn-controller shows it in the chassis row


class CmsWish(t.NamedTuple):
    """None means "leave alone". Tokens that tell of the gateway or of zones are ours as soon as their option is given."""

    gateway: bool | None = None
    zones: tuple[str, ...] | None = None
    tokens: tuple[str, ...] | None = None

    @property
    def given(self) -> bool:
        return any(value is not None for value in self)

    @property
    def named(self) -> list[str]:
        """The tokens that shall be there."""
        named = [GATEWAY] if self.gateway else []
        if self.zones:
            named.append(ZONES + ":".join(self.zones))
        return [*named, *(self.tokens or ())]


def cms_wish(params: t.Mapping[str, t.Any]) -> CmsWish:
    zones = params.get("availability_zones")
    tokens = params.get("cms_options")
    if zones is not None:
        zones = tuple(dict.fromkeys(checked_word("availability_zones", zone, ",:=") for zone in zones))
    if tokens is not None:
        tokens = tuple(dict.fromkeys(checked_word("cms_options", token, ",") for token in tokens))
        if sum(token.startswith(ZONES) for token in tokens) > 1:
            raise InvalidInput(
                f"cms_options holds several tokens {ZONES}; give all zones in one, or use availability_zones."
            )
        for option, kind in (("gateway", GATEWAY), ("availability_zones", ZONES)):
            if params.get(option) is not None and any(_kind(token) == kind for token in tokens):
                raise InvalidInput(f"cms_options holds a token {kind} that the option {option} already decides on.")
    return CmsWish(params.get("gateway"), zones, tokens)


def _kind(token: str) -> str:
    return ZONES if token.startswith(ZONES) else token


def _same(one: str, other: str) -> bool:
    """Zones are a set."""
    if one.startswith(ZONES) and other.startswith(ZONES):
        return set(one[len(ZONES) :].split(":")) == set(other[len(ZONES) :].split(":"))
    return one == other


def owner_in(text: str) -> str:
    """Whose chassis it is; empty for that of a machine."""
    return next((token[len(OWNER) :] for token in items_of(text) if token.startswith(OWNER)), "")


def merge(stored: str | None, owned: t.Collection[str], wish: CmsWish, purge: bool) -> tuple[str | None, list[str]]:
    """The new list (None: no key) and the tokens of it that are ours. `owned` are the tokens that an earlier run recorded."""
    given = set()
    if wish.gateway is not None:
        given.add(GATEWAY)
    if wish.zones is not None:
        given.add(ZONES)

    def obsolete(token: str) -> bool:
        kind = _kind(token)
        if kind in given:
            return True
        if token not in owned:
            return False
        return purge or (wish.tokens is not None and kind not in (GATEWAY, ZONES))

    waiting = wish.named
    present = items_of(stored or "")
    result: list[str] = []
    ours: list[str] = []
    for token in present:
        wanted = next((named for named in wish.named if _kind(named) == _kind(token)), None)
        if wanted is not None and (wanted in waiting or _same(wanted, token)):
            if wanted in waiting:
                waiting.remove(wanted)
                result.append(token if _same(wanted, token) else wanted)
                ours.append(result[-1])
        elif not obsolete(token):
            result.append(token)
            if token in owned:
                ours.append(token)
    result += waiting
    ours += waiting
    return (stored if result == present else ",".join(result) or None), ours

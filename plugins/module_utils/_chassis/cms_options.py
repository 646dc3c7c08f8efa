# SPDX-License-Identifier: GPL-3.0-or-later
"""`ovn-cms-options`: one comma list that several tools share. Only our tokens change, the others keep their order."""

from __future__ import annotations

import typing as t

from .._base.errors import InvalidInput
from .text import ZONES, checked_word, read_cms_options, read_zones

GATEWAY = "enable-chassis-as-gw"
OWNER = "c5c3-ovn-owner="  # the Kubernetes cluster of a chassis; ovn-controller shows it in the chassis row


class DesiredCmsOptions(t.NamedTuple):
    """The tokens of the options; None keeps what is stored. Tokens for the gateway and for zones are ours as soon as their option is given."""

    gateway: bool | None = None
    zones: tuple[str, ...] | None = None
    tokens: tuple[str, ...] | None = None

    @property
    def given(self) -> bool:
        return any(value is not None for value in self)

    @property
    def named(self) -> list[str]:
        """The tokens that must be in the list."""
        named = [GATEWAY] if self.gateway else []
        if self.zones:
            named.append(ZONES + ":".join(self.zones))
        return [*named, *(self.tokens or ())]


def desired_cms_options(params: t.Mapping[str, t.Any]) -> DesiredCmsOptions:
    """Return the tokens of `gateway`, `availability_zones` and `cms_options`; `InvalidInput` if one comes twice or holds a separator."""
    zones = params.get("availability_zones")
    tokens = params.get("cms_options")
    if zones is not None:
        zones = tuple(dict.fromkeys(checked_word("availability_zones", zone, ",:=") for zone in zones))
    if tokens is not None:
        tokens = tuple(dict.fromkeys(checked_word("cms_options", token, ",") for token in tokens))
        if sum(token.startswith(ZONES) for token in tokens) > 1:
            raise InvalidInput(
                f"cms_options holds several tokens {ZONES}; give all zones in one, or use availability_zones (ovn_hypervisor_availability_zones)."
            )
        for option, kind in (("gateway", GATEWAY), ("availability_zones", ZONES)):
            if params.get(option) is not None and any(_kind(token) == kind for token in tokens):
                raise InvalidInput(f"cms_options holds a token {kind} that the option {option} already sets.")
    return DesiredCmsOptions(params.get("gateway"), zones, tokens)


def _kind(token: str) -> str:
    return ZONES if token.startswith(ZONES) else token


def _same(one: str, other: str) -> bool:
    """Return whether two tokens mean the same: zones are a set."""
    if one.startswith(ZONES) and other.startswith(ZONES):
        return read_zones([one]) == read_zones([other])
    return one == other


def owner_in(text: str) -> str:
    """Return the Kubernetes cluster that the list `text` names as owner of the chassis; empty for a machine."""
    return next((token[len(OWNER) :] for token in read_cms_options(text) if token.startswith(OWNER)), "")


def merge(
    stored: str | None, owned: t.Collection[str], desired: DesiredCmsOptions, purge: bool
) -> tuple[str | None, list[str]]:
    """Return the new list (None: no key) and the tokens of it that are ours. `owned` are the tokens that an earlier run recorded."""
    given = set()
    if desired.gateway is not None:
        given.add(GATEWAY)
    if desired.zones is not None:
        given.add(ZONES)

    def obsolete(token: str) -> bool:
        kind = _kind(token)
        if kind in given:
            return True
        if token not in owned:
            return False
        return purge or (desired.tokens is not None and kind not in (GATEWAY, ZONES))

    pending = desired.named
    present = read_cms_options(stored or "")
    result: list[str] = []
    ours: list[str] = []
    for token in present:
        match = next((named for named in desired.named if _kind(named) == _kind(token)), None)
        if match is not None and (match in pending or _same(match, token)):
            if match in pending:
                pending.remove(match)
                result.append(token if _same(match, token) else match)
                ours.append(result[-1])
        elif not obsolete(token):
            result.append(token)
            if token in owned:
                ours.append(token)
    result += pending
    ours += pending
    return (stored if result == present else ",".join(result) or None), ours

# SPDX-License-Identifier: GPL-3.0-or-later
"""What the Southbound database has of each chassis, and which have answered a heartbeat. Pure."""

from __future__ import annotations

import typing as t

from .cms_options import GATEWAY
from .external_ids import BRIDGE_MAPPINGS, CMS_OPTIONS
from .southbound_rows import ChassisRow, PrivateRow
from .text import read_bridge_mappings, read_cms_options


def has_answered(number: int, expected: int, latest: int) -> bool:
    """Return whether `number` answers heartbeat `expected` or a later one, up to `latest`, the one that the database has now.

    A Northbound database that was created again counts from 0. Dead chassis keep the higher number that they answered before.
    """
    return expected <= number <= latest


def describe_chassis(
    chassis: t.Iterable[ChassisRow], private: t.Iterable[PrivateRow] | None, expected: int | None, latest: int
) -> list[dict[str, t.Any]]:
    """Return one entry per chassis name, sorted, with the keys of ovn_sync's `chassis`.

    `private` None: the schema has no such table. `expected` None: whether a chassis is alive is unknown. `latest`: SB_Global.nb_cfg of the same read.
    """
    answers = None if private is None else {row.name: row for row in private}
    rows = {row.name: row for row in chassis}
    entries = []
    for name in sorted(rows.keys() | (answers or {}).keys()):
        row, answer = rows.get(name), (answers or {}).get(name)
        nb_cfg = answer.nb_cfg if answer else (row.nb_cfg if row and answers is None else None)
        answered = row is not None and nb_cfg is not None and has_answered(nb_cfg, expected or 0, latest)
        settings = row.settings if row else {}
        cms_options = read_cms_options(settings.get(CMS_OPTIONS, ""))
        entries.append(
            {
                "name": name,
                "hostname": row.hostname if row else "",
                "registered": row is not None,
                "alive": None if expected is None else answered,
                "remote": settings.get("is-remote", "").lower() == "true",
                "nb_cfg": nb_cfg,
                "nb_cfg_timestamp": answer.timestamp if answer else None,
                "encapsulations": [{"type": kind, "ip": ip} for kind, ip in sorted(row.encapsulations)] if row else [],
                "bridge_mappings": bridge_mappings_in(settings),
                "gateway": GATEWAY in cms_options,
                "cms_options": cms_options,
                "transport_zones": sorted(row.transport_zones) if row else [],
            }
        )
    return entries


def bridge_mappings_in(settings: t.Mapping[str, str]) -> list[dict[str, str]]:
    """Return the bridge mappings that ovn-controller uses, as records."""
    pairs = read_bridge_mappings(settings.get(BRIDGE_MAPPINGS) or "")
    return [{"physical_network": network, "bridge": bridge} for network, bridge in pairs]


class RollCall:
    """Checks whether all chassis have answered, cheap enough for a check after each of thousands of answers: one late name suffices for no.

    `list_late` returns all late names and is costly; `is_late` checks one of them, and returns False where it cannot tell cheaply.
    """

    def __init__(self, list_late: t.Callable[[], list[str]], is_late: t.Callable[[str], bool]) -> None:
        self._list_late, self._is_late = list_late, is_late
        self._late: list[str] = []

    def complete(self) -> bool:
        while self._late:
            if self._is_late(self._late[-1]):
                return False
            self._late.pop()
        self._late = self._list_late()
        return not self._late


def late_names(entries: t.Iterable[t.Mapping[str, t.Any]]) -> list[str]:
    """Return the chassis that have not answered. Those of another availability zone (OVN interconnection) never answer here."""
    return [entry["name"] for entry in entries if entry["alive"] is False and not entry["remote"]]

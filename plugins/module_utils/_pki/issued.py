# SPDX-License-Identifier: GPL-3.0-or-later
"""The list of issued certificates, from which observers know when those of chassis, their metadata agents and clients end. Runs write it,
and it has no secrets. Pure.

Observers read it in pods, so nothing here needs a library.
"""

from __future__ import annotations

import calendar
import json
import time
import typing as t

FILE_NAME = "issued-certificates.json"  # in the configuration directory of a central host, and the key of the ConfigMap
CHASSIS: t.Final = "chassis"
METADATA_AGENT: t.Final = "metadata-agent"
CLIENT: t.Final = "client"

_TIME = "%Y-%m-%dT%H:%M:%SZ"
_KEY = "certificates"


class IssuedCertificate(t.NamedTuple):
    """A certificate in use. `kind` and `holder`, the name of the chassis (that of its metadata agent, too) or client, tell it from all others; `not_after` is
    in UTC.
    """

    kind: str
    holder: str
    issuer: str  # common name of the CA
    serial_number: str
    not_after: str

    @property
    def end(self) -> float:
        """When it ends, in seconds since 1970."""
        return float(calendar.timegm(time.strptime(self.not_after, _TIME)))


class IssuedChange(t.NamedTuple):
    """What one run knows: certificates that it found and that it issued, chassis that are removed and chassis without a metadata agent of ours, and the names
    of all clients; None if the run does not know these.
    """

    found: t.Sequence[IssuedCertificate] = ()
    issued: t.Sequence[IssuedCertificate] = ()
    removed_chassis: t.Collection[str] = ()
    clients: t.Collection[str] | None = None
    removed_metadata_agents: t.Collection[str] = ()


def list_path(config_directory: str) -> str:
    """Return the file of a central host with this configuration directory."""
    return f"{config_directory}/{FILE_NAME}"


def parse_list(text: str) -> list[IssuedCertificate] | None:
    """Return the list; None if the text is none. It is no source of truth, so the next runs make it again."""
    try:
        found = [
            IssuedCertificate(**{field: str(one[field]) for field in IssuedCertificate._fields})
            for one in json.loads(text)[_KEY]
        ]
    except (ValueError, TypeError, KeyError):
        return None
    return _sorted(found) if all(is_time(one.not_after) for one in found) else None


def is_time(text: str) -> bool:
    """Return whether the text is a time as the list has it."""
    try:
        time.strptime(text, _TIME)
    except ValueError:
        return False
    return True


def render_list(certificates: t.Iterable[IssuedCertificate]) -> str:
    """Return the text of the list, one certificate a line."""
    lines = ",\n".join(f"  {json.dumps(one._asdict())}" for one in certificates)
    return f'{{"{_KEY}": [\n{lines}\n]}}\n'


def merge_list(known: t.Iterable[IssuedCertificate], change: IssuedChange) -> list[IssuedCertificate]:
    """Return the list after the run. What the run does not know stays: it was for some hosts alone, or for one of several hypervisor clusters.

    A certificate that was only found replaces none that ends later: another run may have renewed it since this one has read it.
    """
    removed = {CHASSIS: change.removed_chassis, METADATA_AGENT: change.removed_metadata_agents}
    kept = {
        (one.kind, one.holder): one
        for one in known
        if one.holder not in removed.get(one.kind, ())
        and (one.kind != CLIENT or change.clients is None or one.holder in change.clients)
    }
    for one in change.found:
        before = kept.get((one.kind, one.holder))
        if before is None or before.end <= one.end:
            kept[one.kind, one.holder] = one
    return _sorted([*kept.values(), *change.issued])


def describe_change(before: t.Iterable[IssuedCertificate], after: t.Iterable[IssuedCertificate]) -> dict[str, str]:
    """Return what differs as Ansible shows it, without what stays."""
    old, new = set(before), set(after)
    return {"before": _lines(old - new), "after": _lines(new - old)}


def _sorted(certificates: t.Iterable[IssuedCertificate]) -> list[IssuedCertificate]:
    """Return each holder once, with its last certificate."""
    return sorted({(one.kind, one.holder): one for one in certificates}.values())


def _lines(certificates: t.Iterable[IssuedCertificate]) -> str:
    return "".join(
        f"{one.kind} {one.holder} until {one.not_after or 'a time that is not known yet'}\n"
        for one in sorted(certificates)
    )

# SPDX-License-Identifier: GPL-3.0-or-later
"""The playbook rotate: which phases are left, and what each listener has to serve between them. Pure."""

from __future__ import annotations

import json
import typing as t

from .._base.databases import DATABASES, Database
from .._base.errors import InvalidInput
from .._pki.issuing import AuthorityName
from .authorities import Files, rotated_authorities
from .endpoints import Listener, endpoints_of
from .variables import Hostvars

PHASES = ("prepare", "switch", "finish")


def rotation_plan(
    note: str, files: t.Mapping[str, Files], rotates: t.Any, *, has_clients: bool, check_mode: bool = False
) -> dict[str, t.Any]:
    """Return the `phases` of this run, and the CAs that they are for (`rotate`).

    `note` is what the last run has recorded (JSON), empty if it came to its end; `files` are the PEM texts of both CAs, `rotates` the option ovn_pki_rotate.
    Clients that are no hosts have to be supplied by their operator after each phase, so with them a run has one phase; check mode can predict only the next.
    `InvalidInput`: the option names other CAs than the rotation that is under way.
    """
    recorded = json.loads(note) if note.strip() else {}
    desired = rotated_authorities(recorded.get("rotate") or rotates)
    given = rotated_authorities(rotates)
    if recorded and rotates not in (None, "") and given != desired and given != rotated_authorities(None):
        raise InvalidInput(
            f"A rotation of {' and '.join(desired)} is under way, ovn_pki_rotate is {','.join(given)}. Leave the option out until that rotation is finished."
        )
    first = recorded.get("phase") or _phase_of(files, desired)
    left = list(PHASES[PHASES.index(first) :])
    return {"phases": left[:1] if has_clients or check_mode else left, "rotate": desired, "last": len(left) == 1}


def _phase_of(files: t.Mapping[str, Files], rotates: t.Iterable[AuthorityName]) -> str:
    """Return the phase in which somebody has left the files, by phases of their own."""
    if any(files[name].get("next") for name in rotates):
        return "prepare"
    return "switch" if any(files[name].get("previous") for name in rotates) else "prepare"


def expected_listeners(serials: t.Mapping[str, str], hostvars: Hostvars, access: AuthorityName) -> dict[str, str]:
    """Return the endpoints that a certificate opens, each with the serial number that it serves, empty if that is not known.

    `serials` go from central machines to the serial numbers of their certificates. `access` chassis is port 6642 alone.
    """
    listeners: tuple[Listener, ...] = ("unrestricted", "client", "raft") if access == "central" else ("client",)
    databases: t.Iterable[Database] = DATABASES if access == "central" else ("southbound",)
    return {
        endpoint: serials[host]
        for database in databases
        for listener in listeners
        for host in serials
        for endpoint in endpoints_of([host], hostvars, database, listener, tls=True)
    }

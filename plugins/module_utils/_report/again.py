# SPDX-License-Identifier: GPL-3.0-or-later
"""What central hosts are asked again before the report: what was written to between two of their answers, and what needs more time than the first call has.
Pure.
"""

from __future__ import annotations

import typing as t

from .._base.databases import DATABASES
from .._raft.contents import compare
from .databases import contents_in
from .findings import Result


def databases_to_read_again(infos: t.Iterable[Result], *, unread: bool) -> list[str]:
    """Return the databases whose members were read at different log indexes; with `unread` also those of which a member was not read."""
    states: list[t.Mapping[str, Result]] = [info.get("raft") or {} for info in infos]
    found: list[str] = []
    for database in DATABASES:
        compared = compare({m: held for state in states for m, held in contents_in(state.get(database)).items()})
        if compared.apart or (unread and compared.unread):
            found.append(database)
    return found


def is_northd_connecting(infos: t.Iterable[Result]) -> bool:
    """Return whether a northd that runs is not connected to its databases."""
    northds: list[Result] = [info.get("northd") or {} for info in infos]
    return any(northd.get(f"{database}_connected") is False for northd in northds for database in DATABASES)

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


def what_to_ask_again(infos: t.Sequence[Result], limits: t.Mapping[str, t.Mapping[str, float]]) -> dict[str, t.Any]:
    """Return whether central hosts have to be asked again, and which databases are read then. `limits` are seconds of the `first` call and of another one.

    Members are compared by what they hold at one log index. Those on several hosts are read at slightly different moments, so what is written in between
    keeps them from being compared. And the first call has little time for large databases and for a northd that connects.
    """
    first, again = limits["first"], limits["again"]
    databases = databases_to_read_again(infos, unread=again["contents"] > first["contents"])
    awaited = again["northd"] > 0 and is_northd_connecting(infos)
    return {"needed": awaited or bool(databases), "databases": databases}


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

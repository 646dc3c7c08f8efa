# SPDX-License-Identifier: GPL-3.0-or-later
"""An adoption and members that do not run, or do not answer: whether they are only down, and what a person has to do. Pure."""

from __future__ import annotations

import typing as t

from .._base.errors import Refused
from .observation import DISK_MISSING, Observation
from .record import Record
from .step import Run, Step, Unexamined, find_stopped

# Nothing lies in our place that could be started.
_WITHOUT_FILE = ("none", "empty", DISK_MISSING)


def find_away(run: Run, record: Record | None, observed: t.Sequence[Observation]) -> list[str]:
    """Return the members of which an adoption must not take what lies in our place for what they are: they may only be down. `Refused` for a file that
    somebody has put there while a run had stopped the member.

    The file of a container is where nobody finds it then, and what lies in our place may be older (R8). That a member was stopped by this run or one before
    is known from the record, or from our unit.
    """
    if not run.adopt or not any(o.running for o in observed):
        return []
    states = {name: member.state for name, member in record.members.items()} if record is not None else {}
    put = [
        o.member
        for o in observed
        if not (o.running or o.ours)
        and o.file_class not in (*_WITHOUT_FILE, "unknown")
        and states.get(o.member) in ("replacing", "expected")
    ]
    if put:
        raise Refused(
            f"A file of {run.database} lies in our place on {', '.join(put)}, and no run has put it there: a run has stopped the member, whose file is in its "
            "container, so this one may be a copy of it that is older. Nothing more was changed. Move the file away, then run again."
        )
    away = [
        o.member
        for o in observed
        if not (o.running or o.ours)
        and o.file_class != "unknown"
        and states.get(o.member) not in ("replacing", "expected")
        and not (run.accept_lost_disk and o.file_class in _WITHOUT_FILE)
    ]
    return [*away, *find_stopped(run, record, observed)] if away else []


def refuse_away(run: Run, record: Record | None, observed: t.Sequence[Observation], away: t.Sequence[str]) -> None:
    if not away:
        return
    listed = {address for o in observed for address in o.listed.values()}
    strangers = [
        name for name in away if run.declared[name] not in listed and (record is None or name not in record.members)
    ]
    members = [name for name in away if name not in strangers]
    advice = []
    if members:
        advice.append(
            f"Start what ran it on {', '.join(members)}, then run again; if that is gone for good, move a file in our place away, if there is one, and "
            f"{run.texts.accept_lost_disk} replaces the member."
        )
    if strangers:
        advice.append(
            f"{', '.join(strangers)} is no member of the cluster: take it out of ovn_central, and c5c3.ovn.site adds it afterwards."
        )
    raise Refused(
        f"{run.database} does not run on {', '.join(away)}, and runs on other hosts. Nothing was changed. An adoption takes over members that run: one that "
        f"is down, in a container for example, would come back beside ours. {' '.join(advice)}"
    )


def wait_for(run: Run, away: t.Sequence[str]) -> Step:
    """Return the wait of the rounds: what runs a member may start it again in a moment."""
    reason = (
        f"wait until {run.database} runs again on {', '.join(away)}: start what ran it, or move a file in our place away and accept its loss with "
        f"{run.texts.accept_lost_disk}"
    )
    return Step("wait", tuple(away), reason)


def refuse_silent(run: Run, record: Record | None, observed: t.Sequence[Observation]) -> None:
    """Raise `Unexamined` before an adoption beside a server that says nothing of itself."""
    silent = [o.member for o in observed if o.file_class == "unknown" and o.running and not o.connected]
    if not (run.adopt and silent):
        return
    stopped = find_stopped(run, record, observed)
    needed = f" Nobody leads: start what ran {', '.join(stopped)}, which a run has stopped, as well." if stopped else ""
    raise Unexamined(
        f"{run.database} on {', '.join(silent)} runs and could not be examined. Nothing was changed. Repair it, then run again.{needed}"
    )

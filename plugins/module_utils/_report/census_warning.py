# SPDX-License-Identifier: GPL-3.0-or-later
"""A warning of the census, and how several rows are named in one. Pure."""

from __future__ import annotations

import collections
import dataclasses
import typing as t

from .._base.sentences import list_names
from .census_rows import OwnedRow
from .owner_marks import OWNERS

MOST = 3  # names of rows in one sentence


@dataclasses.dataclass(frozen=True)
class CensusWarning:
    """`subject` is the setting or the rows that it is about; `cause` has lines of sentences, and `next_step` is one."""

    subject: str
    cause: str
    next_step: str

    def lines(self) -> list[str]:
        return [f"WARNING {self.subject}", *(f"    {line}" for line in (*self.cause.splitlines(), self.next_step))]


def owners_of(rows: t.Iterable[OwnedRow]) -> str:
    """Return the owners with their numbers of rows: "kube-ovn 12, unknown 3"."""
    counts = collections.Counter(row.owner for row in rows)
    return ", ".join(f"{owner} {counts[owner]}" for owner in OWNERS if counts[owner])


def named(rows: t.Sequence[OwnedRow]) -> str:
    """Return the rows as "2 Port_Group (a of kube-ovn, b of unknown)"."""
    return f"{len(rows)} {rows[0].table} ({list_names([f'{row.name} of {row.owner}' for row in rows], MOST)})"

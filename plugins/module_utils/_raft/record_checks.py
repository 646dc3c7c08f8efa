# SPDX-License-Identifier: GPL-3.0-or-later
"""What the record alone forbids a run, independent of the members: so it can be refused before anything is changed. Pure."""

from __future__ import annotations

import typing as t

from .._base.errors import Refused
from .record import FORMER, Record
from .step import Run, changed_address_message


def refuse_by_record(run: Run, record: Record | None, held: t.Sequence[str] = ()) -> None:
    """Raise `Refused` if this run may not work on a database with this record. `held` are the members whose copy is on hold."""
    if record is None:
        return
    if record.cid:
        refuse_cluster(run, record.cid, "the state record names")
    if record.database != run.database:
        raise Refused(
            f"The state record of {run.database} is about {record.database}. Restore the right one; nothing was changed."
        )
    if record.hold:
        raise Refused(
            f"The state record of {run.database} is on hold{' on ' if held else ''}{', '.join(held)}: a recovery is under way. "
            "Finish it and clear the hold there, then run again. Nothing was changed."
        )
    if record.cid:
        _refuse_other_members(run, record)


def refuse_cluster(run: Run, cid: str, where: str) -> None:
    if run.expected_cid and cid != run.expected_cid:
        raise Refused(
            f"{run.database}: {where} the cluster {cid}, {run.texts.declaration} expects {run.expected_cid}. Nothing was changed."
        )


def _refuse_other_members(run: Run, record: Record) -> None:
    undeclared = [
        name for name, m in record.members.items() if name not in run.declared and m.state not in {"leaving", *FORMER}
    ]
    if undeclared:
        raise Refused(
            f"{', '.join(undeclared)} is a recorded member of {run.database}, but {run.texts.declaration} no longer has it. "
            f"Members are not dropped by leaving them out: {run.texts.add}. Nothing was changed."
        )
    for name, address in run.declared.items():
        member = record.members.get(name)
        # Whether one that is only expected, or held back, has ever joined is known to the members only.
        if member and member.address != address and (member.state not in ("expected", "replacing")):
            raise Refused(changed_address_message(run, name, member.address, address))

# Copyright: (c) 2026, C5C3 contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""PRIVATE to the collection: may change at any time.

The state record of one Raft database: who may create it, what it is called, who belongs to it. It is kept off the database disks, so that an
empty disk is never a reason to create a second cluster. Pure: reading, checking and rendering; where copies live is the backend's business.
"""

from __future__ import annotations

import dataclasses
import functools
import json
import re
import typing as t

from .._errors import InvalidInput, Refused

FORMAT = 1

MemberState = t.Literal["expected", "confirmed", "replacing", "leaving", "absent"]

_UUID = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")
_MEMBER = re.compile(r"[^\s/]{1,253}")


@dataclasses.dataclass(frozen=True)
class Member:
    """One declared member. `expected` may join; `confirmed` has the server id `sid`; the other states are steps on the way out or back in."""

    address: str
    state: MemberState = "expected"
    sid: str | None = None


@dataclasses.dataclass(frozen=True)
class Permit:
    """The one-shot permission to create the cluster: only `member`, given by `run` at `time` (UTC, ISO 8601)."""

    member: str
    run: str
    time: str


@dataclasses.dataclass(frozen=True)
class Record:
    """`revision` counts writes, `epoch` counts clusters (a declared rebuild starts a new one), `hold` keeps every member from starting.

    `formed`: all declared members have taken part once. No client has the endpoints of a cluster that is not.
    """

    database: str
    members: dict[str, Member]
    revision: int = 0
    epoch: int = 1
    cid: str | None = None
    retired_cids: tuple[str, ...] = ()
    permit: Permit | None = None
    hold: bool = False
    formed: bool = True

    def replace(self, **changes: t.Any) -> Record:
        return dataclasses.replace(self, **changes)

    def with_member(self, name: str, **changes: t.Any) -> Record:
        members = {**self.members, name: dataclasses.replace(self.members[name], **changes)}
        return self.replace(members=members)

    def as_dict(self) -> dict[str, t.Any]:
        """What `record.json` holds."""
        return {"format": FORMAT, **dataclasses.asdict(self), "retired_cids": list(self.retired_cids)}


def parse_record(value: t.Any) -> Record:
    """A record from the content of `record.json`; anything unexpected is refused, for a misread record is worse than none."""
    try:
        text = value if isinstance(value, str) else json.dumps(value)
    except (ValueError, TypeError) as e:
        raise InvalidInput(f"The state record cannot be read: {e}. Nothing was changed.") from e
    return _parse(text)


@functools.lru_cache(maxsize=64)  # a plan reads the same few copies again and again
def _parse(text: str) -> Record:
    try:
        data = json.loads(text)
        if data.pop("format", None) != FORMAT:
            raise InvalidInput(
                "The state record has another format than this version of the collection writes. Use the version that wrote it, or a newer one."
            )
        members = {name: Member(**member) for name, member in data.pop("members").items()}
        permit = data.pop("permit", None)
        record = Record(
            members=members,
            permit=Permit(**permit) if permit else None,
            retired_cids=tuple(data.pop("retired_cids", ())),
            **data,
        )
    except (ValueError, TypeError, KeyError, AttributeError) as e:
        raise InvalidInput(
            f"The state record cannot be read: {e}. Restore it from another copy or a backup; nothing was changed."
        ) from e
    check_record(record)
    return record


def check_record(record: Record) -> None:
    """Refuse a record that no run of ours can have written."""
    wrong = [
        cid
        for cid in (record.cid, *record.retired_cids, *(m.sid for m in record.members.values()))
        if cid and not _UUID.fullmatch(cid)
    ]
    states = t.get_args(MemberState)
    problems = (
        [f"{value!r} is no UUID" for value in wrong]
        + [
            f"member {name!r} has a blank, a slash or no length"
            for name in record.members
            if not _MEMBER.fullmatch(name)
        ]
        + [
            f"member {name} has the unknown state {m.state!r}"
            for name, m in record.members.items()
            if m.state not in states
        ]
        + [
            f"member {name} is confirmed without a server id"
            for name, m in record.members.items()
            if m.state == "confirmed" and not m.sid
        ]
        + (["there is both a cluster id and a permit to create"] if record.cid and record.permit else [])
    )
    if problems:
        raise InvalidInput(
            f"The state record of {record.database} is damaged: {'; '.join(problems)}. Restore it from another copy or a backup."
        )


def render_files(record: Record, election_timer: int) -> dict[str, str]:
    """The record as files: `record.json` for us, one file per key for the launcher (which has no JSON parser), as a mounted ConfigMap has them."""
    members = "".join(f"{name} {m.state} {m.sid or '-'} {m.address}\n" for name, m in record.members.items())
    return {
        "record.json": json.dumps(record.as_dict(), indent=2, sort_keys=True) + "\n",
        "cid": f"{record.cid or ''}\n",
        "retired_cids": "".join(f"{cid}\n" for cid in record.retired_cids),
        "permit": f"{record.permit.member if record.permit else ''}\n",
        "hold": "yes\n" if record.hold else "\n",
        "election_timer": f"{election_timer}\n",
        "members": members,
    }


def latest(copies: t.Mapping[str, Record | None]) -> Record | None:
    """The record to go by: the highest revision of all copies; copies that name different clusters are refused."""
    records = {holder: record for holder, record in copies.items() if record is not None}
    by_cid: dict[str, list[str]] = {}
    for holder, record in records.items():
        if record.cid:
            by_cid.setdefault(record.cid, []).append(holder)
    newest = max(records.values(), key=lambda record: record.revision, default=None)
    if newest is not None and len(by_cid.keys() - set(newest.retired_cids)) > 1:
        places = "; ".join(f"{cid} on {', '.join(holders)}" for cid, holders in sorted(by_cid.items()))
        raise Refused(
            f"The copies of the state record of {newest.database} name different clusters: {places}. "
            "Find out which cluster holds the data, keep its copies, remove the others, then run again."
        )
    return newest

# SPDX-License-Identifier: GPL-3.0-or-later
"""The state record of one Raft database: who may create it, what it is called, who belongs to it. It is kept off the database disks, so that an
empty disk is never a reason to create a second cluster. Pure: reading, checking and rendering; where copies live is the backend's business.
"""

from __future__ import annotations

import dataclasses
import functools
import json
import re
import typing as t

from .._base.errors import InvalidInput, Refused

# What it means: every field of `Record` and of the classes in it, and no other. A change that adds or removes one after a release makes it 2.
FORMAT = 1

# What every version of the collection writes beside record.json, for the launcher.
_LAUNCHER_KEYS = "cid retired_cids retired_sids permit permit_file hold floor election_timer members"
KEYS = frozenset({"record.json", *_LAUNCHER_KEYS.split()})

# Stands in a record for the id of a file from which none can be read.
NO_SID = "00000000-0000-0000-0000-000000000000"

_RESTORE = "Restore it from another copy or a backup; nothing was changed."

MemberState = t.Literal["expected", "confirmed", "replacing", "leaving", "absent", "gone"]
# These members left, or were given up in a recovery: nothing is expected of them.
FORMER: frozenset[MemberState] = frozenset({"absent", "gone"})

_UUID = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")
_MEMBER = re.compile(r"[^\s/]{1,253}")
_SHA256 = re.compile(r"[0-9a-f]{64}")


@dataclasses.dataclass(frozen=True)
class Away:
    """The reservation of a member that may be switched off: by `run`, `until` a time (UTC, ISO 8601)."""

    run: str
    reason: str
    until: str


@dataclasses.dataclass(frozen=True)
class Member:
    """One member. `expected` may join; `confirmed` has the server id `sid`; the other states are steps on the way out or back in.

    `past_sids` are server ids that it had and lost on purpose: they never count again (R37). At `next_address` it joins again.
    """

    address: str
    state: MemberState = "expected"
    sid: str | None = None
    past_sids: tuple[str, ...] = ()
    next_address: str | None = None
    away: Away | None = None


@dataclasses.dataclass(frozen=True)
class Permit:
    """The one-shot permission to create the cluster: only `member`, given by `run` at `time` (UTC, ISO 8601).

    `file` is the SHA-256 of the standalone database to create it from; None: from the schema.
    """

    member: str
    run: str
    time: str
    file: str | None = None


@dataclasses.dataclass(frozen=True)
class Intent:
    """What a person confirmed with `token`, never how far it came."""

    verb: str
    arguments: dict[str, t.Any]
    token: str
    run: str
    time: str


@dataclasses.dataclass(frozen=True)
class Floor:
    """Versions: nothing older may open the file."""

    ovsdb_server: str
    schema: str
    file_format: str


@dataclasses.dataclass(frozen=True)
class Record:
    """`revision` counts writes, `epoch` counts clusters (a declared rebuild starts a new one), `hold` keeps every member from starting.

    `formed`: all declared members have taken part once. No client has the endpoints of a cluster that is not. `clients` are the members whose
    addresses clients have.
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
    intent: Intent | None = None
    floor: Floor | None = None
    clients: tuple[str, ...] = ()

    @property
    def retired_sids(self) -> tuple[str, ...]:
        """Return the server ids that never count again."""
        return tuple(sid for member in self.members.values() for sid in member.past_sids)

    @property
    def present(self) -> dict[str, Member]:
        """Return the members without those that left."""
        return {name: member for name, member in self.members.items() if member.state not in FORMER}

    def replace(self, **changes: t.Any) -> Record:
        return dataclasses.replace(self, **changes)

    def with_member(self, name: str, **changes: t.Any) -> Record:
        members = {**self.members, name: dataclasses.replace(self.members[name], **changes)}
        return self.replace(members=members)

    def as_dict(self) -> dict[str, t.Any]:
        """Return the content of `record.json`."""
        data: dict[str, t.Any] = {"format": FORMAT, **dataclasses.asdict(self)}
        data.update(retired_cids=list(self.retired_cids), clients=list(self.clients))
        for member in data["members"].values():
            member["past_sids"] = list(member["past_sids"])
        return data


def parse_record(value: t.Any) -> Record:
    """Return the record in the content of `record.json`; refuse anything unexpected, because a misread record is worse than none."""
    try:
        text = value if isinstance(value, str) else json.dumps(value)
    except (ValueError, TypeError) as e:
        raise InvalidInput(f"The state record cannot be read: {e}. {_RESTORE}") from e
    return _parse(text)


@functools.lru_cache(maxsize=64)  # a plan reads the same few copies again and again
def _parse(text: str) -> Record:
    data = _object(text)
    written = data.pop("format", None)
    if isinstance(written, int) and written > FORMAT:
        raise InvalidInput(
            f"The state record has format {written}, this version of the collection reads format {FORMAT}. "
            "Use the version of the collection that wrote it, or a newer one; nothing was changed."
        )
    if written != FORMAT:
        raise InvalidInput(f"The state record is damaged: its format is {written!r}, not {FORMAT}. {_RESTORE}")
    try:
        problems = [*_wrong_fields(data, Record, "")]
        if not problems:
            parts = {"the permit": (data["permit"], Permit), "the intent": (data["intent"], Intent)}
            parts["the floor"] = (data["floor"], Floor)
            for name, member in data["members"].items():
                problems += _wrong_fields(member, Member, f" of {name}")
                parts[f"away of {name}"] = (member.get("away"), Away)
            for where, (part, kind) in parts.items():
                problems += _wrong_fields(part, kind, f" of {where}") if part is not None else ()
        if problems:
            raise InvalidInput(f"The state record is damaged: {'; '.join(problems)}. {_RESTORE}")
        record = Record(
            **{
                **data,
                "members": {name: _member(member) for name, member in data["members"].items()},
                "permit": Permit(**data["permit"]) if data["permit"] is not None else None,
                "intent": Intent(**data["intent"]) if data["intent"] is not None else None,
                "floor": Floor(**data["floor"]) if data["floor"] is not None else None,
                "retired_cids": tuple(data["retired_cids"]),
                "clients": tuple(data["clients"]),
            }
        )
    except (ValueError, TypeError, KeyError, AttributeError) as e:
        raise InvalidInput(f"The state record cannot be read: {e}. {_RESTORE}") from e
    check_record(record)
    return record


def _member(data: t.Mapping[str, t.Any]) -> Member:
    away = Away(**data["away"]) if data["away"] is not None else None
    return Member(**{**data, "past_sids": tuple(data["past_sids"]), "away": away})


def _wrong_fields(data: t.Mapping[str, t.Any], kind: type[t.Any], where: str) -> t.Iterator[str]:
    """Return the fields that this format has and `data` lacks, and the other way round. A default would be a guess about the cluster."""
    known = [field.name for field in dataclasses.fields(kind)]
    yield from (f"it lacks {name}{where}" for name in known if name not in data)
    yield from (
        f"it has {str(name)[:80]}{where}, which format {FORMAT} does not know" for name in data if name not in known
    )


def _object(text: str) -> dict[str, t.Any]:
    """Return the JSON object in a text."""
    if not text.strip():
        raise InvalidInput(f"The state record cannot be read: it is empty. {_RESTORE}")
    try:
        data = json.loads(text)
    except json.JSONDecodeError as e:
        raise InvalidInput(
            f"The state record cannot be read: it is cut off or no JSON (character {e.pos} of {len(text)}: {e.msg}). {_RESTORE}"
        ) from e
    except (ValueError, RecursionError) as e:
        raise InvalidInput(f"The state record cannot be read: {e}. {_RESTORE}") from e
    if not isinstance(data, dict):
        raise InvalidInput(f"The state record cannot be read: it is no JSON object. {_RESTORE}")
    return data


def check_record(record: Record) -> None:
    """Refuse a record that no run of ours can have written."""
    problems = [*_wrong_types(record)] or [*_wrong_values(record)]
    if problems:
        raise InvalidInput(
            f"The state record of {str(record.database)[:80]} is damaged: {'; '.join(problems)}. {_RESTORE}"
        )


def _wrong_types(record: Record) -> t.Iterator[str]:
    """Return what has another type than its field promises: JSON may hold anything."""
    found: dict[str, t.Any] = dataclasses.asdict(record)
    members = found["members"]
    parts = {"the permit": found["permit"], "the intent": found["intent"], "the floor": found["floor"]}
    parts.update({f"away of {name}": member["away"] for name, member in members.items()})
    texts = {
        "database": found["database"],
        **{f"the address of {name}": member["address"] for name, member in members.items()},
        **{f"the state of {name}": member["state"] for name, member in members.items()},
        **{
            f"{key} of {where}": value
            for where, part in parts.items()
            for key, value in (part or {}).items()
            if key != "arguments" and (key != "file" or value is not None)
        },
        **{f"the next address of {name}": m["next_address"] or "" for name, m in members.items()},
        **{f"a client's member {number}": name for number, name in enumerate(found["clients"], 1)},
    }
    yield from (f"{what} is {value!r}, not a text" for what, value in texts.items() if not isinstance(value, str))
    for what in ("revision", "epoch"):
        if isinstance(found[what], bool) or not isinstance(found[what], int) or found[what] < 0:
            yield f"{what} is {found[what]!r}, not a whole number"
    for what in ("hold", "formed"):
        if not isinstance(found[what], bool):
            yield f"{what} is {found[what]!r}, not true or false"
    if found["intent"] and not isinstance(found["intent"]["arguments"], dict):
        yield f"arguments of the intent is {found['intent']['arguments']!r}, no object"
    ids = [found["cid"], *found["retired_cids"], *(member["sid"] for member in members.values())]
    ids += [sid or 0 for member in members.values() for sid in member["past_sids"]]
    yield from (f"{value!r} is no UUID" for value in ids if value is not None and not isinstance(value, str))


def _wrong_values(record: Record) -> t.Iterator[str]:
    ids = (record.cid, *record.retired_cids, *(m.sid for m in record.members.values()), *record.retired_sids)
    yield from (f"{value!r} is no UUID" for value in ids if value and not _UUID.fullmatch(value))
    for name, member in record.members.items():
        if not _MEMBER.fullmatch(name):
            yield f"member {name!r} has a blank, a slash or no length"
        if not member.address or member.address.split() != [member.address]:
            yield f"member {name} has the unusable address {member.address!r}"
        if member.state not in t.get_args(MemberState):
            yield f"member {name} has the unknown state {member.state!r}"
        if member.state == "confirmed" and not member.sid:
            yield f"member {name} is confirmed without a server id"
        if member.state == "confirmed" and member.sid in record.retired_sids:
            yield f"member {name} is confirmed with the retired server id {member.sid}"
        if member.next_address is not None and member.next_address.split() != [member.next_address]:
            yield f"member {name} has the unusable next address {member.next_address!r}"
    yield from (
        f"clients have the address of {name}, which is no member"
        for name in record.clients
        if name not in record.members
    )
    if record.permit and record.permit.file and not _SHA256.fullmatch(record.permit.file):
        yield f"the file of the permit is {record.permit.file!r}, no SHA-256"
    if record.cid and record.permit:
        yield "there is both a cluster id and a permit to create"
    if record.cid and record.cid in record.retired_cids:
        yield f"the cluster id {record.cid} is retired"


def refuse_other_database(record: Record, database: str) -> None:
    """Refuse a record that was put into the place of another database's record."""
    if record.database != database:
        raise InvalidInput(
            f"This is the state record of {record.database}, not of {database}. Restore the record of {database} from another copy or a backup; "
            "nothing was changed."
        )


def refuse_incomplete(files: t.Mapping[str, str], record: Record) -> None:
    """Refuse the files of a record that lack a key, or whose key for the launcher names another cluster than `record.json`."""
    missing = sorted(KEYS - files.keys())
    if missing:
        raise InvalidInput(f"The state record lacks {', '.join(missing)}: it was cut off or edited. {_RESTORE}")
    for key, expected in (("cid", record.cid or ""), ("permit", record.permit.member if record.permit else "")):
        if files[key].strip() != expected:
            raise InvalidInput(
                f'The state record contradicts itself: {key} is "{files[key].strip()[:80]}", record.json says "{expected}". {_RESTORE}'
            )


def render_files(record: Record, election_timer: int) -> dict[str, str]:
    """Return the record as files: `record.json` for us, one file per key for the launcher (which has no JSON parser), as a mounted ConfigMap has them."""
    members = "".join(f"{name} {m.state} {m.sid or '-'} {m.address}\n" for name, m in record.members.items())
    return {
        "record.json": json.dumps(record.as_dict(), indent=2, sort_keys=True) + "\n",
        "cid": f"{record.cid or ''}\n",
        "retired_cids": "".join(f"{cid}\n" for cid in record.retired_cids),
        "retired_sids": "".join(f"{sid}\n" for sid in record.retired_sids),
        "permit": f"{record.permit.member if record.permit else ''}\n",
        "permit_file": f"{(record.permit.file if record.permit else None) or ''}\n",
        "floor": "".join(f"{name} {version}\n" for name, version in dataclasses.asdict(record.floor).items())
        if record.floor
        else "",
        "hold": "yes\n" if record.hold else "\n",
        "election_timer": f"{election_timer}\n",
        "members": members,
    }


def describe(files: t.Mapping[str, str] | None) -> str:
    """Return what a diff shows of these files, a line a key: what a launcher reads, without the JSON that says the same."""
    lines = []
    for name, text in sorted((files or {}).items()):
        if name != "record.json":
            values = text.splitlines()
            lines += (
                [f"{name}: {values[0] if values else ''}"]
                if len(values) < 2
                else [f"{name}:", *(f"  {v}" for v in values)]
            )
    return "".join(f"{line.rstrip()}\n" for line in lines)


def latest(copies: t.Mapping[str, Record | None], places: int | None = None) -> Record | None:
    """Return the copy with the highest revision; `Refused` if copies name different clusters, or differ although their revision is equal.

    `copies` maps the place of each copy, for example a host, to what is there. `places` is how many places there are, those that were not read
    included: of copies that differ, one that more than half of all places hold is right, because no run acts on a record before a majority has it.
    """
    records = {holder: record for holder, record in copies.items() if record is not None}
    by_cid: dict[str, list[str]] = {}
    for holder, record in records.items():
        if record.cid:
            by_cid.setdefault(record.cid, []).append(holder)
    newest = max(records.values(), key=lambda record: record.revision, default=None)
    if newest is None:
        return None
    if len(by_cid.keys() - set(newest.retired_cids)) > 1:
        names = "; ".join(f"{cid} on {', '.join(holders)}" for cid, holders in sorted(by_cid.items()))
        raise Refused(
            f"The copies of the state record of {newest.database} name different clusters: {names}. "
            "Find out which cluster holds the data, keep its copies, remove the others, then run again."
        )
    equal = {holder: record for holder, record in records.items() if record.revision == newest.revision}
    agreed = _agreed(equal, places)
    # A recovery that began while a run wrote the copies has reached some of them, perhaps not those of the newest revision.
    hold = any(record.hold for record in records.values() if record.cid not in agreed.retired_cids)
    return agreed if agreed.hold == hold else agreed.replace(hold=hold)


def _agreed(equal: t.Mapping[str, Record], places: int | None) -> Record:
    """Return the content of copies of one revision."""
    contents = list(equal.values())
    for record in contents:
        if contents.count(record) == len(contents) or (places is not None and contents.count(record) > places // 2):
            return record
    (first_holder, first), (holder, other) = next(
        (one, two) for one in equal.items() for two in equal.items() if one[1] != two[1]
    )
    raise Refused(
        f"The copies of the state record of {first.database} on {first_holder} and {holder} are both revision {first.revision}, "
        f"but differ in {', '.join(_differences(first, other))}. Find out which of them is right, remove the other, then run again. "
        "Nothing was changed."
    )


def _differences(one: Record, two: Record) -> list[str]:
    """Return the names of the fields that differ, members by their name."""
    names = [field.name for field in dataclasses.fields(Record) if field.name != "members"]
    fields = [name for name in names if getattr(one, name) != getattr(two, name)]
    members = dict.fromkeys((*one.members, *two.members))
    return fields + [f"member {name}" for name in members if one.members.get(name) != two.members.get(name)]

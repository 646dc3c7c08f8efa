"""The state record: what is written can be read again, what is damaged is refused."""

from __future__ import annotations

import json
import pathlib
import typing as t

import pytest

from ansible_collections.c5c3.ovn.plugins.module_utils._base.errors import OvnError, Refused
from ansible_collections.c5c3.ovn.plugins.module_utils._raft.record import (
    KEYS,
    Away,
    Floor,
    Intent,
    Member,
    Permit,
    Record,
    describe,
    latest,
    parse_record,
    render_files,
)
from ansible_collections.c5c3.ovn.plugins.module_utils._raft.record_dir import read_files, read_record, write_files

CID = "aaaaaaaa-0000-4000-8000-000000000000"
OTHER = "bbbbbbbb-0000-4000-8000-000000000000"
SID = "11110000-0000-4000-8000-000000000000"
GIVEN_UP = "22220000-0000-4000-8000-000000000000"
RECORD = Record(
    "northbound",
    {"c1": Member("ssl:192.0.2.1:6643", "confirmed", SID), "c2": Member("ssl:192.0.2.2:6643")},
    revision=3,
    cid=CID,
    retired_cids=(OTHER,),
)
TIME = "2026-01-01T00:00:00Z"
# Every field of a verb that a person starts.
CHANGING = (
    RECORD.with_member("c1", away=Away("run", "reboot", TIME))
    .with_member("c2", state="leaving", sid=SID, past_sids=(GIVEN_UP,), next_address="ssl:192.0.2.9:6643")
    .replace(
        intent=Intent("scale", {"remove": ["c2"]}, "0123", "run", TIME),
        floor=Floor("3.3.1", "7.3.0", "1"),
        clients=("c1", "c2"),
    )
)


@pytest.mark.parametrize(
    "record",
    [
        pytest.param(RECORD, id="at rest"),
        pytest.param(CHANGING, id="in the middle of a change"),
        pytest.param(RECORD.replace(cid=None, permit=Permit("c1", "run", TIME)), id="with a permit"),
        pytest.param(RECORD.replace(cid=None, permit=Permit("c1", "run", TIME, "0" * 64)), id="from a file"),
    ],
)
def test_a_record_survives_the_way_through_json(record: Record) -> None:
    assert parse_record(json.dumps(record.as_dict())) == record
    assert json.loads(json.dumps(record.as_dict())) == record.as_dict()


def test_a_diff_shows_lines_without_json() -> None:
    assert describe(None) == ""
    assert describe(render_files(RECORD, 5000)).splitlines() == [
        f"cid: {CID}",
        "election_timer: 5000",
        "floor:",
        "hold:",
        "members:",
        f"  c1 confirmed {SID} ssl:192.0.2.1:6643",
        f"  c2 {RECORD.members['c2'].state} - ssl:192.0.2.2:6643",
        "permit:",
        "permit_file:",
        f"retired_cids: {OTHER}",
        "retired_sids:",
    ]


def test_files_are_what_the_launcher_reads() -> None:
    files = render_files(RECORD, 5000)
    assert files["cid"] == f"{CID}\n"
    assert files["permit"] == "\n"
    assert files["hold"] == "\n"
    assert files["retired_cids"] == f"{OTHER}\n"
    assert files["election_timer"] == "5000\n"
    assert files["members"] == f"c1 confirmed {SID} ssl:192.0.2.1:6643\nc2 expected - ssl:192.0.2.2:6643\n"
    assert (files["retired_sids"], files["permit_file"], files["floor"]) == ("", "\n", "")
    assert set(files) == KEYS


def test_files_say_what_a_change_asks_of_the_launcher() -> None:
    files = render_files(CHANGING, 5000)
    assert files["retired_sids"] == f"{GIVEN_UP}\n"
    assert files["floor"] == "ovsdb_server 3.3.1\nschema 7.3.0\nfile_format 1\n"
    permit = Permit("c1", "run", TIME, "0" * 64)
    assert render_files(RECORD.replace(cid=None, permit=permit), 5000)["permit_file"] == f"{permit.file}\n"


def changed(**values: t.Any) -> dict[str, t.Any]:
    return {**RECORD.as_dict(), **values}


def without(name: str) -> dict[str, t.Any]:
    return {key: value for key, value in RECORD.as_dict().items() if key != name}


def member(**values: t.Any) -> dict[str, t.Any]:
    return {**RECORD.as_dict()["members"]["c2"], "address": "x", **values}


@pytest.mark.parametrize(
    ("data", "message"),
    [
        pytest.param("", "it is empty", id="an empty file"),
        pytest.param("{", "cut off or no JSON", id="no JSON"),
        pytest.param("[]", "no JSON object", id="an empty list"),
        pytest.param("[1]", "no JSON object", id="a list"),
        pytest.param('"text"', "no JSON object", id="a text"),
        pytest.param("[" * 100000, "cannot be read", id="endless nesting"),
        pytest.param(changed(format=2), "format 2, this version of the collection reads format 1", id="a later format"),
        pytest.param(changed(format="1"), "damaged: its format is '1'", id="a format that is a text"),
        pytest.param({}, "its format is None", id="no format"),
        pytest.param(changed(revision="4"), "revision is '4', not a whole number", id="a revision that is a text"),
        pytest.param(changed(revision=None), "revision is None", id="no revision"),
        pytest.param(changed(epoch=True), "epoch is True", id="an epoch that is no number"),
        pytest.param(changed(hold="no"), "hold is 'no'", id="a hold that is a text: it would count as true"),
        pytest.param(changed(cid=7), "7 is no UUID", id="a cluster id that is a number"),
        pytest.param(changed(database=None), "database is None", id="no database"),
        pytest.param(changed(retired_cids=[CID]), "is retired", id="the cluster id is a retired one"),
        pytest.param(changed(members=[]), "cannot be read", id="members that are a list"),
        pytest.param(changed(members={"c1": member(address=None)}), "the address of c1 is None", id="no address"),
        pytest.param(changed(members={"c1": member(address="a b")}), "unusable address", id="an address with a blank"),
        pytest.param(changed(members={"c1": member(state=[])}), "the state of c1", id="a state that is a list"),
        pytest.param(
            changed(cid=None, permit={"member": 1, "run": "r", "time": "t", "file": None}),
            "member of the permit",
            id="a permit for nobody",
        ),
        pytest.param(changed(cid="nonsense"), "no UUID", id="a cluster id that is none"),
        *(
            pytest.param(without(name), f"damaged: it lacks {name}\\.", id=f"without {name}")
            for name in RECORD.as_dict()
            if name != "format"
        ),
        pytest.param(
            changed(surprise=1),
            "it has surprise, which format 1 does not know",
            id="a field of no format that is known",
        ),
        pytest.param(
            changed(members={"c1": {"address": "x", "state": "expected"}}),
            "it lacks sid of c1; it lacks past_sids of c1",
            id="a member without a field",
        ),
        pytest.param(
            changed(members={"c1": member(surprise=1)}), "it has surprise of c1", id="a member with an unknown field"
        ),
        pytest.param(
            changed(cid=None, permit={"member": "c1", "run": "r"}),
            "it lacks time of the permit",
            id="a permit without a field",
        ),
        pytest.param(changed(cid=None, permit={}), "it lacks member of the permit", id="an empty permit"),
        pytest.param(changed(members={"a b": member()}), "has a blank", id="a member name with a blank"),
        pytest.param(changed(members={"c1": member(state="lost")}), "unknown state", id="an unknown member state"),
        pytest.param(
            changed(members={"c1": member(state="confirmed")}),
            "without a server id",
            id="confirmed without id",
        ),
        pytest.param(
            changed(members={"c1": member(state="confirmed", sid=SID, past_sids=[SID])}),
            "confirmed with the retired server id",
            id="confirmed with an id that left",
        ),
        pytest.param(
            changed(members={"c1": member(past_sids=[None])}), "0 is no UUID", id="no id among those that left"
        ),
        pytest.param(changed(members={"c1": member(past_sids=SID)}), "no UUID", id="an id in the place of a list"),
        pytest.param(
            changed(members={"c1": member(next_address="a b")}), "unusable next address", id="a bad next address"
        ),
        pytest.param(changed(members={"c1": member(next_address=1)}), "next address of c1 is 1", id="a number there"),
        pytest.param(changed(members={"c1": member(away={"run": "r"})}), "it lacks reason of away of c1", id="away"),
        pytest.param(changed(intent={"verb": "scale"}), "it lacks arguments of the intent", id="half an intent"),
        pytest.param(
            changed(intent={"verb": "scale", "arguments": [], "token": "", "run": "r", "time": "t"}),
            r"arguments of the intent is \[\], no object",
            id="an intent without names",
        ),
        pytest.param(
            changed(floor={"ovsdb_server": 3, "schema": "7", "file_format": "1"}),
            "ovsdb_server of the floor is 3",
            id="a floor that is a number",
        ),
        pytest.param(changed(clients=["c9"]), "clients have the address of c9", id="clients of no member"),
        pytest.param(
            changed(cid=None, permit={"member": "c1", "run": "r", "time": "t", "file": "x"}),
            "no SHA-256",
            id="a permit for no file",
        ),
        pytest.param(
            changed(permit={"member": "c1", "run": "r", "time": "t", "file": None}),
            "both a cluster id and a permit",
            id="permit beside a cid",
        ),
    ],
)
def test_a_damaged_record_is_refused(data: t.Any, message: str) -> None:
    with pytest.raises(OvnError, match=message):
        parse_record(data)


def test_any_cut_of_a_record_is_refused_and_never_a_traceback() -> None:
    text = json.dumps(RECORD.as_dict())
    for length in range(len(text)):
        with pytest.raises(OvnError):
            parse_record(text[:length])


def test_the_newest_copy_counts() -> None:
    newer = RECORD.replace(revision=4)
    assert latest({"c1": RECORD, "c2": newer, "c3": None}) == newer
    assert latest({"c1": None}) is None


def test_copies_of_different_clusters_are_refused_unless_one_is_retired() -> None:
    old = RECORD.replace(cid=OTHER, revision=2, retired_cids=())
    assert latest({"c1": RECORD, "c2": old}) == RECORD
    with pytest.raises(OvnError, match="different clusters"):
        latest({"c1": RECORD.replace(retired_cids=()), "c2": old})


def test_a_copy_is_replaced_in_one_step_and_leaves_nothing_behind(tmp_path: pathlib.Path) -> None:
    path = tmp_path / "northbound"
    assert read_record(str(path)) is None
    for revision in (1, 2, 3):
        record = RECORD.replace(revision=revision)
        write_files(str(path), render_files(record, 1000), revision)
        assert read_record(str(path)) == record
    assert path.is_symlink()
    assert len(list(tmp_path.iterdir())) == 2
    assert set(read_files(str(path)) or {}) == set(render_files(RECORD, 1000))


def test_a_copy_restored_by_hand_is_a_directory_and_can_be_replaced(tmp_path: pathlib.Path) -> None:
    path = tmp_path / "northbound"
    path.mkdir()
    for name, content in render_files(RECORD, 1000).items():
        (path / name).write_text(content, encoding="utf-8")
    newer = RECORD.replace(revision=RECORD.revision + 1)
    write_files(str(path), render_files(newer, 1000), newer.revision)
    assert read_record(str(path)) == newer
    assert len(list(tmp_path.iterdir())) == 2


def test_the_same_revision_can_be_written_twice(tmp_path: pathlib.Path) -> None:
    """By the same process id, too: those come again."""
    path = tmp_path / "northbound"
    for timer in (1000, 2000):
        write_files(str(path), render_files(RECORD, timer), RECORD.revision)
    assert read_record(str(path)) == RECORD
    assert (path / "election_timer").read_text(encoding="utf-8") == "2000\n"


@pytest.mark.parametrize(
    ("copies", "places", "newest"),
    [
        pytest.param({"c1": 3, "c2": 3, "c3": 4}, None, 4, id="the highest revision counts"),
        pytest.param(
            {"c1": "3 edited", "c2": 3, "c3": 4}, None, 4, id="what differs in an older revision does not matter"
        ),
        pytest.param({"c1": "4 edited", "c2": 4, "c3": 4}, 3, 4, id="of three places two agree"),
        pytest.param(
            {"c1": "4 edited", "c2": 4, "c3": 4}, None, None, id="without the number of places no majority is known"
        ),
        pytest.param({"c1": "4 edited", "c2": 4, "c3": 3}, 3, None, id="one against one"),
        pytest.param({"c1": "4 edited", "c2": 4, "c3": 4}, 5, None, id="two of five are no majority"),
    ],
)
def test_copies_of_one_revision_have_to_agree(copies: dict[str, t.Any], places: int | None, newest: int | None) -> None:
    records = {
        holder: RECORD.replace(revision=4, epoch=9)
        if copy == "4 edited"
        else RECORD.replace(revision=3, epoch=9)
        if copy == "3 edited"
        else RECORD.replace(revision=copy)
        for holder, copy in copies.items()
    }
    if newest is not None:
        assert latest(records, places) == RECORD.replace(revision=newest)
        return
    with pytest.raises(Refused, match=r"on c1 and c2 are both revision 4, but differ in epoch\."):
        latest(records, places)


def test_hold_of_one_copy_counts() -> None:
    """A recovery that began while a run wrote the copies has reached some of them."""
    held = RECORD.replace(hold=True)
    assert latest({"c1": held, "c2": RECORD, "c3": RECORD}, 3) == held
    newer = RECORD.replace(revision=RECORD.revision + 1)
    assert latest({"c1": held, "c2": newer, "c3": newer}, 3) == newer.replace(hold=True)
    rebuilt = newer.replace(cid=OTHER, retired_cids=(str(RECORD.cid),))
    assert latest({"c1": held, "c2": rebuilt, "c3": rebuilt}, 3) == rebuilt, "that recovery is over"


def test_an_unreadable_copy_never_passes_for_absent(tmp_path: pathlib.Path) -> None:
    path = tmp_path / "northbound"
    path.mkdir()
    with pytest.raises(OvnError, match=r"record\.json is not"):
        read_record(str(path))
    (path / "record.json").write_bytes(b"\xff\xfe")
    with pytest.raises(OvnError, match="cannot be read"):
        read_record(str(path))

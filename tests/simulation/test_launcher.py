"""The model's decision table is the script's: both look at the same files and the same record."""

from __future__ import annotations

import itertools
import os
import random
import re
import shutil
import subprocess
import typing as t
from pathlib import Path

import pytest

from ansible_collections.c5c3.ovn.plugins.module_utils._daemons.raft_launcher import SCRIPT
from ansible_collections.c5c3.ovn.plugins.module_utils._raft.record import (
    NO_SID,
    Member,
    MemberState,
    Permit,
    Record,
    render_files,
)
from simulation.launcher import decide
from simulation.log import EMPTY, File
from simulation.world import Witness

SCHEMA = Path("/usr/share/ovn/ovn-nb.ovsschema")
ADDRESS, OTHER_ADDRESS, PEER = "tcp:127.0.0.1:6643", "tcp:127.0.0.9:6643", "tcp:127.0.0.2:6643"
OTHER_ID = "0badcafe-0000-4000-8000-000000000000"
NOTHING_HERE = shutil.which("ovsdb-tool") is None or not SCHEMA.exists()
CASES = 20  # of each decision

pytestmark = pytest.mark.skipif(NOTHING_HERE, reason="NOT TESTED HERE: the launcher needs ovsdb-tool and OVN's schema")


def tool(*arguments: str) -> str:
    result = subprocess.run(["ovsdb-tool", *arguments], check=True, capture_output=True, text=True)
    return result.stdout.strip()


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> dict[str, tuple[Path | None, File | None]]:
    """Real files of every kind that the tools make, each with what the model says of it."""
    folder = tmp_path_factory.mktemp("files")
    member, joining, elsewhere = folder / "member.db", folder / "joining.db", folder / "elsewhere.db"
    tool("create-cluster", str(member), str(SCHEMA), ADDRESS)
    tool("create-cluster", str(elsewhere), str(SCHEMA), OTHER_ADDRESS)
    cid = tool("db-cid", str(member))
    tool(f"--cid={cid}", "join-cluster", str(joining), "OVN_Northbound", ADDRESS, PEER)
    standalone, empty, noise, broken = (folder / f"{name}.db" for name in ("standalone", "empty", "noise", "broken"))
    tool("create", str(standalone), str(SCHEMA))
    empty.write_bytes(b"")
    noise.write_bytes(b"no database\n")
    broken.write_bytes(member.read_bytes()[:40])

    def known(path: Path, kind: str, remotes: tuple[str, ...] = ()) -> tuple[Path, File]:
        address = tool("db-local-address", str(path))
        return path, File(
            kind,
            cid if kind == "joining" else tool("db-cid", str(path)),
            tool("db-sid", str(path)),
            address,
            0,
            EMPTY,
            remotes,
        )

    return {
        "none": (None, None),
        "empty": (empty, File("empty")),
        "unidentifiable": (noise, File("unidentifiable")),
        "broken": (broken, File("broken")),
        "standalone": (standalone, File("standalone")),
        "member": known(member, "member"),
        "member at another address": known(elsewhere, "member"),
        "joining": known(joining, "joining", (PEER,)),
    }


def records(file: File | None) -> t.Iterator[Record]:
    """Everything that a record can say to a member with this file."""
    sids = [None, OTHER_ID, *([file.sid] if file and file.sid else [])]
    cids = [None, OTHER_ID, *([file.cid] if file and file.cid else [])]
    states: tuple[t.Any, ...] = (*t.get_args(MemberState), None)
    for state, sid, cid, permit, hold, peers, address in itertools.product(
        states, sids, cids, (None, "m1", "m2"), (False, True), ((PEER,), (OTHER_ADDRESS,), ()), (ADDRESS, OTHER_ADDRESS)
    ):
        if (cid and permit) or (state == "confirmed" and not sid) or (state is None and sid):
            continue
        members = {f"m{number}": Member(peer) for number, peer in enumerate(peers, 2)}
        if state is not None:
            members = {"m1": Member(address, state, sid), **members}
        retired = (file.cid,) if file and file.cid and cid == OTHER_ID and hold is False and sid is None else ()
        given = Permit(permit, "run", "2026-01-01T00:00:00Z") if permit else None
        record = Record("northbound", members, 1, cid=cid, retired_cids=t.cast(t.Any, retired), permit=given, hold=hold)
        yield record
        if file and file.sid and peers and state not in ("confirmed", None):
            yield record.with_member("m2", past_sids=(file.sid,))


def script_says(
    folder: Path, file: Path | None, record: Record | None, witness: str = "", path: str = os.environ["PATH"]
) -> dict[str, str]:
    """What the real script says of this file, with this content of its witness."""
    script, database, copy = folder / "launcher", folder / "db" / "ovnnb_db.db", folder / "record"
    script.write_text(SCRIPT)
    database.parent.mkdir(exist_ok=True)
    shutil.rmtree(copy, ignore_errors=True)
    shutil.rmtree(folder / "state", ignore_errors=True)
    database.unlink(missing_ok=True)
    if file is not None:
        shutil.copy(file, database)
    if record is not None:
        copy.mkdir()
        for name, content in render_files(record, 1000).items():
            (copy / name).write_text(content)
    (folder / "witness").write_text(witness)
    environment = {
        "PATH": path,
        "OVN_DATABASE": "northbound",
        "OVN_MEMBER": "m1",
        "OVN_RECORD_DIR": str(copy),
        "OVN_DB_FILE": str(database),
        "OVN_RUN_DIR": str(folder / "run"),
        "OVN_STATE_DIR": str(folder / "state"),
        "OVN_LOCAL_ADDRESS": ADDRESS,
        "OVN_WITNESS_FILE": str(folder / "witness"),
    }
    result = subprocess.run(["sh", str(script), "state"], env=environment, capture_output=True, text=True, check=False)
    said = dict(re.findall(r"^(\w+)=(.*)$", result.stdout, re.M))
    assert {"class", "decision"} <= said.keys(), result.stderr
    return said


def test_the_table_is_that_of_the_script(files: dict[str, t.Any], tmp_path: Path) -> None:
    by_decision: dict[str, list[tuple[str, Record | None]]] = {}
    for name, (_path, file) in files.items():
        for record in [None, *records(file)]:
            by_decision.setdefault(decide(file, record, "m1", ADDRESS).decision, []).append((name, record))
    assert by_decision.keys() == {"start", "create", "join", "ask", "refuse", "idle"}
    random_ = random.Random(8)
    for decision, cases in by_decision.items():
        for name, record in random_.sample(cases, min(len(cases), CASES)):
            path, file = files[name]
            said = script_says(tmp_path, path, record)
            expected = (decision, decide(file, record, "m1", ADDRESS).file_class)
            assert (said["decision"], said["class"]) == expected, f"{name} with {record}"


@pytest.mark.parametrize("state", t.get_args(MemberState))
@pytest.mark.parametrize(
    ("terms", "entries"),
    [
        pytest.param(0, 0, id="as new as the witness"),
        pytest.param(0, 1, id="older than the witness"),
        pytest.param(1, 0, id="as long as the witness knows, but of an older term"),
        pytest.param(-1, 0, id="of a newer term than the witness knows"),
    ],
)
@pytest.mark.parametrize("sid", ["same", "another"])
def test_the_witness_counts_as_in_the_script(
    files: dict[str, t.Any], tmp_path: Path, state: t.Any, terms: int, entries: int, sid: str
) -> None:
    path, file = files["member"]
    recorded = file.sid if sid == "same" else OTHER_ID
    members = {"m1": Member(ADDRESS, state, recorded), "m2": Member(PEER)}
    record = Record("northbound", members, 1, cid=file.cid)
    said = script_says(tmp_path, path, record)
    term, last = int(said["last_term"]) + terms, int(said["last_index"]) + entries
    said = script_says(tmp_path, path, record, f"server {file.sid} {last} -\ncommitted {file.sid} {term} {last}\n")
    # The log of a file that no server has had yet is empty in the model.
    decided = decide(file, record, "m1", ADDRESS, Witness(file.sid, (terms, entries), 0))
    assert (said["decision"], said["class"]) == (decided.decision, decided.file_class)


@pytest.mark.parametrize("state", [*t.get_args(MemberState), None])
@pytest.mark.parametrize(
    "sid", [None, OTHER_ID, NO_SID], ids=["without a server id", "with its server id", "with another one"]
)
@pytest.mark.parametrize("disk", [1, 2], ids=["the same disk", "another disk"])
def test_an_absent_file_is_lost_only_on_its_own_disk_as_in_the_script(
    tmp_path: Path, state: t.Any, sid: str | None, disk: int
) -> None:
    """`stat` names a file system here: those of the machine that tests need not have an identity."""
    stat = tmp_path / "bin" / "stat"
    stat.parent.mkdir()
    stat.write_text(
        f'#!/bin/sh\ncase $3 in %T) echo ext2/ext3 ;; %i) echo 1 ;; *) exec {shutil.which("stat")} "$@" ;; esac\n'
    )
    stat.chmod(0o755)
    if state == "confirmed" and sid is None:
        sid = OTHER_ID
    members = {"m1": Member(ADDRESS, state, sid)} if state else {}
    record = Record("northbound", {**members, "m2": Member(PEER)}, 1, cid=OTHER_ID)
    said = script_says(tmp_path, None, record, f"server {OTHER_ID} 7 {disk}\n", f"{stat.parent}:{os.environ['PATH']}")
    decided = decide(None, record, "m1", ADDRESS, Witness(OTHER_ID, (1, 1), disk), 1)
    assert (said["decision"], said["class"]) == (decided.decision, decided.file_class)
    assert said["sid"] == (OTHER_ID if said["class"] == "disk-missing" else "")

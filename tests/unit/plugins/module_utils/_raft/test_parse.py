"""Every line that Open vSwitch 3.1, 3.5 and 4.0 print is understood, and a cut answer is told, not guessed."""

from __future__ import annotations

import pathlib
import typing as t

import pytest

from ansible_collections.c5c3.ovn.plugins.module_utils._base.errors import BadAnswer
from ansible_collections.c5c3.ovn.plugins.module_utils._raft.parse import Link, parse_cluster_status, parse_version

CAPTURES = pathlib.Path(__file__).parents[1] / "captures"
FILES = sorted(CAPTURES.glob("ovs-*/*.txt"))
VERSIONS = ["ovs-3.1", "ovs-3.5", "ovs-4.0"]


def capture(name: str) -> str:
    return (CAPTURES / f"{name}.txt").read_text()


def test_captures_of_three_versions_are_here() -> None:
    assert {path.parent.name for path in FILES} == set(VERSIONS)
    assert len(FILES) >= 60


@pytest.mark.parametrize("path", FILES, ids=lambda path: f"{path.parent.name} {path.stem}")
def test_no_line_of_a_real_status_is_unknown(path: pathlib.Path) -> None:
    status = parse_cluster_status(path.read_text())
    assert status.unknown_lines == ()
    assert status.name == "OVN_Northbound"
    assert status.server_id.startswith(status.sid)
    assert status.joining or status.listed(status.sid) is not None


@pytest.mark.parametrize("path", FILES, ids=lambda path: f"{path.parent.name} {path.stem}")
def test_any_cut_parses_or_says_that_it_is_cut(path: pathlib.Path) -> None:
    text = path.read_text()
    whole = parse_cluster_status(text)
    for end in range(len(text)):
        try:
            status = parse_cluster_status(text[:end])
        except BadAnswer:
            continue
        assert text[end - 1] == "\n"  # only whole lines can be missing, at the end
        assert status.server_id == whole.server_id
        assert status.servers == whole.servers[: len(status.servers)]


@pytest.mark.parametrize("version", VERSIONS)
def test_leader(version: str) -> None:
    status = parse_cluster_status(capture(f"{version}/leader"))
    assert (status.role, status.leader, status.leader_sid, status.status) == (
        "leader",
        "self",
        status.sid,
        "cluster member",
    )
    assert status.election_timer == 1000
    assert status.election_timer_target is None
    assert status.election_won is not None
    assert len(status.servers) == 3
    for server in status.servers:
        assert server.match_index == status.log_next - 1
        assert server.next_index is not None
        if not server.is_self:
            assert server.last_message is not None
            assert server.last_message < 1000
            assert status.linked(server.sid) == (True, True)


@pytest.mark.parametrize("version", VERSIONS)
def test_follower(version: str) -> None:
    status = parse_cluster_status(capture(f"{version}/follower"))
    assert status.role == "follower"
    leader = status.listed(status.leader_sid or "")
    assert leader is not None
    assert leader.last_message is not None
    assert [server.match_index for server in status.servers] == [None] * 3


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("joining-nobody-there", {"status": "joining cluster", "cluster_id": None, "joining": True, "servers": ()}),
        ("joining-wrong-cluster", {"status": "joining cluster", "cluster_id": "00000000-0000-4000-8000-000000000000"}),
        ("candidate", {"role": "candidate", "status": "cluster member", "leader_sid": None}),
        ("disconnected", {"status": "disconnected from the cluster (election timeout)", "role": "candidate"}),
        ("leaving", {"status": "leaving cluster"}),
        ("leader-without-majority", {"role": "leader", "not_committed": 1}),
        ("leader-changing-timer", {"election_timer": 1000, "election_timer_target": 2000}),
        ("leader-after-transfer", {"role": "leader", "election_reason": "leadership_transfer"}),
        ("restarted-without-quorum", {"status": "cluster member", "leader_sid": None, "role": "follower"}),
        ("zombie", {"status": "disconnected from the cluster (election timeout)", "leader_sid": None}),
    ],
)
def test_states(version: str, name: str, expected: dict[str, object]) -> None:
    status = parse_cluster_status(capture(f"{version}/{name}"))
    if name == "leader-after-transfer" and status.election_reason is None:
        expected = {"role": "leader"}  # newer versions forget the reason once the election is won
    assert {key: getattr(status, key) for key in expected} == expected


@pytest.mark.parametrize("version", VERSIONS)
def test_changes_of_the_membership(version: str) -> None:
    (adding,) = parse_cluster_status(capture(f"{version}/leader-adding-catchup")).changes
    assert (adding.kind, adding.phase) == ("adding", "adding: catchup")
    (removing,) = parse_cluster_status(capture(f"{version}/leader-removing")).changes
    assert removing.kind == "removing"
    phases = [server.phase for server in parse_cluster_status(capture(f"{version}/leader-adding-committing")).servers]
    assert sorted(filter(None, phases)) == ["adding: committing"]


def test_joining_remotes() -> None:
    assert parse_cluster_status(capture("ovs-4.0/joining-nobody-there")).remotes == (
        "tcp:127.0.0.1:1",
        "tcp:127.0.0.2:1",
    )


def test_a_joiner_whose_peer_has_not_said_who_it_is_counts_as_linked() -> None:
    status = parse_cluster_status(capture("ovs-3.1/follower"))
    assert Link("0000", outgoing=True, connected=True) in status.links
    assert status.linked(status.leader_sid or "") == (True, True)


def test_lost_link() -> None:
    status = parse_cluster_status(capture("ovs-3.1/leader-follower-killed"))
    (lost,) = [link for link in status.links if not link.connected]
    assert str(lost) == f"(->{lost.sid})"
    assert status.linked(lost.sid) == (False, False)


def test_ipv6_address() -> None:
    assert parse_cluster_status(capture("ovs-3.5/leader-ipv6")).address.startswith("tcp:[::1]:")


def test_unknown_lines_are_kept_and_harmless() -> None:
    text = capture("ovs-3.5/leader")
    status = parse_cluster_status(text.replace("Role:", "Mood: fine\nRole:") + "    nonsense\n")
    assert status.unknown_lines == ("Mood: fine", "    nonsense")
    assert without(status, "unknown_lines") == without(parse_cluster_status(text), "unknown_lines")


def without(value: t.Any, name: str) -> dict[str, object]:
    return {key: item for key, item in value._asdict().items() if key != name}


@pytest.mark.parametrize(
    "text",
    ["", "\n", "unknown cluster\n", "{}\n", "Name: X\n", "\x00\n", "Name: OVN_Northbound\nTerm: eleven\n" * 3, "ä\n"],
)
def test_what_is_no_status_is_refused(text: str) -> None:
    with pytest.raises(BadAnswer):
        parse_cluster_status(text)


@pytest.mark.parametrize(
    ("text", "version"),
    [
        ("ovsdb-server (Open vSwitch) 3.1.0\n", (3, 1, 0)),
        ("ovsdb-server (Open vSwitch) 3.10.12-dev\nDB Schema 8.3.0\n", (3, 10, 12)),
        ("ovn-northd 23.03.1", None),
        ("", None),
    ],
)
def test_version(text: str, version: tuple[int, int, int] | None) -> None:
    assert parse_version(text) == version

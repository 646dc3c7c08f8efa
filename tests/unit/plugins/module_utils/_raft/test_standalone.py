"""The verdict on a database of others: any number of members, or none of Raft."""

from __future__ import annotations

import pathlib
import subprocess
import typing as t

import pytest

from ansible_collections.c5c3.ovn.plugins.module_utils._raft import standalone
from ansible_collections.c5c3.ovn.plugins.module_utils._raft.standalone import (
    Space,
    assess_foreign,
    find_start_problem,
    measure_space,
)

Build = t.Callable[[t.Any], t.Any]


def alone(tools: t.Any, *numbers: int) -> t.Any:
    """Servers without Raft, asked through both sockets of their hosts or by an endpoint: they know no cluster."""
    cluster = tools.Raft(0)
    for number in numbers:
        cluster.add(tools.Paper(number, model="standalone", local=False, cid=None, server_id="", index=None))
    return cluster


@pytest.mark.parametrize(
    ("build", "verdict", "writable", "codes"),
    [
        pytest.param(lambda p: alone(p, 1), "standalone", True, set(), id="one server"),
        pytest.param(lambda p: alone(p, 1, 2), "standalone", True, {"standalone_several"}, id="active and backup"),
        pytest.param(lambda p: alone(p, 1, 2).unresponsive(2), "degraded", True, {"unreachable"}, id="one of two is dead"),
        pytest.param(lambda p: alone(p, 1).unresponsive(1), "unreachable", False, {"unreachable"}, id="nobody answers"),
        pytest.param(lambda p: p.Raft(3), "healthy", True, set(), id="a cluster"),
        pytest.param(lambda p: p.Raft(5), "healthy", True, set(), id="of any size"),
        pytest.param(lambda p: p.Raft(3).dead(3), "degraded", True, {"unreachable", "member_missing"}, id="with a dead member"),
        pytest.param(lambda p: p.Raft(3).all(local=False), "healthy", True, set(), id="behind endpoints"),
        pytest.param(lambda p: p.Raft(3).all(local=False).unresponsive(3), "degraded", True, {"unreachable"}, id="one endpoint is dead"),
        pytest.param(lambda p: p.Raft(1).all(local=False), "healthy", True, set(), id="an endpoint that leads to the leader"),
        pytest.param(lambda p: p.Raft(1).all(local=False, role="follower"), "healthy", True, {"partial_view"}, id="an endpoint that leads to another"),
        pytest.param(lambda p: p.Raft(1).all(local=False, leads=False, connected=False), "no_quorum", False, {"no_quorum", "disconnected"}, id="one cut off"),
    ],
)  # fmt: skip
def test_verdict(build: Build, verdict: str, writable: bool, codes: set[str], paper: t.Any) -> None:
    found = assess_foreign(build(paper).answers())
    assert (found.verdict, found.writable) == (verdict, writable)
    assert {reason.code for reason in found.reasons if not reason.code.startswith("fault_")} == codes


def test_servers_without_raft_are_described(paper: t.Any) -> None:
    found = assess_foreign(alone(paper, 1).answers())
    assert [(one["member"], one["reachable"], one["problems"]) for one in found.members] == [("m1", True, [])]
    assert (found.healthy, found.leader, found.cluster_id) == (True, None, None)


ROOM = Space(100, 10**9)


@pytest.fixture(autouse=True)
def server(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The unit tests run where Open vSwitch is not installed as well."""
    program = tmp_path / "bin" / "ovsdb-server"
    program.parent.mkdir()
    program.touch(mode=0o755)
    monkeypatch.setenv("PATH", str(program.parent))
    monkeypatch.setattr(standalone, "_SYSTEM_DIRECTORIES", ())


@pytest.fixture(scope="module")
def tls(tmp_path_factory: pytest.TempPathFactory) -> dict[str, dict[str, str]]:
    """Settings with two pairs of key and certificate."""
    made = {}
    for name in ("one", "two"):
        folder = tmp_path_factory.mktemp(name)
        key, certificate = folder / "key.pem", folder / "cert.pem"
        subprocess.run(
            [
                "openssl",
                "req",
                "-x509",
                "-newkey",
                "rsa:2048",
                "-nodes",
                "-subj",
                f"/CN={name}",
                "-keyout",
                key,
                "-out",
                certificate,
            ],
            check=True,
            capture_output=True,
            timeout=60,
        )
        made[name] = {
            "OVN_PRIVATE_KEY": str(key),
            "OVN_CERTIFICATE": str(certificate),
            "OVN_CA_CERTIFICATE": str(certificate),
        }
    return made


def test_nothing_hinders_a_start(tls: dict[str, dict[str, str]]) -> None:
    assert find_start_problem({**tls["one"], "OVN_LOCAL_ADDRESS": "ssl:127.0.0.1:6643"}, ROOM) == ""
    assert find_start_problem({"OVN_LOCAL_ADDRESS": "tcp:db.example.org:6643"}, Space(None, None)) == ""


def test_a_key_of_another_certificate(tls: dict[str, dict[str, str]]) -> None:
    mixed = {**tls["one"], "OVN_PRIVATE_KEY": tls["two"]["OVN_PRIVATE_KEY"]}
    assert "are no pair" in find_start_problem(mixed, ROOM)


def test_a_ca_that_is_none(tls: dict[str, dict[str, str]], tmp_path: pathlib.Path) -> None:
    (tmp_path / "ca.pem").write_text("nothing")
    problem = find_start_problem({**tls["one"], "OVN_CA_CERTIFICATE": str(tmp_path / "ca.pem")}, ROOM)
    assert f"The CA certificate {tmp_path}/ca.pem cannot be loaded" in problem


@pytest.mark.parametrize("option", ["OVN_PRIVATE_KEY", "OVN_CERTIFICATE", "OVN_CA_CERTIFICATE"])
def test_a_file_that_is_missing(tls: dict[str, dict[str, str]], option: str) -> None:
    assert "/nowhere.pem is missing or unreadable" in find_start_problem({**tls["one"], option: "/nowhere.pem"}, ROOM)


def test_tls_without_files() -> None:
    assert "No private key is set" in find_start_problem({"OVN_LOCAL_ADDRESS": "ssl:127.0.0.1:6643"}, ROOM)


@pytest.mark.parametrize(
    ("address", "local"),
    [
        ("tcp:127.0.3.4:6643", True),
        ("tcp:192.0.2.77:6643", False),
        ("tcp:[2001:db8::77]:6643", False),
    ],
)
def test_an_address_has_to_be_one_of_this_host(address: str, local: bool) -> None:
    problem = find_start_problem({"OVN_LOCAL_ADDRESS": address}, ROOM)
    assert (problem == "") == local
    assert local or "is not an address of this host" in problem


@pytest.mark.parametrize(("free", "fits"), [(2 * 2**30, True), (2 * 2**30 - 1, False)])
def test_a_compaction_needs_twice_the_file(free: int, fits: bool) -> None:
    problem = find_start_problem({"OVN_DB_FILE": "/db/nb.db"}, Space(2**30, free))
    assert (problem == "") == fits
    assert fits or "compaction of the database needs 2048 MiB" in problem


def test_a_file_that_misses_what_its_server_has_in_memory() -> None:
    problem = find_start_problem({"OVN_DB_FILE": "/db/nb.db"}, ROOM._replace(incomplete=True))
    assert "/db/nb.db misses what its server could not write" in problem


def test_without_the_program(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "/nowhere")
    assert "ovsdb-server is not installed" in find_start_problem({}, ROOM)


def test_sizes_of_a_file_and_its_file_system(tmp_path: pathlib.Path) -> None:
    (tmp_path / "db").write_bytes(b"123")
    space = measure_space(str(tmp_path / "db"))
    assert space.file == 3
    assert (space.free or 0) > 0
    assert measure_space(str(tmp_path / "nothing")).file is None
    assert measure_space("/nowhere/db") == Space(None, None)

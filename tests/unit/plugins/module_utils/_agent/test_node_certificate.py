"""What a node does with certificates that openssl(1) and our signer make. How it asks: tests/integration/test_node_certificates.py."""

from __future__ import annotations

import datetime
import os
import pathlib
import shutil
import typing as t

import pytest

pytest.importorskip("cryptography", reason="NOT TESTED: the Python library cryptography is missing")

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from ansible_collections.c5c3.ovn.plugins.module_utils._agent.api_client import Api
from ansible_collections.c5c3.ovn.plugins.module_utils._agent.key_pair import make_request
from ansible_collections.c5c3.ovn.plugins.module_utils._agent.node_certificate import (
    NodeCertificate,
    WaitingRequest,
    discard_certificate,
)
from ansible_collections.c5c3.ovn.plugins.module_utils._base.errors import InvalidInput, Refused
from ansible_collections.c5c3.ovn.plugins.module_utils._pki.signing import SigningAuthority

NOW = datetime.datetime(2026, 5, 1, tzinfo=datetime.timezone.utc)
DAY, DAYS = 24 * 3600.0, 300


class Authority:
    def __init__(self, name: str = "chassis CA") -> None:
        key = ec.generate_private_key(ec.SECP256R1())
        subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
        certificate = (
            x509.CertificateBuilder()
            .subject_name(subject)
            .issuer_name(subject)
            .public_key(key.public_key())
            .serial_number(7)
            .not_valid_before(NOW - datetime.timedelta(days=1000))
            .not_valid_after(NOW + datetime.timedelta(days=5000))
            .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
            .sign(key, hashes.SHA256())
        )
        form = (serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
        self.pem = certificate.public_bytes(serialization.Encoding.PEM).decode()
        self.signer = SigningAuthority(self.pem, key.private_bytes(*form).decode(), "", DAYS)


AUTHORITY, OTHER = Authority(), Authority("another CA")


class Node:
    """A node without an API server: whoever asks for a certificate fails with an AttributeError."""

    def __init__(self, folder: pathlib.Path) -> None:
        self.folder, self.now, self.ticks = folder, NOW.timestamp(), 1000.0
        self.agent = self.new_agent()

    def new_agent(self, issuer: str = AUTHORITY.pem) -> NodeCertificate:
        folder, nobody = str(self.folder), t.cast("t.Any", None)
        return NodeCertificate(folder, nobody, issuer, now=lambda: self.now, ticks=lambda: self.ticks)

    def sign(self, name: str = "a", authority: Authority = AUTHORITY, days: float = 0.0) -> str:
        """Return a certificate for the key of the request that waits, signed `days` after NOW."""
        folder = self.folder / "next"
        if not folder.exists():
            make_request(str(folder), name)
        request = next(folder.glob("*.csr")).read_text()
        return authority.signer.sign(request, name, NOW + datetime.timedelta(days=days))

    def use(self, certificate: str, name: str = "a") -> None:
        self.agent.use(certificate, name, "r1")

    def is_settled(self, name: str = "a") -> bool:
        """Return whether the agent is content, and asks nobody."""
        try:
            self.agent.ensure(name)
        except AttributeError:
            return False
        return True


@pytest.fixture
def node(tmp_path: pathlib.Path) -> Node:
    return Node(tmp_path)


@pytest.mark.parametrize("name", ["", "a b", "a/CN=b", "a\nb", "x" * 65])
def test_a_name_that_is_none_for_a_certificate(name: str, node: Node) -> None:
    with pytest.raises(Refused, match="cannot be that of a certificate"):
        node.agent.ensure(name)
    assert list(node.folder.iterdir()) == []


@pytest.mark.parametrize(("day", "settled"), [(0, True), (199, True), (201, False), (301, False)])
def test_it_is_renewed_at_two_thirds_of_its_life(node: Node, day: int, settled: bool) -> None:
    node.use(node.sign())
    node.now += day * DAY
    node.ticks += 4000.0
    assert node.is_settled() is settled


def test_a_node_that_has_none_or_that_of_another_name_asks(node: Node) -> None:
    assert not node.is_settled()
    node.use(node.sign())
    assert node.is_settled()
    assert not node.is_settled("b")


def test_a_certificate_of_another_ca_serves_until_the_next_one_is_there(node: Node) -> None:
    node.agent = node.new_agent(issuer="")
    node.use(node.sign(authority=OTHER))
    assert node.is_settled()
    node.agent = node.new_agent()
    assert not node.is_settled()
    found = node.agent.read()
    assert found is not None
    assert found.serves("a", node.now)
    node.use(node.sign())
    assert node.is_settled()


BAD: list[t.Any] = [
    pytest.param({"name": "b"}, "its common name is b", id="another name"),
    pytest.param({"authority": OTHER}, "another CA than that of the chassis has signed it", id="another CA"),
    pytest.param({"days": -301.0}, r"it ended at 2026-04-30 .*, and the clock of this node shows", id="it has ended"),
]


@pytest.mark.parametrize(("signed", "reason"), BAD)
def test_a_bad_certificate_replaces_none(node: Node, signed: dict[str, t.Any], reason: str) -> None:
    node.use(node.sign())
    former = node.agent.read()
    node.now += DAY
    bad = node.sign(**signed)
    with pytest.raises(Refused, match=f"is not used: {reason}") as e:
        node.use(bad)
    assert "look at who has signed CertificateSigningRequest r1." in str(e.value)
    assert node.agent.read() == former
    assert node.is_settled()
    assert not (node.folder / "next").exists(), "the same request would get the same certificate again"


def test_a_certificate_for_another_key_replaces_none(node: Node, tmp_path_factory: pytest.TempPathFactory) -> None:
    node.use(node.sign())
    former = node.agent.read()
    foreign = Node(tmp_path_factory.mktemp("other")).sign()
    for text in (foreign, "no certificate", ""):
        shutil.rmtree(node.folder / "next", ignore_errors=True)
        make_request(str(node.folder / "next"), "a")
        with pytest.raises(Refused, match="is not used: it is not for the key of its request"):
            node.use(text)
    assert node.agent.read() == former


def test_a_pair_that_was_not_used_for_want_of_time_is_used(node: Node) -> None:
    """The agent was killed between the two last steps."""
    node.use(node.sign())
    (node.folder / "current").unlink()
    assert node.is_settled()
    assert os.readlink(node.folder / "current").startswith("pair-")
    # But not that of another name, or half of one.
    (node.folder / "current").unlink()
    assert not node.is_settled("b")
    next(node.folder.glob("pair-*/tls.crt")).unlink()
    assert not node.is_settled()


@pytest.mark.parametrize("due", ["by its age", "by its CA"])
def test_a_renewal_that_was_cut_off_is_used_without_another_run(node: Node, due: str) -> None:
    """The agent was killed before the link was moved, while the former certificate works: nobody signs the same request twice."""
    node.agent = node.new_agent(issuer="")
    node.use(node.sign(authority=AUTHORITY if due == "by its age" else OTHER))
    former = os.readlink(node.folder / "current")
    later = 250.0 if due == "by its age" else 0.0
    node.now += later * DAY
    kept = node.folder / "kept"
    shutil.copytree(node.folder / former, kept)
    node.use(node.sign(days=later))
    shutil.rmtree(node.folder / former, ignore_errors=True)
    kept.rename(node.folder / former)
    (node.folder / "current").unlink()
    (node.folder / "current").symlink_to(former)
    (node.folder / "pair-bad").mkdir()
    node.agent = node.new_agent()
    assert node.is_settled()
    assert node.agent.problem == ""
    assert os.readlink(node.folder / "current") != former
    assert len(list(node.folder.glob("pair-*"))) == 1


def test_a_pair_that_ends_earlier_is_not_used(node: Node) -> None:
    """The agent was killed before it had deleted the former one."""
    node.use(node.sign())
    kept = node.folder / "kept"
    shutil.copytree(node.folder / "current", kept)
    node.use(node.sign(days=1.0))
    kept.rename(node.folder / "pair-0")
    node.now += 250 * DAY
    newest = os.readlink(node.folder / "current")
    assert not node.is_settled(), "it asks"
    assert os.readlink(node.folder / "current") == newest


def test_a_folder_that_cannot_be_written(node: Node, tmp_path_factory: pytest.TempPathFactory) -> None:
    """Also root cannot make a file below one. Without a certificate the agent says why; with one it goes on, and says it as of each renewal."""
    blocked = tmp_path_factory.mktemp("blocked") / "file"
    blocked.write_text("")
    whole, node.folder = node.folder, blocked
    with pytest.raises(Refused, match=r"cannot be kept in .*/file of its pod: .*Not a directory.*Free some space"):
        node.new_agent().ensure("a")
    node.folder = whole
    node.use(node.sign())
    node.now += 250 * DAY
    (node.folder / "next").write_text("")
    assert node.is_settled()
    assert "cannot be kept in" in node.agent.problem
    assert not node.agent.is_urgent


FULL: list[t.Any] = [
    pytest.param("next", "File exists", id="it cannot make a request"),
    pytest.param(".current", "Is a directory", id="it cannot use the one that was signed"),
]


@pytest.mark.parametrize(("blocked", "cause"), FULL)
def test_with_another_ca_and_a_full_disk_the_former_certificate_serves(node: Node, blocked: str, cause: str) -> None:
    """The pod is new, since the CA that signs is part of it, and its ovn-controller waits for the agent."""
    node.agent = node.new_agent(issuer="")
    node.use(node.sign(authority=OTHER))
    former = os.readlink(node.folder / "current")
    if blocked == "next":
        (node.folder / "next").write_text("")
    else:
        (node.folder / ".current").mkdir()
        with pytest.raises(OSError, match=cause):
            node.use(node.sign())
        assert len(list(node.folder.glob("pair-*"))) == 2
    before = sorted(str(one) for one in node.folder.rglob("*"))
    agent = node.new_agent()
    for _look in range(2):
        agent.ensure("a")
        assert agent.problem.startswith("The certificate in use is of another CA than that which signs today. Key and")
        assert cause in agent.problem
        assert agent.is_urgent
    assert os.readlink(node.folder / "current") == former
    assert sorted(str(one) for one in node.folder.rglob("*")) == before, "nothing is written to judge by a CA"
    # With space again the one that was signed is used; without one it asks.
    obstacle = node.folder / blocked
    (obstacle.rmdir if obstacle.is_dir() else obstacle.unlink)()
    if blocked == ".current":
        agent.ensure("a")
        assert (agent.problem, agent.is_urgent) == ("", False)
        assert os.readlink(node.folder / "current") != former


def test_without_a_certificate_that_works_a_full_disk_is_the_reason(node: Node) -> None:
    node.use(node.sign())
    (node.folder / "current").unlink()
    (node.folder / ".current").mkdir()
    with pytest.raises(Refused, match=r"cannot be kept in .* of its pod: .*Is a directory.*Free some space"):
        node.agent.ensure("a")


def test_a_clock_that_is_behind_is_no_reason_to_ask(node: Node) -> None:
    node.use(node.sign(days=1.0))
    found = node.agent.read()
    assert found is not None
    assert found.serves("a", node.now)
    assert node.is_settled()
    assert node.agent.problem.startswith(
        "The clock of this node is at least 82800 s behind: it shows 2026-05-01 00:00:00 UTC"
    )
    assert not node.agent.is_urgent
    node.now += DAY
    assert node.is_settled()
    assert node.agent.problem == ""


@pytest.mark.parametrize(("day", "urgent"), [(201, False), (274, False), (276, True), (299, True)])
def test_a_renewal_that_nobody_signs_becomes_urgent(node: Node, day: int, urgent: bool) -> None:
    """In the last twelfth of its life, by the probe of the pod; until then the log tells it."""
    node.use(node.sign())
    node.now += day * DAY
    node.agent.api = Api("https://127.0.0.1:1", str(node.folder / "no account"))
    node.agent.ensure("a")
    assert "The service account's token cannot be read" in node.agent.problem
    assert node.agent.is_urgent is urgent
    node.now += 300 * DAY
    with pytest.raises(InvalidInput):
        node.agent.ensure("a")


def test_openssl_runs_only_when_a_file_has_changed(
    node: Node, tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> None:
    programs = tmp_path_factory.mktemp("programs")
    calls = programs / "calls"
    program = programs / "openssl"
    program.write_text(f'#!/bin/sh\necho "$1" >>{calls}\nexec {shutil.which("openssl")} "$@"\n')
    program.chmod(0o755)
    monkeypatch.setenv("PATH", str(programs), prepend=os.pathsep)
    node.use(node.sign())
    assert node.is_settled()
    before = calls.read_text()
    for _look in range(100):
        assert node.is_settled()
    assert calls.read_text() == before
    node.now += DAY
    node.use(node.sign(days=1.0))
    assert node.is_settled()
    assert calls.read_text() != before


@pytest.mark.parametrize(
    ("longest", "most", "last"), [(300.0, 60, 300.0), (30.0, 150, 30.0)], ids=["renewal", "in need"]
)
def test_the_longer_a_request_waits_the_less_often_it_is_looked_at(longest: float, most: int, last: float) -> None:
    waiting, looks, ticks = WaitingRequest(), list[float](), 0.0
    while ticks < 3600.0:
        try:
            waiting.raise_answer("a", ticks)
            looks.append(ticks)
            waiting.keep_answer(Refused("not signed yet"), ticks, longest=longest)
        except Refused:
            pass
        ticks += 5.0
    assert looks[:3] == [0.0, 5.0, 10.0], "while a run is at work"
    assert len(looks) < most
    assert looks[-1] - looks[-2] == pytest.approx(last, abs=5.0)
    with pytest.raises(Refused, match=r"^not signed yet$"):
        waiting.raise_answer("a", looks[-1] + 1.0)
    waiting.raise_answer("b", looks[-1] + 1.0)  # another name is another request


def test_a_clock_that_is_ahead_gets_one_certificate_in_an_hour(node: Node) -> None:
    node.use(node.sign())
    node.agent.rest()
    node.now += 250 * DAY
    assert node.is_settled(), "it does not ask"
    assert node.agent.problem.startswith(
        "The certificate of chassis a was signed less than an hour ago, and is due by the clock of"
    )
    assert not node.agent.is_urgent
    node.ticks += 3601.0
    assert not node.is_settled()


def test_a_node_that_shares_a_certificate_keeps_no_key(node: Node) -> None:
    node.use(node.sign())
    node.sign()
    (node.folder / "theirs").write_text("x")
    assert {"current", "next"} < {one.name for one in node.folder.iterdir()}
    assert discard_certificate(str(node.folder)) is None
    assert [one.name for one in node.folder.iterdir()] == ["theirs"]
    assert "cannot be deleted" in str(discard_certificate(f"{node.folder}/none"))

"""The files of the CAs on the control node: complete or absent, whoever else runs and wherever a run ends."""

from __future__ import annotations

import datetime
import functools
import multiprocessing
import os
import pathlib
import signal
import stat
import subprocess
import typing as t

import pytest
from cryptography.hazmat.primitives.serialization import load_pem_private_key

from ansible_collections.c5c3.ovn.plugins.module_utils._base.errors import InvalidInput
from ansible_collections.c5c3.ovn.plugins.module_utils._host import ca_directory
from ansible_collections.c5c3.ovn.plugins.module_utils._host.ca_directory import AuthorityDirectory, NewAuthority
from ansible_collections.c5c3.ovn.plugins.module_utils._pki.certificates import (
    belongs_together,
    load_authority,
    not_after,
    not_before,
)
from ansible_collections.c5c3.ovn.plugins.module_utils._pki.issuing import AuthorityName

NOW = datetime.datetime(2026, 11, 30, 17, 0, tzinfo=datetime.timezone.utc)
NEW = NewAuthority(days=3650)


def authority(directory: pathlib.Path, name: AuthorityName = "central") -> AuthorityDirectory:
    return AuthorityDirectory(str(directory), name, lambda path: pathlib.Path(path).read_text())


def content(directory: pathlib.Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in directory.iterdir()}


def modes(directory: pathlib.Path) -> dict[str, int]:
    return {path.name: stat.S_IMODE(path.stat().st_mode) for path in directory.iterdir()}


def fits(directory: pathlib.Path, stem: str = "ca", passphrase: bytes | None = None) -> bool:
    """Whether key and certificate are those of one CA."""
    key = load_pem_private_key((directory / f"{stem}-key.pem").read_bytes(), passphrase)
    return belongs_together(key, load_authority((directory / f"{stem}.pem").read_text(), stem))


def test_new_ca_has_names_modes_and_lifetime_of_the_role(tmp_path: pathlib.Path) -> None:
    directory = tmp_path / "inventory" / "ovn-pki.cfg"
    assert authority(directory).create("active", NEW, NOW)
    assert authority(directory, "chassis").create("active", NEW, NOW)
    assert modes(directory) == {
        ".gitignore": 0o644,
        "ca.pem": 0o644,
        "ca-key.pem": 0o600,
        "chassis-ca.pem": 0o644,
        "chassis-ca-key.pem": 0o600,
    }
    assert stat.S_IMODE(directory.stat().st_mode) == 0o700
    assert (directory / ".gitignore").read_text() == "*\n"
    found = load_authority((directory / "ca.pem").read_text(), "ca")
    assert found.subject.rfc4514_string() == "CN=OVN CA 2026-11-30 17:00:00"
    assert not_before(found) == NOW - datetime.timedelta(hours=1)
    assert not_after(found) == NOW + datetime.timedelta(days=3650)
    chassis = load_authority((directory / "chassis-ca.pem").read_text(), "ca")
    assert chassis.subject.rfc4514_string() == "CN=OVN chassis CA 2026-11-30 17:00:00"
    assert fits(directory)
    assert fits(directory, "chassis-ca")


def test_existing_ca_stays(tmp_path: pathlib.Path) -> None:
    authority(tmp_path).create("active", NEW, NOW)
    before = content(tmp_path)
    assert not authority(tmp_path).create("active", NEW._replace(passphrase="other"), NOW)
    assert content(tmp_path) == before


def test_plain_key_of_a_killed_run_is_refused_if_a_passphrase_is_declared(tmp_path: pathlib.Path) -> None:
    authority(tmp_path).create("active", NEW, NOW)
    (tmp_path / "ca.pem").unlink()
    with pytest.raises(InvalidInput, match="is not encrypted, and a passphrase is declared for it"):
        authority(tmp_path).create("active", NEW._replace(passphrase="secret"), NOW)
    assert not (tmp_path / "ca.pem").exists()


def test_key_with_passphrase_is_encrypted(tmp_path: pathlib.Path) -> None:
    authority(tmp_path).create("active", NEW._replace(passphrase="secret"), NOW)
    assert (tmp_path / "ca-key.pem").read_text().startswith("-----BEGIN ENCRYPTED PRIVATE KEY-----")
    assert fits(tmp_path, passphrase=b"secret")


@pytest.mark.parametrize("passphrase", ["", "secret"])
def test_key_that_openssl_made_gets_its_certificate(tmp_path: pathlib.Path, passphrase: str) -> None:
    """As community.crypto wrote it: the form of OpenSSL before PKCS#8."""
    command = ["openssl", "ecparam", "-name", "secp384r1", "-genkey", "-noout"]
    pem = subprocess.run(command, check=True, capture_output=True).stdout
    if passphrase:
        command = ["openssl", "ec", "-aes256", "-passout", f"pass:{passphrase}"]
        pem = subprocess.run(command, check=True, capture_output=True, input=pem).stdout
        assert b"Proc-Type: 4,ENCRYPTED" in pem
    (tmp_path / "ca-key.pem").write_bytes(pem)
    assert authority(tmp_path).create("active", NEW._replace(passphrase=passphrase), NOW)
    assert (tmp_path / "ca-key.pem").read_bytes() == pem
    assert fits(tmp_path, passphrase=passphrase.encode() or None)


def test_wrong_passphrase_creates_nothing(tmp_path: pathlib.Path) -> None:
    authority(tmp_path).create("active", NEW._replace(passphrase="secret"), NOW)
    (tmp_path / "ca.pem").unlink()
    with pytest.raises(InvalidInput, match=r"ca-key\.pem cannot be read: .* its passphrase is wrong or missing\.$"):
        authority(tmp_path).create("active", NEW._replace(passphrase="other"), NOW)
    assert not (tmp_path / "ca.pem").exists()


def test_former_ca_stays_trusted(tmp_path: pathlib.Path) -> None:
    authority(tmp_path).create("active", NEW._replace(former=["one\n", "two\n"]), NOW)
    assert (tmp_path / "previous-ca.pem").read_text() == "one\n\ntwo\n"
    (tmp_path / "ca.pem").unlink()
    authority(tmp_path).create("active", NEW._replace(former=["three\n"]), NOW)
    assert (tmp_path / "previous-ca.pem").read_text() == "one\n\ntwo\n"


def _create(directory: pathlib.Path, made: t.Any) -> None:
    made.put(authority(directory).create("active", NEW, NOW))


def test_runs_at_once_create_one_ca(tmp_path: pathlib.Path) -> None:
    context = multiprocessing.get_context("fork")
    made = context.Queue()
    runs = [context.Process(target=_create, args=(tmp_path / "pki", made)) for _number in range(6)]
    for run in runs:
        run.start()
    assert sorted(made.get(timeout=60) for _run in runs) == [False] * 5 + [True]
    for run in runs:
        run.join(60)
    assert sorted(os.listdir(tmp_path / "pki")) == [".gitignore", "ca-key.pem", "ca.pem"]
    assert fits(tmp_path / "pki")


def killed_before(change: int, act: t.Callable[[], t.Any], monkeypatch: pytest.MonkeyPatch) -> bool:
    """Run `act` in a process that is killed before its rename number `change`; return whether there was one."""

    def child() -> None:
        done = 0
        rename, activate = os.rename, ca_directory.files.activate

        def count(original: t.Callable[..., t.Any]) -> t.Callable[..., t.Any]:
            def counted(*paths: t.Any) -> t.Any:
                nonlocal done
                if done == change:
                    os.kill(os.getpid(), signal.SIGKILL)
                done += 1
                return original(*paths)

            return counted

        monkeypatch.setattr(os, "rename", count(rename))
        monkeypatch.setattr(ca_directory.files, "activate", count(activate))
        act()

    run = multiprocessing.get_context("fork").Process(target=child)
    run.start()
    run.join(60)
    assert run.exitcode in (0, -signal.SIGKILL)
    return run.exitcode != 0


def test_killed_creation_is_completed(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for change in range(3):
        directory = tmp_path / str(change)
        was_killed = killed_before(
            change, functools.partial(authority(directory).create, "active", NEW, NOW), monkeypatch
        )
        assert was_killed == (change < 2)
        assert set(content(directory)) & {"ca.pem", "ca-key.pem"} == set(
            [[], ["ca-key.pem"], ["ca-key.pem", "ca.pem"]][change]
        )
        key = content(directory).get("ca-key.pem")
        authority(directory).create("active", NEW, NOW)
        assert sorted(content(directory)) == [".gitignore", "ca-key.pem", "ca.pem"]
        assert fits(directory)
        assert key in (None, content(directory)["ca-key.pem"])


def test_killed_switch_is_completed(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for change in range(5):
        directory = tmp_path / str(change)
        authority(directory).create("active", NEW, NOW)
        authority(directory).create("next", NEW, NOW)
        before = content(directory)
        assert killed_before(change, authority(directory).switch, monkeypatch) == (change < 4)
        if change < 4:
            assert authority(directory).switch()
        assert not authority(directory).switch()
        assert {name: text for name, text in content(directory).items() if name != ".gitignore"} == {
            "ca.pem": before["next-ca.pem"],
            "ca-key.pem": before["next-ca-key.pem"],
            "previous-ca.pem": before["ca.pem"],
            "previous-ca-key.pem": before["ca-key.pem"],
        }


def test_switch_without_the_active_key(tmp_path: pathlib.Path) -> None:
    authority(tmp_path).create("active", NEW, NOW)
    authority(tmp_path).create("next", NEW, NOW)
    (tmp_path / "ca-key.pem").unlink()
    assert authority(tmp_path).switch()
    assert fits(tmp_path)
    assert sorted(content(tmp_path)) == [".gitignore", "ca-key.pem", "ca.pem", "previous-ca.pem"]


def test_chassis_ca_that_comes_with_a_rotation_has_no_former_one(tmp_path: pathlib.Path) -> None:
    chassis = authority(tmp_path, "chassis")
    chassis.create("next", NEW, NOW)
    assert chassis.switch()
    assert sorted(content(tmp_path)) == [".gitignore", "chassis-ca-key.pem", "chassis-ca.pem"]
    assert not chassis.retire(NOW)


def test_killed_retirement_is_completed(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for change in range(3):
        directory = tmp_path / str(change)
        authority(directory).create("active", NEW, NOW)
        authority(directory).create("next", NEW, NOW)
        authority(directory).switch()
        assert killed_before(change, functools.partial(authority(directory).retire, NOW), monkeypatch) == (change < 2)
        assert authority(directory).retire(NOW) == (change < 2)
        assert sorted(content(directory)) == [
            ".gitignore",
            "ca-key.pem",
            "ca.pem",
            "retired-20261130T170000Z-previous-ca-key.pem",
            "retired-20261130T170000Z-previous-ca.pem",
        ]

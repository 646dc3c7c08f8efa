"""The files of a client's certificate, replaced all at once."""

from __future__ import annotations

import errno
import multiprocessing
import os
import pathlib
import ssl
import stat
import time
import typing as t

import pytest

from ansible_collections.c5c3.ovn.plugins.module_utils._base.errors import OvnError
from ansible_collections.c5c3.ovn.plugins.module_utils._host import client_certificate

if t.TYPE_CHECKING:
    from _pki import Pki
    from conftest import RunModule

NAMES = ("key.pem", "cert.pem", "ca.pem")


def texts(pki: Pki, name: str) -> dict[str, str]:
    files = pki.issue(name)
    options = ("private_key", "certificate", "ca_certificate")
    return {option: pathlib.Path(getattr(files, option)).read_text() for option in options}


def content(place: pathlib.Path | str) -> list[str]:
    return [pathlib.Path(place, name).read_text() for name in NAMES]


def files_in(place: pathlib.Path | str) -> dict[str, str]:
    return dict(zip(("private_key", "certificate", "ca_certificate"), (f"{place}/{name}" for name in NAMES)))


def place_of(done: t.Mapping[str, t.Any]) -> pathlib.Path:
    """The directory of the files in a result."""
    (folder,) = {os.path.dirname(path) for path in done["files"].values()}
    return pathlib.Path(folder)


def hidden(directory: pathlib.Path) -> list[str]:
    return sorted(name for name in os.listdir(directory) if name.startswith("."))


def test_certificate_is_written_once_and_replaced(run_module: RunModule, tmp_path: pathlib.Path, pki: Pki) -> None:
    directory = tmp_path / "neutron" / "ovn"
    first, second = texts(pki, "a"), texts(pki, "b")
    call = {"directory": str(directory), **first}
    predicted = run_module("ovn_client_certificate", call, check=True)
    assert (predicted["changed"], directory.exists()) == (True, False)
    done = run_module("ovn_client_certificate", call)
    assert (done["changed"], done["diff"]) == (True, predicted["diff"])
    assert done["files"] == predicted["files"] == files_in(directory / "current")
    assert content(directory / "current") == list(first.values())
    assert {stat.S_IMODE((directory / "current" / name).stat().st_mode) for name in NAMES} == {0o640}
    assert {stat.S_IMODE(path.stat().st_mode) for path in (directory, directory / "current")} == {0o750}
    for check in (True, False):
        assert not run_module("ovn_client_certificate", call, check=check)["changed"]

    call.update(second)
    assert run_module("ovn_client_certificate", call, check=True)["changed"]
    assert content(directory / "current") == list(first.values())
    done = run_module("ovn_client_certificate", call)
    assert content(directory / "current") == list(second.values())
    assert len(hidden(directory)) == 1, "the former ones are still there"
    assert second["private_key"].splitlines()[1] not in str(done)


def test_staged_certificate_does_not_replace_the_one_in_use(
    run_module: RunModule, tmp_path: pathlib.Path, pki: Pki
) -> None:
    first, second = texts(pki, "a"), texts(pki, "b")
    run_module("ovn_client_certificate", {"directory": str(tmp_path), **first})
    call = {"directory": str(tmp_path), **second}
    staged = run_module("ovn_client_certificate", {**call, "state": "staged"})
    assert staged["files"] == files_in(place_of(staged))
    assert content(place_of(staged)) == list(second.values())
    assert content(tmp_path / "current") == list(first.values())
    again = run_module("ovn_client_certificate", {**call, "state": "staged"})
    assert (again["changed"], again["files"]) == (False, staged["files"])
    predicted = run_module("ovn_client_certificate", {**call, "state": "staged"}, check=True)
    assert (predicted["changed"], predicted["files"]) == (False, staged["files"])

    remove = {"directory": str(tmp_path), "state": "unstaged"}
    assert run_module("ovn_client_certificate", remove, check=True)["changed"]
    assert run_module("ovn_client_certificate", remove)["changed"]
    assert not place_of(staged).exists()
    assert not run_module("ovn_client_certificate", remove)["changed"]
    assert content(tmp_path / "current") == list(first.values())

    place = place_of(run_module("ovn_client_certificate", {**call, "state": "staged"}))
    run_module("ovn_client_certificate", call)
    assert os.path.realpath(tmp_path / "current") == str(place)


def test_attributes_are_put_right_by_a_new_directory_and_not_while_it_is_tried(
    run_module: RunModule, tmp_path: pathlib.Path, pki: Pki
) -> None:
    elsewhere = tmp_path / "elsewhere"
    call = {"directory": str(tmp_path / "ovn"), **texts(pki, "a")}
    run_module("ovn_client_certificate", call)
    key = tmp_path / "ovn/current/key.pem"
    for spoil in ("mode", "link", "directory"):
        before = os.readlink(tmp_path / "ovn/current")
        if spoil == "link":
            elsewhere.write_bytes(key.read_bytes())
            key.unlink()
            key.symlink_to(elsewhere)
        (tmp_path / "ovn/current" if spoil == "directory" else key).chmod(0o755 if spoil == "directory" else 0o644)
        staged = run_module("ovn_client_certificate", {**call, "state": "staged"})
        assert (staged["changed"], place_of(staged).name == before) == (True, False)
        assert os.readlink(tmp_path / "ovn/current") == before
        predicted = run_module("ovn_client_certificate", call, check=True)
        done = run_module("ovn_client_certificate", call)
        assert (done["changed"], done["diff"]) == (predicted["changed"], predicted["diff"]) == (True, done["diff"])
        assert os.path.realpath(tmp_path / "ovn/current") == str(place_of(staged))
        assert stat.S_IMODE(key.lstat().st_mode) == 0o640
        assert len(hidden(tmp_path / "ovn")) == 1
        assert not run_module("ovn_client_certificate", call)["changed"]
    assert stat.S_IMODE(elsewhere.stat().st_mode) == 0o644

    before = os.readlink(tmp_path / "ovn/current")
    (tmp_path / "ovn").chmod(0o755)
    assert not run_module("ovn_client_certificate", {**call, "state": "staged"})["changed"]
    assert stat.S_IMODE((tmp_path / "ovn").stat().st_mode) == 0o755
    assert run_module("ovn_client_certificate", call, check=True)["changed"]
    assert run_module("ovn_client_certificate", call)["changed"]
    assert (os.readlink(tmp_path / "ovn/current"), stat.S_IMODE((tmp_path / "ovn").stat().st_mode)) == (before, 0o750)


def test_a_link_in_the_place_of_a_new_directory_leads_nowhere(
    tmp_path: pathlib.Path, pki: Pki, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Who owns the directory above replaces what root has just made in it."""
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir(mode=0o700)

    def make_and_lose(**options: str) -> str:
        os.makedirs(options["dir"], exist_ok=True)
        os.symlink(elsewhere, f"{options['dir']}/.triple-new")
        return f"{options['dir']}/.triple-new"

    monkeypatch.setattr(client_certificate.tempfile, "mkdtemp", make_and_lose)
    params = {
        "directory": str(tmp_path / "ovn"),
        "owner": None,
        "group": None,
        "run": "",
        "state": "present",
        **texts(pki, "a"),
    }
    with pytest.raises(OvnError, match="cannot be written: Not a directory"):
        client_certificate.apply_client_certificate(params, check_mode=False)
    assert (os.listdir(elsewhere), stat.S_IMODE(elsewhere.stat().st_mode)) == ([], 0o700)
    assert hidden(tmp_path / "ovn") == []


@pytest.mark.parametrize("spelling", ["relative", "absolute", "double"])
def test_what_is_in_use_stays_however_the_link_is_spelled(
    run_module: RunModule, tmp_path: pathlib.Path, pki: Pki, spelling: str
) -> None:
    call = {"directory": str(tmp_path), **texts(pki, "a")}
    run_module("ovn_client_certificate", call)
    current = tmp_path / "current"
    name = os.readlink(current)
    current.unlink()
    if spelling == "double":
        (tmp_path / ".triple-link").symlink_to(name)
    current.symlink_to({"relative": f"./{name}", "absolute": tmp_path / name, "double": ".triple-link"}[spelling])
    remove = {"directory": f"{tmp_path}/../{tmp_path.name}/", "state": "unstaged"}
    assert not run_module("ovn_client_certificate", remove, check=True)["changed"]
    assert not run_module("ovn_client_certificate", remove)["changed"]
    assert content(current) == [call[option] for option in ("private_key", "certificate", "ca_certificate")]
    assert not run_module("ovn_client_certificate", call)["changed"]


def test_a_link_is_deleted_but_not_what_it_leads_to(run_module: RunModule, tmp_path: pathlib.Path, pki: Pki) -> None:
    elsewhere = tmp_path / "elsewhere"
    call = {"directory": str(tmp_path / "ovn"), **texts(pki, "a")}
    staged = run_module("ovn_client_certificate", {**call, "state": "staged"})
    place_of(staged).rename(elsewhere)
    place_of(staged).symlink_to(elsewhere)
    again = run_module("ovn_client_certificate", {**call, "state": "staged"})
    assert place_of(again) != place_of(staged), "it would be used through a link of somebody else"
    (tmp_path / "ovn/.triple-file").write_text("")
    remove = {"directory": str(tmp_path / "ovn"), "state": "unstaged"}
    assert run_module("ovn_client_certificate", remove)["changed"]
    assert (hidden(tmp_path / "ovn"), len(content(elsewhere))) == ([], 3)


def test_a_key_that_cannot_be_deleted_is_told(
    tmp_path: pathlib.Path, pki: Pki, monkeypatch: pytest.MonkeyPatch
) -> None:
    params = {"directory": str(tmp_path), "owner": None, "group": None, "run": "", "state": "staged", **texts(pki, "a")}
    place = place_of(client_certificate.apply_client_certificate(params, check_mode=False))

    def fail(path: str, *_arguments: t.Any, **_options: t.Any) -> None:
        raise PermissionError(errno.EPERM, os.strerror(errno.EPERM), path)

    monkeypatch.setattr(os, "unlink", fail)  # as for a file that is immutable
    with pytest.raises(
        OvnError, match=rf"^{place} cannot be deleted: Operation not permitted\. It is not in use, but "
    ):
        client_certificate.apply_client_certificate({**params, "state": "unstaged"}, check_mode=False)


def test_a_directory_in_the_place_of_the_link_is_refused(
    run_module: RunModule, tmp_path: pathlib.Path, pki: Pki
) -> None:
    (tmp_path / "current").mkdir()
    for state in ("staged", "present"):
        for check in (True, False):
            call = {"directory": str(tmp_path), "state": state, **texts(pki, "a")}
            refused = run_module("ovn_client_certificate", call, check=check, may_fail=True)
            assert refused["msg"] == (
                f"{tmp_path}/current is no link. Nothing was changed. Move it away, then run again."
            )
    assert os.listdir(tmp_path) == ["current"]
    (tmp_path / "current").rmdir()
    run_module("ovn_client_certificate", call)


def test_files_are_required_to_write_them(run_module: RunModule, tmp_path: pathlib.Path) -> None:
    for state in ("staged", "present"):
        refused = run_module("ovn_client_certificate", {"directory": str(tmp_path), "state": state}, may_fail=True)
        assert "missing: private_key, certificate, ca_certificate" in refused["msg"]


def test_a_key_of_another_certificate_changes_nothing(run_module: RunModule, tmp_path: pathlib.Path, pki: Pki) -> None:
    first, second = texts(pki, "a"), texts(pki, "b")
    run_module("ovn_client_certificate", {"directory": str(tmp_path), **first})
    before = hidden(tmp_path)
    pair = "Private key and certificate do not fit together: "
    for wrong, message in (
        ({"certificate": first["certificate"]}, pair),
        ({"ca_certificate": "nothing"}, "The CA certificate is none: "),
        ({"private_key": ""}, pair),
    ):
        refused = run_module("ovn_client_certificate", {"directory": str(tmp_path), **second, **wrong}, may_fail=True)
        assert refused["msg"].startswith(message)
        assert "Have the certificate issued again" in refused["msg"]
    assert (content(tmp_path / "current"), hidden(tmp_path)) == (list(first.values()), before)


def test_a_run_that_was_killed_is_finished_by_the_next(run_module: RunModule, tmp_path: pathlib.Path, pki: Pki) -> None:
    first, second = texts(pki, "a"), texts(pki, "b")
    run_module("ovn_client_certificate", {"directory": str(tmp_path), **first})
    half = tmp_path / ".triple-half"
    half.mkdir()
    (half / "key.pem").write_text(second["private_key"])
    (tmp_path / ".current.pending").symlink_to("nowhere")
    run_module("ovn_client_certificate", {"directory": str(tmp_path), **second})
    assert content(tmp_path / "current") == list(second.values())
    assert len(hidden(tmp_path)) == 1


def test_a_pair_that_does_not_fit_is_not_taken_from_a_run_that_was_killed(
    run_module: RunModule, tmp_path: pathlib.Path, pki: Pki
) -> None:
    """It was killed when all files were written, but not yet looked at."""
    first, second = texts(pki, "a"), texts(pki, "b")
    call = {"directory": str(tmp_path), **first, "certificate": second["certificate"]}
    left = tmp_path / ".triple-left"
    left.mkdir()
    for name, text in zip(NAMES, (call["private_key"], call["certificate"], call["ca_certificate"])):
        (left / name).write_text(text)
        (left / name).chmod(0o640)
    left.chmod(0o750)
    for state in ("staged", "present"):
        refused = run_module("ovn_client_certificate", {**call, "state": state}, check=True, may_fail=True)
        assert refused["msg"].startswith("Private key and certificate do not fit together: ")
    assert left.exists()
    refused = run_module("ovn_client_certificate", call, may_fail=True)
    assert refused["msg"].startswith("Private key and certificate do not fit together: ")
    assert os.listdir(tmp_path) == []


def replace_for_ever(directory: str, triples: list[dict[str, str]]) -> None:
    while True:
        for triple in triples:
            params = {"directory": directory, "owner": None, "group": None, "run": "", "state": "present", **triple}
            client_certificate.apply_client_certificate(params, check_mode=False)


def test_readers_get_a_pair_that_fits_whenever_it_is_killed(tmp_path: pathlib.Path, pki: Pki) -> None:
    """Each round ends a process that does nothing but replace; what it leaves is a pair."""
    triples = [texts(pki, "a"), texts(pki, "b")]
    params = {"directory": str(tmp_path), "owner": None, "group": None, "run": "", "state": "present", **triples[0]}
    client_certificate.apply_client_certificate(params, check_mode=False)
    for round_number in range(20):
        process = multiprocessing.get_context("fork").Process(target=replace_for_ever, args=(str(tmp_path), triples))
        process.start()
        time.sleep(0.05 + 0.003 * round_number)  # killed at any moment
        process.kill()
        process.join()
        assert content(tmp_path / "current") in [list(triple.values()) for triple in triples]
        context = ssl.create_default_context(cafile=str(tmp_path / "current/ca.pem"))
        context.load_cert_chain(str(tmp_path / "current/cert.pem"), str(tmp_path / "current/key.pem"))


def try_and_use_for_ever(directory: str, run: str, triples: list[dict[str, str]]) -> None:
    """As the role does it: whatever goes wrong ends the process."""
    while True:
        for triple in triples:
            for state in ("staged", "present", "unstaged"):
                params = {"directory": directory, "owner": None, "group": None, "run": run, "state": state, **triple}
                done = client_certificate.apply_client_certificate(params, check_mode=False)
                if state == "staged":
                    for _look in range(5):  # what another run takes away is gone at one of them
                        assert content(place_of(done)) == list(triple.values())


def test_runs_at_the_same_time_leave_each_other_alone(tmp_path: pathlib.Path, pki: Pki) -> None:
    triples = [texts(pki, "a"), texts(pki, "b")]
    context = multiprocessing.get_context("fork")
    processes = [
        context.Process(target=try_and_use_for_ever, args=(str(tmp_path), run, order))
        for run, order in (("one", triples), ("two", triples[::-1]))
    ]
    for process in processes:
        process.start()
    for process in processes:
        process.join(1)
    ended = [process.exitcode for process in processes]
    for process in processes:
        process.kill()
        process.join()
    assert ended == [None, None], "a run has failed because of the other one"
    assert content(tmp_path / "current") in [list(triple.values()) for triple in triples]


def test_files_that_another_run_tries_are_not_deleted(run_module: RunModule, tmp_path: pathlib.Path, pki: Pki) -> None:
    first, second = ({"directory": str(tmp_path), "run": name, **texts(pki, name)} for name in ("a", "b"))
    place = place_of(run_module("ovn_client_certificate", {**first, "state": "staged"}))
    remove = {"directory": str(tmp_path), "state": "unstaged"}
    run_module("ovn_client_certificate", second)
    for check in (True, False):
        assert not run_module("ovn_client_certificate", {**remove, "run": "b"}, check=check)["changed"]
    assert content(place) == [first[option] for option in ("private_key", "certificate", "ca_certificate")]
    run_module("ovn_client_certificate", first)
    assert os.path.realpath(tmp_path / "current") == str(place)
    assert not run_module("ovn_client_certificate", {**remove, "run": "a"})["changed"]
    assert sorted(os.listdir(place)) == sorted(NAMES)

    place = place_of(run_module("ovn_client_certificate", {**second, "state": "staged"}))
    (mark,) = set(os.listdir(place)) - set(NAMES)
    os.utime(place / mark, (0, time.time() - 3601))
    assert run_module("ovn_client_certificate", {**remove, "run": "a"})["changed"]
    assert not place.exists(), "what a run has left that was killed"


@pytest.mark.parametrize("place", ["/proc/nowhere", "/dev/null"])
def test_a_directory_that_cannot_be(run_module: RunModule, pki: Pki, place: str) -> None:
    refused = run_module("ovn_client_certificate", {"directory": place, **texts(pki, "a")}, may_fail=True)
    assert f"{place} cannot be written" in refused["msg"]

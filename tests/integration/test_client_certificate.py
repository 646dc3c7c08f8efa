"""The files of a client's certificate, replaced all at once."""

from __future__ import annotations

import multiprocessing
import os
import pathlib
import ssl
import stat
import time
import typing as t

import pytest

from ansible_collections.c5c3.ovn.plugins.module_utils._host.client_certificate import apply_client_certificate

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


def hidden(directory: pathlib.Path) -> list[str]:
    return sorted(name for name in os.listdir(directory) if name.startswith("."))


def test_it_is_written_once_and_replaced(run_module: RunModule, tmp_path: pathlib.Path, pki: Pki) -> None:
    directory = tmp_path / "neutron" / "ovn"
    first, second = texts(pki, "a"), texts(pki, "b")
    call = {"directory": str(directory), **first}
    predicted = run_module("ovn_client_certificate", call, check=True)
    assert (predicted["changed"], directory.exists()) == (True, False)
    done = run_module("ovn_client_certificate", call)
    assert (done["changed"], done["directory"], done["diff"]) == (True, f"{directory}/current", predicted["diff"])
    assert content(directory / "current") == list(first.values())
    assert {stat.S_IMODE((directory / "current" / name).stat().st_mode) for name in NAMES} == {0o640}
    assert {stat.S_IMODE(path.stat().st_mode) for path in (directory, directory / "current")} == {0o750}
    for check in (True, False):
        assert not run_module("ovn_client_certificate", call, check=check)["changed"]

    (directory / "current" / "key.pem").chmod(0o644)
    assert run_module("ovn_client_certificate", call, check=True)["changed"]
    assert run_module("ovn_client_certificate", call)["changed"]
    assert stat.S_IMODE((directory / "current" / "key.pem").stat().st_mode) == 0o640

    call.update(second)
    assert run_module("ovn_client_certificate", call, check=True)["changed"]
    assert content(directory / "current") == list(first.values())
    done = run_module("ovn_client_certificate", call)
    assert content(directory / "current") == list(second.values())
    assert len(hidden(directory)) == 1, "the former ones are still there"
    assert second["private_key"].splitlines()[1] not in str(done)


def test_it_is_tried_beside_the_one_in_use(run_module: RunModule, tmp_path: pathlib.Path, pki: Pki) -> None:
    first, second = texts(pki, "a"), texts(pki, "b")
    run_module("ovn_client_certificate", {"directory": str(tmp_path), **first})
    call = {"directory": str(tmp_path), **second}
    staged = run_module("ovn_client_certificate", {**call, "state": "staged"})
    assert content(staged["directory"]) == list(second.values())
    assert content(tmp_path / "current") == list(first.values())
    again = run_module("ovn_client_certificate", {**call, "state": "staged"})
    assert again["directory"] == staged["directory"]

    assert run_module("ovn_client_certificate", {**call, "state": "unstaged"}, check=True)["changed"]
    assert run_module("ovn_client_certificate", {**call, "state": "unstaged"})["changed"]
    assert not pathlib.Path(staged["directory"]).exists()
    assert not run_module("ovn_client_certificate", {**call, "state": "unstaged"})["changed"]
    assert content(tmp_path / "current") == list(first.values())

    place = run_module("ovn_client_certificate", {**call, "state": "staged"})["directory"]
    run_module("ovn_client_certificate", call)
    assert os.path.realpath(tmp_path / "current") == place


def test_a_key_of_another_certificate_changes_nothing(run_module: RunModule, tmp_path: pathlib.Path, pki: Pki) -> None:
    first, second = texts(pki, "a"), texts(pki, "b")
    run_module("ovn_client_certificate", {"directory": str(tmp_path), **first})
    before = hidden(tmp_path)
    for wrong in ({"certificate": first["certificate"]}, {"ca_certificate": "nothing"}, {"private_key": ""}):
        refused = run_module("ovn_client_certificate", {"directory": str(tmp_path), **second, **wrong}, may_fail=True)
        assert refused["msg"].startswith("Private key, certificate and CA do not fit together")
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


def replace_for_ever(directory: str, triples: list[dict[str, str]]) -> None:
    while True:
        for triple in triples:
            params = {"directory": directory, "owner": None, "group": None, "state": "present", **triple}
            apply_client_certificate(params, check_mode=False)


def test_readers_get_a_pair_that_fits_whenever_it_is_killed(tmp_path: pathlib.Path, pki: Pki) -> None:
    """Each round ends a process that does nothing but replace; what it leaves is a pair."""
    triples = [texts(pki, "a"), texts(pki, "b")]
    for round_number in range(20):
        process = multiprocessing.get_context("fork").Process(target=replace_for_ever, args=(str(tmp_path), triples))
        process.start()
        time.sleep(0.05 + 0.003 * round_number)
        process.kill()
        process.join()
        if not (tmp_path / "current").exists():
            continue
        assert content(tmp_path / "current") in [list(triple.values()) for triple in triples]
        context = ssl.create_default_context(cafile=str(tmp_path / "current/ca.pem"))
        context.load_cert_chain(str(tmp_path / "current/cert.pem"), str(tmp_path / "current/key.pem"))
    assert (tmp_path / "current").exists()


@pytest.mark.parametrize("place", ["/proc/nowhere", "/dev/null"])
def test_a_directory_that_cannot_be(run_module: RunModule, pki: Pki, place: str) -> None:
    refused = run_module("ovn_client_certificate", {"directory": place, **texts(pki, "a")}, may_fail=True)
    assert f"{place} cannot be written" in refused["msg"]

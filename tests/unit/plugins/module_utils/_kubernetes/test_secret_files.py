"""What a module leaves on the control node."""

from __future__ import annotations

import base64
import pathlib

import pytest

from ansible_collections.c5c3.ovn.plugins.module_utils._errors import OvnError
from ansible_collections.c5c3.ovn.plugins.module_utils._kubernetes.secret_files import files_of

DATA = {name: base64.b64encode(name.encode()).decode() for name in ("tls.key", "tls.crt", "ca.crt")}


def test_only_the_owner_may_read_them_and_they_do_not_stay(tmp_path: pathlib.Path) -> None:
    with files_of(DATA, str(tmp_path)) as files:
        assert {option: pathlib.Path(path).read_text(encoding="utf-8") for option, path in files.items()} == {
            "private_key": "tls.key",
            "certificate": "tls.crt",
            "ca_certificate": "ca.crt",
        }
        directory = pathlib.Path(files["private_key"]).parent
        modes = [path.stat().st_mode & 0o777 for path in (directory, *directory.iterdir())]
        assert modes == [0o700, 0o600, 0o600, 0o600]
    assert list(tmp_path.iterdir()) == []


def test_they_are_gone_after_a_failure(tmp_path: pathlib.Path) -> None:
    with pytest.raises(OvnError, match="no answer"), files_of(DATA, str(tmp_path)):
        raise OvnError("no answer")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("data", [{}, {**DATA, "ca.crt": ""}, {"tls.key": DATA["tls.key"]}])
def test_without_one_of_them_nothing_is_written(data: dict[str, str], tmp_path: pathlib.Path) -> None:
    with files_of(data, str(tmp_path)) as files:
        assert files == {}
        assert list(tmp_path.iterdir()) == []


def test_a_full_disk_leaves_no_part_of_them(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(path: pathlib.Path, _content: bytes) -> None:
        if path.name == "ca.crt":
            raise OSError("No space left on device")

    monkeypatch.setattr(pathlib.Path, "write_bytes", full)
    with pytest.raises(OvnError, match="No space left on device"), files_of(DATA, str(tmp_path)):
        raise AssertionError("files are missing")
    assert list(tmp_path.iterdir()) == []


def test_what_is_no_base64_is_named(tmp_path: pathlib.Path) -> None:
    with (
        pytest.raises(OvnError, match="Cannot write key and certificate of the Secret"),
        files_of({**DATA, "tls.key": "x"}, str(tmp_path)),
    ):
        raise AssertionError("the key cannot be read")
    assert list(tmp_path.iterdir()) == []

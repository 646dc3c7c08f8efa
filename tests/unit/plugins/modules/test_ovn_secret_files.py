"""What the module leaves on the control node."""

from __future__ import annotations

import base64
import pathlib
import tempfile

import pytest

from ansible_collections.c5c3.ovn.plugins.module_utils._errors import OvnError
from ansible_collections.c5c3.ovn.plugins.modules.ovn_secret_files import write_files

DATA = {name: base64.b64encode(name.encode()).decode() for name in ("tls.key", "tls.crt", "ca.crt")}


@pytest.fixture(autouse=True)
def temporary(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> pathlib.Path:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    return tmp_path


def test_only_the_owner_may_read_them() -> None:
    directory, files = write_files(DATA)
    assert {option: pathlib.Path(path).read_text(encoding="utf-8") for option, path in files.items()} == {
        "private_key": "tls.key",
        "certificate": "tls.crt",
        "ca_certificate": "ca.crt",
    }
    modes = [pathlib.Path(path).stat().st_mode & 0o777 for path in (directory, *files.values())]
    assert modes == [0o700, 0o600, 0o600, 0o600]


@pytest.mark.parametrize("data", [{}, {**DATA, "ca.crt": ""}, {"tls.key": DATA["tls.key"]}])
def test_without_one_of_them_nothing_is_written(data: dict[str, str], temporary: pathlib.Path) -> None:
    assert write_files(data) == ("", {})
    assert list(temporary.iterdir()) == []


def test_a_full_disk_leaves_no_part_of_them(temporary: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(path: pathlib.Path, _content: bytes) -> None:
        if path.name == "ca.crt":
            raise OSError("No space left on device")

    monkeypatch.setattr(pathlib.Path, "write_bytes", full)
    with pytest.raises(OvnError, match="No space left on device"):
        write_files(DATA)
    assert list(temporary.iterdir()) == []

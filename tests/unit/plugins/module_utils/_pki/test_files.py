"""Files are deleted once, and what prevents it is said. What daemons see of a replaced pair is tested with real ones."""

from __future__ import annotations

import pathlib

import pytest

from ansible_collections.c5c3.ovn.plugins.module_utils._errors import OvnError
from ansible_collections.c5c3.ovn.plugins.module_utils._pki.files import delete


def test_a_file_is_deleted_once(tmp_path: pathlib.Path) -> None:
    path = tmp_path / "a.service"
    path.write_text("[Service]\n")
    delete(str(path))
    assert not path.exists()
    delete(str(path))  # somebody else was faster


def test_what_cannot_be_deleted(tmp_path: pathlib.Path) -> None:
    with pytest.raises(OvnError, match=f"^{tmp_path} cannot be deleted: Is a directory. "):
        delete(str(tmp_path))

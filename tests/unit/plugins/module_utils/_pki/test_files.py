"""Files are deleted once, and what prevents it is said; links are not followed. What daemons see of a replaced pair is tested with real ones."""

from __future__ import annotations

import os
import pathlib
import stat

import pytest

from ansible_collections.c5c3.ovn.plugins.module_utils._base.errors import OvnError
from ansible_collections.c5c3.ovn.plugins.module_utils._pki.files import (
    Ownership,
    create_private_directory,
    delete,
    repair_attributes,
)


def test_a_file_is_deleted_once(tmp_path: pathlib.Path) -> None:
    path = tmp_path / "a.service"
    path.write_text("[Service]\n")
    delete(str(path))
    assert not path.exists()
    delete(str(path))  # somebody else was faster


def test_what_cannot_be_deleted(tmp_path: pathlib.Path) -> None:
    with pytest.raises(OvnError, match=f"^{tmp_path} cannot be deleted: Is a directory. "):
        delete(str(tmp_path))


def test_private_directory_has_private_parents(tmp_path: pathlib.Path) -> None:
    path = tmp_path / "ca" / "clients"
    tmp_path.chmod(0o755)
    assert create_private_directory(str(path), check_mode=True)
    assert not path.parent.exists()
    assert create_private_directory(str(path), check_mode=False)
    modes = [stat.S_IMODE(one.stat().st_mode) for one in (tmp_path, path.parent, path)]
    assert modes == [0o755, 0o700, 0o700], "those that were there stay"
    assert not create_private_directory(str(path), check_mode=False)
    path.chmod(0o750)
    assert create_private_directory(str(path), check_mode=False)
    assert stat.S_IMODE(path.stat().st_mode) == 0o700


def test_attributes_are_corrected_but_not_behind_a_link(tmp_path: pathlib.Path) -> None:
    file, link = tmp_path / "key.pem", tmp_path / "link"
    file.write_text("")
    file.chmod(0o644)
    link.symlink_to(file)
    owner = Ownership(os.getuid(), os.getgid())
    with pytest.raises(OvnError, match=rf"^Mode or owner of {link} cannot be changed: it is a link\. "):
        repair_attributes(str(link), 0o600, owner)
    assert stat.S_IMODE(file.stat().st_mode) == 0o644
    repair_attributes(str(file), 0o600, owner)
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    repair_attributes(str(tmp_path), 0o750, owner)
    assert stat.S_IMODE(tmp_path.stat().st_mode) == 0o750
    with pytest.raises(OvnError, match=r"cannot be changed: No such file"):
        repair_attributes(str(tmp_path / "none"), 0o600, owner)

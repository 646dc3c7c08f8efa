# Copyright: (c) 2026, C5C3 contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""PRIVATE to the collection: may change at any time.

One host's copy of a state record: a directory with one file per key. It is a symbolic link to a directory per revision, switched in one
rename (as Kubernetes does with a mounted ConfigMap), so that the launcher never reads half of an update.
"""

from __future__ import annotations

import os
import pathlib
import shutil
import tempfile

from .._errors import OvnError
from .record import Record, parse_record


def read_record(path: str) -> Record | None:
    """The copy at `path`, None if there is none. A copy that is there but unreadable is an error: it must never pass for absent."""
    file = pathlib.Path(path, "record.json")
    try:
        text = file.read_text(encoding="utf-8")
    except FileNotFoundError:
        if os.path.lexists(path):
            raise OvnError(
                f"{path} is there, but {file} is not. Restore the directory from another central host, or remove it to have it written anew."
            ) from None
        return None
    except (OSError, UnicodeDecodeError) as e:
        raise OvnError(f"The state record {file} cannot be read: {e}.") from e
    try:
        return parse_record(text)
    except OvnError as e:
        raise OvnError(f"{file}: {e}", **e.details) from e


def read_files(path: str) -> dict[str, str] | None:
    """All files of the copy, None if there is none."""
    if not os.path.isdir(path):
        return None
    return {
        file.name: file.read_text(encoding="utf-8") for file in sorted(pathlib.Path(path).iterdir()) if file.is_file()
    }


def write_files(path: str, files: dict[str, str], revision: int) -> None:
    """Replace the copy in one step and remove the old one; a run that is killed in between leaves the old or the new copy, never a mixture."""
    target = pathlib.Path(path)
    target.parent.mkdir(parents=True, exist_ok=True)
    # Never a name that is in use: the same revision may be written twice, and process ids come again.
    fresh = pathlib.Path(tempfile.mkdtemp(prefix=f".{target.name}.r{revision}.", dir=target.parent))
    try:
        fresh.chmod(0o755)
        for name, content in files.items():
            file = fresh / name
            file.write_text(content, encoding="utf-8")
            _sync(file)
        _sync(fresh)
        link = target.with_name(f".{target.name}.new.{os.getpid()}")
        link.unlink(missing_ok=True)
        link.symlink_to(fresh.name)
        if target.is_dir() and not target.is_symlink():  # restored by hand; a directory cannot be replaced in one step
            target.rename(target.with_name(f".{target.name}.restored.{os.getpid()}"))
        os.replace(link, target)
        _sync(target.parent)
    except OSError as e:
        shutil.rmtree(fresh, ignore_errors=True)
        raise OvnError(
            f"The state record {path} cannot be written: {e}. Check the free space and permissions of {target.parent}."
        ) from e
    for old in target.parent.glob(f".{target.name}.r*"):  # revisions and what was restored by hand
        if old.name != fresh.name:
            shutil.rmtree(old, ignore_errors=True)


def _sync(path: pathlib.Path) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)

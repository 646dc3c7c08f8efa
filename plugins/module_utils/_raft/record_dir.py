# SPDX-License-Identifier: GPL-3.0-or-later
"""One host's copy of a state record: a directory with one file per key. It is a symbolic link to a directory per revision, switched in one
rename (as Kubernetes does with a mounted ConfigMap), so that the launcher never reads half of an update.
"""

from __future__ import annotations

import errno
import os
import pathlib
import shutil
import tempfile

from .._base.errors import OvnError
from .record import Record, parse_record, refuse_other_database


def read_record(path: str, database: str | None = None) -> Record | None:
    """Return the copy at `path`, None if there is none. A copy that is there but unusable is an error: it must never pass for absent.

    With `database` the copy has to be about that one.
    """
    file = pathlib.Path(path, "record.json")
    try:
        text = file.read_text(encoding="utf-8")
    except FileNotFoundError:
        if os.path.lexists(path):
            raise OvnError(_absent_in(path, file)) from None
        return None
    except UnicodeDecodeError as e:
        raise OvnError(f"{_place(file)} cannot be read: it is no text (octet {e.start}). {_restore(path)}") from e
    except OSError as e:
        raise OvnError(f"{_place(file)} cannot be read: {_cause(e)}. {_read_step(e, path, file)}", errno=e.errno) from e
    try:
        record = parse_record(text)
        if database is not None:
            refuse_other_database(record, database)
    except OvnError as e:
        raise OvnError(f"{_place(file)} is refused: {e}", **e.details) from e
    return record


def _place(path: str | pathlib.Path) -> str:
    return f"The state record {path} on {os.uname().nodename}"


def _restore(path: str) -> str:
    return (
        f"Copy the directory {path} from another central host, or move it aside to let the next run write it from the copies of the others. "
        "Nothing was changed."
    )


def _cause(e: OSError) -> str:
    return (e.strerror or str(e)).lower()


def _absent_in(path: str, file: pathlib.Path) -> str:
    if os.path.islink(path) and not os.path.exists(path):
        cause = f"{path} is a link to {os.readlink(path)}, which does not exist"
    elif os.path.islink(file):
        cause = f"{file} is a link to {os.readlink(file)}, which does not exist"
    else:
        cause = f"{path} is there, but {file} is not"
    return f"{_place(path)} cannot be read: {cause}. {_restore(path)}"


def _read_step(e: OSError, path: str, file: pathlib.Path) -> str:
    if e.errno in (errno.EACCES, errno.EPERM):
        return f"Give root the right to read it, and its directories the right to be entered: ls -ld {path} {file}. Nothing was changed."
    if e.errno == errno.EIO:
        return f"Check the disk under {path} (dmesg, smartctl) before anything else is done on this host. Nothing was changed."
    return _restore(path)


def read_files(path: str) -> dict[str, str] | None:
    """Return all files of the copy, None if there is none."""
    if not os.path.isdir(path):
        return None
    found: dict[str, str] = {}
    for file in sorted(pathlib.Path(path).iterdir()):
        try:
            if file.is_file():
                found[file.name] = file.read_text(encoding="utf-8", errors="replace")
        except OSError as e:
            raise OvnError(f"{_place(file)} cannot be read: {_cause(e)}. {_read_step(e, path, file)}") from e
    return found


def write_files(path: str, files: dict[str, str], revision: int) -> None:
    """Replace the copy in one step and remove the old one; a run that is killed in between leaves the old or the new copy, never a mixture."""
    target = pathlib.Path(path)
    fresh: pathlib.Path | None = None
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        if os.path.lexists(target) and not target.is_dir():  # anything else is not ours to replace
            raise NotADirectoryError(errno.ENOTDIR, os.strerror(errno.ENOTDIR), path)
        # Never a name that is in use: the same revision may be written twice, and process ids come again.
        fresh = pathlib.Path(tempfile.mkdtemp(prefix=f".{target.name}.r{revision}.", dir=target.parent))
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
        if fresh is not None:
            shutil.rmtree(fresh, ignore_errors=True)
        raise OvnError(f"{_place(path)} cannot be written: {_cause(e)}. {_write_step(e, target)}", errno=e.errno) from e
    for old in target.parent.glob(f".{target.name}.r*"):  # revisions and what was restored by hand
        if old.name != fresh.name:
            shutil.rmtree(old, ignore_errors=True)


def _write_step(e: OSError, target: pathlib.Path) -> str:
    if e.errno == errno.EROFS:
        return f"Find out why the file system of {target.parent} is read-only (dmesg, findmnt -T {target.parent}), then run again."
    if e.errno in (errno.ENOSPC, errno.EDQUOT):
        return f"Free space in {target.parent}, then run again."
    if e.errno in (errno.ENOTDIR, errno.EEXIST):
        return f"Move away what is in the place of the directory {target} or of one above it, then run again."
    return f"Check the disk and the permissions of {target.parent}, then run again."


def _sync(path: pathlib.Path) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)

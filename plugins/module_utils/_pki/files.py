# SPDX-License-Identifier: GPL-3.0-or-later
"""Files that running daemons read: written beside their final name, complete on disk, then renamed."""

from __future__ import annotations

import contextlib
import dataclasses
import errno
import grp
import os
import pwd
import stat
import time

from .._base.errors import InvalidInput, OvnError

# ovsdb-server checks its files once per turn of its main loop. A check that falls between the two touches sees one
# change only and ignores it; the second touch, well after the first, repeats both.
SECOND_TOUCH_AFTER = 0.2
_PRIVATE = 0o700


@dataclasses.dataclass(frozen=True)
class Ownership:
    """None means: as the file is, and for new files the user who runs the task."""

    uid: int | None
    gid: int | None


def ownership(owner: str | None, group: str | None) -> Ownership:
    """Return the ids of the user and the group; `InvalidInput` if the host does not have them."""
    try:
        uid = None if owner is None else pwd.getpwnam(owner).pw_uid
        gid = None if group is None else grp.getgrnam(group).gr_gid
    except KeyError as error:
        raise InvalidInput(
            f"There is no such user or group on the host: {error}. Create it first, or leave the option out."
        ) from error
    return Ownership(uid, gid)


def read(path: str) -> bytes | None:
    """Return the content; None if there is no such file."""
    try:
        with open(path, "rb") as stream:
            return stream.read()
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as error:
        raise OvnError(f"{path} cannot be read: {error.strerror}. Run the task as root (become: true).") from error


def create_private_directory(path: str, *, check_mode: bool) -> bool:
    """Create a directory that nobody else may read, like the parents that it lacks; return whether that changes anything."""
    if os.path.isdir(path) and stat.S_IMODE(os.stat(path).st_mode) == _PRIVATE:
        return False
    if check_mode:
        return True
    missing = [path]
    while (parent := os.path.dirname(missing[-1])) and not os.path.isdir(parent):
        missing.append(parent)
    try:
        for one in reversed(missing):
            os.makedirs(one, exist_ok=True)
            os.chmod(one, _PRIVATE)
    except OSError as error:
        raise OvnError(f"{path} cannot be created: {error.strerror}. Correct that, then run again.") from error
    return True


def pending(path: str) -> str:
    """Return the path of the pending file: hidden, beside `path` on the same file system, so that the rename is atomic."""
    folder, name = os.path.split(path)
    return os.path.join(folder, f".{name}.pending")


def write_pending(path: str, content: bytes, mode: int, owned_by: Ownership) -> None:
    """Put the content beside its final place; it is safe on disk when this returns."""
    temporary = pending(path)
    try:
        os.makedirs(os.path.dirname(path), mode=0o755, exist_ok=True)
        # A left-over is removed instead of reused: it may have another owner, or be a link.
        if os.path.lexists(temporary):
            os.unlink(temporary)
        descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode)
        with os.fdopen(descriptor, "wb") as stream:
            hand_over(descriptor, mode, owned_by)
            stream.write(content)
            stream.flush()
            os.fsync(descriptor)
    except OSError as error:
        raise OvnError(
            f"{temporary} cannot be written: {error.strerror}. The installed files are unchanged. "
            "Check free space and permissions (become: true), then run again."
        ) from error


def activate(*paths: str) -> None:
    """Rename the pending files to their names, in the given order."""
    for path in paths:
        try:
            os.replace(pending(path), path)
        except OSError as error:
            raise OvnError(
                f"{path} cannot be replaced: {error.strerror}. Run again; the next run repairs the pair."
            ) from error
    for folder in {os.path.dirname(path) for path in paths}:
        descriptor = os.open(folder or ".", os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


def delete(path: str) -> None:
    """Delete the file; one that is gone already is no error."""
    try:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(path)
    except OSError as error:
        raise OvnError(
            f"{path} cannot be deleted: {error.strerror}. Correct its permissions or mount, and run the task as root (become: true)."
        ) from error


def touch_together(*paths: str) -> None:
    """Give all files one new modification time: a daemon reloads its pair only if both changed since its last check."""
    for pause in (0.0, SECOND_TOUCH_AFTER):
        time.sleep(pause)
        now = time.time_ns()
        for path in paths:
            os.utime(path, ns=(now, now))


def touched_together(*paths: str) -> bool:
    """Return whether the last replacement of these files was completed."""
    return len({os.stat(path).st_mtime_ns for path in paths}) == 1


def attribute_problem(path: str, mode: int, owned_by: Ownership) -> str | None:
    """Return how mode or owner of an existing file differ from the desired ones; None if they do not."""
    try:
        found = os.stat(path)
    except (FileNotFoundError, NotADirectoryError):
        return None
    if stat.S_IMODE(found.st_mode) != mode:
        return f"the mode of {path} is {stat.S_IMODE(found.st_mode):04o}, desired is {mode:04o}"
    if owned_by.uid is not None and found.st_uid != owned_by.uid:
        return f"the owner of {path} is {found.st_uid}, desired is {owned_by.uid}"
    if owned_by.gid is not None and found.st_gid != owned_by.gid:
        return f"the group of {path} is {found.st_gid}, desired is {owned_by.gid}"
    return None


def repair_attributes(path: str, mode: int, owned_by: Ownership) -> None:
    """Correct mode and owner of what is there; `OvnError` if it cannot be done, or for a link.

    The folder may belong to somebody else, who could let a link of this name lead to any file.
    """
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
        try:
            hand_over(descriptor, mode, owned_by)
        finally:
            os.close(descriptor)
    except OSError as error:
        if error.errno == errno.ELOOP:
            raise OvnError(
                f"Mode or owner of {path} cannot be changed: it is a link. Put what it leads to in its place, or correct that by hand, then run again."
            ) from error
        raise OvnError(
            f"Mode or owner of {path} cannot be changed: {error.strerror}. Run the task as root (become: true)."
        ) from error


def hand_over(descriptor: int, mode: int, owned_by: Ownership) -> None:
    """Give an open file or directory its mode and owner."""
    os.fchmod(descriptor, mode)
    if owned_by != Ownership(None, None):
        os.fchown(descriptor, _id(owned_by.uid), _id(owned_by.gid))


def _id(value: int | None) -> int:
    return -1 if value is None else value

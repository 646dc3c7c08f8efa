# SPDX-License-Identifier: GPL-3.0-or-later
"""The private key, the certificate and the CAs of a client on this host, in the form of `ovn_client_certificate`: three files, replaced by one rename.

Each triple has a directory of its own, and the link `current` names the one in use, as kubelet does it for the Secrets of pods. Whoever opens the files
during that rename may still get some of both, once; no run that ends in between leaves them so.

Runs at the same time: the directory is locked while one reads or changes what is in it. Between two calls, while a run tries staged files, a mark in their
directory has others leave it alone.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import shutil
import ssl
import tempfile
import time
import typing as t

from .._base.errors import InvalidInput, OvnError, Refused
from .._pki.files import (
    Ownership,
    activate,
    attribute_problem,
    delete,
    hand_over,
    ownership,
    pending,
    read,
    repair_attributes,
)
from .file_lock import locked

OPTIONS: dict[str, dict[str, t.Any]] = {
    "directory": {"type": "path", "required": True},
    "private_key": {"type": "str", "no_log": True},
    "certificate": {"type": "str"},
    "ca_certificate": {"type": "str"},
    "owner": {"type": "str"},
    "group": {"type": "str"},
    "run": {"type": "str", "default": ""},
    "state": {"type": "str", "choices": ["present", "staged", "unstaged"], "default": "present"},
}
_FILES: t.Mapping[str, str] = {"private_key": "key.pem", "certificate": "cert.pem", "ca_certificate": "ca.pem"}
REQUIRED_IF = [("state", "present", tuple(_FILES)), ("state", "staged", tuple(_FILES))]
_CURRENT = "current"
_TRIPLE, _MARK = ".triple-", ".tried-by-"
_TRIED_FOR = 3600.0  # seconds after which whoever tries them is taken for a run that was killed
_DIRECTORY_MODE, _FILE_MODE = 0o750, 0o640


def files_in_use(directory: str) -> dict[str, str]:
    """Return the paths of the files that a client opens, by the names of the options."""
    return _files_in(os.path.join(directory, _CURRENT))


def apply_client_certificate(params: t.Mapping[str, t.Any], *, check_mode: bool) -> dict[str, t.Any]:
    """Return the result of `ovn_client_certificate`.

    `InvalidInput` if the key does not fit, `Refused` if something else has the name of the link, `OvnError` if a file cannot be written or deleted or another
    process keeps the lock.
    """
    triple = _Triple(
        params["directory"],
        {file: (params[option] or "").encode() for option, file in _FILES.items()},
        ownership(params["owner"], params["group"]),
        params["run"],
    )
    if not check_mode and params["state"] != "unstaged":
        triple.make_directory()
    lock = contextlib.nullcontext() if check_mode or not os.path.isdir(triple.directory) else locked(triple.directory)
    with lock:
        return _apply(triple, params["state"], check_mode=check_mode)


def _apply(triple: _Triple, state: str, *, check_mode: bool) -> dict[str, t.Any]:
    used = triple.in_use()
    if state == "unstaged":
        left = triple.unneeded(used)
        if not check_mode:
            triple.unmark()
            _delete(left)
        return _result(triple.current, [f"{path} is not in use" for path in left])
    if os.path.lexists(triple.current) and not used:
        raise Refused(f"{triple.current} is no link. Nothing was changed. Move it away, then run again.")
    place = triple.find()
    missing = [] if place else [f"{triple.directory} has no directory with these files"]
    problems = triple.problems() if state == "present" else missing
    if problems and not check_mode:
        place = place or triple.write()
    if place and not _is_same(place, used):
        try:
            _check(place)  # also what a run has left that was killed before it came to this
        except InvalidInput:
            if not check_mode:
                _delete([place])
            raise
    if state == "staged":
        if not check_mode:
            triple.mark(place)
        return _result(place or triple.current, problems)
    if problems and not check_mode:
        triple.use(place)
    return _result(triple.current, problems)


class _Triple:
    """The three files that are desired, and the directories that hold them or others."""

    def __init__(self, directory: str, contents: t.Mapping[str, bytes], owned_by: Ownership, run: str) -> None:
        self.directory, self.contents, self.owned_by = directory, contents, owned_by
        self.current = os.path.join(directory, _CURRENT)
        self._mark = f"{_MARK}{hashlib.sha256(run.encode()).hexdigest()[:16]}" if run else ""

    def make_directory(self) -> None:
        try:
            os.makedirs(self.directory, mode=_DIRECTORY_MODE, exist_ok=True)
        except OSError as e:
            raise _unwritable(self.directory, e) from e

    def in_use(self) -> str:
        """Return the directory that the link names, empty without a link."""
        return os.path.join(self.directory, os.readlink(self.current)) if os.path.islink(self.current) else ""

    def others(self, place: str) -> list[str]:
        """Return the directories of triples but for `place`: staged ones, and those of runs that were killed."""
        try:
            names = sorted(os.listdir(self.directory)) if os.path.isdir(self.directory) else []
        except OSError as e:
            raise OvnError(
                f"{self.directory} cannot be read: {e.strerror}. Run the task as root (become: true)."
            ) from e
        paths = (os.path.join(self.directory, name) for name in names if name.startswith(_TRIPLE))
        return [path for path in paths if not _is_same(path, place)]

    def unneeded(self, place: str) -> list[str]:
        """Return those of `others` that no other run tries now."""
        return [path for path in self.others(place) if not self._is_tried(path)]

    def _is_tried(self, place: str) -> bool:
        if os.path.islink(place):
            return False
        try:
            marks = [name for name in os.listdir(place) if name.startswith(_MARK) and name != self._mark]
            return any(time.time() - os.lstat(os.path.join(place, name)).st_mtime < _TRIED_FOR for name in marks)
        except OSError:  # no directory, or gone: check mode locks nobody out
            return False

    def mark(self, place: str) -> None:
        """Say in a directory of files that this run tries them. `OvnError` if that cannot be written."""
        if not self._mark:
            return
        try:
            with _opened(place) as folder:
                flags = os.O_WRONLY | os.O_CREAT | os.O_NOFOLLOW
                with os.fdopen(os.open(self._mark, flags, 0o600, dir_fd=folder), "wb") as stream:
                    os.utime(stream.fileno())
        except OSError as e:
            raise _unwritable(place, e) from e

    def unmark(self) -> None:
        """Take the mark of this run from all directories."""
        places = [path for path in self.others("") if os.path.isdir(path) and not os.path.islink(path)]
        for place in places if self._mark else ():
            delete(os.path.join(place, self._mark))

    def problems(self) -> list[str]:
        """Return why something has to be done before clients use these files, empty if nothing has."""
        place = self.in_use()
        if not place:
            return [f"{self.current} does not exist"]
        if not self._is_complete(place):
            return [f"{self.current} has another key, certificate or CA"]
        problem = attribute_problem(self.directory, _DIRECTORY_MODE, self.owned_by)
        return [*([problem] if problem else []), *self._attribute_problems(place)]

    def find(self) -> str:
        """Return the directory with these files, for those who shall read them: that in use, if it is one; empty if there is none."""
        places = [self.in_use(), *(path for path in self.others("") if not os.path.islink(path))]
        fit = (one for one in places if one and self._is_complete(one) and not self._attribute_problems(one))
        return next(fit, "")

    def write(self) -> str:
        """Write the files into a new directory, where nobody looks yet; return it.

        Files that are there get no other owner or mode: that would be a change before the files are tried, and, where the directory above belongs to somebody
        else, he could let a link lead to any file. Hence the descriptors, too.
        """
        place = ""
        try:
            place = tempfile.mkdtemp(prefix=_TRIPLE, dir=self.directory)
            with _opened(place) as folder:
                for name, content in self.contents.items():
                    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL
                    with os.fdopen(os.open(name, flags, _FILE_MODE, dir_fd=folder), "wb") as stream:
                        hand_over(stream.fileno(), _FILE_MODE, self.owned_by)
                        stream.write(content)
                        stream.flush()
                        os.fsync(stream.fileno())
                hand_over(folder, _DIRECTORY_MODE, self.owned_by)
                os.fsync(folder)
        except OSError as e:
            with contextlib.suppress(OvnError):  # the next run deletes it, or says why it cannot
                _delete([place] if place else [])
            raise _unwritable(self.directory, e) from e
        return place

    def use(self, place: str) -> None:
        """Let the link name this directory, and delete the others."""
        if attribute_problem(self.directory, _DIRECTORY_MODE, self.owned_by):
            repair_attributes(self.directory, _DIRECTORY_MODE, self.owned_by)
        if not _is_same(self.in_use(), place):
            link = pending(self.current)
            try:
                if os.path.lexists(link):
                    os.unlink(link)
                os.symlink(os.path.basename(place), link)
            except OSError as e:
                raise OvnError(
                    f"{link} cannot be made: {e.strerror}. The files in use are unchanged. Correct its directory, then run again."
                ) from e
            activate(self.current)
        _delete(self.unneeded(place))

    def _is_complete(self, place: str) -> bool:
        return all(read(os.path.join(place, name)) == content for name, content in self.contents.items())

    def _attribute_problems(self, place: str) -> list[str]:
        modes = [(place, _DIRECTORY_MODE), *((os.path.join(place, name), _FILE_MODE) for name in self.contents)]
        return [problem for problem in (attribute_problem(*one, self.owned_by) for one in modes) if problem]


@contextlib.contextmanager
def _opened(place: str) -> t.Iterator[int]:
    """Open the directory of a triple, which is none of ours if a link leads there."""
    folder = os.open(place, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
    try:
        yield folder
    finally:
        os.close(folder)


def _unwritable(path: str, error: OSError) -> OvnError:
    return OvnError(
        f"{path} cannot be written: {error.strerror}. The files in use are unchanged. Check free space and permissions (become: true), then run again."
    )


def _files_in(place: str) -> dict[str, str]:
    return {option: os.path.join(place, name) for option, name in _FILES.items()}


def _result(place: str, problems: list[str]) -> dict[str, t.Any]:
    before = "".join(f"{problem}\n" for problem in problems)
    return {"changed": bool(problems), "files": _files_in(place), "diff": {"before": before, "after": ""}}


def _is_same(one: str, other: str) -> bool:
    """Return whether two paths lead to one directory, however they are spelled."""
    try:
        return os.path.samefile(one, other)
    except OSError:
        return False


def _check(place: str) -> None:
    """Raise `InvalidInput` if the files are none, or the key is that of another certificate: they may come from a control node where they just change."""
    files = _files_in(place)
    what = "The CA certificate is none"
    try:
        context = ssl.create_default_context(cafile=files["ca_certificate"])
        what = "Private key and certificate do not fit together"
        context.load_cert_chain(files["certificate"], files["private_key"], password="")  # nobody is there to type one
    except ssl.SSLError as e:
        raise InvalidInput(
            f"{what}: {e.reason or e}. The files in use are unchanged. Have the certificate issued again, or run again if that is just happening."
        ) from e


def _delete(places: t.Iterable[str]) -> None:
    """Delete these directories with all that is in them, and links of such names, but not what they lead to; one that is gone already is no error."""
    for place in places:
        try:
            if os.path.islink(place) or not os.path.isdir(place):
                os.unlink(place)
            else:
                shutil.rmtree(place)
        except OSError as e:
            if os.path.lexists(place):
                raise OvnError(
                    f"{place} cannot be deleted: {e.strerror}. It is not in use, but may hold a private key. Correct its permissions or mount, and run the "
                    "task as root (become: true)."
                ) from e

# Copyright: (c) 2026, C5C3 contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""PRIVATE to the collection: may change at any time.

The private key, the certificate and the CAs of a client on this host, in the form of `ovn_client_certificate`: three files, replaced by one rename.

Each triple has a directory of its own, and the link `current` names the one in use, as kubelet does it for the Secrets of pods. Whoever opens the files
during that rename may still get some of both, once; no run that ends in between leaves them so.
"""

from __future__ import annotations

import os
import shutil
import ssl
import tempfile
import typing as t

from .._errors import InvalidInput, OvnError
from .._pki.files import (
    Ownership,
    activate,
    attribute_problem,
    ownership,
    pending,
    read,
    repair_attributes,
    write_pending,
)

OPTIONS: dict[str, dict[str, t.Any]] = {
    "directory": {"type": "path", "required": True},
    "private_key": {"type": "str", "required": True, "no_log": True},
    "certificate": {"type": "str", "required": True},
    "ca_certificate": {"type": "str", "required": True},
    "owner": {"type": "str"},
    "group": {"type": "str"},
    "state": {"type": "str", "choices": ["present", "staged", "unstaged"], "default": "present"},
}
CURRENT = "current"
FILES: t.Mapping[str, str] = {"private_key": "key.pem", "certificate": "cert.pem", "ca_certificate": "ca.pem"}
_TRIPLE = ".triple-"
_DIRECTORY_MODE, _FILE_MODE = 0o750, 0o640


def apply_client_certificate(params: t.Mapping[str, t.Any], *, check_mode: bool) -> dict[str, t.Any]:
    """Return the result of `ovn_client_certificate`; `InvalidInput` if the key does not fit, `OvnError` if a file cannot be written."""
    triple = _Triple(
        params["directory"],
        {file: params[option].encode() for option, file in FILES.items()},
        ownership(params["owner"], params["group"]),
    )
    if params["state"] == "unstaged":
        left = triple.others(triple.in_use())
        if not check_mode:
            _delete(left)
        return {"changed": bool(left), "directory": triple.current}
    problems = triple.problems()
    place = triple.current
    if problems and not check_mode:
        place = triple.stage()
        if params["state"] == "present":
            triple.use(place)
            place = triple.current
    return {
        "changed": bool(problems),
        "directory": place,
        "diff": {"before": "".join(f"{problem}\n" for problem in problems), "after": ""},
    }


class _Triple:
    """The three files that are desired, and the directories that hold them or others."""

    def __init__(self, directory: str, contents: t.Mapping[str, bytes], owned_by: Ownership) -> None:
        self.directory, self.contents, self.owned_by = directory, contents, owned_by
        self.current = os.path.join(directory, CURRENT)

    def in_use(self) -> str:
        """Return the directory that the link names, empty without a link."""
        return os.path.join(self.directory, os.readlink(self.current)) if os.path.islink(self.current) else ""

    def others(self, place: str) -> list[str]:
        """Return the directories of triples but for `place`: staged ones, and those of runs that were killed."""
        names = sorted(os.listdir(self.directory)) if os.path.isdir(self.directory) else []
        paths = (os.path.join(self.directory, name) for name in names if name.startswith(_TRIPLE))
        return [path for path in paths if path != place]

    def problems(self) -> list[str]:
        """Return why something has to be done, empty if nothing has."""
        place = self.in_use()
        if not place:
            return [f"{self.current} does not exist"]
        if not self._is_complete(place):
            return [f"{self.current} has another key, certificate or CA"]
        return [
            problem for problem in (attribute_problem(*one, self.owned_by) for one in self._modes(place)) if problem
        ]

    def stage(self) -> str:
        """Write the files into a directory where nobody looks yet, unless they are there; return it."""
        place = next((one for one in [self.in_use(), *self.others("")] if one and self._is_complete(one)), "")
        if not place:
            place = self._new()
        for path, mode in self._modes(place):
            if attribute_problem(path, mode, self.owned_by):
                repair_attributes(path, mode, self.owned_by)
        return place

    def use(self, place: str) -> None:
        """Let the link name this directory, and delete the others."""
        if self.in_use() != place:
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
        _delete(self.others(place))

    def _new(self) -> str:
        place = ""
        try:
            os.makedirs(self.directory, mode=_DIRECTORY_MODE, exist_ok=True)
            place = tempfile.mkdtemp(prefix=_TRIPLE, dir=self.directory)
            for name, content in self.contents.items():
                path = os.path.join(place, name)
                write_pending(path, content, _FILE_MODE, self.owned_by)
                activate(path)
            _check(place)
        except OSError as e:
            _delete([place] if place else [])
            raise OvnError(
                f"{self.directory} cannot be written: {e.strerror}. The files in use are unchanged. Check free space and permissions (become: true), then "
                "run again."
            ) from e
        except OvnError:
            _delete([place])
            raise
        return place

    def _is_complete(self, place: str) -> bool:
        return all(read(os.path.join(place, name)) == content for name, content in self.contents.items())

    def _modes(self, place: str) -> list[tuple[str, int]]:
        files = [(os.path.join(place, name), _FILE_MODE) for name in self.contents]
        return [(self.directory, _DIRECTORY_MODE), (place, _DIRECTORY_MODE), *files]


def _check(place: str) -> None:
    """Raise `InvalidInput` if the files are none, or the key is that of another certificate: they may come from a control node where they just change."""
    key, certificate, authorities = (os.path.join(place, name) for name in FILES.values())
    try:
        context = ssl.create_default_context(cafile=authorities)
        context.load_cert_chain(certificate, key, password="")  # nobody is there to type one
    except ssl.SSLError as e:
        raise InvalidInput(
            f"Private key, certificate and CA do not fit together: {e.reason or e}. The files in use are unchanged. Have the certificate issued again, or run "
            "again if that is just happening."
        ) from e


def _delete(places: t.Iterable[str]) -> None:
    for place in places:
        shutil.rmtree(place, ignore_errors=True)

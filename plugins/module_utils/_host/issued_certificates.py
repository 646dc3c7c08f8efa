# SPDX-License-Identifier: GPL-3.0-or-later
"""The list of issued certificates of a central host, which its observer reads. Several runs may write it at once."""

from __future__ import annotations

import contextlib
import os
import typing as t

from .._base.errors import InvalidInput, OvnError
from .._pki.files import Ownership, activate, read, write_pending
from .._pki.issued import IssuedCertificate, IssuedChange, is_time, merge_list, parse_list, render_list
from .file_lock import acquire

_MODE, _OWNER = 0o644, Ownership(None, None)  # no secrets


def read_change(params: t.Mapping[str, t.Any], *, check_mode: bool) -> IssuedChange:
    """Return what the options of `ovn_issued_certificates` say; `InvalidInput` if a time is none."""
    certificates = [
        (IssuedCertificate(**{field: one[field] for field in IssuedCertificate._fields}), one["issued"])
        for one in params["certificates"]
    ]
    for one, is_issued in certificates:
        if not is_time(one.not_after) and not (check_mode and is_issued and one.not_after == ""):
            raise InvalidInput(
                f'not_after of {one.kind} {one.holder} is "{one.not_after}". Give a time like 2027-11-21T16:00:00Z.'
            )
    return IssuedChange(
        [one for one, is_issued in certificates if not is_issued],
        [one for one, is_issued in certificates if is_issued],
        params["removed_chassis"],
        params["clients"],
        params["removed_metadata_agents"],
    )


def update_file(
    path: str, change: IssuedChange, *, check_mode: bool
) -> tuple[list[IssuedCertificate], list[IssuedCertificate]]:
    """Bring the change into the file and return the list before and after it. An unusable file counts as empty. `OvnError` if it cannot be written."""
    # Nothing is created for a comparison.
    before, after = _merged(path, change)
    if before != after and not check_mode:
        with _locked(path):
            before, after = _merged(path, change)
            if before != after:
                write_pending(path, render_list(after).encode(), _MODE, _OWNER)
                activate(path)
    return before, after


def _merged(path: str, change: IssuedChange) -> tuple[list[IssuedCertificate], list[IssuedCertificate]]:
    before = parse_list((read(path) or b"").decode(errors="replace")) or []
    return before, merge_list(before, change)


@contextlib.contextmanager
def _locked(path: str) -> t.Iterator[None]:
    """Keep other runs from the file. The list itself is replaced, so a lock on it would lock nobody out."""
    with _open_lock(f"{path}.lock") as lock:
        acquire(lock.fileno(), lock.name)
        yield


def _open_lock(path: str) -> t.TextIO:
    try:
        os.makedirs(os.path.dirname(path), mode=0o755, exist_ok=True)
        return open(path, "a", encoding="utf-8")
    except OSError as e:
        raise OvnError(
            f"{path} cannot be opened: {e.strerror}. Check free space and permissions (become: true), then run again."
        ) from e

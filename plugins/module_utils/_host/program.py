# SPDX-License-Identifier: GPL-3.0-or-later
"""Installs the program of the observer on a machine."""

from __future__ import annotations

from .._pki.files import Ownership, activate, attribute_problem, read, write_pending

_MODE, _OWNER = 0o644, Ownership(None, None)


def install_program(path: str, content: bytes, *, check_mode: bool = False) -> bool:
    """Write `content` to `path` at once or not at all, unless it is there; return whether that was, or is, necessary. `OvnError` if it cannot be written."""
    if read(path) == content and attribute_problem(path, _MODE, _OWNER) is None:
        return False
    if not check_mode:
        write_pending(path, content, _MODE, _OWNER)
        activate(path)
    return True

# Copyright: (c) 2026, C5C3 contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""PRIVATE to the collection: may change at any time.

Installs the program of the observer on a machine.
"""

from __future__ import annotations

import os
import pathlib

from .._errors import OvnError


def install_program(path: str, content: bytes, *, check_mode: bool = False) -> bool:
    """Write `content` to `path` at once or not at all, unless it is there; return whether that was, or is, necessary. `OvnError` if it cannot be written."""
    file = pathlib.Path(path)
    try:
        if file.is_file() and file.read_bytes() == content:
            return False
        if not check_mode:
            file.parent.mkdir(mode=0o755, parents=True, exist_ok=True)
            new = file.with_name(f".{file.name}.{os.getpid()}")
            new.write_bytes(content)
            new.chmod(0o644)
            new.replace(file)
    except OSError as e:
        cause = (e.strerror or str(e)).lower()
        raise OvnError(f"The program {path} cannot be written: {cause}. Correct that, then run again.") from e
    return True

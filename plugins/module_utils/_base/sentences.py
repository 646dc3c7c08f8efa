# SPDX-License-Identifier: GPL-3.0-or-later
"""Pieces of messages that people read."""

from __future__ import annotations

import typing as t


def list_names(names: t.Sequence[str], most: int = 10, *, kind: str = "") -> str:
    """Return names for a sentence, at most `most` of them: "a, b and 7 more", or "a, b and 7 more tables" with `kind` "tables"."""
    more = len(names) - most
    rest = f" and {more} more{f' {kind}' if kind else ''}" if more > 0 else ""
    return f"{', '.join(names[:most])}{rest}"

# SPDX-License-Identifier: GPL-3.0-or-later
"""Which keys and tokens are ours: recorded in the database itself, so that `purge` and `state: absent` remove exactly those.

Rows carry the same name as a mark in their own external_ids: bridges, ports and the SSL row that this collection created.
"""

from __future__ import annotations

import json
import typing as t

KEY = "c5c3-ovn-owned"
MARK = {KEY: "true"}


class Owned(t.NamedTuple):
    """What earlier runs named. A key is ours once a task has named it, even if another client wrote it first."""

    external_ids: frozenset[str] = frozenset()
    other_config: frozenset[str] = frozenset()
    cms_options: frozenset[str] = frozenset()

    def to_text(self) -> str | None:
        """Return the value of KEY; None if nothing is ours."""
        parts = {name: sorted(value) for name, value in self._asdict().items() if value}
        return json.dumps(parts, sort_keys=True, separators=(",", ":"), ensure_ascii=False) if parts else None


def parse_owned(text: str | None) -> Owned:
    """Return the record in `text`; a damaged one counts as "nothing is ours", so nothing is removed by mistake."""
    try:
        parts = json.loads(text or "{}")
    except ValueError:
        return Owned()
    if not isinstance(parts, dict):
        return Owned()

    def names(part: str) -> frozenset[str]:
        value: t.Any = parts.get(part, [])
        return frozenset(item for item in value if isinstance(item, str)) if isinstance(value, list) else frozenset()

    return Owned(names("external_ids"), names("other_config"), names("cms_options"))

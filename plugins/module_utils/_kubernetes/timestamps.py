# Copyright: (c) 2026, C5C3 contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""PRIVATE to the collection: may change at any time.

Timestamps as the API server writes them (RFC 3339). Pure.
"""

from __future__ import annotations

import datetime
import re

_FRACTION = re.compile(r"\.\d+")


def parse_timestamp(text: str) -> datetime.datetime:
    """Return the time, to the second: most kinds have no fractions of it."""
    # Before Python 3.11 "Z" means nothing to it.
    return datetime.datetime.fromisoformat(_FRACTION.sub("", text).replace("Z", "+00:00"))


def format_timestamp(timestamp: datetime.datetime) -> str:
    return timestamp.astimezone(datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")


def unix_seconds(text: str | None) -> float:
    """Return the seconds since 1970; 0 without a timestamp."""
    return parse_timestamp(text).timestamp() if text else 0.0

# Copyright: (c) 2026, C5C3 contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""PRIVATE to the collection: may change at any time.

Moments as the API server writes them. Pure.
"""

from __future__ import annotations

import datetime
import re

_FRACTION = re.compile(r"\.\d+")


def parse_moment(text: str) -> datetime.datetime:
    """To the second: most kinds have no fractions of it."""
    # Before Python 3.11 "Z" means nothing to it.
    return datetime.datetime.fromisoformat(_FRACTION.sub("", text).replace("Z", "+00:00"))


def format_moment(moment: datetime.datetime) -> str:
    return moment.astimezone(datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")


def seconds(text: str | None) -> float:
    """Since 1970; a moment that is not told is long ago."""
    return parse_moment(text).timestamp() if text else 0.0

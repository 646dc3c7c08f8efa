# SPDX-License-Identifier: GPL-3.0-or-later
"""Timestamps as the API server writes them (RFC 3339). Pure."""

from __future__ import annotations

import datetime
import re

_FRACTION = re.compile(r"\.\d+")
_EPOCH = datetime.datetime(1970, 1, 1, tzinfo=datetime.timezone.utc)


def parse_timestamp(text: str) -> datetime.datetime:
    """Return the time, to the second: most kinds have no fractions of it."""
    # Before Python 3.11 "Z" means nothing to it.
    return datetime.datetime.fromisoformat(_FRACTION.sub("", text).replace("Z", "+00:00"))


def known_time(text: str | None) -> datetime.datetime | None:
    """Return the time; None without one, or if there is no such time. The API server accepts some, like the offset +99:99 and the year 0000."""
    try:
        return parse_timestamp(text) if text else None
    except ValueError:
        return None


def time_of(milliseconds: int | None) -> datetime.datetime | None:
    """Return the time so many milliseconds after 1970; None for 0, and if it is out of range. Whoever may write a number may write any number."""
    try:
        return _EPOCH + datetime.timedelta(milliseconds=milliseconds) if milliseconds and milliseconds > 0 else None
    except OverflowError:
        return None


def format_timestamp(timestamp: datetime.datetime) -> str:
    return timestamp.astimezone(datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")


def unix_seconds(text: str | None) -> float:
    """Return the seconds since 1970; 0 without a timestamp."""
    return parse_timestamp(text).timestamp() if text else 0.0

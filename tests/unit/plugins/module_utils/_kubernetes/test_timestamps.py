"""Moments as the API server and others write them."""

from __future__ import annotations

import datetime

import pytest

from ansible_collections.c5c3.ovn.plugins.module_utils._kubernetes.timestamps import (
    format_timestamp,
    parse_timestamp,
    unix_seconds,
)

NOON = datetime.datetime(2026, 1, 1, 12, 0, 0, tzinfo=datetime.timezone.utc)


@pytest.mark.parametrize(
    "text",
    [
        "2026-01-01T12:00:00Z",
        "2026-01-01T12:00:00.999999Z",
        "2026-01-01T12:00:00.5Z",
        "2026-01-01T12:00:00.123456789Z",
        "2026-01-01T12:00:00+00:00",
        "2026-01-01T14:00:00.250+02:00",
    ],
)
def test_a_moment_counts_to_the_second(text: str) -> None:
    assert parse_timestamp(text) == NOON


def test_a_moment_is_written_in_utc() -> None:
    there = datetime.timezone(datetime.timedelta(hours=2))
    assert format_timestamp(NOON) == format_timestamp(NOON.astimezone(there)) == "2026-01-01T12:00:00Z"


def test_seconds_since_1970() -> None:
    assert unix_seconds("1970-01-01T00:01:00.500000Z") == 60
    assert unix_seconds(None) == unix_seconds("") == 0

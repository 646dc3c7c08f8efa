"""Moments as the API server and others write them."""

from __future__ import annotations

import datetime

import pytest

from ansible_collections.c5c3.ovn.plugins.module_utils._kubernetes.timestamps import (
    format_timestamp,
    known_time,
    parse_timestamp,
    time_of,
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


@pytest.mark.parametrize(
    ("text", "known"),
    [
        pytest.param("2026-01-01T12:00:00Z", NOON, id="a time"),
        pytest.param(None, None, id="none yet"),
        # The API server accepts each of these for the format date-time.
        pytest.param("2026-01-01T12:00:00+99:99", None, id="an offset that does not exist"),
        pytest.param("0000-01-01T12:00:00Z", None, id="the year 0"),
        pytest.param("2026-02-31T12:00:00Z", None, id="a day that does not exist"),
    ],
)
def test_a_time_that_somebody_else_has_written(text: str | None, known: datetime.datetime | None) -> None:
    assert known_time(text) == known


@pytest.mark.parametrize(
    ("milliseconds", "expected"),
    [
        (1767268800999, NOON.replace(microsecond=999000)),
        (253402300799999, datetime.datetime.max.replace(microsecond=999000, tzinfo=datetime.timezone.utc)),
        (253402300800000, None),
        (2**63 - 1, None),
        (2**80, None),
        (0, None),
        (-1, None),
        (None, None),
    ],
)
def test_milliseconds_of_anybody(milliseconds: int | None, expected: datetime.datetime | None) -> None:
    assert time_of(milliseconds) == expected


def test_seconds_since_1970() -> None:
    assert unix_seconds("1970-01-01T00:01:00.500000Z") == 60
    assert unix_seconds(None) == unix_seconds("") == 0

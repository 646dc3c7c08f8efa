"""The order of Debian's versions, as dpkg has it."""

from __future__ import annotations

import itertools

import pytest

from ansible_collections.c5c3.ovn.plugins.module_utils._machine.package_versions import (
    is_exact,
    is_newer,
    matches,
    upstream_version,
    version_key,
)

# Ascending; those of one line are equal.
ORDERED = [
    ["1.0~~", "0:1.0~~-0"],
    ["1.0~beta1"],
    ["1.0", "1.0-0", "1.00"],
    ["1.0-1~deb12u1"],
    ["1.0-1"],
    ["1.0-1+deb12u1"],
    ["1.0a"],
    ["1.0+git"],
    ["1.0.1"],
    ["1.9"],
    ["1.10-2", "1.10-02"],
    ["1.10-2-1"],
    ["23.03.1-1~deb12u2"],
    ["25.03.0-1"],
    ["1:0.1"],
]


def test_versions_in_their_order() -> None:
    for older, newer in itertools.combinations(ORDERED, 2):
        for low, high in itertools.product(older, newer):
            assert is_newer(high, low), (low, high)
            assert not is_newer(low, high), (low, high)
    for equal in ORDERED:
        assert all(version_key(version) == version_key(equal[0]) for version in equal)


@pytest.mark.parametrize(
    ("version", "pattern", "expected"),
    [
        ("25.03.0-1", "", True),
        ("25.03.0-1", "25.03.0-1", True),
        ("25.03.0-1", "25.03.0", False),
        ("25.03.0-1", "25.03.*", True),
        ("25.10.0-1", "25.03.*", False),
        ("2:25.03.0-1", "25.03.*", False),
    ],
)
def test_which_version_is_the_desired_one(version: str, pattern: str, expected: bool) -> None:
    assert matches(version, pattern) is expected


def test_what_is_one_version() -> None:
    assert [is_exact(pattern) for pattern in ("", "1.0-1", "1.*", "1.?", "1.[01]")] == [
        False,
        True,
        False,
        False,
        False,
    ]


@pytest.mark.parametrize(
    ("version", "expected"),
    [("25.03.0-1", "25.03.0"), ("2:3.5.0-1~deb13u1", "2:3.5.0"), ("0:1.0-1", "1.0"), ("1-2-3", "1-2"), ("1", "1")],
)
def test_what_upstream_calls_it(version: str, expected: str) -> None:
    assert upstream_version(version) == expected

"""How the time limits of verify go together: a dead host costs one of them, and what is slow is not taken for dead."""

from __future__ import annotations

import typing as t

import pytest

from ansible_collections.c5c3.ovn.plugins.module_utils._base.errors import InvalidInput
from ansible_collections.c5c3.ovn.plugins.module_utils._roles.verify_limits import VerifyLimits, limits_of


def options(**given: t.Any) -> dict[str, t.Any]:
    return {name if name == "connection_timeout" else f"ovn_verify_{name}": value for name, value in given.items()}


@pytest.mark.parametrize(
    ("given", "first", "again"),
    [
        pytest.param({}, VerifyLimits(5, 5, 20), VerifyLimits(30, 60, 80), id="defaults"),
        pytest.param({"wait_for": "none"}, VerifyLimits(0, 5, 20), VerifyLimits(0, 60, 80), id="nothing is awaited"),
        pytest.param(
            {"host_timeout": 100}, VerifyLimits(30, 60, 100), VerifyLimits(0, 60, 160), id="all fits into one call"
        ),
        pytest.param({"host_timeout": 3}, VerifyLimits(1, 1, 3), VerifyLimits(30, 60, 63), id="never without any time"),
        pytest.param(
            {"connection_timeout": 30, "host_timeout": 45},
            VerifyLimits(10, 10, 45),
            VerifyLimits(30, 60, 105),
            id="slow connections",
        ),
        pytest.param(
            {"northd_timeout": 3, "contents_timeout": "4"},
            VerifyLimits(3, 4, 20),
            VerifyLimits(0, 4, 24),
            id="short ones",
        ),
        pytest.param(
            {"host_timeout": "", "timeout": ""},
            VerifyLimits(5, 5, 20),
            VerifyLimits(30, 60, 80),
            id="an empty text is absent",
        ),
    ],
)
def test_limits(given: dict[str, t.Any], first: VerifyLimits, again: VerifyLimits) -> None:
    assert limits_of(options(**given)) == (first, again)


def test_the_first_call_ends_before_its_host_counts_as_dead() -> None:
    for host in range(16, 200):
        first = limits_of(options(host_timeout=host, timeout=5, connection_timeout=10)).first
        assert 10 + 5 + max(first.northd, first.contents) <= first.host


def test_what_is_no_number_is_named() -> None:
    with pytest.raises(InvalidInput, match=r'^ovn_verify_host_timeout is "soon"\. Give a number of seconds\.$'):
        limits_of(options(host_timeout="soon"))

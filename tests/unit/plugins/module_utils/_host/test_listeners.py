"""What a listener serves, compared with what it should."""

from __future__ import annotations

import pytest

from ansible_collections.c5c3.ovn.plugins.module_utils._host.listeners import listener_problem


@pytest.mark.parametrize(
    ("served", "expected", "problem"),
    [
        pytest.param("3A91C0", "3a91c0", "", id="as the library writes it"),
        pytest.param("03A91C0", "3a91c0", "", id="with a zero"),
        pytest.param("3A91C0", "", "", id="any"),
        pytest.param(
            "1F", "3a91c0", "e serves the certificate with the serial number 1f, not 3a91c0", id="the former one"
        ),
        pytest.param("", "3a91c0", "e serves the certificate with the serial number , not 3a91c0", id="none"),
    ],
)
def test_serial_numbers(served: str, expected: str, problem: str) -> None:
    assert listener_problem("e", served, expected) == problem

"""Addresses in one spelling."""

from __future__ import annotations

import pytest

from ansible_collections.c5c3.ovn.plugins.module_utils._base.ip_addresses import canonical, canonical_host, overlap


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("192.0.2.1", "192.0.2.1"),
        ("[2001:DB8:0:0::1]", "2001:db8::1"),
        ("::ffff:192.0.2.1", "192.0.2.1"),
        (" 192.0.2.1 ", "192.0.2.1"),
        ("db1.example.com", "db1.example.com"),
        ("[::]", "::"),
        ("", ""),
    ],
)
def test_canonical_host_ignores_spelling(text: str, expected: str) -> None:
    assert canonical_host(text) == expected


@pytest.mark.parametrize(("text", "expected"), [("2001:DB8:0:0::1", "2001:db8::1"), (" 192.0.2.1", " 192.0.2.1")])
def test_canonical_keeps_text_that_is_no_address(text: str, expected: str) -> None:
    assert canonical(text) == expected


@pytest.mark.parametrize(
    ("one", "other", "expected"),
    [
        pytest.param("192.0.2.1", "192.0.2.1", True, id="one address"),
        pytest.param("192.0.2.1", "192.0.2.2", False, id="two addresses"),
        pytest.param("2001:db8::1", "0.0.0.0", False, id="IPv6 and all of IPv4"),
        pytest.param("192.0.2.1", "0.0.0.0", True, id="IPv4 and all of IPv4"),
        pytest.param("192.0.2.1", "::", True, id="IPv4 and all addresses"),
        pytest.param("2001:db8::1", "", True, id="IPv6 and all addresses"),
        pytest.param("0.0.0.0", "::", True, id="all of IPv4 and all"),
    ],
)
def test_sockets_at_one_port(one: str, other: str, expected: bool) -> None:
    assert [overlap(*pair) for pair in ((one, other), (other, one))] == [expected, expected]

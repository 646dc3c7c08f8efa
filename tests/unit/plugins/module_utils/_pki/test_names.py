"""Names that a certificate can carry, and those it cannot."""

from __future__ import annotations

import pytest

from ansible_collections.c5c3.ovn.plugins.module_utils._base.errors import InvalidInput
from ansible_collections.c5c3.ovn.plugins.module_utils._pki import names


@pytest.mark.parametrize("value", ["compute-1", "a name with blanks", "Rechner-ä", "x" * 64, "ä" * 32, "a,b=c/d"])
def test_good_common_names(value: str) -> None:
    assert names.checked_common_name(value) == value


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ("", "empty"),
        ("  ", "empty"),
        ("x" * 65, "65 bytes in UTF-8, a certificate can carry 64"),
        ("ä" * 33, "66 bytes in UTF-8"),
        ("half \udce4 character", "control characters"),
        ("two\nlines", "control characters"),
        (" compute-1", "begins or ends with a blank"),
    ],
)
def test_bad_common_names(value: str, message: str) -> None:
    with pytest.raises(InvalidInput, match=message):
        names.checked_common_name(value)


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ("OVN-1.Example", "DNS:ovn-1.example"),
        ("DNS:ovn_1", "DNS:ovn_1"),
        ("192.0.2.1", "IP:192.0.2.1"),
        ("IP:192.0.2.1", "IP:192.0.2.1"),
        ("2001:DB8::1", "IP:2001:db8::1"),
        ("IP:2001:db8:0:0::1", "IP:2001:db8::1"),
        ("DNS:192.0.2.1", "DNS:192.0.2.1"),
    ],
)
def test_subject_alt_names(value: str, expected: str) -> None:
    assert names.subject_alt_name(value) == expected


@pytest.mark.parametrize("value", ["", "DNS:", "a b", "Rechner-ä", "IP:192.0.2.256", "tab\there"])
def test_bad_subject_alt_names(value: str) -> None:
    with pytest.raises(InvalidInput):
        names.subject_alt_name(value)


def test_each_name_once_in_the_given_order() -> None:
    assert names.subject_alt_names(["b", "192.0.2.1", "B", "a"]) == ("DNS:b", "IP:192.0.2.1", "DNS:a")

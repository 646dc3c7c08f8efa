from __future__ import annotations

import decimal

import pytest

from ansible_collections.c5c3.ovn.plugins.module_utils._kubernetes.quantity import canonical_quantity, parse_quantity

CANONICAL = [
    ("1", "1"),
    ("0", "0"),
    ("0.5", "500m"),
    ("1000m", "1"),
    ("1500m", "1500m"),
    ("2.0", "2"),
    ("1024Mi", "1Gi"),
    ("10Gi", "10Gi"),
    ("1.5Gi", "1536Mi"),
    ("1000M", "1G"),
    ("1000000", "1M"),
    ("1024", "1024"),
    ("1Ki", "1Ki"),
    ("0.5Ki", "512"),
    ("0.9765625Ki", "1k"),
    ("0Gi", "0"),
    ("0.000001E", "1T"),
    ("7.5Ei", "7680Pi"),
]


@pytest.mark.parametrize(("text", "canonical"), CANONICAL)
def test_canonical_quantity(text: str, canonical: str) -> None:
    assert canonical_quantity(text) == canonical
    assert canonical_quantity(canonical) == canonical


@pytest.mark.parametrize(
    ("value", "number"),
    [
        ("10Gi", 10 * 1024**3),
        ("1k", 1000),
        ("250m", decimal.Decimal("0.25")),
        ("3E", 3 * 10**18),
        # What no specification of ours holds, but answers of an API server
        (2, 2),
        (0.1, decimal.Decimal("0.1")),
        ("1e3", 1000),
        ("1500u", decimal.Decimal("0.0015")),
        ("-1Ki", -1024),
    ],
)
def test_parse_quantity(value: str | float, number: decimal.Decimal) -> None:
    assert parse_quantity(value) == number


@pytest.mark.parametrize("text", ["", "x", "10GB", "-1", "1 Gi", "1e3", ".5", "1.Gi", "1\n", "0.0001", "1.3Ki"])
def test_what_is_no_quantity(text: str) -> None:
    with pytest.raises(ValueError, match=r"no quantity|fraction"):
        canonical_quantity(text)

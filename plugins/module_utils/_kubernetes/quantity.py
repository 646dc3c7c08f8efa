# SPDX-License-Identifier: GPL-3.0-or-later
"""Quantities of Kubernetes (`500m`, `10Gi`). The API server stores them in one canonical form; we send that form, so that an object that did not
change also reads the same. The client of Kubernetes parses them; it does not know the canonical form.
"""

from __future__ import annotations

import decimal
import re
import typing as t

PATTERN = r"^[0-9]+(\.[0-9]+)?([mkMGTPE]|[KMGTPE]i)?$"  # what users may write: no sign, no exponent

_FORM = re.compile(PATTERN[1:-1])
_DECIMAL = ("m", "", "k", "M", "G", "T", "P", "E")
_BINARY = ("", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei")


def parse_quantity(value: t.Any) -> decimal.Decimal:
    """Return the number, of whatever form the API server may answer; `ValueError` if it is no quantity."""
    from kubernetes.utils.quantity import parse_quantity as parse  # `ApiConnection` says what to do if it is missing

    number: decimal.Decimal = parse(str(value))
    return number


def canonical_quantity(text: str) -> str:
    """Return the form in which the API server stores the quantity: with the largest suffix that leaves a whole number. `ValueError` if it is none."""
    if not _FORM.fullmatch(text):
        raise ValueError(f'"{text}" is no quantity like 500m, 2, 512Mi or 10Gi')
    value = parse_quantity(text)
    # The API server, too, takes a binary suffix only from 1024 on.
    base, suffixes = (1024, _BINARY) if text.endswith("i") and value >= 1024 else (1000, _DECIMAL)
    scaled = value if base == 1024 else value * 1000
    number = int(scaled)
    if number != scaled:
        raise ValueError(f'"{text}" is a fraction that Kubernetes would round; use a smaller unit')
    if not number:
        return "0"
    steps = 0
    while number % base == 0 and steps < len(suffixes) - 1:
        number, steps = number // base, steps + 1
    return f"{number}{suffixes[steps]}"

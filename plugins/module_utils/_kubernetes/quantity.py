# Copyright: (c) 2026, C5C3 contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""PRIVATE to the collection: may change at any time.

Quantities of Kubernetes (`500m`, `10Gi`). The API server stores them in one canonical form; we send that form, so that an object that did not
change also reads the same.
"""

from __future__ import annotations

import fractions
import re

PATTERN = r"^[0-9]+(\.[0-9]+)?([mkMGTPE]|[KMGTPE]i)?$"

_PARTS = re.compile(r"(?P<number>[0-9]+(?:\.[0-9]+)?)(?P<suffix>[mkMGTPE]|[KMGTPE]i)?")
_DECIMAL = ["m", "", "k", "M", "G", "T", "P", "E"]
_BINARY = ["", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei"]


def parse_quantity(text: str) -> fractions.Fraction:
    """Return the number; `ValueError` if the text is no quantity."""
    match = _PARTS.fullmatch(text)
    if not match:
        raise ValueError(f'"{text}" is no quantity like 500m, 2, 512Mi or 10Gi')
    number, suffix = fractions.Fraction(match["number"]), match["suffix"] or ""
    if suffix == "m":
        return number / 1000
    scale: int = 1024 ** _BINARY.index(suffix) if suffix in _BINARY else 1000 ** (_DECIMAL.index(suffix) - 1)
    return number * scale


def canonical_quantity(text: str) -> str:
    """Return the form in which the API server stores the quantity: with the largest suffix that leaves a whole number. `ValueError` if it is none."""
    value = parse_quantity(text)
    # The API server, too, takes a binary suffix only from 1024 on.
    base, suffixes = (1024, _BINARY) if text.endswith("i") and value >= 1024 else (1000, _DECIMAL)
    whole = value if base == 1024 else value * 1000
    if whole.denominator != 1:
        raise ValueError(f'"{text}" is a fraction that Kubernetes would round; use a smaller unit')
    if not whole:
        return "0"
    number, steps = whole.numerator, 0
    while number % base == 0 and steps < len(suffixes) - 1:
        number, steps = number // base, steps + 1
    return f"{number}{suffixes[steps]}"

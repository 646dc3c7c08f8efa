"""Figures, medians and the table."""

from __future__ import annotations

import dataclasses
import statistics
import sys
import typing as t


class NotHere(Exception):
    """What a part needs is not on this host; the message says how to get it."""


@dataclasses.dataclass(frozen=True)
class Figure:
    """One row of the table; `measured` and `alternative` are what single runs took, in `unit`."""

    what: str
    measured: t.Sequence[float]
    than: str
    alternative: t.Sequence[float]
    target: float | None  # None: told, but nobody asked for it
    unit: str = "s"
    faster: bool = False  # the target is a speedup: alternative / measured has to reach it

    @property
    def ratio(self) -> float:
        ours, theirs = statistics.median(self.measured), statistics.median(self.alternative)
        return theirs / ours if self.faster else ours / theirs

    @property
    def reached(self) -> bool:
        if self.target is None:
            return True
        return self.ratio >= self.target if self.faster else self.ratio <= self.target

    def row(self) -> list[str]:
        sign = "≥" if self.faster else "≤"
        return [
            self.what,
            shown(self.measured, self.unit),
            self.than,
            shown(self.alternative, self.unit),
            f"{self.ratio:.2f}",
            "" if self.target is None else f"{sign} {self.target:g}",
            "" if self.reached else "missed",
        ]


def shown(values: t.Sequence[float], unit: str) -> str:
    """The median, and the range if there is one."""
    digits = 0 if min(values) >= 100 else 1 if min(values) >= 10 else 2 if min(values) >= 1 else 3
    median = f"{statistics.median(values):.{digits}f} {unit}"
    return median if len(values) == 1 else f"{median} ({min(values):.{digits}f}-{max(values):.{digits}f})"


def print_rows(rows: t.Sequence[t.Sequence[str]]) -> None:
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    for row in rows:
        print("  ".join(cell.ljust(width) for cell, width in zip(row, widths)).rstrip(), flush=True)


def print_table(figures: t.Sequence[Figure]) -> None:
    if not figures:
        return
    print("\nMedians (and ranges):\n")
    print_rows([["what", "measured", "alternative", "", "ratio", "target", ""], *(figure.row() for figure in figures)])
    sys.stdout.flush()

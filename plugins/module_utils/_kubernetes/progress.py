# SPDX-License-Identifier: GPL-3.0-or-later
"""What a run has done so far. It grows as the run goes on, so that a failure can report what was done before it."""

from __future__ import annotations

import dataclasses
import typing as t

from .apply import ObjectChange, as_results, diff_of, merge_changes


@dataclasses.dataclass
class Progress:
    """`done` are the objects that were compared or changed, `steps` what was done besides, in order; in check mode what would be done."""

    done: list[ObjectChange] = dataclasses.field(default_factory=list)
    steps: list[str] = dataclasses.field(default_factory=list)
    warnings: list[str] = dataclasses.field(default_factory=list)

    @property
    def changed(self) -> bool:
        return bool(self.steps) or any(change.action != "unchanged" for change in self.done)

    def has_changed(self, kind: str, name: str | None = None) -> bool:
        """Return whether an object of this kind, and of this name if one is given, is not as it was read any more."""
        return any(
            change.kind == kind and name in (None, change.name) and change.action != "unchanged" for change in self.done
        )

    def last(self, kind: str, name: str) -> ObjectChange | None:
        """Return what was done last to an object of this kind and name, None if nothing was."""
        return next((one for one in reversed(self.done) if (one.kind, one.name) == (kind, name)), None)

    def warn(self, message: str) -> None:
        """Add a warning, once: a run that looks again finds the same."""
        if message not in self.warnings:
            self.warnings.append(message)

    def as_results(self) -> list[dict[str, str]]:
        """Return the value `objects` of a module: each object once."""
        return as_results(merge_changes(self.done))

    def diff(self, settings: t.Mapping[str, t.Mapping[str, t.Any]] | None = None) -> dict[str, t.Any]:
        """Return the value `diff` of a module; `settings` of databases have the keys `before` and `after`."""
        return diff_of(self.done, steps=self.steps, settings=settings)

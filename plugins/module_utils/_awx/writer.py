# SPDX-License-Identifier: GPL-3.0-or-later
"""What writes to AWX goes through here: nothing is sent in check mode, and every change is noted."""

from __future__ import annotations

import typing as t

from .client import AwxClient
from .desired import DesiredObject
from .observed import ObservedAwx

Json = dict[str, t.Any]
NEW_ID = 0  # of what a run in check mode would create


class Writer:
    """`changes` are the objects that were changed (in check mode: would be), with before and after. `warnings` are sentences for people."""

    def __init__(self, client: AwxClient, observed: ObservedAwx, *, check_mode: bool) -> None:
        self.client, self.observed, self.check_mode = client, observed, check_mode
        self.changes: list[Json] = []
        self.warnings: list[str] = []

    def note(self, action: str, title: str, before: Json, after: Json) -> None:
        self.changes.append({"action": action, "object": title, "before": before, "after": after})

    def id_of(self, one: DesiredObject) -> int:
        return self.observed.ids.get((one.kind, one.name)) or NEW_ID

    def send(self, method: str, path: str, body: Json | None, what: str) -> Json:
        return {} if self.check_mode else self.client.send(method, path, body, what)

# SPDX-License-Identifier: GPL-3.0-or-later
"""The state record of one database as a ConfigMap. It has no owner, so that it survives the custom resource, and each write names the
version that it replaces, so that a run that was overtaken fails instead of overwriting.
"""

from __future__ import annotations

import typing as t

from .._base.errors import Changed, Conflict, InvalidInput, Refused
from .._kubernetes.apply import Action, ObjectChange
from .._kubernetes.client import Cluster
from .._raft.record import Record, parse_record, refuse_incomplete, render_files


class RecordStore:
    """The record of one database. `manifest` is the observed ConfigMap, None if there is none."""

    def __init__(self, cluster: Cluster, skeleton: dict[str, t.Any], manifest: dict[str, t.Any] | None) -> None:
        self.cluster, self.skeleton, self.manifest = cluster, skeleton, manifest

    @property
    def _place(self) -> str:
        metadata = self.skeleton["metadata"]
        return f"ConfigMap {metadata['name']} in namespace {metadata['namespace']}"

    def read(self) -> Record | None:
        """Return the record, None if none was ever written. One that is there but unreadable is an error: it must never pass for absent."""
        data = (self.manifest or {}).get("data") or {}
        if not data:
            return None
        if "record.json" not in data:
            raise InvalidInput(
                f"{self._place} is no state record: it has {', '.join(sorted(data))}, but no record.json. Restore it; nothing was changed."
            )
        try:
            record = parse_record(data["record.json"])
            refuse_incomplete(data, record)
        except InvalidInput as e:
            raise InvalidInput(f"{self._place} is refused: {e}") from e
        return record

    def ensure(self, *, check_mode: bool) -> ObjectChange:
        """Create the ConfigMap if it is missing: pods mount it, so it has to exist before they start; an empty one allows nothing."""
        before = after = self.manifest
        if before is None:
            after = {**self.skeleton, "data": {}}
            if not check_mode:
                after = self.manifest = self.cluster.create(after)
        metadata = self.skeleton["metadata"]
        action: Action = "unchanged" if before is not None else "created"
        return ObjectChange("ConfigMap", metadata["name"], metadata["namespace"], action, before, after)

    def write(self, record: Record, election_timer: int) -> None:
        """Replace it. `Changed` if another client wrote it since it was read; then it is read again."""
        stored = self.read()
        if stored is not None and record.revision <= stored.revision:
            raise Refused(
                f"{self._place} has revision {stored.revision} of the state record, this run would write revision {record.revision}. Run again."
            )
        body = {**self.skeleton, "data": render_files(record, election_timer)}
        metadata = body["metadata"]
        try:
            if self.manifest is None:
                self.manifest = self.cluster.create(body)
            else:
                version = {"resourceVersion": self.manifest["metadata"]["resourceVersion"]}
                self.manifest = self.cluster.replace({**body, "metadata": {**metadata, **version}})
        except Conflict as e:
            self.manifest = self.cluster.get("v1", "ConfigMap", metadata["name"], metadata["namespace"])
            raise Changed(f"{self._place} was written by another client at this moment.") from e

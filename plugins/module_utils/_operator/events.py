# SPDX-License-Identifier: GPL-3.0-or-later
"""Events of an OVNCluster: what the operator did, and what keeps it from it."""

from __future__ import annotations

import collections
import datetime
import logging
import secrets
import time
import typing as t

from .._api.names import API_VERSION, Object
from .._base.errors import OvnError
from .._base.sentences import list_names
from .._kubernetes.client import Cluster
from .._kubernetes.timestamps import format_timestamp

_LOG = logging.getLogger("c5c3.ovn.operator")
_COMPONENT = "ovn-operator"
_LONGEST = 1024  # characters that the API server takes
_SAME_REASON = 600.0  # seconds
_MOST_NAMED = 3  # of a kind
_REMEMBERED = 50  # warnings of a place: most come with every run


class Events:
    """Writes events about one OVNCluster. What was told last of a place is not told again."""

    def __init__(self, cluster: Cluster, resource: Object) -> None:
        self._cluster, self._resource = cluster, resource
        self._failures: dict[str, tuple[str, str, float]] = {}  # by place: reason, message, time
        self._warned: collections.defaultdict[str, list[str]] = collections.defaultdict(list)

    def changed(self, place: str, result: t.Mapping[str, t.Any]) -> None:
        """Tell what a run has changed."""
        self._write("Normal", "Changed", f"{place}: {describe_changes(result)}")

    def failed(self, place: str, reason: str, message: str) -> None:
        """Tell why a run has failed: once, and a cause whose words change with every attempt at most every ten minutes."""
        former = self._failures.get(place)
        now = time.monotonic()
        if former is not None and former[0] == reason and (former[1] == message or now - former[2] < _SAME_REASON):
            return
        self._failures[place] = (reason, message, now)
        self._write("Warning", reason, f"{place}: {message}")

    def succeeded(self, place: str) -> None:
        """The next failure is a new one."""
        self._failures.pop(place, None)

    def warned(self, place: str, message: str) -> None:
        if message not in self._warned[place]:
            self._warned[place] = [*self._warned[place], message][-_REMEMBERED:]
            self._write("Warning", "Warning", f"{place}: {message}")

    def _write(self, kind: str, reason: str, message: str) -> None:
        metadata = self._resource["metadata"]
        _LOG.log(
            logging.INFO if kind == "Normal" else logging.WARNING,
            "%s/%s: %s",
            metadata["namespace"],
            metadata["name"],
            message,
        )
        now = format_timestamp(datetime.datetime.now(datetime.timezone.utc))
        reference = {key: metadata[key] for key in ("name", "namespace", "uid")}
        event = {
            "apiVersion": "v1",
            "kind": "Event",
            "metadata": {"name": f"{metadata['name']}.{secrets.token_hex(8)}", "namespace": metadata["namespace"]},
            "involvedObject": {"apiVersion": API_VERSION, "kind": "OVNCluster", **reference},
            "type": kind,
            "reason": reason,
            "message": message if len(message) <= _LONGEST else f"{message[: _LONGEST - 1]}…",
            "firstTimestamp": now,
            "lastTimestamp": now,
            "count": 1,
            "source": {"component": _COMPONENT},
        }
        try:
            self._cluster.create(event)
        except OvnError as e:  # it is in the log, and the condition has the last one
            _LOG.warning("The event was not written: %s", e)


def describe_changes(result: t.Mapping[str, t.Any]) -> str:
    """Return in one sentence what a run has changed: its steps, then the objects by kind and action. Pure."""
    groups: dict[tuple[str, str], list[str]] = {}
    for one in result.get("objects") or ():
        if one["action"] != "unchanged":
            groups.setdefault((one["kind"], one["action"]), []).append(one["name"])
    objects = [f"{kind} {list_names(names, _MOST_NAMED)} {action}" for (kind, action), names in groups.items()]
    return "; ".join([*(result.get("steps") or ()), *objects]) or "nothing"

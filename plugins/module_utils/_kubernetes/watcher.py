# SPDX-License-Identifier: GPL-3.0-or-later
"""Follows the objects of one kind in a thread: one list, then an event for each change."""

from __future__ import annotations

import logging
import threading
import time
import typing as t

from .._base.errors import BadAnswer, OvnError, Refused
from .client import Cluster

# Watches Deployments or DaemonSets until they are rolled out.

if t.TYPE_CHECKING:
    from .client import Cluster


def watch_until(
    cluster: Cluster,
    kind: str,
    namespace: str,
    is_reached: t.Callable[[t.Mapping[str, Object]], bool],
    *,
    known: t.Mapping[str, Object] | None = None,
    labels: str = "",
    fields: str = "",
    timeout: float,
) -> dict[str, Object]:
    """Return the workloads by name as soon as `is_reached` holds for them, else as they are after `timeout` seconds. `known`: those read before."""
    state = dict(known or {})
    if is_reached(state):
        return state
    for event, workload in cluster.watch("apps/v1", kind, namespace, labels=labels, fields=fields, timeout=timeout):
        name = workload["metadata"]["name"]
        if event == "DELETED":
            state.pop(name, None)
        else:
            state[name] = workload
        if is_reached(state):
            break
    return state


_LOG = logging.getLogger("c5c3.ovn.watcher")

Object = dict[str, t.Any]
Extract = t.Callable[[Object], t.Any]
OnChange = t.Callable[[str, t.Any], None]

_SECONDS = 240.0  # of one request; then the next one goes on from the last event
_SHORTEST, _LONGEST = 1.0, 60.0  # seconds between attempts while the API server cannot be asked
_LIVED = 10.0  # seconds after which a watch counts as one that works
_GONE = 410  # HTTP status: the API server has forgotten the version from which the watch was to go on


class Watched(t.NamedTuple):
    """The objects to follow; an empty namespace is all of them."""

    api_version: str
    kind: str
    namespace: str = ""
    labels: str = ""
    fields: str = ""


class Watcher:
    """Calls `on_change` with the name (`NAMESPACE/NAME`) of each object whose extract has changed, and the extract, None once the object is gone.

    Only the extracts are kept, not the objects. `on_change` is called in the thread of the watch, first for each object that is there. A kind that the API
    server does not serve has no objects, and is looked for again. `on_problem` is called with the reason why it cannot be followed, None once it can.
    """

    def __init__(
        self,
        cluster: Cluster,
        watched: Watched,
        extract: Extract,
        on_change: OnChange,
        on_problem: t.Callable[[OvnError | None], None] = lambda _problem: None,
    ) -> None:
        self.cluster, self.watched = cluster, watched
        self._extract, self._on_change, self._on_problem = extract, on_change, on_problem
        self._known: dict[str, t.Any] = {}
        self._stopped = threading.Event()

    def start(self) -> Watcher:
        threading.Thread(target=self._follow, name=f"watch {self.watched.kind}", daemon=True).start()
        return self

    def stop(self) -> None:
        """Call nobody any more. The request in flight ends by itself."""
        self._stopped.set()

    def _follow(self) -> None:
        pause = _SHORTEST
        while not self._stopped.is_set():
            begun, problem = time.monotonic(), self._follow_once()
            if isinstance(problem, Refused) and problem.details.get("http_status") == _GONE:
                problem = None
            if problem is not None and not self._stopped.is_set():
                self._on_problem(problem)
            pause = _SHORTEST if time.monotonic() - begun > _LIVED else min(pause * 2, _LONGEST)
            self._stopped.wait(pause)

    def _follow_once(self) -> OvnError | None:
        """List, then watch until that ends, and return why it has."""
        try:
            version = self._list()
            self._on_problem(None)
            if not version:
                self._stopped.wait(_LONGEST)  # a kind that is not served
            while version and not self._stopped.is_set():
                version = self._watch(version)
        except OvnError as e:
            return e
        except Exception as e:  # an answer that is none, a fault in what is called: the next attempt may do better
            _LOG.exception("%s cannot be followed", self.watched.kind)
            return BadAnswer(f"{self.watched.kind} cannot be followed: {type(e).__name__}: {e}. It is tried again.")
        return None

    def _list(self) -> str:
        watched = self.watched
        objects, version = self.cluster.list_with_version(
            *(watched.api_version, watched.kind, watched.namespace or None),
            labels=watched.labels,
            fields=watched.fields,
        )
        found = {_name(one): one for one in objects}
        for name in set(self._known) - set(found):
            self._note(name, None)
        for name, one in found.items():
            self._note(name, one)
        return version

    def _watch(self, version: str) -> str:
        watched = self.watched
        for event, one in self.cluster.watch(
            *(watched.api_version, watched.kind, watched.namespace or None),
            labels=watched.labels,
            fields=watched.fields,
            since=version,
            timeout=_SECONDS,
        ):
            if self._stopped.is_set():
                return ""
            version = one["metadata"]["resourceVersion"]
            self._note(_name(one), None if event == "DELETED" else one)
        return version

    def _note(self, name: str, one: Object | None) -> None:
        extract = None if one is None else self._extract(one)
        if self._known.get(name) == extract:
            return
        self._on_change(name, extract)  # before it is known: after an error it is told again
        if extract is None:
            del self._known[name]
        else:
            self._known[name] = extract


def _name(one: Object) -> str:
    metadata = one["metadata"]
    return f"{metadata.get('namespace') or ''}/{metadata['name']}"

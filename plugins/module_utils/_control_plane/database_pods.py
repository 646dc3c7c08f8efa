# SPDX-License-Identifier: GPL-3.0-or-later
"""A database whose members are pods, for requests that any member can answer. Each request is one command in a pod."""

from __future__ import annotations

import functools
import typing as t

from .._base.databases import STEMS, TITLES, Database
from .._base.deadline import Deadline
from .._base.errors import Unreachable
from .._kubernetes.client import Cluster
from .._kubernetes.pod_watch import list_pods
from .._kubernetes.rollout_progress import is_database_container_running
from .._ovsdb.endpoint import first_answer
from .._ovsdb.rows import Caller
from .pod_database import PodConnection

_ANSWER = t.TypeVar("_ANSWER")


class DatabasePods:
    """The pods of one database of the OVNCluster `name` that run now. `Unreachable` if none does."""

    def __init__(self, cluster: Cluster, namespace: str, name: str, database: Database) -> None:
        self.cluster, self.namespace, self.database = cluster, namespace, database
        pods = list_pods(cluster, namespace, name, database)
        self.pods = sorted(pod for pod, found in pods.items() if is_database_container_running(found))
        if not self.pods:
            raise Unreachable(
                f"No pod of the {TITLES[database]} database of the OVNCluster {name} in namespace {namespace} runs. "
                "Look at it with c5c3.ovn.status, then run again."
            )

    def ask(self, question: t.Callable[[Caller], _ANSWER], deadline: Deadline) -> _ANSWER:
        """Return the answer of the first pod that responds; no further pod is asked after `deadline`."""
        questions = (
            functools.partial(self._ask_one, question, pod)
            for pod in self.pods
            if pod == self.pods[0] or not deadline.expired
        )
        return first_answer(questions, TITLES[self.database])

    def _ask_one(self, question: t.Callable[[Caller], _ANSWER], pod: str) -> _ANSWER:
        return question(PodConnection(self.cluster, self.namespace, pod, f"/run/ovn/{STEMS[self.database]}.sock"))

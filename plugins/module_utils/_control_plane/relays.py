# SPDX-License-Identifier: GPL-3.0-or-later
"""The relays beside the members of the Southbound in a rolling change: chassis that lose one need another, so the next pod is restarted when the last one
serves them again. A member that is mended waits for nobody's relay.
"""

from __future__ import annotations

import time
import typing as t

from .._base.deadline import Deadline
from .._base.errors import Refused, TimedOut
from .._base.progress import report_progress
from .._kubernetes.rollout_progress import RELAY, has_relay, is_database_container_ready, is_outdated
from .._ovsdb.wire import ask_all
from .._raft.observation import Observation

if t.TYPE_CHECKING:
    from .pod_steps import Pod, PodMembers

READY = ("sh", "/scripts/ovn-relay-launcher", "ready")
_SECONDS = 120.0  # for a copy of the whole database
_POLL_SECONDS = 1.0
_CHECK_SECONDS = 5.0


class Handover(t.Protocol):
    """What has to be there before pods are restarted that serve chassis by a relay from then on. Both raise `Refused` if it cannot be."""

    def open_port(self, deadline: Deadline) -> bool:
        """Have members listen where relays connect; return whether that was missing."""

    def move_clients(self, pods: t.Mapping[str, Pod], deadline: Deadline) -> bool:
        """Have clients that relays cannot serve leave the port of chassis; return whether they had to."""


def is_rollout(members: t.Iterable[str], observations: t.Mapping[str, Observation]) -> bool:
    """Return whether these members are restarted although they take part; else the restart is to mend them. Pure."""
    found = [observations.get(member) for member in members]
    return all(one is not None and one.connected and one.restart_reason for one in found)


def relays_to_await(pods: t.Mapping[str, Pod], restarted: t.Collection[str], revision: str) -> list[str]:
    """Return the other pods whose relays chassis have while the `restarted` ones are away. Pure.

    One of an older template than `revision` is not waited for, since its own restart may mend it, nor one whose member serves nobody.
    """
    return [
        name
        for name, pod in pods.items()
        if name not in restarted
        and has_relay(pod)
        and not is_outdated(pod, revision)
        and is_database_container_ready(pod)
    ]


class Relays:
    """The relays in the pods of a database."""

    def __init__(self, members: PodMembers) -> None:
        self.members = members
        self._checked = 0.0

    def wait(self, names: t.Collection[str], deadline: Deadline) -> bool:
        """Wait until the relays in these pods serve chassis, and return whether that took time. `Refused` if one of them never will."""
        if not names:
            return False
        deadline, waited = deadline.within(_SECONDS), False
        while True:
            pods = self.members.pods()
            missing = self._missing([name for name in names if name in pods and has_relay(pods[name])])
            if not missing:
                return waited
            name, why = next(iter(missing.items()))
            if not waited:
                report_progress(f"wait until the relay in pod {', '.join(missing)} serves chassis")
            waited = True
            self._refuse_unrecoverable(list(missing), pods)
            if deadline.expired:
                raise TimedOut(
                    f"The relay in pod {', '.join(missing)} serves no chassis after {deadline.seconds:.0f} s, so this run restarts no other pod: {why} "
                    f"See kubectl -n {self.members.namespace} logs {name} -c {RELAY}, then run again."
                )
            time.sleep(min(_POLL_SECONDS, deadline.left()))

    def _missing(self, names: t.Sequence[str]) -> dict[str, str]:
        """Return the pods whose relays do not serve chassis, and why."""
        answers = dict(zip(names, ask_all(list(names), self._why_not)))
        return {name: f"{str(why).rstrip('.')}." for name, why in answers.items() if why != ""}

    def _why_not(self, name: str) -> str:
        result = self.members.cluster.exec(self.members.namespace, name, RELAY, list(READY), timeout=15)
        return "" if result.code == 0 else (result.stderr.strip()[-300:] or f"its probe ended with code {result.code}")

    def _refuse_unrecoverable(self, names: t.Sequence[str], pods: t.Mapping[str, Pod]) -> None:
        if time.monotonic() - self._checked < _CHECK_SECONDS:
            return
        self._checked = time.monotonic()
        for name, startup in self.members.assess_startups(names, pods).items():
            if startup.unrecoverable:
                raise Refused(
                    f"The relay in pod {name} does not start, and waiting does not change that, so this run restarts no other pod. "
                    f"Kubernetes says: {startup.message}. Correct that, then run again."
                )

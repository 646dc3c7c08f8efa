# SPDX-License-Identifier: GPL-3.0-or-later
"""One Raft database whose members are pods, as a run observes it: the answers, the members that are away and why, and those worth waiting for."""

from __future__ import annotations

import concurrent.futures
import dataclasses
import time
import typing as t

from .._base.deadline import Deadline
from .._base.errors import OvnError
from .._daemons.schema_update import Schemas
from .._kubernetes.client import Cluster, ExecResult
from .._kubernetes.lease import RunLease
from .._kubernetes.rollout_progress import is_database_container_running, is_outdated, update_revision
from .._kubernetes.stuck_pods import backs_off, delete_stuck_pod, has_started, is_stuck
from .._raft.answer import Answer, failed_answer
from .._raft.cluster_witness import ClusterWitness
from .._raft.observation import Observation
from .._raft.step import Run, members_of
from .._raft.verdict import Verdict, assess
from .._raft.view import majority
from .examine_pod import (
    EXAMINE,
    EXAMINE_SECONDS,
    explain_unknown,
    parse_local_witness,
    parse_observation,
    parse_schemas,
)
from .pod_steps import PodMembers
from .stores import RecordStore
from .workloads import describe

_EXAMINED_SECONDS = 60  # for a pod that runs, or that is not needed; one that hangs longer is reported as unknown
# A command in a pod that runs may fail once on a busy node; a member that does not answer then is not needed.
_RETRY_SECONDS = 3


@dataclasses.dataclass
class RunContext:
    """What both databases of a run share."""

    cluster: Cluster
    namespace: str
    name: str
    lease: RunLease
    check_mode: bool
    wait: bool = True
    _ahead: float | None = None

    def now(self) -> float:
        """Return the time of the API server's clock, seconds since 1970: its timestamps are compared with it."""
        if self._ahead is None:
            self._ahead = self.lease.server_time().timestamp() - time.time()
        return time.time() + self._ahead


class ObservedDatabase:
    """`observations`, `pods`, `set` and `unknown` are as they were read last; `steps` grows as stuck pods are recreated and by `note`."""

    def __init__(
        self,
        context: RunContext,
        run: Run,
        store: RecordStore,
        replicas: int,
        stateful_set: t.Callable[[], dict[str, t.Any] | None],
        *,
        template_changed: bool = False,
    ) -> None:
        self.context, self.run, self.store, self.replicas = context, run, store, replicas
        self.stateful_set, self.template_changed = stateful_set, template_changed
        self.members = PodMembers(
            context.cluster,
            context.namespace,
            context.name,
            run.database,
            context.now,
            self._check_lease,
        )
        self.pods: dict[str, dict[str, t.Any]] = {}
        self.set: dict[str, t.Any] | None = None
        self.observations: dict[str, Observation] = {}
        self.remembered: dict[str, ClusterWitness] = {}  # witnesses of the launchers, by member
        self._unexamined_since: dict[str, float] = {}  # since when members cannot be examined
        self._awaited: set[str] = (
            set()
        )  # members that were away in an earlier observation: what their pods wait for now began in this run
        self.stuck: dict[str, str] = {}  # member whose pod has to be recreated, and why, as observed last
        self.schemas = Schemas(None, None)
        self.unknown: dict[str, str] = {}  # member to why it could not be examined
        self.steps: list[str] = []

    def _check_lease(self) -> None:
        self.context.lease.check()

    @property
    def set_name(self) -> str:
        return f"{self.context.name}-{self.run.database}"

    @property
    def changed(self) -> bool:
        return bool(self.steps)

    @property
    def is_new(self) -> bool:
        """Return whether no record of it was ever written."""
        return self.store.read() is None

    def read_members(self) -> dict[str, Observation]:
        """Return the observations of all members, made at the same time. A member that could not be examined is missing, which never means "absent"."""
        self.unknown, self.schemas = {}, Schemas(None, None)
        self.pods, self.set = self.members.pods(), self.stateful_set()
        self.observations = self.observe_pods(list(members_of(self.run, self.store.read())))
        return self.observations

    def observe_pods(self, names: t.Sequence[str]) -> dict[str, Observation]:
        """Return the observations of these members, with the pods as they were read last."""
        cluster, namespace, pods = self.context.cluster, self.context.namespace, self.pods
        revision = update_revision(self.set)
        claims: set[str] | None = None
        record = self.store.read()
        as_dict = record.as_dict() if record else None
        observed: dict[str, Observation] = {}
        present = [name for name in names if name in pods and not _is_pending(pods[name])]
        with concurrent.futures.ThreadPoolExecutor(max_workers=8) as pool:
            answers = dict(zip(present, pool.map(self._examine, present)))
        for name in names:
            if name in pods and name not in answers:
                self.unknown[name] = "its pod does not run"
                continue
            if name in pods:
                result = answers[name]
                if isinstance(result, OvnError):
                    self.unknown[name] = str(result)
                    continue
                schemas = parse_schemas(result)
                # An outdated pod has the schema of its own image.
                if schemas.database is not None and not is_outdated(pods[name], revision):
                    self.schemas = schemas
                parsed = parse_observation(self.run.database, name, result, pods[name], revision, as_dict)
                if parsed is not None:
                    observed[name] = self._with_restart_reason(parsed)
                    self.remembered[name] = parse_local_witness(result)
                else:
                    self.unknown[name] = explain_unknown(self.run.database, name, result, pods[name])
                continue
            # A claim may hold the member's file, whatever the record says: only its launcher can examine it (R26).
            self.unknown[name] = "it has a claim, but no pod"
            if claims is None:
                claims = {c["metadata"]["name"] for c in cluster.list("v1", "PersistentVolumeClaim", namespace)}
            if f"data-{name}" not in claims:
                observed[name] = Observation(name, record=as_dict, installed=False)
        return observed

    def _examine(self, pod: str) -> ExecResult | OvnError:
        try:
            return self.context.cluster.exec(
                self.context.namespace, pod, "database", list(EXAMINE), timeout=EXAMINE_SECONDS
            )
        except OvnError as e:
            if e.details.get("http_status") in (401, 403):
                raise  # asking again does not help
            return e

    def _with_restart_reason(self, o: Observation) -> Observation:
        if self.template_changed and o.running and not o.restart_reason:
            return dataclasses.replace(o, restart_reason="its pod template has changed")
        return o

    def verdict(self) -> Verdict:
        """Return the verdict on the answers of all members, as ovn_raft_status does."""
        answers = []
        for name in self.run.declared:
            o = self.observations.get(name)
            answers.append(
                Answer.from_dict(o.answer)
                if o is not None and o.answer
                else failed_answer(name, self.run.database, "unreachable", f"Pod {name} does not run.")
            )
        record = self.store.read()
        return assess(answers, len(self.run.declared), record.cid if record else None)

    def describe_missing_members(self) -> str:
        """Return a message with the members that do not take part although no step is left, and why; empty if all do."""
        away = self.not_participating(self.observations)
        if not away:
            return ""
        return f"{self.run.database}: {', '.join(away)} does not take part. {self.diagnose()} Run again when its pod runs.".replace(
            "  ", " "
        )

    @property
    def is_complete(self) -> bool:
        """Return whether every declared member has its pod and takes part, so that nothing else is under way."""
        return not self.not_participating(self.observations) and self.replicas == len(self.run.declared)

    def not_participating(self, observations: t.Mapping[str, Observation]) -> list[str]:
        """Return the declared members that do not take part in these observations."""
        return [name for name in self.run.declared if not (name in observations and observations[name].connected)]

    @property
    def leader(self) -> Observation | None:
        return next((o for o in self.observations.values() if o.leader and o.connected), None)

    def await_examined(self, deadline: Deadline) -> None:
        """Wait until every pod that the StatefulSet should have can be examined, or waiting does not help."""
        desired = list(self.run.declared)[: self.replicas]
        while True:
            self.read_members()
            now, waiting = time.monotonic(), self._waiting()
            self._unexamined_since = {name: self._unexamined_since.get(name, now) for name in waiting}
            self.members.waited.reset(set(desired) - set(waiting))
            if not waiting:
                self.stuck = {}
                return
            self.stuck = self._stuck(waiting)
            self._awaited.update(waiting)
            # A stuck pod runs only after it was recreated, which is for the rounds to decide.
            coming = [] if self.stuck else self._awaitable(waiting, now)
            if not coming or deadline.expired:
                return
            self.members.wait_for_pods(coming, deadline.within(5))

    def members_without_pods(self) -> set[str]:
        """Return the members whose claims are there and whose pods the StatefulSet has yet to create; empty for a run that does not wait for them."""
        named = list(self.run.declared)[: self.replicas]
        return {name for name in named if name in self.unknown and name not in self.pods and self.context.wait}

    def predict_pod_recreation(self, deleted: t.Collection[str]) -> set[str]:
        """Check mode: return the members whose pods a run recreates before anything else, but for those whose pods are `deleted` by then."""
        stuck = self._stuck([name for name in self._waiting() if name not in deleted])
        for name, why in stuck.items():
            self._note_recreation(name, why)
        return set(stuck)

    def _waiting(self) -> list[str]:
        """Return the members that the StatefulSet should have and that cannot be examined."""
        desired = list(self.run.declared)[: self.replicas]
        return [name for name in desired if name not in self.observations or not self.observations[name].installed]

    @property
    def _serves(self) -> bool:
        connected = [o for o in self.observations.values() if o.connected]
        return self.leader is not None and len(connected) >= majority(len(self.run.declared))

    def _awaitable(self, waiting: t.Sequence[str], now: float) -> list[str]:
        """Return the members that may come if this run waits. `now` is of the monotonic clock."""
        away = {name: now - self._unexamined_since[name] for name in waiting}
        running = [name for name in waiting if name in self.pods and is_database_container_running(self.pods[name])]
        limit = _RETRY_SECONDS if self._serves or not self.context.wait else _EXAMINED_SECONDS
        coming = [name for name in running if away[name] < limit]
        unneeded = {name for name in waiting if not self._is_needed(name)}
        not_running = [
            name for name in waiting if name not in running and (name not in unneeded or away[name] < _EXAMINED_SECONDS)
        ]
        if not_running and self.context.wait:
            for name, startup in self.members.assess_startups(not_running, self.pods, unneeded).items():
                if not startup.unrecoverable:
                    coming.append(name)
        return coming

    def _is_needed(self, name: str) -> bool:
        """Return whether the others do not serve without it, or it never took part: then the run waits for it as long as that can help."""
        record = self.store.read()
        member = record.members.get(name) if record is not None else None
        return not self._serves or member is None or member.state != "confirmed"

    def recreate_stuck_pods(self, deadline: Deadline) -> bool:
        """Delete the pods that never start, for example without an image; return whether there were any.

        Their StatefulSet creates them again. Those that have changed meanwhile are observed again.
        """
        if not self.stuck or deadline.expired:
            return False
        self.context.lease.acquire_or_renew(f"recreate {', '.join(self.stuck)}")
        for name, why in self.stuck.items():
            if delete_stuck_pod(self.context.cluster, self.pods[name]):
                self._unexamined_since[name] = time.monotonic()
                self._note_recreation(name, why)
        self.members.wait_for_pods(list(self.stuck), deadline.within(5))
        return True

    def _stuck(self, waiting: t.Sequence[str]) -> dict[str, str]:
        """Return the members whose pods are to be recreated, and why: no controller replaces them by itself."""
        not_running = {name: self.pods[name] for name in waiting if name in self.pods and is_stuck(self.pods[name])}
        outdated = not_running if self.template_changed else self.members.outdated(not_running)
        stuck = {
            name: f"its template has changed, and {'it ended at once each time' if has_started(pod) else 'it never started'}"
            for name, pod in outdated.items()
        }
        pausing = [name for name, pod in not_running.items() if backs_off(pod) and not has_started(pod)]
        for name in pausing:
            # The image may exist by now, and the kubelet pauses before it pulls again.
            if self.context.wait and name not in self._awaited and self._is_needed(name):
                stuck.setdefault(name, "its image is pulled again at once, and it never started")
        return stuck

    def _note_recreation(self, name: str, why: str) -> None:
        self.note(f"recreate the pod {name}: {why}")

    def note(self, message: str) -> None:
        """Add a step that was taken, once."""
        if message not in self.steps:
            self.steps.append(message)

    def diagnose(self) -> str:
        """Return why members cannot be examined, and what Kubernetes says about their pods."""
        diagnosis = describe(self.context.cluster, self.context.namespace, self.set_name, list(self.run.declared))
        return " ".join(
            [
                *(f"{name}: {why.rstrip('.')}." for name, why in self.unknown.items() if name not in self.observations),
                diagnosis,
            ]
        ).strip()


def _is_pending(pod: t.Mapping[str, t.Any]) -> bool:
    """Return whether nothing runs in the pod, so that a command would only be refused."""
    return (pod.get("status") or {}).get("phase") == "Pending" and not is_database_container_running(pod)

# SPDX-License-Identifier: GPL-3.0-or-later
"""One step of a plan on members that are pods. It decides nothing: the plan does, and the launcher in the pod acts by what the record says."""

from __future__ import annotations

import time
import typing as t

from .._base.databases import DATABASE_NAMES, STEMS
from .._base.deadline import Deadline
from .._base.errors import Changed, Conflict, OvnError, Refused, TimedOut, Unreachable
from .._kubernetes.pod_startup import PodStartup, assess_startup
from .._kubernetes.pod_watch import list_events, list_pods
from .._kubernetes.rollout_progress import (
    CONTAINER,
    is_database_container_ready,
    is_database_container_running,
    is_outdated,
    update_revision,
)
from .._kubernetes.wait_tracker import WaitTracker
from .._ovsdb.wire import ask_all
from .._raft.answer import Answer
from .._raft.record import Record
from .._raft.step import Step, check_unresponsive, is_listed, not_joined_error, read_progress, still_listed_error
from .examine_pod import EXAMINE_SECONDS, ParsedExamination, examine_command, parse_examination
from .joining import JoinWait

if t.TYPE_CHECKING:
    from .._kubernetes.client import Cluster, ExecResult

Pod = dict[str, t.Any]

RECORD_ANNOTATION = "ovn.c5c3.io/record"
_POLL_SECONDS = 1.0
_WAIT_SECONDS = 2.0
# Controller, scheduler and kubelet have had the time to handle the pod once.
_FIRST_CHECK_SECONDS = 5.0


# A kubelet shows a changed ConfigMap within seconds if the pod is patched, else within about a minute.
_DELETE_WITNESS_SECONDS = 90.0
_ATTEMPTS = 3  # to reach a pod that fails a command
_DELETE_WITNESS = """rm -f "${OVN_WITNESS_FILE:-${OVN_RECORD_DIR%/}.witness}"
cat "$OVN_RECORD_DIR/witness" 2>/dev/null || :"""


class PodMembers:
    """The pods of one database: pod NAME-DATABASE-INDEX is the member of that name."""

    def __init__(
        self,
        cluster: Cluster,
        namespace: str,
        name: str,
        database: str,
        now: t.Callable[[], float] = time.time,
        check_lease: t.Callable[[], None] = lambda: None,
    ) -> None:
        """`now` is the API server's clock, seconds since 1970. `check_lease` raises an error if this run has no right to act any more."""
        self.cluster, self.namespace, self.name, self.database = cluster, namespace, name, database
        self.now, self.check_lease = now, check_lease
        self.waited = WaitTracker(cluster, namespace, f"{name}-{database}", now)
        self._checked = 0.0

    def execute(self, step: Step, record: Record, deadline: Deadline) -> None:
        if step.action == "start":
            self._start(step.members, record, deadline)
        elif step.action == "stop":
            self._stop(step.members, deadline)
        elif step.action == "restart":
            self._restart(step.members, record, deadline)
        elif step.action == "kick":
            self._kick(step.members[0], step.sid or "", deadline)
        else:
            self._wait(step.members, deadline.within(_WAIT_SECONDS))

    # --- observing ---------------------------------------------------------------------------------------------------------

    def pods(self) -> dict[str, Pod]:
        return list_pods(self.cluster, self.namespace, self.name, self.database)

    def examine(self, members: t.Sequence[str], deadline: Deadline) -> dict[str, ParsedExamination]:
        """Return the examinations of the pods, all made at once; those that cannot be examined are missing."""
        limit = min(EXAMINE_SECONDS, max(5.0, deadline.left()))
        command = examine_command("unresponsive")

        def one(member: str) -> ParsedExamination:
            result = self.cluster.exec(self.namespace, member, CONTAINER, command, timeout=limit)
            return parse_examination(self.database, member, result, time.time())

        outcomes = zip(members, ask_all(list(members), one))
        return {member: outcome for member, outcome in outcomes if not isinstance(outcome, OvnError)}

    def wait_for_pods(self, members: t.Sequence[str], deadline: Deadline) -> None:
        """Wait until the database containers of these pods run, or the deadline has expired; at least a moment in each case."""
        while True:
            time.sleep(min(0.5, deadline.left()))
            pods = self.pods()
            if (
                all(member in pods and is_database_container_running(pods[member]) for member in members)
                or deadline.expired
            ):
                return

    def assess_startups(
        self, members: t.Sequence[str], pods: t.Mapping[str, Pod], unneeded: t.Collection[str] = ()
    ) -> dict[str, PodStartup]:
        """Return the startup of each pod, for members whose database container does not run."""
        self.waited.observe(members, pods)
        events = list_events(self.cluster, self.namespace)
        owner = f"{self.name}-{self.database}"
        now, waited = self.now(), self.waited
        return {
            m: assess_startup(
                m, owner, pods.get(m), events, now, waited.since(m, pods.get(m)), needed=m not in unneeded
            )
            for m in members
        }

    def _refuse_unrecoverable(self, members: t.Collection[str], pods: t.Mapping[str, Pod]) -> None:
        """Raise `Refused` if one of these members will not start by waiting."""
        self.waited.observe(members, pods)
        now = time.monotonic()
        stopped = [
            member
            for member in members
            if self.waited.seconds_waited(member) > _FIRST_CHECK_SECONDS
            and not (member in pods and is_database_container_running(pods[member]))
        ]
        if not stopped or now - self._checked < _FIRST_CHECK_SECONDS:
            return
        self._checked = now
        for member, startup in self.assess_startups(stopped, pods).items():
            if startup.unrecoverable:
                raise Refused(
                    f"The {self.database} member {member} does not start, and waiting does not change that. Kubernetes says: {startup.message}. "
                    "Correct that, then run again."
                )

    def outdated(self, pods: t.Mapping[str, Pod]) -> dict[str, Pod]:
        """Return the pods whose template has changed since they were created."""
        if not pods:
            return {}
        owner = self.cluster.get("apps/v1", "StatefulSet", f"{self.name}-{self.database}", self.namespace)
        revision = update_revision(owner)
        return {member: pod for member, pod in pods.items() if is_outdated(pod, revision)}

    # --- the record in the pods ------------------------------------------------------------------------------------------

    def annotate_to_resync(self, record: Record) -> None:
        """Annotate the pods so that the kubelets mount the new record now; by themselves they do so every minute."""
        for member in self.pods():
            self.annotate_to_resync_one(member, str(record.revision))

    def annotate_to_resync_one(self, member: str, value: str) -> None:
        patch = {"metadata": {"annotations": {RECORD_ANNOTATION: value}}}
        try:
            self.cluster.patch("v1", "Pod", member, self.namespace, patch)
        except Refused as e:
            if e.details.get("http_status") != 404:
                raise

    def delete_witness(self, kept: t.Callable[[], str], deadline: Deadline) -> None:
        """Delete the witness of every launcher, and wait until the current ConfigMap, which `kept` reads, is mounted in their pods."""
        deadline, attempt = deadline.within(_DELETE_WITNESS_SECONDS), 0
        since: set[str] = set()
        while True:
            since.add(kept())  # the observer goes on writing
            pods = [member for member, pod in self.pods().items() if is_database_container_running(pod)]
            texts = ask_all(pods, self._delete_witness)
            failed = {m for m, text in zip(pods, texts) if isinstance(text, OvnError)} if attempt < _ATTEMPTS else set()
            outdated = {m for m, text in zip(pods, texts) if isinstance(text, str) and text and text not in since}
            late = sorted(failed | outdated)
            if not late or deadline.expired:
                return
            if attempt % 5 == 0:
                for member in late:
                    self.annotate_to_resync_one(member, f"witness.{attempt}")
            attempt += 1
            time.sleep(min(_POLL_SECONDS, deadline.left()))

    def _delete_witness(self, member: str) -> str:
        """Delete the witness in the pod; return what is mounted of the ConfigMap, empty if it is not mounted."""
        return self.cluster.exec(self.namespace, member, CONTAINER, ["sh", "-c", _DELETE_WITNESS], timeout=15).stdout

    # --- the steps -------------------------------------------------------------------------------------------------------

    def _start(self, members: t.Sequence[str], record: Record, deadline: Deadline) -> None:
        """Wait until all of them take part. Their pods may not exist yet: the StatefulSet creates them."""
        waits = {member: JoinWait(self, member, record, deadline) for member in members}
        while waits:
            pods = self.pods()
            examined = self.examine(
                [member for member in waits if member in pods and is_database_container_running(pods[member])], deadline
            )
            for member in list(waits):
                if waits[member].has_joined(pods.get(member), examined.get(member)):
                    del waits[member]
            self._refuse_unrecoverable(waits, pods)
            if waits and deadline.expired:
                member, wait = next(iter(waits.items()))
                raise not_joined_error(self.database, member, deadline, wait.last)
            if waits:
                time.sleep(min(_POLL_SECONDS, deadline.left()))

    def _stop(self, members: t.Sequence[str], deadline: Deadline) -> None:
        """Evict the pods; the launchers of the new ones wait, since the record says that these members are replaced."""
        pods = self.pods()
        uids = {member: pods[member]["metadata"]["uid"] for member in members if member in pods}
        for member in uids:
            self._evict(pods[member])
        for member, uid in uids.items():
            self._await_successor(member, uid, deadline)

    def _restart(self, members: t.Sequence[str], record: Record, deadline: Deadline) -> None:
        """Evict the pods and wait for their successors, which have the same claims. preStop transfers the leadership; several at once only without a leader."""
        pods = self.pods()
        for member in members:
            if member not in pods:
                raise Changed(f"Pod {member} is gone: another client deleted it.")
        for member in members:
            self._evict(pods[member])
        for member in members:
            self._await_successor(member, pods[member]["metadata"]["uid"], deadline)
        self._start(members, record, deadline)
        for member, found in self.examine(members, deadline).items():
            recorded = record.members[member].sid
            if recorded and found.answer.server_id not in (None, recorded):
                raise Refused(
                    f"The {self.database} member {member} came back as {found.answer.server_id}, not as {recorded}. "
                    "Has its claim been exchanged? No other member was restarted; check the claim, then run again."
                )

    def _evict(self, pod: Pod) -> None:
        """Evict exactly this pod. Its disruption budget protects members that take part: one that does not is deleted if the budget refuses."""
        metadata = pod["metadata"]
        self.check_lease()
        try:
            self.cluster.evict(metadata["name"], self.namespace, metadata["uid"])
        except Conflict as e:
            raise Changed(f"Pod {metadata['name']} is another one now: another client deleted it.") from e
        except Refused as e:
            if e.details.get("http_status") != 429:
                raise
            if is_database_container_ready(pod):
                raise Changed(str(e)) from e
            self.cluster.delete("v1", "Pod", metadata["name"], self.namespace, uid=metadata["uid"])

    def _await_successor(self, member: str, uid: str, deadline: Deadline) -> None:
        while True:
            pods = self.pods()
            pod = pods.get(member)
            if pod is not None and pod["metadata"]["uid"] != uid and is_database_container_running(pod):
                return
            if pod is None or pod["metadata"]["uid"] != uid:
                self._refuse_unrecoverable([member], pods)
            if deadline.expired:
                state = "did not end" if pod is not None and pod["metadata"]["uid"] == uid else "has no successor"
                raise TimedOut(
                    f"Pod {member} was deleted, but {state} within {deadline.seconds:g} s. The other members go on; "
                    "check the pod with kubectl describe, then run again."
                )
            time.sleep(min(0.3, deadline.left()))

    def _kick(self, leader: str, server_id: str, deadline: Deadline) -> None:
        """Remove a server from the cluster and wait until the leader's list lacks it: the reply only says that the removal has begun."""
        answer = self._answer(leader)
        if not self._lists(answer, server_id):
            return
        check_unresponsive(self.database, answer, server_id)
        self.check_lease()
        result = self._appctl(leader, "cluster/kick", DATABASE_NAMES[self.database], server_id)
        if result.code != 0:
            raise Refused(
                f"The {self.database} leader {leader} refused to remove {server_id}: {result.stderr.strip()[-300:]}. Run again."
            )
        while self._lists(self._answer(leader), server_id):
            if deadline.expired:
                raise still_listed_error(self.database, server_id, deadline)
            time.sleep(0.2)

    def _lists(self, answer: Answer, server_id: str) -> bool:
        return is_listed(self.database, answer, server_id, f"Pod {answer.member}")

    def _answer(self, leader: str) -> Answer:
        name = DATABASE_NAMES[self.database]
        result = self._appctl(leader, "cluster/status", name)
        if result.code != 0:
            raise Unreachable(f"The server in pod {leader} does not answer: {result.stderr.strip()[-300:]}. Run again.")
        return Answer(leader, name, cluster_status=result.stdout)

    def _appctl(self, member: str, *command: str) -> ExecResult:
        arguments = ["sh", "-c", 'exec ovs-appctl -T 5 -t "$OVN_RUN_DIR/$0.ctl" "$@"', STEMS[self.database], *command]
        return self.cluster.exec(self.namespace, member, CONTAINER, arguments, timeout=15)

    def _wait(self, members: t.Sequence[str], deadline: Deadline) -> None:
        """Wait until the answer of one of them changes."""

        def now() -> dict[str, t.Any]:
            return {member: read_progress(parsed.answer) for member, parsed in self.examine(members, deadline).items()}

        before = now()
        while not deadline.expired and now() == before:
            time.sleep(min(0.3, deadline.left()))

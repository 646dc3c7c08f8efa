# SPDX-License-Identifier: GPL-3.0-or-later
"""Southbound members hand the port of chassis over to relays, one after the other. Before a pod is restarted, members listen on the port without a role, by a
row that all of them read, since relays connect there; and northd and the observer, which cannot use relays, have gone there.

What members and northd say themselves decides, not the template: the row can be lost with a run that is killed, a database that is restored, or by hand.
"""

from __future__ import annotations

import copy
import dataclasses
import typing as t

from .._api.names import Object, northd_name, observer_name
from .._base.databases import PORTS
from .._base.deadline import Deadline, report_progress
from .._base.errors import BadAnswer, OvnError, Refused, TimedOut, Unreachable
from .._daemons.database_converge import OwnMember, converge
from .._daemons.database_settings import LAYOUTS, DesiredSettings
from .._kubernetes.apply import key_of
from .._kubernetes.compare import is_applied
from .._kubernetes.lease import check_lease
from .._kubernetes.pod_watch import list_pods
from .._kubernetes.rollout_progress import has_relay, is_outdated, is_ready, is_terminating, update_revision
from .desired import is_later
from .objects import ClusterObjects
from .observed_members import RunContext
from .pod_database import PodDatabase
from .settings import desired_settings
from .workloads import await_northd_pods

_PORT = PORTS["southbound"].unrestricted
_OPEN_SECONDS, _NORTHD_SECONDS = 60.0, 120.0


def is_restart_due(manifest: Object, stateful_set: Object | None, pods: t.Mapping[str, Object]) -> bool:
    """Return whether applying this StatefulSet, or what was applied before, restarts one of the pods. Pure."""
    if stateful_set is None or not is_applied(manifest, stateful_set):
        return bool(pods)
    revision = update_revision(stateful_set)
    return any(is_outdated(pod, revision) or not has_relay(pod) for pod in pods.values())


def has_moved(pods: t.Iterable[Object]) -> bool:
    """Return whether no northd would be cut off: a ready one has left the port of chassis, or none is ready anyway. Pure."""
    ready = [pod for pod in pods if is_ready(pod) and not is_terminating(pod)]
    return not ready or any(_uses_unrestricted_port(pod) for pod in ready)


def _uses_unrestricted_port(pod: Object) -> bool:
    option = "--ovnsb-db="
    words = [word for one in pod["spec"]["containers"] for word in one.get("command") or ()]
    endpoints: list[str] = next((word[len(option) :].split(",") for word in words if word.startswith(option)), [])
    return bool(endpoints) and all(one.endswith(f":{_PORT}") for one in endpoints)


def keep_current_images(deployment: Object, there: Object) -> Object:
    """Return the Deployment with the images that its containers have now: a new one follows after the databases. Pure."""
    images = {one["name"]: one["image"] for one in there["spec"]["template"]["spec"]["containers"]}
    result = copy.deepcopy(deployment)
    for container in result["spec"]["template"]["spec"]["containers"]:
        container["image"] = images.get(container["name"], container["image"])
    return result


def open_unrestricted_port(member: OwnMember, settings: DesiredSettings, deadline: Deadline) -> list[str] | None:
    """Let all members listen on the port without a role, and return what was done; None without a leader: then nothing can be written.

    A row that is there keeps its timers, which a large database may have raised.
    """
    layout = LAYOUTS["southbound"]
    rows = {target: row for target, row in (settings.connections or {}).items() if f":{_PORT}" in target}
    try:
        if member.examine().role == "leader":
            there = member.read().connections
            if all(target in there and not there[target].get("role") for target in rows):
                return []
    except (TimedOut, Unreachable, BadAnswer):
        pass  # it is tried again
    try:
        outcome = converge(member, DesiredSettings(connections=rows), layout, deadline, check_mode=False)
    except Refused as e:
        if e.details.get("role") == "none" and not e.details.get("changed"):
            return None
        raise
    return [f"southbound: {action}" for action in outcome.done.actions]


@dataclasses.dataclass
class SouthboundHandover:
    """The `Handover` of a Southbound database with relays."""

    context: RunContext
    objects: ClusterObjects

    def prepare(self, manifest: Object, deadline: Deadline) -> None:
        """Do all that before the StatefulSet is applied, if it restarts pods: they may also end by themselves, and come back by its template."""
        desired, there = self.objects.desired, self.objects.observed.known_stateful_set("southbound")
        if not desired.spec.tls.enabled:
            return
        pods = list_pods(self.context.cluster, desired.namespace, desired.name, "southbound")
        if is_restart_due(manifest, there, pods) and self._open_port(deadline) is not None:
            self.move_clients(pods, deadline)

    def open_port(self, deadline: Deadline) -> bool:
        return bool(self._open_port(deadline))

    def _open_port(self, deadline: Deadline) -> list[str] | None:
        desired, context, objects = self.objects.desired, self.context, self.objects
        if not desired.spec.tls.enabled:
            return []
        pods = {address: name for name, address in objects.checked.runs["southbound"].declared.items()}
        member = PodDatabase(context.cluster, context.namespace, LAYOUTS["southbound"], pods, None, None, context.lease)
        try:
            done = open_unrestricted_port(
                member, desired_settings(desired, "southbound"), deadline.within(_OPEN_SECONDS)
            )
        except OvnError as e:
            if "holder" in e.details:
                raise
            raise Refused(
                f"The Southbound members cannot listen on port {_PORT}, where their relays connect: {e} "
                "This run restarts no Southbound member before. Correct it, then run again.",
                **e.details,
            ) from e
        objects.progress.steps += done or []
        return done

    def move_clients(self, pods: t.Mapping[str, Object], deadline: Deadline) -> bool:
        objects, name = self.objects, self.objects.desired.name
        if not objects.desired.spec.tls.enabled or all(map(has_relay, pods.values())):
            return False
        changed = False
        for one in (northd_name(name), observer_name(name)):
            changed |= self._move(one)
        if objects.observed.get("apps/v1", "Deployment", northd_name(name)) is None:
            return changed
        report_progress(f"wait until northd uses port {_PORT} of the Southbound members")
        try:
            waited = await_northd_pods(
                objects.cluster, objects.desired, has_moved, deadline.within(_NORTHD_SECONDS), self.context.now
            )
        except (Refused, TimedOut, Unreachable) as e:
            raise Refused(
                f"northd did not move to port {_PORT}: {e} This run restarts no Southbound member before. Correct it, then run again.",
                **e.details,
            ) from e
        return changed or waited

    def _move(self, name: str) -> bool:
        """Apply this Deployment as it is declared, but for its images; return whether it was another one."""
        objects = self.objects
        there = objects.observed.get("apps/v1", "Deployment", name)
        if there is None:
            return False
        manifest = next(m for m in objects.manifests() if is_later(m) and m["metadata"]["name"] == name)
        manifest = keep_current_images(manifest, there)
        if is_applied(manifest, there):
            return False
        self.context.lease.acquire_or_renew(f"let {name} use port {_PORT} of the Southbound members")
        check_lease(self.context.lease)
        (change,) = objects.apply([manifest])
        if change.after is not None:
            objects.observed.index[key_of(manifest)] = change.after
        return change.action != "unchanged"

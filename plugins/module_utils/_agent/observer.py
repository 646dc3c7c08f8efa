# SPDX-License-Identifier: GPL-3.0-or-later
"""`c5c3-ovn.pyz observer`: keeps the status of the OVNCluster and the labels of its pods up to date, between runs and without them.

It observes and reports, it repairs nothing: only runs change databases, apart from the number of the heartbeat. For pods that start it records how new
the members' files are.
"""

from __future__ import annotations

import datetime
import functools
import json
import os
import time
import typing as t

from .._api.names import LABELS, UNRESTRICTED_STATUS, active_northd, label_patches
from .._api.observer_settings import ALIVE_FILE, ObserverSettings
from .._api.outside_addresses import follow
from .._api.status import cluster_status, pod_of, rolled_out
from .._api.witness_map import WitnessMap
from .._base.databases import DATABASES, OVSDB_ELECTION_TIMER, PORTS
from .._base.errors import OvnError
from .._kubernetes.rollout_progress import PendingItem, pending_items
from .._raft.answer import Answer
from .._raft.cluster_witness import ClusterWitness, MemberWitness, merge_cluster_witness
from .._raft.record import parse_record
from .._raft.verdict import Verdict
from .._raft.view import Sample
from .api_client import Api, Mirror
from .member_watch import ActiveNorthd, leading_pod
from .metrics import serve_metrics
from .observer_loop import ObserverLoop, run_observer
from .process import Log, RunningArchive, is_alive, touch

# Records between runs how new the members' files are (R25). Over the network the observer reads indexes, never a term or a disk: what runs have recorded of
# those is kept.

# A server reports an entry when it is committed, shortly before its own disk has it. A file that a power failure has truncated is no old copy.
ON_DISK_SECONDS = 5.0
_EVERY = 10.0  # seconds between two writes of one database
_READ_AGAIN = 60.0  # seconds after which a run may have reset what was written


class WitnessWriter:
    """The ConfigMap of one database at `path`. The observer may not create it: runs do."""

    def __init__(self, api: Api, path: str) -> None:
        self._map = WitnessMap(lambda: api.get(path), lambda patch: api.patch(path, patch))
        self._last, self._checked = -_EVERY, -_READ_AGAIN

    def write(self, cluster_id: str | None, indexes: t.Mapping[str, int], now: float) -> None:
        """Write the indexes that are higher than the stored ones. `indexes` is by server id, `now` in seconds of a monotonic clock."""
        if cluster_id is None or not indexes or now - self._last < _EVERY:
            return
        self._last = now
        if now - self._checked >= _READ_AGAIN:
            self._checked = now
            self._map.read_text()
        seen = ClusterWitness(cluster_id, {sid: MemberWitness(index) for sid, index in indexes.items()})
        self._map.update(lambda stored: merge_cluster_witness(stored, seen))


def indexes_on_disk(
    members: t.Iterable[tuple[Answer | None, t.Sequence[Sample]]], cluster_id: str | None, now: float
) -> dict[str, int]:
    """Return the highest index that is on the disk of each server of this cluster, by its id. `members` has each answer with its samples."""
    found: dict[str, int] = {}
    for answer, samples in members:
        if answer is None or answer.server is None or not answer.server_id or answer.cluster_id != cluster_id:
            continue
        old = [sample.log_index for sample in samples if now - sample.time >= ON_DISK_SECONDS]
        if old:
            found[answer.server_id] = max(old)
    return found


_ALIVE = 60.0  # seconds without a round, after which the process hangs

_RECORD_EVERY = 15.0


class Observer(ObserverLoop):
    """Beside the control plane, its objects on the API server are observed."""

    def __init__(self, settings: ObserverSettings, api: Api, log: Log, archive: RunningArchive) -> None:
        super().__init__(
            settings.endpoints,
            settings.tls,
            settings.certificate_files,
            settings.intervals,
            settings.schemas,
            log,
            archive,
            settings.relays,
        )
        self.settings, self.api = settings, api
        self._core = core = f"/api/v1/namespaces/{settings.namespace}"
        self._resource = f"/apis/ovn.c5c3.io/v1alpha1/namespaces/{settings.namespace}/ovnclusters"
        selector = {"labelSelector": f"app.kubernetes.io/instance={settings.name}"}
        only = {"fieldSelector": f"metadata.name={settings.name}"}
        self.pods = Mirror(api, f"{core}/pods", selector, self._wake.set, log.report_error)
        self.clusters = Mirror(api, self._resource, only, self._wake.set, log.report_error)
        apps = f"/apis/apps/v1/namespaces/{settings.namespace}"
        self.stateful_sets = Mirror(api, f"{apps}/statefulsets", selector, self._wake.set, log.report_error)
        self.deployments = Mirror(api, f"{apps}/deployments", selector, self._wake.set, log.report_error)
        self._mirrors = (self.pods, self.clusters, self.stateful_sets, self.deployments)
        self._witnesses: dict[str, WitnessWriter] = {
            name: WitnessWriter(api, f"{core}/configmaps/{settings.name}-{name}-witness") for name in DATABASES
        }
        self._northd = ActiveNorthd()
        self._last_summary = ""
        self._cluster_ids: dict[str, str | None] = dict.fromkeys(DATABASES)
        self._record_read_at: dict[str, float] = {}

    def _start_threads(self) -> None:
        for mirror in self._mirrors:
            mirror.start()
        super()._start_threads()
        if self.settings.metrics_port:
            serve_metrics(self.settings.metrics_port, self._metrics)

    def _stop_threads(self) -> None:
        for mirror in self._mirrors:
            mirror.stop()
        super()._stop_threads()

    def _after_round(self) -> None:
        touch(self.settings.alive_file)

    def _metrics(self) -> str:
        resource = (self.clusters.objects or {}).get(self.settings.name) or {}
        return self.watch.metrics(resource.get("status") or {})

    def _round(self) -> bool:
        resource = (self.clusters.objects or {}).get(self.settings.name)
        settled = True
        verdicts: dict[str, Verdict] = {}
        leaders: dict[str, str | None] = {}
        for name in DATABASES:
            verdicts[name], current = self._assess(name, resource)
            if current:
                leaders[LABELS[name]] = leading_pod(verdicts[name])
            settled &= current and not self.watch.is_unsettled(name)
            # The next regular write is soon enough, so a failure needs no round of its own.
            self._try(f"witness of {name}", functools.partial(self._write_witness, name))
        pods = list((self.pods.objects or {}).values())
        for pod, patch in label_patches(pods, leaders).items():
            settled &= self._try(f"labels of {pod}", functools.partial(self._patch_labels, pod, patch))
        active = None if self.pods.objects is None else active_northd(pods)
        northd, current = self._northd.debounce(active, time.monotonic())
        settled &= current
        if resource is not None:
            write = functools.partial(self._write, resource, verdicts, northd)
            settled &= self._try("status", write)
        return settled

    def _try(self, subject: str, write: t.Callable[[], None]) -> bool:
        """Call `write` and return whether it succeeded. A failure is logged and does not prevent the other writes."""
        try:
            write()
        except OvnError as e:
            self.log.report_error(subject, e)
            return False
        self.log.report_error(subject, None)
        return True

    def _write_witness(self, name: str) -> None:
        """Record how new the members' files are, for pods that start."""
        now, cluster_id = time.monotonic(), self._cluster_ids[name]
        samples = [(member.answer, member.indexes) for member in self.watch.members[name]]
        self._witnesses[name].write(cluster_id, indexes_on_disk(samples, cluster_id, now), now)

    def _patch_labels(self, pod: str, patch: t.Any) -> None:
        written = self.api.patch(f"{self._core}/pods/{pod}/status", patch)
        if written is not None:
            self.pods.put(written)
            self.log.info(f"{pod}: {patch['metadata']['labels']}")

    def _assess(self, name: str, resource: t.Any) -> tuple[Verdict, bool]:
        spec = (resource or {}).get("spec", {}).get(name, {})
        timer = int(spec.get("electionTimer") or OVSDB_ELECTION_TIMER)
        while True:
            verdict, current = self.watch.assess(name, self._cluster_ids[name], timer)
            # A cluster gets another id only by being created again, which a run records before it can be observed.
            unsure = self._cluster_ids[name] is None or verdict.verdict == "split"
            if not unsure or not self._read_record(name):
                return verdict, current

    def _read_record(self, name: str) -> bool:
        """Read the record, at most every 15 s, and return whether the cluster id has changed."""
        if time.monotonic() - self._record_read_at.get(name, -_RECORD_EVERY) < _RECORD_EVERY:
            return False
        self._record_read_at[name] = time.monotonic()
        try:
            found = self.api.get(f"{self._core}/configmaps/{self.settings.name}-{name}-record")
            cid = parse_record((found.get("data") or {})["record.json"]).cid if found else None
            self.log.report_error(f"record of {name}", None)
        except KeyError:
            cid = None  # just being created
        except OvnError as e:
            self.log.report_error(f"record of {name}", e)
            return False
        before, self._cluster_ids[name] = self._cluster_ids[name], cid
        return before != cid

    def _pending_items(self, spec: t.Mapping[str, t.Any], previous: t.Mapping[str, t.Any]) -> list[PendingItem] | None:
        """Return what is pending for the specification of the last run; None while that is not known."""
        sets, deployments, pods = self.stateful_sets.objects, self.deployments.objects, self.pods.objects
        if sets is None or deployments is None or pods is None:
            return None
        generation = rolled_out(previous)
        if not generation:
            return None  # the first run is under way
        return pending_items(
            {f"{self.settings.name}-{name}": sets.get(f"{self.settings.name}-{name}") for name in DATABASES},
            deployments.get(f"{self.settings.name}-northd"),
            pods,
            {f"{self.settings.name}-{name}": spec.get(name, {}).get("replicas", 0) for name in DATABASES},
            in_effect=previous.get("observedGeneration") == generation,
        )

    def _published_endpoints(self, spec: t.Mapping[str, t.Any], previous: t.Mapping[str, t.Any]) -> dict[str, str]:
        """Return the endpoints that a run has published: only a run can compute those outside, and where it found none, there are none. Addresses of nodes
        follow members that have moved.
        """
        known = dict(previous.get("endpoints") or {})
        # Not the addresses of Services, which are none of nodes.
        for name in known.keys() & {"northbound", "southbound", UNRESTRICTED_STATUS}:
            database = "northbound" if name == "northbound" else "southbound"
            if spec.get(database, {}).get("service", {}).get("type") == "NodePort" and self.pods.objects is not None:
                members = [pod_of(str(endpoint)) for endpoint in self.settings.endpoints[database]]
                known[name] = follow(known[name], members, self.pods.objects)
        return known

    def _inside_endpoints(self) -> dict[str, str]:
        """Return the endpoints for clients in this Kubernetes cluster. The observer itself uses the ports without a role."""
        northbound, unrestricted = (self.settings.endpoints[name] for name in DATABASES)
        ports = PORTS["southbound"]
        chassis = [one._replace(port=ports.client) if one.port == ports.unrestricted else one for one in unrestricted]
        named = {"northbound": northbound, "southbound": chassis, UNRESTRICTED_STATUS: unrestricted}
        return {name: ",".join(map(str, endpoints)) for name, endpoints in named.items()}

    def _write(self, resource: t.Any, verdicts: t.Mapping[str, Verdict], northd: t.Sequence[str] | None) -> None:
        """Write the status if it differs from that on the API server."""
        previous = resource.get("status") or {}
        status = cluster_status(
            # Runs apply the specification, so only they change the generation; pods may follow later.
            generation=rolled_out(previous),
            declared=resource["metadata"]["generation"],
            left=self._pending_items(resource.get("spec", {}), previous),
            schemas=self.watch.schemas,
            previous=previous,
            verdicts=verdicts,
            endpoints={**self._inside_endpoints(), **self._published_endpoints(resource.get("spec", {}), previous)},
            chassis=self.watch.count_chassis(),
            certificates=self.watch.certificates,
            claims=self.watch.conflicts,
            relays=self.watch.relays,
            now=datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ"),
            northd=northd,
        )
        if all(previous.get(key) == value for key, value in status.items()):
            return
        # With the resourceVersion: else what a run has written in between would be undone.
        patch = {"metadata": {"resourceVersion": resource["metadata"]["resourceVersion"]}, "status": status}
        written = self.api.patch(f"{self._resource}/{self.settings.name}/status", patch)
        if written is not None:
            self.clusters.put(written)
            summary = _summary(written.get("status", {}))
            if summary != self._last_summary:
                self.log.info(summary)
            self._last_summary = summary


def _summary(status: t.Mapping[str, t.Any]) -> str:
    ready = {c["type"]: c for c in status.get("conditions") or ()}.get("Ready", {})
    return json.dumps(
        {
            "ready": ready.get("status"),
            **{name: [status[name].get("verdict"), status[name].get("leader")] for name in DATABASES if name in status},
            "chassis": [status.get("activeControllers"), status.get("chassisCount")],
        }
    )


def main(arguments: t.Sequence[str]) -> int:
    environment = os.environ
    if "--alive" in arguments:
        return 0 if is_alive(environment.get("OVN_ALIVE_FILE", ALIVE_FILE), _ALIVE) else 1
    return run_observer(
        lambda log, archive: Observer(ObserverSettings.of(environment), Api.of_this_pod(environment), log, archive)
    )

# Copyright: (c) 2026, C5C3 contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""PRIVATE to the collection: may change at any time.

A whole control plane in one Kubernetes cluster: objects, both databases, what lives inside them, northd, status; in the order that is safe.
"""

from __future__ import annotations

import contextlib
import functools
import typing as t

from .._api.names import Object, northd_name, observer_name
from .._database.schema_update import schema_gap
from .._databases import DATABASES, Database
from .._errors import OvnError, Refused, TimedOut, Unreachable
from .._kubernetes.apply import ObjectChange, key_of, prune
from .._kubernetes.lease import check_lease
from .._kubernetes.rollout_progress import is_terminating
from .._raft_pods.backend import DatabaseRollout, raise_combined
from .desired import is_config, is_later, keep_claims, template_changes
from .endpoints import ControlPlaneAddress, find_endpoints
from .objects import ClusterObjects
from .observed_state import ObservedCluster
from .ports import repair
from .recreate_claims import claims_message as words_of_claims
from .recreate_claims import delete_pending_claims, find_claims, member_of
from .recreate_statefulset import delete_statefulset_orphan, dry_run_create, kept_words, predict_statefulset, stale
from .recreate_statefulset import recreation_message as words_of_template
from .settings import converge_settings
from .status import StatusFacts, write_status
from .storage import claim_changes, grow_claims, unbound_claims
from .witnesses import mark_claims
from .workloads import await_workloads, observer_trouble

# What the first database leaves of the time to the second one.
_RESERVED, _RESERVED_SECONDS = 0.3, 30.0


class ControlPlane(ClusterObjects):
    """One run, in the order that is safe."""

    def present(self) -> None:
        self._check()
        self.claims_before = {
            item["metadata"].get("uid") for key, item in self.live.index.items() if key[1] == "PersistentVolumeClaim"
        }
        try:
            if not self.check_mode and self._pending():
                self._take_lease()
            self._await_terminating_statefulsets()
            self._foundations(self.live)
            self._objects(self.live)
            self._empty_claims()
            self._rounds()
            self._settings()
            self._templates()
            self._mark_claims()
            self._finish()
        finally:
            self.warnings += self.lease.notes
            if not self.check_mode:
                self.lease.release()

    # --- objects ---------------------------------------------------------------------------------------------------------

    def _objects(self, live: ObservedCluster) -> None:
        for d in DATABASES:
            self.done.append(self.stores[d].ensure(check_mode=self.check_mode))
            self.done.append(self.witness_stores[d].ensure(check_mode=self.check_mode))
        manifests = keep_claims(self._manifests(self.replicas), live)
        grow_claims(self.cluster, self.wanted, live, check_mode=self.check_mode, note=self.done.append)
        repaired = repair(self.cluster, self.clashes, check_mode=self.check_mode, note=self.done.append)
        live.index.update({key_of(one.after): one.after for one in repaired if one.after})
        if self.check_mode:  # a dry run would still see the ports that are in the way
            names = {one.name for one in repaired}
            manifests = [m for m in manifests if m["kind"] != "Service" or m["metadata"]["name"] not in names]
        check_lease(self.lease)
        done = self._apply([m for m in manifests if not is_config(m) and not is_later(m)], live)
        for d in DATABASES:
            self.databases[d] = DatabaseRollout(
                self.context,
                self._run(d),
                self.stores[d],
                functools.partial(self._scale, d),
                self.replicas[d],
                election_timer=self.wanted.spec.database(d).election_timer,
                stateful_set=functools.partial(live.stateful_set, self.cluster, d),
                template_changed=self.check_mode and template_changes(done, f"{self.wanted.name}-{d}"),
                witness=self.witness_stores[d],
            )

    def _empty_claims(self) -> None:
        """Members that wait for a volume of another class than the declared one would wait for ever. No pod that runs is touched."""
        for d, rollout in self.databases.items():
            claims, name, there = self.empty.get(d, []), rollout.set_name, self._stateful_set(d)
            differs = stale(there, self.wanted.spec.database(d).storage)
            # Claims grow later, but they never change their class: members to come have to get the declared one.
            more = "storage class" in differs and self.replicas[d] < len(rollout.run.declared)
            if there is None or not differs:
                self._take_claims(d, claims)
            elif (claims or more) and (why := self._renew(d, there, words_of_template(name, differs), claims)):
                self._keep(d, kept_words(name, differs, why), more=more)
        if any(self.empty.values()) and not self.check_mode:
            self.live.claims_again(self.cluster)
            claim_changes(self.wanted, self.live)  # refuses one that got its volume at the last moment
            left = [c for claims in find_claims(self.cluster, self.wanted, self.live).values() for c in claims]
            if names := ", ".join(c["metadata"]["name"] for c in left if not is_terminating(c)):
                self.warnings.append(f"{names} could not be recreated with the declared storage class. Run again.")

    def _keep(self, database: Database, words: str, *, more: bool) -> None:
        if more:
            raise Refused(f"{words} No member was added, for its claim would be one of them.")
        self.kept.add(database)
        self.warnings.append(words)

    def _take_claims(self, database: Database, claims: t.Sequence[Object]) -> None:
        if not claims:
            return
        if not self.check_mode:
            self.lease.acquire_or_renew(words_of_claims(claims))
        gone = delete_pending_claims(
            self.cluster, self.wanted, database, claims, check_mode=self.check_mode, note=self.done.append
        )
        if fresh := [claim for claim in gone if not is_terminating(claim)]:
            self.steps.append(words_of_claims(fresh))
        for claim in gone:
            self.live.index.pop(key_of({"apiVersion": "v1", "kind": "PersistentVolumeClaim", **claim}), None)
        if self.check_mode:
            self.databases[database].deleted |= {member_of(claim) for claim in gone}

    # --- databases -------------------------------------------------------------------------------------------------------

    def _rounds(self) -> None:
        """One database after the other. Whatever stops the first, the second is looked at, too: neither waits for the other for ever."""
        failures: list[BaseException] = []
        for left, database in zip(reversed(range(len(self.databases))), self.databases.values()):
            try:
                if self.check_mode:
                    database.simulate()
                else:
                    rest = self.deadline.left()
                    share = self.deadline.within(rest - left * min(_RESERVED_SECONDS, rest * _RESERVED))
                    database.roll_out(share, self.wanted.wait_timeout)
            except (Unreachable, TimedOut) as e:
                failures.append(e)
                if str(self.cluster.server) in str(e):
                    break  # nobody can be asked about the second one either
            except OvnError as e:
                failures.append(e)
        for database in self.databases.values():
            self.steps += database.steps
            self.warnings += database.warnings
        raise_combined(failures)

    def _settings(self) -> None:
        self.steps += converge_settings(
            self.cluster, self.wanted, self.databases, self.settings, self.deadline, check_mode=self.check_mode
        )

    def _templates(self) -> None:
        """When everything else is done: new claims get the declared size, too, and those that were made meanwhile have it."""
        for d, rollout in self.databases.items():
            name, there = rollout.set_name, self._stateful_set(d)
            differs = stale(there, self.wanted.spec.database(d).storage)
            if there is None or not differs or d in self.kept:
                continue
            whole = rollout.is_predicted_complete if self.check_mode else rollout.is_complete
            what = f"{words_of_template(name, differs)}: pods and claims stay"
            if why := self._renew(d, there, what) if whole else "not all members take part":
                self.warnings.append(kept_words(name, differs, why))
        if self.steps and not self.check_mode:
            self.live.claims_again(self.cluster)
            grow_claims(self.cluster, self.wanted, self.live, check_mode=False, note=self.done.append)
        late = unbound_claims(self.wanted, self.live)
        if late:
            self.warnings.append(
                f"{', '.join(late)} has no volume yet, so it keeps its size for now. Run again when its pod runs."
            )

    def _mark_claims(self) -> None:
        """A claim outlives its record, for example when a namespace is restored in part."""
        for d, store in self.stores.items():
            record = store.read()
            if record is not None and record.cid:
                mark_claims(
                    *(self.cluster, self.wanted, self.live, d, record.cid),
                    check_mode=self.check_mode,
                    note=self._note_claim,
                )

    def _note_claim(self, one: ObjectChange) -> None:
        """A claim that was made in this run is as new as its mark, and check mode cannot know it."""
        if one.before is not None and one.before["metadata"].get("uid") in self.claims_before:
            self.done.append(one)

    def _renew(self, database: Database, there: Object, what: str, claims: t.Sequence[Object] = ()) -> str:
        """Why not, empty if it was done. While there is no StatefulSet, nobody makes these claims as they were."""
        name, namespace = there["metadata"]["name"], self.wanted.namespace
        manifests = self._manifests(self.replicas)
        manifest = next(m for m in manifests if m["kind"] == "StatefulSet" and m["metadata"]["name"] == name)
        if why := dry_run_create(self.cluster, manifest):
            return why
        if self.check_mode:
            last = next((d.after for d in reversed(self.done) if (d.kind, d.name) == ("StatefulSet", name)), None)
            after = predict_statefulset(last or there, manifest)
            self.steps.append(what)
            self.done.append(ObjectChange("StatefulSet", name, namespace, "changed", there, after))
            self.live.index[key_of(there)] = after
            self._take_claims(database, claims)
            return ""
        if self.lease.acquire_or_renew(what):  # else it was taken before everything was looked at
            return "another run may have acted meanwhile"
        check_lease(self.lease)
        self.steps.append(what)
        if why := delete_statefulset_orphan(self.cluster, there, self.replicas[database]):
            self.steps.remove(what)
            return why
        self.live.index.pop(key_of(there))
        try:
            self._take_claims(database, claims)
        finally:
            self._scale(database, self.replicas[database], None)
            made = self.done.pop()
            self.done.append(made._replace(action="changed", before=there))
        self.live.stateful_set(self.cluster, database)
        return ""

    # --- the rest --------------------------------------------------------------------------------------------------------

    def _finish(self) -> None:
        wanted, live = self.wanted, self.live
        manifests = self._manifests(self.replicas)
        self._apply([m for m in manifests if is_later(m)], live)
        services = None if self._touched("Service") else [m for key, m in live.index.items() if key[1] == "Service"]
        place = ControlPlaneAddress(wanted.name, wanted.namespace, wanted.cluster_domain, wanted.spec)
        self.endpoints = find_endpoints(
            self.cluster,
            place,
            warn=self.warnings.append,
            before=((self.resource or {}).get("status") or {}).get("endpoints") or {},
            services=services,
            pods={name: pod for rollout in self.databases.values() for name, pod in rollout.pods.items()},
        )
        config = next(m for m in manifests if is_config(m))
        config["data"].update(OvnNorth=self.endpoints.northbound, OvnSouth=self.endpoints.southbound)
        self._apply([config], live)
        unwanted = prune(self.cluster, manifests, live.index, check_mode=True)
        if self.check_mode:
            self.done += unwanted
            return
        if unwanted:
            self.lease.acquire_or_renew("remove what is not declared any more")
            check_lease(self.lease)
            prune(self.cluster, manifests, live.index, check_mode=False, note=self.done.append)
        absent = [words for rollout in self.databases.values() if (words := rollout.describe_missing_members())]
        if not wanted.wait:
            self.warnings += absent
        self.warnings += [gap for d in DATABASES if (gap := schema_gap(d, self.databases[d].schemas))]
        northd, observer = (self._deployment(name) for name in (northd_name(wanted.name), observer_name(wanted.name)))
        if wanted.wait:
            try:
                northd = await_workloads(self.cluster, wanted, northd, self.deadline, self.context.now)
            except OvnError:
                with contextlib.suppress(OvnError):  # what stopped the run is more important
                    northd = self.cluster.get("apps/v1", "Deployment", northd_name(wanted.name), wanted.namespace)
                    self._write_status(northd, observer)
                raise
            self.warnings += [words for words in [observer_trouble(self.cluster, wanted, observer)] if words]
        self._write_status(northd, observer)
        if wanted.wait and absent:
            raise Refused(f"Not every member is there. {' '.join(absent)} Everything else is as declared.")

    def _write_status(self, northd: Object | None, observer: Object | None) -> None:
        self.resource = write_status(
            self.cluster,
            self.wanted,
            self.resource,
            StatusFacts(self.databases, self.endpoints, northd, observer),
            self.time,
            generation=self.generation,
            warn=self.warnings.append,
        )

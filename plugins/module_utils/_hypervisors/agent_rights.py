# SPDX-License-Identifier: GPL-3.0-or-later
"""Whether a run makes what lets agents write the status of their OVNChassis. It is known before pods are computed: without it they get no token."""

from __future__ import annotations

import typing as t

from .._api.names import Object
from .._api.service_accounts import account_of, hypervisor_accounts
from .._base.errors import OvnError, Refused
from .._kubernetes.access_review import Access, denied_accesses
from .._kubernetes.apply import Key, key_of
from .._kubernetes.client import Cluster
from .._kubernetes.compare import is_applied, with_hash
from .._kubernetes.wait_tracker import Progress
from .._manifests.status_rights import ADMISSION, RBAC, observer_rights, status_rights
from .desired import DesiredHypervisors
from .observed_state import ObservedHypervisors, StatusRights


class AgentRights:
    """The user of a run may lack the rights to make them. It goes on without, and a warning says so."""

    def __init__(self, cluster: Cluster, desired: DesiredHypervisors, progress: Progress) -> None:
        self.cluster, self.progress, self._force = cluster, progress, desired.force_conflicts
        self._namespace = desired.namespace
        agents = account_of(hypervisor_accounts(desired.spec), "controller")
        self._manifests = status_rights(agents, desired.namespace, desired.name, "controller")
        self._of_observer = observer_rights(desired.namespace, desired.name)
        self._refusal: str | None = None  # empty: none; None: not asked yet
        self._may_delete: bool | None = None  # the binding; None: not asked yet

    def of(self, observed: ObservedHypervisors) -> StatusRights:
        """Return what `observed` says, but not "managed" if the API server would refuse that. Nothing is written."""
        if observed.status_rights != "managed":
            return observed.status_rights
        manifests = [*self._manifests, *self._of_observer]
        pairs = [(one, observed.index.get(key_of(one))) for one in manifests]
        if all(found and is_applied(one, found) for one, found in pairs):
            return "managed"
        if self._refusal is None:
            self._refusal = self._ask(pairs)
        if not self._refusal:
            return "managed"
        there = [found for _one, found in pairs[: len(self._manifests)]]
        rights: StatusRights = "kept" if all(there) and self._is_bound(there[-1]) else "none"
        result = (
            "What lets agents write the status of OVNChassis stays as an earlier run has made it"
            if rights == "kept"
            else "Agents do not keep the status of OVNChassis true between runs"
        )
        self.progress.warn(f"{result}: {self._refusal} An administrator can run once instead.")
        return rights

    def _is_bound(self, binding: Object | None) -> bool:
        """Return whether this binding names the account of the agents. An earlier installation may have had another one."""
        return binding is not None and bool(binding.get("subjects") == self._manifests[-1]["subjects"])

    def unguarded_binding(self, observed: ObservedHypervisors) -> Object | None:
        """Return the ClusterRoleBinding if it is to be deleted, since without the policy it lets each agent write the status of all; None otherwise.

        A run that may write all of it brings the policy back instead. One that may not delete the binding warns.
        """
        role, binding = (observed.index.get(key_of(one)) for one in self._manifests if one["apiVersion"] == RBAC)
        missing = missing_guards(self._manifests, observed.index)
        if role is None or binding is None or not missing or self.of(observed) == "managed":
            return None
        name = binding["metadata"]["name"]
        cause = f"{' and '.join(missing)} {'is' if len(missing) == 1 else 'are'} missing"
        writes = "the agent of each node write the status of every OVNChassis, not only that of its own node"
        if self._may_delete is None:
            self._may_delete = self._ask_deletion(name)
        if self._may_delete:
            self.progress.warn(f"ClusterRoleBinding {name} is deleted: {cause}, and it would let {writes}.")
            return binding
        self.progress.warn(
            f"ClusterRoleBinding {name} lets {writes}: {cause}. This run can neither bring that back nor delete the binding. "
            f"An administrator ends it with kubectl delete clusterrolebinding {name}"
        )
        return None

    def _ask_deletion(self, name: str) -> bool:
        """Return whether the user may delete the binding."""
        access = Access("rbac.authorization.k8s.io", "clusterrolebindings", "delete", name, "")
        try:
            return not denied_accesses(self.cluster, [access], self._namespace)
        except Refused as e:
            if e.details.get("http_status") != 403:
                raise
            return False

    def _ask(self, pairs: t.Iterable[tuple[Object, Object | None]]) -> str:
        """Return why the user may not apply one that is missing or differs.

        Dry runs, as no review of access tells that nobody may grant what they do not have.
        """
        for manifest, found in pairs:
            if found and is_applied(manifest, found):
                continue
            try:
                self.cluster.apply(with_hash(manifest), dry_run=True, force=self._force)
            except OvnError as e:
                # Anything else is found when it is applied: a binding, for example, needs its role.
                if e.details.get("http_status") == 403:
                    return str(e)
        return ""


def missing_guards(manifests: t.Sequence[Object], index: t.Mapping[Key, Object]) -> list[str]:
    """Return kind and name of what is missing of the policy and its binding, which keep each agent to the OVNChassis of its own node."""
    guards = [one for one in manifests if one["apiVersion"] == ADMISSION]
    return [f"{one['kind']} {one['metadata']['name']}" for one in guards if key_of(one) not in index]

# SPDX-License-Identifier: GPL-3.0-or-later
"""The desired state: the checked options of ovn_cluster, and what follows from them together with the observed state. Pure."""

from __future__ import annotations

import copy
import dataclasses
import typing as t
import uuid

from .._api.crds import check_revision, custom_resource_definitions
from .._api.names import (
    API_VERSION,
    CONFIG_NAME,
    MANAGER,
    POD_SECURITY,
    Object,
    labels,
    record_name,
    relay_name,
    witness_name,
)
from .._api.spec import ClusterSpec, parse_spec
from .._api.tls_spec import check_ciphers
from .._base.databases import DATABASES, Database
from .._base.errors import InvalidInput, Refused
from .._kubernetes.apply import ObjectChange, key_of
from .observed_state import ObservedCluster, claim_templates


@dataclasses.dataclass(frozen=True)
class DesiredCluster:
    """`raw` is the specification as the user wrote it, `spec` the same with all defaults."""

    name: str
    namespace: str
    raw: Object
    spec: ClusterSpec
    metadata: Object
    cluster_domain: str
    cluster_ids: t.Mapping[str, str | None]
    pod_security: str = "restricted"  # of a namespace that the run creates
    declared: bool = True  # False: the resource was applied by another client, which keeps it
    bootstrap: bool = True
    restart: bool = True
    allow_outage: bool = False
    new_cluster: bool = False
    accept_rollback: bool = False
    accept_lost_disk: bool = False
    break_lock: bool = False
    force_conflicts: bool = False
    wait: bool = True
    lock_patience: float | None = (
        None  # seconds for another run to end, at most wait_timeout, which is also the default
    )
    wait_timeout: float = 300

    def foundations(self, observed: ObservedCluster) -> list[Object]:
        """Return the namespace if it is missing, and the custom resource definitions that this user may read."""
        metadata = {"name": self.namespace, "labels": {POD_SECURITY: self.pod_security}}
        namespace: Object = {"apiVersion": "v1", "kind": "Namespace", "metadata": metadata}
        return [*([] if observed.namespace_object else [namespace]), *desired_definitions(observed)]

    def resource(self) -> Object:
        """Return the OVNCluster."""
        ours = {"name": self.name, "namespace": self.namespace}
        both = {**labels(self.name), **(self.metadata.get("labels") or {})}
        return {
            "apiVersion": API_VERSION,
            "kind": "OVNCluster",
            "metadata": {**self.metadata, **ours, "labels": both},
            "spec": self.raw,
        }

    def record_skeleton(self, database: Database) -> Object:
        """Return the ConfigMap of a record without its data. It has no owner, because it outlives the OVNCluster."""
        return self._skeleton(record_name(self.name, database), database)

    def witness_skeleton(self, database: Database) -> Object:
        """Return the ConfigMap of the witness without its data; without an owner, as the record."""
        return self._skeleton(witness_name(self.name, database), database)

    def _skeleton(self, name: str, database: Database) -> Object:
        metadata = {"name": name, "namespace": self.namespace, "labels": labels(self.name, database)}
        return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata}


def desired_from_params(params: t.Mapping[str, t.Any], existing: Object | None) -> DesiredCluster:
    """Return the options, checked; `InvalidInput` names the one that cannot work. Without `spec` and `definition` the `existing` OVNCluster counts.

    With `spec_from` resource it always does, and it is `Refused` that there is none.
    """
    definition = params["definition"] or {}
    if params["spec_from"] == "resource":
        check_source(params, existing)
    raw = _raw_specification(params, definition, existing)
    metadata = copy.deepcopy(definition.get("metadata") or {})
    name = metadata.pop("name", None) or params["name"]
    namespace = metadata.pop("namespace", None) or params["namespace"]
    if params["wait_timeout"] <= 0:
        raise InvalidInput(f"wait_timeout is {params['wait_timeout']:g}: it must be more than 0 seconds.")
    cluster_ids: dict[str, str | None] = {d: _cluster_id(params, d) for d in DATABASES}
    spec = parse_spec(raw, name=name, namespace=namespace)
    check_ciphers("spec.tls.ciphers", spec.tls.ciphers)
    return DesiredCluster(
        name=name,
        namespace=namespace,
        raw=raw,
        spec=spec,
        metadata={key: metadata[key] for key in ("labels", "annotations") if metadata.get(key)},
        cluster_domain=params["cluster_domain"],
        cluster_ids=cluster_ids,
        pod_security=params["pod_security"],
        declared=params["spec_from"] != "resource"
        and (params["spec"] is not None or bool(definition) or bool(params["images"]) or existing is None),
        bootstrap=params["bootstrap"] == "auto",
        restart=params["restart"],
        allow_outage=params["allow_outage"],
        new_cluster=params["new_cluster"],
        accept_rollback=params["accept_rollback"],
        accept_lost_disk=params["accept_lost_disk"],
        break_lock=params["break_lock"],
        force_conflicts=params["force_conflicts"],
        wait=params["wait"],
        lock_patience=params["lock_wait_timeout"],
        wait_timeout=params["wait_timeout"],
    )


def _raw_specification(params: t.Mapping[str, t.Any], definition: Object, existing: Object | None) -> Object:
    """Return the declared specification with the images of the options, or the one of the `existing` OVNCluster; not yet parsed."""
    if definition and (definition.get("kind"), definition.get("apiVersion")) != ("OVNCluster", API_VERSION):
        raise InvalidInput(
            f"definition is a {definition.get('apiVersion')} {definition.get('kind')}, not a {API_VERSION} OVNCluster."
        )
    raw = params["spec"] if params["spec"] is not None else definition.get("spec")
    if raw is None and existing is None:
        raise InvalidInput(
            f"OVNCluster {params['name']} does not exist in namespace {params['namespace']}, so spec or definition has to say what it should be. "
            "An empty spec takes all defaults."
        )
    raw = copy.deepcopy(raw if raw is not None else (existing or {}).get("spec") or {})
    for kind, image in (params["images"] or {}).items():
        if image:
            raw[f"{kind}Image"] = {**(raw.get(f"{kind}Image") or {}), **image}
    return t.cast("Object", raw)


def check_source(params: t.Mapping[str, t.Any], existing: Object | None) -> None:
    """Check that nothing but the `existing` OVNCluster says what it should be: another client keeps it."""
    # An empty specification takes all defaults, so it says something, too.
    given = [option for option in ("spec", "definition") if params[option] is not None]
    given += ["images"] if any((params["images"] or {}).values()) else []
    if given:
        raise InvalidInput(
            f"{' and '.join(given)} cannot be given with spec_from=resource (ovn_cluster_from): another client keeps OVNCluster {params['name']}. Have that "
            "client set these fields, or leave spec_from out."
        )
    if existing is None:
        raise Refused(
            f"OVNCluster {params['name']} does not exist in namespace {params['namespace']}, and spec_from=resource takes what another client has "
            "applied. Apply it there first (kubectl apply, Flux), or set spec_from to options (ovn_cluster_from to inventory). Nothing was changed."
        )
    metadata = existing["metadata"]
    if metadata.get("deletionTimestamp"):
        raise Refused(
            f"OVNCluster {params['name']} in namespace {params['namespace']} is being deleted. Wait for its end, and apply it again if it should stay. "
            "Nothing was changed."
        )
    for option, key in (("resource_uid", "uid"), ("resource_generation", "generation")):
        if params[option] is not None and params[option] != metadata.get(key):
            raise Refused(
                f"OVNCluster {params['name']} in namespace {params['namespace']} was changed during this run: its {key} was {params[option]}, and is "
                f"{metadata.get(key)}. Run again. Nothing was changed in its control plane."
            )


def check_unchanged(before: Object | None, now: Object | None) -> None:
    """Raise `Refused` if another client has edited, replaced or deleted the OVNCluster that it keeps since it was read: the lock may have been waited for."""
    former, metadata = (before or {}).get("metadata") or {}, (now or {}).get("metadata") or {}
    if metadata.get("deletionTimestamp") or any(metadata.get(key) != former.get(key) for key in ("uid", "generation")):
        raise Refused(
            f"OVNCluster {former.get('name')} in namespace {former.get('namespace')} was changed or deleted while another run was waited for. "
            "Run again. Nothing was changed in its control plane."
        )


def kept_fields_warning(existing: Object) -> str:
    """Return that runs with spec_from options still own fields of an OVNCluster of another client, and what to do; empty if they do not."""
    metadata = existing["metadata"]
    for entry in metadata.get("managedFields") or []:
        if entry.get("manager") == MANAGER and not entry.get("subresource") and entry.get("fieldsV1"):
            return (
                f"OVNCluster {metadata['name']} in namespace {metadata['namespace']} has fields of the field manager {MANAGER}, from runs with "
                "spec_from=options (ovn_cluster_from=inventory): what its client takes out of them stays. Give them up as docs/kubernetes.md says (An "
                "OVNCluster that another client applies)."
            )
    return ""


def refuse_deletion(params: t.Mapping[str, t.Any], name: str) -> None:
    """Raise `Refused` if another client keeps the OVNCluster that `state` absent would delete."""
    if params["spec_from"] == "resource":
        raise Refused(
            f"OVNCluster {name} is not deleted: with spec_from=resource (ovn_cluster_from) another client keeps it, and would apply it again. Delete it with "
            "that client, then run with state=absent and without spec_from. Nothing was changed."
        )


def _cluster_id(params: t.Mapping[str, t.Any], database: Database) -> str | None:
    option = f"{database}_cluster_id"
    text = str(params[option] or "").strip()
    if not text:
        return None
    try:
        return str(uuid.UUID(text))
    except ValueError:
        raise InvalidInput(
            f'{option} is "{text}", which is no UUID. Take it from ovn_raft_status, or leave it out.'
        ) from None


def desired_definitions(observed: ObservedCluster) -> list[Object]:
    """Return our custom resource definitions that this user may read; `Refused` if a newer collection has written them."""
    manifests = custom_resource_definitions()
    for manifest in manifests:
        check_revision(observed.index.get(key_of(manifest)))
    return [manifest for manifest in manifests if manifest["metadata"]["name"] not in observed.hidden]


def keep_claims(manifests: list[Object], observed: ObservedCluster) -> list[Object]:
    """Return the manifests with the claim templates that each StatefulSet has: they are immutable. Claims that exist are grown by storage.py."""
    for manifest in manifests:
        if manifest["kind"] == "StatefulSet":
            there = observed.index.get(key_of(manifest))
            if there:
                manifest["spec"]["volumeClaimTemplates"] = [
                    {key: value for key, value in _without_nulls(template).items() if key != "status"}
                    for template in copy.deepcopy(claim_templates(there))
                ]
    return manifests


def _without_nulls(value: t.Any) -> t.Any:
    """Return it without nulls: API servers before 1.34 return `creationTimestamp: null` in these templates, which was never applied."""
    if isinstance(value, dict):
        return {key: _without_nulls(inner) for key, inner in value.items() if inner is not None}
    return [_without_nulls(inner) for inner in value] if isinstance(value, list) else value


def is_config(manifest: Object) -> bool:
    """Return whether it is the ConfigMap that publishes the endpoints of the databases. It is written when they are known."""
    return bool(manifest["kind"] == "ConfigMap" and manifest["metadata"]["name"] == CONFIG_NAME)


def is_listeners(manifest: Object, name: str) -> bool:
    """Return whether it is the ConfigMap that the relays of control plane `name` follow. If it is there, it is written once the size of the files is known."""
    return bool(manifest["kind"] == "ConfigMap" and manifest["metadata"]["name"] == relay_name(name))


def template_changes(done: t.Sequence[ObjectChange], name: str) -> bool:
    """Return whether one of the changes gives StatefulSet `name` another pod template."""
    return any(
        d.kind == "StatefulSet"
        and d.name == name
        and d.action == "changed"
        and d.before is not None
        and d.before["spec"]["template"] != (d.after or {})["spec"]["template"]
        for d in done
    )


def is_later(manifest: Object) -> bool:
    """Return whether it is the workload of northd, of the observer or of the leader proxy, which are updated after the databases."""
    component = (manifest["metadata"].get("labels") or {}).get("app.kubernetes.io/component")
    return manifest["kind"] in ("Deployment", "DaemonSet") and component in ("northd", "observer", "leader-proxy")

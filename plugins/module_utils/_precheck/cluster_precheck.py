# SPDX-License-Identifier: GPL-3.0-or-later
"""The precheck of one Kubernetes cluster: reads, asks, and joins what the judgements find. It changes nothing."""

from __future__ import annotations

import typing as t

from .._api.names import Object
from .._api.service_accounts import accounts_in_use, central_accounts, given_accounts
from .._api.spec import ClusterSpec, parse_spec
from .._base.errors import BadAnswer, CertificateProblem, InvalidInput, OvnError, Refused, TimedOut, Unreachable
from .._kubernetes.access_review import Access, denied_accesses, missing_accounts, user_name
from .._kubernetes.command import COMMAND_SECONDS
from .._kubernetes.compare import is_applied
from .._kubernetes.version import read_version
from .._manifests.image_contract import command_for, used_images
from .creation import created_by_control_plane, created_by_hypervisors
from .finding import Finding, Kind
from .hypervisor_nodes import judge_hypervisors
from .observed_cluster import (
    ObservedKubernetes,
    Reader,
    judge_accounts,
    judge_bundle,
    judge_definitions,
    judge_namespace,
    judge_secret,
    judge_shared_secret,
    judge_version,
    used_definitions,
)
from .placement import judge_node_addresses, judge_placement
from .quota import judge_quotas
from .rights import Need, Right, needed_rights, node_certificate_rights, questions_of, status_agent_rights
from .storage import find_container, judge_image, judge_storage, lost_functions

# Judges which rights are missing. Pure.


def judge_permissions(
    rights: t.Iterable[Right], denied: t.Container[Access], namespace: str, user: str
) -> list[Finding]:
    """Return a finding for each resource with a needed verb that was denied."""
    missing: dict[tuple[str, str, bool], dict[str, list[str]]] = {}
    for right in rights:
        if right.need == "optional":
            continue
        for one in questions_of(right, namespace):
            if one in denied:
                verbs = missing.setdefault((right.group, right.resource, right.cluster_wide), {})
                names = verbs.setdefault(one.verb, [])
                if right.names:
                    names.append(one.name)
    return [_finding(*key, verbs, namespace, user) for key, verbs in missing.items()]


def _finding(
    group: str, resource: str, cluster_wide: bool, verbs: t.Mapping[str, list[str]], namespace: str, user: str
) -> Finding:
    listed = ", ".join(verbs)
    names = sorted({name for found in verbs.values() for name in found})
    of = f" named {' and '.join(names)}" if names else ""
    where = "the whole cluster" if cluster_wide else f"namespace {namespace}"
    role = "ClusterRole (by a ClusterRoleBinding)" if cluster_wide else f"Role in namespace {namespace}"
    api_group = f"API group {group}" if group else "the core API group"
    return Finding(
        "permission_missing",
        f"{title(group, resource)}{of} in {where}",
        f"User {user} may not: {listed}.",
        f"Give this user a {role} with {listed} on {resource} of {api_group}. docs/kubernetes-rights.md has all rights.",
    )


def title(group: str, resource: str) -> str:
    """Return a resource as kubectl names it, for example statefulsets.apps or pods/exec."""
    name, slash, subresource = resource.partition("/")
    return f"{name}.{group}{slash}{subresource}" if group else resource


def lost_rights(rights: t.Iterable[Right], denied: t.Container[Access], namespace: str) -> list[dict[str, t.Any]]:
    """Return the optional rights that were denied, each with what a run goes on without."""
    found = []
    for right in rights:
        verbs = list(dict.fromkeys(one.verb for one in questions_of(right, namespace) if one in denied))
        if right.need == "optional" and verbs:
            found.append({"resource": title(right.group, right.resource), "verbs": verbs, "without": right.without})
    return found


if t.TYPE_CHECKING:
    from .._kubernetes.client import Cluster


class Precheck:
    """`findings` and `facts` are what the module returns."""

    def __init__(
        self, cluster: Cluster, kind: Kind, name: str, namespace: str, *, own_secret: bool, own_resource: bool = True
    ) -> None:
        """`own_resource`: the run applies the OVNCluster; if not, another client has to have done so."""
        self.cluster, self.kind, self.name, self.namespace = cluster, kind, name, namespace
        self.own_secret, self.own_resource = own_secret, own_resource
        self.findings: list[Finding] = []
        self.facts: dict[str, t.Any] = {"server": cluster.server, "images": [], "not_tested": []}

    def run(self, raw: t.Mapping[str, t.Any] | None, images: t.Mapping[str, t.Any], tls_secret: str | None) -> None:
        """`raw` is the specification, None for that of the OVNCluster that exists; `images` take precedence."""
        version = read_version(self.cluster)
        self.facts.update(version=version, user=user_name(self.cluster))
        self.findings += judge_version(version, self.cluster.server)
        reader = Reader(self.cluster, self.name, self.namespace)
        observed = reader.read(self.kind)
        observed.version = version
        if not self.own_resource and observed.resource is None and observed.is_readable("OVNCluster"):
            self.findings.append(_resource_missing(self.name, self.namespace))
        spec = self._specification(raw, images, observed)
        self.findings += judge_namespace(observed.namespace, self.kind)
        self.findings += judge_definitions(observed.definitions)
        if spec is not None and spec.tls.enabled:
            self._check_certificates(spec, tls_secret or spec.tls_secret, reader)
        if spec is not None and self.kind == "hypervisors" and spec.metadata_agent.enabled:
            self._check_shared_secret(spec, reader)
        if spec is not None:
            self._check_accounts(spec, observed)
        self._check_rights(spec, observed)
        if spec is not None:
            self._check_room(spec, reader)
            self._check_images(spec, observed)
        self.facts["not_tested"] += [{"what": what, "cause": cause} for what, cause in observed.unreadable.items()]

    def _specification(
        self, raw: t.Mapping[str, t.Any] | None, images: t.Mapping[str, t.Any], observed: ObservedKubernetes
    ) -> ClusterSpec | None:
        given: Object = dict(raw if raw is not None else (observed.resource or {}).get("spec") or {})
        for image, fields in images.items():
            if fields:
                given[f"{image}Image"] = {**(given.get(f"{image}Image") or {}), **fields}
        try:
            return parse_spec(given, name=self.name, namespace=self.namespace)
        except InvalidInput as e:
            where = f"Specification of OVNCluster {self.namespace}/{self.name}"
            self.findings.append(
                Finding(
                    "specification_invalid", where, str(e), "Correct it (ovn_cluster_spec and the options of the role)."
                )
            )
            return None

    def _check_certificates(self, spec: ClusterSpec, secret: str, reader: Reader) -> None:
        """Check what other owners have to write."""
        observed, exists = reader.found, reader.found.namespace is not None
        if not self.own_secret:
            reader.read_secret(secret)
            if observed.is_readable("secret"):
                self.findings += judge_secret(
                    observed.secret, secret, self.namespace, exists=exists, tls=spec.tls, kind=self.kind
                )
        references = {"caConfigMapRef": spec.tls.ca_config_map_ref}
        if self.kind == "cluster":
            references["southboundClientCaConfigMapRef"] = spec.tls.southbound_client_ca_config_map_ref
        for field, reference in references.items():
            if reference is None:
                continue
            reader.read_config_map(reference.name)
            if observed.is_readable(f"ConfigMap {reference.name}"):
                found = observed.config_maps.get(reference.name)
                self.findings += judge_bundle(found, reference, field, self.namespace, exists=exists)

    def _check_shared_secret(self, spec: ClusterSpec, reader: Reader) -> None:
        reference = spec.metadata_agent.shared_secret_ref
        if reference is None:
            return
        reader.read_shared_secret(reference.name)
        observed = reader.found
        if observed.is_readable("shared secret"):
            exists = observed.namespace is not None
            self.findings += judge_shared_secret(observed.shared_secret, reference, self.namespace, exists=exists)

    def _check_accounts(self, spec: ClusterSpec, observed: ObservedKubernetes) -> None:
        """Look for the ServiceAccounts that other owners make. What they may do at the API server, a run grants; what admits their pods is not known."""
        given = given_accounts(central_accounts(spec) if self.kind == "cluster" else accounts_in_use(spec))
        try:
            missing = missing_accounts(self.cluster, self.namespace, given.values())
        except Refused as e:
            if e.details.get("http_status") != 403:
                raise
            self.facts["not_tested"].append({"what": "service accounts", "cause": str(e)})
            return
        exists = observed.namespace is not None or not observed.is_readable("namespace")
        self.findings += judge_accounts(missing, given, self.namespace, exists=exists)

    def _check_rights(self, spec: ClusterSpec | None, observed: ObservedKubernetes) -> None:
        which = needs(self.kind, spec, observed, own_secret=self.own_secret, own_resource=self.own_resource)
        rights = needed_rights(self.kind, {"optional", *which})
        if self.kind == "hypervisors" and spec is not None and spec.has_node_certificates:
            rights += node_certificate_rights(self.namespace)
        if self.kind == "hypervisors":
            rights += status_agent_rights(self.namespace)
        questions = [one for right in rights for one in questions_of(right, self.namespace)]
        try:
            denied = set(denied_accesses(self.cluster, questions, self.namespace))
        except Refused as e:
            if e.details.get("http_status") != 403:
                raise
            self.facts["not_tested"].append({"what": "rights", "cause": str(e)})
            return
        user = self.facts["user"] or f"of {self.cluster.connection.credentials}"
        self.findings += judge_permissions(rights, denied, self.namespace, user)
        self.facts["missing_optional_rights"] = lost_rights(rights, denied, self.namespace)

    def _check_room(self, spec: ClusterSpec, reader: Reader) -> None:
        """Check nodes, storage classes and quotas."""
        observed = reader.found
        if self.kind == "cluster":
            self.findings += judge_storage(spec, observed)
            self.findings += judge_placement(spec, observed)
            self.findings += judge_node_addresses(spec, observed)
            create = created_by_control_plane
        else:
            self.findings += judge_hypervisors(spec, observed.nodes, observed.chassis or ())
            create = created_by_hypervisors
        if observed.quotas:
            objects = create(spec, observed).objects
            reader.read_objects((one["apiVersion"], one["kind"]) for one in objects)
            new = create(spec, observed)
            self.findings += judge_quotas(
                self.kind, observed.quotas, observed.limit_ranges, new.pods, new.claims, new.objects
            )

    def _check_images(self, spec: ClusterSpec, observed: ObservedKubernetes) -> None:
        used = used_images(self.kind, spec)
        for reference in dict.fromkeys(used.values()):
            images = [image for image, other in used.items() if other == reference]
            fact: dict[str, t.Any] = {"image": reference, "pod": "", "missing": [], "without": []}
            place = find_container(observed.pods or (), reference)
            try:
                cause = "no pod of this image runs yet" if place is None else ""
                if place is not None:
                    missing = self._missing_in(place, images)
                    fact.update(pod=place[0], missing=missing, without=lost_functions(self.kind, images, missing))
                    for image in images:
                        self.findings += judge_image(self.kind, spec, image, missing, place[0])
            except OvnError as e:
                cause = str(e)
            if cause:
                self.facts["not_tested"].append({"what": f"image {reference}", "cause": cause})
            self.facts["images"].append(fact)

    def _missing_in(self, place: tuple[str, str], images: t.Iterable[str]) -> list[str]:
        command = command_for(self.kind, *images)
        result = self.cluster.exec(self.namespace, *place, command, timeout=COMMAND_SECONDS)
        if result.code:
            raise BadAnswer(
                f"the check of pod {place[0]} ended with exit code {result.code}: {result.stderr.strip()[:200]}"
            )
        return result.stdout.split()


def _resource_missing(name: str, namespace: str) -> Finding:
    return Finding(
        "resource_missing",
        f"OVNCluster {namespace}/{name}",
        "It does not exist, and spec_from=resource (ovn_cluster_from) takes what another client has applied.",
        "Apply it there first (kubectl apply, Flux), or set ovn_cluster_from to inventory.",
    )


def needs(
    kind: Kind, spec: ClusterSpec | None, observed: ObservedKubernetes, *, own_secret: bool, own_resource: bool = True
) -> list[Need]:
    """Return which rights a run of this specification needs in a cluster that looks like this. None: an invalid specification."""
    found: list[Need] = ["always"]
    if kind == "cluster" and own_resource:
        found.append("own resource")
    if spec is None or spec.tls.enabled:
        found += ["secret", "own secret"] if own_secret else ["secret"]
    elif kind == "hypervisors" and spec.metadata_agent.enabled:
        found.append("secret")
    if spec is not None and (spec.northbound.service.needs_nodes or spec.southbound.service.needs_nodes):
        found.append("node ports")
    if observed.namespace is None and observed.is_readable("namespace"):
        found.append("namespace")
    there = observed.definitions
    if there is not None and not all(
        (one := there.get(manifest["metadata"]["name"])) is not None and is_applied(manifest, one)
        for manifest in used_definitions(kind)
    ):
        found.append("definitions")
    return found


def connection_finding(error: OvnError, server: str, credentials: str) -> Finding | None:
    """Return the finding for an API server that cannot be asked; None for an error of another kind. `server` is empty before a kubeconfig was read."""
    where = f"API server {server}" if server else credentials
    if isinstance(error, (InvalidInput, Refused)) and error.details.get("http_status") in (None, 401):
        code, step = "api_credentials", "Correct ovn_kubeconfig and ovn_context, or get new credentials."
    elif isinstance(error, (Unreachable, TimedOut, CertificateProblem, BadAnswer)):
        code, step = "api_unreachable", "Check its address, the network from the control node, and that it runs."
    else:
        return None
    return Finding(code, where, str(error), step)

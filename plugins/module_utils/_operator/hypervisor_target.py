# SPDX-License-Identifier: GPL-3.0-or-later
"""One hypervisor cluster of an OVNCluster: its connection, what wakes it, its runs."""

from __future__ import annotations

import base64
import contextlib
import datetime
import tempfile
import threading
import typing as t

from .._api.hypervisor_clusters import HypervisorCluster, KubeconfigSecret
from .._api.names import API_VERSION, Object, label_selector, labels
from .._api.spec import ClusterSpec, parse_spec
from .._api.status import rolled_out
from .._api.status_conditions import TargetOutcome
from .._base.errors import InvalidInput, OvnError, Refused, TimedOut, Unreachable
from .._hypervisors.task import OPTIONS, converge
from .._kubernetes.apply import ObjectChange, as_results
from .._kubernetes.client import Cluster
from .._kubernetes.watcher import Watched, Watcher
from .authorities import Context
from .certificates import ensure_hypervisors, node_signer
from .control_plane import task_params
from .status_writer import Events, StatusWriter
from .target import Shared, Target, Waiting

# One run over the hypervisors of one cluster of an OVNCluster.

_WAIT = 600.0  # seconds without progress


def endpoints_of(resource: Object, spec: ClusterSpec) -> tuple[list[str], list[str]]:
    """Return the endpoints of the Southbound and the Northbound for this generation of the OVNCluster; `Waiting` if there are none yet. Pure."""
    status, name = resource.get("status") or {}, resource["metadata"]["name"]
    if rolled_out(status) < resource["metadata"]["generation"]:
        raise Waiting(f"The control plane of OVNCluster {name} is rolled out first.")
    if not spec.southbound.service.exposed:
        raise InvalidInput(
            f"southbound.service.type of OVNCluster {name} is {spec.southbound.service.type}, so nodes of other clusters cannot reach the Southbound. "
            "Set it to NodePort or LoadBalancer."
        )
    found = status.get("endpoints") or {}
    southbound, northbound = (
        [one for one in (found.get(database) or "").split(",") if one] for database in ("southbound", "northbound")
    )
    if not southbound:
        raise Waiting(f"OVNCluster {name} has no Southbound endpoints yet.")
    return southbound, northbound


def roll_out(
    central: Cluster,
    remote: Cluster,
    resource: Object,
    spec: ClusterSpec,
    place: HypervisorCluster,
    *,
    keeps_api_server: bool,
    warn: t.Callable[[str], None],
) -> dict[str, t.Any]:
    """Bring the hypervisors of one cluster to what the OVNCluster declares, and return the result of the module ovn_hypervisors."""
    name = resource["metadata"]["name"]
    southbound, northbound = endpoints_of(resource, spec)
    namespace = place.namespace or resource["metadata"]["namespace"]
    issued: list[ObjectChange] = []
    now = datetime.datetime.now(datetime.timezone.utc)
    context = Context(resource, spec, "", issued.append, warn)
    ensure_hypervisors(central, remote, context, place, now)
    params = task_params(
        OPTIONS,
        name=name,
        namespace=namespace,
        spec=resource.get("spec") or {},
        southbound=southbound,
        northbound=northbound,
        tls_secret=spec.tls_secret if spec.tls.enabled else None,
        signer=node_signer(central, context),
        wait_timeout=_WAIT,
    )
    with tempfile.TemporaryDirectory(prefix="c5c3-ovn-") as directory:
        result = converge(
            remote, params, directory=directory, check_mode=False, warn=warn, keeps_api_server=keeps_api_server
        )
    objects = [*as_results(issued), *result["objects"]]
    return {
        **result,
        "objects": objects,
        "changed": result["changed"] or any(one["action"] != "unchanged" for one in objects),
    }


def refuse_same_place(remote: Cluster, resource: Object, place: HypervisorCluster) -> None:
    """Raise `Refused` if this is the very namespace of the control plane: one Secret cannot have the certificates of both."""
    name, namespace = resource["metadata"]["name"], resource["metadata"]["namespace"]
    if (place.namespace or namespace) != namespace:
        return
    try:
        found = remote.get(API_VERSION, "OVNCluster", name, namespace)
    except Refused:
        return  # no right to see one: another cluster, or an account that may not look
    if found is not None and found["metadata"]["uid"] == resource["metadata"]["uid"]:
        raise Refused(
            f"Hypervisor cluster {place.name} is the cluster of the control plane, and its pods would share namespace {namespace}. Set "
            "hypervisorClusters[].namespace to another one."
        )


def refuse_second_place(remote: Cluster, resource: Object, place: HypervisorCluster) -> None:
    """Raise `Refused` if the daemons of this OVNCluster run in another namespace of that cluster: a node has one Open vSwitch."""
    name, namespace = resource["metadata"]["name"], place.namespace or resource["metadata"]["namespace"]
    try:
        found = remote.list("apps/v1", "DaemonSet", labels=label_selector(labels(name)))
    except Refused:
        return  # no right to look outside of its namespace
    others = sorted({one["metadata"]["namespace"] for one in found} - {namespace})
    if others:
        raise Refused(
            f"Hypervisor cluster {place.name} has the daemons of OVNCluster {name} in namespace {others[0]} already, and its namespace is {namespace}: a node "
            f"would have two of each. Set hypervisorClusters[].namespace to {others[0]}, or remove those first (c5c3.ovn.hypervisors with "
            "ovn_hypervisor_state=absent). Nothing was changed."
        )


# The kubeconfig of a hypervisor cluster, from a Secret. Pure.

with contextlib.suppress(ImportError):  # it comes with kubernetes, without which nothing gets here
    import yaml

_PROGRAMS = ("exec", "auth-provider")
_FILES = ("certificate-authority", "client-certificate", "client-key", "tokenFile")


def place_of(reference: KubeconfigSecret, namespace: str) -> str:
    """Return where the kubeconfig is, for messages."""
    return f"Secret {namespace}/{reference.name}, key {reference.key}"


def read_kubeconfig(
    secret: t.Mapping[str, t.Any] | None, reference: KubeconfigSecret, namespace: str
) -> dict[str, t.Any]:
    """Return the kubeconfig as a mapping. `Refused` if it is not there, `InvalidInput` if it is none, or would run programs or read files of the operator."""
    text, place = _kubeconfig_text(secret, reference, namespace), place_of(reference, namespace)
    try:
        content = yaml.safe_load(base64.b64decode(text).decode())
    except (ValueError, yaml.YAMLError) as e:
        raise InvalidInput(
            f"{place}, is no kubeconfig: it cannot be read as YAML ({type(e).__name__}). Replace it."
        ) from e
    if not isinstance(content, dict) or not content.get("clusters"):
        raise InvalidInput(f"{place}, is no kubeconfig: it names no clusters. Replace it.")
    try:
        named, insecure = sorted(_forbidden(content)), _is_insecure(content)
    except (TypeError, AttributeError) as e:
        raise InvalidInput(
            f"{place}, is no kubeconfig: clusters and users are not lists of mappings. Replace it."
        ) from e
    if insecure:
        raise InvalidInput(
            f"{place}, has insecure-skip-tls-verify: whoever is on the way would get the token, and the keys that are sent. Put the certificate of its CA into "
            "certificate-authority-data."
        )
    if named:
        raise InvalidInput(
            f"{place}, names {', '.join(named)}: the operator runs no programs and reads no files that a kubeconfig names. Put certificates and tokens into it "
            "(kubectl config view --flatten --minify)."
        )
    return content


def _kubeconfig_text(secret: t.Mapping[str, t.Any] | None, reference: KubeconfigSecret, namespace: str) -> str:
    """Return the key of the Secret, in base64. `Refused` if there is none."""
    place = f"Secret {namespace}/{reference.name}"
    if secret is None:
        raise Refused(
            f"{place} does not exist, so this cluster cannot be reached. Create it with the kubeconfig in its key {reference.key}."
        )
    data: t.Mapping[str, str] = secret.get("data") or {}
    text = data.get(reference.key)
    if not text:
        keys = ", ".join(sorted(data)) or "none"
        lack = "nothing in its" if text is not None else "no"
        raise Refused(
            f"{place} has {lack} key {reference.key} (its keys: {keys}). Put the kubeconfig there, or name the key in kubeconfigSecretRef.key."
        )
    return text


def _is_insecure(content: t.Mapping[str, t.Any]) -> bool:
    return any((one.get("cluster") or {}).get("insecure-skip-tls-verify") for one in content["clusters"])


def _forbidden(content: t.Mapping[str, t.Any]) -> set[str]:
    parts = [
        one.get(kind) or {}
        for kind in ("cluster", "user")
        for one in content.get(f"{kind}s") or ()
        if isinstance(one, dict)
    ]
    return {key for one in parts if isinstance(one, dict) for key in (*_PROGRAMS, *_FILES) if one.get(key)}


_OPENING = threading.Lock()  # loading a kubeconfig goes through a default that the whole process has
_NODE_CONDITIONS = ("Ready",)


class Claims:
    """Which hypervisor cluster an API server and namespace is: two entries for one would issue each other's certificates in turn."""

    def __init__(self) -> None:
        self._lock, self._places = threading.Lock(), dict[str, tuple[str, str]]()

    def claim(self, name: str, server: str, namespace: str) -> None:
        """Record it, or raise `Refused` if it is another one's."""
        with self._lock:
            other = next(
                (one for one, place in self._places.items() if place == (server, namespace) and one != name), ""
            )
            if other:
                raise Refused(
                    f"Hypervisor clusters {other} and {name} are namespace {namespace} of the same API server ({server}). Take one of them out of "
                    "hypervisorClusters. Nothing was changed by this one."
                )
            self._places[name] = (server, namespace)

    def release(self, name: str) -> None:
        """It is not looked after any more."""
        with self._lock:
            self._places.pop(name, None)


class HypervisorTarget(Target):
    """`place` is as the newest OVNCluster declares it."""

    def __init__(
        self,
        shared: Shared,
        resource: Object,
        place: HypervisorCluster,
        events: Events,
        status: StatusWriter,
        claims: Claims,
    ) -> None:
        metadata = resource["metadata"]
        super().__init__(shared, f"{metadata['namespace']}/{metadata['name']}", place.name, events)
        self.place = place
        self._name, self._namespace, self._status, self._claims = (
            metadata["name"],
            metadata["namespace"],
            status,
            claims,
        )
        self._remote: Cluster | None = None
        self._opened_with: t.Any = None  # the version of the Secret, the place, the TLS settings, and the Secrets there
        self._watchers: list[Watcher] = []
        self._away = False  # for one of the watchers, at least
        self._is_stopped = False
        self._server, self._has_moved = "", False  # the address of the API server, and whether that has changed

    @property
    def requests(self) -> int:
        return self._remote.requests if self._remote is not None else 0

    def stop(self) -> None:
        """Look after it no longer. What runs there runs on."""
        self._is_stopped = True
        self.worker.stop()
        self._close()
        self._claims.release(self.name)
        self.shared.metrics.remove(self.key, self.name)

    def record(self, outcome: TargetOutcome) -> None:
        if not self._is_stopped:
            self._status.record_cluster(self.name, outcome)

    def run(self) -> dict[str, t.Any] | None:
        central = self.shared.cluster
        resource = central.get(API_VERSION, "OVNCluster", self._name, self._namespace)
        if resource is None or resource["metadata"].get("deletionTimestamp"):
            return None  # the hypervisors go on with what they have
        spec = parse_spec(resource.get("spec") or {}, name=self._name, namespace=self._namespace)
        # Once, for the connection and for what is done over it.
        place = next((one for one in spec.hypervisor_clusters if one.name == self.name), None)
        if place is None:
            return None
        try:
            remote = self._connect(resource, spec, place)
            result = roll_out(
                central, remote, resource, spec, place, keeps_api_server=not self._has_moved, warn=self.warn
            )
        except OvnError:
            if not self._watchers:  # nothing would wake it
                self._close()
            raise
        self._has_moved = False
        return result

    def _connect(self, resource: Object, spec: ClusterSpec, place: HypervisorCluster) -> Cluster:
        """Return the client, a new one if the Secret or the place has changed."""
        secret = self.shared.cluster.get("v1", "Secret", place.kubeconfig_secret_ref.name, self._namespace)
        content = read_kubeconfig(secret, place.kubeconfig_secret_ref, self._namespace)
        version = (t.cast("Object", secret)["metadata"]["resourceVersion"], place, spec.tls, secrets_of(spec))
        if self._remote is not None and version == self._opened_with:
            return self._remote
        self._close()
        with _OPENING:
            remote = Cluster(
                {"kubeconfig": content}, credentials=place_of(place.kubeconfig_secret_ref, self._namespace)
            )
        namespace = place.namespace or self._namespace
        self._claims.claim(self.name, remote.server, namespace)
        refuse_same_place(remote, resource, place)
        refuse_second_place(remote, resource, place)
        self._has_moved = self._has_moved or self._server not in ("", remote.server)
        self._server = remote.server
        self._remote, self._opened_with = remote, version
        self._watch(remote, spec, namespace)
        if self._is_stopped:  # meanwhile
            self._close()
        return remote

    def _watch(self, remote: Cluster, spec: ClusterSpec, namespace: str) -> None:
        selector = label_selector(labels(self._name))
        followed: list[tuple[Watched, t.Callable[[Object], t.Any]]] = [
            (Watched("v1", "Node"), node_extract),
            (Watched(API_VERSION, "OVNChassis"), identity),
            (Watched("apps/v1", "DaemonSet", namespace, labels=selector), identity),
        ]
        for secret in secrets_of(spec):
            followed.append((Watched("v1", "Secret", namespace, fields=f"metadata.name={secret}"), version_of))
        if spec.has_node_certificates:
            followed.append((Watched("certificates.k8s.io/v1", "CertificateSigningRequest"), request_extract))
        self._away = False
        self._watchers = [
            Watcher(remote, watched, extract, lambda _name, _extract: self.worker.wake(), self.on_problem).start()
            for watched, extract in followed
        ]

    def on_problem(self, problem: OvnError | None) -> None:
        """A cluster that was away is looked at as soon as it answers again, however long the pauses between attempts have become."""
        was_away, self._away = self._away, isinstance(problem, (Unreachable, TimedOut))
        if was_away and problem is None:
            self.worker.wake(urgent=True)
        super().on_problem(problem)

    def _close(self) -> None:
        for watcher in self._watchers:
            watcher.stop()
        self._watchers, self._remote, self._opened_with = [], None, None


def secrets_of(spec: ClusterSpec) -> list[str]:
    """Return the Secrets there that a run reads."""
    shared = spec.metadata_agent.shared_secret_ref
    of_agents = [shared.name] if shared is not None and spec.metadata_agent.enabled else []
    return [*([spec.tls_secret] if spec.tls.enabled else []), *of_agents]


def identity(one: Object) -> t.Any:
    """Return what differs when an object was replaced, deleted or edited, and not when a controller writes its status. Pure."""
    metadata = one["metadata"]
    return metadata["uid"], metadata.get("generation"), bool(metadata.get("deletionTimestamp"))


def version_of(one: Object) -> t.Any:
    """Return what differs with every write. Pure."""
    return one["metadata"]["resourceVersion"]


def request_extract(request: Object) -> t.Any:
    """Return what decides whether a request for a certificate waits for somebody. Pure."""
    status = request.get("status") or {}
    return request["metadata"]["uid"], bool(status.get("certificate")), len(status.get("conditions") or ())


def node_extract(node: Object) -> t.Any:
    """Return what a run reads of a Node: labels, annotations of ours, addresses, whether it is ready; not what a kubelet writes all the time. Pure."""
    metadata, status = node["metadata"], node.get("status") or {}
    annotations = {key: value for key, value in (metadata.get("annotations") or {}).items() if ".c5c3.io/" in key}
    return (
        metadata["uid"],
        bool(metadata.get("deletionTimestamp")),
        hash(frozenset((metadata.get("labels") or {}).items())),
        hash(frozenset(annotations.items())),
        hash(tuple((one["type"], one["address"]) for one in status.get("addresses") or ())),
        tuple(one["status"] for one in status.get("conditions") or () if one["type"] in _NODE_CONDITIONS),
    )

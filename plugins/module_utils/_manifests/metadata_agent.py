# SPDX-License-Identifier: GPL-3.0-or-later
"""The pod of Neutron's agent for metadata on the hypervisors that are no gateways, and what it reads.

Its network namespaces belong to the node and outlive the pod; each haproxy in them ends with it, and the next agent starts it again.
"""

from __future__ import annotations

import hashlib
import typing as t

from .._api.names import GROUP, Component, Object
from .._daemons.metadata_agent_launcher import SCRIPT
from .._neutron.ini import merge_sections, normalized, render_ini
from .._neutron.metadata_agent import NovaMetadataAddress, container_settings
from .._ovsdb.tls_files import NO_TLS, TlsFiles
from . import ca_bundle
from .hypervisor_pods import (
    OVS_RUN,
    config_map_volume,
    image_fields,
    mount,
    node_pod,
    probe,
    sockets_volume,
    variables,
)
from .pods import TLS, TLS_FILES, TLS_VOLUME, tls_volume

if t.TYPE_CHECKING:
    from .._api.spec import ClusterSpec

METADATA_AGENT = "ovn-metadata-agent"  # DaemonSet, ConfigMap and ServiceAccount
METADATA_AGENT_COMPONENT: Component = "metadata-agent"
# One name for both programs: pods that still run the former one read the file again when their container starts.
SETTINGS_FILE, LAUNCHER = "neutron_ovn_metadata_agent.ini", "ovn-metadata-launcher"
# Annotations of the pods: another value replaces them, as the agent reads its settings and the secret once.
SETTINGS_HASH, SECRET_VERSION = f"{GROUP}/metadata-settings", f"{GROUP}/metadata-secret"

PROGRAM = "OVN_METADATA_PROGRAM"  # variable of the container
_SETTINGS, _SECRET, _NAMESPACES = "/settings", "/shared-secret", "/run/netns"
# Not /var/lib/neutron: the name of the socket tells it from that of any other agent in the network of the node.
_STATE = "/run/c5c3-ovn-metadata"


def has_agent(spec: ClusterSpec, labels: t.Mapping[str, str]) -> bool:
    """Return whether a node with these labels gets an agent. A gateway gets none: guests are on other nodes."""
    gateway = spec.gateway.node_selector.items()
    return _selector(spec).items() <= labels.items() and not (gateway and gateway <= labels.items())


def _selector(spec: ClusterSpec) -> dict[str, str]:
    return {**spec.controller.node_selector, **spec.metadata_agent.node_selector}


def metadata_agent_files(spec: ClusterSpec, southbound: t.Sequence[str], *, has_tls: bool) -> dict[str, str]:
    """Return the data of the ConfigMap: nothing in it is secret."""
    agent = spec.metadata_agent
    nova = agent.nova_metadata
    settings = container_settings(
        southbound,
        _tls_files(spec, has_tls=has_tls),
        NovaMetadataAddress(nova.host or "", nova.port, nova.protocol),
        program=agent.program,
        open_vswitch=f"unix:{OVS_RUN}/db.sock",
        state_path=_STATE,
        workers=agent.workers,
    )
    return {SETTINGS_FILE: render_ini(merge_sections(settings, normalized(agent.extra_config))), LAUNCHER: SCRIPT}


def metadata_agent_annotations(files: t.Mapping[str, str], secret_version: str) -> dict[str, str]:
    """Return the annotations of the pods. `secret_version` is the resourceVersion of the Secret, empty if it is not known."""
    text = "".join(f"{name}\0{content}\0" for name, content in sorted(files.items()))
    return {
        SETTINGS_HASH: hashlib.sha256(text.encode()).hexdigest()[:16],
        **({SECRET_VERSION: secret_version} if secret_version else {}),
    }


def metadata_agent_pod(spec: ClusterSpec, tls_secret: str | None) -> Object:
    pod = node_pod(
        spec,
        METADATA_AGENT,
        spec.metadata_agent,
        [
            sockets_volume(spec),
            {"name": "netns", "hostPath": {"path": _NAMESPACES, "type": "DirectoryOrCreate"}},
            {"name": "state", "emptyDir": {"medium": "Memory", "sizeLimit": "64Mi"}},
            {"name": "tmp", "emptyDir": {"medium": "Memory", "sizeLimit": "16Mi"}},  # sockets of oslo.privsep
            config_map_volume("settings", METADATA_AGENT),
            _secret_volume(spec),
            *_tls_volumes(spec, tls_secret),
        ],
        [_container(spec, tls_secret)],
    )
    return {**pod, "nodeSelector": _selector(spec), **_without_gateways(spec)}


def _without_gateways(spec: ClusterSpec) -> Object:
    """Return the affinity to nodes that lack one of the labels of gateways: a term for each of them, and one is enough."""
    terms = [
        {"matchExpressions": [{"key": key, "operator": "NotIn", "values": [value]}]}
        for key, value in spec.gateway.node_selector.items()
    ]
    required = {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": terms}}
    return {"affinity": {"nodeAffinity": required}} if terms else {}


def _secret_volume(spec: ClusterSpec) -> Object:
    reference = spec.metadata_agent.shared_secret_ref
    if reference is None:
        raise ValueError("the specification of an enabled metadata agent names a Secret")
    items = [{"key": reference.key, "path": "secret"}]
    return {"name": "shared-secret", "secret": {"secretName": reference.name, "items": items, "defaultMode": 0o400}}


def _tls_files(spec: ClusterSpec, *, has_tls: bool) -> TlsFiles:
    """Return the files of the node: it is its chassis that the Southbound lets write a row of that name, and each chassis has one certificate."""
    if not has_tls:
        return NO_TLS
    return ca_bundle.FILES if spec.has_node_certificates else TLS_FILES


def _tls_volumes(spec: ClusterSpec, secret: str | None) -> list[Object]:
    if not secret:
        return []
    if spec.has_node_certificates:
        return [ca_bundle.authorities_volume(spec.tls), ca_bundle.certificate_volume()[0]]
    return [tls_volume(spec.tls, secret, mode=0o400)]


def _tls_mounts(spec: ClusterSpec, secret: str | None) -> list[Object]:
    if not secret:
        return []
    shared = [mount(TLS_VOLUME, TLS, read_only=True)]
    own = [{**ca_bundle.certificate_volume()[1], "readOnly": True}]
    return [*shared, *(own if spec.has_node_certificates else [])]


def _container(spec: ClusterSpec, tls_secret: str | None) -> Object:
    def script(verb: str) -> list[str]:
        return ["sh", f"{_SETTINGS}/{LAUNCHER}", verb]

    environment = {
        PROGRAM: spec.metadata_agent.program,
        "OVN_METADATA_SETTINGS": f"{_SETTINGS}/{SETTINGS_FILE}",
        "OVN_METADATA_SECRET": f"{_SECRET}/secret",
        "OVN_METADATA_STATE": _STATE,
        "OVS_RUNDIR": OVS_RUN,
        # Of iptables: each image may have the variant that locks a file in /run, and the agent needs it where Open vSwitch forwards in user space.
        "XTABLES_LOCKFILE": "/tmp/xtables.lock",
        **_tls_files(spec, has_tls=bool(tls_secret)).as_environment(),
    }
    return {
        "name": METADATA_AGENT,
        **image_fields(spec.metadata_agent.image),
        "command": script("run"),
        "env": variables(environment),
        "livenessProbe": probe(script("alive"), period=20, failures=6),
        "readinessProbe": probe(script("ready"), period=5, failures=2),
        "resources": spec.metadata_agent.resources.as_dict(),
        # What it mounts in /run/netns has to be seen on the node and by the next pod, and the API server lets privileged containers alone do that.
        "securityContext": {"privileged": True, "readOnlyRootFilesystem": True},
        "terminationMessagePolicy": "FallbackToLogsOnError",
        "volumeMounts": [
            mount("sockets", OVS_RUN),
            {**mount("netns", _NAMESPACES), "mountPropagation": "Bidirectional"},
            mount("state", _STATE),
            mount("tmp", "/tmp"),
            mount("settings", _SETTINGS, read_only=True),
            mount("shared-secret", _SECRET, read_only=True),
            *_tls_mounts(spec, tls_secret),
        ],
    }

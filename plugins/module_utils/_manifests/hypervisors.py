# SPDX-License-Identifier: GPL-3.0-or-later
"""The objects of a hypervisor cluster, apart from its OVNChassis: DaemonSets with their accounts and ConfigMaps."""

from __future__ import annotations

import base64
import typing as t

from .._api.names import CONFIG_NAME, Component, Object, metadata, selector
from .._api.service_accounts import CONTROLLER_ACCOUNT, OVS_ACCOUNT, account_of, accounts_to_make, hypervisor_accounts
from .._daemons.chassis_launcher import SCRIPT
from .ca_bundle import authorities_manifest, request_rights
from .config import config_data
from .hypervisor_pods import ARCHIVE, LAUNCHER, SCRIPTS, SETTINGS, controller_pod, ovs_pod
from .metadata_agent import (
    METADATA_AGENT,
    METADATA_AGENT_COMPONENT,
    metadata_agent_annotations,
    metadata_agent_files,
    metadata_agent_pod,
)
from .observer import chassis_observer_deployment
from .status_rights import CHASSIS_OBSERVER, CHASSIS_OBSERVER_COMPONENT, observer_rights, status_rights

if t.TYPE_CHECKING:
    from .._api.hypervisor_spec import DaemonSetPods
    from .._api.spec import ClusterSpec

# The DaemonSets have the names of their accounts.
OVS = OVS_ACCOUNT
CONTROLLER = CONTROLLER_ACCOUNT


def hypervisor_manifests(
    spec: ClusterSpec,
    *,
    name: str,
    namespace: str,
    southbound: list[str],
    northbound: list[str],
    tls_secret: str | None,
    api_server: str,
    settings: dict[str, str],
    archive: bytes,
    writes_status: bool = False,
    has_status_rights: bool = False,
    authorities: str = "",
    issuer: str = "",
    metadata_secret_version: str = "",
) -> list[Object]:
    """Return the accounts, ConfigMaps and DaemonSets; without the one of Open vSwitch if that of the nodes is used.

    `settings` are the files of `ovn-chassis`; `archive` is the Python of the agent. `tls_secret` None: no TLS.
    `writes_status`: the agents write the status of their OVNChassis, and an observer that of dead nodes. `has_status_rights`: return what lets them do so.
    For nodes with certificates of their own, `authorities` are the CAs that they trust, empty if these are not known or not ours, and `issuer` is the CA
    that signs. `metadata_secret_version` is the resourceVersion of the Secret of the metadata agent, empty if it is not known.
    The pods do not change with endpoints or settings: those reach a running agent through the ConfigMap. The metadata agent alone is started again.
    """
    published = config_data(spec, northbound=northbound, southbound=southbound, api_server=api_server)
    pod = controller_pod(spec, tls_secret, issuer, writes_status=writes_status)
    switch = [_daemon_set(OVS, namespace, name, "ovs", spec.ovs, ovs_pod(spec))] if spec.ovs.mode == "managed" else []
    daemon_sets = [*switch, _daemon_set(CONTROLLER, namespace, name, "controller", spec.controller, pod)]
    if writes_status:
        daemon_sets += _chassis_observer(spec, name, namespace)
    if spec.metadata_agent.enabled:
        daemon_sets += _metadata_agent(spec, name, namespace, southbound, tls_secret, metadata_secret_version)
    scripts = {LAUNCHER: SCRIPT}
    own = tls_secret is not None and spec.has_node_certificates
    accounts = hypervisor_accounts(spec)
    agents = account_of(accounts, "controller")
    return [
        *(request_rights(agents, namespace, name, "controller") if own else []),
        *(status_rights(agents, namespace, name, "controller") if has_status_rights else []),
        *(observer_rights(namespace, name) if has_status_rights else []),
        *([authorities_manifest(authorities, name=name, namespace=namespace)] if own and authorities else []),
        # Before the pods, which are refused without theirs.
        *(_account(one.own, namespace, name, one.component) for one in accounts_to_make(accounts)),
        settings_manifest(settings, name=name, namespace=namespace),
        _config_map(SCRIPTS, namespace, name, scripts, binary={ARCHIVE: base64.b64encode(archive).decode("ascii")}),
        _config_map(CONFIG_NAME, namespace, name, published),
        *daemon_sets,
    ]


def _chassis_observer(spec: ClusterSpec, name: str, namespace: str) -> list[Object]:
    return [
        _account(CHASSIS_OBSERVER, namespace, name, CHASSIS_OBSERVER_COMPONENT),
        chassis_observer_deployment(spec, name, namespace),
    ]


def _metadata_agent(
    spec: ClusterSpec, name: str, namespace: str, southbound: list[str], tls_secret: str | None, secret_version: str
) -> list[Object]:
    component, files = METADATA_AGENT_COMPONENT, metadata_agent_files(spec, southbound, has_tls=bool(tls_secret))
    return [
        _account(METADATA_AGENT, namespace, name, component),
        _config_map(METADATA_AGENT, namespace, name, files, component=component),
        _daemon_set(
            METADATA_AGENT,
            namespace,
            name,
            component,
            spec.metadata_agent,
            metadata_agent_pod(spec, tls_secret),
            metadata_agent_annotations(files, secret_version),
        ),
    ]


def settings_manifest(files: dict[str, str], *, name: str, namespace: str) -> Object:
    """Return the ConfigMap that the agents of all nodes read."""
    return _config_map(SETTINGS, namespace, name, files)


def _config_map(
    config: str,
    namespace: str,
    name: str,
    data: dict[str, str],
    binary: dict[str, str] | None = None,
    component: Component = "controller",
) -> Object:
    return {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": metadata(config, namespace, name, component),
        "data": data,
        **({"binaryData": binary} if binary else {}),
    }


def _account(account: str, namespace: str, name: str, component: Component) -> Object:
    """Return an account. What admits these privileged pods (an SCC, a policy) is bound to it, and to no pod of anybody else."""
    return {
        "apiVersion": "v1",
        "kind": "ServiceAccount",
        "metadata": metadata(account, namespace, name, component),
        "automountServiceAccountToken": False,
    }


def _daemon_set(
    daemon_set: str,
    namespace: str,
    name: str,
    component: Component,
    pods: DaemonSetPods,
    pod: Object,
    annotations: dict[str, str] | None = None,
) -> Object:
    most = pods.max_unavailable
    template = metadata(daemon_set, namespace, name, component)["labels"]
    return {
        "apiVersion": "apps/v1",
        "kind": "DaemonSet",
        "metadata": metadata(daemon_set, namespace, name, component),
        "spec": {
            "selector": {"matchLabels": selector(name, component)},
            "updateStrategy": {
                "type": "RollingUpdate",
                "rollingUpdate": {"maxUnavailable": int(most) if most.isdigit() else most, "maxSurge": 0},
            },
            "minReadySeconds": 5,
            "revisionHistoryLimit": 3,
            "template": {
                "metadata": {"labels": template, **({"annotations": annotations} if annotations else {})},
                "spec": pod,
            },
        },
    }

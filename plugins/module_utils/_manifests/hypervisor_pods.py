# SPDX-License-Identifier: GPL-3.0-or-later
"""The two pods of a hypervisor node: Open vSwitch, and ovn-controller with the agent that writes the node's settings.

They are apart so that an update of OVN does not touch the datapath. What they share lies on the node, in folders of our own: an Open vSwitch
that the node itself may have stays alone.
"""

from __future__ import annotations

import typing as t

from .._api.names import Object
from .._api.service_accounts import account_of, hypervisor_accounts
from . import ca_bundle
from .config import config_environment
from .pods import TLS, TLS_FILES, TLS_VOLUME, api_access, scheduling, tls_volume, tolerations

# What all pods of a hypervisor node have in common: its network, folders of the node, daemons that belong to root.

if t.TYPE_CHECKING:
    from .._api.hypervisor_spec import DaemonSetPods
    from .._api.pod_fields import Image
    from .._api.spec import ClusterSpec

# On the node: sockets of our Open vSwitch, which must not outlive a boot, and of the one that belongs to the node; the pod waits until that is there.
NODE_SOCKETS = "/run/c5c3-ovn/openvswitch"
HOST_SOCKETS = "/run/openvswitch"
OVS_RUN = "/run/openvswitch"  # in the containers


def sockets_volume(spec: ClusterSpec) -> Object:
    """Return the volume with the sockets of the Open vSwitch that the node uses."""
    if spec.ovs.mode == "host":
        return {"name": "sockets", "hostPath": {"path": HOST_SOCKETS, "type": "Directory"}}
    return folder("sockets", NODE_SOCKETS)


def node_pod(
    spec: ClusterSpec, account: str, settings: DaemonSetPods, volumes: list[Object], containers: list[Object]
) -> Object:
    return {
        "serviceAccountName": account,
        # A chassis is reached at the node's addresses, and must not hang on a network that may run on top of it.
        "hostNetwork": True,
        "dnsPolicy": "ClusterFirstWithHostNet",
        "automountServiceAccountToken": False,
        "enableServiceLinks": False,
        **scheduling(spec, settings.priority_class_name),
        "terminationGracePeriodSeconds": 60,
        "nodeSelector": dict(settings.node_selector),
        **tolerations(settings.tolerations),
        "securityContext": {
            "runAsUser": 0,
            "seccompProfile": {"type": "RuntimeDefault"},
            # Folders of the node carry labels that containers otherwise must not touch.
            "seLinuxOptions": {"type": "spc_t"},
        },
        "containers": containers,
        "volumes": volumes,
    }


def image_fields(image: Image) -> Object:
    return {"image": image.reference, "imagePullPolicy": image.pull_policy}


def security(capabilities: t.Sequence[str]) -> Object:
    return {
        "allowPrivilegeEscalation": False,
        "readOnlyRootFilesystem": True,
        "capabilities": {"drop": ["ALL"], **({"add": list(capabilities)} if capabilities else {})},
    }


def probe(command: list[str], *, period: int, failures: int) -> Object:
    return {"exec": {"command": command}, "periodSeconds": period, "timeoutSeconds": 10, "failureThreshold": failures}


def variables(environment: t.Mapping[str, str]) -> list[Object]:
    return [{"name": key, "value": value} for key, value in environment.items()]


def from_field(variable: str, path: str) -> Object:
    return {"name": variable, "valueFrom": {"fieldRef": {"apiVersion": "v1", "fieldPath": path}}}


def mount(volume: str, path: str, *, read_only: bool = False) -> Object:
    return {"name": volume, "mountPath": path, **({"readOnly": True} if read_only else {})}


def folder(volume: str, path: str) -> Object:
    return {"name": volume, "hostPath": {"path": path, "type": "DirectoryOrCreate"}}


def config_map_volume(volume: str, name: str, keys: t.Sequence[str] = ()) -> Object:
    items = {"items": [{"key": key, "path": key} for key in keys]} if keys else {}
    return {"name": volume, "configMap": {"name": name, "defaultMode": 0o444, **items}}


if t.TYPE_CHECKING:
    from .._api.pod_fields import Image
    from .._api.spec import ClusterSpec

SETTINGS = "ovn-chassis"
# Not NAME-scripts, which a control plane in the same namespace has.
SCRIPTS = "ovn-chassis-scripts"
LAUNCHER = "ovn-chassis-launcher"
ARCHIVE = "c5c3-ovn.pyz"
AGENT = "agent"

NODE_DATABASES = "/var/lib/c5c3-ovn/openvswitch"  # on the node: the database has to outlive pods and reboots
# In the containers
_OVN_RUN, _DATABASES, _TUN = ("/run/ovn", "/var/lib/openvswitch", "/dev/net/tun")
# What keeps the agent from its work becomes the event of the probe.
_AGENT_READY = f"test -e {_OVN_RUN}/agent.ready || {{ cat {_OVN_RUN}/agent.trouble; exit 1; }}"
# Devices, routes and addresses, raw sockets on network devices, events of the kernel's datapath. Its module is loaded by the kernel itself.
_DATAPATH_CAPABILITIES = ["NET_ADMIN", "NET_BROADCAST", "NET_RAW"]


def ovs_pod(spec: ClusterSpec) -> Object:
    underlay = spec.ovs.underlay
    common = {"OVS_RUNDIR": OVS_RUN, "OVS_DB_FILE": f"{_DATABASES}/conf.db"}
    datapath = {**common, "OVS_DATAPATH": spec.ovs.datapath_type}
    if underlay:
        datapath.update(OVS_UNDERLAY_BRIDGE=underlay.bridge, OVS_UNDERLAY_INTERFACE=underlay.interface)
    mounts = [
        mount("sockets", OVS_RUN),
        mount("databases", _DATABASES),
        mount("tmp", "/tmp"),  # ovsdb-server has unnamed files there
        mount("scripts", "/scripts", read_only=True),
    ]
    volumes = [
        folder("sockets", NODE_SOCKETS),
        folder("databases", NODE_DATABASES),
        {"name": "tmp", "emptyDir": {"sizeLimit": "64Mi"}},
        config_map_volume("scripts", SCRIPTS, [LAUNCHER]),
    ]
    tun = []
    if spec.ovs.datapath_type == "netdev":  # bridges are tap devices
        tun.append(mount("tun", _TUN))
        volumes.append({"name": "tun", "hostPath": {"path": _TUN, "type": "CharDevice"}})
    resources, of_database = spec.ovs.resources.as_dict(), spec.ovs.ovsdb_server.resources.as_dict()
    image, switch_mounts = spec.ovs_image, [*mounts, *tun]
    daemons = [
        _daemon("ovsdb-server", "database", image, common, mounts, of_database),
        _daemon("ovs-vswitchd", "vswitchd", image, datapath, switch_mounts, resources, _DATAPATH_CAPABILITIES),
    ]
    return node_pod(spec, account_of(hypervisor_accounts(spec), "ovs"), spec.ovs, volumes, daemons)


class _PodTls(t.NamedTuple):
    """What the pod of ovn-controller has for TLS: environment and mounts of both containers, and of each for itself."""

    environment: dict[str, str]
    volumes: t.Sequence[Object]
    of_controller: t.Sequence[Object]
    of_agent: t.Sequence[Object]
    agent_environment: dict[str, str]


def _pod_tls(spec: ClusterSpec, secret: str | None, issuer: str) -> _PodTls:
    certificate, place = ca_bundle.certificate_volume()
    tls = mount(TLS_VOLUME, TLS, read_only=True)
    if secret and spec.has_node_certificates:
        own = {ca_bundle.FOLDER_VARIABLE: ca_bundle.FOLDER}
        return _PodTls(
            ca_bundle.FILES.as_environment(),
            [ca_bundle.authorities_volume(spec.tls), certificate],
            [tls, {**place, "readOnly": True}],
            [tls, place],
            {**own, **({ca_bundle.ISSUER_VARIABLE: issuer} if issuer else {})},
        )
    unused = {ca_bundle.UNUSED_VARIABLE: ca_bundle.FOLDER}
    if not secret:
        return _PodTls({}, [certificate], [], [place], unused)
    shared = tls_volume(spec.tls, secret, mode=0o400)
    return _PodTls(TLS_FILES.as_environment(), [shared, certificate], [tls], [tls, place], unused)


def controller_pod(
    spec: ClusterSpec, tls_secret: str | None, issuer: str = "", *, writes_status: bool = False
) -> Object:
    """Return the pod. Its agent has a token, which names the node, if it asks for certificates or `writes_status`.

    `issuer` is the certificate of the CA that signs for nodes with certificates of their own.
    """
    tls, host = _pod_tls(spec, tls_secret, issuer), spec.ovs.mode == "host"
    environment = {
        "OVS_RUNDIR": OVS_RUN,
        "OVN_RUNDIR": _OVN_RUN,
        **({"OVS_MODE": "host"} if host else {}),
        **tls.environment,
    }
    mounts = [mount("sockets", OVS_RUN), mount("run", _OVN_RUN), mount("scripts", "/scripts", read_only=True)]
    volumes: list[Object] = [
        sockets_volume(spec),
        {"name": "run", "emptyDir": {"medium": "Memory", "sizeLimit": "16Mi"}},
        config_map_volume("scripts", SCRIPTS, [LAUNCHER, ARCHIVE]),
        config_map_volume("settings", SETTINGS),
        *tls.volumes,
    ]
    resources, of_controller = spec.controller.resources.as_dict(), [*mounts, *tls.of_controller]
    controller = _daemon("ovn-controller", "controller", spec.ovn_image, environment, of_controller, resources)
    controller["env"] += config_environment()
    of_agent = [*mounts, *tls.of_agent, mount("settings", "/settings", read_only=True)]
    if writes_status or (tls_secret and spec.has_node_certificates):
        access, token = api_access()
        volumes.append(access)
        of_agent.append(token)
    return node_pod(
        spec,
        account_of(hypervisor_accounts(spec), "controller"),
        spec.controller,
        volumes,
        [controller, _agent(spec, {**environment, **tls.agent_environment}, of_agent)],
    )


def _agent(spec: ClusterSpec, environment: dict[str, str], mounts: list[Object]) -> Object:
    """Return the container that writes the settings of `ovn-chassis` for this node. It needs no capability: the database's socket belongs to root."""
    return {
        "name": AGENT,
        **image_fields(spec.python_image),
        "command": ["python3", f"/scripts/{ARCHIVE}", "chassis"],
        "env": [
            from_field("OVN_NODE", "spec.nodeName"),
            from_field("OVN_NODE_IP", "status.hostIP"),
            *variables({**environment, "OVN_SETTINGS_DIR": "/settings"}),
        ],
        "readinessProbe": probe(["sh", "-c", _AGENT_READY], period=5, failures=1),
        "resources": {"requests": {"cpu": "5m", "memory": "32Mi"}, "limits": {"memory": "128Mi"}},
        "securityContext": security([]),
        "volumeMounts": mounts,
    }


def _daemon(
    name: str,
    role: str,
    image: Image,
    environment: dict[str, str],
    mounts: list[Object],
    resources: Object,
    capabilities: t.Sequence[str] = (),
) -> Object:
    def script(verb: str) -> list[str]:
        return ["sh", f"/scripts/{LAUNCHER}", *([verb] if verb else []), role]

    return {
        "name": name,
        **image_fields(image),
        "command": script(""),
        "env": variables(environment),
        "lifecycle": {"preStop": {"exec": {"command": script("stop")}}},
        "startupProbe": probe(script("alive"), period=2, failures=60),
        # A busy daemon must go on: killing it would cost more than waiting for it.
        "livenessProbe": probe(script("alive"), period=20, failures=6),
        "readinessProbe": probe(script("ready"), period=5, failures=2),
        "resources": resources,
        "securityContext": security(capabilities),
        "volumeMounts": mounts,
    }

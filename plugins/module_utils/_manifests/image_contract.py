# SPDX-License-Identifier: GPL-3.0-or-later
"""Pods that only pull images: a DaemonSet ends the former pod of a node before it pulls the image of the next one."""

from __future__ import annotations

import typing as t

from .._api.names import Component, Object, metadata, selector
from .._api.service_accounts import account_of, hypervisor_accounts
from .._neutron.metadata_agent import METADATA_AGENT, OVN_AGENT
from .metadata_agent import PROGRAM
from .pods import container_security, pod_security, scheduling, tolerations

# What an image must contain, and the commands that look for it. Pure.

if t.TYPE_CHECKING:
    from .._api.spec import ClusterSpec

Kind = t.Literal["cluster", "hypervisors"]
Image = t.Literal["ovn", "ovs", "agent", "metadata"]
# The fields that declare them.
IMAGE_FIELDS: t.Mapping[str, str] = {
    "ovn": "ovnImage",
    "ovs": "ovsImage",
    "agent": "agentImage",
    "metadata": "metadataAgent.image",
}
# For the archive. A name of the contract, and the command that looks for it.
PYTHON = "python3>=3.9"
PYTHON_CHECK = "python3 -c 'import sys; sys.exit(sys.version_info < (3, 9))' 2>/dev/null"


class Content(t.NamedTuple):
    """What one container needs of its image. Without an `optional` one the run only loses what `without` says."""

    kind: Kind
    image: Image
    container: str
    programs: tuple[str, ...]
    files: tuple[str, ...] = ()
    without: str = ""

    @property
    def optional(self) -> bool:
        return bool(self.without)


# Of GNU coreutils, grep and sed, beside a POSIX shell.
_FILES = ("basename", "cat", "dd", "mkdir", "mkfifo", "mv", "rm", "stat", "sync")
_TEXT = ("date", "grep", "head", "sed", "sha1sum", "sha256sum", "sleep", "sort", "tac", "tail", "timeout", "tr", "wc")
_SHELL = ("sh", *_FILES, *_TEXT)
_NO_CERTIFICATES = "nodes can only share a certificate (`tls.nodeCertificates` shared)"
_OVSDB = ("ovsdb-server", "ovsdb-tool", "ovs-appctl")

CONTRACT = (
    Content(
        *("cluster", "ovn", "database", (*_SHELL, *_OVSDB, "ovsdb-client")),
        ("/usr/share/ovn/ovn-nb.ovsschema", "/usr/share/ovn/ovn-sb.ovsschema"),
    ),
    Content(
        "cluster", "ovn", "relay", ("sh", "rm", "sleep", "ovsdb-server", "ovsdb-tool", "ovs-appctl", "ovsdb-client")
    ),
    Content("cluster", "ovn", "northd", ("sh", "head", "ovn-northd", "ovn-appctl")),
    Content(
        "cluster", "ovn", "database", ("findmnt",), without="a restored volume with XFS is not told from the newest one"
    ),
    Content(
        *("cluster", "agent", "status", ("sh", PYTHON)),
        without="the pods of the leaders and of the active northd have no labels, and the status of the OVNCluster is only that of the last run",
    ),
    Content(
        *("cluster", "agent", "leader-proxy", (PYTHON, "sleep")),
        without="clients in the cluster of the control plane get no leader proxy (`leaderProxy.enabled`)",
    ),
    Content("hypervisors", "ovn", "ovn-controller", ("sh", "rm", "sleep", "ovn-controller", "ovn-appctl")),
    Content(
        *("hypervisors", "ovn", "ovn-controller", ("sha256sum",)),
        without="the phases switch and finish of ovn_pki do not see whether a pod has the new certificate",
    ),
    Content("hypervisors", "agent", "agent", ("sh", "cat", "sleep", PYTHON)),
    Content("hypervisors", "agent", "agent", ("openssl",), without=_NO_CERTIFICATES),
    Content(
        *("hypervisors", "ovs", "ovsdb-server", ("sh", "cp", "mv", "rm", "sleep", "ovs-vsctl", *_OVSDB)),
        ("/usr/share/openvswitch/vswitch.ovsschema",),
    ),
    Content(
        *("hypervisors", "ovs", "ovs-vswitchd"),
        ("sh", "rm", "sleep", "ovs-vswitchd", "ovs-vsctl", "ovs-appctl"),
    ),
    Content(
        *("hypervisors", "ovs", "ovs-vswitchd", ("ovs-ofctl", "sed")),
        without="packets are lost for a moment when ovs-vswitchd restarts with a datapath in the kernel",
    ),
    Content(
        *("hypervisors", "ovs", "ovs-vswitchd", ("ip", "grep", "mv")),
        without="an underlay bridge (spec.ovs.underlay) does not get the addresses of its interface",
    ),
    Content(
        *("hypervisors", "metadata", "ovn-metadata-agent"),
        (
            *("sh", "env", "haproxy", "ip", "kill", "privsep-helper", "python3"),
            *("rm", "sleep", "sysctl"),
        ),
    ),
    *(
        Content(
            *("hypervisors", "metadata", "ovn-metadata-agent", (program,)),
            without=f"`metadataAgent.program` can only be {other}",
        )
        for program, other in ((METADATA_AGENT, OVN_AGENT), (OVN_AGENT, METADATA_AGENT))
    ),
    Content(
        *("hypervisors", "metadata", "ovn-metadata-agent", ("iptables", "iptables-save", "iptables-restore")),
        without="guests on a datapath in user space (spec.ovs.datapathType netdev) do not take the answers for whole",
    ),
)

LACKS = 43  # exit status
_GUARD = f"""[ -z "$missing" ] || {{ echo $missing >/dev/termination-log; exit {LACKS}; }}
exec sleep infinity
"""

# Whether the look is over: then the first process is another one.
GUARD_PROBE = ["sh", "-c", 'read name </proc/1/comm && [ "$name" = sleep ]']

# Prints what is missing. Nothing but the shell itself is needed for that.
_SCRIPT = f"""
for one in "$@"; do
    case $one in
    "{PYTHON}") {PYTHON_CHECK} || echo "$one" ;;
    /*) [ -r "$one" ] || echo "$one" ;;
    *) command -v "$one" >/dev/null 2>&1 || echo "$one" ;;
    esac
done
"""


def contents_of(kind: Kind, *images: str) -> list[Content]:
    """Return what the containers of these images need."""
    return [one for one in CONTRACT if one.kind == kind and one.image in images]


def command_for(kind: Kind, *images: str) -> list[str]:
    """Return the command that prints what a container with the image that is all of these lacks, one name on each line."""
    names = [name for one in contents_of(kind, *images) for name in (*one.programs, *one.files)]
    return ["sh", "-c", _SCRIPT, "sh", *dict.fromkeys(names)]


def required_names(kind: Kind, image: str, spec: ClusterSpec) -> list[str]:
    """Return the programs and files without which pods of this specification do not work."""
    needed = [one for one in contents_of(kind, image) if is_needed(one, spec)]
    return list(dict.fromkeys(name for one in needed for name in (*one.programs, *one.files)))


def is_needed(content: Content, spec: ClusterSpec) -> bool:
    """Return whether pods of this specification do not work without it."""
    has_underlay = spec.ovs.underlay is not None and "ip" in content.programs
    in_user_space = spec.ovs.datapath_type == "netdev" and "iptables-restore" in content.programs
    needs_openssl = spec.has_node_certificates and "openssl" in content.programs
    is_given = spec.agent_image is not None and content.container == "status"
    is_proxy = spec.leader_proxy.enabled and content.container == "leader-proxy"
    is_program = content.programs == (spec.metadata_agent.program,)
    return not content.optional or has_underlay or in_user_space or needs_openssl or is_given or is_proxy or is_program


def guard_command(names: t.Sequence[str]) -> list[str]:
    """Return the command of a container that runs on if its image has all of these; else it ends with `LACKS`, and its termination message has the others."""
    return ["sh", "-c", f'missing=$(check() {{{_SCRIPT}}}; check "$@")\n{_GUARD}', "sh", *names]


def used_images(kind: Kind, spec: ClusterSpec) -> dict[str, str]:
    """Return the images that the kind uses, with their references."""
    images = {"ovn": spec.ovn_image.reference, "agent": spec.python_image.reference}
    if kind == "hypervisors" and spec.ovs.mode == "managed":
        images["ovs"] = spec.ovs_image.reference
    if kind == "hypervisors" and spec.metadata_agent.enabled:
        images["metadata"] = spec.metadata_agent.image.reference
    return images


if t.TYPE_CHECKING:
    from .._api.spec import ClusterSpec

IMAGE_PULL = "ovn-image-pull"
IMAGE_PULL_COMPONENT: Component = "image-pull"
_RESOURCES = {"requests": {"cpu": "1m", "memory": "8Mi"}, "limits": {"memory": "32Mi"}}

Images = t.Mapping[str, str]  # reference to pull policy


def images_to_pull(desired: t.Iterable[Object], observed: t.Iterable[Object]) -> Images:
    """Return the images of the desired DaemonSets that none of the observed ones has, or has for another program than that of its container.

    None if none is observed: then there is no daemon to keep running.
    """
    present = {_use(one) for one in _containers(observed)}
    new = [one for one in _containers(desired) if one["imagePullPolicy"] != "Never" and _use(one) not in present]
    return {one["image"]: one["imagePullPolicy"] for one in new} if present else {}


def _use(container: Object) -> tuple[str, str]:
    """Return the image and the program of it that the specification chooses, if it does: an image may have one and lack another.

    The default is like none: pods of older releases do not name it.
    """
    chosen = (one["value"] for one in container.get("env") or () if one["name"] == PROGRAM)
    program = next(chosen, "")
    return container["image"], "" if program == METADATA_AGENT else program


def _containers(daemon_sets: t.Iterable[Object]) -> t.Iterator[Object]:
    for one in daemon_sets:
        pod = one["spec"]["template"]["spec"]
        yield from (*(pod.get("initContainers") or ()), *pod["containers"])


def image_pull_manifest(
    spec: ClusterSpec, images: Images, nodes: t.Iterable[str], *, name: str, namespace: str
) -> Object:
    """Return the DaemonSet with a container for each image, for `nodes` alone.

    Its pods have no priority class: they must not preempt the pods of others. An update needs no place of theirs.
    """
    common = metadata(IMAGE_PULL, namespace, name, IMAGE_PULL_COMPONENT)
    return {
        "apiVersion": "apps/v1",
        "kind": "DaemonSet",
        "metadata": common,
        "spec": {
            "selector": {"matchLabels": selector(name, IMAGE_PULL_COMPONENT)},
            "template": {
                "metadata": {"labels": common["labels"]},
                "spec": {
                    # What lets pods of the hypervisors in (an SCC, a policy), and Secrets of registries, are bound to this one.
                    "serviceAccountName": account_of(hypervisor_accounts(spec), "controller"),
                    "automountServiceAccountToken": False,
                    "enableServiceLinks": False,
                    **scheduling(spec, ""),
                    "terminationGracePeriodSeconds": 1,
                    "nodeSelector": dict(spec.controller.node_selector),
                    "affinity": _affinity(nodes),
                    **tolerations(spec.controller.tolerations),
                    "securityContext": pod_security(),
                    # None of them is an init container: an image that does not run `sleep` must not keep the node from the next one.
                    "containers": [_container(number, *image, spec) for number, image in enumerate(images.items(), 1)],
                },
            },
        },
    }


def _affinity(nodes: t.Iterable[str]) -> Object:
    """Return the affinity to any of these nodes. A field of a node is compared with one value, so each node has a term of its own."""
    terms = [{"matchFields": [{"key": "metadata.name", "operator": "In", "values": [node]}]} for node in nodes]
    return {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": terms}}}


def _container(number: int, reference: str, policy: str, spec: ClusterSpec) -> Object:
    """It runs on if the image has what the daemons need of it."""
    kinds = [kind for kind, used in used_images("hypervisors", spec).items() if used == reference]
    names = [name for kind in kinds for name in required_names("hypervisors", kind, spec)]
    return {
        "name": f"image-{number}",
        "image": reference,
        "imagePullPolicy": policy,
        "command": guard_command(list(dict.fromkeys(names))),
        "readinessProbe": {"exec": {"command": GUARD_PROBE}, "periodSeconds": 1, "failureThreshold": 60},
        "securityContext": container_security(),
        "resources": _RESOURCES,
    }

# Copyright: (c) 2026, C5C3 contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""PRIVATE to the collection: may change at any time.
What an image must contain, and what a running pod of it says about that. Pure.
"""

from __future__ import annotations

import typing as t

from .._api.names import Object
from .._sentences import list_names
from .findings import Finding, Kind

if t.TYPE_CHECKING:
    from .._api.spec import ClusterSpec


class Content(t.NamedTuple):
    """What one container needs of its image. Without an `optional` one the run only loses what `without` says."""

    kind: Kind
    image: t.Literal["ovn", "ovs"]
    container: str
    programs: tuple[str, ...]
    files: tuple[str, ...] = ()
    without: str = ""

    @property
    def optional(self) -> bool:
        return bool(self.without)


# Of GNU coreutils, grep and sed, beside a POSIX shell.
_FILES = ("basename", "cat", "dd", "mkdir", "mkfifo", "mv", "rm", "stat", "sync")
_TEXT = ("date", "grep", "head", "sed", "sha1sum", "sha256sum", "sleep", "sort", "tail", "timeout", "tr", "wc")
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
        *("cluster", "ovn", "status", ("python3",)),
        without="the pods of the leaders and of the active northd have no labels, and the status of the OVNCluster is only that of the last run",
    ),
    Content("hypervisors", "ovn", "ovn-controller", ("sh", "rm", "sleep", "ovn-controller", "ovn-appctl")),
    Content(
        *("hypervisors", "ovn", "ovn-controller", ("sha256sum",)),
        without="the phases switch and finish of ovn_pki do not see whether a pod has the new certificate",
    ),
    Content("hypervisors", "ovn", "agent", ("sh", "cat", "python3")),
    Content("hypervisors", "ovn", "agent", ("openssl",), without=_NO_CERTIFICATES),
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
)

# Prints what is missing. Nothing but the shell itself is needed for that.
_SCRIPT = """
for one in "$@"; do
    case $one in
    /*) [ -r "$one" ] || echo "$one" ;;
    *) command -v "$one" >/dev/null 2>&1 || echo "$one" ;;
    esac
done
"""


def contents_of(kind: Kind, image: str) -> list[Content]:
    return [one for one in CONTRACT if one.kind == kind and one.image == image]


def command_for(kind: Kind, image: str) -> list[str]:
    """Return the command that prints what a container of the image lacks, one name on each line."""
    names = [name for one in contents_of(kind, image) for name in (*one.programs, *one.files)]
    return ["sh", "-c", _SCRIPT, "sh", *dict.fromkeys(names)]


def used_images(kind: Kind, spec: ClusterSpec) -> dict[str, str]:
    """Return the images that the kind uses: "ovn" and "ovs" with their references."""
    images = {"ovn": spec.ovn_image.reference}
    needs_ovs = kind == "hypervisors" and spec.ovs.mode == "managed"
    return {**images, "ovs": spec.ovs_image.reference} if needs_ovs else images


def find_container(pods: t.Iterable[Object], reference: str) -> tuple[str, str] | None:
    """Return pod and container that run the image now, None without one."""
    for pod in pods:
        running = {
            status["name"]
            for status in (pod.get("status") or {}).get("containerStatuses") or []
            if "running" in (status.get("state") or {})
        }
        for container in (pod.get("spec") or {}).get("containers") or []:
            if container.get("image") == reference and container["name"] in running:
                return str(pod["metadata"]["name"]), str(container["name"])
    return None


def judge_image(kind: Kind, spec: ClusterSpec, image: str, missing: t.Collection[str], pod: str) -> list[Finding]:
    """Judge what the container of a pod has printed for `command_for`."""
    lacking: dict[str, list[str]] = {}
    for one in contents_of(kind, image):
        needed = (spec.ovs.underlay and "ip" in one.programs) or (
            spec.has_node_certificates and "openssl" in one.programs
        )
        is_spared = one.optional and not needed
        for name in (*one.programs, *one.files):
            if name in missing and not is_spared:
                lacking.setdefault(name, []).append(one.container)
    if not lacking:
        return []
    containers = dict.fromkeys(container for users in lacking.values() for container in users)
    return [
        Finding(
            "image_incomplete",
            f"Image {used_images(kind, spec)[image]}",
            f"It has no {list_names(list(lacking))}, which the container {list_names(list(containers))} needs (pod {pod} runs it).",
            f"Build or choose an image that has it, and declare it as {image}Image. docs/precheck-kubernetes.md lists what an image must contain.",
        )
    ]


def lost_functions(kind: Kind, image: str, missing: t.Collection[str]) -> list[str]:
    """Return what does not work without the optional contents that are missing."""
    return [
        one.without for one in contents_of(kind, image) if one.optional and {*one.programs, *one.files} & {*missing}
    ]

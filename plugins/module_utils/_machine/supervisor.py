# SPDX-License-Identifier: GPL-3.0-or-later
"""What keeps a daemon running, told by its control group: a unit of systemd, a container, a pod, or nothing. Pure."""

from __future__ import annotations

import dataclasses
import re
import typing as t

Kind = t.Literal["unit", "container", "pod", "none"]

# docker-ID.scope, /docker/ID, libpod-ID.scope, libpod-payload-ID, cri-containerd-ID.scope
_CONTAINER = re.compile(r"(docker|libpod|podman|containerd|crio)[-/](?:payload-|libpod-)?([0-9a-f]{64})(?:\.scope)?")
_ENGINES = ("docker.service", "podman.service", "containerd.service", "crio.service")
_RUNTIMES = {"docker": "docker", "libpod": "podman", "podman": "podman"}


@dataclasses.dataclass(frozen=True)
class Supervisor:
    """`name` is that of the unit, or of the container, its id without one. `runtime` is the command of the container's engine, empty if unknown.

    `unit` is the unit of the host that a container runs in, and that would start it again; empty if there is none.
    """

    kind: Kind
    name: str = ""
    runtime: str = ""
    unit: str = ""

    def __str__(self) -> str:
        return {
            "unit": self.name,
            "container": f"container {self.name}",
            "pod": "a pod",
            "none": "no unit",
        }[self.kind]

    def stop_command(self, control_socket: str) -> str:
        """Return the command with which a person ends the daemon that it keeps running, and keeps it from coming back."""
        if self.kind == "unit":
            return f"systemctl disable --now {self.name}"
        if self.kind == "container" and self.unit:
            return f"systemctl disable --now {self.unit}"
        if self.kind == "container" and self.runtime == "docker":
            return f"docker update --restart=no {self.name} && docker stop {self.name}"
        if self.kind == "container" and self.runtime:  # podman changes a restart policy only from 5.1 on
            return f"{self.runtime} stop {self.name}, and keep its unit, if it has one, from starting it again"
        if self.kind == "none":
            return f"ovs-appctl -t {control_socket} exit"
        return ""


def parse_cgroup(text: str, own: str = "") -> Supervisor:
    """Return what the content of /proc/PID/cgroup tells (cgroups(7), version 1 or 2).

    `own` is that of this process: a container or pod that it is in itself is the host, whose systemd has units. In any other one, units are not the host's.
    """
    paths = [line.split(":", 2) for line in text.splitlines() if line.count(":") >= 2]
    # systemd's own hierarchy, or the only one; others are those of resources.
    for _number, _hierarchy, path in sorted(paths, key=lambda parts: parts[1] not in ("name=systemd", "")):
        supervisor = _supervisor(path, own)
        if supervisor.kind != "none":
            return supervisor
    return Supervisor("none")


def _supervisor(path: str, own: str) -> Supervisor:
    groups, own_groups = path.split("/"), set(re.split("[/\n]", own))
    if any(group.startswith("kubepods") and group not in own_groups for group in groups):
        return Supervisor("pod")
    for match in _CONTAINER.finditer(path):  # of containers in one another, the host knows the first
        if match[2] not in own:
            around = path[: match.start()].split("/")
            return Supervisor("container", match[2][:12], _RUNTIMES.get(match[1], ""), _unit_of(around, own_groups))
    unit = next((group for group in reversed(groups) if group.endswith(".service")), None)
    return Supervisor("unit", unit) if unit is not None else Supervisor("none")


def _unit_of(groups: t.Sequence[str], own_groups: t.Collection[str]) -> str:
    """Return the unit around a container; none if it is the engine's own, or that of a user's manager."""
    if any(group.startswith("user@") for group in groups):
        return ""
    units = [group for group in groups if group.endswith(".service") and group not in own_groups]
    return next((unit for unit in reversed(units) if unit not in _ENGINES), "")

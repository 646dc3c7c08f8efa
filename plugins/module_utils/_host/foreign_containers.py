# SPDX-License-Identifier: GPL-3.0-or-later
"""A container of Docker or Podman that runs a daemon: its name, and everything that would start it again. Read only; the commands are for others."""

from __future__ import annotations

import json
import re
import typing as t

from .._base.errors import OvnError
from .._machine.supervisor import Supervisor
from .foreign_units import units_of_container

Output = t.Callable[..., str]
"""`output(command, argument...)` returns what the command prints, nothing if it fails or is not installed."""

_SECONDS = "30"  # an engine that hangs must not stop the run for good
_UPDATE_IN_PODMAN = (5, 1)  # `podman update --restart` exists from here on
# Labels of what starts a container again on its own, wherever it was stopped.
_OWNERS = {
    "com.docker.swarm.service.name": "Docker Swarm service",
    "com.hashicorp.nomad.job_name": "Nomad job",
    "com.hashicorp.nomad.alloc_id": "Nomad allocation",
    "io.kubernetes.pod.name": "Kubernetes pod",
}
_PROJECTS = ("com.docker.compose.project", "io.podman.compose.project")
_ANONYMOUS = re.compile(r"[0-9a-f]{64}")


class Container(t.NamedTuple):
    """`policy` is the restart policy. `owner` starts it again on its own, `project` is that of compose; each is empty if there is none.

    `mounts` are paths in the container, and whether their content outlives it.
    """

    name: str
    identifier: str = ""
    policy: str = "no"
    running: bool = False
    removed_at_end: bool = False
    owner: str = ""
    project: str = ""
    mounts: tuple[tuple[str, bool], ...] = ()

    def keeps(self, file: str) -> bool:
        """Return whether a file outlives the container, if that is removed with the volumes that have no name; the innermost mount decides."""
        inside = [
            (len(path.rstrip("/")), kept) for path, kept in self.mounts if file.startswith(f"{path.rstrip('/')}/")
        ]
        return max(inside, default=(0, False))[1]


def parse_inspect(text: str) -> Container:
    """Parse the output of `docker inspect` or `podman inspect` for one container; `OvnError` for anything else."""
    try:
        (found,) = json.loads(text)
        host, state = found["HostConfig"], found["State"]
        labels = (found.get("Config") or {}).get("Labels") or {}
        owners = [f"{what} {labels[label]}" for label, what in _OWNERS.items() if label in labels]
        if found.get("Pod"):
            owners.append(f"pod {found['Pod'][:12]}")
        return Container(
            name=found["Name"].lstrip("/"),
            identifier=str(found.get("Id") or ""),
            policy=(host.get("RestartPolicy") or {}).get("Name") or "no",
            running=bool(state.get("Running") or state.get("Restarting")),
            removed_at_end=bool(host.get("AutoRemove")),
            owner=next(iter(owners), ""),
            project=next((labels[label] for label in _PROJECTS if label in labels), ""),
            mounts=tuple((mount["Destination"], _is_kept(mount)) for mount in found.get("Mounts") or ()),
        )
    except (ValueError, KeyError, TypeError, AttributeError) as e:
        raise OvnError("its engine does not describe it") from e


def _is_kept(mount: t.Mapping[str, t.Any]) -> bool:
    return mount["Type"] == "bind" or (mount["Type"] == "volume" and not _ANONYMOUS.fullmatch(mount.get("Name") or ""))


def engine(runtime: str, *arguments: str) -> list[str]:
    """Return the command of an engine, with an end of the wait for it."""
    return ["timeout", "--kill-after=5", _SECONDS, runtime, *arguments]


def shown_command(command: t.Sequence[str]) -> str:
    """Return the same for a person, who ends a command that hangs."""
    return " ".join(command[3:])


def inspect_command(runtime: str, name: str) -> list[str]:
    return engine(runtime, "inspect", "--type=container", name)


def forbid_command(runtime: str, name: str) -> list[str]:
    """Return the command after which the engine does not start the container again."""
    return engine(runtime, "update", "--restart=no", name)


def examine_container(
    output: Output, supervisor: Supervisor, file: str = "", neighbors: t.Sequence[str] = ()
) -> dict[str, t.Any]:
    """Return `name`, `policy`, `units` that start it, and `problem`: why it cannot be ended and kept from coming back, empty if it can.

    `file` is its database file, as it sees it; `neighbors` are daemons that would end with it.
    """
    facts: dict[str, t.Any] = {"name": supervisor.name, "policy": "", "units": [], "problem": ""}
    try:
        if not supervisor.runtime:
            raise OvnError("its engine has no command that is known here")
        text = output(*inspect_command(supervisor.runtime, supervisor.name))
        if not text:
            command = shown_command(inspect_command(supervisor.runtime, supervisor.name))
            raise OvnError(f"{supervisor.runtime} does not describe it; {command} says why")
        container = parse_inspect(text)
        facts.update(name=container.name, policy=container.policy)
        facts["units"] = units_of_container(output, supervisor, container.name, container.identifier, container.project)
        _check(output, supervisor.runtime, container, file, neighbors)
    except OvnError as e:
        facts["problem"] = str(e).rstrip(".")
    return facts


def _check(output: Output, runtime: str, container: Container, file: str, neighbors: t.Sequence[str]) -> None:
    if neighbors:
        raise OvnError(
            f"it runs {', '.join(neighbors)} as well, which would be stopped with it. Give each daemon a container of its own first"
        )
    if container.owner:
        raise OvnError(f"it belongs to the {container.owner}, which would start it again. End it there")
    if runtime == "podman" and container.policy != "no" and _podman(output) < _UPDATE_IN_PODMAN:
        raise OvnError(
            f"its restart policy is {container.policy}, which this version of podman cannot change. Create it again with --restart=no and the same volume"
        )
    if file and container.removed_at_end and not container.keeps(file):
        raise OvnError(
            f"{file} is in no volume, and is deleted when it ends. Create it again without --rm, or with a volume"
        )


def _podman(output: Output) -> tuple[int, ...]:
    match = re.search(r"(\d+)\.(\d+)", output(*engine("podman", "--version")))
    return (int(match[1]), int(match[2])) if match else (0, 0)


def stop_command(supervisor: Supervisor, facts: t.Mapping[str, t.Any], control_socket: str = "") -> str:
    """Return the command with which a person ends a daemon, and everything that would start it again. `facts` are those of its container."""
    name, policy, units = facts.get("name", supervisor.name), facts.get("policy", ""), facts.get("units", ())
    if not supervisor.runtime or not (policy or units):
        return Supervisor(supervisor.kind, name, supervisor.runtime, supervisor.unit).stop_command(control_socket)
    units = units or list(filter(None, [supervisor.unit]))  # the others may not be known
    disable = [f"systemctl disable --now {' '.join(units)}"] if units else []
    forbid = [shown_command(forbid_command(supervisor.runtime, name))] if policy not in ("", "no") else []
    return " && ".join([*disable, *forbid, f"{supervisor.runtime} stop {name}"])

# Copyright: (c) 2026, C5C3 contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""PRIVATE to the collection: may change at any time.

A container of Docker or Podman that runs a daemon: its name, what starts it again, and where its database file is on the host. Read only.
"""

from __future__ import annotations

import json
import os
import re
import typing as t

from .._errors import OvnError
from .._processes.supervisor import Supervisor
from .units import units_of_container

Output = t.Callable[..., str]
"""`output(command, argument...)` returns what the command prints, nothing if it fails or is not installed."""

_ANONYMOUS = re.compile(r"[0-9a-f]{64}")
_UPDATE_IN_PODMAN = (5, 1)  # `podman update --restart` exists from here on


class Container(t.NamedTuple):
    """`policy` is the restart policy, `removed` whether the engine removes the container when it ends."""

    name: str
    policy: str
    removed: bool
    mounts: tuple[t.Mapping[str, t.Any], ...]


def parse_inspect(text: str) -> Container:
    """Parse the output of `docker inspect` or `podman inspect` for one container; `OvnError` for anything else."""
    try:
        (found,) = json.loads(text)
        host = found["HostConfig"]
        policy = (host.get("RestartPolicy") or {}).get("Name") or "no"
        return Container(
            found["Name"].lstrip("/"), policy, bool(host.get("AutoRemove")), tuple(found.get("Mounts") or ())
        )
    except (ValueError, KeyError, TypeError, AttributeError) as e:
        raise OvnError("the engine does not describe it") from e


def find_place(container: Container, file: str) -> str:
    """Return where a file of the container is on the host; `OvnError` if it would not be there once the container has ended."""
    inside = [mount for mount in container.mounts if file.startswith(mount.get("Destination", "").rstrip("/") + "/")]
    if not inside:
        raise OvnError(f"{file} is in no volume, so it would end with its container")
    mount = max(inside, key=lambda one: len(one["Destination"].rstrip("/")))
    if mount.get("Type") not in ("volume", "bind") or not mount.get("Source"):
        raise OvnError(f"{file} is in a {mount.get('Type')} mount, which has no folder on the host")
    if container.removed and _ANONYMOUS.fullmatch(mount.get("Name") or ""):
        raise OvnError(f"{file} is in a volume without a name, which the engine removes with the container")
    return str(mount["Source"]).rstrip("/") + file[len(mount["Destination"].rstrip("/")) :]


def examine_container(output: Output, supervisor: Supervisor, file: str = "", root: str = "") -> dict[str, t.Any]:
    """Return `name`, `units` that start it, `host_file`, and `problem`: why it cannot be ended and kept from coming back, empty if it can.

    `file` is the database file as the container sees it, `root` how its files are reached while it runs.
    """
    facts: dict[str, t.Any] = {"name": supervisor.name, "units": [], "policy": "", "host_file": "", "problem": ""}
    try:
        if not supervisor.runtime:
            raise OvnError("its engine has no command that is known here")
        container = parse_inspect(output(supervisor.runtime, "inspect", "--type=container", supervisor.name))
        facts.update(name=container.name, policy=container.policy)
        facts["units"] = units_of_container(output, supervisor, container.name)
        if supervisor.runtime == "podman" and container.policy != "no" and _podman(output) < _UPDATE_IN_PODMAN:
            raise OvnError(f"its restart policy is {container.policy}, which this version of podman cannot change")
        if file:
            facts["host_file"] = find_place(container, file)
            _check_place(facts["host_file"], root + file, container)
    except OvnError as e:
        facts["problem"] = str(e)
    return facts


def _check_place(place: str, file: str, container: Container) -> None:
    try:
        same = os.path.samefile(place, file)
    except OSError:
        same = False
    if not same:
        raise OvnError(f"its file is not found at {place} on the host")
    # The engine unmounts such a volume with its last container, for example one of NFS.
    for mount in container.mounts:
        source = str(mount.get("Source") or "").rstrip("/")
        if mount.get("Type") == "volume" and place.startswith(f"{source}/") and os.path.ismount(source):
            raise OvnError(f"its volume {source} is mounted by the engine, and gone when the container has ended")


def _podman(output: Output) -> tuple[int, ...]:
    match = re.search(r"(\d+)\.(\d+)", output("podman", "--version"))
    return (int(match[1]), int(match[2])) if match else (0, 0)


def forbid_command(runtime: str, facts: t.Mapping[str, t.Any]) -> list[str]:
    """Return the command after which the engine does not start the container again; none if it would not anyway."""
    return [runtime, "update", "--restart=no", facts["name"]] if facts["policy"] not in ("", "no") else []

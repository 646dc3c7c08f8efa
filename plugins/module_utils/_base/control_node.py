# SPDX-License-Identifier: GPL-3.0-or-later
"""Names of runs: time, machine and process, from which a later run can tell whether that process still exists.

Another container is another control node: process ids count inside a PID namespace, so boot and namespace are part of the name.
"""

from __future__ import annotations

import datetime
import multiprocessing
import os
import pathlib
import platform
import re
import typing as t

# Ansible loads the action plugins that import this file before it forks a worker for a task, so all workers have the same moment.
_BEGAN = datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")
_NAME = re.compile(r".* on \S+, process (?P<pid>\d+) \[(?P<boot>[0-9a-f-]{36})/(?P<namespace>\d+)/(?P<started>\d+)\]")


class _Process(t.NamedTuple):
    """`started` in clock ticks since the boot: process ids come again, the two together do not."""

    pid: int
    started: int
    parent: int
    state: str


def _process(pid: int) -> _Process | None:
    """Return the process from /proc, None if it is not there: the process has ended, or there is no such /proc."""
    try:
        text = pathlib.Path("/proc", str(pid), "stat").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return None
    fields = text[text.rindex(")") + 1 :].split()  # proc(5): the second field is a name with anything in it
    return _Process(pid, int(fields[19]), int(fields[1]), fields[0])


def _command_line(pid: int) -> bytes:
    try:
        return pathlib.Path("/proc", str(pid), "cmdline").read_bytes()
    except OSError:
        return b""


def _place() -> str:
    """Return the boot and the PID namespace of this process, empty where they are not known (macOS)."""
    try:
        boot = pathlib.Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii").strip()
        return f"{boot}/{re.sub('[^0-9]', '', os.readlink('/proc/self/ns/pid'))}"
    except OSError:
        return ""


def run_process() -> int:
    """Return the id of the process of the whole run. Action plugins run in workers that Ansible forks for a task, and that end with the task."""
    parent = multiprocessing.parent_process()
    pid = (parent.pid if parent else None) or os.getpid()
    while True:
        process = _process(pid)
        if process is None or process.parent <= 1 or _command_line(process.parent) != _command_line(pid):
            return pid
        pid = process.parent  # forked by another strategy


def run_name(moment: str) -> str:
    """Return the unique name of this run, which began at `moment`."""
    pid = run_process()
    process, place = _process(pid), _place()
    mark = f" [{place}/{process.started}]" if process and place else ""
    return f"{moment} on {platform.node() or 'unknown'}, process {pid}{mark}"


def this_run() -> str:
    """Return the name of this run of Ansible, the same in each of its tasks."""
    return run_name(_BEGAN)


def has_ended(name: str) -> bool:
    """Return whether the process of that run is known to have ended. False for runs on other control nodes."""
    match = _NAME.fullmatch(name)
    if match is None or f"{match['boot']}/{match['namespace']}" != _place():
        return False
    pid = int(match["pid"])
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return True
    except OSError:
        pass  # it exists and belongs to another user
    process = _process(pid)
    # A process that /proc hides exists all the same. A zombie has ended.
    return process is not None and (process.started != int(match["started"]) or process.state in "ZX")

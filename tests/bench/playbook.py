"""Runs ansible-playbook and tells how long each task took."""

from __future__ import annotations

import dataclasses
import datetime
import json
import os
import subprocess
import sys
import sysconfig
import time
import typing as t
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
LOGS = ROOT / ".nox" / "bench"
_ENVIRONMENT = {
    # The callback writes a line of JSON an event, with the times of the tasks.
    "ANSIBLE_STDOUT_CALLBACK": "ansible.posix.jsonl",
    "ANSIBLE_COLLECTIONS_PATH": f"{sysconfig.get_path('purelib')}:{LOGS / 'collections'}",
    "ANSIBLE_FORKS": "10",
    "ANSIBLE_RETRY_FILES_ENABLED": "0",
    "ANSIBLE_DEPRECATION_WARNINGS": "0",
}


@dataclasses.dataclass
class Task:
    """One task on all its hosts, from its start to the last answer."""

    name: str
    started: float
    ended: float

    @property
    def seconds(self) -> float:
        return self.ended - self.started


@dataclasses.dataclass
class Run:
    seconds: float  # the whole process
    tasks: list[Task]
    changed: int

    def times(self, name: str) -> list[float]:
        return [task.seconds for task in self.tasks if task.name == name]


def play(name: str, playbook: str | list[dict[str, t.Any]], inventory: Path, *arguments: str) -> Run:
    """Run a playbook of the collection, or plays; the output goes to `name`.log."""
    if not isinstance(playbook, str):
        path = LOGS / f"{name}.json"
        path.write_text(json.dumps(playbook, indent=1))
        playbook = str(path)
    log = LOGS / f"{name}.log"
    command = [str(Path(sys.executable).with_name("ansible-playbook")), "-i", str(inventory), *arguments, playbook]
    with log.open("w") as output:
        started = time.monotonic()
        code = subprocess.run(
            command,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            env={**os.environ, **_ENVIRONMENT},
            check=False,
        ).returncode
        seconds = time.monotonic() - started
    run = _read(log, seconds)
    if code:
        raise RuntimeError(f"ansible-playbook {playbook} returned {code}: {_failures(log)}; read {log}")
    return run


def answers(name: str, task: str) -> list[dict[str, t.Any]]:
    """What the hosts said to one task of the run `name`."""
    return [
        result
        for event in _events(LOGS / f"{name}.log")
        if event["_event"] == "v2_runner_on_ok" and event["task"]["name"] == task
        for result in event["hosts"].values()
    ]


def _events(log: Path) -> t.Iterator[dict[str, t.Any]]:
    for line in log.read_text().splitlines():
        if line.startswith("{"):
            yield json.loads(line)


def _read(log: Path, seconds: float) -> Run:
    tasks: dict[str, Task] = {}
    changed = 0
    for event in _events(log):
        for result in event.get("stats", {}).values():
            changed += result["changed"]
        # A task of a loop over include_tasks keeps its id, so the start is a part of the key.
        if "task" in event:
            duration = event["task"]["duration"]
            start, end = duration["start"], duration.get("end", duration["start"])
            task = tasks.setdefault(start, Task(event["task"]["name"], _seconds(start), 0))
            task.ended = max(task.ended, _seconds(end))
    return Run(seconds, list(tasks.values()), changed)


def _seconds(text: str) -> float:
    return datetime.datetime.fromisoformat(text.rstrip("Z")).timestamp()


def _failures(log: Path) -> str:
    words = [
        f"{host}: {event['task']['name']}: {result.get('msg')}"
        for event in _events(log)
        if event["_event"] in ("v2_runner_on_failed", "v2_runner_on_unreachable")
        for host, result in event["hosts"].items()
    ]
    return "; ".join(words[:3]) or "".join(log.read_text()[-1000:])

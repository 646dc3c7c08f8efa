"""Run one playbook as an operator would, and print as JSON what happened: which task changed which host, who failed and why.

Used by tasks/run.yml. It can also kill the run (SIGKILL, with all its processes) as soon as a given task starts: no cleanup of any kind.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import signal
import subprocess
import sys
import threading
import time
import typing as t
from pathlib import Path

# Action plugins that do their work on the control node
LOCAL = frozenset({"assert", "debug", "fail", "include_role", "include_tasks", "set_fact", "validate_argument_spec"})


class Summary:
    """What changed, failed or was unreachable in one run, collected from its events, and which modules were executed on each host."""

    def __init__(self) -> None:
        self.changed: set[str] = set()
        self.failed: list[str] = []
        self.unreachable: set[str] = set()
        self.messages: list[str] = []
        self.modules: dict[str, list[str]] = {}

    def add(self, event: dict[str, t.Any]) -> None:
        kind = event["_event"]
        task = event.get("task", {}).get("name", "").rpartition(" : ")[2]
        for host, result in event.get("hosts", {}).items():
            if kind == "v2_runner_on_unreachable":
                self.unreachable.add(host)
            elif kind == "v2_runner_on_failed":
                self.failed.append(f"{host}: {task}: {_message(result)}")
            elif kind == "v2_runner_on_ok":
                self._add_module(host, result.get("action", "").rpartition(".")[2])
                if result.get("changed"):
                    self.changed.add(f"{host}: {task}")
                self.messages.extend(str(warning) for warning in result.get("warnings", []))
                if result.get("action", "").endswith("debug") and "msg" in result:
                    self.messages.extend(result["msg"] if isinstance(result["msg"], list) else [result["msg"]])
                if result.get("action", "").startswith("c5c3.ovn."):  # what a step prints itself, it returns as well
                    for printed in result.get("results", [result]):  # of a loop there is one for each item
                        self.messages.extend(printed.get("lines", []))

    def _add_module(self, host: str, name: str) -> None:
        if name not in LOCAL:
            self.modules.setdefault(host, []).append(name)

    def as_dict(self) -> dict[str, t.Any]:
        return {
            "changed": sorted(self.changed),
            "failed": self.failed,
            "unreachable": sorted(self.unreachable),
            "messages": self.messages,
            "modules": self.modules,
        }


def _message(result: dict[str, t.Any]) -> str:
    """Return the message of a task; that of a loop only says that some items failed, so theirs are joined."""
    failed = [item for item in result.get("results", []) if item.get("failed")]
    return "; ".join(str(item.get("msg", item)) for item in failed or [result])


def events(lines: t.Iterable[str], log: t.TextIO) -> t.Iterator[dict[str, t.Any]]:
    for line in lines:
        log.write(line)
        log.flush()
        if line.startswith("{"):
            yield json.loads(line)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--log", type=Path, required=True, help="folder for the log of the run")
    parser.add_argument("--kill-at", metavar="TASK", help="kill the run when a task starts whose name starts with this")
    parser.add_argument("--occurrence", type=int, default=1, help="not the first time, but the n-th")
    parser.add_argument("--delay", type=float, default=0, help="seconds to wait before the kill")
    parser.add_argument("--timeout", type=float, default=400, help="seconds until the run is given up")
    parser.add_argument("arguments", nargs=argparse.REMAINDER, help="for ansible-playbook, after --")
    options = parser.parse_args()
    arguments = options.arguments[1:]

    options.log.mkdir(parents=True, exist_ok=True)
    words = [re.sub(r"[^\w.=-]", "", Path(word).name) for word in arguments if not word.startswith("--inventory")]
    path = options.log / f"{time.strftime('%H%M%S')}-{os.getpid()}-{'_'.join(words)[:80]}.jsonl"
    summary, occurrences, started = Summary(), 0, time.monotonic()
    with path.open("w") as log:
        run = subprocess.Popen(
            [str(Path(sys.executable).with_name("ansible-playbook")), *arguments],
            env=os.environ
            | {"ANSIBLE_STDOUT_CALLBACK": "ansible.posix.jsonl", "ANSIBLE_NOCOLOR": "1", "ANSIBLE_FORCE_COLOR": "0"},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            start_new_session=True,  # a process group of its own, to be killed as a whole
        )

        def kill() -> None:
            os.killpg(run.pid, signal.SIGKILL)

        watchdog = threading.Timer(options.timeout, kill)
        watchdog.start()
        assert run.stdout is not None
        signal.signal(signal.SIGTERM, lambda *_: sys.exit("stopped"))
        try:
            for event in events(run.stdout, log):
                summary.add(event)
                task = event.get("task", {}).get("name", "")
                if (
                    event["_event"] == "v2_playbook_on_task_start"
                    and options.kill_at
                    and task.rpartition(" : ")[2].startswith(options.kill_at)
                ):
                    occurrences += 1
                    if occurrences == options.occurrence:
                        time.sleep(options.delay)  # in the midst of the task
                        kill()
            rc = run.wait()
        finally:
            watchdog.cancel()
            if run.poll() is None:  # a signal to this process means the playbook, too
                kill()
    result = {"rc": rc, "seconds": round(time.monotonic() - started, 1), "log": str(path), **summary.as_dict()}
    print(json.dumps(result, indent=1))
    return 0


if __name__ == "__main__":
    sys.exit(main())

"""What AWX shows of a run: ansible-runner, with which it starts plays, and the events of its callback plugin awx_display."""

from __future__ import annotations

import json
import os
import pathlib
import sys
import typing as t

import ansible_runner
import pytest

pytestmark = pytest.mark.timeout(600)

REPORT = ["OVN is healthy", "Northbound    healthy"]


def test_a_long_wait_and_the_report_are_events(short_dir: pathlib.Path, collection_path: str) -> None:
    lock = {"path": str(short_dir / "run.lock")}
    tasks: list[dict[str, t.Any]] = [
        {"c5c3.ovn.ovn_run_lock": {**lock, "holder": "first", "step": "joining", "seconds": 300}},
        {"c5c3.ovn.ovn_run_lock": {**lock, "holder": "second", "wait_timeout": 13}, "ignore_errors": True},
        {
            "c5c3.ovn.ovn_run_module": {
                "module": "ansible.builtin.wait_for",
                "options": {"path": str(short_dir / "never"), "timeout": 11},
                "waits_for": "a file",
            },
            "ignore_errors": True,
        },
    ]
    project = short_dir / "project"
    project.mkdir()
    report = {"import_playbook": "c5c3.ovn.status", "vars": {"ovn_query": f"`{json.dumps(REPORT)}`"}}
    plays = [{"hosts": "localhost", "gather_facts": False, "tasks": tasks}, report]
    (project / "play.yml").write_text(json.dumps(plays))
    programs = str(pathlib.Path(sys.executable).parent)
    done = ansible_runner.run(
        private_data_dir=str(short_dir),
        playbook="play.yml",
        inventory=(
            f"localhost ansible_connection=local ansible_python_interpreter={sys.executable}\n"
            "[ovn_central]\ndb1 ansible_host=127.0.0.1 ansible_port=1\n"
        ),
        envvars={
            "PATH": f"{programs}:{os.environ['PATH']}",
            "ANSIBLE_COLLECTIONS_PATH": collection_path,
            "ANSIBLE_NOCOLOR": "1",
        },
        quiet=True,
    )
    printed = [event["stdout"] for event in done.events]
    assert done.rc == 0, printed
    for awaited in ("the run that holds the lock of the control plane", "a file"):
        assert [text for text in printed if f"localhost: waiting for {awaited} (10 s)" in text], printed
    assert [text for text in printed if "Timeout when waiting for file" in text], printed
    assert [text for text in printed if "\r\n".join(REPORT) in text or "\n".join(REPORT) in text], printed

"""Programs of ansible-core as people run them: each in a process of its own, with this checkout as the collection."""

from __future__ import annotations

import contextlib
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import typing as t

from _waits import within

Groups = t.Mapping[str, t.Mapping[str, t.Any]]


def command(*arguments: str, program: str = "ansible-playbook") -> list[str]:
    """The command line of the program that is installed beside the Python of these tests."""
    return [str(pathlib.Path(sys.executable).with_name(program)), *arguments]


def environment(scratch: pathlib.Path, collection_path: str = "", **settings: str) -> dict[str, str]:
    """The environment of a run: its temporary files lie in `scratch`. Without `collection_path` the collection is found as it is installed."""
    collections = {"ANSIBLE_COLLECTIONS_PATH": collection_path} if collection_path else {}
    return {**os.environ, **collections, "ANSIBLE_NOCOLOR": "1", "ANSIBLE_LOCAL_TEMP": str(scratch), **settings}


def run(
    arguments: t.Sequence[str],
    env: t.Mapping[str, str],
    *,
    program: str = "ansible-playbook",
    cwd: pathlib.Path | None = None,
    timeout: float = 180,
) -> subprocess.CompletedProcess[str]:
    """The ended process; whether it failed is for the caller to say. It must not have used what Ansible will remove."""
    done = subprocess.run(
        command(*arguments, program=program),
        cwd=cwd,
        env=env,
        capture_output=True,
        text=True,
        timeout=within(timeout),
        check=False,
    )
    # kubernetes.core itself passes on warnings of an API server in the deprecated way.
    assert "[DEPRECATION WARNING]" not in done.stderr or 'unknown field "' in done.stderr, done.stderr
    return done


def write_inventory(path: pathlib.Path, groups: Groups, **variables: t.Any) -> pathlib.Path:
    """Write an inventory whose hosts are this machine, as far as `variables` (of all) and `groups` name no other; returns its path."""
    local = {"ansible_connection": "local", "ansible_python_interpreter": sys.executable}
    # JSON is YAML, too.
    path.write_text(json.dumps({"all": {"vars": {**local, **variables}, "children": groups}}))
    return path


@contextlib.contextmanager
def northbound_below_run(socket: str) -> t.Iterator[dict[str, t.Any]]:
    """Variables of a central machine whose Northbound member listens at this socket: roles find it below /run, where the distribution has it."""
    folder = pathlib.Path(tempfile.mkdtemp(prefix="c5c3-ovn-test-", dir="/run"))
    try:
        (folder / "ovnnb_db.sock").symlink_to(socket.partition(":")[2])
        yield {"ovn_central_distribution": {"run_directory": str(folder)}}
    finally:
        shutil.rmtree(folder)


def changed_tasks(output: str, host: str) -> list[str]:
    """The names of the tasks that changed something for this host, or would, without those of their roles."""
    tasks = (part.partition("]") for part in output.split("\nTASK [")[1:])
    return [
        name.rpartition(" : ")[2] for name, _sep, rest in tasks if re.search(rf"^changed: \[{host}[] ]", rest, re.M)
    ]

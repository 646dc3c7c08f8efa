"""Central hosts that are this machine: playbooks run in namespaces of their own, with an empty /run and none of the daemons of other tests; systemd is a
stand-in that knows no unit."""

from __future__ import annotations

import dataclasses
import json
import os
import pathlib
import re
import subprocess
import sys
import typing as t

from conftest import within

SYSTEMCTL = """#!/bin/sh
[ "$1" = show ] || exit 0
while [ "$1" != -- ]; do shift; done
shift
for unit; do printf 'Id=%s\\nLoadState=not-found\\nActiveState=inactive\\nMainPID=0\\n\\n' "$unit"; done
"""
SUDO = """#!/bin/sh
shift 2
exec "$@"
"""
NAMESPACES = ("unshare", "--mount", "--net", "--pid", "--fork", "--kill-child", "--mount-proc")
# What is left of locks in /run is told before the namespace ends.
SCRIPT = (
    'mount -t tmpfs none /run; ip link set lo up; eval "$PREPARE"; "$@"; code=$?; '
    'echo "locks: $(tr -d "\n" 2> /dev/null < /run/c5c3-ovn/run.lock)"; exit $code'
)


@dataclasses.dataclass(frozen=True)
class Outcome:
    """What a run printed on one line as `output`, `tasks` by their names, and as `locks` the content of the lock file, empty if nobody holds the lock.
    `recap` has the counts of each host.
    """

    code: int
    output: str
    tasks: tuple[str, ...]
    locks: str
    recap: t.Mapping[str, t.Mapping[str, int]]


class LocalSite:
    """`run("c5c3.ovn.central", "--tags", "pki")`: a playbook of the collection, or a file, with everything that hosts have in a folder."""

    def __init__(self, folder: pathlib.Path, collection_path: str) -> None:
        self.folder, self.collection_path = folder, collection_path
        self.prepare = ""  # commands of the shell, in the namespaces before a run
        for name, content in (("systemctl", SYSTEMCTL), ("sudo", SUDO)):
            (folder / name).write_text(content)
            (folder / name).chmod(0o755)

    def inventory(
        self,
        central: t.Sequence[str],
        hypervisors: t.Sequence[str],
        host_variables: t.Mapping[str, t.Mapping[str, t.Any]],
        **variables: t.Any,
    ) -> str:
        host = f"{self.folder}/{{{{ inventory_hostname }}}}"
        common = {
            "ansible_connection": "local",
            "ansible_python_interpreter": sys.executable,
            "ansible_pipelining": True,
            "ansible_become_exe": str(self.folder / "sudo"),
            "ansible_become_flags": "",
            "ovn_address": "127.0.0.1",
            "ovn_pki_ca_directory": str(self.folder / "ca"),
            "ovn_pki_ca_directory_is_kept": True,
            "ovn_pki_directory": f"{host}/tls",
            "ovn_central_config_directory": f"{host}/etc",
            "ovn_central_database_directory": f"{host}/lib",
            "ovn_central_witness_hosts": [],
            **variables,
        }
        # 127.0.0.1 may be one host's address only
        groups = {
            "ovn_central": {
                "hosts": {
                    name: {"ovn_address": f"127.0.0.{11 + number}", **host_variables.get(name, {})}
                    for number, name in enumerate(central)
                }
            },
            "ovn_hypervisors": {"hosts": {name: host_variables.get(name, {}) for name in hypervisors}},
        }
        file = self.folder / "hosts.yml"
        file.write_text(json.dumps({"all": {"vars": common, "children": groups}}))
        return str(file)

    def run(
        self,
        playbook: str,
        *arguments: str,
        central: t.Sequence[str] = ("c1",),
        hypervisors: t.Sequence[str] = (),
        host_variables: t.Mapping[str, t.Mapping[str, t.Any]] | None = None,
        **variables: t.Any,
    ) -> Outcome:
        inventory = self.inventory(central, hypervisors, host_variables or {}, **variables)
        program = str(pathlib.Path(sys.executable).with_name("ansible-playbook"))
        done = subprocess.run(
            [*NAMESPACES, "sh", "-c", SCRIPT, "sh", program, "-i", inventory, *arguments, playbook],
            capture_output=True,
            text=True,
            timeout=within(900),
            check=False,
            env={
                **os.environ,
                "PATH": f"{self.folder}:{os.environ['PATH']}",
                "PREPARE": self.prepare,
                "ANSIBLE_COLLECTIONS_PATH": self.collection_path,
                "ANSIBLE_BECOME_ALLOW_SAME_USER": "1",
                "ANSIBLE_LOCAL_TEMP": str(self.folder / "tmp"),
                "ANSIBLE_REMOTE_TEMP": str(self.folder / "tmp"),
                "ANSIBLE_DISPLAY_SKIPPED_HOSTS": "0",
                "ANSIBLE_NOCOLOR": "1",
            },
        )
        output = done.stdout + done.stderr
        assert "Traceback" not in output, output
        names = re.findall(r"^TASK \[(?:c5c3\.ovn\.\w+ : )?(.*?)\] \*", done.stdout, re.MULTILINE)
        locks = re.findall(r"^locks: (.*)$", done.stdout, re.MULTILINE)[-1]
        recap = {
            host: {name: int(count) for name, count in re.findall(r"(\w+)=(\d+)", counts)}
            for host, counts in re.findall(
                r"^(\S+)\s*: (ok=.*)$", done.stdout.rpartition("PLAY RECAP")[2], re.MULTILINE
            )
        }
        return Outcome(done.returncode, re.sub(r"\s+", " ", output), tuple(names), locks, recap)

"""Jobs as AWX starts them: ansible-runner on a folder that is laid out as /runner of an execution environment.

A mount namespace makes project and collection read-only, and the home empty. The variables of the environment are those of the job, no others.
"""

from __future__ import annotations

import dataclasses
import json
import pathlib
import shutil
import subprocess
import sys
import typing as t

import yaml
from _waits import within
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ed25519

ROOT = pathlib.Path(__file__).resolve().parents[2]
# $1: the folder; $2: the checkout; then the command
SCRIPT = """
set -e
folder=$1 checkout=$2
shift 2
for path in "$folder/project" "$checkout"; do
    mount --bind "$path" "$path"
    mount -o remount,bind,ro "$path"
done
mount -t tmpfs none "$folder/home"
exec "$@"
"""


@dataclasses.dataclass(frozen=True)
class Job:
    """How a job ended: its code, what it printed, and its artifacts."""

    code: int
    output: str
    artifacts: dict[str, t.Any]


def ssh_key() -> str:
    """A new private key, as a Machine credential has it."""
    form = (serialization.Encoding.PEM, serialization.PrivateFormat.OpenSSH, serialization.NoEncryption())
    return ed25519.Ed25519PrivateKey.generate().private_bytes(*form).decode()


class Layout:
    """`run("status", inventory, …)`: the job of a template."""

    def __init__(self, folder: pathlib.Path, collection_path: str) -> None:
        self.folder, self._collection_path = folder, collection_path
        for name in ("inventory", "env", "home", "artifacts"):
            (folder / name).mkdir()
        shutil.copytree(ROOT / "playbooks", folder / "project" / "playbooks")

    def run(
        self,
        playbook: str,
        inventory: dict[str, t.Any],
        *,
        variables: t.Mapping[str, t.Any] | None = None,
        files: t.Mapping[str, str] | None = None,
        environment: t.Mapping[str, str] | None = None,
        key: str = "",
        check: bool = False,
    ) -> Job:
        """`files`: what credentials inject, by name; `environment` may name them with {NAME}. `key`: of a Machine credential."""
        (self.folder / "inventory" / "hosts.yml").write_text(yaml.safe_dump(inventory), encoding="utf-8")
        injected = {}
        for name, content in (files or {}).items():
            injected[name] = self.folder / "env" / name
            injected[name].write_text(content, encoding="utf-8")
        # The Python of an execution environment has the libraries and is found by itself.
        extra = {"ansible_python_interpreter": sys.executable, **(variables or {})}
        own = {name: value.format(**injected) for name, value in (environment or {}).items()}
        (self.folder / "env" / "extravars").write_text(json.dumps(extra), encoding="utf-8")
        (self.folder / "env" / "cmdline").write_text("--check --diff" if check else "", encoding="utf-8")
        (self.folder / "env" / "envvars").write_text(json.dumps(own), encoding="utf-8")
        if key:
            (self.folder / "env" / "ssh_key").write_text(key, encoding="utf-8")
        programs = pathlib.Path(sys.executable).parent
        base = {
            "HOME": str(self.folder / "home"),
            "PATH": f"{programs}:/usr/sbin:/usr/bin:/sbin:/bin",
            "LANG": "C.UTF-8",
            "ANSIBLE_COLLECTIONS_PATH": self._collection_path,
            "ANSIBLE_NOCOLOR": "1",
            "ANSIBLE_TIMEOUT": "3",
            # As AWX has it: nobody is there to be asked.
            "ANSIBLE_HOST_KEY_CHECKING": "False",
        }
        runner = [
            programs / "ansible-runner",
            "run",
            self.folder,
            "--ident",
            "job",
            "--playbook",
            f"playbooks/{playbook}.yml",
        ]
        done = subprocess.run(
            ["unshare", "--mount", "--propagation", "private", "sh", "-c", SCRIPT, "sh", self.folder, ROOT, *runner],
            env=base,
            cwd="/",
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=within(100),
            check=False,
        )
        return Job(done.returncode, done.stdout + done.stderr, self._artifacts())

    def _artifacts(self) -> dict[str, t.Any]:
        for path in (self.folder / "artifacts" / "job" / "job_events").glob("*.json"):
            event = json.loads(path.read_text(encoding="utf-8"))
            if event.get("event") == "playbook_on_stats":
                artifacts: dict[str, t.Any] = event["event_data"].get("artifact_data") or {}
                return artifacts
        return {}

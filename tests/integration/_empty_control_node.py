"""A control node that has nothing of ours: an empty home, a virtual environment of its own, and in it what docs/install.md says, no more."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import sysconfig
import typing as t
from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).resolve().parents[2]
_INHERITED = ("LANG", "SSL_CERT_FILE", "REQUESTS_CA_BUNDLE", "HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY")


def copy_checkout(target: Path) -> None:
    """Copy what git knows or would add: this folder also holds what tools leave behind."""
    listed = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT,
        check=True,
        capture_output=True,
        text=True,
    ).stdout
    for name in filter(None, listed.split("\0")):
        if (ROOT / name).is_file():
            (target / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, target / name)


class ControlNode:
    """Programs of `home`/ovn/bin run in `project`. `changed` are the changes that the last playbook counted, by host; `report` is what it reported."""

    def __init__(self, home: Path) -> None:
        self.home, self.project = home, home / "project"
        self.project.mkdir(parents=True)
        self.changed: dict[str, int] = {}
        self.output = ""
        own = {name: value for name, value in os.environ.items() if name.upper() in _INHERITED or name[:4] == "PIP_"}
        self._environment = {
            **own,
            "HOME": str(home),
            "PATH": f"{home}/ovn/bin:/usr/sbin:/usr/bin:/sbin:/bin",
            "PIP_CACHE_DIR": own.get("PIP_CACHE_DIR", str(Path.home() / ".cache" / "pip")),
            "ANSIBLE_NOCOLOR": "1",
        }

    def install(self) -> None:
        """The commands of docs/install.md; the collections that ours depends on are made of the package `ansible`, so Galaxy is not asked."""
        python = Path(sys.base_prefix, "bin", f"python{sys.version_info.major}.{sys.version_info.minor}")
        self.run(str(python), "-m", "venv", str(self.home / "ovn"))
        self.run("pip", "install", "--quiet", "ansible-core", "distlib")
        checkout = self.home / "checkout"
        copy_checkout(checkout)
        galaxy = yaml.safe_load((ROOT / "galaxy.yml").read_text(encoding="utf-8"))
        tarballs = [self._build(checkout), *(self._build(self._packaged(name)) for name in galaxy["dependencies"])]
        self.run("ansible-galaxy", "collection", "install", "--offline", *tarballs)
        installed = self.home / ".ansible" / "collections" / "ansible_collections" / "c5c3" / "ovn"
        self.run("pip", "install", "--quiet", "-r", str(installed / "meta" / "ee-requirements.txt"))

    def _packaged(self, name: str) -> Path:
        """A copy of a collection of the package `ansible`, as its authors would build it."""
        folder = self.home / name
        shutil.copytree(Path(sysconfig.get_path("purelib"), "ansible_collections", *name.split(".")), folder)
        manifest = json.loads((folder / "MANIFEST.json").read_text(encoding="utf-8"))["collection_info"]
        kept = ("namespace", "name", "version", "readme", "authors", "description", "dependencies", "repository")
        (folder / "galaxy.yml").write_text(yaml.safe_dump({key: manifest[key] for key in kept}), encoding="utf-8")
        return folder

    def _build(self, folder: Path) -> str:
        made = self.run("ansible-galaxy", "collection", "build", str(folder), "--output-path", str(self.home))
        return re.findall(r"\S+\.tar\.gz", made)[-1]

    def run(self, *command: str, timeout: float = 900) -> str:
        """What a program prints. The test fails if the program does."""
        done = subprocess.run(
            command,
            cwd=self.project,
            # Where the program lies is looked up in this process's PATH otherwise.
            executable=shutil.which(command[0], path=self._environment["PATH"]),
            env=self._environment,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=timeout,
            check=False,
        )
        if done.returncode:
            pytest.fail(
                f"{' '.join(command)} returned {done.returncode}:\n{done.stdout[-9000:]}\n{done.stderr[-3000:]}"
            )
        return done.stdout

    def play(self, playbook: str, *arguments: str) -> str:
        """Run a playbook of the collection on the inventory of the project."""
        output = self.run("ansible-playbook", "-i", "inventory/hosts.yml", f"c5c3.ovn.{playbook}", *arguments)
        recap = output.rpartition("PLAY RECAP")[2]
        self.changed = {host: int(count) for host, count in re.findall(r"^(\S+) .* changed=(\d+)", recap, re.M)}
        return output


def variables(project: Path, values: dict[str, t.Any]) -> None:
    """Write the variables of all hosts, beside the inventory."""
    folder = project / "inventory" / "group_vars"
    folder.mkdir(exist_ok=True)
    (folder / "all.yml").write_text(yaml.safe_dump(values), encoding="utf-8")

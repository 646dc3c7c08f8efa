"""A world of its own for dpkg and apt: database, lists and sources in one folder, tiny packages from a `file:` repository. No network, nothing of the host."""

from __future__ import annotations

import hashlib
import json
import os
import pathlib
import re
import subprocess
import sys
import typing as t

from conftest import run, within

NAMES = ["ovn-host", "openvswitch-switch"]  # what the plays install
_CONFIGURATION = """\
Dir "{root}/";
Dir::State::status "{root}/var/lib/dpkg/status";
APT::Architecture "{architecture}";
APT::Architectures {{ "{architecture}"; }};
APT::Sandbox::User "root";
Acquire::Languages "none";
Acquire::AllowInsecureRepositories "{insecure}";
APT::Get::AllowUnauthenticated "{insecure}";
"""
_QUIET = {"LC_ALL": "C.UTF-8", "DEBIAN_FRONTEND": "noninteractive"}


class AptWorld:
    """`environment` leads dpkg and apt of every child process into it. `add` puts packages into its repository, which `refresh` then reads."""

    def __init__(self, root: pathlib.Path) -> None:
        self.root = root
        self.repository = root / "repository"
        self.sources = root / "etc" / "apt" / "sources.list.d"
        self.lists = root / "var" / "lib" / "apt" / "lists"
        dpkg = root / "var" / "lib" / "dpkg"
        for folder in (
            self.repository,
            self.sources,
            self.lists / "partial",
            root / "var/cache/apt/archives/partial",
            root / "var/log/apt",
            root / "etc/apt/apt.conf.d",
            root / "etc/apt/preferences.d",
            root / "etc/apt/trusted.gpg.d",
            dpkg / "info",
            dpkg / "updates",
            dpkg / "triggers",
        ):
            folder.mkdir(parents=True)
        (dpkg / "status").touch()
        (dpkg / "available").touch()
        self._architecture = run("dpkg", "--print-architecture").strip()
        self.environment = {"APT_CONFIG": str(root / "apt.conf"), "DPKG_ROOT": str(root)}
        self.configure(insecure=True)

    def configure(self, *, insecure: bool) -> None:
        """Say whether apt takes packages of a repository that nobody has signed."""
        (self.root / "apt.conf").write_text(
            _CONFIGURATION.format(root=self.root, architecture=self._architecture, insecure=str(insecure).lower())
        )

    @property
    def source(self) -> dict[str, str]:
        """The repository as the role takes it."""
        return {"uris": f"file:{self.repository}", "suites": "./"}

    def add_source(self) -> None:
        (self.sources / "world.sources").write_text(f"Types: deb\nURIs: file:{self.repository}\nSuites: ./\n")

    def add(self, name: str, version: str, depends: str = "") -> None:
        tree = self.root / "build" / f"{name}_{version}"
        (tree / "DEBIAN").mkdir(parents=True)
        (tree / "usr" / "share" / name).mkdir(parents=True)
        (tree / "usr" / "share" / name / "version").write_text(f"{version}\n")
        control = f"Package: {name}\nVersion: {version}\nArchitecture: all\nMaintainer: nobody <nobody@example.com>\n"
        control += (f"Depends: {depends}\n" if depends else "") + "Description: a package of a test\n"
        (tree / "DEBIAN" / "control").write_text(control)
        target = self.repository / f"{name}_{version.replace(':', '%3a')}_all.deb"
        run("dpkg-deb", "--root-owner-group", "-Znone", "--build", str(tree), str(target))
        data = target.read_bytes()
        entry = f"{control}Filename: ./{target.name}\nSize: {len(data)}\nSHA256: {hashlib.sha256(data).hexdigest()}\n\n"
        with (self.repository / "Packages").open("a") as packages:
            packages.write(entry)

    def release(self, *versions: str) -> None:
        """Add the packages of OVN and Open vSwitch in these versions, bound to one another as Debian's are."""
        for version in versions:
            self.add("ovn-common", version)
            self.add("ovn-host", version, f"ovn-common (= {version}), openvswitch-common")
            self.add("ovn-central", version, f"ovn-common (= {version}), openvswitch-common")
        if not (self.repository / "openvswitch-common_3.1.0-1_all.deb").exists():
            self.add("openvswitch-common", "3.1.0-1")
            self.add("openvswitch-switch", "3.1.0-1", "openvswitch-common (= 3.1.0-1)")

    def call(self, *command: str) -> str:
        done = subprocess.run(
            command,
            capture_output=True,
            text=True,
            timeout=within(60),
            check=False,
            env={**os.environ, **_QUIET, **self.environment},
        )
        assert done.returncode == 0, f"{command}: {done.stdout}{done.stderr}"
        return done.stdout

    def refresh(self) -> None:
        self.call("apt-get", "update")

    def install(self, *specs: str) -> None:
        self.call("apt-get", "--yes", "--allow-downgrades", "--allow-change-held-packages", "install", *specs)

    @property
    def installed(self) -> dict[str, str]:
        """The versions of the installed packages."""
        lines = self.call("dpkg-query", "--show", "--showformat=${db:Status-Status} ${Package} ${Version}\\n")
        return {words[1]: words[2] for words in map(str.split, lines.splitlines()) if words[0] == "installed"}

    @property
    def held(self) -> list[str]:
        return sorted(self.call("apt-mark", "showhold").split())

    def fingerprint(self) -> dict[str, t.Any]:
        """What an installation or a refresh would change."""
        files = [path for folder in ("etc", "var/lib") for path in (self.root / folder).rglob("*") if path.is_file()]
        return {str(path): path.stat().st_mtime_ns for path in files if path.name not in ("lock", "lock-frontend")}


def request_of(names: list[str] | str, **more: t.Any) -> dict[str, t.Any]:
    """What a role asks of ovn_packages."""
    return {"names": names, "downgrade_option": "ovn_permit=downgrade", **more}


class Play:
    """Plays on this host, as ansible-playbook runs them. `changed` are the names of the tasks that changed something."""

    def __init__(self, world: AptWorld, collection_path: str) -> None:
        self.world, self.collection_path = world, collection_path
        self.prefix: list[str] = []  # a command that starts ansible-playbook
        self.changed: list[str] = []
        self.output = ""

    def __call__(self, *arguments: str, request: t.Mapping[str, t.Any] | None = None, **variables: t.Any) -> bool:
        """Run the role ovn_packages; the answer says whether that went well."""
        return self.run(
            [{"hosts": "all", "gather_facts": False, "roles": ["c5c3.ovn.ovn_packages"]}],
            *arguments,
            _ovn_packages_request=request_of(NAMES, **(request or {})),
            **variables,
        )

    def run(self, plays: list[dict[str, t.Any]], *arguments: str, **variables: t.Any) -> bool:
        playbook = self.world.root / "play.yml"
        playbook.write_text(json.dumps(plays))
        options = {
            "ansible_connection": "local",
            "ansible_python_interpreter": "/usr/bin/python3",
            "_ovn_packages_source_directory": str(self.world.sources),
            **variables,
        }
        inventory = f"{variables.get('hosts', 'h1')},"
        temporary = str(self.world.root / "tmp")
        done = subprocess.run(
            [
                *self.prefix,
                str(pathlib.Path(sys.executable).with_name("ansible-playbook")),
                "-i",
                inventory,
                "-e",
                json.dumps(options),
                *arguments,
                str(playbook),
            ],
            capture_output=True,
            text=True,
            timeout=within(180),
            check=False,
            env={
                **os.environ,
                "ANSIBLE_COLLECTIONS_PATH": self.collection_path,
                "ANSIBLE_LOCAL_TEMP": temporary,
                "ANSIBLE_REMOTE_TEMP": temporary,
                "ANSIBLE_NOCOLOR": "1",
                "ANSIBLE_CALLBACK_RESULT_FORMAT": "yaml",
            },
        )
        self.output = done.stdout + done.stderr
        tasks = re.findall(
            r"^TASK \[(?:c5c3.ovn.ovn_packages : )?(.*?)\] \*+\n(.*?)(?=^TASK|^PLAY|\Z)", done.stdout, re.S | re.M
        )
        self.changed = [name for name, results in tasks if re.search(r"^changed: ", results, re.M)]
        return done.returncode == 0

"""What users install: the tarball, in a place that has nothing else of ours, finds all it needs there and works."""

from __future__ import annotations

import json
import os
import pathlib
import subprocess
import sys
import sysconfig
import tarfile
import typing as t

import pytest
import yaml
from _awx_server import TOKEN, Awx, serving
from _empty_control_node import copy_checkout
from conftest import MakeCluster

pytestmark = pytest.mark.timeout(300)

ROOT = pathlib.Path(__file__).resolve().parents[2]
BIN = pathlib.Path(sys.executable).parent
GALAXY = yaml.safe_load((ROOT / "galaxy.yml").read_text(encoding="utf-8"))


@pytest.fixture(scope="module")
def tarball(tmp_path_factory: pytest.TempPathFactory) -> pathlib.Path:
    folder = tmp_path_factory.mktemp("built")
    copy_checkout(folder / "checkout")
    subprocess.run(
        [BIN / "ansible-galaxy", "collection", "build", "--output-path", folder],
        cwd=folder / "checkout",
        check=True,
        capture_output=True,
    )
    return folder / f"c5c3-ovn-{GALAXY['version']}.tar.gz"


class Installed:
    """A collections path with the tarball and the collections that it depends on, and no other way to a collection."""

    def __init__(self, folder: pathlib.Path, tarball: pathlib.Path) -> None:
        self.path = folder / "collections"
        self._environment = {
            **{name: value for name, value in os.environ.items() if not name.startswith(("ANSIBLE_", "PYTHONPATH"))},
            "HOME": str(folder),
            "ANSIBLE_HOME": str(folder / "ansible"),
            "ANSIBLE_COLLECTIONS_PATH": str(self.path),
            "ANSIBLE_COLLECTIONS_SCAN_SYS_PATH": "false",
            "ANSIBLE_NOCOLOR": "1",
        }
        self.run(
            "ansible-galaxy", "collection", "install", str(tarball), "--no-deps", "--collections-path", str(self.path)
        )
        packaged = pathlib.Path(sysconfig.get_path("purelib"), "ansible_collections")
        for name in GALAXY["dependencies"]:
            namespace, collection = name.split(".")
            (self.path / "ansible_collections" / namespace).mkdir(exist_ok=True)
            (self.path / "ansible_collections" / namespace / collection).symlink_to(packaged / namespace / collection)

    def run(self, program: str, *arguments: str) -> str:
        done = subprocess.run(
            [BIN / program, *arguments], env=self._environment, capture_output=True, text=True, timeout=200, check=False
        )
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout


@pytest.fixture(scope="module")
def installed(tarball: pathlib.Path, tmp_path_factory: pytest.TempPathFactory) -> Installed:
    return Installed(tmp_path_factory.mktemp("installed"), tarball)


def test_it_has_what_users_read_and_nothing_of_the_workshop(tarball: pathlib.Path) -> None:
    with tarfile.open(tarball) as archive:
        names = {name for name in archive.getnames() if not archive.getmember(name).isdir()}
    wanted = {
        "README.md",
        "meta/ee-requirements.txt",
        "docs/first-hosts.md",
        "docs/architecture.svg",
        "plugins/modules/ovn_chassis.py",
    }
    wanted |= {str(path.relative_to(ROOT)) for path in ROOT.glob("roles/*/README.md")}
    wanted |= {str(path.relative_to(ROOT)) for path in ROOT.glob("playbooks/**/*.yml")}
    wanted |= {str(path.relative_to(ROOT)) for path in ROOT.glob("examples/*/inventory/*.yml")}
    wanted |= {str(path.relative_to(ROOT)) for path in ROOT.glob("awx/**/*.yml")}
    assert wanted - names == set()
    unwanted = ("tests/", "docs/site/", "molecule/", ".ci/", "requirements/", "changelogs/fragments/")
    assert {name for name in names if name.startswith(unwanted)} - {"tests/config.yml"} == set()


def test_every_playbook_finds_its_roles_modules_and_filters(installed: Installed) -> None:
    inventory = ROOT / "examples" / "five-machines" / "inventory" / "hosts.yml"
    playbooks = [f"c5c3.ovn.{path.stem}" for path in sorted(ROOT.glob("playbooks/*.yml"))]
    installed.run("ansible-playbook", "-i", str(inventory), *playbooks, "--syntax-check")
    tasks = installed.run("ansible-playbook", "-i", str(inventory), "c5c3.ovn.site", "--list-tasks")
    plays = ["Roll out the control plane", "Roll out the hypervisors", "Verify the installation"]
    positions = [tasks.index(f": {play}\t") for play in plays]
    assert positions == sorted(positions)


def test_a_playbook_runs_to_its_end(installed: Installed) -> None:
    """Without a machine: the control plane of this inventory is elsewhere, so nothing is asked."""
    inventory = ROOT / "examples" / "hypervisors-only" / "inventory" / "hosts.yml"
    output = installed.run("ansible-playbook", "-i", str(inventory), "c5c3.ovn.status")
    assert "failed=0" in output
    assert "OVN is healthy" not in output


def test_it_has_the_data_for_awx(installed: Installed) -> None:
    with serving(Awx(())) as awx:
        awx.add("organizations", name="Default")
        variables = {
            "ovn_awx_controller": {"host": awx.host, "token": TOKEN},
            "ovn_awx_image": "registry.example.com/ovn-ee:1",
        }
        python = {"ansible_python_interpreter": sys.executable}
        output = installed.run("ansible-playbook", "c5c3.ovn.awx", "--check", "-e", json.dumps({**variables, **python}))
    assert 'created job template "OVN site"' in output
    assert TOKEN not in output


def test_a_module_of_it_asks_a_real_database(installed: Installed, raft_cluster: MakeCluster) -> None:
    cluster = raft_cluster(1)
    arguments: dict[str, t.Any] = {"database": "northbound", "control_sockets": cluster.control_sockets}
    output = installed.run(
        "ansible",
        *("localhost", "-m", "c5c3.ovn.ovn_raft_status", "-a", json.dumps(arguments)),
        *("-e", json.dumps({"ansible_connection": "local", "ansible_python_interpreter": sys.executable})),
    )
    assert '"verdict": "healthy"' in output

"""The adoption on machines with systemd and Debian's own units: the story `adopted` of molecule, on three machines that no other test run shares."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import typing as t
from pathlib import Path

import pytest

pytestmark = pytest.mark.own_machines
ROOT = Path(__file__).resolve().parents[2]
MACHINES = ROOT / "tests" / "testbed" / "machines"
NETWORK, OCTETS = "203.0.113", {"central1": 91, "central2": 92, "central3": 93}


@pytest.fixture(params=["trixie", "bookworm"])
def scenario(request: pytest.FixtureRequest) -> t.Iterator[dict[str, str]]:
    """A folder as of a scenario of molecule, with an inventory of three machines that run; the environment of its stories."""
    if os.geteuid() != 0:
        pytest.skip("!!! NOT TESTED HERE: the adoption boots machines, that needs root")
    with tempfile.TemporaryDirectory(prefix="c5c3-adopt-", dir="/var/tmp", ignore_cleanup_errors=True) as folder:
        home = Path(folder)
        environment = {
            **os.environ,
            "MACHINES_STATE": str(home / "state"),
            "MACHINES_NAMESPACE": f"ad{os.getpid()}",
            "MACHINES_NETWORK": NETWORK,
            "MOLECULE_SCENARIO_DIRECTORY": str(home / "adoption"),
            "MOLECULE_SCENARIO_NAME": "adoption",
            "MOLECULE_PROJECT_DIRECTORY": str(home),
            "ANSIBLE_LOCALHOST_WARNING": "false",
        }
        (home / "adoption" / "inventory").mkdir(parents=True)
        (home / "shared").symlink_to(ROOT / "molecule" / "shared")
        hosts = "".join(f"    {name}: {{ansible_host: {NETWORK}.{octet}}}\n" for name, octet in OCTETS.items())
        suite = str(request.param)
        inventory = f"all: {{vars: {{machines_suite: {suite}}}}}\novn_central:\n  hosts:\n{hosts}"
        (home / "adoption" / "inventory" / "machines.yml").write_text(inventory)

        def machines(*words: str) -> None:
            subprocess.run([MACHINES, *words], env=environment, check=True, capture_output=True, timeout=900)

        try:
            machines("up", *(f"{name}={octet}:{suite}" for name, octet in OCTETS.items()))
            yield environment
        finally:
            machines("down")


def test_the_adopted_story(scenario: dict[str, str]) -> None:
    folder = Path(scenario["MOLECULE_SCENARIO_DIRECTORY"])
    command = [
        str(Path(sys.executable).with_name("ansible-playbook")),
        f"--inventory={folder}/inventory/machines.yml",
        f"--inventory={folder}/../shared/inventory/vars.yml",
        str(folder.parent / "shared" / "stories" / "adopted.yml"),
    ]
    done = subprocess.run(command, env=scenario, check=False, capture_output=True, text=True, timeout=2700)
    if done.returncode:
        pytest.fail(f"the story returned {done.returncode}:\n{done.stdout[-12000:]}\n{done.stderr[-2000:]}")

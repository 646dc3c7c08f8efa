"""What `make sandbox` and `make sandbox-down` run, as a user would: from nothing, again, and away."""

from __future__ import annotations

import os
import pathlib
import re
import subprocess
import typing as t

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
SANDBOX = ROOT / "tests" / "testbed" / "sandbox"


@pytest.fixture(params=["ipv4", pytest.param("ipv6", marks=pytest.mark.own_machines)])
def family(request: pytest.FixtureRequest) -> str:
    """That of all addresses: of SSH, OVN and the tunnels. Machines with IPv6 have no other."""
    return str(request.param)


@pytest.fixture
def sandbox(tmp_path: pathlib.Path, family: str) -> t.Iterator[t.Callable[[str], str]]:
    """Run a verb of the sandbox with a folder, machines and a network of its own; all of it is gone after the test."""
    if os.geteuid() != 0:
        pytest.skip("!!! NOT TESTED HERE: the sandbox boots machines, that needs root")
    environment = {
        **os.environ,
        "SANDBOX_FOLDER": str(tmp_path / "sandbox"),
        "MACHINES_STATE": f"/var/tmp/c5c3-ovn-test-{family}",
        "MACHINES_NAMESPACE": f"t{family}",
        "MACHINES_FAMILY": family,
        "MACHINES_NETWORK": "203.0.113",
    }

    def run(verb: str) -> str:
        done = subprocess.run(
            [str(SANDBOX), verb], env=environment, capture_output=True, text=True, timeout=900, check=False
        )
        if done.returncode:
            logs = "".join(log.read_text()[-3000:] for log in sorted((tmp_path / "sandbox").glob("*.log")))
            pytest.fail(f"sandbox {verb} returned {done.returncode}:\n{done.stdout}{done.stderr}\n{logs}")
        return done.stdout

    def down() -> None:
        subprocess.run([str(SANDBOX), "down"], env=environment, capture_output=True, timeout=120, check=False)

    down()  # a run that was killed may have left machines
    try:
        yield run
    finally:
        down()


def test_sandbox_from_nothing_again_and_away(
    sandbox: t.Callable[[str], str], tmp_path: pathlib.Path, family: str
) -> None:
    first = sandbox("up")
    assert "OVN is healthy" in first
    for line in ("Northbound .* 3/3 members", "Southbound .* 3/3 members", "Chassis .* 2/2 alive"):
        assert re.search(line, first), f"{line} is not in the report:\n{first}"
    tunnel = {"ipv4": "172.31.0.22", "ipv6": "fd31::22"}[family]
    assert re.search(rf"hypervisor1 -> hypervisor2: 5 of 5 answers.*geneve tunnel to {tunnel}", first)
    assert ("ssl:[2001:db8:203:0:113::11]:6641" in first) is (family == "ipv6")
    assert not re.search(r"ok, 0 changed", first)

    again = sandbox("up")
    assert re.findall(r"ok, (\d+) changed", again) == ["0", "0"], again
    assert (tmp_path / "sandbox" / "inventory.yml").exists()

    sandbox("down")
    assert not (tmp_path / "sandbox").exists()
    assert not pathlib.Path(f"/run/netns/t{family}").exists()
    assert not pathlib.Path(f"/var/tmp/c5c3-ovn-test-{family}").exists()

"""The command of a container that pulls an image: it runs on, or says what the image lacks."""

from __future__ import annotations

import os
import pathlib
import shutil
import subprocess

import pytest

from ansible_collections.c5c3.ovn.plugins.module_utils._api.spec import parse_spec
from ansible_collections.c5c3.ovn.plugins.module_utils._manifests.image_contract import (
    LACKS,
    guard_command,
    required_names,
)


@pytest.fixture
def image(tmp_path: pathlib.Path) -> pathlib.Path:
    """A search path with a shell and two programs. `sleep` ends at once here."""
    for name in ("sh", "ovs-vsctl"):
        (tmp_path / name).symlink_to(shutil.which("sh") or "/bin/sh")
    (tmp_path / "sleep").write_text("#!/bin/sh\n")
    (tmp_path / "sleep").chmod(0o755)
    return tmp_path


def run(image: pathlib.Path, *names: str) -> tuple[int, str]:
    """Exit status, and what a kubelet would read as the termination message."""
    message = image / "message"
    command = [word.replace("/dev/termination-log", str(message)) for word in guard_command(names)]
    done = subprocess.run(command, env={**os.environ, "PATH": str(image)}, check=False, timeout=10)
    return done.returncode, message.read_text() if message.exists() else ""


def test_an_image_with_everything_runs_on(image: pathlib.Path) -> None:
    assert run(image, "sh", "sleep", "ovs-vsctl", str(image)) == (0, "")


def test_what_is_missing_is_said(image: pathlib.Path) -> None:
    found = run(image, "sh", "ovn-controller", "ovs-vsctl", "/usr/share/nothing.ovsschema")
    assert found == (LACKS, "ovn-controller /usr/share/nothing.ovsschema\n")


def test_nothing_is_asked_of_an_image_that_nobody_knows(image: pathlib.Path) -> None:
    assert run(image) == (0, "")


def test_what_is_needed_follows_the_specification() -> None:
    def names(image: str = "agent", **spec: object) -> set[str]:
        return set(required_names("hypervisors", image, parse_spec(dict(spec), name="ovn", namespace="net")))

    def of_agent(**spec: object) -> set[str]:
        return set(required_names("hypervisors", "metadata", parse_spec(dict(spec), name="ovn", namespace="net")))

    assert {"neutron-ovn-metadata-agent", "haproxy"} <= of_agent()
    assert "neutron-ovn-agent" not in of_agent()
    other = of_agent(metadataAgent={"program": "neutron-ovn-agent"})
    assert other ^ of_agent() == {"neutron-ovn-agent", "neutron-ovn-metadata-agent"}
    assert "neutron-ovn-agent" in other
    assert "iptables-restore" not in of_agent()
    assert "iptables-restore" in of_agent(ovs={"datapathType": "netdev"})
    assert "ovn-controller" in names("ovn")
    assert "python3>=3.9" in names()
    assert "openssl" not in names()
    assert "openssl" in names(tls={"nodeCertificates": "own"})

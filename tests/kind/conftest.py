"""Fixtures of the tests on two kind clusters; `make test-kind` makes the clusters and calls pytest."""

from __future__ import annotations

import shutil
import typing as t

import pytest
from clusters import (
    CENTRAL,
    FOLDER,
    HYPERVISORS,
    LOGS,
    SCHEMAS,
    Guest,
    client,
    hypervisor_nodes,
    playbook,
    wait_for,
    wait_whole,
)

_SWITCH = "kindtest"


@pytest.fixture(scope="session", autouse=True)
def rolled_out() -> None:
    """Both clusters with OVN on them, whatever they went through before."""
    missing = [tool for tool in ("kubectl", "docker", "nsenter", "ip", "ping") if shutil.which(tool) is None]
    missing += [str(FOLDER / name) for name in ("inventory.yml",) if not (FOLDER / name).exists()]
    if missing:
        pytest.exit(f"missing: {', '.join(missing)}. Run these tests as `make test-kind`", returncode=1)
    for cluster in (CENTRAL, HYPERVISORS):
        cluster.kubectl("get", "--raw", "/readyz")
    LOGS.mkdir(exist_ok=True)
    playbook("site")


@pytest.fixture
def healthy_after() -> t.Iterator[None]:
    """Afterwards both databases are whole by themselves or by one more run: a test must not spoil the next one."""
    yield
    try:
        for database in SCHEMAS:
            wait_whole(database, timeout=60)
    except AssertionError:
        playbook("site")
        raise


@pytest.fixture
def guests() -> t.Iterator[tuple[Guest, Guest]]:
    """A guest on each of two nodes; they reach each other through the tunnel."""
    client("northbound", "--may-exist", "ls-add", _SWITCH)
    pair = tuple(Guest(node, number) for number, node in enumerate(sorted(hypervisor_nodes())[:2], 1))
    try:
        for guest in pair:
            guest.plug(_SWITCH)
        wait_for("the guests reach each other", lambda: pair[0].answered(pair[1]), 60)
        yield pair[0], pair[1]
    finally:
        for guest in pair:
            guest.unplug()
        client("northbound", "--if-exists", "ls-del", _SWITCH)

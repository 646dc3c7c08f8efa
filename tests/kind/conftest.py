"""Fixtures of the tests on two kind clusters; `make test-kind` makes the clusters and calls pytest."""

from __future__ import annotations

import shutil
import typing as t

import pytest
from clusters import CENTRAL, FOLDER, HYPERVISORS, LOGS, SCHEMAS, playbook, wait_whole


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

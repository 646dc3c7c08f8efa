"""The condition CertificateValid, from certificates that real members serve."""

from __future__ import annotations

import datetime
import pathlib
import typing as t

import pytest
from conftest import RaftCluster, until
from test_observer import World

from ansible_collections.c5c3.ovn.plugins.module_utils._databases import DATABASES
from ansible_collections.c5c3.ovn.plugins.module_utils._kubernetes.timestamps import parse_timestamp

if t.TYPE_CHECKING:
    from _apiserver import ApiServer
    from conftest import MakeCluster, Pki


@pytest.fixture
def world(
    api_server: ApiServer, namespace: str, raft_cluster: MakeCluster, short_dir: pathlib.Path, pki: Pki
) -> t.Iterator[World]:
    clusters = {database: raft_cluster(1, database, tls=pki) for database in DATABASES}
    made = World(api_server, namespace, short_dir / "world", clusters)
    made.prepare()
    try:
        yield made
    finally:
        made.stop()


def serve(cluster: RaftCluster, pki: Pki, days: float) -> None:
    """Restart the only member with a certificate that ends in so many days."""
    (member,) = cluster.members
    member.kill()
    member.tls = pki.issue(f"ends-{days}", days=days)
    member.start(wait=days > 0)


def observed_days(world: World) -> float:
    end = parse_timestamp(world.status["certificateNotAfter"])
    return (end - datetime.datetime.now(datetime.timezone.utc)).total_seconds() / 86400


def test_certificates_that_end(world: World, pki: Pki) -> None:
    northbound, southbound = (world.clusters[name] for name in ("northbound", "southbound"))
    for days, reason, status in ((300, "Valid", "True"), (10, "ExpiresSoon", "True"), (-1, "Expired", "False")):
        serve(northbound, pki, 400)
        serve(southbound, pki, days)
        observer = world.observe()
        until(lambda reason=reason: world.condition("CertificateValid").get("reason") == reason, reason, timeout=40)
        condition = world.condition("CertificateValid")
        assert condition["status"] == status
        assert southbound.endpoints[0] in condition["message"]
        assert observed_days(world) == pytest.approx(days, abs=0.1)
        observer.kill()

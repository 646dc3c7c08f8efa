"""The condition CertificateValid, from certificates that real members serve, and from CAs in files."""

from __future__ import annotations

import dataclasses
import datetime
import json
import pathlib
import typing as t

import pytest
from _pki import Pki
from conftest import RaftCluster, until
from test_observer import NAME, World

from ansible_collections.c5c3.ovn.plugins.module_utils._base.databases import DATABASES
from ansible_collections.c5c3.ovn.plugins.module_utils._kubernetes.timestamps import parse_timestamp

if t.TYPE_CHECKING:
    from _apiserver import ApiServer
    from conftest import MakeCluster, RunModule


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


def test_authorities_that_end(world: World, pki: Pki, short_dir: pathlib.Path) -> None:
    southbound, bundle = world.clusters["southbound"], short_dir / "client-ca.crt"
    ended, soon, later = (Pki(short_dir / f"ends-{days}", days=days) for days in (-1, 20, 300))

    def put(file: pathlib.Path, *pkis: Pki) -> None:
        texts = [pathlib.Path(one.ca_certificate).read_bytes() for one in pkis]
        file.write_bytes(b"".join(texts))

    def expect(status: str, reason: str, *parts: str) -> None:
        def reached() -> bool:
            found = world.condition("CertificateValid")
            return (found.get("status"), found.get("reason")) == (status, reason) and all(
                p in found["message"] for p in parts
            )

        until(reached, f"{reason} {parts}", timeout=30)

    put(bundle, pki, later)
    world.observe(OVN_CLIENT_CA_CERTIFICATE=str(bundle), OVN_CERTIFICATE_SECONDS="1")
    expect("True", "ExpiresSoon")  # the certificates of the members
    for database in DATABASES:
        serve(world.clusters[database], pki, 300)
    expect("True", "Valid")
    put(bundle, pki, soon)
    expect("True", "CAExpiresSoon", "chassis bundle", "c5c3.ovn.rotate")
    put(bundle, pki, ended)
    expect("False", "CAExpired", "All CAs in the chassis bundle have expired")
    put(bundle, pki, ended, later)
    expect("True", "RotationUnfinished", "chassis bundle")
    put(bundle, pki, later)
    expect("True", "Valid")

    put(pathlib.Path(pki.ca_certificate), pki, ended)
    expect("True", "RotationUnfinished", "central bundle")
    (member,) = southbound.members
    member.kill()
    member.tls = dataclasses.replace(ended.issue("old", days=300), ca_certificate=pki.ca_certificate)
    member.start(wait=False)
    expect("False", "CAExpired", f"signed the certificate at {southbound.endpoints[0]}. Clients refuse it.")


def test_certificates_of_chassis_that_end(world: World, pki: Pki, run_module: RunModule) -> None:
    """What a run writes beside the OVNCluster, as the pod mounts it."""
    for database in DATABASES:
        serve(world.clusters[database], pki, 300)
    mounted = world.folder / "issued-certificates.json"
    world.observe(OVN_ISSUED_CERTIFICATES=str(mounted), OVN_CERTIFICATE_SECONDS="1")
    until(lambda: world.condition("CertificateValid").get("reason") == "Valid", "no list yet", timeout=40)
    soon = datetime.datetime.now(datetime.timezone.utc) + datetime.timedelta(days=20)
    certificate = {"kind": "chassis", "issuer": "CA", "serial_number": "1f", "not_after": f"{soon:%Y-%m-%dT%H:%M:%SZ}"}
    certificates = [{**certificate, "holder": f"rack{number:02}"} for number in range(17)]
    place = {"kubeconfig": world.api.kubeconfig, "namespace": world.namespace, "cluster": NAME}
    assert run_module("ovn_issued_certificates", {**place, "certificates": certificates})["changed"]
    stored = json.loads(world.api.request("GET", f"{world.core}/configmaps/{NAME}-issued-certificates"))
    assert [owner["name"] for owner in stored["metadata"]["ownerReferences"]] == [NAME]
    for name, text in stored["data"].items():
        (world.folder / name).write_text(text)
    reason = "ChassisCertificateExpiresSoon"
    until(lambda: world.condition("CertificateValid").get("reason") == reason, reason, timeout=40)
    condition = world.condition("CertificateValid")
    assert condition["status"] == "True"
    assert f"rack04 ({certificate['not_after']}) and 12 more." in condition["message"]

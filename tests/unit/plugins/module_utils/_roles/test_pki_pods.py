"""Which Southbound members refuse certificates of the chassis CA."""

from __future__ import annotations

import typing as t

import pytest

from ansible_collections.c5c3.ovn.plugins.module_utils._api.names import labels
from ansible_collections.c5c3.ovn.plugins.module_utils._api.spec import parse_spec
from ansible_collections.c5c3.ovn.plugins.module_utils._databases import Database
from ansible_collections.c5c3.ovn.plugins.module_utils._manifests.pods import member_tls_files
from ansible_collections.c5c3.ovn.plugins.module_utils._roles.pki_pods import unready_members

Object = dict[str, t.Any]
HOSTS: Object = {"plane": {}, "other": {"ovn_cluster_name": "second"}}


def pod(
    database: Database = "southbound",
    bundle: bool = False,
    cluster: str = "ovn",
    phase: str = "Running",
    **metadata: str,
) -> Object:
    tls = {
        "enabled": True,
        "certSecretRef": {"name": "ovn-tls"},
        **({"southboundClientCaKey": "client-ca.crt"} if bundle else {}),
    }
    files = member_tls_files(parse_spec({"tls": tls}, name=cluster, namespace="x"), database)
    env = [
        {"name": "OVN_PRIVATE_KEY", "value": files.private_key},
        {"name": "OVN_CA_CERTIFICATE", "value": files.ca_certificate},
    ]
    return {
        "metadata": {
            "name": f"{cluster}-{database}-0",
            "namespace": "x",
            "labels": labels(cluster, database),
            **metadata,
        },
        "spec": {"containers": [{"name": "beside"}, {"name": "database", "env": env}]},
        "status": {"phase": phase},
    }


@pytest.mark.parametrize(
    ("given", "found"),
    [
        (pod(), ["x/ovn-southbound-0"]),
        (pod(phase="Pending"), ["x/ovn-southbound-0"]),
        (pod(bundle=True), []),
        (pod("northbound"), []),
        (pod(phase="Failed"), []),
        (pod(deletionTimestamp="2026-01-01T00:00:00Z"), []),
        (pod(cluster="second"), []),
        ({**pod(), "metadata": {"name": "stranger", "namespace": "x"}}, []),
    ],
    ids=[
        "former",
        "not started yet",
        "with the bundle",
        "northbound",
        "has ended",
        "terminating",
        "another cluster",
        "without labels",
    ],
)
def test_members_without_the_bundle(given: Object, found: list[str]) -> None:
    assert unready_members([{"item": "plane", "resources": [given]}], HOSTS) == found


def test_each_cluster_by_its_name() -> None:
    listings = [{"item": host, "resources": [pod(cluster="second")]} for host in ("plane", "other")]
    assert unready_members([*listings, {"item": "plane"}], HOSTS) == ["x/second-southbound-0"]

"""The Secret of a Kubernetes cluster: written as one object, and only with what this run has compared."""

from __future__ import annotations

import base64
import dataclasses
import datetime
import re

import pytest
from fake_cluster import FakeCluster

from ansible_collections.c5c3.ovn.plugins.module_utils._base.errors import Changed, Refused
from ansible_collections.c5c3.ovn.plugins.module_utils._control_plane.tls_secret import (
    TlsSecret,
    compare_secret,
    read_secret,
    write_secret,
)
from ansible_collections.c5c3.ovn.plugins.module_utils._pki.installed import Declared
from ansible_collections.c5c3.ovn.plugins.module_utils._pki.issuing import issue, new_authority
from ansible_collections.c5c3.ovn.plugins.module_utils._pki.signing import SigningAuthority

NOW = datetime.datetime(2026, 11, 30, 17, 0, tzinfo=datetime.timezone.utc)
CA = SigningAuthority(*new_authority("OVN CA", NOW, 3650), "", 365)
CHASSIS_CA = SigningAuthority(*new_authority("OVN chassis CA", NOW, 3650), "", 365)
DECLARED = Declared(
    "plane",
    ("DNS:plane",),
    CA.pem,
    CA.pem,
    30,
    renew_on_issuer_change=True,
    remove_authorities=False,
    client_ca_bundle=CA.pem + CHASSIS_CA.pem,
)
SECRET = TlsSecret("ovn-tls", "net", "ovn", "Secret net/ovn-tls of plane", CA.pem, DECLARED)
LABELS = {"pod-security.kubernetes.io/enforce": "restricted"}


def new_pair() -> tuple[str, str]:
    return issue(CA, "plane", NOW, subject_alt_names=["DNS:plane"], extended_key_usage=["serverAuth", "clientAuth"])


def texts(cluster: FakeCluster) -> dict[str, str]:
    found = cluster.stored("Secret", "ovn-tls")
    assert found is not None
    return {key: base64.b64decode(value).decode() for key, value in found["data"].items()}


def test_first_secret_comes_with_its_namespace_and_stays() -> None:
    cluster, pair = FakeCluster(), new_pair()
    before = compare_secret(read_secret(cluster, SECRET), SECRET, NOW)
    assert (before["exists"], before["needed"], before["ca_crt"]) == (False, True, CA.pem)
    written = write_secret(cluster, SECRET, pair, LABELS, NOW)
    assert written["needed"]
    assert written["issuer_name"] == "OVN CA"
    assert texts(cluster) == {
        "tls.crt": pair[0],
        "tls.key": pair[1],
        "ca.crt": CA.pem,
        "client-ca.crt": CA.pem + CHASSIS_CA.pem,
    }
    namespace = cluster.stored("Namespace", "net")
    assert namespace is not None
    assert namespace["metadata"]["labels"] == LABELS
    assert not compare_secret(read_secret(cluster, SECRET), SECRET, NOW)["reasons"]
    sent = len(cluster.written)
    assert not write_secret(cluster, SECRET, new_pair(), LABELS, NOW)["reasons"]
    assert len(cluster.written) == sent


def test_new_bundle_leaves_key_and_certificate() -> None:
    cluster, pair = FakeCluster(), new_pair()
    write_secret(cluster, SECRET, pair, LABELS, NOW)
    other = SigningAuthority(*new_authority("OVN CA", NOW, 3650), "", 365)
    more = SECRET._replace(declared=dataclasses.replace(DECLARED, ca_bundle=CA.pem + other.pem))
    state = write_secret(cluster, more, None, LABELS, NOW)
    assert [reason["code"] for reason in state["reasons"]] == ["ca_added"]
    found = texts(cluster)
    assert (found["tls.crt"], found["tls.key"], found["ca.crt"]) == (*pair, CA.pem + other.pem)


def test_secret_that_changed_meanwhile_is_not_written() -> None:
    cluster = FakeCluster()
    with pytest.raises(Changed, match=r"^Secret net/ovn-tls of plane was changed by somebody else during this run"):
        write_secret(cluster, SECRET, None, LABELS, NOW)
    assert not cluster.written


def test_failed_write_names_the_secret_and_its_cause() -> None:
    cluster = FakeCluster()
    cluster.before("apply", Refused("Apply failed with 1 conflict."), kind="Secret")
    expected = (
        "Secret net/ovn-tls of plane could not be written, and is as it was: Apply failed with 1 conflict. Look at"
    )
    with pytest.raises(Refused, match=re.escape(expected)):
        write_secret(cluster, SECRET, new_pair(), LABELS, NOW)


def test_secret_of_another_owner_is_only_examined() -> None:
    cluster = FakeCluster()
    write_secret(cluster, SECRET, new_pair(), LABELS, NOW)
    given = SECRET._replace(issuer="", declared=None)
    state = compare_secret(read_secret(cluster, given), given, NOW)
    assert (state["exists"], state["reasons"], state["in_service"], state["ca_crt"]) == (True, [], True, CA.pem)

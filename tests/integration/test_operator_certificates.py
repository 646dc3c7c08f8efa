"""The certificates of an OVNCluster, issued by the operator into a real API server."""

from __future__ import annotations

import concurrent.futures
import datetime
import json
import pathlib
import subprocess
import sys
import typing as t

import pytest
from _apiserver import ApiServer
from _operator_site import NOW, SPEC, Site

from ansible_collections.c5c3.ovn.plugins.module_utils._api.names import service_names
from ansible_collections.c5c3.ovn.plugins.module_utils._base.errors import Refused
from ansible_collections.c5c3.ovn.plugins.module_utils._kubernetes.client import Cluster
from ansible_collections.c5c3.ovn.plugins.module_utils._operator.authorities import authorities_of
from ansible_collections.c5c3.ovn.plugins.module_utils._operator.certificates import (
    ensure_central,
    node_signer,
)
from ansible_collections.c5c3.ovn.plugins.module_utils._pki.secret import secret_state


@pytest.fixture
def site(api_server: ApiServer, namespace: str) -> Site:
    return Site(api_server, namespace)


def openssl(folder: pathlib.Path, authority: str, certificate: str, purpose: str) -> int:
    (folder / "ca.pem").write_text(authority)
    (folder / "cert.pem").write_text(certificate)
    command = ["openssl", "verify", "-CAfile", folder / "ca.pem", "-purpose", purpose, folder / "cert.pem"]
    return subprocess.run(command, check=False, capture_output=True).returncode


def test_they_are_issued_once(site: Site, tmp_path: pathlib.Path) -> None:
    assert site.central() == ["Secret ovn-ca created", "Secret ovn-chassis-ca created", "Secret ovn-tls created"]
    assert site.hypervisors() == [f"Namespace {site.remote} created", "Secret ovn-tls created"]
    sent = site.cluster.requests
    assert site.central() == []
    assert site.cluster.requests - sent == 3  # each Secret is read once
    assert site.hypervisors() == []

    # What others make of them: openssl, and the role's rules.
    central, chassis = site.texts(), site.texts(namespace=site.remote)
    assert openssl(tmp_path, central["ca.crt"], central["tls.crt"], "sslserver") == 0
    assert openssl(tmp_path, central["ca.crt"], central["tls.crt"], "sslclient") == 0
    assert openssl(tmp_path, central["client-ca.crt"], chassis["tls.crt"], "sslclient") == 0
    assert openssl(tmp_path, central["client-ca.crt"], chassis["tls.crt"], "sslserver") != 0
    assert openssl(tmp_path, central["ca.crt"], chassis["tls.crt"], "sslclient") != 0, "members trust no chassis"
    assert chassis["ca.crt"] == central["ca.crt"]
    names = [f"*.ovn-northbound.{site.namespace}.svc", f"ovn-sb.{site.namespace}.svc.cluster.local"]
    data = (site.cluster.get("v1", "Secret", "ovn-tls", site.namespace) or {})["data"]
    issuer = site.texts("ovn-ca")["tls.crt"]
    state = secret_state(data, "the Secret", issuer, NOW, declared=None, client_ca_key="client-ca.crt")
    assert state["in_service"]
    assert state["signed_by_issuer"]
    assert state["missing"] == []
    shown = subprocess.run(
        ["openssl", "x509", "-noout", "-ext", "subjectAltName"],
        input=central["tls.crt"],
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    assert all(f"DNS:{name}" in shown for name in names)


def test_a_certificate_near_its_end_is_renewed_and_the_bundle_stays(site: Site) -> None:
    site.central()
    before = site.texts()
    later = NOW + datetime.timedelta(days=340)
    assert site.central(later) == ["Secret ovn-tls changed"]
    after = site.texts()
    assert after["tls.crt"] != before["tls.crt"]
    assert (after["ca.crt"], after["client-ca.crt"]) == (before["ca.crt"], before["client-ca.crt"])
    assert site.central(later) == []


def test_another_declared_name_is_a_reason(site: Site) -> None:
    site.central()
    southbound = {"service": {"type": "LoadBalancer", "hostnames": ["a.example.com", "b.example.com", "c.example.com"]}}
    assert site.central(spec={**SPEC, "southbound": southbound}) == ["Secret ovn-tls changed"]


def test_a_killed_run_is_finished_by_the_next(site: Site) -> None:
    authorities_of(site.cluster, site.context(), NOW, may_make=True)
    before = site.texts("ovn-ca"), site.texts("ovn-chassis-ca")
    assert site.central() == ["Secret ovn-tls created"]
    assert (site.texts("ovn-ca"), site.texts("ovn-chassis-ca")) == before


def test_what_a_killed_run_leaves_between_the_authorities_is_finished(site: Site) -> None:
    site.central()
    for name in ("ovn-chassis-ca", "ovn-tls"):
        site.cluster.delete("v1", "Secret", name, site.namespace)
    before = site.texts("ovn-ca")
    assert site.central() == ["Secret ovn-chassis-ca created", "Secret ovn-tls created"]
    assert site.texts("ovn-ca") == before


def test_two_whole_runs_at_once_end_with_one_authority_and_one_pair(site: Site, api_server: ApiServer) -> None:
    clusters = [Cluster({"kubeconfig": api_server.kubeconfig}) for _number in range(4)]
    with concurrent.futures.ThreadPoolExecutor(len(clusters)) as pool:
        list(pool.map(lambda cluster: ensure_central(cluster, site.context(), NOW), clusters))
    # Whoever was last has written key and certificate of one pair, and of the CA that is there.
    texts = site.texts()
    assert texts["ca.crt"] == site.texts("ovn-ca")["tls.crt"]
    assert site.changes.count("Secret ovn-ca created") == 1
    assert site.central() == []
    assert site.texts() == texts


def certificate_state(secret: t.Any, **options: t.Any) -> dict[str, t.Any]:
    """The answer of the filter of that name, in a process of its own as all code of the controller."""
    name = "ansible_collections.c5c3.ovn.plugins.filter.certificate_state"
    code = f"import json, sys; from {name} import certificate_state as f; print(json.dumps(f(**json.load(sys.stdin))))"
    given = json.dumps({"data": secret["data"], **options})
    answer = subprocess.run([sys.executable, "-c", code], input=given, capture_output=True, text=True, check=True)
    return t.cast("dict[str, t.Any]", json.loads(answer.stdout))


def test_the_role_finds_nothing_to_do(site: Site) -> None:
    """Who goes on with playbooks keeps the certificates: the filter of ovn_pki compares as the role declares them."""
    site.central()
    site.hypervisors()
    central, chassis = site.texts("ovn-ca")["tls.crt"], site.texts("ovn-chassis-ca")["tls.crt"]
    names = ["ovn", *service_names(SPEC, "ovn", site.namespace, "cluster.local")]
    bundles = {"ca_bundle": central, "client_ca_bundle": central + chassis}
    secret = site.cluster.get("v1", "Secret", "ovn-tls", site.namespace)
    state = certificate_state(secret, common_name="ovn", subject_alt_names=names, issuer=central, **bundles)
    assert (state["reasons"], state["needed"], state["in_service"]) == ([], False, True)
    declared = {"common_name": "rack1", "subject_alt_names": ["rack1"], "extended_key_usage": ["clientAuth"]}
    secret = site.cluster.get("v1", "Secret", "ovn-tls", site.remote)
    state = certificate_state(secret, issuer=chassis, ca_bundle=central, **declared)
    assert (state["reasons"], state["needed"], state["in_service"]) == ([], False, True)
    assert certificate_state(secret, issuer=central, ca_bundle=central, **declared)["needed"], "it is of the other CA"


def test_the_certificate_of_hypervisors_is_renewed_and_theirs_alone(site: Site) -> None:
    site.central()
    site.hypervisors()
    before, central = site.texts(namespace=site.remote), site.texts()
    sent = site.cluster.requests
    assert site.hypervisors() == []
    assert site.cluster.requests - sent <= 4  # the Namespace, the Secret, the CAs
    later = NOW + datetime.timedelta(days=340)
    assert site.hypervisors(later) == ["Secret ovn-tls changed"]
    after = site.texts(namespace=site.remote)
    assert after["tls.crt"] != before["tls.crt"]
    assert after["tls.key"] != before["tls.key"]
    assert after["ca.crt"] == before["ca.crt"]
    assert site.texts() == central
    assert site.hypervisors(later) == []


def test_a_secret_of_somebody_else_in_a_hypervisor_cluster_is_not_written(site: Site) -> None:
    site.central()
    site.cluster.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": site.remote}})
    metadata = {"name": "ovn-tls", "namespace": site.remote}
    site.cluster.create({"apiVersion": "v1", "kind": "Secret", "metadata": metadata})
    with pytest.raises(Refused, match=f"{site.remote}/ovn-tls of rack1 belongs to somebody else") as error:
        site.hypervisors()
    assert "spec.tls.certSecretRef" in str(error.value)
    assert site.texts(namespace=site.remote) == {}


def test_a_damaged_authority_is_named_and_nothing_is_written(site: Site) -> None:
    site.central()
    before = site.texts()
    damaged = site.cluster.get("v1", "Secret", "ovn-ca", site.namespace) or {}
    other = site.cluster.get("v1", "Secret", "ovn-chassis-ca", site.namespace) or {}
    change = {"data": {"tls.key": other["data"]["tls.key"]}}
    site.cluster.patch("v1", "Secret", "ovn-ca", site.namespace, change, field_manager="kubectl-edit")
    for now in (NOW, NOW + datetime.timedelta(days=340)):
        with pytest.raises(Refused, match=f"Secret {site.namespace}/ovn-ca has no usable"):
            site.central(now)
    assert site.texts() == before
    change = {"data": {"tls.key": damaged["data"]["tls.key"]}}
    site.cluster.patch("v1", "Secret", "ovn-ca", site.namespace, change, field_manager="kubectl-edit")
    assert site.central() == []


def test_two_at_once_end_with_one_authority(site: Site) -> None:
    with concurrent.futures.ThreadPoolExecutor(8) as pool:
        made = list(
            pool.map(lambda _number: authorities_of(site.cluster, site.context(), NOW, may_make=True), range(8))
        )
    assert len({one["central"].pem for one in made}) == 1
    assert len({one["chassis"].pem for one in made}) == 1


def test_a_lost_authority_is_not_replaced(site: Site) -> None:
    site.central()
    site.cluster.delete("v1", "Secret", "ovn-ca", site.namespace)
    with pytest.raises(
        Refused, match=f"Secret {site.namespace}/ovn-ca with the CA of the operator does not exist"
    ) as error:
        site.central()
    assert "Restore it from a backup" in str(error.value)
    # Also with the Secret of the certificate gone: it was rolled out, and hypervisors trust the former one.
    site.cluster.delete("v1", "Secret", "ovn-tls", site.namespace)
    rolled_out = {"conditions": [{"type": "UpToDate", "status": "True", "observedGeneration": 1}]}
    with pytest.raises(Refused, match="does not exist"):
        site.central(status=rolled_out)
    # And with the OVNCluster itself as new: there are databases.
    record = {"metadata": {"name": "ovn-southbound-record", "namespace": site.namespace}, "data": {}}
    site.cluster.create({"apiVersion": "v1", "kind": "ConfigMap", **record})
    with pytest.raises(Refused, match="databases whose clients trust it"):
        site.central()
    assert site.texts("ovn-ca") == {}


def test_a_secret_of_somebody_else_is_not_written(site: Site) -> None:
    theirs = {"metadata": {"name": "ovn-tls", "namespace": site.namespace, "labels": {"app": "theirs"}}, "data": {}}
    site.cluster.create({"apiVersion": "v1", "kind": "Secret", **theirs})
    with pytest.raises(Refused, match="belongs to somebody else"):
        site.central()
    assert site.texts() == site.texts("ovn-ca") == {}


def test_a_certificate_of_another_authority_is_not_replaced(site: Site) -> None:
    site.central()
    site.hypervisors()
    for name in ("ovn-ca", "ovn-chassis-ca"):
        site.cluster.delete("v1", "Secret", name, site.namespace)
    authorities_of(site.cluster, site.context(), NOW, may_make=True)  # as if another installation had been restored
    before = site.texts(), site.texts(namespace=site.remote)
    for call in (site.central, site.hypervisors):
        with pytest.raises(Refused, match="is of another CA"):
            call()
    assert (site.texts(), site.texts(namespace=site.remote)) == before


def test_given_ones_are_looked_at(site: Site) -> None:
    given = {"spec": {"tls": {"certificates": "given"}}}
    for call in (site.central, site.hypervisors):
        with pytest.raises(Refused, match=r"To have the operator issue it, set spec\.tls\.certificates to operator"):
            call(**given)
    site.central()
    assert site.central(**given) == []
    assert node_signer(site.cluster, site.context(**given)) is None


def test_the_signer_of_nodes_is_the_chassis_authority(site: Site) -> None:
    own = {"tls": {**SPEC["tls"], "nodeCertificates": "own"}}
    with pytest.raises(Refused, match="ovn-chassis-ca"):
        node_signer(site.cluster, site.context(spec=own))
    site.central(spec=own)
    signer = node_signer(site.cluster, site.context(spec=own))
    assert signer is not None
    assert signer["certificate"] == site.texts("ovn-chassis-ca")["tls.crt"]
    assert node_signer(site.cluster, site.context()) is None


def test_an_authority_near_its_end_is_told_and_one_that_has_ended_signs_nothing(site: Site) -> None:
    site.central()
    site.central(NOW + datetime.timedelta(days=3500))
    assert any("ovn-ca ends on" in warning for warning in site.warnings)
    # In its last days nothing is issued again and again: what is there ends with it.
    late = NOW + datetime.timedelta(days=3640)
    site.central(late)
    assert site.central(late) == []
    assert site.central(late + datetime.timedelta(days=5)) == []
    with pytest.raises(Refused, match="has ended on"):
        site.central(NOW + datetime.timedelta(days=3700))

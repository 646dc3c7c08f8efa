from __future__ import annotations

import typing as t

import pytest

from ansible_collections.c5c3.ovn.plugins.module_utils._api.crds import custom_resource_definitions
from ansible_collections.c5c3.ovn.plugins.module_utils._api.metadata_agent_spec import SharedSecret
from ansible_collections.c5c3.ovn.plugins.module_utils._api.spec import parse_spec
from ansible_collections.c5c3.ovn.plugins.module_utils._api.tls_spec import ConfigMapReference, Tls
from ansible_collections.c5c3.ovn.plugins.module_utils._precheck.finding import Kind
from ansible_collections.c5c3.ovn.plugins.module_utils._precheck.observed_cluster import (
    judge_accounts,
    judge_bundle,
    judge_definitions,
    judge_namespace,
    judge_secret,
    judge_shared_secret,
    judge_version,
)

Object = dict[str, t.Any]


@pytest.mark.parametrize(
    ("version", "codes"),
    [
        ("v1.34.4", []),
        ("v1.29.0", []),
        ("v1.28.15", ["api_version"]),
        ("v1.9.7", ["api_version"]),
        ("v2.0.0", []),
        ("v1.31.4-eks-5f2a", []),
        ("v1.28+", ["api_version"]),
        ("devel", []),
    ],
)
def test_judge_version(version: str, codes: list[str]) -> None:
    assert [one.code for one in judge_version(version, "https://192.0.2.1:6443")] == codes


def test_the_oldest_version_is_named() -> None:
    (found,) = judge_version("v1.27.3", "https://192.0.2.1:6443")
    assert found.object == "API server https://192.0.2.1:6443"
    assert "v1.27.3" in found.cause
    assert "1.29" in found.next_step


def namespace(level: str = "", **metadata: t.Any) -> Object:
    labels = {"pod-security.kubernetes.io/enforce": level} if level else {}
    return {"metadata": {"name": "net", "labels": labels, **metadata}}


@pytest.mark.parametrize(
    ("given", "kind", "codes"),
    [
        pytest.param(None, "hypervisors", [], id="made by the run"),
        pytest.param(namespace(), "hypervisors", [], id="no label"),
        pytest.param(namespace("privileged"), "hypervisors", [], id="privileged"),
        pytest.param(namespace("baseline"), "hypervisors", ["namespace_pod_security"], id="baseline"),
        pytest.param(namespace("restricted"), "hypervisors", ["namespace_pod_security"], id="restricted"),
        pytest.param(namespace("restricted"), "cluster", [], id="the control plane is content with restricted"),
        pytest.param(
            namespace(deletionTimestamp="2026-01-01T00:00:00Z"), "cluster", ["namespace_terminating"], id="terminating"
        ),
    ],
)
def test_judge_namespace(given: Object | None, kind: Kind, codes: list[str]) -> None:
    assert [one.code for one in judge_namespace(given, kind)] == codes


def definition(revision: str | None = "1", **metadata: t.Any) -> Object:
    marks = {} if revision is None else {"ovn.c5c3.io/schema-revision": revision}
    return {"metadata": {"name": "ovnclusters.ovn.c5c3.io", "annotations": marks, **metadata}}


@pytest.mark.parametrize(
    ("given", "codes"),
    [
        pytest.param(definition(), [], id="ours"),
        pytest.param(definition(None), [], id="without a revision"),
        pytest.param(definition("2"), ["definition_newer"], id="newer"),
        pytest.param(definition("two"), ["definition_newer"], id="of a version that we do not know"),
        pytest.param(
            definition(deletionTimestamp="2026-01-01T00:00:00Z"), ["definition_terminating"], id="terminating"
        ),
    ],
)
def test_judge_definitions(given: Object, codes: list[str]) -> None:
    assert [one.code for one in judge_definitions({"ovnclusters.ovn.c5c3.io": given})] == codes


def test_our_own_definitions_are_nothing_found() -> None:
    assert judge_definitions({one["metadata"]["name"]: one for one in custom_resource_definitions()}) == []
    assert judge_definitions(None) == []


def tls(**fields: t.Any) -> Tls:
    return parse_spec({"tls": fields}, name="ovn", namespace="net").tls


KEYS = ("tls.crt", "tls.key", "ca.crt")


@pytest.mark.parametrize(
    ("given", "codes", "words"),
    [
        pytest.param({"data": dict.fromkeys(KEYS, "eA==")}, [], "", id="complete"),
        pytest.param(
            {"data": {"tls.crt": "eA==", "tls.key": ""}}, ["secret_incomplete"], "no tls.key, ca.crt", id="incomplete"
        ),
        pytest.param({}, ["secret_incomplete"], "tls.crt, tls.key, ca.crt", id="empty"),
        pytest.param(None, ["secret_missing"], "It does not exist", id="missing"),
    ],
)
def test_judge_secret(given: Object | None, codes: list[str], words: str) -> None:
    found = judge_secret(given, "tls", "net", exists=True, tls=tls(), kind="cluster")
    assert [one.code for one in found] == codes
    assert all(words in one.cause and one.object == "Secret net/tls" for one in found)
    clients = tls(southboundClientCaKey="clients.crt")
    assert judge_secret(given, "tls", "net", exists=True, tls=clients, kind="hypervisors") == found
    with_clients = judge_secret(given, "tls", "net", exists=True, tls=clients, kind="cluster")
    assert [one.code for one in with_clients] == (codes or ["secret_incomplete"])
    assert all("clients.crt" in one.cause + one.next_step for one in with_clients)


@pytest.mark.parametrize(
    ("given", "code", "words"),
    [
        ({"data": {"key": "eA=="}}, None, ""),
        (None, "secret_missing", "It does not exist, and metadata agents need it."),
        ({"data": {"other": "eA=="}}, "secret_incomplete", "It has nothing in that key."),
    ],
)
def test_judge_shared_secret(given: Object | None, code: str | None, words: str) -> None:
    found = judge_shared_secret(given, SharedSecret("nova", "key"), "net", exists=True)
    assert [one.code for one in found] == ([code] if code else [])
    for one in found:
        assert (one.object, one.cause) == ("Secret net/nova", words)
        assert one.next_step.endswith("kubectl -n net create secret generic nova --from-literal=key=VALUE.")


def test_a_secret_needs_no_ca_if_a_configmap_has_it() -> None:
    trusted = tls(caConfigMapRef={"name": "trusted"})
    assert (
        judge_secret({"data": dict.fromkeys(KEYS[:2], "eA==")}, "a", "net", exists=True, tls=trusted, kind="cluster")
        == []
    )
    (found,) = judge_secret({}, "a", "net", exists=True, tls=trusted, kind="cluster")
    assert (found.cause, found.next_step) == (
        "It has no tls.crt, tls.key.",
        "Let its owner write all of tls.crt, tls.key.",
    )


@pytest.mark.parametrize(
    ("given", "exists", "code", "words"),
    [
        pytest.param({"data": {"all.pem": "PEM"}}, True, None, "", id="complete"),
        pytest.param({"binaryData": {"all.pem": "UEVN"}}, True, None, "", id="complete, as binary data"),
        pytest.param(
            {"data": {"ca.crt": "PEM"}}, True, "bundle_incomplete", "It has no all.pem; pods", id="another key"
        ),
        pytest.param({"data": {"all.pem": ""}}, True, "bundle_incomplete", "It has no all.pem; pods", id="empty"),
        pytest.param({}, True, "bundle_incomplete", "It has no all.pem; pods", id="without data"),
        pytest.param(None, True, "bundle_missing", "It does not exist; pods", id="missing"),
        pytest.param(None, False, "bundle_missing", "Namespace net does not exist", id="without the namespace"),
    ],
)
def test_judge_bundle(given: Object | None, exists: bool, code: str | None, words: str) -> None:
    reference = ConfigMapReference("trusted", "all.pem")
    found = judge_bundle(given, reference, "caConfigMapRef", "net", exists=exists)
    assert [one.code for one in found] == ([code] if code else [])
    for one in found:
        assert one.object == "ConfigMap net/trusted"
        assert words in one.cause
        assert "all.pem" in one.cause + one.next_step
        assert "tls.caConfigMapRef" in one.next_step


@pytest.mark.parametrize("exists", [True, False])
def test_judge_accounts(exists: bool) -> None:
    given = {"spec.northd.serviceAccountName": "team", "spec.observer.serviceAccountName": "there"}
    (one,) = judge_accounts({"team"}, given, "net", exists=exists)
    assert (one.code, one.object) == ("account_missing", "ServiceAccount net/team")
    assert ("Namespace net" in one.cause) is not exists
    assert "pods of northd" in one.cause
    assert "spec.northd.serviceAccountName" in one.next_step

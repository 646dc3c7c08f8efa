"""CAs in ConfigMaps, as trust-manager writes them beside Secrets of cert-manager: what the pods get, and what they open with it."""

from __future__ import annotations

import base64
import json
import pathlib
import typing as t

import _control_plane
import pytest
from _control_plane import ControlPlane
from conftest import Pki, next_address, start_tls_server
from test_pki_authorities import SCHEMAS, refusal

from ansible_collections.c5c3.ovn.plugins.module_utils._api.names import CLIENT_CA_KEY
from ansible_collections.c5c3.ovn.plugins.module_utils._api.spec import parse_spec
from ansible_collections.c5c3.ovn.plugins.module_utils._base.databases import DATABASES, PORTS
from ansible_collections.c5c3.ovn.plugins.module_utils._manifests.hypervisor_pods import controller_pod
from ansible_collections.c5c3.ovn.plugins.module_utils._manifests.pods import TLS, TLS_FILES, relay_tls_files
from ansible_collections.c5c3.ovn.plugins.module_utils._precheck.creation import (
    control_plane_manifests,
    hypervisor_cluster_manifests,
)
from ansible_collections.c5c3.ovn.plugins.modules import ovn_central_info, ovn_precheck_kubernetes

plane, kubelet = _control_plane.plane, _control_plane.kubelet  # fixtures

Object = dict[str, t.Any]
CENTRAL, CHASSIS = (f"-----BEGIN CERTIFICATE-----\n{text}\n-----END CERTIFICATE-----\n" for text in ("YWE=", "YmI="))
TRUSTED = {"caConfigMapRef": {"name": "ovn-trusted-cas"}}
CLIENTS = {"southboundClientCaConfigMapRef": {"name": "ovn-southbound-clients", "key": "all.pem"}}
BOTH = {"tls": {**TRUSTED, **CLIENTS}}


def encoded(text: str) -> str:
    return base64.b64encode(text.encode()).decode()


def tls_volume(plane: ControlPlane, kind: str, name: str) -> Object:
    pod = plane.get(kind, name)["spec"]["template"]["spec"]
    (volume,) = [one for one in pod["volumes"] if one["name"] == "tls"]
    return t.cast("Object", volume)


def test_pods_get_them_in_the_place_of_those_of_the_secret(plane: ControlPlane) -> None:
    """Without a run of ovn_pki, and before anybody has written Secret or ConfigMaps: pods wait for them."""
    plane.begin(spec=BOTH)
    pair = [{"key": key, "path": key} for key in ("tls.key", "tls.crt")]
    secret = {"secret": {"name": "ovn-tls", "items": pair}}
    trusted = {"configMap": {"name": "ovn-trusted-cas", "items": [{"key": "ca.crt", "path": "ca.crt"}]}}
    clients = {"configMap": {"name": "ovn-southbound-clients", "items": [{"key": "all.pem", "path": "client-ca.crt"}]}}
    southbound = tls_volume(plane, "StatefulSet", "ovn-southbound")["projected"]
    assert southbound == {"defaultMode": 0o440, "sources": [secret, trusted, clients]}
    northbound = tls_volume(plane, "StatefulSet", "ovn-northbound")["projected"]
    assert northbound == {"defaultMode": 0o440, "sources": [secret, trusted]}
    assert "/tls/client-ca.crt" in json.dumps(plane.get("StatefulSet", "ovn-southbound"))
    assert "/tls/client-ca.crt" not in json.dumps(plane.get("StatefulSet", "ovn-northbound"))
    versions = {
        name: plane.get("StatefulSet", name)["metadata"]["generation"] for name in ("ovn-northbound", "ovn-southbound")
    }
    plane.late(spec=BOTH)
    assert {name: plane.get("StatefulSet", name)["metadata"]["generation"] for name in versions} == versions


@pytest.mark.parametrize("tls", [{**TRUSTED, **CLIENTS}, {**TRUSTED, "southboundClientCaKey": "ca.crt"}, CLIENTS])
def test_the_api_server_accepts_every_volume(plane: ControlPlane, tls: Object) -> None:
    """No path twice. Deployments and DaemonSets come after the databases, so nothing but this sends them here."""
    spec = parse_spec({"tls": tls}, name="ovn", namespace=plane.namespace)
    manifests = [*control_plane_manifests(spec), *hypervisor_cluster_manifests(spec)]
    workloads = [one for one in manifests if one["kind"] in ("StatefulSet", "Deployment", "DaemonSet")]
    assert len(workloads) == 6
    for one in workloads:
        place = f"/apis/apps/v1/namespaces/{plane.namespace}/{one['kind'].lower()}s?dryRun=All"
        sent = [volume for volume in one["spec"]["template"]["spec"]["volumes"] if volume["name"] == "tls"]
        found = json.loads(plane.server.request("POST", place, one))["spec"]["template"]["spec"]["volumes"]
        assert [volume for volume in found if volume["name"] == "tls"] == sent


def test_a_configmap_without_the_cas_that_the_southbound_is_to_let_in(plane: ControlPlane) -> None:
    plane.make("ConfigMap", "ovn-southbound-clients", data={"ca.crt": CENTRAL})
    for check in (True, False):
        refused = plane(check=check, may_fail=True, spec=BOTH)
        assert (
            f"ConfigMap {plane.namespace}/ovn-southbound-clients has no all.pem, which tls.southboundClientCa"
            in refused["msg"]
        )
    assert plane.ours() == {}
    plane.patch("ConfigMap", "ovn-southbound-clients", {"data": {"all.pem": CENTRAL}}, manager="trust-manager")
    assert plane(check=True, spec=BOTH)["changed"]


def test_a_bundle_that_lacks_cas_of_the_former_one(plane: ControlPlane) -> None:
    """From the Secret of ovn_pki to a ConfigMap, and from a ConfigMap to the CAs that all daemons trust."""
    plane.make("Secret", "ovn-tls", data={"ca.crt": encoded(CENTRAL), CLIENT_CA_KEY: encoded(CENTRAL + CHASSIS)})
    plane.make("ConfigMap", "ovn-southbound-clients", data={"all.pem": CENTRAL})
    plane.make("ConfigMap", "ovn-trusted-cas", data={"ca.crt": CENTRAL})
    plane.begin(spec={"tls": {"southboundClientCaKey": CLIENT_CA_KEY}})
    before = plane.get("StatefulSet", "ovn-southbound")["metadata"]["generation"]
    refused = plane(may_fail=True, spec=BOTH)
    assert (
        f"let in 1 CA of {CLIENT_CA_KEY} in Secret {plane.namespace}/ovn-tls, which all.pem of ConfigMap"
        in refused["msg"]
    )
    assert "which ca.crt of ConfigMap" in plane(may_fail=True, spec={"tls": TRUSTED})["msg"]
    assert plane.get("StatefulSet", "ovn-southbound")["metadata"]["generation"] == before
    plane.patch(
        "ConfigMap", "ovn-southbound-clients", {"data": {"all.pem": CENTRAL + CHASSIS}}, manager="trust-manager"
    )
    plane.late(spec=BOTH)
    assert tls_volume(plane, "StatefulSet", "ovn-southbound")["projected"]
    refused = plane(may_fail=True, spec={"tls": TRUSTED})
    assert (
        f"let in 1 CA of all.pem in ConfigMap {plane.namespace}/ovn-southbound-clients, which ca.crt of"
        in refused["msg"]
    )


def test_the_control_node_reads_the_cas_from_the_configmap(plane: ControlPlane) -> None:
    plane.late(spec=BOTH)
    plane.make("Secret", "ovn-tls", data={"ca.crt": encoded("of the issuer")})
    found = plane.info()
    assert found["ca_config_map"] == {"name": "ovn-trusted-cas", "key": "ca.crt"}
    assert found["ca_certificate"] == ""
    plane.make("ConfigMap", "ovn-trusted-cas", data={"ca.crt": CENTRAL})
    assert plane.info()["ca_certificate"] == CENTRAL


def test_ports_are_asked_with_the_cas_of_the_configmap(plane: ControlPlane, pki: Pki) -> None:
    plane.late(spec=BOTH)
    options = {
        "cluster": "ovn",
        "tls_secret": "ovn-tls",
        "ca_config_map": {"name": "ovn-trusted-cas", "key": "all.pem"},
        "endpoints": ["ssl:127.0.0.1:1"],
        "timeout": 1,
    }

    def problem() -> str:
        return str(plane.module(ovn_central_info, options, False, False)["certificates"][0]["problem"])

    plane.server.request(
        "POST", f"/api/v1/namespaces/{plane.namespace}/secrets", pki.issue("a").secret("ovn-tls", "ca.crt")
    )
    assert "private_key" in problem(), "there is no CA"
    plane.make("ConfigMap", "ovn-trusted-cas", data={"all.pem": pathlib.Path(pki.ca_certificate).read_text()})
    assert "private_key" not in problem()


@pytest.mark.parametrize("kind", ["cluster", "hypervisors"])
def test_the_precheck_looks_at_secret_and_configmaps(plane: ControlPlane, kind: str) -> None:
    def codes() -> dict[str, str]:
        options = {"kind": kind, "spec": BOTH, "own_secret": False}
        found = plane.module(ovn_precheck_kubernetes, options, False, False)["findings"]
        names = ("secret", "bundle")
        return {one["object"].split("/")[-1]: one["code"] for one in found if one["code"].split("_")[0] in names}

    clients = {"ovn-southbound-clients"} if kind == "cluster" else set()
    plane.make("ConfigMap", "another")
    expected = {"ovn-tls": "secret_missing", **dict.fromkeys({"ovn-trusted-cas", *clients}, "bundle_missing")}
    assert codes() == expected
    plane.make("Secret", "ovn-tls", data=dict.fromkeys(("tls.crt", "tls.key"), "eA=="))
    for name in ("ovn-trusted-cas", "ovn-southbound-clients"):
        plane.make("ConfigMap", name, data={"other": CENTRAL})
    assert codes() == dict.fromkeys({"ovn-trusted-cas", *clients}, "bundle_incomplete")
    plane.patch("ConfigMap", "ovn-trusted-cas", {"data": {"ca.crt": CENTRAL}})
    plane.patch("ConfigMap", "ovn-southbound-clients", {"data": {"all.pem": CENTRAL}})
    assert codes() == {}


def show(volume: Object, objects: dict[str, dict[str, str]], folder: pathlib.Path) -> None:
    """Write the files of a projected volume as a kubelet does; `objects` are the contents of Secrets and ConfigMaps by name."""
    folder.mkdir()
    for source in volume["projected"]["sources"]:
        (origin,) = source.values()
        for item in origin["items"]:
            (folder / item["path"]).write_text(objects[origin["name"]][item["key"]])
    for name, key in (("node-key.pem", "tls.key"), ("node-cert.pem", "tls.crt"), ("ca.pem", "ca.crt")):
        (folder / name).symlink_to(key)


def test_what_the_key_of_a_node_opens(
    plane: ControlPlane, make_pki: t.Callable[[str], Pki], short_dir: pathlib.Path
) -> None:
    """Each Secret has the CA of its own issuer, as cert-manager writes it. Members refuse the node, relays let it in."""
    plane.begin(spec=BOTH)
    authorities = {name: make_pki(name) for name in ("central", "chassis")}
    texts = {name: pathlib.Path(one.ca_certificate).read_text() for name, one in authorities.items()}
    issued = {
        "ovn-tls": authorities["central"].issue("plane").secret("ovn-tls"),
        "rack1-tls": authorities["chassis"].issue("rack1", usages=["client"]).secret("rack1-tls"),
    }
    objects = {
        **{name: {k: base64.b64decode(v).decode() for k, v in one["data"].items()} for name, one in issued.items()},
        "ovn-trusted-cas": {"ca.crt": texts["central"]},
        "ovn-southbound-clients": {"all.pem": texts["central"] + texts["chassis"]},
    }
    spec = parse_spec(BOTH, name="ovn", namespace=plane.namespace)
    for database in DATABASES:
        show(tls_volume(plane, "StatefulSet", f"ovn-{database}"), objects, short_dir / database)
    (volume,) = [one for one in controller_pod(spec, "rack1-tls")["volumes"] if one["name"] == "tls"]
    show(volume, objects, short_dir / "rack1")
    assert TLS_FILES.ca_certificate == f"{TLS}/ca.crt"
    address, servers = next_address(), []
    listening = [
        *((database, TLS_FILES, PORTS[database].unrestricted) for database in DATABASES),
        ("southbound", relay_tls_files(spec), PORTS["southbound"].client),
    ]
    try:
        for folder, paths, port in listening:
            files = [str(short_dir / folder / str(path).removeprefix(f"{TLS}/")) for path in paths]
            servers.append(start_tls_server(short_dir / f"{port}.db", SCHEMAS[folder[0] + "b"], files, address, port))
            assert refusal(short_dir / "northbound", "node", address, port) == ""
        for database in DATABASES:
            assert "UNKNOWN_CA" in refusal(short_dir / "rack1", "node", address, PORTS[database].unrestricted)
        assert refusal(short_dir / "rack1", "node", address, PORTS["southbound"].client) == ""
    finally:
        for server in servers:
            server.kill()

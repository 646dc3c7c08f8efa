"""The objects of examples/certificates/cert-manager.yml fit each other, the variables in docs/kubernetes.md and the names of members."""

from __future__ import annotations

import re
import typing as t
from pathlib import Path

import yaml

from ansible_collections.c5c3.ovn.plugins.module_utils._api.spec import parse_spec
from ansible_collections.c5c3.ovn.plugins.module_utils._roles.pki import desired_state

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs" / "kubernetes.md"
EXAMPLE = ROOT / "examples" / "certificates" / "cert-manager.yml"
Object = dict[str, t.Any]


def blocks() -> tuple[Object, list[Object]]:
    """The variables, and the objects."""
    section = PAGE.read_text(encoding="utf-8").partition("### cert-manager with two CAs")[2].partition("\n### ")[0]
    (variables,) = re.findall(r"^```yaml\n(.*?)^```$", section, re.MULTILINE | re.DOTALL)
    return yaml.safe_load(variables), yaml.safe_load(EXAMPLE.read_text(encoding="utf-8"))["items"]


def of(kind: str) -> dict[tuple[str, str], Object]:
    objects = [one for one in blocks()[1] if one["kind"] == kind]
    return {(one["metadata"].get("namespace", ""), one["metadata"]["name"]): one["spec"] for one in objects}


def test_the_specification_names_what_the_objects_write() -> None:
    tls = parse_spec(blocks()[0]["ovn_cluster_spec"], name="ovn", namespace="ovn-system").tls
    bundles = {name: spec["target"]["configMap"]["key"] for (_namespace, name), spec in of("Bundle").items()}
    for reference in (tls.ca_config_map_ref, tls.southbound_client_ca_config_map_ref):
        assert reference is not None
        assert bundles.pop(reference.name) == reference.key
    assert bundles == {}
    for namespace in ("ovn-system", "ovn-hypervisors"):
        assert of("Certificate")[namespace, "ovn-tls"]["secretName"] == tls.cert_secret_ref.name


def test_certificates_are_what_ovn_pki_would_issue() -> None:
    plane = {"ovn_backend": "kubernetes", "ovn_address": "x", "ovn_cluster_spec": blocks()[0]["ovn_cluster_spec"]}
    hostvars = {"control-plane": plane, "rack1": {**plane, "ovn_namespace": "ovn-hypervisors"}}
    groups = {"ovn_central": ["control-plane"], "ovn_hypervisors": ["rack1"]}
    usages = {"serverAuth": "server auth", "clientAuth": "client auth"}
    for host, namespace in (("control-plane", "ovn-system"), ("rack1", "ovn-hypervisors")):
        pair = desired_state(hostvars[host], hostvars, groups, host)["pair"]
        spec = of("Certificate")[namespace, "ovn-tls"]
        assert spec["commonName"] == pair["common_name"]
        assert set(spec["dnsNames"]) == set(pair["subject_alt_names"]) - {"control-plane"}
        assert spec["usages"] == ["digital signature", *(usages[one] for one in pair["extended_key_usage"])]


def test_who_signs_is_who_is_trusted() -> None:
    certificates, issuers = of("Certificate"), of("ClusterIssuer")

    def authority(namespace: str) -> str:
        return str(issuers["", certificates[namespace, "ovn-tls"]["issuerRef"]["name"]]["ca"]["secretName"])

    central, chassis = authority("ovn-system"), authority("ovn-hypervisors")
    assert {certificates["cert-manager", name]["secretName"] for name in (central, chassis)} == {central, chassis}
    sources = {
        name: [one["secret"]["name"] for one in spec["sources"]] for (_namespace, name), spec in of("Bundle").items()
    }
    assert sources == {"ovn-trusted-cas": [central], "ovn-southbound-clients": [central, chassis]}

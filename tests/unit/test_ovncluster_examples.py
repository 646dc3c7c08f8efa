"""The resources in examples/ovncluster fit our schemas, and field names and defaults that other systems' manifests rely on stay as they are."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml

from ansible_collections.c5c3.ovn.plugins.module_utils._api.hypervisor_spec import CHASSIS_SPEC
from ansible_collections.c5c3.ovn.plugins.module_utils._api.names import API_VERSION
from ansible_collections.c5c3.ovn.plugins.module_utils._api.schema_validator import complete
from ansible_collections.c5c3.ovn.plugins.module_utils._api.spec import CLUSTER_SPEC, parse_spec

FOLDER = Path(__file__).resolve().parents[2] / "examples" / "ovncluster"
EXAMPLES = sorted(FOLDER.glob("*.yml"))
EVERYTHING = FOLDER / "all-common-fields.yml"
HYPERVISORS = {"node-role.kubernetes.io/hypervisor": ""}

# What manifests for this kind have in common, whoever wrote them, with the value that they get if they leave it out (None: there is none).
COMMON: dict[str, Any] = {
    "ovnImage.repository": "ghcr.io/c5c3/ovn",
    "ovnImage.tag": "24.03.4",
    "ovnImage.digest": None,
    "ovnImage.pullPolicy": "IfNotPresent",
    "ovsImage.repository": "ghcr.io/c5c3/ovs",
    "ovsImage.tag": "3.4.1",
    "ovsImage.digest": None,
    "ovsImage.pullPolicy": "IfNotPresent",
    **{
        f"{database}.{field}": default
        for database in ("northbound", "southbound")
        for field, default in {
            "replicas": 3,
            "storage.size": "10Gi",
            "storage.storageClass": None,
            "resources.limits": None,
            "electionTimer": 5000,
            "inactivityProbe": 30000,
            "service.type": "ClusterIP",
            "service.annotations": None,
            "service.nodePorts": None,
            "nodeSelector": None,
            "tolerations": None,
        }.items()
    },
    "northd.replicas": 3,
    "northd.threads": 1,
    "northd.resources.limits": None,
    **{
        f"{daemon}.{field}": default
        for daemon in ("controller", "ovs")
        for field, default in {
            "nodeSelector": HYPERVISORS,
            "resources.limits": None,
            "tolerations": [{"operator": "Exists"}],
        }.items()
    },
    "ovs.datapathType": "system",
    "ovs.underlay": None,
    "encapsulation.type": "geneve",
    "encapsulation.interface": None,
    "encapsulation.cidr": None,
    "bridgeMappings": None,
    "gateway": None,
    "neutronIntegration.nbConnection.service.name": "ovn-nb",
    "neutronIntegration.nbConnection.service.port": 6641,
    "neutronIntegration.sbConnection.service.name": "ovn-sb",
    "neutronIntegration.sbConnection.service.port": 6642,
    "tls.enabled": True,
    "tls.certSecretRef": None,
}


def load(path: Path) -> dict[str, Any]:
    return dict(yaml.safe_load(path.read_text(encoding="utf-8")))


def at(value: Any, path: str) -> Any:
    """The value at this place, None without one."""
    for name in path.split("."):
        value = (value or {}).get(name)
    return value


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_an_example_is_valid(path: Path) -> None:
    resource = load(path)
    assert resource["apiVersion"] == API_VERSION
    metadata = resource["metadata"]
    if resource["kind"] == "OVNCluster":
        parse_spec(resource.get("spec") or {}, name=metadata["name"], namespace=metadata["namespace"])
    else:
        assert resource["kind"] == "OVNChassis"
        assert "namespace" not in metadata
        complete(CHASSIS_SPEC, resource["spec"], "spec")


@pytest.mark.parametrize("path", COMMON)
def test_a_common_field_has_its_name_and_default(path: str) -> None:
    schema: dict[str, Any] = CLUSTER_SPEC
    for name in path.split("."):
        schema = schema["properties"][name]
    assert at(complete(CLUSTER_SPEC, {}, "spec"), path) == COMMON[path]


def test_images_of_others_take_the_place_of_the_default_ones() -> None:
    resource = load(FOLDER / "own-registry.yml")
    spec = parse_spec(resource["spec"], name="ovn", namespace="ovn-system")
    assert "ghcr.io" not in spec.ovn_image.reference + spec.ovs_image.reference
    for image in (spec.ovn_image, spec.ovs_image):
        assert image.reference == f"{image.repository}@{image.digest}"


def test_the_example_with_all_common_fields_has_them() -> None:
    spec = load(EVERYTHING)["spec"]
    groups = {
        ".".join(path.split(".")[:2])
        for path in COMMON
        if path.split(".")[0] in ("northd", "controller", "ovs", "northbound")
    }
    exclusive = {"ovs.underlay"}  # only with another datapath
    assert [path for path in sorted(groups - exclusive) if at(spec, path) is None] == []
    assert {path.split(".")[0] for path in COMMON} == set(spec)


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_an_exposed_database_names_who_may_reach_it(path: Path) -> None:
    spec = load(path).get("spec") or {}
    for database in ("northbound", "southbound"):
        service = at(spec, f"{database}.service") or {}
        if service.get("type", "ClusterIP") != "ClusterIP":
            assert service["externalTrafficPolicy"] == "Local"
            assert service["allowedCidrs"]


def test_the_page_lists_every_example() -> None:
    page = (FOLDER.parent / "README.md").read_text(encoding="utf-8")
    assert len(EXAMPLES) >= 5
    assert [path.name for path in EXAMPLES if f"](ovncluster/{path.name}) |" not in page] == []

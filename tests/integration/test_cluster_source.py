"""An OVNCluster that another client has applied and keeps: a run takes it as it is, and writes its status alone."""

from __future__ import annotations

import json
import pathlib
import re
import typing as t

import _control_plane
import _playbooks
import _rights
import pytest
from _control_plane import PLACES, SIZES, WHOLE, ControlPlane, touched
from _pods_on_api import Kubelet
from _rights import Operator, Requests
from example_rights import roles

from ansible_collections.c5c3.ovn.plugins.module_utils._api.names import API_VERSION
from ansible_collections.c5c3.ovn.plugins.module_utils._control_plane.desired import kept_fields_warning
from ansible_collections.c5c3.ovn.plugins.module_utils._precheck.rights import RIGHTS, needed_rights
from ansible_collections.c5c3.ovn.plugins.modules import ovn_precheck_kubernetes

plane, kubelet, operator = _control_plane.plane, _control_plane.kubelet, _rights.operator  # fixtures

SOURCE: dict[str, t.Any] = {"spec": None, "spec_from": "resource"}
WRITING = {("ovn.c5c3.io", "ovnclusters", verb) for verb in ("create", "patch", "delete")}


def apply(plane: ControlPlane, spec: dict[str, t.Any], manager: str = "kustomize-controller") -> None:
    """As Flux does it."""
    place = f"{PLACES['OVNCluster'].format(plane.namespace)}/ovn?fieldManager={manager}"
    content = {"apiVersion": API_VERSION, "kind": "OVNCluster", "metadata": {"name": "ovn"}, "spec": spec}
    plane.server.request("APPLY", place, content)


def managers(resource: t.Any) -> dict[tuple[str, str], t.Any]:
    """What each client owns outside the status."""
    return {
        (entry["manager"], entry.get("subresource", "")): entry["fieldsV1"]
        for entry in resource["metadata"]["managedFields"]
        if entry.get("subresource") != "status"
    }


@pytest.fixture
def granted(plane: ControlPlane, operator: Operator) -> Operator:
    """It may not write an OVNCluster."""
    plane.server.define()
    operator.grant(*roles("cluster", operator.name, plane.namespace, own_resource=False))
    rights = [right for right in RIGHTS["cluster"] if right.need not in ("namespace", "definitions")]
    operator.await_denied(rights, plane.namespace, WRITING)
    return operator


def test_a_resource_of_another_client_is_rolled_out_and_stays_as_it_is(
    plane: ControlPlane, kubelet: Kubelet, granted: Operator, monkeypatch: pytest.MonkeyPatch
) -> None:
    apply(plane, WHOLE)
    applied = plane.get("OVNCluster", "ovn")
    requests = Requests(monkeypatch)
    options = {**SOURCE, "kubeconfig": granted.kubeconfig, "wait": False, "wait_timeout": 120}

    predicted = plane(check=True, **options)
    assert touched(predicted)["StatefulSet ovn-northbound"] == "created"
    assert "OVNCluster ovn" not in touched(predicted)
    assert plane.get("OVNCluster", "ovn") == applied
    first = plane(**options)
    assert first["northbound"]["verdict"] == first["southbound"]["verdict"] == "healthy"
    assert set(touched(first)) == set(touched(predicted))
    rolled_out = plane.get("OVNCluster", "ovn")
    assert managers(rolled_out) == managers(applied)
    assert rolled_out["metadata"]["generation"] == applied["metadata"]["generation"]
    assert rolled_out["spec"] == applied["spec"]
    assert rolled_out["status"]["conditions"]

    second = plane(**options)
    assert not second["changed"]
    assert not plane(check=True, **options)["changed"]

    # An edit by its owner
    apply(plane, {**WHOLE, "northd": {"replicas": 1}})
    predicted = plane(check=True, **options)
    third = plane(**options)
    assert third["changed"]
    assert touched(third) == touched(predicted)
    assert plane.get("Deployment", "ovn-northd")["spec"]["replicas"] == 1
    resource = plane.get("OVNCluster", "ovn")
    assert resource["metadata"]["generation"] == applied["metadata"]["generation"] + 1
    assert {manager for manager, _subresource in managers(resource)} == {"kustomize-controller"}
    assert not plane(**options)["changed"]
    assert requests.forbidden == []
    assert requests.accesses.isdisjoint(WRITING)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        pytest.param({"spec": {}}, "spec cannot be given with spec_from=resource", id="all defaults"),
        pytest.param({"resource_generation": 9}, "its generation was 9, and is 1. Run again.", id="edited in the run"),
    ],
)
def test_nothing_is_written_beside_the_resource(plane: ControlPlane, options: dict[str, t.Any], message: str) -> None:
    plane.server.define()
    apply(plane, WHOLE)
    applied = plane.get("OVNCluster", "ovn")
    assert message in plane(may_fail=True, **{**SOURCE, **options})["msg"]
    assert plane.get("OVNCluster", "ovn") == applied
    assert plane.ours() == {}


def test_fields_of_earlier_runs_are_given_up(plane: ControlPlane) -> None:
    """As docs/kubernetes.md says."""
    plane.server.define()
    apply(plane, WHOLE, "c5c3.ovn")
    apply(plane, WHOLE)
    shared = plane.get("OVNCluster", "ovn")
    assert {manager for manager, _subresource in managers(shared)} == {"c5c3.ovn", "kustomize-controller"}
    warnings = json.dumps(plane(check=True, wait=False, **SOURCE)["warnings"])
    assert "has fields of the field manager c5c3.ovn" in warnings
    place = f"{PLACES['OVNCluster'].format(plane.namespace)}/ovn?fieldManager=c5c3.ovn"
    nothing = {"apiVersion": API_VERSION, "kind": "OVNCluster", "metadata": {"name": "ovn"}}
    plane.server.request("APPLY", place, nothing)
    found = plane.get("OVNCluster", "ovn")
    assert found["spec"] == shared["spec"]
    assert {manager for manager, _subresource in managers(found)} == {"kustomize-controller"}
    assert kept_fields_warning(found) == ""


def test_the_precheck_asks_for_no_right_to_write_it(plane: ControlPlane, granted: Operator) -> None:
    def codes(**options: t.Any) -> dict[str, str]:
        given = {"kubeconfig": granted.kubeconfig, "kind": "cluster", **options}
        found = plane.module(ovn_precheck_kubernetes, given, False, False)["findings"]
        return {
            one["code"]: one["object"] for one in found if one["code"] in ("resource_missing", "permission_missing")
        }

    assert codes(spec_from="resource") == {"resource_missing": f"OVNCluster {plane.namespace}/ovn"}
    apply(plane, WHOLE)
    assert codes(spec_from="resource") == {}
    given = {"kubeconfig": granted.kubeconfig, "kind": "cluster", "spec_from": "resource", "spec": {}}
    refused = plane.module(ovn_precheck_kubernetes, given, False, True)
    assert "spec and images cannot be given with spec_from=resource" in refused["msg"]
    assert codes(spec=WHOLE) == {"permission_missing": f"ovnclusters.ovn.c5c3.io in namespace {plane.namespace}"}
    assert {right.resource for right in needed_rights("cluster", {"own resource"})} == {"ovnclusters"}


# --- playbooks --------------------------------------------------------------------------------------------------------

MAPPINGS = [{"physicalNetwork": "physnet1", "bridge": "br-ex", "ports": ["eth1"]}]
WHOLE_SITE = {
    **WHOLE,
    **{database: {**WHOLE[database], "service": {"type": "NodePort", "allowPlaintext": True}} for database in SIZES},
    "bridgeMappings": MAPPINGS,
    "encapsulation": {"type": "vxlan"},
    "gateway": {"nodeSelector": {"edge": "yes"}},
    "ovs": {"datapathType": "netdev", "underlay": {"bridge": "br-phy", "interface": "eth2"}},
    "controller": {"nodeSelector": {"rack": "one"}},
    "ovnImage": {"repository": "registry.example/ovn", "tag": "x"},
}
CLUSTER = {"ovn_backend": "kubernetes"}
# What roles make of it, on each host and with localhost outside of the run
SHOWN = [
    {
        "hosts": "localhost:all",
        "gather_facts": False,
        "tasks": [{"ansible.builtin.import_role": {"name": "c5c3.ovn.ovn_verify", "tasks_from": "inventory"}}],
    },
    {
        "hosts": "ovn_hypervisors",
        "gather_facts": False,
        "tasks": [
            # No field of the resource counts as an option of machines. A machine that is to be removed is described, and not read.
            {
                "c5c3.ovn.hypervisor_check": None,
                "register": "found",
                "vars": {
                    "ovn_hypervisor_state": "{{ 'absent' if inventory_hostname == 'machine' else 'present' }}",
                    "ovn_hypervisor_resource": "{{ inventory_hostname == 'machine' }}",
                },
            },
            {
                "ansible.builtin.copy": {
                    "dest": "{{ shown }}/{{ inventory_hostname }}.json",
                    "content": "{{ {'spec': found.spec | default({}), 'resource': found.resource | default({})} | to_json }}",
                    "mode": "0600",
                },
                "become": False,
            },
        ],
    },
]


class Site:
    """An inventory of one control plane and one hypervisor cluster, on the same API server, and a machine."""

    def __init__(self, plane: ControlPlane, folder: pathlib.Path, collection_path: str) -> None:
        self.plane, self.folder = plane, folder
        self.environment = _playbooks.environment(folder, collection_path, ANSIBLE_REMOTE_TEMP=str(folder / "remote"))

    def run(self, *arguments: str, **variables: t.Any) -> tuple[int, str]:
        groups = {
            "ovn_central": {"hosts": {"plane": CLUSTER}},
            "ovn_hypervisors": {"hosts": {"rack": CLUSTER, "machine": {}}},
        }
        place = {"ovn_kubeconfig": self.plane.server.kubeconfig, "ovn_namespace": self.plane.namespace}
        given = {"ovn_cluster_from": "resource", "ovn_tls": False, **place, **variables}
        inventory = _playbooks.write_inventory(self.folder / "hosts.yml", groups, **given)
        done = _playbooks.run(["-i", str(inventory), *arguments], self.environment, timeout=170)
        return done.returncode, re.sub(r"\s+", " ", done.stdout + done.stderr)

    def shown(self, *arguments: str) -> dict[str, t.Any]:
        """What the role makes of it, by host."""
        book = self.folder / "show.yml"
        book.write_text(json.dumps(SHOWN))
        code, output = self.run(str(book), *arguments, shown=str(self.folder))
        assert code == 0, output
        found = {path.stem: json.loads(path.read_text()) for path in self.folder.glob("*.json")}
        for path in self.folder.glob("*.json"):
            path.unlink()
        return found


@pytest.fixture
def site(plane: ControlPlane, tmp_path: pathlib.Path, collection_path: str) -> Site:
    plane.server.define()
    return Site(plane, tmp_path, collection_path)


@pytest.mark.timeout(300)
def test_playbooks_take_the_resource_as_it_is(site: Site) -> None:
    apply(site.plane, WHOLE_SITE)
    applied = site.plane.get("OVNCluster", "ovn")
    code, output = site.run("--check", "c5c3.ovn.central")
    assert code == 0, output
    assert "created StatefulSet ovn-northbound" in output
    assert "OVNCluster ovn" not in output
    assert site.plane.get("OVNCluster", "ovn") == applied

    for arguments in ((), ("--limit", "rack,machine")):
        found = site.shown(*arguments)
        assert found["rack"]["spec"] == applied["spec"]
        assert found["machine"]["resource"]["encapsulation_type"] == ["vxlan"]
        mappings = found["machine"]["resource"]["bridge_mappings"]
        assert mappings == [{"physical_network": "physnet1", "bridge": "br-ex", "ports": ["eth1"]}]

    # An edit by its owner
    apply(site.plane, {**WHOLE_SITE, "bridgeMappings": []})
    assert site.shown()["machine"]["resource"]["bridge_mappings"] == []


def test_a_refused_field_is_named_by_its_option(site: Site) -> None:
    code, output = site.run("c5c3.ovn.central", ovn_cluster_from="inventory", ovn_central_election_timer=50)
    assert code == 2, output
    assert "ovn_central_election_timer is 50. Use 100 to 600000" in output
    assert "spec." not in output


@pytest.mark.timeout(300)
def test_what_the_inventory_says_otherwise_is_refused_before_anything_is_done(site: Site) -> None:
    code, output = site.run("c5c3.ovn.central")
    assert code == 2, output
    assert f"OVNCluster {site.plane.namespace}/ovn of plane does not exist, and ovn_cluster_from is resource." in output
    assert (
        "Apply it there first (kubectl apply, Flux), or set ovn_cluster_from to inventory. Nothing was done." in output
    )
    apply(site.plane, WHOLE_SITE)
    code, output = site.run(
        "c5c3.ovn.site", ovn_image={"tag": "y"}, ovn_hypervisor_bridge_mappings=[], ovn_central_election_timer=7000
    )
    assert code == 2, output
    for text in (
        "ovn_image (ovnImage) on plane, rack",
        "ovn_central_election_timer (northbound.electionTimer) on plane",
        "ovn_hypervisor_bridge_mappings (bridgeMappings) on rack, machine",
    ):
        assert text in output
    assert "Nothing was done." in output
    assert site.plane.ours() == {}

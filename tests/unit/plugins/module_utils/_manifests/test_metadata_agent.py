"""The pod of the metadata agent, and what it reads."""

from __future__ import annotations

import configparser
import json
import typing as t

import pytest
from built_manifests import hypervisor_manifests_of

from ansible_collections.c5c3.ovn.plugins.module_utils._api.spec import ClusterSpec, parse_spec
from ansible_collections.c5c3.ovn.plugins.module_utils._manifests.metadata_agent import has_agent, metadata_agent_pod

Object = dict[str, t.Any]
HYPERVISOR = {"node-role.kubernetes.io/hypervisor": ""}
AGENT: Object = {
    "enabled": True,
    "image": {"repository": "registry.example.com/neutron", "tag": "2025.1"},
    "novaMetadata": {"host": "nova.example.com"},
    "sharedSecretRef": {"name": "nova-metadata", "key": "secret-of-nova"},
}
NAME = "ovn-metadata-agent"


def spec_of(agent: Object | None = None, **more: t.Any) -> ClusterSpec:
    return parse_spec({"metadataAgent": {**AGENT, **(agent or {})}, **more}, name="prod", namespace="net")


def objects(
    agent: Object | None = None,
    *,
    southbound: t.Sequence[str] = ("ssl:192.0.2.11:6642",),
    tls_secret: str | None = "ovn-tls",
    version: str = "7",
    **more: t.Any,
) -> dict[str, Object]:
    """The objects of the agent by kind."""
    manifests = hypervisor_manifests_of(
        spec_of(agent, **more),
        name="prod",
        southbound=list(southbound),
        tls_secret=tls_secret,
        metadata_secret_version=version,
    )
    return {one["kind"]: one for one in manifests if one["metadata"]["name"] == NAME}


def pod(*args: t.Any, **more: t.Any) -> Object:
    return t.cast(Object, objects(*args, **more)["DaemonSet"]["spec"]["template"]["spec"])


def settings(*args: t.Any, **more: t.Any) -> configparser.ConfigParser:
    parser = configparser.ConfigParser(interpolation=None)
    parser.read_string(objects(*args, **more)["ConfigMap"]["data"]["neutron_ovn_metadata_agent.ini"])
    return parser


def test_there_is_none_unless_it_is_enabled() -> None:
    assert objects({"enabled": False}) == {}
    found = objects()
    assert sorted(found) == ["ConfigMap", "DaemonSet", "ServiceAccount"]
    for one in found.values():
        assert one["metadata"]["labels"]["app.kubernetes.io/component"] == "metadata-agent"
        assert one["metadata"]["namespace"] == "net"


def test_settings() -> None:
    found = settings({"workers": 2, "extraConfig": {"AGENT": {"report_interval": 30}, "DEFAULT": {"debug": "true"}}})
    assert found["DEFAULT"]["nova_metadata_host"] == "nova.example.com"
    assert found["DEFAULT"]["nova_metadata_port"] == "8775"
    assert found["DEFAULT"]["metadata_workers"] == "2"
    assert found["DEFAULT"]["debug"] == "true"
    assert found["agent"]["report_interval"] == "30"
    assert found["ovn"]["ovn_sb_connection"] == "ssl:192.0.2.11:6642"
    assert found["ovn"]["ovn_sb_ca_cert"] == "/tls/ca.crt"
    assert found["ovs"]["ovsdb_connection"] == "unix:/run/openvswitch/db.sock"
    assert "metadata_workers" not in settings()["DEFAULT"]
    assert "ovn_sb_ca_cert" not in settings(tls_secret=None, tls={"enabled": False})["ovn"]


@pytest.mark.parametrize("program", ["neutron-ovn-metadata-agent", "neutron-ovn-agent"])
def test_each_program_finds_its_settings(program: str) -> None:
    """In the same place: a pod that still runs the other one finds them as well when its container starts again."""
    agent = {"program": program}
    (container,) = pod(agent)["containers"]
    variables = {one["name"]: one["value"] for one in container["env"]}
    mounts = {one["name"]: one for one in container["volumeMounts"]}
    assert variables["OVN_METADATA_PROGRAM"] == program
    assert variables["OVN_METADATA_SETTINGS"] == f"{mounts['settings']['mountPath']}/neutron_ovn_metadata_agent.ini"
    assert settings(agent)["agent"].get("extensions") == ("metadata" if program == "neutron-ovn-agent" else None)
    assert settings(agent)["agent"]["root_helper"] == "env"


def test_more_extensions() -> None:
    extra = {"AGENT": {"extensions": "metadata,ovn-bgp"}}
    assert settings({"program": "neutron-ovn-agent", "extraConfig": extra})["agent"]["extensions"] == "metadata,ovn-bgp"


def test_the_secret_is_in_a_volume_alone() -> None:
    found = objects()
    assert "metadata_proxy_shared_secret =" not in found["ConfigMap"]["data"]["neutron_ovn_metadata_agent.ini"]
    (volume,) = [one for one in pod()["volumes"] if one["name"] == "shared-secret"]
    assert volume["secret"] == {
        "secretName": "nova-metadata",
        "items": [{"key": "secret-of-nova", "path": "secret"}],
        "defaultMode": 0o400,
    }
    (container,) = pod()["containers"]
    assert not [one for one in container["env"] if "valueFrom" in one]
    variables = {one["name"]: one["value"] for one in container["env"]}
    mounts = {one["name"]: one for one in container["volumeMounts"]}
    assert variables["OVN_METADATA_SECRET"] == f"{mounts['shared-secret']['mountPath']}/secret"
    # The copy that the agent reads is in memory.
    state = next(one for one in pod()["volumes"] if one["name"] == "state")
    assert mounts["state"]["mountPath"] == variables["OVN_METADATA_STATE"] == settings()["DEFAULT"]["state_path"]
    assert state["emptyDir"]["medium"] == "Memory"


def test_it_has_no_token_and_no_right() -> None:
    assert pod()["serviceAccountName"] == NAME
    assert pod()["automountServiceAccountToken"] is False
    assert objects()["ServiceAccount"]["automountServiceAccountToken"] is False
    assert "serviceAccountToken" not in json.dumps(pod())


def test_namespaces_are_those_of_the_node() -> None:
    """They outlive the pod, and people on the node see them. The API server lets privileged containers alone do that."""
    (container,) = pod()["containers"]
    (mount,) = [one for one in container["volumeMounts"] if one["mountPath"] == "/run/netns"]
    assert mount["mountPropagation"] == "Bidirectional"
    assert container["securityContext"] == {"privileged": True, "readOnlyRootFilesystem": True}
    (volume,) = [one for one in pod()["volumes"] if one["name"] == mount["name"]]
    assert volume["hostPath"] == {"path": "/run/netns", "type": "DirectoryOrCreate"}
    assert pod()["hostNetwork"] is True
    assert "hostPID" not in pod()


def test_iptables_has_a_place_for_its_lock() -> None:
    """That of the legacy variant is in /run otherwise, which is read-only."""
    (container,) = pod()["containers"]
    (lock,) = [one["value"] for one in container["env"] if one["name"] == "XTABLES_LOCKFILE"]
    volumes = {one["mountPath"]: one["name"] for one in container["volumeMounts"] if not one.get("readOnly")}
    (volume,) = [one for one in pod()["volumes"] if one["name"] == volumes[lock.rpartition("/")[0]]]
    assert "emptyDir" in volume


@pytest.mark.parametrize(("mode", "path"), [("managed", "/run/c5c3-ovn/openvswitch"), ("host", "/run/openvswitch")])
def test_it_talks_to_the_open_vswitch_of_the_node(mode: str, path: str) -> None:
    found = pod(ovs={"mode": mode})
    (volume,) = [one for one in found["volumes"] if one["name"] == "sockets"]
    assert volume["hostPath"]["path"] == path


def test_the_certificate_is_that_of_the_node() -> None:
    """The Southbound compares the name in it with that of the chassis row, and each chassis has one certificate."""
    own = {"tls": {"nodeCertificates": "own"}}
    found = pod(**own)
    volumes = {one["name"]: one for one in found["volumes"]}
    assert volumes["node-tls"]["hostPath"]["path"] == "/var/lib/c5c3-ovn/certificate"
    assert volumes["tls"]["configMap"]["name"] == "ovn-chassis-ca"
    assert "ovn-tls" not in json.dumps(found)
    (container,) = found["containers"]
    assert all(one["readOnly"] for one in container["volumeMounts"] if one["name"] in ("node-tls", "tls"))
    assert settings(**own)["ovn"]["ovn_sb_private_key"] == "/node-tls/current/tls.key"
    variables = {one["name"]: one["value"] for one in container["env"]}
    assert variables["OVN_CERTIFICATE"] == settings(**own)["ovn"]["ovn_sb_certificate"]


def test_where_nodes_share_a_certificate() -> None:
    volumes = {one["name"]: one for one in pod()["volumes"]}
    assert volumes["tls"]["secret"]["secretName"] == "ovn-tls"
    assert "node-tls" not in volumes
    assert not {"tls", "node-tls"} & {one["name"] for one in pod(tls_secret=None, tls={"enabled": False})["volumes"]}


@pytest.mark.parametrize(
    ("change", "restarts"),
    [
        pytest.param({}, False, id="nothing"),
        pytest.param({"southbound": ["ssl:192.0.2.12:6642"]}, True, id="endpoints"),
        pytest.param({"agent": {"extraConfig": {"DEFAULT": {"debug": "true"}}}}, True, id="settings"),
        pytest.param({"agent": {"program": "neutron-ovn-agent"}}, True, id="program"),
        pytest.param({"version": "8"}, True, id="the secret"),
        pytest.param({"agent": {"image": {"repository": "r", "tag": "2"}}}, True, id="image"),
        pytest.param({"agent": {"maxUnavailable": 2}}, False, id="how many at a time"),
    ],
)
def test_what_restarts_the_pods(change: Object, restarts: bool) -> None:
    """It reads its settings and the secret once."""
    before, after = objects()["DaemonSet"], objects(**change)["DaemonSet"]
    assert (before["spec"]["template"] != after["spec"]["template"]) is restarts


def test_one_node_at_a_time() -> None:
    spec = objects()["DaemonSet"]["spec"]
    assert spec["updateStrategy"]["rollingUpdate"] == {"maxUnavailable": 1, "maxSurge": 0}
    assert spec["selector"]["matchLabels"].items() <= spec["template"]["metadata"]["labels"].items()


GATEWAY = {"gateway": {"nodeSelector": {"gateway": "yes", "zone": "a"}}}


@pytest.mark.parametrize(
    ("raw", "labels", "expected"),
    [
        ({}, HYPERVISOR, True),
        ({}, {}, False),
        ({}, {**HYPERVISOR, "gateway": "yes", "zone": "a"}, True),
        (GATEWAY, {**HYPERVISOR, "gateway": "yes", "zone": "a"}, False),
        (GATEWAY, {**HYPERVISOR, "gateway": "yes", "zone": "b"}, True),
        (GATEWAY, {**HYPERVISOR, "gateway": "yes"}, True),
        (GATEWAY, HYPERVISOR, True),
        ({"agent": {"nodeSelector": {"guests": "yes"}}}, HYPERVISOR, False),
        ({"agent": {"nodeSelector": {"guests": "yes"}}}, {**HYPERVISOR, "guests": "yes"}, True),
        ({"agent": {"nodeSelector": {"guests": "yes"}}}, {"guests": "yes"}, False),
    ],
)
def test_which_nodes_get_one(raw: Object, labels: dict[str, str], expected: bool) -> None:
    """What we count is what Kubernetes would do with the selector and the affinity of the pod."""
    assert has_agent(spec_of(**raw), labels) is expected
    found = pod(**raw)
    selected = found["nodeSelector"].items() <= labels.items()
    affinity = (found.get("affinity") or {}).get("nodeAffinity") or {}
    terms = affinity.get("requiredDuringSchedulingIgnoredDuringExecution", {}).get("nodeSelectorTerms")

    def holds(one: Object) -> bool:
        assert one["operator"] == "NotIn"
        return labels.get(one["key"]) not in one["values"]

    kept = terms is None or any(all(map(holds, term["matchExpressions"])) for term in terms)
    assert (selected and kept) is expected


def test_an_enabled_agent_always_has_a_secret() -> None:
    disabled = parse_spec({}, name="prod", namespace="net")
    with pytest.raises(ValueError, match="names a Secret"):
        metadata_agent_pod(disabled, None)

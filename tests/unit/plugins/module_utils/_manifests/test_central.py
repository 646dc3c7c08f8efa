from __future__ import annotations

import base64
import json
import typing as t
from pathlib import Path

import pytest

from ansible_collections.c5c3.ovn.plugins.module_utils._api.names import labels
from ansible_collections.c5c3.ovn.plugins.module_utils._control_plane.observed_state import KINDS
from ansible_collections.c5c3.ovn.plugins.module_utils._manifests.config import CONFIG_KEYS

Central = t.Callable[..., t.Any]

STATEFUL_SETS = ["prod-northbound", "prod-southbound"]
WORKLOADS = [
    ("StatefulSet", "prod-northbound"),
    ("StatefulSet", "prod-southbound"),
    ("Deployment", "prod-northd"),
    ("Deployment", "prod-observer"),
]
EXPOSED = {
    "northbound": {"service": {"type": "NodePort", "nodePorts": [30001, 30002, 30003], "annotations": {"a": "b"}}},
    "southbound": {"service": {"type": "LoadBalancer"}},
}


def environment(container: dict[str, t.Any]) -> dict[str, t.Any]:
    return {entry["name"]: entry.get("value") for entry in container["env"]}


# --- all objects -----------------------------------------------------------------------------------------------------------


def test_names_of_everything(central: Central) -> None:
    found = sorted(f"{m['kind']}/{m['metadata']['name']}" for m in central())
    members = [f"Service/prod-{database}-{i}" for database in ("northbound", "southbound") for i in range(3)]
    assert found == sorted(
        [
            *members,
            *(f"Service/{name}" for name in ("prod-northbound", "prod-southbound", "ovn-nb", "ovn-sb")),
            *(f"{kind}/{name}" for kind, name in WORKLOADS),
            *(f"ServiceAccount/{name}" for _kind, name in WORKLOADS),
            *(f"NetworkPolicy/{name}" for _kind, name in WORKLOADS),
            *(f"PodDisruptionBudget/prod-{name}" for name in ("northbound", "southbound", "northd")),
            *(f"{kind}/prod-{name}" for kind in ("Role", "RoleBinding") for name in ("northd", "observer")),
            "ConfigMap/prod-relay",
            "ConfigMap/prod-scripts",
            "ConfigMap/ovn-config",
        ]
    )


def test_decision_about_apply_names_numbers_of_objects_and_kinds(central: Central) -> None:
    (page,) = Path(__file__).parents[5].glob("docs/contributing/decisions/0002-*.md")
    text = page.read_text(encoding="utf-8")
    assert "A control plane is more than 30 objects" in text
    assert len(list(central())) > 30
    assert f"one LIST for each of {len(KINDS)} kinds" in text


def test_every_object_is_labeled_and_owned(central: Central) -> None:
    for manifest in central(EXPOSED):
        metadata = manifest["metadata"]
        assert metadata["labels"].items() >= labels("prod").items()
        assert metadata["namespace"] == "net"
        assert [owner["uid"] for owner in metadata["ownerReferences"]] == ["00000000-0000-4000-8000-000000000001"]


def test_nothing_that_holds_data_is_among_them(central: Central) -> None:
    manifests = central()
    assert not manifests.of("PersistentVolumeClaim")
    assert not [m for m in manifests if m["metadata"]["name"].endswith(("-record", "-witness"))]
    for name in STATEFUL_SETS:
        spec = manifests.named("StatefulSet", name)["spec"]
        assert spec["persistentVolumeClaimRetentionPolicy"] == {"whenDeleted": "Retain", "whenScaled": "Retain"}
        assert "ownerReferences" not in spec["volumeClaimTemplates"][0]["metadata"]


def test_before_the_cluster_exists_nothing_is_owned(central: Central) -> None:
    assert all("ownerReferences" not in manifest["metadata"] for manifest in central(owner=None))


def test_the_same_specification_gives_the_same_bytes(central: Central) -> None:
    assert json.dumps(central(EXPOSED)) == json.dumps(central(EXPOSED))


def selectors(manifest: dict[str, t.Any]) -> list[dict[str, str]]:
    spec = manifest.get("spec", {})
    if manifest["kind"] == "Service":
        return [{k: v for k, v in spec["selector"].items() if not k.startswith("statefulset.")}]
    if manifest["kind"] == "NetworkPolicy":
        return [spec["podSelector"]["matchLabels"]]
    return [spec["selector"]["matchLabels"]] if "selector" in spec else []


def test_selectors_never_change(central: Central) -> None:
    other = {**EXPOSED, "ovnImage": {"tag": "25.03"}, "northd": {"threads": 4}, "tls": {"certSecretRef": {"name": "x"}}}
    for manifest in central(other):
        for selector in selectors(manifest):
            assert set(selector) == {f"app.kubernetes.io/{key}" for key in ("name", "instance", "component")}
            assert selector == {key: manifest["metadata"]["labels"][key] for key in selector}


def test_selectors_fit_the_pods(central: Central) -> None:
    for manifest in central():
        if "template" in manifest.get("spec", {}):
            pod = manifest["spec"]["template"]["metadata"]["labels"]
            assert pod.items() >= manifest["spec"]["selector"]["matchLabels"].items()


@pytest.mark.parametrize(("kind", "name"), WORKLOADS)
def test_pods_are_restricted(central: Central, kind: str, name: str) -> None:
    pod = central().pod(kind, name)
    security = pod["securityContext"]
    assert security["runAsNonRoot"] is True
    assert {security["runAsUser"], security["runAsGroup"], security["fsGroup"]} == {10001}
    assert security["seccompProfile"] == {"type": "RuntimeDefault"}
    assert not {"hostNetwork", "hostPID", "hostIPC"} & set(pod)
    for container in pod["containers"]:
        assert container["securityContext"] == {
            "allowPrivilegeEscalation": False,
            "readOnlyRootFilesystem": True,
            "capabilities": {"drop": ["ALL"]},
        }
        assert all("subPath" not in mount for mount in container["volumeMounts"])
    assert {kind for volume in pod["volumes"] for kind in volume if kind != "name"} <= {
        "emptyDir",
        "configMap",
        "projected",
        "secret",
    }


@pytest.mark.parametrize(("kind", "name"), WORKLOADS)
def test_what_is_mounted_exists_and_is_used(central: Central, kind: str, name: str) -> None:
    manifests = central()
    pod = manifests.pod(kind, name)
    claims = [c["metadata"]["name"] for c in manifests.named(kind, name)["spec"].get("volumeClaimTemplates", [])]
    mounted = {mount["name"] for container in containers_of(pod) for mount in container["volumeMounts"]}
    assert mounted == {volume["name"] for volume in pod["volumes"]} | set(claims)


@pytest.mark.parametrize(("kind", "name"), WORKLOADS)
def test_without_tls_no_pod_waits_for_a_secret(central: Central, kind: str, name: str) -> None:
    text = json.dumps(central({"tls": {"enabled": False}}).named(kind, name))
    assert "/tls" not in text
    assert "ssl:" not in text
    assert "prod-tls" not in text


def test_only_pods_that_need_the_api_have_a_token(central: Central) -> None:
    tokens = {name: central().pod(kind, name)["automountServiceAccountToken"] for kind, name in WORKLOADS}
    assert tokens == {"prod-northbound": False, "prod-southbound": False, "prod-northd": False, "prod-observer": True}
    containers = [(name, c) for kind, name in WORKLOADS for c in containers_of(central().pod(kind, name))]
    having = [(name, c["name"]) for name, c in containers if "api" in {m["name"] for m in c["volumeMounts"]}]
    assert having == [("prod-northd", "status")]


def containers_of(pod: dict[str, t.Any]) -> list[dict[str, t.Any]]:
    return [*pod.get("initContainers", []), *pod["containers"]]


# --- databases -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", STATEFUL_SETS)
def test_kubernetes_restarts_and_removes_no_member_by_itself(central: Central, name: str) -> None:
    spec = central().named("StatefulSet", name)["spec"]
    assert spec["updateStrategy"] == {"type": "OnDelete"}
    assert spec["podManagementPolicy"] == "Parallel"
    assert spec["template"]["spec"]["terminationGracePeriodSeconds"] == 60


@pytest.mark.parametrize("name", STATEFUL_SETS)
def test_two_members_never_share_a_node(central: Central, name: str) -> None:
    stateful_set = central().named("StatefulSet", name)["spec"]
    affinity = stateful_set["template"]["spec"]["affinity"]["podAntiAffinity"]
    (term,) = affinity["requiredDuringSchedulingIgnoredDuringExecution"]
    assert term["topologyKey"] == "kubernetes.io/hostname"
    assert term["labelSelector"] == stateful_set["selector"]
    (zones,) = stateful_set["template"]["spec"]["topologySpreadConstraints"]
    assert (zones["topologyKey"], zones["whenUnsatisfiable"]) == ("topology.kubernetes.io/zone", "ScheduleAnyway")


@pytest.mark.parametrize("name", STATEFUL_SETS)
def test_probes_of_a_member(central: Central, name: str) -> None:
    container = central().pod("StatefulSet", name)["containers"][0]
    seen = {
        probe: (
            container[probe]["exec"]["command"][-1],
            container[probe]["periodSeconds"],
            container[probe]["failureThreshold"],
            container[probe]["timeoutSeconds"],
        )
        for probe in ("startupProbe", "livenessProbe", "readinessProbe")
    }
    assert seen == {
        "startupProbe": ("alive", 2, 300, 10),
        "livenessProbe": ("alive", 30, 10, 10),
        "readinessProbe": ("ready", 5, 3, 5),
    }
    assert container["lifecycle"]["preStop"]["exec"]["command"][-1] == "sh /scripts/ovn-raft-launcher stop || true"


def test_the_environment_of_a_member(central: Central) -> None:
    container = central().pod("StatefulSet", "prod-southbound")["containers"][0]
    told = environment(container)
    assert told["OVN_MEMBER"] is None  # of the pod itself
    assert container["env"][0]["name"] == "OVN_MEMBER"  # before it is used
    assert told["OVN_LOCAL_ADDRESS"] == "ssl:$(OVN_MEMBER).prod-southbound.net.svc.example.test:6644"
    assert told["OVN_DB_FILE"] == "/data/ovnsb_db.db"
    assert told["OVN_WAIT"] == "1"
    assert (
        told["OVN_CLIENT_ENDPOINTS"].split(",")[4] == "ssl:prod-southbound-4.prod-southbound.net.svc.example.test:16642"
    )
    assert told["OVN_CA_CERTIFICATE"] == "/tls/ca.crt"


UNTOUCHED = [
    ("a change of the size", {"northbound": {"replicas": 5}}),
    ("another size of the volumes", {"northbound": {"storage": {"size": "20Gi"}}}),
    ("exposing", {"northbound": {"service": {"type": "NodePort"}}}),
    ("a timer", {"northbound": {"electionTimer": 10000, "inactivityProbe": 60000}}),
    ("northd", {"northd": {"replicas": 5, "threads": 8}}),
    ("the other database", {"southbound": {"replicas": 1, "resources": {"requests": {"cpu": "1"}}}}),
    ("hypervisors", {"ovsImage": {"tag": "3.5"}, "bridgeMappings": [{"physicalNetwork": "a", "bridge": "x"}]}),
    ("a name for Neutron", {"neutronIntegration": {"nbConnection": {"service": {"name": "nb", "port": 16641}}}}),
]


@pytest.mark.parametrize("raw", [row[1] for row in UNTOUCHED], ids=[row[0] for row in UNTOUCHED])
def test_restarts_no_member(central: Central, raw: dict[str, t.Any]) -> None:
    template = json.dumps(central().pod("StatefulSet", "prod-northbound"))
    assert json.dumps(central(raw).pod("StatefulSet", "prod-northbound")) == template


def test_scripts_restart_no_member(central: Central) -> None:
    before, after = central(), central(launcher="#!/bin/sh\n# new\n", archive=b"new")
    for kind, name in WORKLOADS:
        assert before.pod(kind, name) == after.pod(kind, name)
    scripts = after.named("ConfigMap", "prod-scripts")
    assert scripts["data"]["ovn-raft-launcher"] == "#!/bin/sh\n# new\n"
    assert base64.b64decode(scripts["binaryData"]["c5c3-ovn.pyz"]) == b"new"


def test_a_cluster_grows_from_one_pod(central: Central) -> None:
    manifests = central(replicas={"northbound": 1, "southbound": 0})
    assert manifests.named("StatefulSet", "prod-northbound")["spec"]["replicas"] == 1
    assert manifests.named("StatefulSet", "prod-southbound")["spec"]["replicas"] == 0
    assert manifests.named("Service", "prod-northbound-2")


def test_a_member_that_has_not_left_yet_stays_known(central: Central) -> None:
    manifests = central({"northbound": {"replicas": 1}}, replicas={"northbound": 3, "southbound": 3})
    assert manifests.named("Service", "prod-northbound-2")
    assert manifests.named("PodDisruptionBudget", "prod-northbound")
    (northd,) = [c for c in manifests.pod("Deployment", "prod-northd")["containers"] if c["name"] == "northd"]
    assert "prod-northbound-2." in json.dumps(northd["command"])


@pytest.mark.parametrize(
    ("raw", "budgets"),
    [
        ({}, ["prod-northbound", "prod-northd", "prod-southbound"]),
        ({"northbound": {"replicas": 1}, "northd": {"replicas": 1}}, ["prod-southbound"]),
        ({"northbound": {"replicas": 5}}, ["prod-northbound", "prod-northd", "prod-southbound"]),
    ],
)
def test_disruption_budgets(central: Central, raw: dict[str, t.Any], budgets: list[str]) -> None:
    found = central(raw).of("PodDisruptionBudget")
    assert sorted(budget["metadata"]["name"] for budget in found) == budgets
    assert {budget["spec"]["maxUnavailable"] for budget in found} == {1}


# --- Services --------------------------------------------------------------------------------------------------------------


def test_names_resolve_without_quorum(central: Central) -> None:
    for service in central(EXPOSED).of("Service"):
        in_front = service["metadata"]["name"] in ("ovn-nb", "ovn-sb")
        assert service["spec"].get("publishNotReadyAddresses", False) is not in_front


def test_headless_service_has_all_ports(central: Central) -> None:
    spec = central().named("Service", "prod-southbound")["spec"]
    assert spec["clusterIP"] == "None"
    assert {port["name"]: port["port"] for port in spec["ports"]} == {
        "client": 6642,
        "unrestricted": 16642,
        "raft": 6644,
    }


def test_members_are_exposed_one_by_one_and_never_for_raft(central: Central) -> None:
    manifests = central(EXPOSED)
    for index in range(3):
        service = manifests.named("Service", f"prod-northbound-{index}")
        assert service["spec"]["type"] == "NodePort"
        assert service["spec"]["externalTrafficPolicy"] == "Cluster"
        assert service["spec"]["selector"]["statefulset.kubernetes.io/pod-name"] == f"prod-northbound-{index}"
        assert service["metadata"]["annotations"] == {"a": "b"}
        (port,) = service["spec"]["ports"]
        assert (port["port"], port["nodePort"]) == (6641, 30001 + index)
        (port,) = manifests.named("Service", f"prod-southbound-{index}")["spec"]["ports"]
        assert (port["port"], "nodePort" in port) == (6642, False)


def test_neutron_gets_the_names_that_are_given(central: Central) -> None:
    raw = {"neutronIntegration": {"sbConnection": {"service": {"name": "southbound", "port": 16642}}}}
    spec = central(raw).named("Service", "southbound")["spec"]
    (port,) = spec["ports"]
    assert (spec["type"], port["port"], port["targetPort"]) == ("ClusterIP", 16642, 16642)


# --- northd and the observer -----------------------------------------------------------------------------------------------


def test_northd_knows_all_members_of_both_databases(central: Central) -> None:
    (northd,) = [c for c in central().pod("Deployment", "prod-northd")["containers"] if c["name"] == "northd"]
    options = dict(word.split("=", 1) for word in northd["command"] if word.startswith("--") and "=" in word)
    for option, database, port in (("--ovnnb-db", "northbound", 6641), ("--ovnsb-db", "southbound", 16642)):
        assert options[option].split(",") == [
            f"ssl:prod-{database}-{index}.prod-{database}.net.svc.example.test:{port}" for index in range(3)
        ]
    assert northd["command"][-6:] == ["-p", "/tls/tls.key", "-c", "/tls/tls.crt", "-C", "/tls/ca.crt"]


def test_probes_of_northd(central: Central) -> None:
    (northd,) = [c for c in central().pod("Deployment", "prod-northd")["containers"] if c["name"] == "northd"]
    for probe in ("startupProbe", "livenessProbe"):
        assert northd[probe]["exec"]["command"][-1] == "ovn-appctl -T 5 -t /run/ovn/ovn-northd.ctl status"
    ready = northd["readinessProbe"]["exec"]["command"][-1]
    assert "for db in nb sb" in ready
    assert 'test "$said" = connected' in ready
    assert northd["readinessProbe"]["timeoutSeconds"] > 10  # both questions may take their 5 s


def test_northd_pods_prefer_nodes_of_their_own(central: Central) -> None:
    affinity = central().pod("Deployment", "prod-northd")["affinity"]["podAntiAffinity"]
    assert list(affinity) == ["preferredDuringSchedulingIgnoredDuringExecution"]


@pytest.mark.parametrize("database", ["northbound", "southbound"])
def test_a_member_reads_the_witness_beside_the_record_and_starts_without_it(central: Central, database: str) -> None:
    pod = central().pod("StatefulSet", f"prod-{database}")
    (volume,) = [volume for volume in pod["volumes"] if volume["name"] == "record"]
    record, witness = (source["configMap"] for source in volume["projected"]["sources"])
    assert record == {"name": f"prod-{database}-record"}
    assert witness == {"name": f"prod-{database}-witness", "optional": True}
    (mount,) = [mount for mount in pod["containers"][0]["volumeMounts"] if mount["name"] == "record"]
    told = environment(pod["containers"][0])
    assert (mount["mountPath"], mount["readOnly"], "subPath" in mount) == (told["OVN_RECORD_DIR"], True, False)
    # What the launcher itself writes is no part of it: that directory is read-only.
    assert not told["OVN_WITNESS_FILE"].startswith(mount["mountPath"])


def test_observer_runs_once_and_may_do_little(central: Central) -> None:
    manifests = central()
    deployment = manifests.named("Deployment", "prod-observer")["spec"]
    assert (deployment["replicas"], deployment["strategy"]) == (1, {"type": "Recreate"})
    told = environment(deployment["template"]["spec"]["containers"][0])
    assert (told["OVN_CLUSTER_NAME"], told["OVN_NAMESPACE"]) == ("prod", "net")
    assert told["OVN_NORTHBOUND"].count("ssl:") == 3
    all_rules = manifests.named("Role", "prod-observer")["rules"]
    rules = {rule["resources"][0]: rule for rule in all_rules}
    assert rules["ovnclusters/status"]["resourceNames"] == ["prod"]
    records = ["prod-northbound-record", "prod-southbound-record"]
    witnesses = ["prod-northbound-witness", "prod-southbound-witness"]
    assert [(r["resourceNames"], r["verbs"]) for r in all_rules if r["resources"] == ["configmaps"]] == [
        (records, ["get"]),
        (witnesses, ["get", "patch"]),
    ]
    assert not {"create", "delete", "update", "*"} & {verb for rule in rules.values() for verb in rule["verbs"]}


@pytest.mark.parametrize(
    ("tls", "expected"),
    [
        ({}, None),
        ({"enabled": False}, None),
        ({"certSecretRef": {"name": "x"}, "southboundClientCaKey": "ca.crt"}, None),
        ({"certSecretRef": {"name": "x"}, "southboundClientCaKey": "chassis.crt"}, "/tls/chassis.crt"),
    ],
)
def test_observer_knows_whom_the_southbound_lets_in(
    central: Central, tls: dict[str, t.Any], expected: str | None
) -> None:
    (container,) = central({"tls": tls}).pod("Deployment", "prod-observer")["containers"]
    assert environment(container).get("OVN_CLIENT_CA_CERTIFICATE") == expected


def test_observer_knows_the_certificates_of_chassis_and_clients(central: Central) -> None:
    """The list comes with the first run that has issued certificates, after the pod."""
    pod = central().pod("Deployment", "prod-observer")
    (container,) = pod["containers"]
    folder, _slash, file = environment(container)["OVN_ISSUED_CERTIFICATES"].rpartition("/")
    mount = next(mount for mount in container["volumeMounts"] if mount["mountPath"] == folder)
    volume = next(volume for volume in pod["volumes"] if volume["name"] == mount["name"])
    assert volume["configMap"] == {"name": "prod-issued-certificates", "optional": True}
    assert (file, "subPath" in mount) == ("issued-certificates.json", False)
    without = central({"tls": {"enabled": False}}).pod("Deployment", "prod-observer")
    assert "OVN_ISSUED_CERTIFICATES" not in environment(without["containers"][0])
    assert "prod-issued-certificates" not in str(without)


def test_no_pod_may_change_pods_but_their_labels_through_the_status(central: Central) -> None:
    roles = {role["metadata"]["name"]: role["rules"] for role in central().of("Role")}
    writes = {
        (name, resource)
        for name, rules in roles.items()
        for rule in rules
        for resource in rule["resources"]
        if resource.startswith("pods") and set(rule["verbs"]) - {"get", "list", "watch"}
    }
    assert writes == {("prod-northd", "pods/status"), ("prod-observer", "pods/status")}


@pytest.mark.parametrize(("kind", "name"), WORKLOADS)
def test_every_container_has_requests(central: Central, kind: str, name: str) -> None:
    for container in central().pod(kind, name)["containers"]:
        assert {"cpu", "memory"} <= set(container["resources"]["requests"]), container["name"]


@pytest.mark.parametrize(("kind", "name"), WORKLOADS)
def test_images_of_a_private_registry(central: Central, kind: str, name: str) -> None:
    secrets = [{"name": "theirs"}]
    assert central({"imagePullSecrets": secrets}).pod(kind, name)["imagePullSecrets"] == secrets
    assert "imagePullSecrets" not in central().pod(kind, name)


def test_every_service_has_the_declared_families(central: Central) -> None:
    families = {"ipFamilyPolicy": "RequireDualStack", "ipFamilies": ["IPv6", "IPv4"]}
    services = central({"network": families}).of("Service")
    assert len(services) == 10
    assert all(families.items() <= service["spec"].items() for service in services)
    assert all("ipFamilyPolicy" not in service["spec"] for service in central().of("Service"))


NOT_READY, UNREACHABLE = (
    {"key": f"node.kubernetes.io/{taint}", "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 10}
    for taint in ("not-ready", "unreachable")
)
DEDICATED = {"key": "dedicated", "operator": "Equal", "value": "ovn", "effect": "NoSchedule"}
PATIENT = {"key": NOT_READY["key"], "operator": "Exists", "tolerationSeconds": 60}


@pytest.mark.parametrize(
    ("declared", "expected"),
    [
        pytest.param([], [NOT_READY, UNREACHABLE], id="it leaves a node that is away soon"),
        pytest.param([DEDICATED], [NOT_READY, UNREACHABLE, DEDICATED], id="added"),
        pytest.param([{"operator": "Exists"}], [NOT_READY, UNREACHABLE, {"operator": "Exists"}], id="ours come first"),
        pytest.param([PATIENT], [UNREACHABLE, PATIENT], id="one of ours is replaced"),
        pytest.param(
            [{**PATIENT, "effect": "NoSchedule"}],
            [NOT_READY, UNREACHABLE, {**PATIENT, "effect": "NoSchedule"}],
            id="another effect",
        ),
    ],
)
def test_tolerations_of_the_observer(central: Central, declared: list[t.Any], expected: list[t.Any]) -> None:
    manifests = central({"observer": {"tolerations": declared}})
    assert manifests.pod("Deployment", "prod-observer")["tolerations"] == expected
    assert "tolerations" not in manifests.pod("Deployment", "prod-northd")


@pytest.mark.parametrize(("kind", "part"), [("StatefulSet", "northbound"), ("Deployment", "northd")])
def test_tolerations(central: Central, kind: str, part: str) -> None:
    assert central({part: {"tolerations": [DEDICATED]}}).pod(kind, f"prod-{part}")["tolerations"] == [DEDICATED]
    assert "tolerations" not in central().pod(kind, f"prod-{part}")


@pytest.mark.parametrize(
    ("raw", "expected"),
    [
        ({}, "system-cluster-critical"),
        ({"priorityClassName": "databases"}, "databases"),
        ({"priorityClassName": ""}, None),
    ],
)
def test_all_pods_have_the_priority_class(central: Central, raw: dict[str, t.Any], expected: str | None) -> None:
    manifests = central(raw)
    workloads = [*manifests.of("StatefulSet"), *manifests.of("Deployment")]
    assert {m["metadata"]["name"]: m["spec"]["template"]["spec"].get("priorityClassName") for m in workloads} == {
        f"prod-{component}": expected for component in ("northbound", "southbound", "northd", "observer")
    }


def test_accounts_that_are_given(central: Central) -> None:
    """Ours are not made, and what the pods do at the API server, the given ones may."""
    raw = {part: {"serviceAccountName": f"team-{part}"} for part in ("northbound", "southbound", "northd", "observer")}
    manifests = central(raw)
    assert manifests.of("ServiceAccount") == []
    for kind, name in WORKLOADS:
        assert manifests.pod(kind, name)["serviceAccountName"] == name.replace("prod", "team")
    bound = {one["metadata"]["name"]: one["subjects"] for one in manifests.of("RoleBinding")}
    assert bound == {
        f"prod-{part}": [{"kind": "ServiceAccount", "name": f"team-{part}", "namespace": "net"}]
        for part in ("northd", "observer")
    }
    assert [one["rules"] for one in manifests.of("Role")] == [one["rules"] for one in central().of("Role")]


def test_roles_are_bound_to_their_accounts(central: Central) -> None:
    manifests = central()
    for binding in manifests.of("RoleBinding"):
        name = binding["metadata"]["name"]
        assert binding["subjects"] == [{"kind": "ServiceAccount", "name": name, "namespace": "net"}]
        assert manifests.named("Role", binding["roleRef"]["name"])
        assert manifests.named("ServiceAccount", name)


def test_only_northd_has_the_published_configuration_in_its_environment(central: Central) -> None:
    """Named keys alone, so that nothing else in the ConfigMap becomes a variable, and none that a program of ours or OVN reads."""
    manifests = central({"network": {"netCidr": "10.128.0.0/14/23", "svcCidr": "172.30.0.0/16"}})
    having = {}
    for kind, name in WORKLOADS:
        for one in containers_of(manifests.pod(kind, name)):
            assert "envFrom" not in one
            variables = [entry["name"] for entry in one.get("env", [])]
            assert len(variables) == len(set(variables))
            sources = {
                e["name"]: e["valueFrom"] for e in one.get("env", []) if "configMapKeyRef" in e.get("valueFrom", {})
            }
            if sources:
                having[one["name"]] = sources
    assert list(having) == ["northd"]
    assert set(having["northd"]) == set(manifests.named("ConfigMap", "ovn-config")["data"]) == set(CONFIG_KEYS)
    for key, source in having["northd"].items():
        assert source == {"configMapKeyRef": {"name": "ovn-config", "key": key, "optional": True}}
        assert not key.startswith(("OVN_", "OVS_"))


def test_config_for_other_components(central: Central) -> None:
    data = central({"network": {"netCidr": "10.128.0.0/14/23"}}).named("ConfigMap", "ovn-config")["data"]
    assert data["OvnNorth"].split(",")[0] == "ssl:prod-northbound-0.prod-northbound.net.svc.example.test:6641"
    assert (data["OvnSouth"].count("ssl:"), data["OvnSouth"].count(":6642")) == (3, 3)
    assert data["OvnSouthUnrestricted"] == data["OvnSouth"].replace(":6642", ":16642")
    assert data["k8s_apiserver"] == "https://kubernetes.default.svc.example.test"
    assert (data["net_cidr"], "svc_cidr" in data) == ("10.128.0.0/14/23", False)

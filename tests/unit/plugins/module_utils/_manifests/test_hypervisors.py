from __future__ import annotations

import base64
import json
import typing as t

import pytest

from ansible_collections.c5c3.ovn.plugins.module_utils._api.spec import parse_spec
from ansible_collections.c5c3.ovn.plugins.module_utils._base.errors import InvalidInput
from ansible_collections.c5c3.ovn.plugins.module_utils._daemons.chassis_launcher import SCRIPT
from ansible_collections.c5c3.ovn.plugins.module_utils._manifests.config import CONFIG_KEYS
from ansible_collections.c5c3.ovn.plugins.module_utils._manifests.hypervisors import hypervisor_manifests

Object = dict[str, t.Any]


def build(raw: Object | None = None, **options: t.Any) -> dict[str, Object]:
    """The objects by name, without the accounts, which have the names of the DaemonSets."""
    manifests = build_all(raw, **options)
    return {m["metadata"]["name"]: m for m in manifests if m["kind"] != "ServiceAccount"}


def build_all(raw: Object | None = None, **options: t.Any) -> list[Object]:
    spec = parse_spec(raw or {}, name="prod", namespace="net")
    given = {
        "name": "prod",
        "namespace": "net",
        "southbound": ["ssl:192.0.2.11:30642"],
        "northbound": ["ssl:192.0.2.11:30641"],
        "tls_secret": "ovn-tls",
        "api_server": "https://192.0.2.1:6443",
        "settings": {"_default": "{}"},
        "archive": b"PK\x05\x06",
        **options,
    }
    return hypervisor_manifests(spec, **given)


def pod(name: str, raw: Object | None = None, **options: t.Any) -> Object:
    return t.cast(Object, build(raw, **options)[name]["spec"]["template"]["spec"])


def containers(name: str, raw: Object | None = None, **options: t.Any) -> dict[str, Object]:
    return {one["name"]: one for one in pod(name, raw, **options)["containers"]}


def test_all_objects() -> None:
    objects = build()
    assert list(objects) == ["ovn-chassis", "ovn-chassis-scripts", "ovn-config", "ovs", "ovn-controller"]
    for one in objects.values():
        assert one["metadata"]["namespace"] == "net"
        assert one["metadata"]["labels"]["app.kubernetes.io/instance"] == "prod"
    assert objects["ovn-config"]["data"] == {
        "OvnNorth": "ssl:192.0.2.11:30641",
        "OvnSouth": "ssl:192.0.2.11:30642",
        "k8s_apiserver": "https://192.0.2.1:6443",
    }
    scripts = objects["ovn-chassis-scripts"]
    assert scripts["data"] == {"ovn-chassis-launcher": SCRIPT}
    assert base64.b64decode(scripts["binaryData"]["c5c3-ovn.pyz"]) == b"PK\x05\x06"


def test_the_open_vswitch_of_the_nodes() -> None:
    host = {"ovs": {"mode": "host"}}
    assert list(build(host)) == ["ovn-chassis", "ovn-chassis-scripts", "ovn-config", "ovn-controller"]
    folders = {one["name"]: one["hostPath"] for one in pod("ovn-controller", host)["volumes"] if "hostPath" in one}
    assert folders["sockets"] == {"path": "/run/openvswitch", "type": "Directory"}
    for one in containers("ovn-controller", host).values():
        assert {"name": "OVS_MODE", "value": "host"} in one["env"]
    assert "OVS_MODE" not in json.dumps([pod("ovs"), pod("ovn-controller")])


@pytest.mark.parametrize("name", ["ovs", "ovn-controller"])
def test_pods_have_an_account_of_their_own_and_no_token(name: str) -> None:
    objects = build_all()
    accounts = [one["metadata"]["name"] for one in objects if one["kind"] == "ServiceAccount"]
    assert accounts == ["ovs", "ovn-controller"]
    assert [one["kind"] for one in objects[:2]] == ["ServiceAccount"] * 2, "before the pods, which are refused without"
    assert pod(name)["serviceAccountName"] == name
    assert pod(name)["automountServiceAccountToken"] is False
    assert not {one["kind"] for one in objects} & {"Role", "RoleBinding", "ClusterRole", "ClusterRoleBinding"}


@pytest.mark.parametrize("name", ["ovs", "ovn-controller"])
def test_pods_change_only_with_what_they_are_started_with(name: str) -> None:
    other = {"southbound": ["ssl:192.0.2.99:1"], "settings": {"_default": "x"}, "archive": b"x", "northbound": []}
    assert build(**other)[name] == build()[name]


@pytest.mark.parametrize("name", ["ovs", "ovn-controller"])
def test_one_node_at_a_time(name: str) -> None:
    spec = build()[name]["spec"]
    assert spec["updateStrategy"] == {"type": "RollingUpdate", "rollingUpdate": {"maxUnavailable": 1, "maxSurge": 0}}
    assert spec["selector"]["matchLabels"].items() <= spec["template"]["metadata"]["labels"].items()
    assert spec["template"]["spec"]["hostNetwork"] is True


@pytest.mark.parametrize(("given", "expected"), [(3, 3), ("3", 3), ("10%", "10%"), ("100%", "100%")])
def test_more_nodes_at_a_time(given: t.Any, expected: t.Any) -> None:
    built = build({"ovs": {"maxUnavailable": given}})
    assert built["ovs"]["spec"]["updateStrategy"]["rollingUpdate"]["maxUnavailable"] == expected
    assert built["ovn-controller"]["spec"]["updateStrategy"]["rollingUpdate"]["maxUnavailable"] == 1


@pytest.mark.parametrize("given", [0, "0", "0%", "101%", "all", -1, True, 1.5])
def test_a_number_of_nodes_that_is_none(given: t.Any) -> None:
    with pytest.raises(InvalidInput, match=r"spec\.ovs\.maxUnavailable"):
        build({"ovs": {"maxUnavailable": given}})


@pytest.mark.parametrize(
    ("raw", "tun"),
    [
        pytest.param({}, False, id="kernel"),
        pytest.param({"ovs": {"datapathType": "netdev"}}, True, id="user space"),
    ],
)
def test_privileges_are_as_small_as_the_datapath_allows(raw: Object, tun: bool) -> None:
    everywhere = {**containers("ovs", raw), **containers("ovn-controller", raw)}
    added = {name: one["securityContext"]["capabilities"].get("add") for name, one in everywhere.items()}
    assert added == {
        "ovsdb-server": None,
        "ovs-vswitchd": ["NET_ADMIN", "NET_BROADCAST", "NET_RAW"],
        "ovn-controller": None,
        "agent": None,
    }
    for one in everywhere.values():
        context = one["securityContext"]
        assert context["capabilities"]["drop"] == ["ALL"]
        assert context["readOnlyRootFilesystem"] is True
        assert context["allowPrivilegeEscalation"] is False
        assert "privileged" not in context
    paths = [volume["hostPath"]["path"] for volume in pod("ovs", raw)["volumes"] if "hostPath" in volume]
    assert ("/dev/net/tun" in paths) == tun
    mounted = [mount["mountPath"] for mount in everywhere["ovs-vswitchd"]["volumeMounts"]]
    assert ("/dev/net/tun" in mounted) == tun
    assert pod("ovs", raw)["automountServiceAccountToken"] is False


def test_nothing_collides_with_an_open_vswitch_of_the_node() -> None:
    for name in ("ovs", "ovn-controller"):
        paths = [v["hostPath"]["path"] for v in pod(name)["volumes"] if "hostPath" in v]
        assert all("/c5c3-ovn/" in path for path in paths), paths


@pytest.mark.parametrize("secret", ["ovn-tls", None])
def test_tls(secret: str | None) -> None:
    spec = pod("ovn-controller", tls_secret=secret)
    volumes = [volume["secret"]["secretName"] for volume in spec["volumes"] if "secret" in volume]
    assert volumes == ([secret] if secret else [])
    for one in spec["containers"]:
        variables = {variable["name"] for variable in one["env"]}
        assert ("OVN_PRIVATE_KEY" in variables) == bool(secret)
    assert "tls" not in json.dumps(pod("ovs", tls_secret=secret))


def test_the_underlay_reaches_its_script() -> None:
    raw = {"ovs": {"datapathType": "netdev", "underlay": {"bridge": "br-phy", "interface": "eth1"}}}
    variables = {v["name"]: v["value"] for v in containers("ovs", raw)["ovs-vswitchd"]["env"]}
    assert (variables["OVS_UNDERLAY_BRIDGE"], variables["OVS_UNDERLAY_INTERFACE"]) == ("br-phy", "eth1")
    assert variables["OVS_DATAPATH"] == "netdev"
    assert "OVS_UNDERLAY_BRIDGE" not in {v["name"] for v in containers("ovs")["ovs-vswitchd"]["env"]}


def test_images_selectors_tolerations_and_resources() -> None:
    raw = {
        "ovnImage": {"repository": "r/ovn", "digest": "sha256:" + "1" * 64},
        "ovsImage": {"repository": "r/ovs", "tag": "9", "pullPolicy": "Always"},
        "controller": {"nodeSelector": {"a": "1"}, "resources": {"limits": {"memory": "2Gi"}}},
        "ovs": {"nodeSelector": {}, "tolerations": [{"key": "a", "operator": "Exists"}]},
    }
    controller, agent = (containers("ovn-controller", raw)[name] for name in ("ovn-controller", "agent"))
    assert controller["image"] == agent["image"] == "r/ovn@sha256:" + "1" * 64
    other = containers("ovn-controller", {**raw, "agentImage": {"repository": "r/python", "tag": "3"}})
    assert (other["ovn-controller"]["image"], other["agent"]["image"]) == (controller["image"], "r/python:3")
    requests = {"requests": {"cpu": "50m", "memory": "64Mi"}}
    assert controller["resources"] == {**requests, "limits": {"memory": "2Gi"}}
    every = [*containers("ovs").values(), *containers("ovn-controller").values()]
    assert all({"cpu", "memory"} <= set(one["resources"]["requests"]) for one in every)
    assert pod("ovn-controller", raw)["nodeSelector"] == {"a": "1"}
    vswitchd = containers("ovs", raw)["ovs-vswitchd"]
    assert (vswitchd["image"], vswitchd["imagePullPolicy"]) == ("r/ovs:9", "Always")
    assert pod("ovs", raw)["tolerations"] == [{"key": "a", "operator": "Exists"}]
    assert pod("ovs")["tolerations"] == [{"operator": "Exists"}]
    assert "tolerations" not in pod("ovs", {"ovs": {"tolerations": []}})


@pytest.mark.parametrize("name", ["ovs", "ovn-controller"])
def test_pods_are_the_last_to_be_evicted(name: str) -> None:
    field = {"ovs": "ovs", "ovn-controller": "controller"}[name]
    assert pod(name)["priorityClassName"] == "system-node-critical"
    assert pod(name, {field: {"priorityClassName": "agents"}})["priorityClassName"] == "agents"
    assert "priorityClassName" not in pod(name, {field: {"priorityClassName": ""}})


@pytest.mark.parametrize("name", ["ovs", "ovn-controller"])
def test_images_of_a_private_registry(name: str) -> None:
    assert pod(name, {"imagePullSecrets": [{"name": "theirs"}]})["imagePullSecrets"] == [{"name": "theirs"}]
    assert "imagePullSecrets" not in pod(name)


def test_every_daemon_ends_gently_and_is_judged_by_its_own_words() -> None:
    for name, role in (("ovsdb-server", "database"), ("ovs-vswitchd", "vswitchd"), ("ovn-controller", "controller")):
        one = {**containers("ovs"), **containers("ovn-controller")}[name]
        assert one["command"][-1] == role
        assert one["lifecycle"]["preStop"]["exec"]["command"][-2:] == ["stop", role]
        assert one["livenessProbe"]["exec"]["command"][-2:] == ["alive", role]
        assert one["readinessProbe"]["exec"]["command"][-2:] == ["ready", role]
    assert "exit --restart" in SCRIPT


OWN: Object = {"tls": {"nodeCertificates": "own"}}


def test_no_pod_of_nodes_with_certificates_of_their_own_names_the_secret() -> None:
    """A kubelet may read each Secret that a pod of its node names, as a whole: `items` would limit the mount alone."""
    assert "ovn-tls" in json.dumps(build())
    for raw in (OWN, {"tls": {**OWN["tls"], "caConfigMapRef": {"name": "trusted", "key": "all.pem"}}}):
        text = json.dumps(build(raw, authorities="CAs", issuer="CA"))
        assert "ovn-tls" not in text
        assert '"secret' not in text, "no volume, and no variable, of any Secret"


def test_where_nodes_with_certificates_of_their_own_find_the_cas() -> None:
    (volume,) = [one for one in pod("ovn-controller", OWN)["volumes"] if one["name"] == "tls"]
    assert volume["configMap"]["name"] == "ovn-chassis-ca"
    assert volume["configMap"]["items"] == [{"key": "ca.crt", "path": "ca.crt"}]
    assert build(OWN, authorities="CAs")["ovn-chassis-ca"]["data"] == {"ca.crt": "CAs"}
    assert "ovn-chassis-ca" not in build(OWN), "what is not known stays as it is"
    assert "ovn-chassis-ca" not in build(authorities="CAs")
    bundle = {"tls": {**OWN["tls"], "caConfigMapRef": {"name": "trusted", "key": "all.pem"}}}
    (volume,) = [one for one in pod("ovn-controller", bundle)["volumes"] if one["name"] == "tls"]
    assert volume["configMap"]["items"] == [{"key": "all.pem", "path": "ca.crt"}]
    for one in containers("ovn-controller", OWN).values():
        values = {variable["name"]: variable.get("value") for variable in one["env"]}
        assert values["OVN_PRIVATE_KEY"] == "/node-tls/current/tls.key"
        assert values["OVN_CERTIFICATE"] == "/node-tls/current/tls.crt"
        assert values["OVN_CA_CERTIFICATE"] == "/tls/ca.crt"


def test_another_ca_that_signs_restarts_the_pods_one_by_one() -> None:
    """So a CA that the relays do not let in stops at the first node. The CAs that nodes trust reach running pods."""
    of_agent = variables("agent", OWN, issuer="CA 1")
    assert of_agent["OVN_NODE_TLS_ISSUER"] == "CA 1"
    assert "OVN_NODE_TLS_ISSUER" not in variables("agent", OWN)
    assert "OVN_NODE_TLS_ISSUER" not in variables("agent", issuer="CA 1")
    assert pod("ovn-controller", OWN, authorities="x") == pod("ovn-controller", OWN, authorities="y")


def variables(container: str, raw: Object | None = None, **options: t.Any) -> dict[str, t.Any]:
    found = containers("ovn-controller", raw, **options)[container]["env"]
    return {variable["name"]: variable.get("value") for variable in found}


def test_the_agent_alone_asks_for_the_certificate_of_its_node() -> None:
    """It has the token and writes the key; ovn-controller reads it. The account is not mounted by Kubernetes into all containers."""
    assert pod("ovn-controller", OWN)["automountServiceAccountToken"] is False
    mounts = {
        name: {mount["name"]: mount.get("readOnly", False) for mount in one["volumeMounts"]}
        for name, one in containers("ovn-controller", OWN).items()
    }
    assert mounts["ovn-controller"].keys() & {"api", "node-tls"} == {"node-tls"}
    assert mounts["ovn-controller"]["node-tls"] is True
    assert (mounts["agent"]["api"], mounts["agent"]["node-tls"]) == (True, False)
    assert variables("agent", OWN)["OVN_NODE_TLS_DIR"] == "/node-tls"
    assert "OVN_NODE_TLS_DIR" not in variables("agent")


def test_an_agent_that_writes_the_status_has_a_token_and_its_rights_come_first() -> None:
    objects = build_all(writes_status=True, has_status_rights=True)
    kinds = [one["kind"] for one in objects]
    assert kinds[:4] == [
        "ValidatingAdmissionPolicy",
        "ValidatingAdmissionPolicyBinding",
        "ClusterRole",
        "ClusterRoleBinding",
    ]
    mounts = {
        name: "api" in {mount["name"] for mount in one["volumeMounts"]}
        for name, one in containers("ovn-controller", writes_status=True).items()
    }
    assert mounts == {"ovn-controller": False, "agent": True}
    assert "api" in {volume["name"] for volume in pod("ovn-controller", writes_status=True)["volumes"]}
    # What an administrator has made, and this user may not read, is not applied.
    assert "ClusterRole" not in {one["kind"] for one in build_all(writes_status=True)}


def test_observer_of_chassis_exists_where_agents_write() -> None:
    names = {(one["kind"], one["metadata"]["name"]) for one in build_all(writes_status=True)}
    mine = {(kind, "ovn-chassis-observer") for kind in ("Deployment", "ServiceAccount")}
    assert mine <= names
    assert not mine & {(one["kind"], one["metadata"]["name"]) for one in build_all()}


def test_observer_of_chassis_survives_one_node() -> None:
    """Two pods where hypervisors are, apart, that leave a node soon. They have neither the network nor folders of the node, and no certificate."""
    raw = {
        "controller": {"nodeSelector": {"kind": "compute"}, "tolerations": [{"key": "compute", "operator": "Exists"}]},
        "agentImage": {"repository": "r/python", "tag": "3"},
        "heartbeatInterval": 90,
    }
    deployment = build(raw, writes_status=True)["ovn-chassis-observer"]
    assert deployment["spec"]["replicas"] == 2
    found = deployment["spec"]["template"]["spec"]
    assert found["nodeSelector"] == {"kind": "compute"}
    assert {one["key"]: one.get("tolerationSeconds") for one in found["tolerations"]} == {
        "node.kubernetes.io/not-ready": 10,
        "node.kubernetes.io/unreachable": 10,
        "compute": None,
    }
    (term,) = found["affinity"]["podAntiAffinity"]["preferredDuringSchedulingIgnoredDuringExecution"]
    labels = deployment["spec"]["template"]["metadata"]["labels"]
    assert term["podAffinityTerm"]["labelSelector"]["matchLabels"].items() <= labels.items()
    assert deployment["spec"]["selector"]["matchLabels"].items() <= labels.items()
    assert [one["name"] for one in found["volumes"]] == ["api", "scripts"]
    assert "hostNetwork" not in found
    (container,) = found["containers"]
    assert container["image"] == "r/python:3"
    assert container["command"][-2:] == ["/scripts/c5c3-ovn.pyz", "chassis-observer"]
    assert {one["name"]: one["value"] for one in container["env"]} == {
        "OVN_CLUSTER_NAME": "prod",
        "OVN_NAMESPACE": "net",
        "OVN_HEARTBEAT_SECONDS": "90",
    }


def test_one_token_for_both_purposes() -> None:
    volumes = [one["name"] for one in pod("ovn-controller", OWN, writes_status=True)["volumes"]]
    assert volumes.count("api") == 1


def test_agents_may_ask_and_look_and_no_more() -> None:
    manifests = build_all(OWN)
    (role,) = [one for one in manifests if one["kind"] == "ClusterRole"]
    assert role["rules"] == [
        {
            "apiGroups": ["certificates.k8s.io"],
            "resources": ["certificatesigningrequests"],
            "verbs": ["create", "get"],
        }
    ]
    (binding,) = [one for one in manifests if one["kind"] == "ClusterRoleBinding"]
    assert binding["roleRef"]["name"] == role["metadata"]["name"] == "c5c3-ovn-certificates-net"
    assert binding["subjects"] == [{"kind": "ServiceAccount", "name": "ovn-controller", "namespace": "net"}]


@pytest.mark.parametrize(
    ("raw", "secret"), [({}, "ovn-tls"), ({"tls": {"enabled": False, "nodeCertificates": "own"}}, None)]
)
def test_nobody_asks_where_nodes_share_a_certificate_or_have_none(raw: Object, secret: str | None) -> None:
    manifests = build_all(raw, tls_secret=secret)
    assert not [one for one in manifests if one["kind"].startswith("ClusterRole")]
    # The agent empties the folder with the key of a node that had its own.
    found = {name: variables(name, raw, tls_secret=secret) for name in ("agent", "ovn-controller")}
    assert (found["agent"].get("OVN_NODE_TLS_DIR"), found["agent"]["OVN_UNUSED_TLS_DIR"]) == (None, "/node-tls")
    mounts = containers("ovn-controller", raw, tls_secret=secret)["ovn-controller"]["volumeMounts"]
    assert "node-tls" not in {one["name"] for one in mounts}


def test_accounts_that_are_given() -> None:
    """Ours are not made, and what agents may do, the given one may."""
    raw = {
        "controller": {"serviceAccountName": "team"},
        "ovs": {"serviceAccountName": "switches"},
        "tls": {"nodeCertificates": "own"},
    }
    objects = build_all(raw, writes_status=True, has_status_rights=True)
    accounts = [one["metadata"]["name"] for one in objects if one["kind"] == "ServiceAccount"]
    assert accounts == ["ovn-chassis-observer"]
    assert {name: pod(name, raw)["serviceAccountName"] for name in ("ovs", "ovn-controller")} == {
        "ovs": "switches",
        "ovn-controller": "team",
    }
    bindings = [one for one in objects if one["kind"] == "ClusterRoleBinding"]
    subjects = [one["subjects"] for one in bindings if "observer" not in one["metadata"]["name"]]
    assert subjects == [[{"kind": "ServiceAccount", "name": "team", "namespace": "net"}]] * 2
    (policy,) = [one for one in objects if one["kind"] == "ValidatingAdmissionPolicy"]
    (condition,) = policy["spec"]["matchConditions"]
    assert condition["expression"] == "request.userInfo.username == 'system:serviceaccount:net:team'"


def test_only_ovn_controller_has_the_published_configuration_in_its_environment() -> None:
    found = {
        one["name"]: [e["name"] for e in one["env"] if "configMapKeyRef" in e.get("valueFrom", {})]
        for name in ("ovs", "ovn-controller")
        for one in containers(name).values()
    }
    assert {name for name, variables in found.items() if variables} == {"ovn-controller"}
    assert set(found["ovn-controller"]) == set(CONFIG_KEYS)
    variables = [entry["name"] for entry in containers("ovn-controller")["ovn-controller"]["env"]]
    assert len(variables) == len(set(variables))

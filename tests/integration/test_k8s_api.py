"""The connection to Kubernetes and the application of objects, on a real API server."""

from __future__ import annotations

import collections
import contextlib
import copy
import http.server
import json
import pathlib
import socket
import ssl
import struct
import tempfile
import threading
import time
import typing as t
import urllib.error
import urllib.request

import pytest
from _apiserver import ADMIN_TOKEN, ApiServer

from ansible_collections.c5c3.ovn.plugins.module_utils._errors import (
    CertificateProblem,
    Conflict,
    InvalidInput,
    OvnError,
    Refused,
    TimedOut,
    Unreachable,
)
from ansible_collections.c5c3.ovn.plugins.module_utils._kubernetes.apply import (
    Done,
    Key,
    converge,
    diff_of,
    key_of,
    live_index,
    prune,
)
from ansible_collections.c5c3.ovn.plugins.module_utils._kubernetes.client import Cluster

Object = dict[str, t.Any]
INSTANCE = {"app.kubernetes.io/instance": "test", "app.kubernetes.io/managed-by": "c5c3.ovn"}
SELECTOR = "app.kubernetes.io/instance=test"
KINDS = [
    ("v1", "ConfigMap"),
    ("v1", "Secret"),
    ("v1", "Service"),
    ("v1", "ServiceAccount"),
    ("apps/v1", "Deployment"),
    ("apps/v1", "StatefulSet"),
    ("networking.k8s.io/v1", "NetworkPolicy"),
    ("policy/v1", "PodDisruptionBudget"),
    ("rbac.authorization.k8s.io/v1", "Role"),
    ("rbac.authorization.k8s.io/v1", "RoleBinding"),
]


@pytest.fixture(autouse=True)
def _own_discovery_cache(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """kubernetes.core keeps what it discovered in the temporary folder."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    for name in ("KUBECONFIG", "K8S_AUTH_KUBECONFIG", "K8S_AUTH_HOST", "K8S_AUTH_API_KEY", "K8S_AUTH_CONTEXT"):
        monkeypatch.delenv(name, raising=False)


@pytest.fixture
def cluster(api_server: ApiServer) -> Cluster:
    return Cluster({"kubeconfig": api_server.kubeconfig})


def made(api_version: str, kind: str, namespace: str, name: str, **content: t.Any) -> Object:
    metadata = {"name": name, "namespace": namespace, "labels": dict(INSTANCE)}
    return {"apiVersion": api_version, "kind": kind, "metadata": metadata, **content}


def config_map(namespace: str, name: str, **data: str) -> Object:
    return made("v1", "ConfigMap", namespace, name, data=data)


def pod_template(**changes: t.Any) -> Object:
    container = {
        "name": "database",
        "image": "example.org/ovn:1",
        "command": ["sleep"],
        "env": [{"name": "A", "value": "1"}, {"name": "EMPTY", "value": ""}],
        "ports": [{"containerPort": 6641, "name": "client"}],
        "resources": {"requests": {"cpu": "0.5", "memory": "1024Mi"}, "limits": {"memory": "2Gi"}},
        "securityContext": {"privileged": False, "allowPrivilegeEscalation": False},
        "volumeMounts": [{"name": "run", "mountPath": "/run/ovn"}],
    }
    spec = {"containers": [container], "volumes": [{"name": "run", "emptyDir": {}}], **changes}
    return {"metadata": {"labels": {"app": "a"}}, "spec": spec}


def everything(namespace: str) -> list[Object]:
    """One object of each kind that we use, with much that the API server fills in or writes in another way."""
    selector = {"matchLabels": {"app": "a"}}
    claim = {
        "metadata": {"name": "data"},
        "spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1024Mi"}}},
    }
    rules = [{"apiGroups": [""], "resources": ["pods"], "verbs": ["get", "list"]}]
    rbac = "rbac.authorization.k8s.io"
    return [
        config_map(namespace, "a", x="1", empty=""),
        made("v1", "Secret", namespace, "s", type="Opaque", data={"tls.key": "c2VjcmV0"}),
        made(
            *("v1", "Service", namespace, "headless"),
            spec={
                "clusterIP": "None",
                "selector": {"app": "a"},
                "publishNotReadyAddresses": True,
                "ports": [{"port": 1}, {"port": 2, "name": "b"}][1:],
            },
        ),
        made("v1", "Service", namespace, "clients", spec={"selector": {"app": "a"}, "ports": [{"port": 6641}]}),
        made("v1", "ServiceAccount", namespace, "a", automountServiceAccountToken=False),
        made(
            *("apps/v1", "Deployment", namespace, "a"),
            spec={"replicas": 2, "selector": selector, "template": pod_template()},
        ),
        made(
            *("apps/v1", "StatefulSet", namespace, "a"),
            spec={
                "replicas": 0,
                "serviceName": "headless",
                "selector": selector,
                "template": pod_template(),
                "volumeClaimTemplates": [claim],
                "updateStrategy": {"type": "OnDelete"},
            },
        ),
        made(
            *("networking.k8s.io/v1", "NetworkPolicy", namespace, "a"),
            spec={
                "podSelector": {},
                "policyTypes": ["Ingress"],
                "ingress": [{"from": [{"podSelector": {"matchLabels": {"app": "a"}}}], "ports": [{"port": 6641}]}],
            },
        ),
        made("policy/v1", "PodDisruptionBudget", namespace, "a", spec={"maxUnavailable": 1, "selector": selector}),
        made(f"{rbac}/v1", "Role", namespace, "a", rules=rules),
        made(
            *(f"{rbac}/v1", "RoleBinding", namespace, "a"),
            roleRef={"apiGroup": rbac, "kind": "Role", "name": "a"},
            subjects=[{"kind": "ServiceAccount", "name": "a", "namespace": namespace}],
        ),
    ]


def look(cluster: Cluster, namespace: str) -> dict[Key, Object]:
    return live_index(cluster, KINDS, namespace, SELECTOR)


def run(
    cluster: Cluster, namespace: str, desired: list[Object], check_mode: bool = False, **options: t.Any
) -> list[Done]:
    return converge(cluster, desired, look(cluster, namespace), check_mode=check_mode, **options)


def actions(done: t.Iterable[Done]) -> dict[str, str]:
    return {f"{one.kind}/{one.name}": one.action for one in done if one.action != "unchanged"}


def versions(index: t.Mapping[Key, Object]) -> dict[Key, str]:
    return {key: item["metadata"]["resourceVersion"] for key, item in index.items()}


def expect(family: type[OvnError], *words: str) -> t.Any:
    """`with expect(Refused, "403"):` the message has all words."""
    pattern = "".join(f"(?=[^$]*{word})" for word in words)
    return pytest.raises(family, match=pattern)


class TestApply:
    def test_everything_is_created_and_the_second_run_writes_nothing(self, cluster: Cluster, namespace: str) -> None:
        desired = everything(namespace)
        before = cluster.requests
        assert {
            name for name, action in actions(run(cluster, namespace, desired)).items() if action != "created"
        } == set()
        assert cluster.requests - before == len(KINDS) + len(desired)

        there = look(cluster, namespace)
        assert set(there) == {key_of(manifest) for manifest in desired}
        before = cluster.requests
        again = run(cluster, namespace, desired)
        assert actions(again) == {}
        assert cluster.requests - before == len(KINDS)
        assert versions(look(cluster, namespace)) == versions(there)
        assert diff_of(again) == {"before": {}, "after": {}}

    def test_check_mode_tells_what_then_happens(self, cluster: Cluster, namespace: str) -> None:
        run(cluster, namespace, everything(namespace))
        desired = everything(namespace)
        desired[0]["data"]["x"] = "2"
        desired[5]["spec"]["template"]["spec"]["containers"][0]["env"].pop()
        desired.append(config_map(namespace, "new", y="1"))

        before = versions(look(cluster, namespace))
        foreseen = run(cluster, namespace, desired, check_mode=True)
        assert versions(look(cluster, namespace)) == before
        happened = run(cluster, namespace, desired)
        assert (
            actions(foreseen)
            == actions(happened)
            == {"ConfigMap/a": "changed", "Deployment/a": "changed", "ConfigMap/new": "created"}
        )
        assert diff_of(foreseen) == diff_of(happened)
        diff = diff_of(happened)
        title = f"ConfigMap {namespace}/a"
        assert (diff["before"][title]["data"]["x"], diff["after"][title]["data"]["x"]) == ("1", "2")
        assert f"ConfigMap {namespace}/new" not in diff["before"]
        env = diff["after"][f"Deployment {namespace}/a"]["spec"]["template"]["spec"]["containers"][0]["env"]
        assert env == [{"name": "A", "value": "1"}]

    def test_what_we_no_longer_set_goes(self, cluster: Cluster, namespace: str) -> None:
        run(cluster, namespace, [config_map(namespace, "a", x="1", y="1")])
        run(cluster, namespace, [config_map(namespace, "a", x="1")])
        found = cluster.get("v1", "ConfigMap", "a", namespace)
        assert found is not None
        assert found["data"] == {"x": "1"}

    def test_drift_is_repaired_by_one_patch(self, api_server: ApiServer, cluster: Cluster, namespace: str) -> None:
        desired = everything(namespace)
        run(cluster, namespace, desired)
        path = f"/api/v1/namespaces/{namespace}/configmaps/a?fieldManager=somebody"
        api_server.request("PATCH", path, {"data": {"x": None, "theirs": "1"}})
        before = cluster.requests
        assert actions(run(cluster, namespace, desired)) == {"ConfigMap/a": "changed"}
        assert cluster.requests - before == len(KINDS) + 1
        found = cluster.get("v1", "ConfigMap", "a", namespace)
        assert found is not None
        assert found["data"] == {"x": "1", "empty": "", "theirs": "1"}
        assert actions(run(cluster, namespace, desired)) == {}

    def test_another_field_manager_is_named_and_only_force_takes_over(
        self, api_server: ApiServer, cluster: Cluster, namespace: str
    ) -> None:
        desired = [config_map(namespace, "first", x="1"), config_map(namespace, "a", x="1")]
        run(cluster, namespace, desired)
        path = f"/api/v1/namespaces/{namespace}/configmaps/a?fieldManager=kubectl-edit"
        api_server.request("PATCH", path, {"data": {"x": "theirs"}})
        desired[0]["data"]["x"] = "2"
        for check_mode in (True, False):
            with expect(Conflict, "ConfigMap", "kubectl-edit", r"\.data\.x", "force_conflicts") as caught:
                run(cluster, namespace, desired, check_mode)
            assert caught.value.details["done"] == [f"ConfigMap {namespace}/first changed"]
        assert actions(run(cluster, namespace, desired, check_mode=True, force=True)) == {"ConfigMap/a": "changed"}
        assert actions(run(cluster, namespace, desired, force=True)) == {"ConfigMap/a": "changed"}
        assert actions(run(cluster, namespace, desired)) == {}

    def test_an_object_that_was_there_without_our_labels_is_not_created(
        self, api_server: ApiServer, cluster: Cluster, namespace: str
    ) -> None:
        path = f"/api/v1/namespaces/{namespace}/configmaps?fieldManager=somebody"
        api_server.request("POST", path, {"metadata": {"name": "a"}, "data": {"theirs": "1"}})
        desired = [config_map(namespace, "a", x="1")]
        assert actions(run(cluster, namespace, desired, check_mode=True)) == {"ConfigMap/a": "changed"}
        assert actions(run(cluster, namespace, desired)) == {"ConfigMap/a": "changed"}

    def test_secrets_are_not_shown(self, cluster: Cluster, namespace: str) -> None:
        secret = made("v1", "Secret", namespace, "s", data={"tls.key": "c2VjcmV0"})
        diffs = [diff_of(run(cluster, namespace, [secret]))]
        changed = copy.deepcopy(secret)
        changed["data"]["tls.key"] = "b3RoZXI="
        diffs.append(diff_of(run(cluster, namespace, [changed])))
        assert "c2VjcmV0" not in str(diffs)
        assert "b3RoZXI=" not in str(diffs)
        assert diffs[1]["before"] != diffs[1]["after"]

    def test_prune_takes_only_what_was_applied(self, api_server: ApiServer, cluster: Cluster, namespace: str) -> None:
        record = config_map(namespace, "ovn-northbound-record", x="1")
        run(cluster, namespace, [*everything(namespace), record])
        cluster.create(config_map(namespace, "by-hand", x="1"))
        keep = everything(namespace)[2:]
        foreseen = prune(cluster, keep, look(cluster, namespace), check_mode=True)
        done = prune(cluster, keep, look(cluster, namespace), check_mode=False)
        assert actions(foreseen) == actions(done) == {"ConfigMap/a": "deleted"}
        left = {key[3] for key in look(cluster, namespace) if key[1] in ("ConfigMap", "Secret")}
        assert left == {"by-hand", "ovn-northbound-record", "s"}
        assert prune(cluster, keep, look(cluster, namespace), check_mode=False) == []

    def test_a_kind_that_is_defined_in_the_same_run(self, cluster: Cluster, namespace: str) -> None:
        def definition(**fields: str) -> Object:
            properties = {name: {"type": kind} for name, kind in fields.items()}
            schema = {"type": "object", "properties": {"spec": {"type": "object", "properties": properties}}}
            return {
                "apiVersion": "apiextensions.k8s.io/v1",
                "kind": "CustomResourceDefinition",
                "metadata": {"name": "probes.ovn.c5c3.io"},
                "spec": {
                    "group": "ovn.c5c3.io",
                    "scope": "Namespaced",
                    "names": {"kind": "Probe", "plural": "probes", "singular": "probe"},
                    "versions": [
                        {"name": "v1alpha1", "served": True, "storage": True, "schema": {"openAPIV3Schema": schema}}
                    ],
                },
            }

        def steps(crd: Object, probe: Object) -> list[str]:
            index: dict[Key, Object] = {}
            for manifest in (crd, probe):
                found = cluster.get(*key_of(manifest)[:2], key_of(manifest)[3], key_of(manifest)[2] or None)
                if found is not None:
                    index[key_of(manifest)] = found
            return [one.action for one in converge(cluster, [crd, probe], index, check_mode=False)]

        probe = made("ovn.c5c3.io/v1alpha1", "Probe", namespace, "p", spec={"a": 1})
        assert cluster.list("ovn.c5c3.io/v1alpha1", "Probe", namespace) == []
        cluster._kinds["ovn.c5c3.io/v1alpha1", "Probe"] = cluster._kinds["ovn.c5c3.io/v1alpha1", "OVNCluster"]._replace(
            kind="Probe", plural="probes"
        )
        try:
            assert steps(definition(a="integer"), probe) == ["created", "created"]
            assert steps(definition(a="integer"), probe) == ["unchanged", "unchanged"]
            probe["spec"]["b"] = "new"
            assert steps(definition(a="integer", b="string"), probe) == ["changed", "changed"]
        finally:
            cluster.delete("apiextensions.k8s.io/v1", "CustomResourceDefinition", "probes.ovn.c5c3.io")


class TestRefusals:
    def test_a_missing_namespace(self, cluster: Cluster) -> None:
        desired = [config_map("nowhere", "a", x="1")]
        assert actions(converge(cluster, desired, {}, check_mode=True)) == {"ConfigMap/a": "created"}
        with expect(Refused, "ConfigMap nowhere/a", "Create the namespace"):
            converge(cluster, desired, {}, check_mode=False)

    def test_a_full_quota(self, api_server: ApiServer, cluster: Cluster, namespace: str) -> None:
        hard = {"count/configmaps": "1"}
        quotas = f"/api/v1/namespaces/{namespace}/resourcequotas"
        api_server.request("POST", quotas, {"metadata": {"name": "little"}, "spec": {"hard": hard}})
        # A controller would do this.
        used = {"status": {"hard": hard, "used": {"count/configmaps": "0"}}}
        api_server.request("PATCH", f"{quotas}/little/status", used)
        desired = [config_map(namespace, "a", x="1"), config_map(namespace, "b", x="1")]
        with expect(Refused, f"ConfigMap {namespace}/b", "exceeded quota: little", "Raise the ResourceQuota") as caught:
            converge(cluster, desired, {}, check_mode=False)
        assert caught.value.details["done"] == [f"ConfigMap {namespace}/a created"]

    def test_a_missing_right_is_named(self, api_server: ApiServer, namespace: str) -> None:
        low = Cluster({"kubeconfig": api_server.low_kubeconfig})
        assert low.list("v1", "ConfigMap", namespace) == []
        with expect(Refused, "ConfigMap", 'verb "patch"', "configmaps", "somebody"):
            low.apply(config_map(namespace, "a", x="1"))
        with expect(Refused, "StatefulSet", 'verb "list"', '"apps"'):
            low.list("apps/v1", "StatefulSet", namespace)
        with expect(Refused, "pods/exec", "verb"):
            low.exec(namespace, "p", "c", ["true"])

    def test_an_expired_token(self, api_server: ApiServer, namespace: str) -> None:
        with expect(Refused, "does not accept the credentials", "expired.kubeconfig", "expired"):
            Cluster({"kubeconfig": api_server.expired_kubeconfig}).list("v1", "ConfigMap", namespace)

    def test_an_unknown_field(self, cluster: Cluster, namespace: str) -> None:
        with expect(InvalidInput, "does not know the field", r"\.dat"):
            cluster.apply({**config_map(namespace, "a"), "dat": {}})

    def test_invalid_and_immutable_fields(self, cluster: Cluster, namespace: str) -> None:
        stateful_set = everything(namespace)[6]
        cluster.apply(stateful_set)
        stateful_set["spec"]["serviceName"] = "other"
        with expect(InvalidInput, "StatefulSet", "cannot be changed later"):
            cluster.apply(stateful_set)
        with expect(InvalidInput, "metadata.name"):
            cluster.apply(config_map(namespace, "Upper_Case"))

    def test_an_unknown_kind(self, cluster: Cluster, namespace: str) -> None:
        assert cluster.list("example.org/v1", "Thing", namespace) == []
        assert cluster.get("example.org/v1", "Thing", "a", namespace) is None
        assert cluster.delete("example.org/v1", "Thing", "a", namespace) is False
        with expect(Refused, "Thing", "CustomResourceDefinition"):
            cluster.apply(made("example.org/v1", "Thing", namespace, "a"))

    def test_a_pod_that_is_not_there(self, cluster: Cluster, namespace: str) -> None:
        with expect(Refused, f"pod {namespace}/p", "not found"):
            cluster.exec(namespace, "p", "c", ["true"])

    def test_nobody_can_be_impersonated_in_a_pod(self, api_server: ApiServer, namespace: str) -> None:
        other = Cluster({"kubeconfig": api_server.kubeconfig, "impersonate_user": "somebody"})
        with expect(Refused, "somebody", 'verb "list"'):
            other.list("v1", "Secret", namespace)
        with expect(Refused, "impersonate"):
            other.exec(namespace, "p", "c", ["true"])


class TestVerbs:
    def test_create_replace_patch_delete(self, cluster: Cluster, namespace: str) -> None:
        first = cluster.create(config_map(namespace, "a", x="1"))
        with expect(Conflict, "already exists"):
            cluster.create(config_map(namespace, "a", x="2"))
        second = cluster.replace({**first, "data": {"x": "2"}})
        with expect(Conflict, "modified"):
            cluster.replace({**first, "data": {"x": "3"}})
        with expect(InvalidInput, "resourceVersion"):
            cluster.replace(config_map(namespace, "a"))
        assert second["data"] == {"x": "2"}
        patched = cluster.patch("v1", "ConfigMap", "a", namespace, {"data": {"x": None, "y": "1"}})
        assert patched["data"] == {"y": "1"}
        with expect(Conflict, "UID"):
            cluster.delete("v1", "ConfigMap", "a", namespace, uid="another")
        with expect(Conflict, "ResourceVersion"):
            cluster.delete("v1", "ConfigMap", "a", namespace, resource_version=first["metadata"]["resourceVersion"])
        assert cluster.delete("v1", "ConfigMap", "a", namespace, uid=first["metadata"]["uid"]) is True
        assert cluster.delete("v1", "ConfigMap", "a", namespace) is False
        assert cluster.get("v1", "ConfigMap", "a", namespace) is None

    def test_lists_are_narrowed_and_carry_their_kind(self, cluster: Cluster, namespace: str) -> None:
        for name in ("a", "b", "c"):
            cluster.create(config_map(namespace, name))
        cluster.patch("v1", "ConfigMap", "a", namespace, {"metadata": {"labels": {"l": "1"}}})
        assert [o["metadata"]["name"] for o in cluster.list("v1", "ConfigMap", namespace, labels="l=1")] == ["a"]
        found = cluster.list("v1", "ConfigMap", namespace, fields="metadata.name=b")
        assert [(o["apiVersion"], o["kind"], o["metadata"]["name"]) for o in found] == [("v1", "ConfigMap", "b")]
        assert len(cluster.list("v1", "ConfigMap", namespace, limit=2)) == 2

    def test_the_status_is_written_apart(self, cluster: Cluster, namespace: str) -> None:
        cluster.apply(everything(namespace)[6])
        status = {"replicas": 3, "readyReplicas": 2}
        name = {"apiVersion": "apps/v1", "kind": "StatefulSet", "metadata": {"name": "a", "namespace": namespace}}
        assert cluster.apply_status({**name, "status": status})["status"]["readyReplicas"] == 2
        assert actions(run(cluster, namespace, [everything(namespace)[6]])) == {"StatefulSet/a": "changed"}  # the hash
        assert actions(run(cluster, namespace, [everything(namespace)[6]])) == {}

    def test_a_watch_shows_changes_and_ends_in_time(self, cluster: Cluster, namespace: str) -> None:
        cluster.create(config_map(namespace, "a"))
        timer = threading.Timer(0.5, lambda: cluster.create(config_map(namespace, "b")))
        timer.start()
        started = time.monotonic()
        names = {"metadata.name!=kube-root-ca.crt"}
        events = list(cluster.watch("v1", "ConfigMap", namespace, fields=",".join(names), timeout=2))
        assert [(kind, item["metadata"]["name"]) for kind, item in events] == [("ADDED", "a"), ("ADDED", "b")]
        assert 1.5 < time.monotonic() - started < 6
        timer.join()

    def test_a_watch_that_is_left_early(self, cluster: Cluster, namespace: str) -> None:
        cluster.create(config_map(namespace, "a"))
        started = time.monotonic()
        for _event in cluster.watch("v1", "ConfigMap", namespace, timeout=20):
            break
        assert time.monotonic() - started < 5
        assert cluster.get("v1", "ConfigMap", "a", namespace) is not None

    def test_warnings_of_the_server_are_collected(self, cluster: Cluster, namespace: str) -> None:
        template = pod_template(nodeSelector={"beta.kubernetes.io/os": "linux"})
        spec = {"selector": {"matchLabels": {"app": "a"}}, "template": template}
        cluster.apply(made("apps/v1", "Deployment", namespace, "a", spec=spec))
        cluster.apply(made("apps/v1", "Deployment", namespace, "a", spec=spec))
        assert len(cluster.warnings) == 1
        assert "beta.kubernetes.io/os" in cluster.warnings[0]

    def test_kinds_that_nobody_listed_are_found(self, cluster: Cluster, namespace: str) -> None:
        before = cluster.requests
        limits = {"limits": [{"type": "Container", "max": {"memory": "1Gi"}}]}
        for value in ("1Gi", "2Gi"):
            limits["limits"][0]["max"] = {"memory": value}
            cluster.apply(made("v1", "LimitRange", namespace, "a", spec=limits))
        assert cluster.requests - before == 3


class TestConnection:
    def test_it_costs_few_requests(self, api_server: ApiServer, namespace: str) -> None:
        cold = Cluster({"kubeconfig": api_server.kubeconfig})
        assert cold.requests <= 3
        warm = Cluster({"kubeconfig": api_server.kubeconfig})
        assert warm.requests <= 1
        for api_version, kind in KINDS:
            warm.list(api_version, kind, namespace)
        assert warm.requests <= 1 + len(KINDS)

    @pytest.mark.parametrize(
        ("content", "words"),
        [
            pytest.param(None, ["no such file"], id="no such file"),
            pytest.param("", ["cannot be used"], id="an empty file"),
            pytest.param("no: kubeconfig", ["cannot be used"], id="another YAML file"),
            pytest.param("{{{", ["cannot be used"], id="no YAML"),
            pytest.param("just text", ["cannot be used"], id="plain text"),
        ],
    )
    def test_a_kubeconfig_that_cannot_be_used(
        self, tmp_path: pathlib.Path, content: str | None, words: list[str]
    ) -> None:
        path = tmp_path / "not-there"
        if content is not None:
            path.write_text(content)
        with expect(InvalidInput, f"kubeconfig {path}", "name another one", *words):
            Cluster({"kubeconfig": str(path)})

    def test_a_wrong_context_is_named(self, api_server: ApiServer) -> None:
        with expect(InvalidInput, "admin.kubeconfig", "context production"):
            Cluster({"kubeconfig": api_server.kubeconfig, "context": "production"})

    def test_a_kubeconfig_as_a_dictionary(self, api_server: ApiServer, namespace: str) -> None:
        kubeconfig = json.loads(pathlib.Path(api_server.kubeconfig).read_text())
        assert Cluster({"kubeconfig": kubeconfig}).get("v1", "Namespace", namespace) is not None

    def test_a_host_and_a_token(self, api_server: ApiServer, cluster: Cluster, namespace: str) -> None:
        """Also after a kubeconfig was used by the same process."""
        options = {"host": api_server.url, "ca_cert": api_server.ca_certificate}
        other = Cluster({**options, "api_key": "token-of-somebody"})
        with expect(Refused, "somebody"):
            other.list("v1", "Secret", namespace)
        with expect(Refused, "credentials of host https://"):
            Cluster({**options, "api_key": "wrong"}).list("v1", "Secret", namespace)

    def test_a_certificate_that_is_not_trusted(self, api_server: ApiServer, make_pki: t.Any) -> None:
        stranger = make_pki("stranger").ca_certificate
        with expect(CertificateProblem, "TLS", "certificate authority"):
            Cluster({"host": api_server.url, "api_key": "x", "ca_cert": stranger}).get("v1", "Namespace", "default")

    def test_nobody_listens(self) -> None:
        started = time.monotonic()
        with expect(Unreachable, "127.0.0.1:1", "nobody answers"):
            Cluster({"host": "https://127.0.0.1:1", "api_key": "x"}).get("v1", "Namespace", "default")
        assert time.monotonic() - started < 5

    def test_a_name_that_nobody_knows(self) -> None:
        with expect(Unreachable, "no-such-host.invalid", "cannot be resolved"):
            Cluster({"host": "https://no-such-host.invalid", "api_key": "x"}).get("v1", "Namespace", "default")

    def test_without_the_library_the_message_says_what_to_install(self, monkeypatch: pytest.MonkeyPatch) -> None:
        from ansible_collections.c5c3.ovn.plugins.module_utils._kubernetes import connection

        monkeypatch.setattr(
            connection, "IMPORT_ERROR", "Traceback\nModuleNotFoundError: No module named 'kubernetes'\n"
        )
        with expect(Refused, "pip install kubernetes", "No module named"):
            Cluster({})


class TestServerThatGoesAway:
    """A server of its own for each test would cost seconds: frozen ones are thawed, a killed one comes back."""

    @pytest.fixture
    def frozen(self, api_server: ApiServer, cluster: Cluster, namespace: str) -> t.Iterator[Cluster]:
        cluster.timeout = 1.0
        cluster.list("v1", "ConfigMap", namespace)
        api_server.freeze()
        yield cluster
        api_server.thaw()

    def test_a_frozen_server_costs_the_limit_once(
        self, api_server: ApiServer, frozen: Cluster, namespace: str, tmp_path: pathlib.Path
    ) -> None:
        asked: dict[str, t.Callable[[], t.Any]] = {
            "list": lambda: frozen.list("v1", "ConfigMap", namespace),
            "apply": lambda: frozen.apply(config_map(namespace, "a")),
            "watch": lambda: list(frozen.watch("v1", "ConfigMap", namespace, timeout=1)),
            "exec": lambda: frozen.exec(namespace, "p", "c", ["true"], timeout=1),
        }
        seconds = {}
        for name, ask in asked.items():
            started, before = time.monotonic(), frozen.requests
            with pytest.raises(TimedOut):
                ask()
            seconds[name] = time.monotonic() - started
            assert frozen.requests - before == 1, name
        assert {name: value for name, value in seconds.items() if not 0.8 < value < 3.5} == {}

    def test_connecting_to_a_frozen_server(self, api_server: ApiServer, frozen: Cluster, namespace: str) -> None:
        """Nothing was discovered yet: kubernetes.core asks first, without any limit of its own."""
        for path in pathlib.Path(tempfile.gettempdir()).glob("k8srcp-*"):
            path.unlink()
        kubeconfig = json.loads(pathlib.Path(api_server.kubeconfig).read_text())
        kubeconfig["clusters"][0]["cluster"]["server"] = api_server.url.replace("127.0.0.1", "localhost")
        started = time.monotonic()
        with pytest.raises(TimedOut, match="the given kubeconfig"):
            Cluster({"kubeconfig": kubeconfig}, timeout=1)
        assert time.monotonic() - started < 3.5

    def test_a_run_that_was_cut_short_is_finished_by_the_next(
        self, api_server: ApiServer, cluster: Cluster, namespace: str
    ) -> None:
        desired = [config_map(namespace, f"c{number}", x="1") for number in range(6)]
        original = cluster.apply
        cluster.patience = 1.0

        def apply(manifest: Object, **options: t.Any) -> Object:
            if manifest["metadata"]["name"] == "c3":
                api_server.kill()
            return original(manifest, **options)

        cluster.apply = apply
        try:
            with expect(Unreachable, f"ConfigMap {namespace}/c3", "Is it up") as caught:
                run(cluster, namespace, desired)
            assert len(caught.value.details["done"]) == 3
        finally:
            api_server.restart()
        again = run(Cluster({"kubeconfig": api_server.kubeconfig}), namespace, desired)
        assert [one.action for one in again] == ["unchanged"] * 3 + ["created"] * 3

    def test_a_restart_is_waited_for(self, api_server: ApiServer, cluster: Cluster, namespace: str) -> None:
        cluster.patience = 90.0  # a real one starts slowly on a busy machine
        desired = [config_map(namespace, "a", x="1"), config_map(namespace, "b", x="1")]
        run(cluster, namespace, desired[:1])
        api_server.kill()
        found: list[dict[str, str]] = []
        asking = threading.Thread(target=lambda: found.append(actions(run(cluster, namespace, desired))))
        asking.start()
        api_server.restart()  # here: it ends with the thread that started it
        asking.join()
        assert found == [{"ConfigMap/b": "created"}]


class Front:
    """Stands before the API server and answers for it as `plan` says; an empty plan passes all on."""

    def __init__(self, api_server: ApiServer) -> None:
        self.plan: list[int | str] = []
        self.seen: list[str] = []
        front, context = self, ssl.create_default_context(cafile=api_server.ca_certificate)

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def answer(self) -> None:
                body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
                front.seen.append(self.command)
                what = front.plan.pop(0) if front.plan else None
                if what == "reset":
                    self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
                    self.connection.close()
                    self.close_connection = True
                elif what is not None:
                    self.reply(int(what), b"busy", {"Retry-After": "1"} if what == 429 else {})
                else:
                    self.pass_on(body)

            def pass_on(self, body: bytes) -> None:
                kept = {
                    key: self.headers[key] for key in ("Authorization", "Content-Type", "Accept") if self.headers[key]
                }
                url = api_server.url + self.path
                request = urllib.request.Request(url, data=body or None, headers=kept, method=self.command)
                try:
                    with urllib.request.urlopen(request, timeout=20, context=context) as response:
                        self.reply(response.status, response.read())
                except urllib.error.HTTPError as e:
                    self.reply(e.code, e.read())

            def reply(self, status: int, body: bytes, headers: t.Mapping[str, str] | None = None) -> None:
                self.send_response(status)
                for key, value in {"Content-Type": "application/json", **(headers or {})}.items():
                    self.send_header(key, value)
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            do_GET = do_POST = do_PUT = do_PATCH = do_DELETE = answer

            def log_message(self, *_words: t.Any) -> None:
                pass

            def finish(self) -> None:
                with contextlib.suppress(OSError, ValueError):  # after a reset
                    super().finish()

        self._server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self._server.server_address[1]}"
        threading.Thread(target=self._server.serve_forever, daemon=True).start()

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()


class TestServerThatIsBusy:
    @pytest.fixture
    def front(self, api_server: ApiServer) -> t.Iterator[Front]:
        front = Front(api_server)
        yield front
        front.close()

    @pytest.fixture
    def through(self, front: Front) -> Cluster:
        cluster = Cluster({"host": front.url, "api_key": ADMIN_TOKEN})
        front.seen.clear()
        return cluster

    @pytest.mark.parametrize("trouble", [429, 503, "reset"])
    def test_questions_and_applies_are_repeated_and_counted(
        self, front: Front, through: Cluster, namespace: str, trouble: int | str
    ) -> None:
        calls: list[tuple[str, t.Callable[[], t.Any]]] = [
            ("PATCH", lambda: through.apply(config_map(namespace, "a", x="1"))),
            ("GET", lambda: through.get("v1", "ConfigMap", "a", namespace)),
            ("GET", lambda: through.list("v1", "ConfigMap", namespace)[0]),
        ]
        for method, ask in calls:
            before = through.requests
            front.seen.clear()
            front.plan = [trouble, trouble]
            started = time.monotonic()
            assert ask()["metadata"]["namespace"] == namespace
            assert front.seen == [method] * 3
            assert through.requests - before == 3
            if trouble == 429:  # it asked for a second each time
                assert time.monotonic() - started >= 2

    @pytest.mark.parametrize("trouble", [429, 503, "reset"])
    def test_other_writes_are_sent_once(
        self, front: Front, through: Cluster, cluster: Cluster, namespace: str, trouble: int | str
    ) -> None:
        there = cluster.create(config_map(namespace, "a", x="1"))
        calls: dict[str, t.Callable[[], t.Any]] = {
            "POST": lambda: through.create(config_map(namespace, "b")),
            "PUT": lambda: through.replace(there),
            "PATCH": lambda: through.patch("v1", "ConfigMap", "a", namespace, {"data": {"x": "2"}}),
            "DELETE": lambda: through.delete("v1", "ConfigMap", "a", namespace),
        }
        for ask in calls.values():
            front.plan = [trouble]
            with pytest.raises(Unreachable):
                ask()
        front.plan = [trouble]
        with pytest.raises(OvnError):
            through.exec(namespace, "p", "c", ["true"])
        assert collections.Counter(front.seen) == {"POST": 1, "PUT": 1, "PATCH": 1, "DELETE": 1, "GET": 1}

    def test_patience_ends(self, front: Front, through: Cluster, namespace: str) -> None:
        through.patience = 1.5
        front.plan = [503] * 50
        before, started = through.requests, time.monotonic()
        with expect(Unreachable, "503", "Try again later"):
            through.list("v1", "ConfigMap", namespace)
        assert 0.5 < time.monotonic() - started < 3
        assert through.requests - before == len(front.seen) > 2

    def test_what_the_server_will_not_change_its_mind_about(
        self, front: Front, through: Cluster, namespace: str
    ) -> None:
        for code in (401, 403, 409, 422, 500, 504):
            front.seen.clear()
            front.plan = [code]
            with pytest.raises(OvnError):
                through.list("v1", "ConfigMap", namespace)
            assert front.seen == ["GET"], code

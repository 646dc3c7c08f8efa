"""The application of objects, the words of refusals and every verb, on a real API server."""

from __future__ import annotations

import copy
import threading

import _k8s_objects
from _apiserver import ApiServer
from _k8s_objects import (
    KINDS,
    SELECTOR,
    Object,
    actions,
    config_map,
    everything,
    expect,
    look,
    made,
    pod_template,
    run,
    versions,
)
from conftest import until, within

from ansible_collections.c5c3.ovn.plugins.module_utils._base.deadline import Deadline
from ansible_collections.c5c3.ovn.plugins.module_utils._base.errors import Conflict, InvalidInput, Refused
from ansible_collections.c5c3.ovn.plugins.module_utils._kubernetes.apply import Key, converge, diff_of, key_of, prune
from ansible_collections.c5c3.ovn.plugins.module_utils._kubernetes.client import Cluster
from ansible_collections.c5c3.ovn.plugins.module_utils._kubernetes.pod_watch import await_no_pods

own_discovery_cache, cluster = _k8s_objects.own_discovery_cache, _k8s_objects.cluster  # fixtures


def placed_pod(namespace: str, name: str, node: str) -> Object:
    spec = {"nodeName": node, "containers": [{"name": "a", "image": "nowhere/a:1"}]}
    return made("v1", "Pod", namespace, name, spec=spec)


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

    def test_fields_no_longer_set_are_removed(self, cluster: Cluster, namespace: str) -> None:
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
        quotas = f"/api/v1/namespaces/{namespace}/resourcequotas"

        def answer() -> str:
            try:
                cluster.apply(config_map(namespace, "a", x="1"), dry_run=True)
            except Refused as e:
                return str(e)
            return ""

        # Admission sees the quota, and each change of its status, a moment later. A controller would write that.
        for hard, words in (("0", "exceeded quota"), ("1", "")):
            limits = {"count/configmaps": hard}
            if hard == "0":
                api_server.request("POST", quotas, {"metadata": {"name": "little"}, "spec": {"hard": limits}})
            else:
                api_server.request("PATCH", f"{quotas}/little", {"spec": {"hard": limits}})
            status = {"status": {"hard": limits, "used": {"count/configmaps": "0"}}}
            api_server.request("PATCH", f"{quotas}/little/status", status)
            until(lambda words=words: words in answer() if words else not answer(), "the quota")
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
        names = {"metadata.name!=kube-root-ca.crt"}
        events = list(cluster.watch("v1", "ConfigMap", namespace, fields=",".join(names), timeout=2))
        assert [(kind, item["metadata"]["name"]) for kind, item in events] == [("ADDED", "a"), ("ADDED", "b")]
        timer.join()

    def test_a_watch_whose_time_is_up_shows_nothing(self, cluster: Cluster, namespace: str) -> None:
        assert list(cluster.watch("v1", "ConfigMap", namespace, timeout=0.0)) == []

    def test_a_watch_that_is_left_early(self, cluster: Cluster, namespace: str) -> None:
        cluster.create(config_map(namespace, "a"))
        for _event in cluster.watch("v1", "ConfigMap", namespace, timeout=3600):
            break
        assert cluster.get("v1", "ConfigMap", "a", namespace) is not None

    def test_pods_are_awaited_with_one_list_and_one_watch(
        self, api_server: ApiServer, cluster: Cluster, namespace: str
    ) -> None:
        """Nobody runs pods here: what is deleted without a grace period is gone at once."""
        for number in range(60):
            cluster.create(placed_pod(namespace, f"p{number:02}", f"n{number:02}"))

        def gone(name: str) -> None:
            cluster.delete("v1", "Pod", name, namespace, grace=0)

        timers = [threading.Timer(delay, gone, [name]) for delay, name in ((0.5, "p03"), (1.5, "p40"), (2.5, "p07"))]
        other = Cluster({"kubeconfig": api_server.kubeconfig})
        before = other.requests
        for timer in timers:
            timer.start()
        left = await_no_pods(other, namespace, {"n03", "n07"}, labels=SELECTOR, deadline=Deadline(60))
        assert left == []
        assert other.requests - before == 2
        # Of one node its own pods alone are read; one that comes meanwhile is awaited as well, up to the limit.
        timers += [threading.Timer(0.5, cluster.create, [placed_pod(namespace, "late", "n05")])]
        timers += [threading.Timer(1.5, gone, ["p05"])]
        for timer in timers[-2:]:
            timer.start()
        late = await_no_pods(other, namespace, {"n05"}, labels=SELECTOR, deadline=Deadline(4))
        assert [pod["metadata"]["name"] for pod in late] == ["late"]
        for timer in timers:
            timer.join()

    def test_a_watch_goes_on_where_a_list_has_ended(self, cluster: Cluster, namespace: str) -> None:
        created = cluster.create(config_map(namespace, "a"))
        _objects, version = cluster.list_with_version("v1", "ConfigMap", namespace)
        cluster.delete("v1", "ConfigMap", "a", namespace, uid=created["metadata"]["uid"])
        events = list(cluster.watch("v1", "ConfigMap", namespace, since=version, timeout=round(within(2))))
        assert [(kind, item["metadata"]["name"]) for kind, item in events] == [("DELETED", "a")]

    def test_warnings_of_the_server_are_collected(self, cluster: Cluster, namespace: str) -> None:
        template = pod_template(nodeSelector={"beta.kubernetes.io/os": "linux"})
        spec = {"selector": {"matchLabels": {"app": "a"}}, "template": template}
        cluster.apply(made("apps/v1", "Deployment", namespace, "a", spec=spec))
        cluster.apply(made("apps/v1", "Deployment", namespace, "a", spec=spec))
        assert len(cluster.warnings) == 1
        assert "beta.kubernetes.io/os" in cluster.warnings[0]

    def test_kinds_that_nobody_listed_are_found(self, cluster: Cluster, namespace: str) -> None:
        before = cluster.requests
        for value in ("1", "2"):
            template = {"metadata": {"labels": {"a": value}}, "spec": {"containers": [{"name": "a", "image": "b"}]}}
            cluster.apply(made("v1", "PodTemplate", namespace, "a", template=template))
        assert cluster.requests - before == 3

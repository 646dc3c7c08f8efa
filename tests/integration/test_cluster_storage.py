"""ovn_cluster on a real API server: sizes and storage classes of claims, and the StatefulSets that make them."""

from __future__ import annotations

import json
import typing as t

import _control_plane
import pytest
from _control_plane import (
    PLACES,
    SPEC,
    WHOLE,
    ControlPlane,
    actions,
    touched,
)
from _pods_on_api import Kubelet
from conftest import within

from ansible_collections.c5c3.ovn.plugins.module_utils._control_plane import claim_templates
from ansible_collections.c5c3.ovn.plugins.module_utils._kubernetes import lease

plane, kubelet = _control_plane.plane, _control_plane.kubelet  # fixtures


@pytest.fixture
def storage_class(plane: ControlPlane) -> t.Iterator[str]:
    """Its volumes can grow."""
    name, place = f"grows-{plane.namespace}", "/apis/storage.k8s.io/v1/storageclasses"
    content = {"metadata": {"name": name}, "provisioner": "example.com/none", "allowVolumeExpansion": True}
    plane.server.request("POST", place, content)
    yield name
    plane.server.request("DELETE", f"{place}/{name}")


def test_volumes_grow_in_one_run_and_pods_stay(plane: ControlPlane, kubelet: Kubelet, storage_class: str) -> None:
    """Claims that are there, and those that come later: the StatefulSet is another one, its pods and claims are the same."""

    def spec(size: str) -> dict[str, t.Any]:
        storage = {"size": size, "storageClass": storage_class}
        return {**WHOLE, "northbound": {**WHOLE["northbound"], "storage": storage}}

    def uids(kind: str) -> dict[str, str]:
        items = json.loads(plane.server.request("GET", PLACES[kind].format(plane.namespace)))["items"]
        return {item["metadata"]["name"]: item["metadata"]["uid"] for item in items}

    options: dict[str, t.Any] = {"wait": False, "wait_timeout": 120}
    plane(**options, spec=spec("1Gi"))
    pods, claims, sets = uids("Pod"), uids("PersistentVolumeClaim"), uids("StatefulSet")
    both = spec("2Gi")
    both["northbound"] = {**both["northbound"], "nodeSelector": {"disk": "fast"}}
    seen = plane(check=True, **options, spec=both)["diff"]["after"][f"StatefulSet {plane.namespace}/ovn-northbound"]
    assert seen["spec"]["template"]["spec"]["nodeSelector"] == {"disk": "fast"}
    assert seen["spec"]["volumeClaimTemplates"][0]["spec"]["resources"]["requests"]["storage"] == "2Gi"
    predicted = plane(check=True, **options, spec=spec("2Gi"))
    grown = plane(**options, spec=spec("2Gi"))
    names = [f"PersistentVolumeClaim data-ovn-northbound-{index}" for index in range(3)]
    assert touched(grown) == touched(predicted)
    assert {*names, "StatefulSet ovn-northbound", "OVNCluster ovn"} == set(touched(grown))
    assert grown["steps"] == predicted["steps"]
    assert "recreate the StatefulSet ovn-northbound, so that new claims get 2Gi" in grown["steps"][0]
    for name in names:
        claim = plane.get("PersistentVolumeClaim", name.split()[1])
        assert claim["spec"]["resources"]["requests"]["storage"] == "2Gi"
    (template,) = plane.get("StatefulSet", "ovn-northbound")["spec"]["volumeClaimTemplates"]
    assert template["spec"]["resources"]["requests"]["storage"] == "2Gi"
    assert (uids("Pod"), uids("PersistentVolumeClaim")) == (pods, claims)
    assert {name for name, uid in uids("StatefulSet").items() if sets[name] != uid} == {"ovn-northbound"}
    assert not plane(**options, spec=spec("2Gi"))["changed"]

    # A run that was killed in between leaves pods without their StatefulSet.
    plane.server.request(
        "DELETE", f"{PLACES['StatefulSet'].format(plane.namespace)}/ovn-northbound", {"propagationPolicy": "Orphan"}
    )
    kubelet.orphaned(plane.namespace, "ovn-northbound")
    again = plane(**options, spec=spec("2Gi"))
    assert touched(again) == {"StatefulSet ovn-northbound": "created"}
    assert plane.get("StatefulSet", "ovn-northbound")["spec"]["replicas"] == 3
    assert (uids("Pod"), again["northbound"]["verdict"]) == (pods, "healthy")


def test_a_quota_without_room_for_a_rehearsal_ends_nothing(
    plane: ControlPlane, kubelet: Kubelet, storage_class: str
) -> None:
    """It counts the StatefulSet of the rehearsal as a third one. All the rest is done, and told."""

    def spec(size: str) -> dict[str, t.Any]:
        return {
            **WHOLE,
            "southbound": {**WHOLE["southbound"], "storage": {"size": size, "storageClass": storage_class}},
        }

    options: dict[str, t.Any] = {"wait": False, "wait_timeout": 120}
    plane(**options, spec=spec("1Gi"))
    plane.make("ResourceQuota", "exact", spec={"hard": {"count/statefulsets.apps": "2"}})
    used = {"hard": {"count/statefulsets.apps": "2"}, "used": {"count/statefulsets.apps": "2"}}
    plane.patch("ResourceQuota", "exact/status", {"status": used})
    ran = plane(**options, spec=spec("2Gi"))
    assert touched(ran)["PersistentVolumeClaim data-ovn-southbound-0"] == "changed"
    assert {"Deployment ovn-northd", "ConfigMap ovn-config"} <= set(actions(ran))
    told = [
        words for words in ran.warnings if "StatefulSet ovn-southbound still creates claims of the old size" in words
    ]
    assert "exceeded quota: exact" in told[-1]
    assert "a quota may refuse the dry run only" in told[-1]
    plane.remove("ResourceQuota", "exact")
    assert touched(plane(**options, spec=spec("2Gi"))) == {"StatefulSet ovn-southbound": "changed"}


@pytest.mark.parametrize("moment", ["before its Lease", "before the deletion"])
def test_a_stateful_set_that_another_run_scaled_is_not_recreated(
    plane: ControlPlane, kubelet: Kubelet, storage_class: str, monkeypatch: pytest.MonkeyPatch, moment: str
) -> None:
    """With as many replicas as were known before, the new one would end pods of members that nobody has told to leave."""

    def spec(size: str) -> dict[str, t.Any]:
        storage = {"size": size, "storageClass": storage_class}
        return {**WHOLE, "northbound": {**WHOLE["northbound"], "storage": storage}}

    options: dict[str, t.Any] = {"wait": False, "wait_timeout": 120}
    plane(**options, spec=spec("1Gi"))
    for index in range(3):  # so that nothing but the template for new claims is of the old size
        grown = {"spec": {"resources": {"requests": {"storage": "2Gi"}}}}
        plane.patch("PersistentVolumeClaim", f"data-ovn-northbound-{index}", grown)
    plane.patch("OVNCluster", "ovn", {"spec": {"northbound": {"storage": {"size": "2Gi"}}}})
    before = plane.get("StatefulSet", "ovn-northbound")
    owner, name = (
        (claim_templates, "recreation_message")
        if moment == "before the deletion"
        else (lease.RunLease, "acquire_or_renew")
    )
    real = getattr(owner, name)

    def slow(*arguments: t.Any) -> t.Any:
        monkeypatch.setattr(owner, name, real)
        plane.patch("StatefulSet", "ovn-northbound", {"spec": {"replicas": 5}}, manager="another")
        return real(*arguments)

    monkeypatch.setattr(owner, name, slow)
    ran = plane(**options, spec=None, may_fail=True)
    after = plane.get("StatefulSet", "ovn-northbound")
    assert (after["spec"]["replicas"], after["metadata"]["uid"]) == (5, before["metadata"]["uid"]), ran
    assert any("StatefulSet ovn-northbound still creates claims of the old size" in one for one in ran.warnings), ran


@pytest.mark.parametrize("right", ["another class", "the default class", "another class after a run that was killed"])
def test_a_storage_class_that_does_not_exist_is_corrected_by_the_next_run(
    plane: ControlPlane, kubelet: Kubelet, storage_class: str, right: str
) -> None:
    """Claims without a volume hold nothing: they, their pods and the StatefulSet are recreated, and everything else is as if it were the first run."""
    kubelet.no_volumes = {"no-such-class"}
    options: dict[str, t.Any] = {"wait": False, "wait_timeout": 120}

    def spec(**storage: str) -> dict[str, t.Any]:
        return {**WHOLE, "northbound": {**WHOLE["northbound"], "storage": storage}}

    first = plane(spec=spec(storageClass="no-such-class"), wait=False, wait_timeout=30, may_fail=True)
    assert first.failed
    assert "ovn-northbound-0" in first["msg"]
    old = plane.get("PersistentVolumeClaim", "data-ovn-northbound-0")["metadata"]["uid"]
    corrected = spec() if right == "the default class" else spec(storageClass=storage_class)
    if "killed" in right:  # it had taken the StatefulSet away, and no more
        path = f"{PLACES['StatefulSet'].format(plane.namespace)}/ovn-northbound"
        plane.server.request("DELETE", path, {"propagationPolicy": "Orphan"})
        kubelet.orphaned(plane.namespace, "ovn-northbound")
    predicted = plane(check=True, **options, spec=corrected)
    ran = plane(**options, spec=corrected)
    for name in ("PersistentVolumeClaim data-ovn-northbound-0", "Pod ovn-northbound-0"):
        assert touched(ran)[name] == "deleted"
    assert touched(ran)["StatefulSet ovn-northbound"] == ("created" if "killed" in right else "changed")
    assert touched(ran) == touched(predicted)
    recreated = [step for step in ran["steps"] if "recreate " in step]
    assert recreated == [step for step in predicted["steps"] if "recreate " in step]
    assert len(recreated) == (1 if "killed" in right else 2)
    assert "join ovn-northbound-2 to northbound" in predicted["steps"]
    assert ran["northbound"]["verdict"] == ran["southbound"]["verdict"] == "healthy"
    wanted = None if right == "the default class" else storage_class
    for index in range(3):
        claim = plane.get("PersistentVolumeClaim", f"data-ovn-northbound-{index}")
        assert (claim["spec"].get("storageClassName"), claim["metadata"]["uid"] != old) == (wanted, True)
    (template,) = plane.get("StatefulSet", "ovn-northbound")["spec"]["volumeClaimTemplates"]
    assert template["spec"].get("storageClassName") == wanted
    assert not plane(**options, spec=corrected)["changed"]


def test_members_to_come_get_the_declared_storage_class(
    plane: ControlPlane, kubelet: Kubelet, storage_class: str
) -> None:
    """A claim never changes its class, so the StatefulSet is recreated before it makes another one."""

    def spec(replicas: int, **storage: str) -> dict[str, t.Any]:
        return {**WHOLE, "northbound": {**WHOLE["northbound"], "replicas": replicas, "storage": storage}}

    options: dict[str, t.Any] = {"wait": False, "wait_timeout": 120}
    plane(**options, spec=spec(1))
    first = plane.get("Pod", "ovn-northbound-0")["metadata"]["uid"]
    predicted = plane(check=True, **options, spec=spec(3, storageClass=storage_class))
    ran = plane(**options, spec=spec(3, storageClass=storage_class))
    assert ran["steps"] == predicted["steps"]
    assert "storage class" in ran["steps"][0]
    assert ran["northbound"]["verdict"] == "healthy"
    claims = [plane.get("PersistentVolumeClaim", f"data-ovn-northbound-{index}") for index in range(3)]
    assert [one["spec"].get("storageClassName") for one in claims] == [None, storage_class, storage_class]
    assert plane.get("Pod", "ovn-northbound-0")["metadata"]["uid"] == first
    assert not plane(**options, spec=spec(3, storageClass=storage_class))["changed"]


def test_a_claim_that_gets_its_volume_at_the_last_moment_stays(
    plane: ControlPlane, kubelet: Kubelet, storage_class: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It may hold a database from now on. The StatefulSet is there again, and the error says what to declare."""
    kubelet.no_volumes = {"slow"}

    def spec(name: str) -> dict[str, t.Any]:
        return {**WHOLE, "northbound": {**WHOLE["northbound"], "storage": {"storageClass": name}}}

    plane(spec=spec("slow"), wait=False, wait_timeout=within(8), may_fail=True)
    kinds = ("PersistentVolumeClaim data-ovn-northbound-0", "Pod ovn-northbound-0")
    uids = [plane.get(*one.split())["metadata"]["uid"] for one in kinds]
    real = claim_templates.delete_pending_claims

    def late(*arguments: t.Any, **options: t.Any) -> t.Any:
        plane.patch("PersistentVolumeClaim", "data-ovn-northbound-0/status", {"status": {"phase": "Bound"}})
        return real(*arguments, **options)

    monkeypatch.setattr(claim_templates, "delete_pending_claims", late)
    ran = plane(spec=spec(storage_class), wait=False, wait_timeout=20, may_fail=True)
    assert ran.failed
    assert "data-ovn-northbound-0 has storage class slow" in ran["msg"]
    assert "declare slow" in ran["msg"]
    assert [plane.get(*one.split())["metadata"]["uid"] for one in kinds] == uids
    assert touched(ran) == {"OVNCluster ovn": "changed", "StatefulSet ovn-northbound": "changed"}
    assert plane.get("StatefulSet", "ovn-northbound")["spec"]["replicas"] == 1
    before = plane.ours()
    refused = plane(spec=None, wait=False, may_fail=True)
    assert "Nothing was changed." in refused["msg"]
    assert {name for name in before if before[name] != plane.ours()[name]} <= {"Lease ovn-run"}


def test_volumes_do_not_shrink_but_grow(plane: ControlPlane) -> None:
    plane.late(spec={**SPEC, "northbound": {"storage": {"size": "2Gi"}}})
    plane.claim("northbound", 0)
    before = plane.ours()
    smaller = {**SPEC, "northbound": {"storage": {"size": "1Gi"}}}
    for check in (True, False):
        refused = plane(check=check, may_fail=True, spec=smaller)
        assert "data-ovn-northbound-0 has 2Gi, the specification says 1Gi" in refused["msg"]
    assert plane.ours() == before  # not even the custom resource
    elsewhere = {**SPEC, "northbound": {"storage": {"size": "2Gi", "storageClass": "fast"}}}
    slow, place = f"slow-{plane.namespace}", "/apis/storage.k8s.io/v1/storageclasses"
    plane.patch("PersistentVolumeClaim", "data-ovn-northbound-0", {"spec": {"storageClassName": slow}})
    refused = plane(check=True, may_fail=True, spec=elsewhere)
    assert f"storage class {slow}, the specification says fast" in refused["msg"]
    larger = {**SPEC, "northbound": {"storage": {"size": "3Gi"}}}
    before = plane.ours()
    assert "there is no such StorageClass" in plane(may_fail=True, spec=larger)["msg"]
    plane.server.request("POST", place, {"metadata": {"name": slow}, "provisioner": "example.com/none"})
    try:
        refused = plane(may_fail=True, spec=larger)
        for word in ("data-ovn-northbound-0", f"StorageClass {slow} do not (allowVolumeExpansion is not true)"):
            assert word in refused["msg"]
        assert plane.ours() == before
        plane.server.request("PATCH", f"{place}/{slow}", {"allowVolumeExpansion": True})
        # There is no pod that could be asked, so the databases cannot be foreseen; the volume can.
        predicted = plane(check=True, may_fail=True, spec=larger)
        assert touched(predicted)["PersistentVolumeClaim data-ovn-northbound-0"] == "changed"
        plane.late(spec=larger)
    finally:
        plane.server.request("DELETE", f"{place}/{slow}")
    claim = plane.get("PersistentVolumeClaim", "data-ovn-northbound-0")
    assert claim["spec"]["resources"]["requests"]["storage"] == "3Gi"

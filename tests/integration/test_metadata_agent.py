"""The metadata agents of a hypervisor cluster, by runs of ovn_hypervisors against a real API server."""

from __future__ import annotations

import base64
import threading
import typing as t

import pytest
from _hypervisors import HYPERVISOR, Hypervisors, actions
from conftest import Ran, until

NAME = "ovn-metadata-agent"
AGENT: dict[str, t.Any] = {
    "enabled": True,
    "image": {"repository": "registry.example.com/neutron", "tag": "2025.1"},
    "novaMetadata": {"host": "nova.example.com"},
    "sharedSecretRef": {"name": "nova-metadata"},
}
IMAGE = "registry.example.com/neutron:2025.1"
GATEWAY = {"nodeSelector": {"gateway": "yes"}}


@pytest.fixture(autouse=True)
def nodes(hypervisors: Hypervisors) -> None:
    hypervisors.node("worker-1", "192.0.2.21")
    hypervisors.node("gateway-1", "192.0.2.31", {**HYPERVISOR, "gateway": "yes"})


def spec(**agent: t.Any) -> dict[str, t.Any]:
    return {"gateway": GATEWAY, "metadataAgent": {**AGENT, **agent}}


def write_secret(hypervisors: Hypervisors, **data: str) -> None:
    place = f"/api/v1/namespaces/{hypervisors.namespace}/secrets"
    body = {
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": {"name": "nova-metadata"},
        "data": {key: base64.b64encode(text.encode()).decode() for key, text in data.items()},
    }
    try:
        hypervisors.server.request("POST", place, body)
    except OSError:
        hypervisors.server.request("PATCH", f"{place}/nova-metadata", {"data": body["data"]})


def changed(ran: Ran) -> dict[str, str]:
    return {name: action for name, action in actions(ran).items() if action != "unchanged"}


def there(hypervisors: Hypervisors) -> list[str]:
    """What exists of the agents."""
    places = {
        "DaemonSet": f"/apis/apps/v1/namespaces/{hypervisors.namespace}/daemonsets",
        "ConfigMap": f"/api/v1/namespaces/{hypervisors.namespace}/configmaps",
        "ServiceAccount": f"/api/v1/namespaces/{hypervisors.namespace}/serviceaccounts",
    }
    names = {kind: [one["metadata"]["name"] for one in hypervisors.get(path)["items"]] for kind, path in places.items()}
    return [kind for kind, found in names.items() if NAME in found]


def test_enable_change_and_disable(hypervisors: Hypervisors) -> None:
    hypervisors(spec={"gateway": GATEWAY})
    assert there(hypervisors) == []
    write_secret(hypervisors, metadata_proxy_shared_secret="s3cret")
    predicted = changed(hypervisors(check=True, spec=spec()))
    assert predicted == dict.fromkeys(
        [f"{kind} {NAME}" for kind in ("ServiceAccount", "ConfigMap", "DaemonSet")], "created"
    )
    assert there(hypervisors) == []

    assert changed(hypervisors(spec=spec())) == predicted
    others = {name: generation for name, generation in hypervisors.generations().items() if name != NAME}
    versions = hypervisors.versions()
    again = hypervisors(spec=spec())
    assert not again["changed"]
    assert again["requests"] <= 14  # one more, for the Secret
    assert hypervisors.versions() == versions

    hypervisors(spec=spec(extraConfig={"DEFAULT": {"debug": "true"}}))
    assert hypervisors.generations()[NAME] == 2
    assert changed(hypervisors(check=True, spec=spec(workers=2))) == {
        f"ConfigMap {NAME}": "changed",
        f"DaemonSet {NAME}": "changed",
    }

    last = spec(extraConfig={"DEFAULT": {"debug": "true"}})
    write_secret(hypervisors, metadata_proxy_shared_secret="an0ther")
    assert changed(hypervisors(spec=last)) == {f"DaemonSet {NAME}": "changed"}
    assert hypervisors.generations()[NAME] == 3
    assert not hypervisors(spec=last)["changed"]

    last["metadataAgent"]["enabled"] = False
    predicted = changed(hypervisors(check=True, spec=last))
    assert predicted == dict.fromkeys(predicted, "deleted")
    assert len(predicted) == 3
    assert changed(hypervisors(spec=last)) == predicted
    assert there(hypervisors) == []
    assert not hypervisors(spec=last)["changed"]
    # Nothing of it touched the pods of the others, nor the Secret, which is not ours.
    assert hypervisors.generations() == others
    hypervisors.get(f"/api/v1/namespaces/{hypervisors.namespace}/secrets/nova-metadata")


def test_another_program_is_one_rollout(hypervisors: Hypervisors) -> None:
    """And so is the way back. No pod of the others is touched."""
    write_secret(hypervisors, metadata_proxy_shared_secret="s3cret")
    hypervisors(spec=spec())
    others = {name: generation for name, generation in hypervisors.generations().items() if name != NAME}
    place = f"/apis/apps/v1/namespaces/{hypervisors.namespace}/daemonsets/{NAME}"
    uid = hypervisors.get(place)["metadata"]["uid"]
    for generation, program in ((2, "neutron-ovn-agent"), (3, "neutron-ovn-metadata-agent")):
        wanted = spec(program=program)
        predicted = changed(hypervisors(check=True, spec=wanted))
        assert predicted == {f"ConfigMap {NAME}": "changed", f"DaemonSet {NAME}": "changed"}
        # No agent ends before the nodes have looked whether the image has that program.
        assert hypervisors(check=True, wait=True, spec=wanted)["steps"] == [f"pull {IMAGE} on the nodes"]
        assert changed(hypervisors(spec=wanted)) == predicted
        assert not hypervisors(spec=wanted)["changed"]
        assert hypervisors.generations() == {**others, NAME: generation}
        # The same DaemonSet, so Kubernetes replaces pods of a node, and never adds one.
        found = hypervisors.get(place)
        assert found["metadata"]["uid"] == uid
        assert found["spec"]["updateStrategy"]["rollingUpdate"] == {"maxUnavailable": 1, "maxSurge": 0}
        (container,) = found["spec"]["template"]["spec"]["containers"]
        assert {"name": "OVN_METADATA_PROGRAM", "value": program} in container["env"]
    ran = hypervisors(may_fail=True, spec=spec(program="neutron-ovn-agent", extraConfig={"agent": {"extensions": "x"}}))
    assert "spec.metadataAgent.extraConfig sets extensions in [agent] to x" in ran["msg"]
    assert hypervisors.generations()[NAME] == 3


def test_the_secret_is_nowhere_else(hypervisors: Hypervisors) -> None:
    write_secret(hypervisors, metadata_proxy_shared_secret="s3cret-of-nova")
    ran = hypervisors(spec=spec())
    everything = str([hypervisors.get(f"/api/v1/namespaces/{hypervisors.namespace}/configmaps"), ran, ran["diff"]])
    assert "s3cret-of-nova" not in everything
    assert base64.b64encode(b"s3cret-of-nova").decode() not in everything


def test_absent_takes_them_away(hypervisors: Hypervisors) -> None:
    write_secret(hypervisors, metadata_proxy_shared_secret="s3cret")
    hypervisors(spec=spec())
    assert len(there(hypervisors)) == 3
    hypervisors(spec=spec(), state="absent")
    assert there(hypervisors) == []
    assert not hypervisors(spec=spec(), state="absent")["changed"]


@pytest.mark.parametrize(
    ("data", "message"),
    [
        pytest.param(None, "does not exist", id="no Secret"),
        pytest.param({"other": "x"}, "has nothing in that key", id="another key"),
        pytest.param({"metadata_proxy_shared_secret": "a b"}, "has a space", id="two words"),
    ],
)
def test_a_secret_that_agents_could_not_use_changes_nothing(
    hypervisors: Hypervisors, data: dict[str, str] | None, message: str
) -> None:
    if data is not None:
        write_secret(hypervisors, **data)
    ran = hypervisors(may_fail=True, spec=spec())
    assert ran["failed"]
    assert ran["msg"].startswith(
        f"Secret {hypervisors.namespace}/nova-metadata (spec.metadataAgent.sharedSecretRef) {message}"
    )
    assert ran["msg"].endswith("Nothing was changed.")
    assert hypervisors.generations() == {}


def test_an_agent_on_a_gateway_is_refused(hypervisors: Hypervisors) -> None:
    write_secret(hypervisors, metadata_proxy_shared_secret="s3cret")
    hypervisors.annotate("worker-1", gateway="true")
    ran = hypervisors(may_fail=True, spec=spec())
    assert ran["failed"]
    assert ran["msg"].startswith("Node worker-1: it is a gateway by its own settings (annotation ovn.c5c3.io/gateway)")
    assert hypervisors.generations() == {}
    hypervisors.annotate("worker-1", gateway=None)
    assert not hypervisors(spec=spec()).get("failed")


def test_where_all_are_gateways_a_warning_says_so(hypervisors: Hypervisors) -> None:
    write_secret(hypervisors, metadata_proxy_shared_secret="s3cret")
    hypervisors.server.request("PATCH", "/api/v1/nodes/worker-1", {"metadata": {"labels": {"gateway": "yes"}}})
    ran = hypervisors(spec=spec())
    assert any("None of the 2 hypervisors gets a metadata agent" in one for one in ran.warnings)


def test_a_run_waits_for_them_after_the_others(hypervisors: Hypervisors) -> None:
    """One pod for the compute node, none for the gateway."""
    write_secret(hypervisors, metadata_proxy_shared_secret="s3cret")
    hypervisors(spec=spec())
    hypervisors.pods_are_ready(2)
    ran = hypervisors(may_fail=True, wait=True, wait_timeout=2, spec=spec())
    assert ran["failed"]
    assert f"the controller of DaemonSets has not observed {NAME} yet" in ran["msg"]
    assert "ovn-controller" not in ran["msg"]
    hypervisors.pods_are_ready(0, NAME)
    ran = hypervisors(may_fail=True, wait=True, wait_timeout=2, spec=spec())
    assert f"DaemonSet {NAME} is finished on 0 of 1 nodes" in ran["msg"]
    assert f"Node worker-1: no pod of DaemonSet {NAME} is there" in ran["msg"]
    hypervisors.pods_are_ready(1, NAME)
    assert not hypervisors(wait=True, wait_timeout=5, spec=spec()).get("failed")


def test_a_run_goes_on_when_the_last_agent_is_ready(hypervisors: Hypervisors) -> None:
    write_secret(hypervisors, metadata_proxy_shared_secret="s3cret")
    hypervisors(spec=spec())
    hypervisors.pods_are_ready(2)
    later = threading.Timer(1.0, hypervisors.pods_are_ready, (1, NAME))
    later.start()
    try:
        assert not hypervisors(wait=True, wait_timeout=20, spec=spec()).get("failed")
    finally:
        later.join()
    until(lambda: hypervisors.generations()[NAME] == 1, "one generation")

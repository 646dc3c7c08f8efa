"""Which chassis get a metadata agent, and what is refused."""

from __future__ import annotations

import base64
import types
import typing as t

import pytest
from fake_cluster import FakeCluster

from ansible_collections.c5c3.ovn.plugins.module_utils._api.spec import ClusterSpec, parse_spec
from ansible_collections.c5c3.ovn.plugins.module_utils._base.errors import InvalidInput, Refused
from ansible_collections.c5c3.ovn.plugins.module_utils._hypervisors.metadata_agents import (
    chassis_with_agent,
    gateway_problems,
    left_objects,
    read_secret_version,
    secret_problem,
    warnings_of,
)
from ansible_collections.c5c3.ovn.plugins.module_utils._hypervisors.nodes import Node
from ansible_collections.c5c3.ovn.plugins.module_utils._hypervisors.settings import (
    Chassis,
    default_settings,
    plan_chassis,
)

Object = dict[str, t.Any]
HYPERVISOR = {"node-role.kubernetes.io/hypervisor": ""}
GATEWAYS = {"gateway": {"nodeSelector": {"gateway": "yes"}}}
AGENT: Object = {
    "enabled": True,
    "image": {"repository": "r/neutron", "tag": "1"},
    "novaMetadata": {"host": "nova"},
    "sharedSecretRef": {"name": "nova"},
}


def spec_of(agent: Object | None = None, **more: t.Any) -> ClusterSpec:
    return parse_spec({"metadataAgent": {**AGENT, **(agent or {})}, **more}, name="ovn", namespace="net")


def chassis(spec: ClusterSpec, *nodes: tuple[str, dict[str, str], dict[str, str]]) -> list[Chassis]:
    """Name, labels and annotations of each."""
    found = [
        Node(name, f"uid-{name}", {**HYPERVISOR, **labels}, annotations, (f"192.0.2.{number}",), True)
        for number, (name, labels, annotations) in enumerate(nodes, 1)
    ]
    return plan_chassis(found, spec, default_settings(spec, ["ssl:192.0.2.99:6642"]), {})


COMPUTE = ("compute", {}, {})
BY_LABEL = ("gateway", {"gateway": "yes"}, {})
BY_ANNOTATION = ("gateway", {}, {"ovn.c5c3.io/gateway": "true"})
BY_SETTINGS = ("gateway", {}, {"ovn.c5c3.io/chassis-settings": '{"gateway": true}'})
NONE_BY_ANNOTATION = ("gateway", {"gateway": "yes"}, {"ovn.c5c3.io/gateway": "false"})


def test_gateways_by_their_labels_are_left_out() -> None:
    spec = spec_of(**GATEWAYS)
    found = chassis(spec, COMPUTE, BY_LABEL)
    assert [one.node.name for one in chassis_with_agent(spec, found)] == ["compute"]
    assert gateway_problems(spec, found) == warnings_of(spec, found) == []


@pytest.mark.parametrize("gateway", [BY_ANNOTATION, BY_SETTINGS], ids=["annotation", "settings"])
def test_a_gateway_that_a_daemon_set_cannot_tell_is_refused(gateway: t.Any) -> None:
    spec = spec_of()
    (problem,) = gateway_problems(spec, chassis(spec, COMPUTE, gateway))
    assert problem.startswith("Node gateway: it is a gateway by its own settings")
    assert "spec.metadataAgent.nodeSelector" in problem
    narrow = spec_of({"nodeSelector": {"guests": "yes"}})
    assert gateway_problems(narrow, chassis(narrow, ("compute", {"guests": "yes"}, {}), gateway)) == []
    disabled = spec_of({"enabled": False})
    assert gateway_problems(disabled, chassis(disabled, gateway)) == []


def test_a_node_with_the_labels_of_gateways_that_is_none() -> None:
    spec = spec_of(**GATEWAYS)
    (warning,) = warnings_of(spec, chassis(spec, COMPUTE, NONE_BY_ANNOTATION))
    assert warning.startswith("Node gateway is no gateway by its own settings")


def test_nobody_gets_one() -> None:
    spec = spec_of(**GATEWAYS)
    (warning,) = warnings_of(spec, chassis(spec, BY_LABEL))
    assert warning.startswith("None of the 1 hypervisors gets a metadata agent")
    disabled = spec_of({"enabled": False}, **GATEWAYS)
    assert warnings_of(disabled, chassis(disabled, BY_LABEL)) == warnings_of(spec, []) == []


def test_what_is_left_of_agents_that_are_not_declared_any_more() -> None:
    def labelled(component: str) -> Object:
        return {"metadata": {"labels": {"app.kubernetes.io/component": component}}}

    index = {
        ("v1", "ServiceAccount", "net", "ovn-metadata-agent"): labelled("metadata-agent"),
        ("apps/v1", "DaemonSet", "net", "ovn-metadata-agent"): labelled("metadata-agent"),
        ("v1", "ConfigMap", "net", "ovn-metadata-agent"): labelled("metadata-agent"),
        ("apps/v1", "DaemonSet", "net", "ovn-controller"): labelled("controller"),
    }
    observed = t.cast("t.Any", types.SimpleNamespace(index=index))
    left = left_objects(spec_of({"enabled": False}), observed)
    assert [key[1] for one in left for key, found in index.items() if found is one] == [
        "DaemonSet",
        "ConfigMap",
        "ServiceAccount",
    ]
    assert left_objects(spec_of(), observed) == []


def encoded(text: bytes) -> str:
    return base64.b64encode(text).decode()


@pytest.mark.parametrize(
    ("data", "problem"),
    [
        (encoded(b"s3cret"), ""),
        (encoded(b"s3cret\n"), ""),
        (encoded(b"s3$cret%#;="), ""),
        (encoded(b""), "has nothing in that key."),
        (encoded(b" \n"), "has nothing in that key."),
        (None, "has nothing in that key."),
        ("A", "has no text in that key."),
        (encoded(b"\xff\xfe"), "has no text in that key."),
        *(
            (encoded(text), "has a space")
            for text in (b"a b", b"a\nb", b"a\n\n", b"'a'", b'"a"', b"a\\b", b" a", b"a\t")
        ),
    ],
)
def test_what_no_agent_could_use(data: str | None, problem: str) -> None:
    found = secret_problem(data, is_there=True)
    assert found.startswith(problem)
    assert bool(found) is bool(problem)


def secret(**data: str) -> Object:
    return {
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": {"name": "nova", "namespace": "net", "resourceVersion": "17"},
        "data": data,
    }


def read(*objects: Object, agent: Object | None = None) -> str:
    return read_secret_version(FakeCluster(*objects), spec_of(agent), "net")


def test_the_version_of_the_secret() -> None:
    assert read(secret(metadata_proxy_shared_secret=encoded(b"x"))) != ""
    assert read(agent={"enabled": False}) == ""


@pytest.mark.parametrize("objects", [[], [secret()], [secret(metadata_proxy_shared_secret=encoded(b"top secret"))]])
def test_a_secret_that_is_not_there_or_cannot_be_used(objects: list[Object]) -> None:
    with pytest.raises(InvalidInput) as caught:
        read(*objects)
    text = str(caught.value)
    assert text.startswith("Secret net/nova (spec.metadataAgent.sharedSecretRef) ")
    assert "kubectl -n net create secret generic nova --from-literal=metadata_proxy_shared_secret=VALUE" in text
    assert text.endswith("Nothing was changed.")
    assert "top" not in text


def test_a_user_who_may_not_read_it() -> None:
    cluster = FakeCluster()
    cluster.always("get", Refused("no right.", http_status=403), kind="Secret")
    with pytest.raises(Refused):
        read_secret_version(cluster, spec_of(), "net")

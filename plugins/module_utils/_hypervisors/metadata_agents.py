# SPDX-License-Identifier: GPL-3.0-or-later
"""The metadata agents of a hypervisor cluster: which chassis get one, and the Secret that they share with Nova. Pure but for the reading of the Secret."""

from __future__ import annotations

import base64
import typing as t

from .._api.names import Object
from .._base.errors import InvalidInput
from .._kubernetes.client import Cluster
from .._manifests.metadata_agent import METADATA_AGENT, METADATA_AGENT_COMPONENT, has_agent
from .._neutron.metadata_agent import SECRET_OPTION, shared_secret_problem
from .nodes import GATEWAY, matches
from .observed_state import ObservedHypervisors, component_of
from .settings import Chassis

if t.TYPE_CHECKING:
    from .._api.metadata_agent_spec import SharedSecret
    from .._api.spec import ClusterSpec

AGENTS: t.Mapping[str, str] = {METADATA_AGENT_COMPONENT: METADATA_AGENT}  # component: DaemonSet

GATEWAY_CAUSE = (
    f"it is a gateway by its own settings (annotation {GATEWAY}), and spec.metadataAgent selects it: metadata agents are for nodes with guests, which a "
    "gateway is not."
)
GATEWAY_STEP = "Give it the labels of spec.gateway.nodeSelector in place of the annotation, or set spec.metadataAgent.nodeSelector to labels that it lacks."


def chassis_with_agent(spec: ClusterSpec, chassis: t.Iterable[Chassis]) -> list[Chassis]:
    """Return the chassis whose nodes get an agent."""
    return [one for one in chassis if spec.metadata_agent.enabled and has_agent(spec, one.node.labels)]


def gateways_with_agent(spec: ClusterSpec, chassis: t.Iterable[Chassis]) -> list[Chassis]:
    """Return the gateways that would get an agent: a DaemonSet selects nodes by their labels alone."""
    return [one for one in chassis_with_agent(spec, chassis) if one.own.get("gateway")]


def gateway_problems(spec: ClusterSpec, chassis: t.Iterable[Chassis]) -> list[str]:
    """Return a message for each of them."""
    return [f"Node {one.node.name}: {GATEWAY_CAUSE} {GATEWAY_STEP}" for one in gateways_with_agent(spec, chassis)]


def warnings_of(spec: ClusterSpec, chassis: t.Sequence[Chassis]) -> list[str]:
    """Return what is odd about the nodes that get none."""
    if not spec.metadata_agent.enabled or not chassis:
        return []
    found = [
        f"Node {one.node.name} is no gateway by its own settings (annotation {GATEWAY}), but gets no metadata agent, because it has the labels of "
        "spec.gateway.nodeSelector: its guests get no metadata. Remove these labels in place of the annotation."
        for one in chassis
        if spec.gateway.node_selector
        and matches(one.node.labels, spec.gateway.node_selector)
        and not one.own.get("gateway")
    ]
    if not chassis_with_agent(spec, chassis):
        found.append(
            f"None of the {len(chassis)} hypervisors gets a metadata agent, as they are gateways or lack the labels of spec.metadataAgent.nodeSelector: guests "
            "of this cluster get no metadata. Correct these labels, or set spec.metadataAgent.enabled to false."
        )
    return found


def left_objects(spec: ClusterSpec, observed: ObservedHypervisors) -> list[Object]:
    """Return what is there of agents that are not declared any more, the pods first."""
    found = [key for key, one in observed.index.items() if component_of(one) == METADATA_AGENT_COMPONENT]
    return [] if spec.metadata_agent.enabled else [observed.index[key] for key in sorted(found)]


def read_secret_version(cluster: Cluster, spec: ClusterSpec, namespace: str) -> str:
    """Return the resourceVersion of the Secret, empty if there are no agents; `InvalidInput` if it is not there, or no agent could use it."""
    reference = spec.metadata_agent.shared_secret_ref
    if not spec.metadata_agent.enabled or reference is None:
        return ""
    found = cluster.get("v1", "Secret", reference.name, namespace)
    problem = secret_problem(
        (found.get("data") or {}).get(reference.key) if found else None, is_there=found is not None
    )
    if found is None or problem:
        raise InvalidInput(
            f"Secret {namespace}/{reference.name} (spec.metadataAgent.sharedSecretRef) {problem} {secret_step(reference, namespace)}. Nothing was changed."
        )
    return str(found["metadata"]["resourceVersion"])


def secret_step(reference: SharedSecret, namespace: str) -> str:
    """Return how to make the Secret."""
    return (
        f"Create it with what Nova has as {SECRET_OPTION}: kubectl -n {namespace} create secret generic {reference.name} "
        f"--from-literal={reference.key}=VALUE"
    )


def secret_problem(data: str | None, *, is_there: bool) -> str:
    """Return what is wrong with the content (base64) of the key, as the rest of a sentence; empty if it is good. It never has the secret itself."""
    if not is_there:
        return "does not exist."
    try:
        text = base64.b64decode(data or "").decode()
    except ValueError:
        return "has no text in that key."
    if not text.strip():
        return "has nothing in that key."
    return shared_secret_problem(text.removesuffix("\n"), " in that key")

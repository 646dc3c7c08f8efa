# SPDX-License-Identifier: GPL-3.0-or-later
"""Whether a CertificateSigningRequest of a node gets the certificate of a chassis. Pure but for the reading of the request itself.

The API server has written down who created the request, and from which node its token is (KEP-4193): neither can be chosen by the one who asks.
"""

from __future__ import annotations

import base64
import binascii
import collections
import dataclasses
import typing as t

from .._base.tls_options import CHASSIS_SIGNER, CHASSIS_USAGES
from .certificates import key_problem, request_problems

NODE_EXTRA = "authentication.kubernetes.io/node-name"
NODE_UID_EXTRA = "authentication.kubernetes.io/node-uid"

Verdict = t.Literal["sign", "deny", "wait", "ignore"]
Object = t.Mapping[str, t.Any]
_MOST_DENIED = 10  # requests of one node in one look
_MOST = 500  # characters of a cause: the one who asks may have written most of it


class AskingNode(t.NamedTuple):
    """A hypervisor as a run knows it: the uid of its Node, its chassis, and why nobody may have a certificate of that name yet, empty if the node may."""

    uid: str
    chassis: str
    name_problem: str = ""


@dataclasses.dataclass(frozen=True)
class RequestDecision:
    """What is done about the request `name`. `chassis` is the common name of the certificate; a reason tells cause and next step.

    `wait` leaves it as it is for a later run. `approved`: it cannot be denied any more. `is_of_unknown_node`: there was no such Node, or another one of that
    name, when the nodes were read.
    """

    name: str
    verdict: Verdict
    node: str = ""
    chassis: str = ""
    reason: str = ""
    approved: bool = False
    is_of_unknown_node: bool = False


def judge_requests(
    requests: t.Iterable[Object], *, account: str, nodes: t.Mapping[str, AskingNode], current: bool = True
) -> list[RequestDecision]:
    """Return the decision about each CertificateSigningRequest that is not ignored, the oldest first. Each node gets one certificate, for its newest request.

    `account` is the user name of our ServiceAccount, `nodes` are the hypervisors by name. Requests of other accounts belong to other hypervisor clusters,
    and what is decided already is left alone. `current` says that `nodes` were read just now; what depends on that waits otherwise.
    """
    in_order = sorted(
        requests, key=lambda one: (str(one["metadata"].get("creationTimestamp")), one["metadata"]["name"])
    )
    decisions = [_judge(one, account, nodes, current=current) for one in in_order]
    newest = {one.node: one.name for one in decisions if one.verdict == "sign"}
    return [_unless_older(one, newest) for one in decisions if one.verdict != "ignore"]


def without_floods(decisions: t.Sequence[RequestDecision]) -> list[RequestDecision]:
    """Return what one look carries out: first who gets a certificate, then denials, a few for each node.

    A node that was taken over makes requests as fast as the API server takes them. Those that stay open go after a day (Kubernetes collects them).
    """
    counts = collections.Counter[str]()
    denied = []
    for one in decisions:
        if one.verdict == "deny" and counts[one.node] < _MOST_DENIED:
            counts[one.node] += 1
            denied.append(one)
    return [*(one for one in decisions if one.verdict == "sign"), *denied]


def _unless_older(decision: RequestDecision, newest: t.Mapping[str, str]) -> RequestDecision:
    """A token of a node makes any number of requests: one who had it before the node was installed again must not profit from his."""
    name = newest.get(decision.node, decision.name)
    if decision.verdict != "sign" or name == decision.name:
        return decision
    return dataclasses.replace(
        decision,
        verdict="deny",
        chassis="",
        reason=f"node {decision.node} has a newer request, {name}. Nothing has to be done.",
    )


def _judge(request: Object, account: str, nodes: t.Mapping[str, AskingNode], *, current: bool) -> RequestDecision:
    name, spec = str(request["metadata"]["name"]), request["spec"]
    status = request.get("status") or {}
    conditions = {one["type"] for one in status.get("conditions") or ()}
    if spec.get("signerName") != CHASSIS_SIGNER or spec.get("username") != account:
        return RequestDecision(name, "ignore")
    if status.get("certificate") or conditions & {"Denied", "Failed"}:
        return RequestDecision(name, "ignore")
    extra = spec.get("extra") or {}
    asking = list(extra.get(NODE_EXTRA) or ())
    found = RequestDecision(name, "deny", asking[0] if len(asking) == 1 else "", approved="Approved" in conditions)
    if len(asking) != 1:
        return _with_reason(
            found,
            "the API server has not written down from which node its token is",
            "Tokens name their node from Kubernetes 1.30 on, with the feature gate ServiceAccountTokenPodNodeInfo; the token of an agent is replaced within "
            "the hour, so after an upgrade its next request will do",
        )
    node = nodes.get(found.node)
    if node is None:
        return _with_reason(
            dataclasses.replace(found, verdict="wait", is_of_unknown_node=True),
            f"its node {found.node} was no hypervisor when this run read the nodes",
            "If it has the labels of controller.nodeSelector, run c5c3.ovn.hypervisors again",
        )
    if list(extra.get(NODE_UID_EXTRA) or ()) != [node.uid]:
        return _with_reason(
            found if current else dataclasses.replace(found, verdict="wait", is_of_unknown_node=True),
            f"its token is of a former Node {found.node}, which was deleted",
            f"The agent on node {found.node} asks again by itself",
        )
    problem = _content_problem(spec, node.chassis)
    if problem:
        step = f"Look at the pod of ovn-controller on node {found.node}, which is chassis {node.chassis}"
        return _with_reason(found, problem, step)
    if node.name_problem:
        return dataclasses.replace(found, verdict="wait", reason=node.name_problem)
    return dataclasses.replace(found, verdict="sign", chassis=node.chassis)


def pem_of(request: Object) -> str:
    """Return the request in PEM; empty if it is not readable."""
    try:
        return base64.b64decode(request["spec"].get("request") or "", validate=True).decode()
    except (binascii.Error, ValueError):
        return ""


def _content_problem(spec: Object, expected: str) -> str:
    usages = sorted(spec.get("usages") or ())
    if usages != sorted(CHASSIS_USAGES):
        return f"its usages are {', '.join(usages) or 'not given'}, not {', '.join(CHASSIS_USAGES)}"
    pem = pem_of({"spec": spec})
    problems = request_problems(pem, expected, (), ("clientAuth",)) or list(filter(None, [key_problem(pem)]))
    return problems[0] if problems else ""


def _with_reason(decision: RequestDecision, cause: str, step: str) -> RequestDecision:
    shown = cause if len(cause) <= _MOST else f"{cause[:_MOST]} ..."
    return dataclasses.replace(decision, reason=f"{shown}. {step}.")

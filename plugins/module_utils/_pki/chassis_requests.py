# Copyright: (c) 2026, C5C3 contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""PRIVATE to the collection: may change at any time.

Whether a CertificateSigningRequest of a node gets the certificate of a chassis. Pure but for the reading of the request itself.

The API server has written down who created the request, and from which node its token is (KEP-4193): neither can be chosen by the one who asks.
"""

from __future__ import annotations

import base64
import binascii
import dataclasses
import typing as t

from .._tls_options import CHASSIS_SIGNER, CHASSIS_USAGES
from .certificates import key_problem, request_problems

NODE_EXTRA = "authentication.kubernetes.io/node-name"

Verdict = t.Literal["sign", "deny", "ignore"]
Object = t.Mapping[str, t.Any]


@dataclasses.dataclass(frozen=True)
class RequestDecision:
    """What is done about the request `name`. `chassis` is the common name of the certificate; a reason tells cause and next step."""

    name: str
    verdict: Verdict
    chassis: str = ""
    reason: str = ""


def judge_request(request: Object, *, account: str, chassis: t.Mapping[str, str]) -> RequestDecision:
    """Return the decision about one CertificateSigningRequest.

    `account` is the user name of our ServiceAccount, `chassis` goes from the nodes that are hypervisors to their system ids. Requests of other accounts
    belong to other hypervisor clusters, and what is decided already is left alone.
    """
    name, spec = str(request["metadata"]["name"]), request["spec"]
    status = request.get("status") or {}
    conditions = {one["type"] for one in status.get("conditions") or ()}
    if spec.get("signerName") != CHASSIS_SIGNER or spec.get("username") != account:
        return RequestDecision(name, "ignore")
    if status.get("certificate") or conditions & {"Denied", "Failed"}:
        return RequestDecision(name, "ignore")
    nodes = list((spec.get("extra") or {}).get(NODE_EXTRA) or ())
    if len(nodes) != 1:
        return _deny(
            name,
            "the API server has not written down from which node its token is",
            "Tokens name their node from Kubernetes 1.30 on: update the cluster, or let nodes share a certificate",
        )
    node = nodes[0]
    if node not in chassis:
        return _deny(name, f"its node {node} is no hypervisor", "Give the node the labels of controller.nodeSelector")
    expected = chassis[node]
    problem = _problem(spec, expected)
    if problem:
        return _deny(
            name, f"{problem}, and node {node} is chassis {expected}", "Look at the pod of ovn-controller there"
        )
    return RequestDecision(name, "sign", expected)


def pem_of(request: Object) -> str:
    """Return the request in PEM; empty if it is not readable."""
    try:
        return base64.b64decode(request["spec"].get("request") or "", validate=True).decode()
    except (binascii.Error, ValueError):
        return ""


def _problem(spec: Object, expected: str) -> str:
    usages = sorted(spec.get("usages") or ())
    if usages != sorted(CHASSIS_USAGES):
        return f"its usages are {', '.join(usages) or 'not given'}, not {', '.join(CHASSIS_USAGES)}"
    pem = pem_of({"spec": spec})
    problems = request_problems(pem, expected, (), ("clientAuth",)) or list(filter(None, [key_problem(pem)]))
    return problems[0] if problems else ""


def _deny(name: str, cause: str, step: str) -> RequestDecision:
    return RequestDecision(name, "deny", reason=f"CertificateSigningRequest {name} was denied: {cause}. {step}.")

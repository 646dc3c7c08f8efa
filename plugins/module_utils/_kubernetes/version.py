# SPDX-License-Identifier: GPL-3.0-or-later
"""The oldest version of Kubernetes that understands what we apply."""

from __future__ import annotations

import re
import typing as t

from .._base.errors import OvnError, Refused

if t.TYPE_CHECKING:
    from .client import Cluster

# `quantity()` in the rules of the OVNCluster: an older API server refuses the definition.
OLDEST = (1, 29)
# What a request says of the node of its token (KEP-4193), and policies that can judge it (KEP-3488)
_TOKENS_NAME_NODES = (1, 30)
_NUMBERS = re.compile(r"v?(\d+)\.(\d+)")


def read_version(cluster: Cluster) -> str:
    """Return the version of the API server, like v1.34.4; an `OvnError` if it does not answer."""
    answer = cluster.connection.send("get", "/version", "read the version of the API server")
    version = answer.get("gitVersion") if isinstance(answer, dict) else None
    if not version:
        raise OvnError(
            f"Cannot read the version of {cluster.server}: it names none. Is it the address of an API server?"
        )
    return str(version)


def version_problem(version: str) -> str:
    """Return why this version cannot be used; empty if it can, or if it does not say what it is."""
    if not _is_older(version, OLDEST):
        return ""
    return f"It is Kubernetes {version}; the oldest version that understands the definitions is {oldest_version()}."


def _is_older(version: str, oldest: tuple[int, int]) -> bool:
    numbers = _NUMBERS.match(version)
    return numbers is not None and (int(numbers[1]), int(numbers[2])) < oldest


def tokens_name_nodes(cluster: Cluster) -> bool:
    """Return whether the API server knows from which node a token is, and has policies that can judge it."""
    return not _is_older(read_version(cluster), _TOKENS_NAME_NODES)


def check_tokens(cluster: Cluster) -> None:
    """Raise `Refused` if the API server does not know from which node a token is: then nobody could sign for the right one."""
    version = read_version(cluster)
    if _is_older(version, _TOKENS_NAME_NODES):
        raise Refused(
            f"API server {cluster.server} is Kubernetes {version}, which does not know from which node a request comes. With tls.nodeCertificates own it "
            "has to be 1.30 or newer: upgrade it, or let nodes share a certificate (ovn_node_certificates: shared). Nothing was changed."
        )


def oldest_version() -> str:
    return ".".join(map(str, OLDEST))


def check_version(cluster: Cluster) -> None:
    """Raise `Refused` if the API server is too old: its own refusal of a definition names no version."""
    problem = version_problem(read_version(cluster))
    if problem:
        raise Refused(
            f"API server {cluster.server} cannot be used: {problem[0].lower()}{problem[1:]} Upgrade it to Kubernetes {oldest_version()} or newer. "
            "Nothing was changed."
        )

# SPDX-License-Identifier: GPL-3.0-or-later
"""Addresses of members for clients outside the Kubernetes cluster: each is that of the node that carries the member, until the member moves. Pure."""

from __future__ import annotations

import typing as t

from .._base.ip_addresses import canonical, literal

Object = t.Mapping[str, t.Any]


def host_of_pod(pod: Object | None, *, ipv6: bool) -> str:
    """Return the address of the pod's node; empty without a node, or if it has none of this family."""
    status = (pod or {}).get("status") or {}
    addresses = [one.get("ip", "") for one in status.get("hostIPs") or ()] or [status.get("hostIP") or ""]
    return next((ip for ip in addresses if ip and (":" in ip) is ipv6), "")


def addresses_of_node(node: Object) -> dict[str, list[str]]:
    """Return the addresses in the status of a Node by their type, without what is no IP address."""
    found: dict[str, list[str]] = {}
    for one in (node.get("status") or {}).get("addresses") or ():
        if literal(one.get("address") or ""):
            found.setdefault(one.get("type") or "", []).append(canonical(one["address"]))
    return found


def split_endpoint(endpoint: str) -> tuple[str, str, str]:
    """Return scheme, host without brackets, and port."""
    scheme, _colon, place = endpoint.partition(":")
    host, _colon, port = place.rpartition(":")
    return scheme, host.strip("[]"), port


def follow(endpoints: str, members: t.Sequence[str], pods: t.Mapping[str, Object]) -> str:
    """Return the node ports of all members with the current node of each. Ports belong to Services, so they stay.

    So do names, which are those inside of a Kubernetes cluster: their ports are none of a node.
    """
    known = endpoints.split(",") if endpoints else []
    if len(known) != len(members):
        return endpoints  # only a run knows which of them have one
    return ",".join(_followed(endpoint, pods.get(member)) for endpoint, member in zip(known, members))


def _followed(endpoint: str, pod: Object | None) -> str:
    scheme, before, port = split_endpoint(endpoint)
    if not literal(before):
        return endpoint
    host = host_of_pod(pod, ipv6=":" in before) or before
    return f"{scheme}:{f'[{host}]' if ':' in host else host}:{port}"

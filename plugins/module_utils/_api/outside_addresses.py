# Copyright: (c) 2026, C5C3 contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""PRIVATE to the collection: may change at any time.

Addresses of members for clients outside the Kubernetes cluster: each is that of the node that carries the member, until the member moves. Pure.
"""

from __future__ import annotations

import ipaddress
import typing as t

Object = t.Mapping[str, t.Any]


def host_of_pod(pod: Object | None, *, ipv6: bool) -> str:
    """Return the address of the pod's node; empty without a node, or if it has none of this family."""
    status = (pod or {}).get("status") or {}
    addresses = [one.get("ip", "") for one in status.get("hostIPs") or ()] or [status.get("hostIP") or ""]
    return next((ip for ip in addresses if ip and (":" in ip) is ipv6), "")


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
    if not _is_address(before):
        return endpoint
    host = host_of_pod(pod, ipv6=":" in before) or before
    return f"{scheme}:{f'[{host}]' if ':' in host else host}:{port}"


def _is_address(host: str) -> bool:
    try:
        ipaddress.ip_address(host)
    except ValueError:
        return False
    return True

# SPDX-License-Identifier: GPL-3.0-or-later
"""What tasks have registered on several hosts, and what modules report. Pure."""

from __future__ import annotations

import typing as t

from .variables import Hostvars, Variables


def results_of_hosts(hosts: t.Iterable[str], hostvars: Hostvars, name: str) -> dict[str, Variables]:
    """Return the result that each host has registered as `name`, without hosts that have none or whose task failed, was skipped or unreachable."""
    found = {host: hostvars[host].get(name) for host in hosts}
    return {host: result for host, result in found.items() if result and not _has_ended_badly(result)}


def _has_ended_badly(result: Variables) -> bool:
    return any(result.get(state) for state in ("failed", "skipped", "unreachable")) or "msg" in result


def unread_hosts(hosts: t.Iterable[str], hostvars: Hostvars, name: str) -> list[str]:
    """Return a line, `HOST: not read: CAUSE`, for each host whose task failed, did not reach it, or did not run. A skipped task is none."""
    lines = []
    for host in hosts:
        result = hostvars[host].get(name)
        if result and result.get("skipped"):
            continue
        if not result:
            lines.append(f"{host}: not read: it does not take part in this run (--limit).")
        elif _has_ended_badly(result):
            lines.append(f"{host}: not read: {' '.join(str(result.get('msg') or 'no cause is known').split())}")
    return lines


def changed_objects(objects: t.Iterable[Variables]) -> list[str]:
    """Return a line for each object of a cluster that a module has changed."""
    return [f"{found['action']} {found['kind']} {found['name']}" for found in objects if found["action"] != "unchanged"]

# SPDX-License-Identifier: GPL-3.0-or-later
"""Variables whose templates are rendered when they are read. A variable of a host may name what only a later task finds, so none is read in vain."""

from __future__ import annotations

import typing as t

from .._base.errors import InvalidInput
from .option_types import plain
from .variables import Hostvars, Variables

# What tasks have registered on several hosts, and what modules report. Pure.


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


def _without_frame(value: t.Any) -> t.Any:
    """Return a result without the stack frame of its expired timeout, of which ansible-core 2.19 warns when it is rendered. Nobody reads it."""
    timed_out = value.get("timedout") if isinstance(value, t.Mapping) else None
    if not isinstance(timed_out, t.Mapping):
        return value
    return {**value, "timedout": {key: timed_out[key] for key in timed_out if key != "frame"}}


class RenderedVariables(t.Mapping[str, t.Any]):
    """The variables of one host as plain data. One that cannot be rendered is `InvalidInput` with its name and host."""

    def __init__(self, host: str, variables: Variables, render: t.Callable[[t.Any], t.Any]) -> None:
        self._host, self._variables, self._render = host, variables, render
        self._read: dict[str, t.Any] = {}

    def __getitem__(self, name: str) -> t.Any:
        if name not in self._variables:
            raise KeyError(name)
        if name not in self._read:
            try:
                self._read[name] = plain(self._render(_without_frame(self._variables[name])))
            except Exception as e:  # templates raise many classes, and each version of Ansible has others
                raise InvalidInput(
                    f"{name} of {self._host} cannot be rendered: {e}. Correct it in the inventory."
                ) from e
        return self._read[name]

    def __contains__(self, name: object) -> bool:
        return name in self._variables

    def __iter__(self) -> t.Iterator[str]:
        return iter(self._variables)

    def __len__(self) -> int:
        return len(self._variables)


class RenderedHosts(t.Mapping[str, Variables]):
    """`hostvars` of Ansible, with `variables_of` a host collected once."""

    def __init__(self, hostvars: Hostvars, variables_of: t.Callable[[str], RenderedVariables]) -> None:
        self._hostvars, self._variables_of = hostvars, variables_of
        self._read: dict[str, RenderedVariables] = {}

    def __getitem__(self, host: str) -> Variables:
        if host not in self._hostvars:
            raise KeyError(host)
        if host not in self._read:
            self._read[host] = self._variables_of(host)
        return self._read[host]

    def __contains__(self, host: object) -> bool:
        return host in self._hostvars

    def __iter__(self) -> t.Iterator[str]:
        return iter(self._hostvars)

    def __len__(self) -> int:
        return len(self._hostvars)

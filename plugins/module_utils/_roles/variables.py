# SPDX-License-Identifier: GPL-3.0-or-later
"""How variables of an inventory are read, whichever role they belong to. Pure. An empty text is an absent value.

Variables are any mapping; `hostvars` resolves a value when it is asked for, so nothing here goes through all of them.
"""

from __future__ import annotations

import typing as t

from ansible.module_utils.parsing.convert_bool import boolean

from .._base.errors import InvalidInput

Variables = t.Mapping[str, t.Any]
Hostvars = t.Mapping[str, Variables]
Groups = t.Mapping[str, t.Sequence[str]]

Backend = t.Literal["host", "kubernetes"]


class Overlaid(t.Mapping[str, t.Any]):
    """`hostvars` of Ansible resolve a value when it is asked for, so they are not copied."""

    def __init__(self, first: Variables, second: Variables) -> None:
        self._maps = (first, second)

    def __getitem__(self, name: str) -> t.Any:
        first, second = self._maps
        return first[name] if name in first else second[name]

    def __iter__(self) -> t.Iterator[str]:
        return iter({**self._maps[0], **self._maps[1]})

    def __len__(self) -> int:
        return len(list(iter(self)))


def first_value(variables: Variables, *names: str, default: t.Any = "") -> t.Any:
    """Return the value of the first of these variables that is not absent."""
    for name in names:
        value = variables.get(name)
        if value is not None and value != "":
            return value
    return default


def is_true(variables: Variables, *names: str, default: bool = False) -> bool:
    """Return whether the first of these variables that is not absent says yes, in any spelling of YAML or of the command line. Else it is `InvalidInput`."""
    value = first_value(variables, *names, default=default)
    try:
        return bool(boolean(value))
    except TypeError as e:
        raise InvalidInput(f'{" or ".join(names)} is "{str(value)[:200]}". Give true or false.') from e


def members_of(groups: Groups, name: str) -> list[str]:
    """Return the hosts of a group, none if there is no such group."""
    return list(groups.get(name) or ())


def backend_of(variables: Variables) -> Backend:
    """Return where the parts of a host run: on the machine itself, or in the Kubernetes cluster that the host stands for."""
    return "kubernetes" if first_value(variables, "ovn_backend") == "kubernetes" else "host"


def hosts_by_backend(hosts: t.Iterable[str], hostvars: Hostvars) -> dict[Backend, list[str]]:
    """Return the hosts of each backend, in their order."""
    found: dict[Backend, list[str]] = {"host": [], "kubernetes": []}
    for host in hosts:
        found[backend_of(hostvars[host])].append(host)
    return found

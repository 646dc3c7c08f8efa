# SPDX-License-Identifier: GPL-3.0-or-later
"""The role ovn_neutron: where the control node asks the databases before the pods of Neutron get anything, and why it does not. Pure."""

from __future__ import annotations

import typing as t

from .._base.databases import DATABASES, TITLES, Database
from .._base.inventory import as_list

# What the cluster of a control plane says of its endpoints for clients outside, the best first
OUTSIDE: dict[Database, tuple[str, ...]] = {
    "northbound": ("northbound",),
    "southbound": ("southbound_unrestricted", "southbound"),
}

Endpoints = t.Mapping[Database, t.Sequence[str]]


def members_to_ask(
    endpoints: Endpoints, declared: Endpoints, answer: t.Mapping[str, str], *, inside: bool
) -> dict[Database, list[str]]:
    """Return those for clients outside, if there are some, without the ports of chassis, where relays answer.

    `endpoints` are all that Neutron gets, `declared` those that its options give, `answer` what the cluster of the control plane has answered.
    """
    found: dict[Database, list[str]] = {}
    for database in DATABASES:
        name = OUTSIDE[database][0]
        if declared[database]:
            found[database] = [] if inside else list(endpoints[database])
        elif answer:
            is_outside = answer.get(name) != answer.get(f"{name}_inside")
            found[database] = as_list(answer.get(name) or "") if is_outside else []
        else:  # those of machines are inside of no cluster
            found[database] = list(endpoints[database])
    return found


def unasked_warnings(
    host: str,
    endpoints: Endpoints,
    declared: Endpoints,
    asked: t.Mapping[Database, t.Sequence[str]],
    options: t.Mapping[Database, str],
) -> list[str]:
    """Return one for each cause; none for a database without any endpoint, which check mode comes to before the first run. `options` declare endpoints."""
    unasked = [database for database, members in asked.items() if endpoints[database] and not members]
    given = [database for database in unasked if declared[database]]
    others = [database for database in unasked if not declared[database]]
    names = " and ".join(options[database] for database in given)
    return [
        f"Nobody could ask {_titles(databases)} of {host} first: {cause}. See in the log of Neutron that it connects."
        for databases, cause in (
            (given, f"with ovn_neutron_inside_cluster, {names} are addresses inside of its cluster"),
            (others, "no member has a port without a role for clients outside of its cluster"),
        )
        if databases
    ]


def _titles(databases: t.Sequence[Database]) -> str:
    names = " and the ".join(TITLES[database] for database in databases)
    return f"the {names} database{'s' if len(databases) > 1 else ''}"


def unanswered_problem(host: str, asker: str, causes: t.Sequence[str], advice: str) -> str:
    """Return why Neutron gets nothing: the databases did not answer."""
    return (
        f"The databases did not answer {asker} with the certificate for Neutron of {host}: {' '.join(causes)} {advice}"
    )

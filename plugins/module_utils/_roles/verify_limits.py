# SPDX-License-Identifier: GPL-3.0-or-later
"""How long the role ovn_verify lets a central host take. Pure.

A host that does not end the first call within ovn_verify_host_timeout counts as dead. So what may take long gets in it what the connection and the answers of
daemons leave of that time, and what needs more is asked a second time: a dead host costs one limit, and a large database is no dead host.
"""

from __future__ import annotations

import dataclasses
import typing as t

from .._base.errors import InvalidInput
from .variables import Variables, first_value

_LEAST_SECONDS = 1.0  # enough to read most databases, whatever the limits are


@dataclasses.dataclass(frozen=True)
class VerifyLimits:
    """Seconds of one call: for a northd to connect, for the contents of each database, and for the host to answer, the connection included."""

    northd: float
    contents: float
    host: int


class CallLimits(t.NamedTuple):
    first: VerifyLimits
    again: VerifyLimits


def _seconds(variables: Variables, name: str, default: float) -> float:
    value = first_value(variables, name, default=default)
    try:
        return float(value)
    except (TypeError, ValueError) as e:
        raise InvalidInput(f'{name} is "{str(value)[:200]}". Give a number of seconds.') from e


def limits_of(variables: Variables) -> CallLimits:
    """Return the limits of both calls. The second one awaits northd only if that may take longer than in the first.

    `connection_timeout` among the variables is that of Ansible's connections.
    """
    host = _seconds(variables, "ovn_verify_host_timeout", 20)
    answers = _seconds(variables, "ovn_verify_timeout", 5)
    connection = _seconds(variables, "connection_timeout", 10)
    waits = first_value(variables, "ovn_verify_wait_for", default="hv") != "none"
    northd = _seconds(variables, "ovn_verify_northd_timeout", 30) if waits else 0.0
    contents = _seconds(variables, "ovn_verify_contents_timeout", 60)
    left = max(_LEAST_SECONDS, host - answers - connection)
    first = VerifyLimits(min(northd, left), min(contents, left), int(host))
    return CallLimits(
        first, VerifyLimits(northd if northd > first.northd else 0.0, contents, int(host + max(northd, contents)))
    )

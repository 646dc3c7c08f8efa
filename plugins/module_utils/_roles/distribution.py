# SPDX-License-Identifier: GPL-3.0-or-later
"""Where the sockets of a central machine are, for the roles that ask its daemons. Pure."""

from __future__ import annotations

import typing as t

from .._base.databases import STEMS, Database
from .._machine.distributions import distribution_data
from .variables import Variables, first_value


def run_directory_of(variables: Variables) -> str:
    """Return the directory with the sockets. Every distribution that is known has the same one, so the host does not have to be asked what it is."""
    given = first_value(variables, "ovn_central_distribution", default={})
    return t.cast("str", distribution_data("central", given, {}, "")["run_directory"])


def socket_of(variables: Variables, database: Database) -> str:
    """Return the endpoint at which the server of this database listens on its own host."""
    return f"unix:{run_directory_of(variables)}/{STEMS[database]}.sock"

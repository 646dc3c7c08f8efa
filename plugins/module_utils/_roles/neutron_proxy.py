# SPDX-License-Identifier: GPL-3.0-or-later
"""The leader proxy of a Neutron that runs: whether it may end, or move. Pure."""

from __future__ import annotations

import typing as t

from .._base.databases import DATABASES
from .._machine.systemd_units import declared_environment
from .neutron import PREFIX, NeutronOptions
from .options import read_options
from .variables import Variables


def proxy_problem(unit: str, given: Variables, desired: t.Mapping[str, t.Any]) -> str:
    """Return why the leader proxy has to stay where it is, empty if it need not: nobody would restart Neutron, which would have no database.

    `unit` is the text of its unit file, empty without one, `desired` the value of `desired_neutron`.
    """
    options = read_options(NeutronOptions, given, PREFIX)
    present = _listening({name: one.partition("=")[2] for name, one in declared_environment(unit).items()})
    future = _listening(desired["proxy"].get("environment", {}))
    if not present or present == future or not desired["endpoints"]["northbound"]:
        return ""
    if desired["service_units"] or options.restart_by_hand:
        return ""
    change = f"moves it to {' and '.join(future)}" if future else "ends it"
    return (
        f"Neutron of {options.host} reaches the databases by its leader proxy at {' and '.join(present)}. This run {change} and restarts nothing of Neutron, "
        f"which would have neither database. Nothing was changed. Name the units in {PREFIX}services, or, if you restart Neutron right after the run, set "
        f"{PREFIX}restart_by_hand to true, then run again."
    )


def _listening(environment: t.Mapping[str, str]) -> list[str]:
    places = (environment.get(f"OVN_{name.upper()}_LISTEN", "") for name in DATABASES)
    return [place.partition(":")[2] for place in places if place]

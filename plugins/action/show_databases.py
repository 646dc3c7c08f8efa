# SPDX-License-Identifier: GPL-3.0-or-later
"""Read the Northbound and the Southbound database, and print them and Open vSwitch of the hypervisors, or what a query selects."""

from __future__ import annotations

import typing as t

from ..module_utils._base.databases import DATABASES
from ..module_utils._base.errors import Refused
from ..module_utils._base.query import run_query, text_or_data
from ..module_utils._report.show import QUESTIONS, show_lines
from ..module_utils._roles.option_types import Specification
from ..module_utils._roles.rendered import results_of_hosts, unread_hosts
from ..module_utils._roles.variables import first_value, members_of
from ..plugin_utils._overview_action import OverviewAction, run_directory
from ..plugin_utils._progress import print_lines

_SWITCH = "ovn_show_open_vswitch"


class ActionModule(OverviewAction):
    """Without a central host in the run only Open vSwitch is printed."""

    ARGUMENTS: t.ClassVar[Specification] = {
        **OverviewAction.ARGUMENTS,
        "database": {"type": "str", "choices": list(DATABASES)},
    }

    def _plan(self) -> dict[str, t.Any]:
        places: dict[str, t.Any] = {database: self.place(f"ovn_show_{database}_member") for database in DATABASES}
        reads = bool(self.asked_hosts("ovn_show_northbound_member"))
        silent = [database for database in DATABASES if places[database]["host"] == "localhost"]
        if reads and silent:
            raise Refused(
                f"No member of the {silent[0].capitalize()} database can answer; each said why, see above. "
                "Run c5c3.ovn.status, which says what is wrong with the cluster."
            )
        return {"reads": reads, **places}

    def _read(self) -> dict[str, t.Any]:
        database = self.arguments["database"]
        host = self.variables["ovn_show_plan"][database]["host"]
        return self.read_rows(
            host,
            database=database,
            endpoints=first_value(self.hostvars[host], f"ovn_show_{database}_endpoints") or None,
            run_directory=run_directory(self.hostvars[host]),
            **QUESTIONS[database],
        )

    def _report(self) -> dict[str, t.Any]:
        reads = self.variables["ovn_show_plan"]["reads"]
        databases = {name: self.variables[f"ovn_show_{name}"] if reads else {} for name in DATABASES}
        hypervisors = members_of(self.groups, "ovn_hypervisors")
        switches = results_of_hosts(hypervisors, self.hostvars, _SWITCH)
        if query := str(first_value(self.variables, "ovn_query")):
            selected = run_query(query, {**databases, "open_vswitch": switches})
            if text_or_data(selected) == "data":
                return {"selected": selected}
            lines = selected.splitlines() if isinstance(selected, str) else list(selected)
        else:
            lines = [line for rows in databases.values() if reads for line in show_lines(rows)]
            for host, rows in switches.items():
                lines += [f"{host}:", *show_lines(rows)]
            central = [] if reads else members_of(self.groups, "ovn_central")
            lines += unread_hosts(central, self.hostvars, "ovn_show_northbound_member")
            lines += unread_hosts(hypervisors, self.hostvars, _SWITCH)
        print_lines("\n".join(lines))
        return {"lines": lines}

# SPDX-License-Identifier: GPL-3.0-or-later
"""Read the Northbound database, and print whose rows are whose."""

from __future__ import annotations

import typing as t

from ..module_utils._base.errors import Refused
from ..module_utils._report.census_report import census_lines
from ..module_utils._report.census_rows import COLUMNS
from ..module_utils._roles.endpoints import tls_files_of
from ..module_utils._roles.variables import first_value, is_true, members_of
from ..plugin_utils._overview_action import OverviewAction
from ..plugin_utils._progress import print_lines

_MEMBER = "ovn_census_member"


class ActionModule(OverviewAction):
    """The member that is read is the one that has answered, by the endpoint at which it did."""

    def _plan(self) -> dict[str, t.Any]:
        place = self.place(_MEMBER)
        if place["host"] != "localhost":
            return place
        raise Refused(
            "No member of the Northbound database can answer; "
            + (
                "each said why, see above. Run c5c3.ovn.status, which says what is wrong with the cluster."
                if self.asked_hosts(_MEMBER)
                else "no host of the group ovn_central takes part in this run. Add one, with ovn_census_northbound_endpoints for an OVN that is not ours, "
                "or change --limit."
            )
        )

    def _read(self) -> dict[str, t.Any]:
        host = self.variables["ovn_census_plan"]["host"]
        variables = self.hostvars[host]
        endpoint = str(variables[_MEMBER].get("endpoint") or "")  # of a cluster none
        files = {
            option: first_value(variables, f"ovn_census_{option}", default=file)
            for option, file in tls_files_of(variables).items()
            if endpoint.startswith("ssl:")
        }
        return self.read_rows(
            host,
            database="northbound",
            endpoints=endpoint or None,
            tables=list(COLUMNS),
            columns=dict(COLUMNS),
            timeout=60,
            **files,
        )

    def _report(self) -> dict[str, t.Any]:
        variables = self.hostvars[self.variables["ovn_census_plan"]["host"]]
        # Neutron's hosts may have it, or all hosts.
        hosts = [*members_of(self.groups, "ovn_controllers"), "localhost"]
        modes = [self.hostvars[host].get("ovn_neutron_sync_mode") for host in hosts]
        lines = census_lines(
            self.variables["ovn_census_northbound"],
            [mode for number, mode in enumerate(modes) if mode is not None and mode not in modes[:number]],
            operated=is_true(variables, "ovn_central_managed", default=True)
            and not first_value(variables, "ovn_census_northbound_endpoints"),
            rows=is_true(self.variables, "ovn_census_rows"),
        )
        print_lines("\n".join(lines))
        return {"lines": lines}

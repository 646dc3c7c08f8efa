# SPDX-License-Identifier: GPL-3.0-or-later
"""Read the host of a Neutron, and refuse what forbids it to become a client of OVN, before anything is changed."""

from __future__ import annotations

import os
import typing as t

from ..module_utils._base.errors import Refused
from ..module_utils._roles.neutron import (
    DesiredNeutron,
    NeutronOptions,
    central_cluster,
    endpoint_problem,
    helm_problem,
    leader_proxy_problem,
    missing_files_problem,
)
from ..module_utils._roles.neutron_proxy import UNIT_FILE
from ..module_utils._roles.variables import members_of
from ..plugin_utils._neutron_action import NeutronAction


class ActionModule(NeutronAction):
    def step(self) -> dict[str, t.Any]:
        options = self.options(NeutronOptions)
        neutron = self.desired(options)
        # In check mode the control plane may still be missing.
        may_follow = self.check_mode and central_cluster(self.hostvars, self.groups)
        files = self.issued_files(options)
        missing = (
            [] if self.is_certificate_due(files) else [path for path in files.values() if not os.path.isfile(path)]
        )
        controllers = members_of(self.groups, "ovn_controllers")
        problems = [
            *neutron.problems,
            "" if may_follow else endpoint_problem(self.host, neutron.endpoints),
            missing_files_problem(self.host, missing),
            helm_problem(self.hostvars, controllers, self.host, options.helm_file or ""),
        ]
        warnings = list(neutron.warnings)
        if options.on_machine and not any(problems):
            found = self._read_machine(options, neutron)
            problems += found["problems"]
            warnings += found["warnings"]
        if any(problems):
            raise Refused("\n".join(filter(None, problems)), warnings=warnings)
        return {"warnings": warnings}

    def _read_machine(self, options: NeutronOptions, neutron: DesiredNeutron) -> dict[str, t.Any]:
        """Return what forbids the run; what Neutron reads after the file of this role counts more."""
        unit_file = self.variables.get("_ovn_neutron_proxy_unit_file") or UNIT_FILE  # tests replace it
        question = {
            "services": [unit["name"] for unit in neutron.service_units],
            "config_file": options.config_file,
            "config": neutron.config,
        }
        asked = question if neutron.service_units else None
        found = self.call("c5c3.ovn.ovn_host_info", files=[unit_file], neutron=asked)
        read = found.get("neutron") or {"problem": "", "warnings": []}
        proxy = leader_proxy_problem(self.host, options, neutron, found["files"].get(unit_file) or "")
        return {"problems": [read["problem"], proxy], "warnings": read["warnings"]}

# SPDX-License-Identifier: GPL-3.0-or-later
"""Run the leader proxy and the services of Neutron on a machine with their settings."""

from __future__ import annotations

import os
import time
import typing as t

from ..module_utils._base.databases import DATABASES
from ..module_utils._base.errors import OvnError
from ..module_utils._roles.central_observer import PROGRAM
from ..module_utils._roles.neutron import DesiredNeutron, NeutronOptions
from ..module_utils._roles.neutron_proxy import DesiredLeaderProxy, proxy_units, service_files
from ..plugin_utils._neutron_action import NeutronAction

_GLOBALS = {"northbound": "NB_Global", "southbound": "SB_Global"}
_ATTEMPTS = 6


class ActionModule(NeutronAction):
    def step(self) -> dict[str, t.Any]:
        options = self.options(NeutronOptions)
        neutron = self.desired(options)
        results = self._run_proxy(neutron.proxy, neutron.files) if neutron.proxy else []
        written = self._write_config(options, neutron)
        if neutron.service_units:
            names = [unit["name"] for unit in neutron.service_units]
            files = service_files(names, neutron.config, has_secret=neutron.has_secret)
            results.append(self.call("c5c3.ovn.ovn_units", files=files, units=neutron.service_units))
        # In this order: Neutron has to have other addresses before what listens at the former ones ends.
        if not neutron.proxy and neutron.endpoints["northbound"]:
            results.append(self.call("c5c3.ovn.ovn_units", **proxy_units(None)))
        return {
            "changed": any(one["changed"] for one in (*written, *results)),
            "actions": [
                *([f"write {options.config_file}"] if written[-1]["changed"] else []),
                *(action for one in results for action in one.get("actions", ())),
            ],
            "diff": [diff for one in (*written, *results) for diff in _diffs(one)],
            "warnings": _restart_warnings(self.host, options) if written[-1]["changed"] else [],
        }

    def _run_proxy(self, proxy: DesiredLeaderProxy, files: t.Mapping[str, str]) -> list[dict[str, t.Any]]:
        """Install and start the proxy, and check that Neutron gets through it."""
        results = [
            self.call("c5c3.ovn.ovn_program", path=PROGRAM),
            self.call("c5c3.ovn.ovn_units", **proxy_units(proxy)),
        ]
        for database in DATABASES if not self.check_mode else ():
            for attempt in range(1, _ATTEMPTS + 1):  # it has just started
                try:
                    self.call(
                        "c5c3.ovn.ovn_database_info",
                        database=database,
                        endpoints=proxy.endpoints[database],
                        tables=[_GLOBALS[database]],
                        columns=[],
                        **files,
                    )
                    break
                except OvnError:
                    if attempt == _ATTEMPTS:
                        raise
                    time.sleep(1)
        return results

    def _write_config(self, options: NeutronOptions, neutron: DesiredNeutron) -> list[dict[str, t.Any]]:
        """Write the file, and its directory; one that is there is somebody else's."""
        directory = os.path.dirname(options.config_file)
        owned = {"owner": "root", "group": options.neutron_group}
        results = []
        if not self.call("ansible.builtin.stat", path=directory)["stat"]["exists"]:
            results.append(self.call("ansible.builtin.file", path=directory, state="directory", mode="0750", **owned))
        written = self.write_file(options.config_file, neutron.config, hidden=neutron.has_secret, mode="0640", **owned)
        return [*results, written]


def _diffs(result: dict[str, t.Any]) -> list[t.Any]:
    diff = result.get("diff") or []
    return diff if isinstance(diff, list) else [diff]


def _restart_warnings(host: str, options: NeutronOptions) -> list[str]:
    if options.services:
        return []
    return [
        f"The settings of Neutron on {host} change, and ovn_neutron_services names nothing to restart: Neutron goes on with the former ones until somebody "
        f"restarts what reads {options.config_file}."
    ]

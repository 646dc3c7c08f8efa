# SPDX-License-Identifier: GPL-3.0-or-later
"""Delete the rows of a dead machine from the Southbound database, on a central host."""

from __future__ import annotations

import typing as t

from ..module_utils._base.errors import Refused
from ..module_utils._roles.hypervisor_check import HypervisorOptions, alive_problem, desired_machine
from ..module_utils._roles.variables import first_value
from ..plugin_utils._hypervisor_action import HypervisorAction
from ..plugin_utils._progress import print_while_waiting


class ActionModule(HypervisorAction):
    """The task is delegated to the central host, or to the control node if that is a Kubernetes cluster: the machine itself is not contacted."""

    def step(self) -> dict[str, t.Any]:
        options = self.options(HypervisorOptions)
        chassis = desired_machine(self.host, options, self.variables, self.hostvars, self.groups).chassis
        central = self.control_plane()
        place = self._cluster(central["host"]) if central["is_cluster"] else _sockets(central)
        with print_while_waiting(
            f"chassis {chassis.system_id}, which is to be deleted, to register again or stay away", self._task_vars
        ):
            found = self.call(
                "c5c3.ovn.ovn_chassis_rows",
                system_id=chassis.system_id,
                hostname=chassis.hostname or self.host,
                addresses=chassis.encapsulation_ips,
                **place,
            )
        result = {name: value for name, value in found.items() if name != "invocation"}
        if found["came_back"]:
            raise Refused(alive_problem(self.host, chassis.system_id), **result)
        return result

    def _cluster(self, central: str) -> dict[str, t.Any]:
        variables = self.hostvars[central]
        return {
            "kubeconfig": first_value(variables, "ovn_kubeconfig", default=None),
            "context": first_value(variables, "ovn_context", default=None),
            "namespace": first_value(variables, "ovn_namespace", default="ovn-system"),
            "cluster": first_value(variables, "ovn_cluster_name", default="ovn"),
        }


def _sockets(central: t.Mapping[str, t.Any]) -> dict[str, t.Any]:
    return {"southbound": [central["southbound_socket"]], "northbound": [central["northbound_socket"]]}

# SPDX-License-Identifier: GPL-3.0-or-later
"""Roll out the chassis of a Kubernetes cluster, or remove them."""

from __future__ import annotations

import typing as t

from ..module_utils._roles.rendered import changed_objects
from ..plugin_utils._hypervisor_action import HypervisorAction
from ..plugin_utils._progress import PrintsProgress, print_lines


class ActionModule(PrintsProgress, HypervisorAction):
    """One host is a whole cluster, and one call is all of it. A new node needs no run: its pods start with its label."""

    def step(self) -> dict[str, t.Any]:
        options, desired = self.desired_hypervisors()
        present = options.state == "present"
        southbound = self.variables["ovn_hypervisor_central"]["southbound"]
        if self.check_mode and present and not southbound:
            msg = f"The control plane has no Southbound endpoints yet, so check mode cannot look further. {self.host} would be set up after it."
            print_lines(msg)
            return {"changed": True, "msg": msg}
        signer = self.node_signer(needed=present and not self.check_mode) if desired.signs else None
        with self.printed_progress(self._task_vars):
            found = self.call_cluster(
                "c5c3.ovn.ovn_hypervisors",
                namespace=options.namespace,
                name=options.cluster_name,
                state=options.state,
                spec=desired.spec,
                southbound=southbound,
                northbound=self.variables["ovn_hypervisor_central"]["northbound"],
                tls_secret=desired.tls_secret if options.tls else None,
                signer=signer,
                break_lock=options.break_lock,
                force_conflicts=options.force_conflicts,
                wait_timeout=options.wait_timeout,
            )
        lines = [*found.get("steps", []), *changed_objects(found.get("objects", []))]
        if lines:
            print_lines("\n".join([f"{self.host}:", *lines]))
        return {name: value for name, value in found.items() if name != "invocation"}

# SPDX-License-Identifier: GPL-3.0-or-later
"""Check the inventory and the scope of the run before anything is done, and read the OVNCluster that another client applies."""

from __future__ import annotations

import contextlib
import pathlib
import typing as t

from ansible.module_utils.common.yaml import yaml_load
from ansible.plugins.loader import filter_loader

from ..module_utils._base.errors import OvnError, Refused
from ..module_utils._base.inventory import as_list
from ..module_utils._base.query import check_query
from ..module_utils._report.findings import acknowledge_problem
from ..module_utils._roles.cluster_source import find_source, source_problem
from ..module_utils._roles.inventory_check import Needs, inventory_problems, limit_of_run
from ..module_utils._roles.option_types import Specification
from ..module_utils._roles.shared_variables import SPECIFICATION as SHARED
from ..module_utils._roles.variables import first_value, hosts_by_backend, members_of
from ..plugin_utils._role_action import RoleAction

_ROLES = pathlib.Path(__file__).resolve().parents[2] / "roles"
# Ansible loads all filters of a collection for one of them, half a second of a processor, and forgets them with the process of a task and a host. This file is
# read before the processes begin, so those of the whole run have the filters.
with contextlib.suppress(KeyError):  # where no collection is loaded, as in a sanity test
    filter_loader.get("c5c3.ovn.query")


class ActionModule(RoleAction):
    ROLE = "ovn_verify"
    ARGUMENTS: t.ClassVar[Specification] = {
        "known_tags": {"type": "list", "elements": "str"},
        "report_required": {"type": "bool"},
        "changes_central": {"type": "bool", "default": False},
        "hypervisors_required": {"type": "bool", "default": False},
        "controllers_required": {"type": "bool", "default": False},
        "localhost_required": {"type": "bool", "default": False},
    }

    def step(self) -> dict[str, t.Any]:
        needs = Needs(**self.arguments)
        source = find_source(self.hostvars, self.groups, str(self.variables.get("ovn_cluster_from") or ""))
        problems = [
            *inventory_problems(needs, self.hostvars, self.groups, self.variables, _specification()),
            source["problem"],
            acknowledge_problem(as_list(first_value(self.variables, "ovn_verify_acknowledge"))),
            self._query_problem(),
        ]
        if found := [problem for problem in problems if problem]:
            raise Refused(f"{' '.join(found)} Nothing was done.")
        read = self._read_resource(source, only_looks=bool(needs.report_required)) if source["reads"] else {}
        return {**read, **self._note(needs)}

    def _query_problem(self) -> str:
        try:
            if query := str(first_value(self.variables, "ovn_query")):
                check_query(query)
        except OvnError as e:
            return str(e)
        return ""

    def _note(self, needs: Needs) -> dict[str, t.Any]:
        """Say that no report is made; where localhost takes part, it says so itself, at the end."""
        if needs.report_required is not False or "localhost" in self.variables["ansible_play_hosts_all"]:
            return {}
        note = limit_of_run(needs, members_of(self.groups, "ovn_central"), self.variables)["note"]
        return {"msg": note, "_ansible_verbose_always": True} if note else {}

    def _read_resource(self, source: t.Mapping[str, t.Any], *, only_looks: bool) -> dict[str, t.Any]:
        """Return the OVNCluster and for which hosts it is recorded. A run that only looks goes on without it: the report says what cannot be read."""
        place = self.hostvars[source["host"]]
        try:
            answer = self.call(
                "c5c3.ovn.ovn_cluster_info",
                kubeconfig=place.get("ovn_kubeconfig") or None,
                context=place.get("ovn_context") or None,
                namespace=source["namespace"],
                name=source["name"],
                endpoints=False,
            )
        except OvnError as e:
            answer = e.as_result()
        problem = source_problem(self.hostvars, self.groups, source["host"], answer)
        if problem and not only_looks:
            raise Refused(f"{problem} Nothing was done.")
        if not answer.get("exists"):
            return {}
        metadata = answer["cluster"]["metadata"]
        resource = {name: metadata[name] for name in ("name", "namespace", "uid", "generation")}
        hosts = [*members_of(self.groups, "ovn_central"), *members_of(self.groups, "ovn_hypervisors")]
        # Those of the run, and clusters outside of a --limit: roles read the specification in their variables.
        recorded = [*self.variables["ansible_play_hosts_all"], *hosts_by_backend(hosts, self.hostvars)["kubernetes"]]
        return {
            "resource": {**resource, "spec": answer["cluster"].get("spec") or {}},
            "hosts": list(dict.fromkeys(recorded)),
        }


def _specification() -> Specification:
    """Return what is declared of the shared variables and of the options of all roles."""
    options: dict[str, t.Any] = {**SHARED}
    for path in _ROLES.glob("*/meta/argument_specs.yml"):
        options.update(yaml_load(path.read_bytes())["argument_specs"]["main"].get("options") or {})
    return options

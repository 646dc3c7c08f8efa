# SPDX-License-Identifier: GPL-3.0-or-later
"""The base of the steps of playbooks that read a database once, from a central host whose member has answered, and print what is in it."""

from __future__ import annotations

import abc
import typing as t

import ansible.constants as C

from ..module_utils._roles.option_types import Specification
from ..module_utils._roles.rendered import results_of_hosts
from ..module_utils._roles.variables import Variables, first_value, hosts_by_backend, members_of
from ._role_action import RoleAction


class OverviewAction(RoleAction, abc.ABC):
    """`plan` says where a database is read, `read` reads it in a task that is delegated there, and `report` prints it on localhost."""

    ROLE = "ovn_verify"
    ARGUMENTS: t.ClassVar[Specification] = {
        "phase": {"type": "str", "choices": ["plan", "read", "report"], "required": True},
    }

    def step(self) -> dict[str, t.Any]:
        phases = {"plan": self._plan, "read": self._read, "report": self._report}
        return phases[self.arguments["phase"]]()

    @abc.abstractmethod
    def _plan(self) -> dict[str, t.Any]:
        """Return where each database is read; `Refused` if no member can answer."""

    @abc.abstractmethod
    def _read(self) -> dict[str, t.Any]:
        """Return the rows."""

    @abc.abstractmethod
    def _report(self) -> dict[str, t.Any]:
        """Print the rows, and return the lines."""

    def asked_hosts(self, registered: str) -> list[str]:
        """Return the central hosts that were asked in this run: --limit may leave hosts out."""
        return [host for host in members_of(self.groups, "ovn_central") if registered in self.hostvars[host]]

    def place(self, registered: str) -> dict[str, t.Any]:
        """Return the host on which a database is read, and how the task gets there; localhost if none can answer. A Kubernetes cluster is asked by commands
        in pods, with the Python of the control node, which has the library for it.
        """
        asked = self.asked_hosts(registered)
        clusters = hosts_by_backend(asked, self.hostvars)["kubernetes"]
        host = next(iter([*clusters, *results_of_hosts(asked, self.hostvars, registered)]), "localhost")
        variables = self.hostvars[host]
        default = (
            self.variables["ansible_playbook_python"]
            if clusters
            else C.config.get_config_value("INTERPRETER_PYTHON", variables=variables)
        )
        return {
            "host": host,
            "become": not clusters,
            "interpreter": str(first_value(variables, "ansible_python_interpreter", default=default)),
        }

    def read_rows(self, host: str, **question: t.Any) -> dict[str, t.Any]:
        """Return the result of ovn_database_info on the host of the task, which is `host`, or for the Kubernetes cluster that it stands for."""
        variables = self.hostvars[host]
        place: dict[str, t.Any] = {}
        if hosts_by_backend([host], self.hostvars)["kubernetes"]:
            place = {
                "cluster": first_value(variables, "ovn_cluster_name", default="ovn"),
                **{
                    name: first_value(variables, f"ovn_{name}") or None
                    for name in ("namespace", "kubeconfig", "context")
                },
            }
        return self.call("c5c3.ovn.ovn_database_info", **question, **place)


def run_directory(variables: Variables) -> str | None:
    """Return where the daemons of a host have their sockets, None for the module's default."""
    return (variables.get("ovn_central_distribution") or {}).get("run_directory") or None

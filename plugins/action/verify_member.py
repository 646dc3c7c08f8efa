# SPDX-License-Identifier: GPL-3.0-or-later
"""Read the state of the members on a central host, of northd, versions and certificates, and what a first call could not tell."""

from __future__ import annotations

import typing as t

import ansible.constants as C

from ..module_utils._base.errors import OvnError
from ..module_utils._report.databases import what_to_ask_again
from ..module_utils._roles.option_types import Specification
from ..module_utils._roles.variables import first_value, is_true
from ..module_utils._roles.verify import CONNECTS, CallLimits, MemberOptions, VerifyLimits, limits_of
from ..plugin_utils._progress import print_while_waiting
from ..plugin_utils._verify_action import VerifyAction
from .ovn_central_info import awaited


class ActionModule(VerifyAction):
    """Everything in one call: a host that is dead costs one time limit. A call that fails is a result as well, of which the report tells."""

    ARGUMENTS: t.ClassVar[Specification] = {"again": {"type": "bool", "default": False}}

    def step(self) -> dict[str, t.Any]:
        options, desired = self.options(MemberOptions, alone=True), self.desired()
        limits = limits_of(options, C.config.get_config_value("DEFAULT_TIMEOUT"))
        if self.is_cluster():
            return self._ask(self._cluster(options, desired, limits))
        if not self.arguments["again"]:
            return {**self._ask(self._first(options, desired, limits.first)), "again_timeout": limits.again.host}
        asked = self._again(desired, limits.again)
        return self._ask(asked) if asked else {"skipped": True}

    def _ask(self, asked: dict[str, t.Any]) -> dict[str, t.Any]:
        try:
            with print_while_waiting(awaited(asked), self._task_vars):
                return self.call("c5c3.ovn.ovn_central_info", **asked)
        except OvnError as e:
            return e.as_result()

    def _first(self, options: MemberOptions, desired: t.Mapping[str, t.Any], limits: VerifyLimits) -> dict[str, t.Any]:
        addresses = desired["northbound_endpoints"] + desired["southbound_endpoints"]
        return {
            **self._connection_options(desired, limits),
            "endpoints": desired["own_endpoints"],
            "addresses": addresses if is_true(self.variables, CONNECTS, default=True) else [],
            "wait_timeout": limits.northd,
            "record_directory": first_value(self.variables, "ovn_central_config_directory", default="/etc/c5c3-ovn"),
            "raft": {
                **self._raft(desired),
                **({"expected_members": desired["members"]} if desired["members"] else {}),
                "contents": options.contents,
                "contents_timeout": limits.contents,
            },
        }

    def _again(self, desired: t.Mapping[str, t.Any], limits: VerifyLimits) -> dict[str, t.Any]:
        """Return what is asked a second time, on all hosts at the same time; nothing if the first call has told everything.

        What was written meanwhile changed the log index of the members that were read later, and what takes long has its time now.
        """
        infos = [self.hostvars[host].get("ovn_verify_info") or {} for host in self.variables["ansible_play_hosts"]]
        again = what_to_ask_again(infos, awaits_northd=limits.northd > 0)
        if not again["needed"]:
            return {}
        return {
            **self._connection_options(desired, limits),
            "wait_timeout": limits.northd,
            "raft": {
                **self._raft(desired),
                "databases": again["databases"],
                "contents": True,
                "contents_timeout": limits.contents,
            },
        }

    def _connection_options(self, desired: t.Mapping[str, t.Any], limits: VerifyLimits) -> dict[str, t.Any]:
        return {"run_directory": desired["run_directory"], **desired["files"], "timeout": limits.answers}

    def _raft(self, desired: t.Mapping[str, t.Any]) -> dict[str, t.Any]:
        endpoints = desired["raft_endpoints"]
        return {
            "member": self.host,
            **({"endpoints": endpoints} if endpoints else {}),
            "only_endpoints": desired["only_endpoints"],
        }

    def _cluster(self, options: MemberOptions, desired: t.Mapping[str, t.Any], limits: CallLimits) -> dict[str, t.Any]:
        """Return what a whole control plane is asked: every member and northd by a command in its pod. The heartbeat goes from the control node through the
        ports that hypervisors use: what works here, works for them.
        """
        heartbeat = {
            "northbound": desired["northbound_endpoints"],
            "southbound": desired["southbound_endpoints"],
            "wait_for": desired["wait_for"],
            "timeout": options.timeout,
        }
        found = self.variables.get("ovn_verify_cluster") or {}
        return {
            "kubeconfig": options.kubeconfig or None,
            "context": options.context or None,
            "namespace": options.namespace,
            "cluster": options.cluster_name,
            "endpoints": desired["ports"],
            "tls_secret": desired["tls_secret"] if desired["files"] else None,
            "ca_config_map": found.get("ca_config_map") or None,
            "timeout": limits.first.answers,
            "raft": {"contents": options.contents, "contents_timeout": limits.again.contents},
            "heartbeat": heartbeat if desired["exposed"] else None,
        }

# SPDX-License-Identifier: GPL-3.0-or-later
"""Compare the certificates of chassis, metadata agents and clients with what the observers know, and record them beside control planes in Kubernetes."""

from __future__ import annotations

import typing as t

from ..module_utils._base.errors import OvnError
from ..module_utils._pki.issued import CHASSIS
from ..module_utils._roles.central import host_share
from ..module_utils._roles.issued import issued_change, issued_place
from ..module_utils._roles.option_types import Specification
from ..plugin_utils._pki_action import PkiAction

_UNKNOWN = "Its observer does not know when the certificates of this run end. Correct that; the next run of this playbook writes it."


class ActionModule(PkiAction):
    ARGUMENTS: t.ClassVar[Specification] = {
        "state": {"type": "str", "choices": ["compared", "recorded"], "required": True},
        "issued_kind": {"type": "str", "choices": ["chassis", "metadata-agent"], "default": CHASSIS},
        "change": {"type": "dict", "default": {}},
        "clusters": {"type": "list", "elements": "str", "default": []},
        "on_machines": {"type": "list", "elements": "dict", "default": []},
    }

    def step(self) -> dict[str, t.Any]:
        return self._compare() if self.arguments["state"] == "compared" else self._record()

    def _compare(self) -> dict[str, t.Any]:
        """Return the change, and which hosts of the run record it on which central hosts: each is the task of one.

        Nothing here needs what another way into the role has recorded: it may not have run on this host.
        """
        plan, hosts = self.plan(), self.variables["ansible_play_batch"]
        found = issued_change(
            hosts,
            self.hostvars,
            self.groups,
            removed_chassis=self.variables.get("ovn_pki_removed_chassis") or (),
            check_mode=self.check_mode,
            kind=self.arguments["issued_kind"],
            clients=plan.clients() if plan.desired["certificate"] == "central" else None,
        )
        machines, clusters = found["machines"], found["clusters"]
        shares = {host: host_share([*machines, *clusters], hosts, host) for host in hosts}
        return {
            "change": found["change"],
            "machines": {
                host: [
                    {"host": one, "path": issued_place(self.hostvars, one)["path"]} for one in share if one in machines
                ]
                for host, share in shares.items()
                if share
            },
            "clusters": {host: [one for one in share if one in clusters] for host, share in shares.items() if share},
        }

    def _record(self) -> dict[str, t.Any]:
        """Record the change in clusters, and return what could not be recorded: nothing but an observer depends on it, so the run goes on."""
        failures = {
            one["item"]["host"]: str(one.get("msg") or "no answer")
            for one in self.arguments["on_machines"]
            if "diff" not in one
        }
        diffs: list[t.Any] = []
        changed = False
        for host in self.arguments["clusters"]:
            place = issued_place(self.hostvars, host)
            access = {name: place[name] or None for name in ("kubeconfig", "context")}
            try:
                found = self.call(
                    "c5c3.ovn.ovn_issued_certificates",
                    namespace=place["namespace"],
                    cluster=place["cluster"],
                    **access,
                    **self.arguments["change"],
                )
            except OvnError as e:
                failures[host] = str(e)
            else:
                changed |= bool(found["changed"])
                diffs += [found["diff"]] if found.get("diff") else []
        problems = [
            f"{issued_place(self.hostvars, host)['title']} of {host} was not updated: {cause.strip().rstrip('.')}. {_UNKNOWN}"
            for host, cause in failures.items()
        ]
        return {"changed": changed, "problems": problems, "diff": diffs}

# SPDX-License-Identifier: GPL-3.0-or-later
"""Compare the Secret of a Kubernetes cluster with the declaration, and write it with a certificate that the control node issues."""

from __future__ import annotations

import typing as t

from ..module_utils._pki.issuing import issue
from ..module_utils._pki.names import subject_alt_names
from ..module_utils._roles.authorities import node_authorities
from ..module_utils._roles.authority import ca_config_map_problem, given_secret_problem, namespace_problem
from ..module_utils._roles.option_types import Specification
from ..module_utils._roles.pki_plan import HostPlan, issued_entry
from ..module_utils._roles.variables import Variables
from ..plugin_utils._pki_action import PkiAction, utc_now

_MODULE = "c5c3.ovn.ovn_tls_secret"
_NOT_RETURNED = ("invocation", "requests")


class ActionModule(PkiAction):
    ARGUMENTS: t.ClassVar[Specification] = {
        "state": {"type": "str", "choices": ["checked", "compared", "present"], "required": True},
        "found": {"type": "dict", "default": {}},
    }

    _plan: HostPlan
    _neighbors: Variables

    def step(self) -> dict[str, t.Any]:
        plan = self.plan()
        self._plan, self._neighbors = plan, plan.neighbors()
        if self.arguments["state"] == "present":
            return self._present(self.arguments["found"])
        given = bool(self._neighbors["given"])
        self.refuse(namespace_problem(self.host, plan.desired, self._neighbors["rivals"]))
        is_compared = self.arguments["state"] == "compared" and not given
        state = self._call(state="compared", **(self._declared() if is_compared else {}))
        if given:
            self._check_given(state)
        else:
            self.refuse(ca_config_map_problem(self.host, self._secret["ca_config_map"]))
        moves = state["needed"] and state["in_service"] and not state["signed_by_issuer"]
        return {
            **state,
            "given": given,
            "compared": is_compared or given,
            "changed": False,
            "asks": moves and not self.check_mode,
            "entry": self._entry(state, issued=False),
        }

    def _present(self, state: Variables) -> dict[str, t.Any]:
        """Write what the comparison has found (`state`) to differ, and bring the CAs to where nodes with certificates of their own read them."""
        written: dict[str, t.Any] = {}
        if state["reasons"] and self.check_mode:
            reasons = "; ".join(reason["message"] for reason in state["reasons"])
            written = {"changed": True, "msg": f"{self._secret['place']} would be written: {reasons}"}
        elif state["reasons"]:
            written = self._write(state)
            written["entry"] = self._entry(written if state["needed"] else state, issued=bool(state["needed"]))
        for_nodes = self._apply_node_authorities(state)
        return {"entry": state["entry"], **written, "changed": bool(written.get("changed")) or for_nodes}

    def _apply_node_authorities(self, state: Variables) -> bool:
        """Apply the ConfigMap with the CAs for nodes, which cannot read the Secret; the module ovn_hypervisors writes the same object.

        Here it follows the phases of a rotation, before anything relies on them. In check mode there may be no namespace yet.
        """
        if self._plan.desired["certificate"] != "chassis" or (self.check_mode and not state["exists"]):
            return False
        definition = node_authorities(self.hostvars[self.host], state["ca_crt"])
        if not definition:
            return False
        server_side = {"field_manager": "c5c3.ovn"}
        found = self.call_cluster(
            "kubernetes.core.k8s", apply=True, server_side_apply=server_side, definition=definition
        )
        return bool(found["changed"])

    def _entry(self, state: Variables, *, issued: bool) -> dict[str, t.Any]:
        return issued_entry(state, issued=issued, holder=self._plan.desired["pair"]["common_name"], path="")

    @property
    def _secret(self) -> Variables:
        secret: Variables = self._plan.desired["secret"]
        return secret

    def _call(self, **arguments: t.Any) -> dict[str, t.Any]:
        found = self.call_cluster(
            _MODULE,
            name=self._secret["name"],
            namespace=self._secret["namespace"],
            place=self._secret["place"],
            cluster_name=self._plan.desired["cluster_name"],
            issuer=self._plan.authority["issuer"],
            **arguments,
        )
        return {name: value for name, value in found.items() if name not in _NOT_RETURNED}

    def _declared(self) -> dict[str, t.Any]:
        pair, authority = self._plan.desired["pair"], self._plan.authority
        names = (
            "common_name",
            "subject_alt_names",
            "extended_key_usage",
            "renew",
            "renew_on_issuer_change",
            "remove_authorities",
        )
        return {
            **{name: pair[name] for name in names},
            "ca_bundle": authority["bundle"],
            "client_ca_bundle": authority["client_bundle"] if self._secret["client_ca_key"] else "",
            "renew_before": self._plan.options.renew_before_days,
        }

    def _write(self, state: Variables) -> dict[str, t.Any]:
        pair = self._plan.desired["pair"]
        certificate = key = None
        if state["needed"]:
            certificate, key = issue(
                self.signer(self.signing_options(), self._plan.authority),
                pair["common_name"],
                utc_now(),
                subject_alt_names=subject_alt_names(pair["subject_alt_names"]),
                extended_key_usage=pair["extended_key_usage"],
                may_outlive=True,
            )
        return self._call(
            state="present",
            certificate=certificate,
            private_key=key,
            namespace_labels=self._neighbors["namespace_labels"],
            **self._declared(),
        )

    def _check_given(self, state: Variables) -> None:
        twin = self._neighbors["central_twin"]
        if self.check_mode and twin and not state["exists"]:
            return  # the central host has not made it yet
        self.refuse(
            given_secret_problem(self._secret["place"], state["exists"], state, twin, self._secret["ca_config_map"])
        )

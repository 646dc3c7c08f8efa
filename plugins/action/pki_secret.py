# SPDX-License-Identifier: GPL-3.0-or-later
"""Compare the Secret of a Kubernetes cluster with the declaration, and write it with a certificate that the control node issues."""

from __future__ import annotations

import typing as t

from ..module_utils._base.errors import Refused
from ..module_utils._pki.issuing import issue
from ..module_utils._pki.names import subject_alt_names
from ..module_utils._roles.authority import ca_config_map_problem, given_secret_problem, namespace_problem
from ..module_utils._roles.option_types import Specification
from ..module_utils._roles.variables import Variables
from ..plugin_utils._pki_action import PkiAction, utc_now

_MODULE = "c5c3.ovn.ovn_tls_secret"
_NOT_RETURNED = ("invocation", "requests")


class ActionModule(PkiAction):
    ARGUMENTS: t.ClassVar[Specification] = {
        "state": {"type": "str", "choices": ["checked", "compared", "present"], "required": True},
        "desired": {"type": "dict", "required": True},
        "neighbors": {"type": "dict", "required": True},
        "authority": {"type": "dict", "required": True},
    }

    def step(self) -> dict[str, t.Any]:
        neighbors = self.arguments["neighbors"]
        self._refuse(namespace_problem(self.host, self.arguments["desired"], neighbors["rivals"]))
        is_compared = self.arguments["state"] != "checked" and not neighbors["given"]
        declared = self._declared() if is_compared else {}
        state = self._call(state="compared", **declared)
        if neighbors["given"]:
            self._check_given(state)
        else:
            self._refuse(ca_config_map_problem(self.host, self._secret["ca_config_map"]))
        if self.arguments["state"] != "present" or not state["reasons"]:
            return {**state, "changed": False}
        if self.check_mode:
            reasons = "; ".join(reason["message"] for reason in state["reasons"])
            return {**state, "changed": True, "msg": f"{self._secret['place']} would be written: {reasons}"}
        return self._write(declared, state)

    @property
    def _secret(self) -> Variables:
        secret: Variables = self.arguments["desired"]["secret"]
        return secret

    def _call(self, **arguments: t.Any) -> dict[str, t.Any]:
        found = self.call(
            _MODULE,
            kubeconfig=self.variables.get("ovn_kubeconfig") or None,
            context=self.variables.get("ovn_context") or None,
            name=self._secret["name"],
            namespace=self._secret["namespace"],
            place=self._secret["place"],
            cluster_name=self.arguments["desired"]["cluster_name"],
            issuer=self.arguments["authority"]["issuer"],
            **arguments,
        )
        return {name: value for name, value in found.items() if name not in _NOT_RETURNED}

    def _declared(self) -> dict[str, t.Any]:
        pair, authority = self.arguments["desired"]["pair"], self.arguments["authority"]
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
            "renew_before": self.signing_options().renew_before_days,
        }

    def _write(self, declared: Variables, state: Variables) -> dict[str, t.Any]:
        pair = self.arguments["desired"]["pair"]
        certificate = key = None
        if state["needed"]:
            certificate, key = issue(
                self.signer(self.signing_options(), self.arguments["authority"]),
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
            namespace_labels=self.arguments["neighbors"]["namespace_labels"],
            **declared,
        )

    def _check_given(self, state: Variables) -> None:
        twin = self.arguments["neighbors"]["central_twin"]
        if self.check_mode and twin and not state["exists"]:
            return  # the central host has not made it yet
        self._refuse(
            given_secret_problem(self._secret["place"], state["exists"], state, twin, self._secret["ca_config_map"])
        )

    def _refuse(self, problem: str) -> None:
        if problem:
            raise Refused(problem)

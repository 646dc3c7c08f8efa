# SPDX-License-Identifier: GPL-3.0-or-later
"""Compute which certificate a host should have, and whether the CAs or the certificates of the clients are to be changed."""

from __future__ import annotations

import typing as t

from ..module_utils._base.errors import OvnError
from ..module_utils._host.certificate import apply_certificate
from ..module_utils._pki.issued import CHASSIS
from ..module_utils._roles.option_types import Specification
from ..module_utils._roles.pki_clients import client_pairs
from ..module_utils._roles.pki_plan import HostPlan
from ..plugin_utils._pki_action import PkiAction, certificate_parameters


class ActionModule(PkiAction):
    _requires_connection = False
    ARGUMENTS: t.ClassVar[Specification] = {
        "compares_clients": {"type": "bool", "default": False},
        "issued_kind": {"type": "str", "choices": ["chassis", "metadata-agent"], "default": CHASSIS},
    }

    def step(self) -> dict[str, t.Any]:
        plan = self.plan()
        authority, is_central = plan.authority, plan.desired["certificate"] == "central"
        clients = plan.clients() if is_central else []
        compared = None
        if clients and self.arguments["compares_clients"] and authority["issuer"]:
            compared = self._compare(plan, clients)
        return {
            "certificate": plan.desired["certificate"],
            "backend": plan.desired["backend"],
            "kind": self.arguments["issued_kind"] if plan.desired["certificate"] == "chassis" else "central",
            "pairs": [plan.pair] if authority["issuer"] else [],
            "clients": compared,
            "has_clients": bool(clients),
            "moves_authorities": plan.moves_authorities,
            "rotates": bool(authority["rotates"]),
            "missing": authority["missing"],
            "retires_node_authorities": plan.retires_node_authorities,
            "warns": authority["former_layout"] and plan.options.phase == "none",
            # Without a CA, and while one is rotated, there is always something to do.
            "due": plan.moves_authorities or (compared is not None and any(one["due"] for one in compared)),
        }

    @staticmethod
    def _compare(plan: HostPlan, clients: t.Sequence[dict[str, t.Any]]) -> list[dict[str, t.Any]]:
        """Return how the files of each client are, and nothing of one that cannot be read."""
        found = []
        for pair in client_pairs(clients, plan.pair, plan.authorities):
            try:
                state = apply_certificate(certificate_parameters(pair), check_mode=True)
            except OvnError as e:
                found.append({"failed": True, "msg": str(e), "due": True})
            else:
                kept = ("needed", "issuer_name", "serial_number", "not_after")
                found.append({**{name: state[name] for name in kept}, "due": state["changed"]})
        return found

# SPDX-License-Identifier: GPL-3.0-or-later
"""Compare the pair of a host with the declaration, and sign its request on the control node and install key and certificate together."""

from __future__ import annotations

import typing as t

from ..module_utils._pki.certificates import request_problems
from ..module_utils._pki.issuing import require_cryptography
from ..module_utils._pki.names import subject_alt_names
from ..module_utils._roles.option_types import Specification
from ..module_utils._roles.pki_plan import HostPlan, issued_entry
from ..plugin_utils._pki_action import PkiAction, utc_now

_MODULE = "c5c3.ovn.ovn_certificate"


class ActionModule(PkiAction):
    ARGUMENTS: t.ClassVar[Specification] = {
        "state": {"type": "str", "choices": ["examined", "compared", "issued"], "required": True},
        "csr": {"type": "str"},
    }

    def step(self) -> dict[str, t.Any]:
        plan = self.plan()
        pair = plan.pair
        if self.arguments["state"] == "examined":
            return self.call(_MODULE, state="examined", **pair)
        signed = self._sign(plan) if self.arguments["state"] == "issued" else None
        found = self.call(_MODULE, **pair, signed=signed)
        moves = found["needed"] and found["in_service"] and not found["signed_by_issuer"]
        entry = issued_entry(found, issued=signed is not None, holder=pair["common_name"], path=pair["certificate"])
        # A pair that does not work anyway has no connection to lose.
        return {**found, "asks": moves and not self.check_mode, "entry": entry}

    def _sign(self, plan: HostPlan) -> str:
        request, pair = self.arguments["csr"], plan.pair
        require_cryptography()
        name, usage, names = (
            pair["common_name"],
            pair["extended_key_usage"],
            subject_alt_names(pair["subject_alt_names"]),
        )
        differences = request_problems(request, name, names, usage)
        signer = self.signer(self.signing_options(), plan.authority, differences)
        return signer.sign(
            request, name, utc_now(), subject_alt_names=names, extended_key_usage=usage, may_outlive=True
        )

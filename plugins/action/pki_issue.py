# SPDX-License-Identifier: GPL-3.0-or-later
"""Sign the request of a host on the control node and install key and certificate together."""

from __future__ import annotations

import typing as t

from ..module_utils._pki.certificates import request_problems
from ..module_utils._pki.issuing import require_cryptography
from ..module_utils._pki.names import subject_alt_names
from ..module_utils._roles.option_types import Specification
from ..plugin_utils._pki_action import PkiAction, utc_now


class ActionModule(PkiAction):
    ARGUMENTS: t.ClassVar[Specification] = {
        "csr": {"type": "str", "required": True},
        "pair": {"type": "dict", "required": True},
        "authority": {"type": "dict", "required": True},
    }

    def step(self) -> dict[str, t.Any]:
        request, pair = self.arguments["csr"], self.arguments["pair"]
        require_cryptography()
        name, usage, names = (
            pair["common_name"],
            pair["extended_key_usage"],
            subject_alt_names(pair["subject_alt_names"]),
        )
        differences = request_problems(request, name, names, usage)
        signer = self.signer(self.signing_options(), self.arguments["authority"], differences)
        signed = signer.sign(
            request, name, utc_now(), subject_alt_names=names, extended_key_usage=usage, may_outlive=True
        )
        return self.call("c5c3.ovn.ovn_certificate", **pair, signed=signed)

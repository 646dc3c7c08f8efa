# SPDX-License-Identifier: GPL-3.0-or-later
"""Write the Secret of a client of the databases, from its files on the control node."""

from __future__ import annotations

import typing as t

from ..module_utils._roles.option_types import Specification
from ..module_utils._roles.pki_clients import is_client_due
from ..module_utils._roles.variables import members_of
from ..plugin_utils._client_secret import ClientSecret, predicted_secret, write_client_secret
from ..plugin_utils._pki_action import PkiAction


class ActionModule(PkiAction):
    ARGUMENTS: t.ClassVar[Specification] = {
        "name": {"type": "str", "required": True},
        "namespace": {"type": "str", "required": True},
        "files": {"type": "dict", "required": True},
    }

    def step(self) -> dict[str, t.Any]:
        given = self.arguments
        secret = ClientSecret(given["name"], given["namespace"], {}, given["files"], self.host)
        central = members_of(self.groups, "ovn_central")
        if self.check_mode and is_client_due(self.hostvars, central, given["files"]["certificate"]):
            return predicted_secret(secret)
        with self.hidden_arguments():
            return write_client_secret(self.call_cluster, secret)

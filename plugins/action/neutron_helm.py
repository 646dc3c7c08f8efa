# SPDX-License-Identifier: GPL-3.0-or-later
"""Write the overrides for the Helm chart of Neutron on the control node."""

from __future__ import annotations

import json
import typing as t

from ansible.module_utils.common.yaml import yaml_dump

from ..module_utils._roles.neutron import NeutronOptions
from ..plugin_utils._neutron_action import NeutronAction


class ActionModule(NeutronAction):
    def step(self) -> dict[str, t.Any]:
        options = self.options(NeutronOptions)
        if not options.helm_file:
            return {}
        neutron = self.desired(options)
        helm = json.loads(json.dumps(neutron.helm))  # plain texts, whatever Ansible knows of them
        dump = t.cast("t.Callable[..., str]", yaml_dump)
        text = dump(helm, indent=2, sort_keys=False, allow_unicode=True)
        written = self.write_file(str(options.helm_file), text, hidden=neutron.has_secret, mode="0600")
        return {"changed": written["changed"], "diff": written.get("diff") or []}

# SPDX-License-Identifier: GPL-3.0-or-later
"""Refuse to retire a CA whose certificates nodes of hypervisor clusters may still use: they have them on themselves alone."""

from __future__ import annotations

import typing as t

from ..module_utils._roles.former_nodes import former_nodes
from ..module_utils._roles.option_types import Specification
from ..module_utils._roles.pki_plan import check_nodes
from ..module_utils._roles.variables import hosts_by_backend, members_of
from ..plugin_utils._pki_action import PkiAction

_KINDS = {"DaemonSet": "apps/v1", "Pod": "v1"}
_CONTROLLER = ["app.kubernetes.io/name=ovn", "app.kubernetes.io/component=controller"]


class ActionModule(PkiAction):
    ARGUMENTS: t.ClassVar[Specification] = {
        "accepted": {"type": "str", "choices": ["bundle", "active"], "required": True}
    }

    def step(self) -> dict[str, t.Any]:
        plan = self.plan()
        hosts = hosts_by_backend(members_of(self.groups, "ovn_hypervisors"), self.hostvars)["kubernetes"]
        listings = []
        for secret in map(plan.secret, hosts):
            listings += [
                self.call(
                    "kubernetes.core.k8s_info",
                    api_version=version,
                    kind=kind,
                    namespace=secret.namespace,
                    label_selectors=_CONTROLLER,
                    kubeconfig=secret.kubeconfig or None,
                    context=secret.context or None,
                )
                for kind, version in _KINDS.items()
            ]
        is_bundle = self.arguments["accepted"] == "bundle"
        accepted = plan.authority["client_bundle"] if is_bundle else plan.files["chassis"]["active"]
        check_nodes(former_nodes(listings, accepted))
        return {}

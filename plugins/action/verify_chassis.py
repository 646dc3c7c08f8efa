# SPDX-License-Identifier: GPL-3.0-or-later
"""Read the datapath and the certificates of a hypervisor, or the certificate of a Kubernetes cluster of hypervisors."""

from __future__ import annotations

import datetime
import typing as t

from ..module_utils._api.names import CLIENT_CA_KEY
from ..module_utils._base.errors import OvnError
from ..module_utils._pki import certificates
from ..module_utils._pki.secret import secret_state
from ..module_utils._roles.pki import is_present
from ..module_utils._roles.variables import first_value, members_of
from ..module_utils._roles.verify import chassis_pairs, metadata_agent_pair, uses_tls
from ..plugin_utils._verify_action import VerifyAction


class ActionModule(VerifyAction):
    """A machine that no run reaches for a year loses the Southbound database when its certificate ends, and a datapath may lose packets while every daemon
    looks healthy. Of a cluster nothing is read but its certificate, that its nodes share, or with which runs read: the heartbeat shows whether each
    node is alive.
    """

    def step(self) -> dict[str, t.Any]:
        # Most runs have no --limit. With one there may be no report, and then nothing is read for it.
        has_report = "ansible_limit" not in self.variables or bool(self.asked_hosts())
        if not has_report or not is_present(self.variables):
            return {}
        tls = uses_tls(self.variables, (self.hostvars[host] for host in members_of(self.groups, "ovn_central")))
        pairs = chassis_pairs(self.variables) if tls else []
        if self.is_cluster():
            return {"certificates": [self._cluster_certificate()]} if pairs else {}
        agents = metadata_agent_pair(self.variables, self.host, self.groups) if tls else []
        found = self.call(
            "c5c3.ovn.ovn_host_info",
            datapath={
                "database": first_value(
                    self.variables, "ovn_hypervisor_openvswitch_database", default="unix:/run/openvswitch/db.sock"
                )
            },
            certificates=[{**pair, "state": "examined"} for pair in [*pairs, *agents]],
        )
        read = list(found.get("certificates") or ())
        return {**found, "certificates": read[: len(pairs)], "metadata_agent": next(iter(read[len(pairs) :]), {})}

    def _cluster_certificate(self) -> dict[str, t.Any]:
        """Return facts about the certificate, which has the name of no chassis, or why it cannot be read."""
        try:
            answer = self.call_cluster(
                "kubernetes.core.k8s_info",
                kind="Secret",
                name=self.desired()["tls_secret"],
                namespace=first_value(self.variables, "ovn_namespace", default="ovn-system"),
            )
            if "resources" not in answer:
                return {"msg": answer.get("msg") or "it cannot be read"}
            if certificates.CRYPTOGRAPHY_PROBLEM is not None:
                return {"msg": "the control node has no Python library cryptography, install it"}
            secret: dict[str, t.Any] = next(iter(answer["resources"]), {})
            now = datetime.datetime.now(datetime.timezone.utc)
            found = secret_state(
                secret.get("data") or {}, "the Secret", "", now, declared=None, client_ca_key=CLIENT_CA_KEY
            )
        except OvnError as e:
            return {"msg": str(e)}
        return {**found, "installed_common_name": ""}

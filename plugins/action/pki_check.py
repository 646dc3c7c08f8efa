# SPDX-License-Identifier: GPL-3.0-or-later
"""Ask the Kubernetes clusters which CAs they trust, and judge all answers: whether a CA may be created, sign or be retired."""

from __future__ import annotations

import typing as t

from ..module_utils._host.certificate import apply_certificate
from ..module_utils._roles.authority import trust
from ..module_utils._roles.option_types import Specification
from ..module_utils._roles.pki_clients import client_pairs
from ..module_utils._roles.pki_plan import ClusterLook, HostPlan, Looks, check_former, check_issuer, check_trust
from ..module_utils._roles.pki_pods import unready_members
from ..module_utils._roles.variables import Variables, members_of
from ..plugin_utils._pki_action import certificate_parameters
from ..plugin_utils._pki_clusters import ClusterSecrets
from ..plugin_utils._pki_looks import LOOK_ARGUMENTS, LookAction

Trust = dict[str, list[str]]


class ActionModule(LookAction):
    ARGUMENTS: t.ClassVar[Specification] = {
        **LOOK_ARGUMENTS,
        "answers": {"type": "list", "elements": "dict", "default": []},
        "retries": {"type": "int", "default": 36},
    }

    def step(self) -> dict[str, t.Any]:
        plan, purpose = self.plan(), self.arguments["purpose"]
        looks = self.looks(plan)
        answers = [{**one, "authority": one["item"]["authority"], "item": one["item"]["host"]} for one in self._answers]
        clusters = ClusterSecrets(self.call, plan.secret, self.arguments["retries"], self._task_vars)
        states = [(look, clusters.states(look.hosts, look.issuer)) for look in looks.clusters]
        if purpose == "created":
            return {
                "trust": self._evidence(
                    plan, answers, {host: one for _look, found in states for host, one in found.items()}
                )
            }
        if purpose == "moved" and plan.options.phase == "finish":
            if looks == Looks([], []):  # no CA has a former one
                return {}
            secrets = {host: one for _look, found in states for host, one in found.items()}
            check_former(trust([*answers, *self._client_facts(plan)], secrets, {}, ()))
            return {}
        for look, found in states if purpose != "verified" else ():
            of_authority = [one for one in answers if one["authority"] == look.authority]
            self._check(plan, look, trust(of_authority, found, {}, ()), clusters)
        return {}

    @property
    def _answers(self) -> list[dict[str, t.Any]]:
        answers: list[dict[str, t.Any]] = self.arguments["answers"]
        return answers

    def _check(self, plan: HostPlan, look: ClusterLook, found: Trust, clusters: ClusterSecrets) -> None:
        members: list[str] = []
        # A machine that is not ready is named first.
        check_issuer(look.authority, plan.options.phase, found, ())
        if look.members:
            listings = [*clusters.pods(look.hosts), *clusters.stateful_sets(look.hosts)]
            members = unready_members(listings, clusters.secrets(look.hosts), look.issuer)
        check_issuer(look.authority, plan.options.phase, found, members)

    def _evidence(self, plan: HostPlan, answers: list[dict[str, t.Any]], secrets: t.Mapping[str, Variables]) -> Trust:
        """Return what hosts trust; `ovn_pki_evidence` is what the machines of the run have answered."""
        examined = {
            host: self.hostvars[host].get("ovn_pki_evidence") or {} for host in self.variables["ansible_play_hosts"]
        }
        found = trust(answers, secrets, examined, members_of(self.groups, "ovn_central"))
        check_trust(plan, found)
        return found

    @staticmethod
    def _client_facts(plan: HostPlan) -> list[dict[str, t.Any]]:
        """Return what the clients have on the control node. What the operator has brought to them is not known, but nothing older can be in use by intent."""
        clients = plan.clients()
        pairs = client_pairs(clients, plan.pair, plan.authorities)
        return [
            {
                **apply_certificate({**certificate_parameters(pair), "state": "examined"}, check_mode=True),
                "item": f"client {client['name']}",
            }
            for client, pair in zip(clients, pairs)
        ]

# SPDX-License-Identifier: GPL-3.0-or-later
"""Issue the certificates of the clients of the databases. They are no hosts: their keys are made on the control node and kept there."""

from __future__ import annotations

import base64
import typing as t

from ..module_utils._base.errors import OvnError
from ..module_utils._host.certificate import apply_certificate, authority_warning
from ..module_utils._pki.files import create_private_directory
from ..module_utils._pki.issuing import require_cryptography
from ..module_utils._pki.names import subject_alt_names
from ..module_utils._roles.authority import ca_directory_problem
from ..module_utils._roles.option_types import Specification
from ..module_utils._roles.pki_clients import changes_contents, client_pairs, clients_problem, served_clients
from ..module_utils._roles.pki_plan import HostPlan, issued_entry
from ..module_utils._roles.variables import Variables
from ..plugin_utils._pki_action import PkiAction, certificate_parameters, container_signs, utc_now

_FILES = {"tls.key": "private_key", "tls.crt": "certificate", "ca.crt": "ca_certificate"}


class ActionModule(PkiAction):
    ARGUMENTS: t.ClassVar[Specification] = {
        "state": {"type": "str", "choices": ["compared", "issued"], "required": True},
    }

    def step(self) -> dict[str, t.Any]:
        require_cryptography()
        plan = self.plan()
        warning = self._check(plan)
        clients = served_clients(plan.clients(), former_layout=plan.authority["former_layout"])
        pairs = client_pairs(clients, plan.pair, plan.authorities)
        if self.arguments["state"] == "compared":
            return {"asks": self._asks(clients, pairs), "warnings": [warning] if warning else []}
        changed = create_private_directory(plan.options.clients_directory, check_mode=self.check_mode)
        found = [self._issue(plan, client, pair) for client, pair in zip(clients, pairs)]
        secrets = [self._write_secret(plan, client, one) for client, one in zip(clients, found)]
        messages = [one["msg"] for one in secrets if one.get("msg")]
        return {
            "changed": changed or any(one["changed"] for one in [*found, *secrets]),
            "clients": {client["name"]: one["entry"] for client, one in zip(clients, found)},
            "diff": [one["diff"] for one in found if one.get("diff")],
            "warnings": list(dict.fromkeys(one["warning"] for one in found if one["warning"])),
            **({"msg": " ".join(messages)} if messages else {}),
        }

    def _check(self, plan: HostPlan) -> str:
        """Return a warning about clients that wait for their CA: in Kubernetes this run brings members the second bundle, then there can be a rotation."""
        options, authority = plan.options, plan.authority
        waiting = [
            client["name"]
            for client in (plan.clients() if authority["former_layout"] else ())
            if client["access"] == "chassis"
        ]
        in_pods = plan.desired["backend"] == "kubernetes"
        if not self.check_mode:
            may_wait = in_pods or options.phase != "none"
            has_issuer = bool(authority["issuer"])
            self.refuse(
                clients_problem(waiting, self.host, options.ca_directory, has_issuer=has_issuer, may_wait=may_wait)
            )
        signs, kept = container_signs(), options.ca_directory_is_kept
        self.refuse(ca_directory_problem(signs, options.clients_directory, kept, clients=True))
        if not waiting or not in_pods:
            return ""
        names = ", ".join(waiting)
        return f"{names} in ovn_pki_clients get no certificate before c5c3.ovn.rotate brings chassis-ca.pem: certificates of ca.pem have all rights."

    def _asks(self, clients: t.Sequence[Variables], pairs: t.Sequence[Variables]) -> list[str]:
        """Return the accesses whose CA the databases have to trust before certificates in use are replaced."""
        if self.check_mode:
            return []
        states = [apply_certificate(certificate_parameters(pair), check_mode=True) for pair in pairs]
        moved = [
            client["access"]
            for client, state in zip(clients, states)
            if state["needed"] and state["in_service"] and not state["signed_by_issuer"]
        ]
        return list(dict.fromkeys(moved))

    def _issue(self, plan: HostPlan, client: Variables, pair: Variables) -> dict[str, t.Any]:
        parameters = certificate_parameters(pair)
        state = apply_certificate(parameters, check_mode=self.check_mode)
        installed, issued = state, state["needed"] and not self.check_mode
        if issued:
            signer = self.signer(self.signing_options(), plan.authorities[client["access"]])
            signed = signer.sign(
                state["csr"],
                pair["common_name"],
                utc_now(),
                subject_alt_names=subject_alt_names(pair["subject_alt_names"]),
                extended_key_usage=pair["extended_key_usage"],
                may_outlive=True,
            )
            installed = apply_certificate({**parameters, "signed": signed}, check_mode=False)
        entry = issued_entry(installed, issued=issued, holder=client["name"], path=pair["certificate"])
        reasons = [reason["code"] for reason in state["reasons"]]
        return {
            "changed": state["changed"] or installed["changed"],
            "diff": state["diff"] if state["changed"] else None,
            "warning": authority_warning(installed),
            "entry": {**entry, "needed": state["needed"], "reasons": reasons},
        }

    def _write_secret(self, plan: HostPlan, client: Variables, found: Variables) -> dict[str, t.Any]:
        """Write the Secret of a client beside the control plane in Kubernetes."""
        if plan.desired["backend"] != "kubernetes":
            return {"changed": False}
        metadata = {
            "name": client["secret"],
            "namespace": plan.desired["secret"]["namespace"],
            "labels": {
                "app.kubernetes.io/managed-by": "c5c3.ovn",
                "app.kubernetes.io/instance": plan.desired["cluster_name"],
            },
        }
        place, pair = f"The Secret {metadata['namespace']}/{metadata['name']} of {self.host}", client["pair"]
        if self.check_mode and changes_contents(found["entry"]["reasons"]):  # the files are those of before
            cause = f"{pair['certificate']} or the CAs beside it would be others"
            return {"changed": True, "msg": f"{place} would be written, because {cause}."}
        texts = {key: self._read_file(pair[name], rstrip=False) for key, name in _FILES.items()}
        data = {key: base64.b64encode(text.encode()).decode() for key, text in texts.items()}
        try:
            with self.hidden_arguments():
                written = self.call_cluster(
                    "kubernetes.core.k8s",
                    apply=True,
                    server_side_apply={"field_manager": "c5c3.ovn"},
                    definition={
                        "apiVersion": "v1",
                        "kind": "Secret",
                        "type": "kubernetes.io/tls",
                        "metadata": metadata,
                        "data": data,
                    },
                )
        except OvnError as e:
            raise OvnError(
                f"{place} could not be written: {e}. Look at the namespace, its quotas and your rights in it, then run again."
            ) from None
        return {"changed": bool(written["changed"])}

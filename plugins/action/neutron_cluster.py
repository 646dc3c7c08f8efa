# SPDX-License-Identifier: GPL-3.0-or-later
"""Give Neutron in a Kubernetes cluster its certificate, its settings and the endpoints."""

from __future__ import annotations

import base64
import os
import typing as t

from ..module_utils._base.errors import Refused
from ..module_utils._neutron.config_files import API_VERSION, CENTRAL_STATUS, KIND, pruned_fields
from ..module_utils._roles.neutron import CONFIG_MAP, SECRET, SECRET_KEYS, DesiredNeutron, NeutronOptions
from ..plugin_utils._neutron_action import Files, NeutronAction

_ADVICE = (
    "Correct the endpoints or the certificate, or, where the control node cannot reach members that pods of Neutron reach, set ovn_neutron_ask_databases to "
    "false. Nothing was written to this cluster."
)


class ActionModule(NeutronAction):
    """The task runs on the control node."""

    def step(self) -> dict[str, t.Any]:
        options = self.options(NeutronOptions)
        neutron, files = self.desired(options), self.issued_files(options)
        is_due = self.is_certificate_due(files)
        asked = neutron.members_to_ask if options.ask_databases else {}
        if not is_due:  # else check mode has no certificate to ask with
            self.ask_databases(asked, files, asker="the control node", advice=_ADVICE)
        northbound = asked.get("northbound", [])
        unasked = not northbound and bool(neutron.endpoints["northbound"])
        self.refuse_foreign_rows(options, northbound, files, is_expected=not self.check_mode or unasked)
        self._find_resource(options)
        results = [self._write_secret(options, files, is_due=is_due)] if options.tls else []
        settings = {os.path.basename(options.config_file): neutron.config}
        results.append(self._apply(options, "ConfigMap", CONFIG_MAP, data=settings))
        if options.resource:
            results += self._write_resource(options, neutron)
        return {
            "changed": any(one["changed"] for one in results),
            "actions": [one["action"] for one in results if one["changed"]],
        }

    def _apply(self, options: NeutronOptions, kind: str, name: str, **fields: t.Any) -> dict[str, t.Any]:
        """Apply an object in the namespace of Neutron."""
        place = f"{kind} {options.namespace}/{name}"
        metadata = {
            "name": name,
            "namespace": options.namespace,
            "labels": {"app.kubernetes.io/managed-by": "c5c3.ovn"},
        }
        found = self.call_cluster(
            "kubernetes.core.k8s",
            apply=True,
            server_side_apply={"field_manager": "c5c3.ovn"},
            definition={"apiVersion": "v1", "kind": kind, "metadata": metadata, **fields},
        )
        return {"changed": found["changed"], "action": f"write {place}"}

    def _write_secret(self, options: NeutronOptions, files: Files, *, is_due: bool) -> dict[str, t.Any]:
        if is_due:
            place = f"Secret {options.namespace}/{SECRET}"
            return {
                "changed": True,
                "action": f"write {place}, because {files['certificate']} or the CAs beside it would be others",
            }
        data = {SECRET_KEYS[name]: _encoded(self._read_file(path, rstrip=False)) for name, path in files.items()}
        with self.hidden_arguments():
            return self._apply(options, "Secret", SECRET, type="kubernetes.io/tls", data=data)

    def _find_resource(self, options: NeutronOptions) -> None:
        if not options.resource:
            return
        found = self.call_cluster(
            "kubernetes.core.k8s_info",
            api_version=API_VERSION,
            kind=KIND,
            name=options.resource,
            namespace=options.namespace,
        )
        if len(found["resources"]) != 1:
            raise Refused(
                f"There is no Neutron {options.resource} in the namespace {options.namespace} of {self.host}. Correct ovn_neutron_resource or "
                "ovn_neutron_namespace, or create it first. Nothing was written to this cluster."
            )

    def _write_resource(self, options: NeutronOptions, neutron: DesiredNeutron) -> list[dict[str, t.Any]]:
        """Write the endpoints to the Neutron resource; the API server drops what the definition of the resource does not have, and reports success."""
        place = f"{KIND} {options.namespace}/{options.resource}"
        definition = {
            "apiVersion": API_VERSION,
            "kind": KIND,
            "metadata": {"name": options.resource, "namespace": options.namespace},
            "spec": {"ovn": neutron.connection},
        }
        patched = self.call_cluster("kubernetes.core.k8s", state="patched", definition=definition)
        results = [{"changed": patched["changed"], "action": f"write {place}"}]
        dropped = sorted(pruned_fields(neutron.connection, patched["result"]))
        if not dropped:
            return results
        name = f"{options.resource}-ovn-connection"
        texts = {field: _encoded(text) for field, text in neutron.connection.items()}
        self._apply(options, "Secret", name, data=texts)
        has_reference = "centralRef" in ((patched["result"].get("spec") or {}).get("ovn") or {})
        reason = (
            f"with spec.ovn.centralRef it takes them from an OVNCentral ({CENTRAL_STATUS})"
            if has_reference
            else "the API server dropped what its definition of the resource does not have in spec.ovn"
        )
        written = "Nothing was written in check mode." if self.check_mode else "Its Secret and ConfigMap were written."
        raise Refused(
            f"Neutron {options.resource} of {self.host} did not get {' and '.join(dropped)}: {reason}. Install a release of Neutron's operator that has these "
            f"fields, or set ovn_neutron_resource to an empty text and give Neutron the connections in Secret {options.namespace}/{name} (keys "
            f"nbConnection and sbConnection). {written}"
        )


def _encoded(text: str) -> str:
    return base64.b64encode(text.encode()).decode()

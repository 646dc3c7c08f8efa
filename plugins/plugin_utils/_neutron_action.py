# SPDX-License-Identifier: GPL-3.0-or-later
"""The base of the steps of the role ovn_neutron: what Neutron has to get, its certificate on the control node, and the questions to the databases."""

from __future__ import annotations

import abc
import os
import typing as t

from ..module_utils._base.databases import DATABASES, Database
from ..module_utils._base.errors import OvnError, Refused
from ..module_utils._report.census_rows import COLUMNS
from ..module_utils._report.neutron_sync import repair_refusal
from ..module_utils._roles.neutron import DesiredNeutron, NeutronOptions, desired_neutron, neutron_endpoints
from ..module_utils._roles.neutron_proxy import unanswered_problem
from ..module_utils._roles.pki_clients import is_client_due
from ..module_utils._roles.variables import first_value, members_of
from ._role_action import RoleAction

# Variables that tests replace: seconds, and a directory
_TIMEOUT, _DIRECTORY = "_ovn_neutron_wait_timeout", "_ovn_neutron_clients_directory"
Files = t.Mapping[str, str]


class NeutronAction(RoleAction, abc.ABC):
    ROLE = "ovn_neutron"

    def desired(self, options: NeutronOptions) -> DesiredNeutron:
        """Return what Neutron of the host has to get."""
        control_plane = self.variables.get("ovn_central_answer")
        endpoints = neutron_endpoints(self.hostvars, self.groups, options, control_plane)
        return desired_neutron(self.host, options, endpoints, control_plane)

    def issued_files(self, options: NeutronOptions) -> dict[str, str]:
        """Return the files of the certificate on the control node, where c5c3.ovn.neutron has it issued; none without TLS."""
        if not options.tls:
            return {}
        base = first_value(self.variables, "inventory_dir", "playbook_dir")
        authority = first_value(self.variables, "ovn_pki_ca_directory", default=f"{base}/ovn-pki.cfg")
        directory = first_value(self.variables, _DIRECTORY, default=f"{authority}/clients")
        directory = os.path.expanduser(os.path.expandvars(directory))
        names = {
            "private_key": "neutron-key.pem",
            "certificate": "neutron-cert.pem",
            "ca_certificate": "ca.pem",
        }
        return {option: os.path.join(directory, name) for option, name in names.items()}

    def is_certificate_due(self, files: Files) -> bool:
        """Return whether check mode comes here before the certificate is issued or renewed."""
        central = members_of(self.groups, "ovn_central")
        return self.check_mode and bool(files) and is_client_due(self.hostvars, central, files["certificate"])

    def ask_databases(
        self, endpoints: t.Mapping[Database, t.Sequence[str]], files: Files, *, asker: str, advice: str
    ) -> None:
        """Raise `Refused` if a database does not answer: a dead cluster, a firewall, or a certificate of another CA. One without endpoints is not asked."""
        causes = []
        for database in DATABASES:
            members = list(endpoints.get(database) or ())
            try:
                if members:
                    self.call(
                        "c5c3.ovn.ovn_raft_status",
                        database=database,
                        endpoints=members,
                        expected_members=len(members),
                        wait_for="quorum",
                        wait_timeout=float(first_value(self.variables, _TIMEOUT, default=30)),
                        **files,
                    )
            except OvnError as e:
                causes.append(str(e))
        if causes:
            raise Refused(unanswered_problem(self.host, asker, causes, advice))

    def refuse_foreign_rows(
        self, options: NeutronOptions, endpoints: t.Sequence[str], files: Files, *, is_expected: bool
    ) -> None:
        """Raise `Refused` if Neutron would delete rows of another owner when it starts, which nobody has allowed. Without `endpoints` nobody is asked.

        In check mode there may be no certificate or no database yet; then nothing is refused unless an answer `is_expected`.
        """
        if options.sync_mode != "repair" or "delete_foreign_rows" in options.permit:
            return
        answer: dict[str, t.Any] = {}
        try:
            if endpoints:
                answer = self.call(
                    "c5c3.ovn.ovn_database_info",
                    database="northbound",
                    endpoints=list(endpoints),
                    tables=list(COLUMNS),
                    columns=dict(COLUMNS),
                    timeout=60,
                    **files,
                )
        except OvnError:
            if not self.check_mode:
                raise
        if "tables" in answer or is_expected:
            problem = repair_refusal(answer, self.host)
            if problem:
                raise Refused(problem)

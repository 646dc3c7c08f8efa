# SPDX-License-Identifier: GPL-3.0-or-later
"""Give Neutron on a machine a certificate with which the databases answer this host."""

from __future__ import annotations

import typing as t

from ..module_utils._base.control_node import run_name
from ..module_utils._base.errors import OvnError
from ..module_utils._roles.neutron import DesiredNeutron, NeutronOptions
from ..plugin_utils._neutron_action import Files, NeutronAction

_MODULE = "c5c3.ovn.ovn_client_certificate"
_ADVICE = (
    "Correct the endpoints, the firewall between them and this host, or the certificate, then run again; c5c3.ovn.status says how the databases are. "
    "Nothing was changed on this host."
)


class ActionModule(NeutronAction):
    """A process of Neutron reads the certificate again with each connection, so a new one needs no restart."""

    def step(self) -> dict[str, t.Any]:
        options = self.options(NeutronOptions)
        neutron = self.desired(options)
        if not options.tls:
            self._ask(options, neutron, {})
            return {}
        place = {"directory": options.directory, "run": run_name("ovn_neutron")}
        try:
            written = self._replace(options, neutron, place)
        except OvnError:
            self._remove_staged(place, is_failing=True)
            raise
        self._remove_staged(place)
        return {"changed": written["changed"], "diff": written["diff"]}

    def _replace(self, options: NeutronOptions, neutron: DesiredNeutron, place: Files) -> dict[str, t.Any]:
        """Write the files beside those in use, ask with them, and use them."""
        issued = self.issued_files(options)
        # What files would be that check mode does not issue is unknown: they count as empty, which nobody has.
        due = self.is_certificate_due(issued)
        contents = {name: "" if due else self._read_file(path, rstrip=False) for name, path in issued.items()}
        given = {**place, **contents, "owner": "root", "group": options.neutron_group}
        staged = self.call(_MODULE, state="staged", **given)
        self._ask(options, neutron, staged["files"], is_there=not self.check_mode or not staged["diff"]["before"])
        return self.call(_MODULE, **given)

    def _ask(self, options: NeutronOptions, neutron: DesiredNeutron, files: Files, *, is_there: bool = True) -> None:
        """Ask both databases, if there is a certificate to ask with."""
        if is_there:
            self.ask_databases(neutron.endpoints, files, asker="this host", advice=_ADVICE)
        northbound = neutron.endpoints["northbound"]
        self.refuse_foreign_rows(options, northbound, files, is_expected=not self.check_mode)

    def _remove_staged(self, place: Files, *, is_failing: bool = False) -> None:
        try:
            if not self.check_mode:
                self.call(_MODULE, state="unstaged", **place)
        except OvnError:
            if not is_failing:  # else the first cause is reported
                raise

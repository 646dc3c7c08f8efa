# SPDX-License-Identifier: GPL-3.0-or-later
"""The base of the steps of the role ovn_hypervisor: who signs for nodes, and where the control plane is."""

from __future__ import annotations

import abc
import os
import typing as t

from ..module_utils._base.errors import Refused
from ..module_utils._host.ca_directory import key_modes
from ..module_utils._roles.authority import authority_places, key_problem
from ..module_utils._roles.hypervisor import control_plane_of
from ..module_utils._roles.hypervisor_check import ConnectionOptions
from ..module_utils._roles.hypervisor_cluster import (
    DesiredNodes,
    HypervisorClusterOptions,
    NodeSignerOptions,
    desired_hypervisors,
    signer_problem,
)
from ..module_utils._roles.option_types import Backend
from ..module_utils._roles.pki import machine_names
from ._pki_action import PkiAction


class HypervisorAction(PkiAction, abc.ABC):
    ROLE = "ovn_hypervisor"
    ALSO = ("ovn_packages", "ovn_pki")

    def is_cluster(self) -> bool:
        """Return whether the host stands for a Kubernetes cluster with any number of nodes."""
        return self.options(Backend, alone=True).backend == "kubernetes"

    def desired_hypervisors(self) -> tuple[HypervisorClusterOptions, DesiredNodes]:
        """Return options and desired state of a cluster."""
        options = self.options(HypervisorClusterOptions)
        return options, desired_hypervisors(options, self.variables)

    def control_plane(self) -> dict[str, t.Any]:
        """Return where the control plane is that the host connects to."""
        certificates = ""
        options = self.options(ConnectionOptions)
        if self.is_cluster():
            certificates = "own" if self.desired_hypervisors()[1].signs else "shared"
        return control_plane_of(
            self.host,
            self.variables,
            self.hostvars,
            self.groups,
            tls=options.tls,
            central_host=options.central_host or "",
            node_certificates=certificates,
        )

    def node_signer(self, *, needed: bool) -> dict[str, t.Any] | None:
        """Return the CA that signs for nodes, None if there is none. `Refused` if the run needs it, or if others can use its key.

        Nothing of it may be in a result.
        """
        options = self.options(NodeSignerOptions, "ovn_pki", alone=True)
        directory = os.path.expanduser(os.path.expandvars(options.directory(self.variables)))
        places = authority_places("chassis", given=False, ca_directory=directory)
        given = options.given
        authority = {
            "certificate": options.chassis_ca["certificate"] if given else self._read_file(places.certificate),
            "private_key": options.chassis_ca.get("private_key") or ""
            if given
            else self._read_file(places.private_key),
        }
        unsafe = "" if given else key_problem(places.private_key, key_modes(places.private_key))
        problem = signer_problem(authority, given=given, directory=directory, key_problem=unsafe, needed=needed)
        if problem:
            raise Refused(f"{problem} Nothing was changed.")
        if not authority["certificate"]:
            return None
        return {
            **authority,
            "passphrase": options.chassis_ca.get("private_key_passphrase")
            or options.ca.get("private_key_passphrase")
            or "",
            "validity_days": options.validity_days,
            "other_chassis": machine_names(self.hostvars, self.groups),
        }

# SPDX-License-Identifier: GPL-3.0-or-later
"""The base of the steps of the role ovn_pki: what a host should have, and signing on the control node. The key of a CA is in no result."""

from __future__ import annotations

import abc
import datetime
import os
import typing as t

from ..module_utils._base.errors import Refused
from ..module_utils._host.ca_directory import AuthorityDirectory, Phase, key_modes
from ..module_utils._host.certificate import OPTIONS
from ..module_utils._pki import files
from ..module_utils._pki.issuing import AuthorityName, require_cryptography
from ..module_utils._pki.signing import SigningAuthority
from ..module_utils._roles.authorities import AUTHORITIES
from ..module_utils._roles.authority import SigningOptions, authority_places, key_problem, signing_problem
from ..module_utils._roles.pki_plan import CA_DIRECTORY, HostPlan, PlanOptions
from ..module_utils._roles.variables import Variables, first_value
from ._role_action import RoleAction

# Files and variables of the environment that tell that the control node is a container
_CONTAINER_FILES = ("/.dockerenv", "/run/.containerenv")
_CONTAINER_VARIABLES = ("KUBERNETES_SERVICE_HOST", "AWX_ISOLATED_DATA_DIR")
_PHASES: tuple[Phase, ...] = ("active", "next", "previous")
_NOTE_MODE = 0o644


class PkiAction(RoleAction, abc.ABC):
    ROLE = "ovn_pki"

    def plan(self) -> HostPlan:
        """Return what the options of this host and the CAs mean together, as they are now."""
        options = self.options(PlanOptions, alone=True, **self._ca_directory())
        texts: dict[str, dict[str, str]] = {
            name: {str(phase): self._read_file(directory.certificate(phase)) for phase in _PHASES}
            for name, directory in ((name, self._directory(options.ca_directory, name)) for name in AUTHORITIES)
        }
        return HostPlan(self.host, self.variables, self.hostvars, self.groups, options, texts)

    def signing_options(self) -> SigningOptions:
        return self.options(SigningOptions, **self._ca_directory())

    def _ca_directory(self) -> dict[str, t.Any]:
        """Return the directory whose default follows from the inventory."""
        beside = str(first_value(self.variables, "inventory_dir", "playbook_dir"))
        ca_directory = str(first_value(self.variables, "ovn_pki_ca_directory", default=f"{beside}/{CA_DIRECTORY}"))
        return {"ovn_pki_ca_directory": ca_directory}

    def directory_of(self, options: SigningOptions, authority: AuthorityName) -> AuthorityDirectory:
        """Return the files of a CA on the control node."""
        return self._directory(options.ca_directory, authority)

    def _directory(self, path: str, authority: AuthorityName) -> AuthorityDirectory:
        return AuthorityDirectory(path, authority, self._read_file)

    def signer(
        self, options: SigningOptions, authority: Variables, differences: t.Sequence[str] = ()
    ) -> SigningAuthority:
        """Return the CA; `Refused` if its key is not there or not safe, or if a request differs from its declaration.

        `authority` has `name`, `given` and `issuer` of `_roles.authorities`.
        """
        require_cryptography()
        name: AuthorityName = authority["name"]
        given = bool(authority["given"])
        places = authority_places(name, given, options.ca_directory)
        key = options.given_key(name) if given else self._read_file(places.private_key)
        unsafe = "" if given else key_problem(places.private_key, key_modes(places.private_key))
        problem = unsafe or signing_problem(
            self.host, differences, options, has_key=bool(key), given=given, authority=name
        )
        if problem:
            raise Refused(problem)
        return SigningAuthority(authority["issuer"], key, options.passphrase(name), options.validity_days, places)

    def read_note(self, path: str) -> str:
        """Return a note beside the CA as it is, empty if there is none."""
        return (files.read(path) or b"").decode()

    def write_note(self, path: str, text: str) -> bool:
        """Write a note beside the CA unless it is there; return whether that changes anything. In check mode it is only compared."""
        if files.read(path) == text.encode():
            return False
        if not self.check_mode:
            files.write_pending(path, text.encode(), _NOTE_MODE, files.Ownership(None, None))
            files.activate(path)
        return True

    def refuse(self, problem: str) -> None:
        if problem:
            raise Refused(problem)


def container_signs() -> dict[str, t.Any]:
    """Return what tells that the control node is a container, and so usually gone after the run."""
    files: dict[str, t.Any] = {path: os.path.exists(path) for path in _CONTAINER_FILES}
    return {**files, **{name: os.environ.get(name, "") for name in _CONTAINER_VARIABLES}}


def certificate_parameters(pair: Variables) -> dict[str, t.Any]:
    """Return all parameters of `apply_certificate` for a pair on the control node."""
    defaults = {name: option.get("default") for name, option in OPTIONS.items()}
    return {**defaults, **{name: value for name, value in pair.items() if value is not None}}


def utc_now() -> datetime.datetime:
    return datetime.datetime.now(datetime.timezone.utc)

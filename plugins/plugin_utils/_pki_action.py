# SPDX-License-Identifier: GPL-3.0-or-later
"""The base of the steps of the role ovn_pki that sign on the control node: the key of a CA is read where it is used, and is in no result."""

from __future__ import annotations

import abc
import datetime
import os
import typing as t

from ..module_utils._base.errors import Refused
from ..module_utils._host.ca_directory import AuthorityDirectory, key_modes
from ..module_utils._pki.issuing import AuthorityName, require_cryptography
from ..module_utils._pki.signing import SigningAuthority
from ..module_utils._roles.authority import SigningOptions, authority_places, key_problem, signing_problem
from ..module_utils._roles.variables import Variables
from ._role_action import RoleAction

# Files and variables of the environment that tell that the control node is a container
_CONTAINER_FILES = ("/.dockerenv", "/run/.containerenv")
_CONTAINER_VARIABLES = ("KUBERNETES_SERVICE_HOST", "AWX_ISOLATED_DATA_DIR")


class PkiAction(RoleAction, abc.ABC):
    ROLE = "ovn_pki"

    def signing_options(self) -> SigningOptions:
        return self.options(SigningOptions)

    def directory_of(self, options: SigningOptions, authority: AuthorityName) -> AuthorityDirectory:
        """Return the files of a CA on the control node."""
        return AuthorityDirectory(options.ca_directory, authority, self._read_file)

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


def container_signs() -> dict[str, t.Any]:
    """Return what tells that the control node is a container, and so usually gone after the run."""
    files: dict[str, t.Any] = {path: os.path.exists(path) for path in _CONTAINER_FILES}
    return {**files, **{name: os.environ.get(name, "") for name in _CONTAINER_VARIABLES}}


def utc_now() -> datetime.datetime:
    return datetime.datetime.now(datetime.timezone.utc)

# SPDX-License-Identifier: GPL-3.0-or-later
"""The files of a client's certificate. Separate from tls.py, so that a client without TLS does not import `ssl`."""

from __future__ import annotations

import typing as t

from .._base.tls_options import VARIABLES


class TlsFiles(t.NamedTuple):
    """PEM files on the machine where the module runs, in the order of `_base/tls_options.py`. OVSDB always authenticates both sides."""

    private_key: str | None = None
    certificate: str | None = None
    ca_certificate: str | None = None

    @classmethod
    def of_environment(cls, environment: t.Mapping[str, str]) -> TlsFiles:
        """Return the files from the environment of launchers and agents; an empty variable counts as absent."""
        return cls(*(environment.get(variable) or None for variable in VARIABLES))

    def as_environment(self) -> dict[str, str]:
        """Return the variables that `of_environment` reads."""
        return {variable: path for variable, path in zip(VARIABLES, self) if path}

    @property
    def complete(self) -> bool:
        return bool(self.private_key and self.certificate and self.ca_certificate)


NO_TLS = TlsFiles()

# Copyright: (c) 2026, C5C3 contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""PRIVATE to the collection: may change at any time.

How every daemon and client of Open vSwitch and OVN is given its TLS files: ovsdb-server(1), "Public Key Infrastructure Options". Pure.
"""

from __future__ import annotations

import typing as t

# In this order everywhere: private key, certificate, CA certificate.
VARIABLES = ("OVN_PRIVATE_KEY", "OVN_CERTIFICATE", "OVN_CA_CERTIFICATE")  # environment of launchers and agents
_OPTIONS = ("-p", "-c", "-C")

# For the launchers: arguments in the language of the shell.
SHELL_ARGUMENTS = " ".join(f'{option} "${variable}"' for option, variable in zip(_OPTIONS, VARIABLES))


def tls_arguments(paths: t.Sequence[str | None]) -> list[str]:
    """Return the arguments for these files, without those that are not given."""
    return [word for option, path in zip(_OPTIONS, paths) if path for word in (option, path)]

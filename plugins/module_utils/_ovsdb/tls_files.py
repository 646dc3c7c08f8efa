# Copyright: (c) 2026, C5C3 contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""PRIVATE to the collection: may change at any time.

The files of a client's certificate. Apart from tls.py, so that who speaks without TLS does not import `ssl`.
"""

from __future__ import annotations

import typing as t


class TlsFiles(t.NamedTuple):
    """PEM files on the machine where the module runs. OVSDB always authenticates both sides."""

    private_key: str | None = None
    certificate: str | None = None
    ca_certificate: str | None = None

    @property
    def complete(self) -> bool:
        return bool(self.private_key and self.certificate and self.ca_certificate)

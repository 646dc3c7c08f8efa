# Copyright: (c) 2026, C5C3 contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""PRIVATE to the collection: may change at any time.

When the certificates end that the members serve. The servers are asked, not the mounted files: a server reads a renewed file late, or never if it is broken.
"""

from __future__ import annotations

import socket
import ssl
import typing as t

from .._ovsdb.endpoint import Endpoint
from .._ovsdb.tls import new_context
from .._ovsdb.tls_files import TlsFiles
from .stoppable_thread import StoppableThread

_EVERY = 60.0
_ANSWER = 3.0
_NO_CHECK_TIME = 0x200000  # X509_V_FLAG_NO_CHECK_TIME: an expired certificate is what this is about


def served_until(endpoint: Endpoint, tls: TlsFiles) -> float | None:
    """Return when the certificate ends that a server of our authority serves, in seconds since 1970; None if it serves none or does not answer."""
    context = new_context(tls)
    context.verify_flags = ssl.VerifyFlags(int(context.verify_flags) | _NO_CHECK_TIME)
    try:
        raw = socket.create_connection((endpoint.host, endpoint.port), timeout=_ANSWER)
        with context.wrap_socket(raw) as connection:
            certificate = connection.getpeercert()
    except OSError:
        return None
    return ssl.cert_time_to_seconds(str(certificate["notAfter"])) if certificate else None


class CertificateWatch(StoppableThread):
    """Keeps `ends` up to date: when the certificate of each member ends, as long as it answers. It is empty without TLS."""

    def __init__(self, endpoints: t.Sequence[Endpoint], tls: TlsFiles, changed: t.Callable[[], None]) -> None:
        super().__init__("watch of the certificates")
        self.ends: dict[str, float] = {}
        self._endpoints = [endpoint for endpoint in endpoints if endpoint.scheme == "ssl"]
        self._tls, self._changed = tls, changed

    def run(self) -> None:
        while self._endpoints and not self._stopped.is_set():
            ends = dict(self.ends)
            for endpoint in self._endpoints:
                try:
                    end = served_until(endpoint, self._tls)
                except Exception:  # our own files are broken: the watches of the members report that
                    end = None
                if end is not None:  # one that does not answer has the certificate of before
                    ends[str(endpoint)] = end
            if ends != self.ends:
                self.ends = ends
                self._changed()
            self._stopped.wait(_EVERY)

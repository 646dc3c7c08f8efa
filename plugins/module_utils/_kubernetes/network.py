# Copyright: (c) 2026, C5C3 contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""PRIVATE to the collection: may change at any time.

What the network says when no API server answers: exceptions of urllib3 and of the system become errors of our family.
"""

from __future__ import annotations

import typing as t

from .._errors import CertificateProblem, OvnError, TimedOut, Unreachable

# urllib3 is on the control node only, so its exceptions are told apart by their names. The order matters: in urllib3 1.26
# a refused connection is a subclass of a timeout.
_KINDS: tuple[tuple[tuple[str, ...], type[OvnError], str], ...] = (
    (("SSLError", "SSLCertVerificationError"), CertificateProblem, ""),
    (("NameResolutionError",), Unreachable, "the name cannot be resolved"),
    (("ProxyError",), Unreachable, "the proxy does not answer"),
    (("NewConnectionError", "ConnectionRefusedError"), Unreachable, "nobody answers there"),
    (("ConnectTimeoutError",), TimedOut, "no connection in time"),
    (("ReadTimeoutError", "TimeoutError", "WebSocketTimeoutException"), TimedOut, "no answer in time"),
    (("ProtocolError", "ConnectionError", "WebSocketException"), Unreachable, "the connection broke"),
    (("LocationParseError", "LocationValueError", "UnknownScheme"), Unreachable, "this is no address"),
)


def network_failure(error: BaseException, doing: str, *, server: str, credentials: str) -> OvnError:
    innermost = _reason(error)
    names = {base.__name__ for base in type(innermost).__mro__}
    if isinstance(innermost, (FileNotFoundError, PermissionError)):
        return CertificateProblem(
            f"Cannot {doing}: {innermost}. Correct the path of the certificate or key in {credentials}, or its permissions."
        )
    for kinds, family, what in _KINDS:
        if not names.intersection(kinds):
            continue
        if family is CertificateProblem:
            return certificate_failure(str(innermost), doing, server=server, credentials=credentials)
        return family(
            f"Cannot {doing}: API server {server}: {what} ({innermost}). Is it up, and is this the address that {credentials} should have?"
        )
    return Unreachable(f"Cannot {doing}: API server {server}: {type(innermost).__name__}: {innermost}")


def certificate_failure(text: str, doing: str, *, server: str, credentials: str) -> CertificateProblem:
    return CertificateProblem(
        f"Cannot {doing}: TLS with the API server {server} failed ({' '.join(text.split())}). Compare the certificate authority in "
        f"{credentials} with the server's, and the name in its certificate with the address."
    )


def _reason(error: BaseException) -> BaseException:
    """urllib3 wraps what happened once it has given up retrying."""
    inner: t.Any = getattr(error, "reason", None)
    return _reason(inner) if isinstance(inner, BaseException) else error

# SPDX-License-Identifier: GPL-3.0-or-later
"""Failures of the network: exceptions of urllib3 and of the system become `OvnError`s."""

from __future__ import annotations

import typing as t

from .._base.errors import CertificateProblem, OvnError, TimedOut, Unreachable

# urllib3 is on the control node only, so its exceptions are distinguished by their names. The order matters: in urllib3 1.26
# a refused connection is a subclass of a timeout.
_REFUSED, _BROKEN = "nothing listens there", "the connection broke"
_KINDS: tuple[tuple[tuple[str, ...], type[OvnError], str], ...] = (
    (("SSLError", "SSLCertVerificationError"), CertificateProblem, ""),
    (("NameResolutionError",), Unreachable, "the name cannot be resolved"),
    (("ProxyError",), Unreachable, "the proxy does not answer"),
    (("NewConnectionError", "ConnectionRefusedError"), Unreachable, _REFUSED),
    (("ConnectTimeoutError",), TimedOut, "no connection in time"),
    (("ReadTimeoutError", "TimeoutError", "WebSocketTimeoutException"), TimedOut, "no answer in time"),
    (("ProtocolError", "ConnectionError", "WebSocketException"), Unreachable, _BROKEN),
    (("LocationParseError", "LocationValueError", "UnknownScheme"), Unreachable, "this is no address"),
)


def network_failure(error: BaseException, doing: str, *, server: str, credentials: str) -> OvnError:
    innermost = _innermost(error)
    if isinstance(innermost, (FileNotFoundError, PermissionError)):
        return CertificateProblem(
            f"Cannot {doing}: {innermost}. Correct the path of the certificate or key in {credentials}, or its permissions."
        )
    family, what = _classify(innermost)
    if family is CertificateProblem:
        return certificate_failure(str(innermost), doing, server=server, credentials=credentials)
    if not what:
        return Unreachable(f"Cannot {doing}: API server {server}: {type(innermost).__name__}: {innermost}")
    return family(
        f"Cannot {doing}: API server {server}: {what} ({innermost}). Is it up, and is this the address that {credentials} should have?"
    )


def is_connection_failure(error: BaseException | None) -> bool:
    """Return whether the connection was refused or cut, as a server does that restarts."""
    return error is not None and _classify(_innermost(error))[1] in (_REFUSED, _BROKEN)


def _classify(error: BaseException) -> tuple[type[OvnError], str]:
    names = {base.__name__ for base in type(error).__mro__}
    return next(((family, what) for kinds, family, what in _KINDS if names.intersection(kinds)), (Unreachable, ""))


def certificate_failure(text: str, doing: str, *, server: str, credentials: str) -> CertificateProblem:
    return CertificateProblem(
        f"Cannot {doing}: TLS with the API server {server} failed ({' '.join(text.split())}). Compare the certificate authority in "
        f"{credentials} with the server's, and the name in its certificate with the address."
    )


def _innermost(error: BaseException) -> BaseException:
    """Return the innermost cause: urllib3 wraps it when it stops retrying."""
    inner: t.Any = getattr(error, "reason", None)
    return _innermost(inner) if isinstance(inner, BaseException) else error

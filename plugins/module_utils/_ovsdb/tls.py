# SPDX-License-Identifier: GPL-3.0-or-later
"""TLS of OVSDB clients: the context of three files, and messages for failures. Imported only for ssl: endpoints."""

from __future__ import annotations

import errno
import functools
import os
import ssl
import typing as t

from .._base.errors import CertificateProblem, InvalidInput

if t.TYPE_CHECKING:
    from .tls_files import TlsFiles


@functools.lru_cache(maxsize=8)
def client_context(files: TlsFiles) -> ssl.SSLContext:
    """Return the context of these files, the same one for all connections."""
    return new_context(files)


def new_context(files: TlsFiles) -> ssl.SSLContext:
    """Return a context of the files as they are now; `InvalidInput` or `CertificateProblem` name the file that cannot be used.

    Host names are not checked, as no OVSDB client does (ovsdb(7)): every certificate of the CA is trusted.
    """
    for option, path in files._asdict().items():
        if not path:
            raise InvalidInput(
                f"{option} is missing: an ssl: endpoint needs private_key, certificate and ca_certificate."
            )
        if "\0" in path or not os.path.exists(path):
            raise CertificateProblem(f"{option} {path!r} does not exist on this host.")
        if os.path.isdir(path) or not os.access(path, os.R_OK):
            cause = "is a directory" if os.path.isdir(path) else "is not readable"
            raise CertificateProblem(f"{option} {path} {cause} on this host.")
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    context.check_hostname = False
    try:
        context.load_verify_locations(cafile=files.ca_certificate)
    except OSError as e:  # ssl.SSLError, or a file that vanished in between
        raise CertificateProblem(
            f"ca_certificate {files.ca_certificate} holds no usable PEM certificate: {_reason(e)}."
        ) from e
    try:
        # Without a passphrase of our own OpenSSL would ask for that of an encrypted key at the terminal, and wait.
        context.load_cert_chain(str(files.certificate), files.private_key, password=lambda: "")
    except OSError as e:
        raise CertificateProblem(
            f"certificate {files.certificate} and private_key {files.private_key} do not work together: {_reason(e)}. "
            "Both have to be PEM text of one pair, the key without a passphrase."
        ) from e
    return context


def _reason(e: OSError) -> str:
    if isinstance(e, ssl.SSLCertVerificationError):
        return e.verify_message
    return ((e.reason if isinstance(e, ssl.SSLError) else e.strerror) or str(e)).lower().replace("_", " ")


def tls_failure(name: str, e: OSError, *, answered: bool = False) -> CertificateProblem | None:
    """Return the error for a failure of TLS, None if `e` is not one. `name` is the endpoint; after it has `answered`, its connections end for other reasons."""
    if answered and isinstance(e, (ConnectionError, ssl.SSLEOFError)):
        return None
    if isinstance(e, ssl.SSLCertVerificationError):
        return CertificateProblem(f"{name} serves a certificate that ca_certificate does not trust: {_reason(e)}.")
    if isinstance(e, ssl.SSLError):
        if e.reason and "ALERT" in e.reason:
            return CertificateProblem(
                f"{name} refused our certificate: {_reason(e)}. Is it signed by the CA that the server trusts?"
            )
        return CertificateProblem(f"{name} does not speak TLS as expected: {_reason(e)}. Is it a tcp: endpoint?")
    if e.errno in (errno.ECONNRESET, errno.EPIPE):
        return CertificateProblem(
            f"{name} closed the connection during TLS: it may not trust our certificate, or is no TLS endpoint."
        )
    return None

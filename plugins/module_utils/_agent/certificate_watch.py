# SPDX-License-Identifier: GPL-3.0-or-later
"""When the certificates end that the members serve, the CAs that are trusted, and the certificates of chassis and clients. The servers are asked, not the
mounted files: a server reads a renewed file late, or never if it is broken. The others show nowhere else, so files are read.
"""

from __future__ import annotations

import socket
import ssl
import typing as t

from .._api.certificate_status import ObservedCertificates, TrustedAuthority
from .._api.observer_settings import CertificateFiles
from .._ovsdb.endpoint import Endpoint
from .._ovsdb.tls import new_context
from .._ovsdb.tls_files import TlsFiles
from .._pki.issued import IssuedCertificate, parse_list
from .process import StoppableThread

# The CAs in the bundles that daemons trust. Files are read each time, since a rotation replaces them.

_SHORT = {
    "commonName": "CN",
    "organizationalUnitName": "OU",
    "organizationName": "O",
    "localityName": "L",
    "stateOrProvinceName": "ST",
    "countryName": "C",
}


def read_authorities(central: str | None, clients: str | None) -> list[TrustedAuthority]:
    """Return the CAs that both files have, those in `clients` without those in `central`; none of a file that cannot be read.

    Only certificates that are marked as those of a CA count.
    """
    known = _read(central)
    # Without the first file nobody can tell which ones are whose.
    more = [one for one in _read(clients) if one not in known] if known else []
    return [*(one.of("central") for one in known), *(one.of("chassis") for one in more)]


class _Certificate(t.NamedTuple):
    subject: str
    serial: str
    end: float

    def of(self, bundle: str) -> TrustedAuthority:
        return TrustedAuthority(bundle, self.subject, self.serial, self.end)


def _read(path: str | None) -> list[_Certificate]:
    if not path:
        return []
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    try:
        context.load_verify_locations(cafile=path)
        found = [
            _Certificate(
                _subject(one["subject"]), str(one["serialNumber"]), ssl.cert_time_to_seconds(str(one["notAfter"]))
            )
            for one in context.get_ca_certs()
        ]
    except (OSError, ValueError):  # absent, unreadable, or not PEM
        return []
    # Two samples with the same labels would spoil all metrics.
    return list({(one.subject, one.serial): one for one in found}.values())


def _subject(names: t.Any) -> str:
    """Return the name in the order of the certificate, for example O=Example,CN=OVN CA."""
    return ",".join(f"{_SHORT.get(kind, kind)}={value}" for part in names for kind, value in part)


_ANSWER = 3.0
_NO_CHECK_TIME = 0x200000  # X509_V_FLAG_NO_CHECK_TIME: an expired certificate is what this is about
_NOT_YET_VALID = 9  # X509_V_ERR_CERT_NOT_YET_VALID
_HAS_EXPIRED = 10  # X509_V_ERR_CERT_HAS_EXPIRED, of the certificate or of the CA that signed it


class ServedCertificate(t.NamedTuple):
    """When it ends, in seconds since 1970, and whether it is refused because its time or that of its CA is over."""

    end: float
    refused: bool


def served_certificate(endpoint: Endpoint, tls: TlsFiles) -> ServedCertificate | None:
    """Return the certificate that a server of our authority serves; None if it serves none or does not answer."""
    context, refused = new_context(tls), False
    try:
        try:
            end = _served_until(endpoint, context)
        except ssl.SSLCertVerificationError as e:
            if e.verify_code not in (_NOT_YET_VALID, _HAS_EXPIRED):
                return None
            refused = e.verify_code == _HAS_EXPIRED
            context.verify_flags = ssl.VerifyFlags(int(context.verify_flags) | _NO_CHECK_TIME)
            end = _served_until(endpoint, context)
    except OSError:
        return None
    return None if end is None else ServedCertificate(end, refused)


def _served_until(endpoint: Endpoint, context: ssl.SSLContext) -> float | None:
    raw = socket.create_connection((endpoint.host, endpoint.port), timeout=_ANSWER)
    with context.wrap_socket(raw) as connection:
        certificate = connection.getpeercert()
    return ssl.cert_time_to_seconds(str(certificate["notAfter"])) if certificate else None


def read_issued(path: str | None) -> list[IssuedCertificate]:
    """Return what the list has; nothing if there is none yet, or if it cannot be read: the next run makes it again."""
    if not path:
        return []
    try:
        with open(path, encoding="utf-8") as file:
            return parse_list(file.read()) or []
    except (OSError, ValueError):  # ValueError: not UTF-8
        return []


class CertificateWatch(StoppableThread):
    """Keeps `found` up to date: the certificate of each member, as long as it answers, the CAs of both bundles, and the certificates of chassis and clients.

    It is empty without TLS. `every` in seconds.
    """

    def __init__(
        self,
        endpoints: t.Sequence[Endpoint],
        tls: TlsFiles,
        files: CertificateFiles,
        every: float,
        changed: t.Callable[[], None],
    ) -> None:
        super().__init__("watch of the certificates")
        self.found = ObservedCertificates({})
        self._endpoints = [endpoint for endpoint in endpoints if endpoint.scheme == "ssl"]
        self._tls, self._files, self._every, self._changed = tls, files, every, changed
        self._served: dict[str, ServedCertificate] = {}

    def run(self) -> None:
        while self._endpoints and not self._stopped.is_set():
            found = self._observe()
            if found != self.found:
                self.found = found
                self._changed()
            self._stopped.wait(self._every)

    def _observe(self) -> ObservedCertificates:
        for endpoint in self._endpoints:
            try:
                served = served_certificate(endpoint, self._tls)
            except Exception:  # our own files are broken: the watches of the members report that
                served = None
            if served is not None:  # one that does not answer has the certificate of before
                self._served[str(endpoint)] = served
        return ObservedCertificates(
            {endpoint: served.end for endpoint, served in self._served.items()},
            sorted(endpoint for endpoint, served in self._served.items() if served.refused),
            read_authorities(self._tls.ca_certificate, self._files.client_ca),
            read_issued(self._files.issued),
        )

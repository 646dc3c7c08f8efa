# SPDX-License-Identifier: GPL-3.0-or-later
"""The CAs in the bundles that daemons trust. Files are read each time, since a rotation replaces them."""

from __future__ import annotations

import ssl
import typing as t

from .._api.certificate_status import TrustedAuthority

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

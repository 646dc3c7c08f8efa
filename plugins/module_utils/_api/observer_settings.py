# SPDX-License-Identifier: GPL-3.0-or-later
"""What the manifests pass to the observer in its environment."""

from __future__ import annotations

import typing as t

from .._base.databases import DATABASES
from .._base.errors import InvalidInput
from .._base.tls_options import CLIENT_CA_VARIABLE
from .._daemons.schema_update import FOLDER
from .._ovsdb.endpoint import Endpoint, parse_endpoints
from .._ovsdb.tls_files import TlsFiles

ALIVE_FILE = "/run/ovn/observer-alive"
COMPARE_SECONDS = 3600.0  # between two comparisons of the contents of members: each costs them time

RELAY_SECONDS = 15.0  # between two looks at the relays
CERTIFICATE_SECONDS = 60.0  # between two looks at the certificates that are served, and at the CAs
CLAIMS_SECONDS = 300.0  # between two looks at what chassis claim: each reads all ports
HEARTBEAT_SECONDS = 60  # between two heartbeats

RELAYS_VARIABLE = "OVN_RELAYS"  # where chassis connect, if relays serve them
ISSUED_VARIABLE = "OVN_ISSUED_CERTIFICATES"  # the list of issued certificates


class Intervals(t.NamedTuple):
    """In seconds: between two heartbeats (0: none are sent), two looks at what chassis claim, two comparisons of the contents of members, two looks at
    certificates and CAs, two looks at relays.
    """

    heartbeats: float = HEARTBEAT_SECONDS
    claims: float = CLAIMS_SECONDS
    comparisons: float = COMPARE_SECONDS
    certificates: float = CERTIFICATE_SECONDS
    relays: float = RELAY_SECONDS

    @classmethod
    def of(cls, environment: t.Mapping[str, str]) -> Intervals:
        return cls(
            float(environment.get("OVN_HEARTBEAT_SECONDS", HEARTBEAT_SECONDS)),
            float(environment.get("OVN_CLAIMS_SECONDS", CLAIMS_SECONDS)),
            float(environment.get("OVN_COMPARE_SECONDS", COMPARE_SECONDS)),
            float(environment.get("OVN_CERTIFICATE_SECONDS", CERTIFICATE_SECONDS)),
            float(environment.get("OVN_RELAY_SECONDS", RELAY_SECONDS)),
        )


class CertificateFiles(t.NamedTuple):
    """Where certificates stand that no server shows: `client_ca` has the CAs of whom the Southbound lets in, None if these are the ones that everybody
    trusts, `issued` the list of certificates of chassis and clients, None without one.
    """

    client_ca: str | None = None
    issued: str | None = None

    @classmethod
    def of(cls, environment: t.Mapping[str, str]) -> CertificateFiles:
        return cls(environment.get(CLIENT_CA_VARIABLE) or None, environment.get(ISSUED_VARIABLE) or None)


class ObserverSettings(t.NamedTuple):
    """From the environment. `metrics_port` 0: no metrics are served."""

    name: str
    namespace: str
    endpoints: t.Mapping[str, t.Sequence[Endpoint]]
    tls: TlsFiles
    alive_file: str
    schemas: str = FOLDER
    intervals: Intervals = Intervals()
    metrics_port: int = 0
    certificate_files: CertificateFiles = CertificateFiles()
    relays: t.Sequence[Endpoint] = ()

    @classmethod
    def of(cls, environment: t.Mapping[str, str]) -> ObserverSettings:
        return cls(
            name=needed(environment, "OVN_CLUSTER_NAME"),
            namespace=needed(environment, "OVN_NAMESPACE"),
            endpoints=endpoints_of(environment),
            tls=TlsFiles.of_environment(environment),
            alive_file=environment.get("OVN_ALIVE_FILE", ALIVE_FILE),
            schemas=environment.get("OVN_SCHEMAS", FOLDER),
            intervals=Intervals.of(environment),
            metrics_port=int(environment.get("OVN_METRICS_PORT", 0)),
            certificate_files=CertificateFiles.of(environment),
            relays=relays_of(environment),
        )


def endpoints_of(environment: t.Mapping[str, str]) -> dict[str, list[Endpoint]]:
    """Return the ports of the members without a role, by database; `InvalidInput` if a variable is not set."""
    return {name: parse_endpoints([needed(environment, f"OVN_{name.upper()}")]) for name in DATABASES}


def relays_of(environment: t.Mapping[str, str]) -> list[Endpoint]:
    """Return the ports of chassis; none where no relays serve them."""
    text = environment.get(RELAYS_VARIABLE)
    return parse_endpoints([text]) if text else []


def needed(environment: t.Mapping[str, str], variable: str) -> str:
    """Return the value of the variable; `InvalidInput` if it is not set."""
    if not environment.get(variable):
        raise InvalidInput(f"{variable} is not set.")
    return environment[variable]

# Copyright: (c) 2026, C5C3 contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""PRIVATE to the collection: may change at any time.

What the manifests pass to the observer in its environment.
"""

from __future__ import annotations

import typing as t

from .._database.schema_update import FOLDER
from .._databases import DATABASES
from .._errors import InvalidInput
from .._ovsdb.endpoint import Endpoint, parse_endpoints
from .._ovsdb.tls_files import TlsFiles

ALIVE_FILE = "/run/ovn/observer-alive"
COMPARE_SECONDS = 3600.0  # between two comparisons of the contents of members: each costs them time

CLAIMS_SECONDS = 300.0  # between two looks at what chassis claim: each reads all ports
HEARTBEAT_SECONDS = 60  # between two heartbeats


class ObserverSettings(t.NamedTuple):
    """From the environment."""

    name: str
    namespace: str
    endpoints: t.Mapping[str, t.Sequence[Endpoint]]
    tls: TlsFiles
    alive_file: str
    schemas: str = FOLDER
    compare_seconds: float = COMPARE_SECONDS
    heartbeat_seconds: float = HEARTBEAT_SECONDS
    claims_seconds: float = CLAIMS_SECONDS

    @classmethod
    def of(cls, environment: t.Mapping[str, str]) -> ObserverSettings:
        def needed(variable: str) -> str:
            if not environment.get(variable):
                raise InvalidInput(f"{variable} is not set.")
            return environment[variable]

        return cls(
            name=needed("OVN_CLUSTER_NAME"),
            namespace=needed("OVN_NAMESPACE"),
            endpoints={name: parse_endpoints([needed(f"OVN_{name.upper()}")]) for name in DATABASES},
            tls=TlsFiles.of_environment(environment),
            alive_file=environment.get("OVN_ALIVE_FILE", ALIVE_FILE),
            schemas=environment.get("OVN_SCHEMAS", FOLDER),
            heartbeat_seconds=float(environment.get("OVN_HEARTBEAT_SECONDS", HEARTBEAT_SECONDS)),
            claims_seconds=float(environment.get("OVN_CLAIMS_SECONDS", CLAIMS_SECONDS)),
            compare_seconds=float(environment.get("OVN_COMPARE_SECONDS", COMPARE_SECONDS)),
        )

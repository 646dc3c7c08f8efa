# SPDX-License-Identifier: GPL-3.0-or-later
"""Names in the certificate of a control plane in Kubernetes. Pure."""

from __future__ import annotations

import typing as t

from .._base.databases import DATABASES, Database
from .._base.inventory import as_list
from .names import CLIENT_SERVICES

_CONNECTIONS: dict[Database, str] = {
    "northbound": "nbConnection",
    "southbound": "sbConnection",
}  # in neutronIntegration


def service_names(specification: t.Mapping[str, t.Any], cluster: str, namespace: str, domain: str) -> list[str]:
    """Return all members (a wildcard for each headless Service), Neutron's Services, and the declared names. `domain` is that of the Kubernetes cluster."""
    services = [
        *(f"*.{cluster}-{database}" for database in DATABASES),
        *(
            _field(specification, "neutronIntegration", connection, "service", "name") or CLIENT_SERVICES[database]
            for database, connection in _CONNECTIONS.items()
        ),
    ]
    declared = [name for d in DATABASES for name in as_list(_field(specification, d, "service", "hostnames") or [])]
    return [
        *(f"{service}.{namespace}.svc{suffix}" for service in services for suffix in ("", f".{domain}")),
        *dict.fromkeys(declared),
    ]


def _field(specification: t.Any, *path: str) -> t.Any:
    for name in path:
        specification = (specification or {}).get(name)
    return specification

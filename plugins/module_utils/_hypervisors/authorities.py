# SPDX-License-Identifier: GPL-3.0-or-later
"""The CAs that nodes with certificates of their own trust: a copy of what the Secret has, which is for the run alone."""

from __future__ import annotations

import base64

from .._api.names import CA_KEY
from .._base.errors import Refused
from .._base.tls_options import certificates_of
from .._kubernetes.client import Cluster
from .._kubernetes.secret_files import read_secret
from .desired import DesiredHypervisors


def needs_authorities(desired: DesiredHypervisors) -> bool:
    """Return whether nodes get the CAs in a ConfigMap of ours: not from the Secret, and not from a ConfigMap of another owner."""
    return (
        desired.has_node_certificates and desired.tls_secret is not None and desired.spec.tls.ca_config_map_ref is None
    )


def read_authorities(cluster: Cluster, desired: DesiredHypervisors) -> tuple[str, str]:
    """Return the CAs in the Secret, and why there are none; both empty if they are not needed."""
    secret = desired.tls_secret
    if secret is None or not needs_authorities(desired):
        return "", ""
    data, refusal = read_secret(cluster, secret, desired.namespace)
    bundle = _text((data or {}).get(CA_KEY, ""))
    if certificates_of(bundle):
        return bundle, ""
    cause = _cause(refusal, f"Secret {desired.namespace}/{secret}", is_there=data is not None)
    return "", f"{cause}, so the CAs that nodes trust stay as they are; without any, their pods do not start."


def _text(data: str) -> str:
    try:
        return base64.b64decode(data).decode()
    except ValueError:
        return ""


def _cause(refusal: Refused | None, secret: str, *, is_there: bool) -> str:
    if refusal is not None:
        return f"{secret} cannot be read ({str(refusal).rstrip('.')})"
    return f"{secret} has no certificate in {CA_KEY}" if is_there else f"{secret} does not exist"

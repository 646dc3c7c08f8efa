# SPDX-License-Identifier: GPL-3.0-or-later
"""Carries out what was decided about a request of a node, and makes the certificate with which a run deletes a chassis that is gone."""

from __future__ import annotations

import base64
import contextlib
import datetime
import os
import tempfile
import typing as t

from .._api.names import CA_KEY, Object
from .._api.service_accounts import account_of, account_of_pods, hypervisor_accounts
from .._base.errors import Refused
from .._base.tls_options import CHASSIS_SIGNER, certificates_of
from .._kubernetes.client import Cluster
from .._kubernetes.secret_files import read_secret
from .._ovsdb.tls_files import TlsFiles
from .._pki.certificates import new_private_key, new_request
from .._pki.chassis_requests import RequestDecision, pem_of
from .._pki.signing import SigningAuthority
from .chassis_names import check_common_name
from .desired import DesiredHypervisors

# The CAs that nodes with certificates of their own trust: a copy of what the Secret has, which is for the run alone.


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


if t.TYPE_CHECKING:
    from .._api.spec import ClusterSpec

_API, _KIND = "certificates.k8s.io/v1", "CertificateSigningRequest"


def agents_user(spec: ClusterSpec, namespace: str, workload: Object | None = None) -> str:
    """Return the user name of the agents of a hypervisor cluster: as in the DaemonSet `workload`, else as declared."""
    account = (account_of_pods(workload) if workload else None) or account_of(hypervisor_accounts(spec), "controller")
    return f"system:serviceaccount:{namespace}:{account}"


def list_requests(cluster: Cluster) -> list[Object]:
    """Return all requests for certificates of chassis, also those of other hypervisor clusters."""
    return cluster.list(_API, _KIND, fields=f"spec.signerName={CHASSIS_SIGNER}")


def carry_out(cluster: Cluster, request: Object, decision: RequestDecision, authority: SigningAuthority) -> None:
    """Sign or deny a request, as it was decided. `Conflict` if another run was faster."""
    if decision.verdict == "deny":
        # The API server takes no denial of a request that somebody has approved.
        kind, subresource = ("Failed", "status") if decision.approved else ("Denied", "approval")
        _add_condition(cluster, request, kind, decision.reason, subresource)
        return
    now = datetime.datetime.now(datetime.timezone.utc)
    certificate = authority.sign(pem_of(request), decision.chassis, now)
    if not decision.approved:
        message = f"It is for chassis {decision.chassis}, of its own node."
        request = _add_condition(cluster, request, "Approved", message, "approval")
    patch = {"certificate": base64.b64encode(certificate.encode()).decode()}
    _patch(cluster, request, "status", patch)


def _add_condition(cluster: Cluster, request: Object, kind: str, message: str, subresource: str) -> Object:
    conditions = list((request.get("status") or {}).get("conditions") or ())
    condition = {"type": kind, "status": "True", "reason": "c5c3.ovn", "message": message}
    return _patch(cluster, request, subresource, {"conditions": [*conditions, condition]})


def _patch(cluster: Cluster, request: Object, subresource: str, status: Object) -> Object:
    metadata = request["metadata"]
    patch = {"metadata": {"resourceVersion": metadata["resourceVersion"]}, "status": status}
    return cluster.patch(_API, _KIND, metadata["name"], None, patch, subresource=subresource)


@contextlib.contextmanager
def pair_of_chassis(authority: SigningAuthority, chassis: str, directory: str) -> t.Iterator[TlsFiles]:
    """Yield key and certificate of a chassis that is gone, to delete its rows: files in a directory of their own for as long as the context lasts.

    They are valid for a day. `directory` is that of the module, which Ansible removes after a module that was killed. `InvalidInput` if no certificate can
    have that name, or if the CA has ended.
    """
    check_common_name(chassis)
    key, pem = new_private_key()
    now = datetime.datetime.now(datetime.timezone.utc)
    request = new_request(key, chassis, (), ("clientAuth",)).decode()
    certificate = authority.sign(request, chassis, now, days=1)
    with tempfile.TemporaryDirectory(prefix="c5c3-ovn-", dir=directory) as own:  # mode 0700
        paths = [os.path.join(own, name) for name in ("tls.key", "tls.crt")]
        for path, text in zip(paths, (pem.decode(), certificate)):
            with open(path, "w", encoding="ascii") as file:
                file.write(text)
        yield TlsFiles(paths[0], paths[1], None)

# Copyright: (c) 2026, C5C3 contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""PRIVATE to the collection: may change at any time.

Signs what the agents of the nodes ask for: once, or again and again while a run waits for their pods.
"""

from __future__ import annotations

import base64
import contextlib
import datetime
import os
import tempfile
import threading
import typing as t

from .._api.names import Object
from .._errors import Conflict, OvnError, Refused
from .._kubernetes.client import Cluster
from .._manifests.hypervisors import CONTROLLER
from .._ovsdb.tls_files import TlsFiles
from .._pki.certificates import new_private_key, new_request
from .._pki.chassis_requests import RequestDecision, judge_request, pem_of
from .._pki.signing import SigningAuthority
from .._tls_options import CHASSIS_SIGNER

_API, _KIND = "certificates.k8s.io/v1", "CertificateSigningRequest"
_PAUSE = 2.0  # seconds between two looks while a run waits


def account_of(namespace: str) -> str:
    """Return the user name of the agents of a hypervisor cluster."""
    return f"system:serviceaccount:{namespace}:{CONTROLLER}"


def sign_pending(
    cluster: Cluster,
    authority: SigningAuthority | None,
    *,
    namespace: str,
    chassis: t.Mapping[str, str],
    check_mode: bool = False,
) -> list[RequestDecision]:
    """Sign or deny every request of the agents in `namespace` that waits, and return what was decided, in check mode what would be.

    `chassis` goes from nodes to system ids. It may be called at any time and again: what another run does at the same moment is left to that run. Without
    an authority nothing is signed.
    """
    requests = cluster.list(_API, _KIND, fields=f"spec.signerName={CHASSIS_SIGNER}")
    done = []
    for request in requests:
        decision = judge_request(request, account=account_of(namespace), chassis=chassis)
        if decision.verdict == "ignore" or (decision.verdict == "sign" and authority is None):
            continue
        if not check_mode:
            try:
                _carry_out(cluster, request, decision, authority)
            except Conflict:
                continue
            except Refused as e:
                if e.details.get("http_status") == 404:  # its agent has asked again
                    continue
                raise
        done.append(decision)
    return done


def _carry_out(
    cluster: Cluster, request: Object, decision: RequestDecision, authority: SigningAuthority | None
) -> None:
    conditions = list((request.get("status") or {}).get("conditions") or ())
    if decision.verdict == "deny":
        _add_condition(cluster, request, conditions, "Denied", decision.reason)
        return
    if not any(one["type"] == "Approved" for one in conditions):
        message = f"It is for chassis {decision.chassis}, of its own node."
        request = _add_condition(cluster, request, conditions, "Approved", message)
    if authority is not None:
        now = datetime.datetime.now(datetime.timezone.utc)
        certificate = authority.sign(pem_of(request), decision.chassis, now)
        patch = {"certificate": base64.b64encode(certificate.encode()).decode()}
        _patch(cluster, request, "status", patch)


def _add_condition(cluster: Cluster, request: Object, conditions: list[Object], kind: str, message: str) -> Object:
    condition = {"type": kind, "status": "True", "reason": "c5c3.ovn", "message": message}
    return _patch(cluster, request, "approval", {"conditions": [*conditions, condition]})


def _patch(cluster: Cluster, request: Object, subresource: str, status: Object) -> Object:
    metadata = request["metadata"]
    patch = {"metadata": {"resourceVersion": metadata["resourceVersion"]}, "status": status}
    return cluster.patch(_API, _KIND, metadata["name"], None, patch, subresource=subresource)


@contextlib.contextmanager
def pair_of_chassis(authority: SigningAuthority, chassis: str) -> t.Iterator[TlsFiles]:
    """Yield key and certificate of a chassis that is gone, to delete its rows: files for as long as the context lasts, valid for a day."""
    key, pem = new_private_key()
    now = datetime.datetime.now(datetime.timezone.utc)
    request = new_request(key, chassis, (), ("clientAuth",)).decode()
    certificate = authority.sign(request, chassis, now, days=1)
    with tempfile.TemporaryDirectory(prefix="c5c3-ovn-") as directory:  # mode 0700
        paths = [os.path.join(directory, name) for name in ("tls.key", "tls.crt")]
        for path, text in zip(paths, (pem.decode(), certificate)):
            with open(path, "w", encoding="ascii") as file:
                file.write(text)
        yield TlsFiles(paths[0], paths[1], None)


class SigningLoop:
    """Signs in a thread of its own, beside the waits of a run. `decisions` and `error` are complete when it has stopped."""

    def __init__(self, sign: t.Callable[[], list[RequestDecision]]) -> None:
        self._sign, self._stopped = sign, threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)
        self.decisions: list[RequestDecision] = []
        self.error: OvnError | None = None

    @contextlib.contextmanager
    def running(self) -> t.Iterator[SigningLoop]:
        self._thread.start()
        try:
            yield self
        finally:
            self._stopped.set()
            self._thread.join()

    def _run(self) -> None:
        while not self._stopped.is_set():
            try:
                self.decisions += self._sign()
                self.error = None
            except OvnError as e:
                self.error = e
            self._stopped.wait(_PAUSE)

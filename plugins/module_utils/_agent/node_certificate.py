# SPDX-License-Identifier: GPL-3.0-or-later
"""The certificate of one node: key and request are made here, by openssl(1), and signed by a run, which has the key of the CA. Its own key never
leaves the node.

In the folder, `current` is a link to the folder of the pair that ovn-controller uses, so key and certificate change in one step; `next` has the key of a
request that waits.
"""

from __future__ import annotations

import base64
import contextlib
import hashlib
import os
import shutil
import time
import typing as t

from .._base.errors import Conflict, OvnError, Refused
from .._base.tls_options import CHASSIS_SIGNER, CHASSIS_USAGES, COMMON_NAME
from .api_client import Api
from .key_pair import CERTIFICATE, KEY, CertificateInUse, format_moment, make_request, read_pair, request_path
from .process import file_state, replace_file

_PATH = "/apis/certificates.k8s.io/v1/certificatesigningrequests"
_CURRENT, _NEXT, _PAIR = "current", "next", "pair-"
# Seconds
_AGAIN = 300.0  # after a denial, or a certificate that is no good: the one who decides may have been wrong
_REST = 3600.0  # after a certificate: a clock that is wrong shall not ask for one after the other
_SOON, _SELDOM, _SELDOM_IN_NEED = 5.0, 300.0, 30.0  # between two looks at a request that waits


class NodeCertificate:
    """`problem` is what keeps a certificate that still works from being renewed, or is wrong with the clock, empty if nothing is.

    `is_urgent`: the problem cannot wait, since the certificate ends soon, or another CA signs today.
    """

    def __init__(
        self,
        folder: str,
        api: Api,
        issuer: str = "",
        *,
        now: t.Callable[[], float] = time.time,
        ticks: t.Callable[[], float] = time.monotonic,
    ) -> None:
        """`issuer` is the certificate (PEM) of the CA that signs, empty if that is not known. `ticks` is a clock that nobody sets."""
        self.folder, self.api, self._issuer, self._now, self._ticks = folder, api, issuer, now, ticks
        self._request = WaitingRequest()
        self._rest_until = 0.0
        self._known: tuple[t.Any, CertificateInUse | None] = ((), None)
        self.problem, self.is_urgent = "", False

    def ensure(self, name: str) -> None:
        """Return if the node has a certificate for the chassis `name`; `OvnError` tells what it waits for. A new one is asked for in time."""
        if not COMMON_NAME.fullmatch(name):
            raise Refused(
                f"The chassis name {name!r} cannot be that of a certificate: use up to 64 letters, digits, dots, dashes and underscores."
            )
        now = self._now()
        pair = self._serving(name)
        try:
            if pair is None or pair.is_due(now):
                with self._space_in_folder():
                    pair = self._use_signed(name, pair)
            if pair is not None and not pair.is_due(now):
                self._say(pair.clock_problem(now))
                return
            in_need = pair is None or not pair.of_issuer
            if not in_need:
                self._refuse_haste(name)
            self._ask_in_time(name, in_need=in_need)
            self._say("")
        except OvnError as e:
            if pair is None:
                raise
            former = "" if pair.of_issuer else "The certificate in use is of another CA than that which signs today. "
            self._say(f"{former}{e}", is_urgent=not pair.of_issuer or pair.is_ending(now))

    def _say(self, problem: str, *, is_urgent: bool = False) -> None:
        self.problem, self.is_urgent = problem, is_urgent

    def read(self) -> CertificateInUse | None:
        """Return the certificate in use, None without one or if its key is another one's. openssl(1) runs only if a file has changed."""
        current = f"{self.folder}/{_CURRENT}"
        state = tuple(file_state(f"{current}/{name}") for name in (KEY, CERTIFICATE))
        if state != self._known[0]:
            self._known = state, self._read(current)
        return self._known[1]

    def _serving(self, name: str) -> CertificateInUse | None:
        """Return the certificate in use if it serves, None if it does not."""
        pair = self.read()
        return pair if pair is not None and pair.serves(name, self._now()) else None

    def _use_signed(self, name: str, pair: CertificateInUse | None) -> CertificateInUse | None:
        """Use a better one than `pair` that was signed, and not used because the agent was killed; return the certificate that serves, None if none does."""
        now, current = self._now(), os.path.basename(os.path.realpath(f"{self.folder}/{_CURRENT}"))
        for one in self._pairs():
            found = self._read(f"{self.folder}/{one}") if pair is None or one != current else None
            if found is None or found.problem(name, now):
                continue
            if pair is None or not pair.of_issuer or found.end > pair.end:
                self._link(one)
                return self.read()
        return pair

    def _read(self, folder: str) -> CertificateInUse | None:
        return read_pair(folder, self._issuer) if os.path.exists(f"{folder}/{CERTIFICATE}") else None

    @contextlib.contextmanager
    def _space_in_folder(self) -> t.Iterator[None]:
        """Raise `Refused` if the folder cannot be read or written."""
        try:
            yield
        except OSError as e:
            raise Refused(
                f"Key and certificate of this node cannot be kept in {self.folder} of its pod: {e}. Free some space on that file system of the node, and look "
                "at its mount; the agent tries again by itself."
            ) from e

    def _pairs(self) -> list[str]:
        with contextlib.suppress(FileNotFoundError):
            return sorted(one for one in os.listdir(self.folder) if one.startswith(_PAIR))
        return []

    def _refuse_haste(self, name: str) -> None:
        if self._ticks() < self._rest_until:
            raise Refused(
                f"The certificate of chassis {name} was signed less than an hour ago, and is due by the clock of this node, which shows "
                f"{format_moment(self._now())}. Compare that with the clock of the control node."
            )

    def _ask_in_time(self, name: str, *, in_need: bool) -> None:
        """Ask, or raise again what the last answer was if that is not long ago: the longer it waits, the less often."""
        self._request.raise_answer(name, self._ticks())
        try:
            with self._space_in_folder():
                self._ask(name)
        except OvnError as e:
            self._request.keep_answer(e, self._ticks(), longest=_SELDOM_IN_NEED if in_need else _SELDOM)
            raise
        self._request = WaitingRequest()
        self.rest()

    def rest(self) -> None:
        """Ask for no other certificate for an hour, since there is a new one."""
        self._rest_until = self._ticks() + _REST

    def _ask(self, name: str) -> None:
        """Use the certificate if the request was signed; else `Refused` with what is waited for."""
        request = self._request_text(name)
        title = f"ovn-chassis-{hashlib.sha256(request.encode()).hexdigest()[:32]}"
        status = self._find_or_create(title, request).get("status") or {}
        if status.get("certificate"):
            self.use(_decoded(status["certificate"]), name, title)
            return
        denials = [one for one in status.get("conditions") or () if one["type"] in ("Denied", "Failed")]
        if denials:
            self._forget_later()
            raise Refused(
                f"CertificateSigningRequest {title} got no certificate: {denials[0].get('message') or 'denied without a reason'} The node asks again in "
                f"{_AGAIN / 60:g} minutes; look at kubectl describe csr {title}."
            )
        raise Refused(
            f"CertificateSigningRequest {title} for chassis {name} is not signed yet. Run c5c3.ovn.hypervisors, which has the key of the CA."
        )

    def _forget_later(self) -> None:
        """Make another request when this one was denied long ago."""
        if self._request.denied_at is None:
            self._request.denied_at = self._ticks()
        elif self._ticks() >= self._request.denied_at + _AGAIN:
            shutil.rmtree(f"{self.folder}/{_NEXT}", ignore_errors=True)
            self._request.denied_at = None

    def _find_or_create(self, title: str, request: str) -> t.Any:
        found = self.api.get(f"{_PATH}/{title}")
        if found is not None:
            return found
        body = {
            "apiVersion": "certificates.k8s.io/v1",
            "kind": "CertificateSigningRequest",
            "metadata": {"name": title},
            "spec": {
                "request": base64.b64encode(request.encode()).decode(),
                "signerName": CHASSIS_SIGNER,
                "usages": list(CHASSIS_USAGES),
            },
        }
        try:
            return self.api.create(_PATH, body)
        except Conflict:  # it was created meanwhile
            return self.api.get(f"{_PATH}/{title}") or {}

    def _request_text(self, name: str) -> str:
        """Return the request (PEM) of the pair that comes next, made once: another one would be another object."""
        folder = f"{self.folder}/{_NEXT}"
        path = request_path(folder, name)
        if not os.path.exists(path):
            shutil.rmtree(folder, ignore_errors=True)
            make_request(folder, name)
        with open(path, encoding="ascii") as file:
            return file.read()

    def use(self, certificate: str, name: str, title: str) -> None:
        """Let ovn-controller use the pair that was signed, and delete the former one; `Refused`, and that one stays, if it is no good."""
        folder = f"{self.folder}/{_NEXT}"
        replace_file(f"{folder}/{CERTIFICATE}", certificate)
        found = self._read(folder)
        problem = "it is not for the key of its request" if found is None else found.problem(name, self._now())
        if problem:
            shutil.rmtree(folder, ignore_errors=True)
            self._request.pause = _REST if found is not None and self._now() >= found.end else _AGAIN
            raise Refused(
                f"The certificate that was signed for chassis {name} is not used: {problem}. The node asks for another one in "
                f"{self._request.pause / 60:g} minutes; look at who has signed CertificateSigningRequest {title}."
            )
        pair = f"{_PAIR}{hashlib.sha256(certificate.encode()).hexdigest()[:16]}"
        shutil.rmtree(f"{self.folder}/{pair}", ignore_errors=True)
        os.rename(folder, f"{self.folder}/{pair}")
        self._link(pair)

    def _link(self, pair: str) -> None:
        link = f"{self.folder}/.{_CURRENT}"
        if os.path.lexists(link):
            os.remove(link)
        os.symlink(pair, link)
        os.rename(link, f"{self.folder}/{_CURRENT}")
        for one in self._pairs():
            if one != pair:
                shutil.rmtree(f"{self.folder}/{one}", ignore_errors=True)


class WaitingRequest:
    """What is known of a request between two looks at it. `pause`: seconds until the next look, 0.0 for the usual ones."""

    def __init__(self) -> None:
        self.denied_at: float | None = None
        self.pause = 0.0
        self._name = ""
        self._since = self._until = 0.0
        self._answer: OvnError | None = None

    def raise_answer(self, name: str, ticks: float) -> None:
        """Raise what the last answer was if it is too early for another look."""
        if name != self._name:
            self._name, self._since, self._answer = name, ticks, None
        if self._answer is not None and ticks < self._until:
            raise self._answer

    def keep_answer(self, answer: OvnError, ticks: float, *, longest: float) -> None:
        waited = ticks - self._since
        self._answer, self._until = answer, ticks + (self.pause or min(longest, max(_SOON, waited / 10)))
        self.pause = 0.0


def discard_certificate(folder: str) -> OvnError | None:
    """Delete key and certificate of a node that does not use them any more, and return why that failed: they open the Southbound until they end."""
    try:
        for one in os.listdir(folder):
            path = f"{folder}/{one}"
            if one == _NEXT or (one.startswith(_PAIR) and not os.path.islink(path)):
                shutil.rmtree(path)
            elif one in (_CURRENT, f".{_CURRENT}"):
                os.remove(path)
    except OSError as e:
        return Refused(f"The certificate that this node had of its own cannot be deleted: {e}. Delete it on the node.")
    return None


def _decoded(certificate: str) -> str:
    try:
        return base64.b64decode(certificate).decode()
    except ValueError:
        return ""

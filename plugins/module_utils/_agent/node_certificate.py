# Copyright: (c) 2026, C5C3 contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""PRIVATE to the collection: may change at any time.

The certificate of one node: key and request are made here, by openssl(1), and signed by a run, which has the key of the CA. Its own key never
leaves the node.

In the folder, `current` is a link to the folder of the pair that ovn-controller uses, so key and certificate change in one step; `next` has the key of a
request that waits.
"""

from __future__ import annotations

import base64
import hashlib
import os
import re
import shutil
import ssl
import subprocess
import time
import typing as t

from .._errors import Conflict, OvnError, Refused
from .._tls_options import CHASSIS_SIGNER, CHASSIS_USAGES
from .api_client import Api
from .files import replace_file

_PATH = "/apis/certificates.k8s.io/v1/certificatesigningrequests"
_NAME = re.compile(r"[A-Za-z0-9._-]{1,64}")
_RENEW_AT = 2 / 3  # of its life
_AGAIN = 300.0  # seconds after a denial: the one who decides may have been wrong


class CertificateInUse(t.NamedTuple):
    """The certificate that is used: its common name, and from when to when it is valid, in seconds since 1970."""

    name: str
    begin: float
    end: float

    def is_due(self, now: float) -> bool:
        """Return whether it is to be renewed."""
        return now >= self.begin + _RENEW_AT * (self.end - self.begin)


class NodeCertificate:
    """`problem` is what keeps a certificate that still works from being renewed, empty if nothing does."""

    def __init__(self, folder: str, api: Api, now: t.Callable[[], float] = time.time) -> None:
        self.folder, self.api, self._now = folder, api, now
        self._denied_until = 0.0
        self.problem = ""

    def ensure(self, name: str) -> None:
        """Return if the node has a certificate for the chassis `name`; `OvnError` tells what it waits for. A new one is asked for in time."""
        if not _NAME.fullmatch(name):
            raise Refused(
                f"The chassis name {name!r} cannot be that of a certificate: use up to 64 letters, digits, dots, dashes and underscores."
            )
        pair = self.read()
        works = pair is not None and pair.name == name and pair.begin <= self._now() < pair.end
        if works and pair is not None and not pair.is_due(self._now()):
            self.problem = ""
            return
        try:
            self._ask(name)
            self.problem = ""
        except OvnError as e:
            if not works:
                raise
            self.problem = str(e)

    def read(self) -> CertificateInUse | None:
        """Return the certificate that is used, None without one or if its key is another one's."""
        current = f"{self.folder}/current"
        try:
            text = _openssl("x509", "-in", f"{current}/tls.crt", "-noout", "-subject", "-dates", "-nameopt", "RFC2253")
            key = _openssl("pkey", "-in", f"{current}/tls.key", "-pubout")
            if key != _openssl("x509", "-in", f"{current}/tls.crt", "-noout", "-pubkey"):
                return None
            found = dict(line.split("=", 1) for line in text.splitlines() if "=" in line)
            name = found["subject"].strip().partition("CN=")[2]
            dates = (ssl.cert_time_to_seconds(found[which]) for which in ("notBefore", "notAfter"))
            return CertificateInUse(name, *dates)
        except (OvnError, KeyError, ValueError):
            return None

    def _ask(self, name: str) -> None:
        """Use the certificate if the request was signed; else `Refused` with what is waited for."""
        request = self._request(name)
        title = f"ovn-chassis-{hashlib.sha256(request.encode()).hexdigest()[:32]}"
        found = self._find_or_create(title, request)
        status = found.get("status") or {}
        if status.get("certificate"):
            self._use(base64.b64decode(status["certificate"]).decode(), name)
            return
        denials = [one for one in status.get("conditions") or () if one["type"] in ("Denied", "Failed")]
        if denials:
            if self._now() >= self._denied_until + _AGAIN:
                self._denied_until = self._now() + _AGAIN
            elif self._now() >= self._denied_until:
                shutil.rmtree(f"{self.folder}/next", ignore_errors=True)  # the next request is another one
                self._denied_until = 0.0
            raise Refused(
                f"CertificateSigningRequest {title} got no certificate: {denials[0].get('message') or 'denied'}"
            )
        raise Refused(
            f"CertificateSigningRequest {title} for chassis {name} is not signed yet. Run c5c3.ovn.hypervisors, which has the key of the CA."
        )

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

    def _request(self, name: str) -> str:
        """Return the request (PEM) of the pair that comes next, made once: another one would be another object."""
        folder = f"{self.folder}/next"
        path = f"{folder}/{name}.csr"
        if not os.path.exists(path):
            shutil.rmtree(folder, ignore_errors=True)
            os.makedirs(folder, mode=0o700)
            key = f"{folder}/tls.key"
            _openssl("genpkey", "-algorithm", "EC", "-pkeyopt", "ec_paramgen_curve:P-256", "-out", key)
            os.chmod(key, 0o600)
            config = f"{folder}/config"
            replace_file(config, _CONFIG.replace("@NAME@", name))
            _openssl("req", "-new", "-key", key, "-config", config, "-out", f"{path}.new")
            os.rename(f"{path}.new", path)
        with open(path, encoding="ascii") as file:
            return file.read()

    def _use(self, certificate: str, name: str) -> None:
        """Let ovn-controller use the pair that was signed, and delete the former one."""
        folder = f"{self.folder}/next"
        replace_file(f"{folder}/tls.crt", certificate)
        pair = f"pair-{hashlib.sha256(certificate.encode()).hexdigest()[:16]}"
        place = f"{self.folder}/{pair}"
        shutil.rmtree(place, ignore_errors=True)
        os.rename(folder, place)
        link = f"{self.folder}/.current"
        if os.path.lexists(link):
            os.remove(link)
        os.symlink(pair, link)
        os.rename(link, f"{self.folder}/current")
        for one in os.listdir(self.folder):
            if one.startswith("pair-") and one != pair:
                shutil.rmtree(f"{self.folder}/{one}", ignore_errors=True)
        found = self.read()
        if found is None or found.name != name:
            raise Refused(
                f"The certificate that was signed for chassis {name} is not for its key and name: remove its CertificateSigningRequest."
            )


_CONFIG = """[req]
prompt = no
distinguished_name = name
req_extensions = extensions
[name]
CN = @NAME@
[extensions]
basicConstraints = critical,CA:FALSE
keyUsage = critical,digitalSignature
extendedKeyUsage = clientAuth
"""


def _openssl(*arguments: str) -> str:
    try:
        done = subprocess.run(["openssl", *arguments], capture_output=True, text=True, timeout=30, check=False)
    except (OSError, subprocess.TimeoutExpired) as e:
        raise Refused(f"openssl {arguments[0]} did not run: {e}. The image has to have the program openssl.") from e
    if done.returncode != 0:
        raise Refused(f"openssl {arguments[0]} failed: {done.stderr.strip()[-300:]}.")
    return done.stdout

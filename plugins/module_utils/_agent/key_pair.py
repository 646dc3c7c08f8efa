# SPDX-License-Identifier: GPL-3.0-or-later
"""A key with its certificate in a folder, made and looked at with openssl(1): a pod has no Python library for that."""

from __future__ import annotations

import os
import ssl
import subprocess
import time
import typing as t

from .._base.errors import OvnError, Refused
from .process import replace_file

KEY, CERTIFICATE = "tls.key", "tls.crt"
_RENEW_AT = 2 / 3  # of its life
_LAST = 1 / 12  # of its life, a month of a year: nobody has signed the next one for three


class CertificateInUse(t.NamedTuple):
    """A certificate: its common name, from when to when it is valid, in seconds since 1970, and whether the CA that signs today has signed it."""

    name: str
    begin: float
    end: float
    of_issuer: bool = True

    def is_due(self, now: float) -> bool:
        """Return whether it is to be renewed: at two thirds of its life, and at once if another CA signs today."""
        return not self.of_issuer or now >= self.begin + _RENEW_AT * (self.end - self.begin)

    def is_ending(self, now: float) -> bool:
        """Return whether so little of its life is left that somebody has to look."""
        return now >= self.end - _LAST * (self.end - self.begin)

    def serves(self, name: str, now: float) -> bool:
        """Return whether it can be used. One that is not valid yet can: servers go by their own clocks, and this one is behind."""
        return self.name == name and now < self.end

    def problem(self, name: str, now: float) -> str:
        """Return why it is not to be used as the next one, empty if it is."""
        if self.name != name:
            return f"its common name is {self.name}"
        if now >= self.end:
            return f"it ended at {format_moment(self.end)}, and the clock of this node shows {format_moment(now)}"
        return "" if self.of_issuer else "another CA than that of the chassis has signed it"

    def clock_problem(self, now: float) -> str:
        """Return what it tells about the clock of this node, empty if that may be right."""
        if now >= self.begin:
            return ""
        return (
            f"The clock of this node is at least {self.begin - now:.0f} s behind: it shows {format_moment(now)}, and its certificate is valid from "
            f"{format_moment(self.begin)} on. Correct it."
        )


def format_moment(moment: float) -> str:
    return time.strftime("%Y-%m-%d %H:%M:%S UTC", time.gmtime(moment))


def read_pair(folder: str, issuer: str = "") -> CertificateInUse | None:
    """Return the certificate in this folder, None without one or if its key is another one's. `issuer` (PEM) is the CA that signs, empty: any.

    No file is written: the disk may be full.
    """
    certificate = f"{folder}/{CERTIFICATE}"
    try:
        text = run_openssl("x509", "-in", certificate, "-noout", "-subject", "-dates", "-nameopt", "RFC2253")
        key = run_openssl("pkey", "-in", f"{folder}/{KEY}", "-pubout")
        if key != run_openssl("x509", "-in", certificate, "-noout", "-pubkey"):
            return None
        found = dict(line.split("=", 1) for line in text.splitlines() if "=" in line)
        name = found["subject"].strip().partition("CN=")[2]
        begin, end = (ssl.cert_time_to_seconds(found[which]) for which in ("notBefore", "notAfter"))
        return CertificateInUse(name, begin, end, not issuer or _is_signed(certificate, issuer))
    except (OvnError, KeyError, ValueError):
        return None


def _is_signed(certificate: str, issuer: str) -> bool:
    options = ["-partial_chain", "-no_check_time", "-purpose", "sslclient", "-trusted", "/dev/stdin"]
    try:
        run_openssl("verify", *options, certificate, text=issuer)
    except Refused:
        return False
    return True


def make_request(folder: str, name: str) -> str:
    """Make a key, and a request for a certificate of this name; return its path. It is there when it is complete."""
    path = request_path(folder, name)
    os.makedirs(folder, mode=0o700)
    key, config = f"{folder}/{KEY}", f"{folder}/config"
    run_openssl("genpkey", "-algorithm", "EC", "-pkeyopt", "ec_paramgen_curve:P-256", "-out", key)
    os.chmod(key, 0o600)
    replace_file(config, _CONFIG.replace("@NAME@", name))
    run_openssl("req", "-new", "-key", key, "-config", config, "-out", f"{path}.new")
    os.rename(f"{path}.new", path)
    return path


def request_path(folder: str, name: str) -> str:
    return f"{folder}/{name}.csr"


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


def run_openssl(*arguments: str, text: str = "") -> str:
    """Return what openssl(1) writes when it reads `text`; `Refused` if it fails."""
    command = ["openssl", *arguments]
    try:
        done = subprocess.run(command, input=text, capture_output=True, text=True, timeout=30, check=False)
    except (OSError, subprocess.TimeoutExpired) as e:
        raise Refused(f"openssl {arguments[0]} did not run: {e}. The image has to have the program openssl.") from e
    if done.returncode != 0:
        raise Refused(f"openssl {arguments[0]} failed: {done.stderr.strip()[-300:]}.")
    return done.stdout

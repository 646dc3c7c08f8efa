# SPDX-License-Identifier: GPL-3.0-or-later
"""How every daemon and client of Open vSwitch and OVN is given its TLS files: ovsdb-server(1), "Public Key Infrastructure Options". Pure."""

from __future__ import annotations

import re
import typing as t

# In this order everywhere: private key, certificate, CA certificate.
CIPHERS_VARIABLE = "OVN_TLS_CIPHERS"  # empty or absent: the default
VARIABLES = ("OVN_PRIVATE_KEY", "OVN_CERTIFICATE", "OVN_CA_CERTIFICATE")  # environment of launchers and agents
CLIENT_CA_VARIABLE = (
    "OVN_CLIENT_CA_CERTIFICATE"  # of observers: the CAs of whom the Southbound lets in, if these are others
)
CA_OPTION = "-C"
_OPTIONS = ("-p", "-c", CA_OPTION)
# How nodes of Kubernetes ask for a certificate of a chassis: fields of a CertificateSigningRequest.
CHASSIS_SIGNER = "ovn.c5c3.io/chassis"
CHASSIS_USAGES = ("digital signature", "client auth")
COMMON_NAME = re.compile(
    r"[A-Za-z0-9._-]{1,64}"
)  # of a chassis: what X.509 allows, and no word for files and configurations of openssl
_CERTIFICATE = re.compile("-----BEGIN CERTIFICATE-----(.*?)-----END CERTIFICATE-----", re.DOTALL)

CIPHERS_PATTERN = (
    "^[A-Za-z0-9+:!@=_.-]+$"  # what openssl-ciphers(1) knows, and no word for shells, units and their specifiers
)
# Ciphers of TLS 1.2, as openssl-ciphers(1) writes them: forward secrecy and authenticated encryption. TLS 1.0 and 1.1 have none of them, and TLS 1.3 has its
# own. `--ssl-protocols` cannot say "1.2 and later" in all versions: to Open vSwitch 3.1 TLSv1.2+ is unknown, and TLSv1.2 excludes 1.3.
DEFAULT_CIPHERS = "ECDHE+AESGCM:ECDHE+CHACHA20"

# For the launchers: arguments in the language of the shell. Ciphers are for servers alone, which choose: before OVN 25.03 ovn-controller aborts at
# --ssl-ciphers (controller/ovn-controller.c, parse_options), and northd does not heed it.
SHELL_FILES = " ".join(f'{option} "${variable}"' for option, variable in zip(_OPTIONS, VARIABLES))
SHELL_ARGUMENTS = f'{SHELL_FILES} --ssl-ciphers="${{{CIPHERS_VARIABLE}:-{DEFAULT_CIPHERS}}}"'


def file_arguments(paths: t.Sequence[str | None]) -> list[str]:
    """Return the arguments for these files, without those that are not given."""
    return [word for option, path in zip(_OPTIONS, paths) if path for word in (option, path)]


def tls_arguments(paths: t.Sequence[str | None], ciphers: str = "") -> list[str]:
    """Return the arguments for these files and, if there are any, for the ciphers."""
    files = file_arguments(paths)
    return [*files, f"--ssl-ciphers={ciphers or DEFAULT_CIPHERS}"] if files else []


def certificates_of(text: str) -> set[str]:
    """Return the certificates of a PEM text in base64, comparable: without line breaks, and without what stands around them, which RFC 7468 allows."""
    return {"".join(block.split()) for block in _CERTIFICATE.findall(text)}

# SPDX-License-Identifier: GPL-3.0-or-later
"""`OVNCluster.spec.tls`: where key, certificate and CAs of the daemons are."""

from __future__ import annotations

import re
import ssl
import typing as t
from dataclasses import dataclass, field

from .._base.errors import InvalidInput
from .._base.tls_options import CIPHERS_PATTERN, DEFAULT_CIPHERS
from .declaration import declare, optional_part, part, rule, text
from .rules import SAME_TLS

# Whether a list of ciphers is one for a server of databases.


def check_ciphers(option: str, ciphers: str) -> None:
    """Raise `InvalidInput` if the value of this option is no list of ciphers, or OpenSSL of this Python knows none of them.

    A server that knows none logs that, and goes on with those of its library. Not for a specification that is read: an older OpenSSL in a pod may know fewer.
    """
    if not re.search(CIPHERS_PATTERN, ciphers):
        raise InvalidInput(
            f'{option} is "{ciphers}", which is no list of ciphers. Write it as openssl-ciphers(1) does, with colons and without spaces, for example '
            f"{DEFAULT_CIPHERS}. Nothing was changed."
        )
    try:
        ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER).set_ciphers(ciphers)
    except ssl.SSLError as e:
        raise InvalidInput(
            f'{option} is "{ciphers}", and OpenSSL knows none of these ciphers. A server would ignore the list. `openssl ciphers -v` has the names; the '
            f"default is {DEFAULT_CIPHERS}. Nothing was changed."
        ) from e


_KEY = r"^[-._a-zA-Z0-9]+$"  # of a Secret or ConfigMap


@dataclass(frozen=True)
class SecretReference:
    name: str | None = field(
        metadata=declare(
            text("Name of the Secret; NAME-tls for the OVNCluster NAME if not given.", minLength=1, maxLength=253)
        )
    )


@dataclass(frozen=True)
class ConfigMapReference:
    name: str = field(
        metadata=declare(
            text("Name of the ConfigMap, in the namespace of the pods.", minLength=1, maxLength=253), required=True
        )
    )
    key: str = field(
        metadata=declare(text("Key with the PEM texts of the CAs.", default="ca.crt", pattern=_KEY, maxLength=253))
    )


def gives_node_certificates(tls: t.Mapping[str, t.Any]) -> bool:
    """Return whether each node of a hypervisor cluster has a certificate of its own, by the fields that are declared."""
    return bool(tls.get("enabled", True)) and tls.get("nodeCertificates") == "own"


@dataclass(frozen=True)
class Tls:
    enabled: bool = field(
        metadata=declare(
            {
                "type": "boolean",
                "description": "Whether all connections use TLS.",
                "default": True,
                "x-kubernetes-validations": [rule("self == oldSelf", SAME_TLS)],
            }
        )
    )
    ciphers: str = field(
        metadata=declare(
            text(
                "Ciphers of TLS 1.2 for the databases, as openssl-ciphers(1) writes them. TLS 1.3 has its own.",
                default=DEFAULT_CIPHERS,
                pattern=CIPHERS_PATTERN,
                maxLength=1024,
            )
        )
    )
    cert_secret_ref: SecretReference = field(
        metadata=part(SecretReference, "Secret with tls.crt, tls.key and ca.crt, as cert-manager writes it.")
    )
    certificates: t.Literal["given", "operator"] = field(
        metadata=declare(
            text(
                "Who issues the certificates in the Secret: somebody else (given), or the operator with CAs that it makes once (operator), also those in the "
                "Secrets of hypervisorClusters. Playbooks take the Secret of an OVNCluster with operator as it is.",
                enum=["given", "operator"],
                default="given",
            )
        )
    )
    southbound_client_ca_key: str | None = field(
        metadata=declare(
            text(
                "Key of the Secret with the CAs of whom the relays of the Southbound database let in, if these are others than those in ca.crt. "
                "With a CA of their own there, chassis open nothing but the relays.",
                pattern=_KEY,
                maxLength=253,
            )
        )
    )
    node_certificates: t.Literal["own", "shared"] = field(
        metadata=declare(
            text(
                "Whether each node of a hypervisor cluster has a certificate with its own name (own), or all share that of the Secret. Its own is signed by "
                "a run, so a new node waits for the next one; Kubernetes has to be 1.30 or newer. Playbooks write own into the OVNCluster that they "
                "apply, unless ovn_node_certificates is shared. Another author of an OVNCluster sets own if a run or the operator signs for the nodes.",
                enum=["own", "shared"],
                default="shared",
            )
        )
    )
    ca_config_map_ref: ConfigMapReference | None = field(
        metadata=optional_part(
            ConfigMapReference,
            "ConfigMap with the CAs that all daemons trust, as trust-manager writes it, in place of ca.crt of the Secret.",
        )
    )
    southbound_client_ca_config_map_ref: ConfigMapReference | None = field(
        metadata=optional_part(
            ConfigMapReference,
            "ConfigMap with the CAs of whom the relays of the Southbound database let in, if these are others than those that all daemons trust. "
            "Excludes southboundClientCaKey.",
        )
    )

# SPDX-License-Identifier: GPL-3.0-or-later
"""The desired state of ovn_hypervisors: its options, checked."""

from __future__ import annotations

import typing as t

from .._api.spec import ClusterSpec, parse_spec
from .._base.errors import InvalidInput
from .._ovsdb.endpoint import Endpoint, parse_endpoints
from .._ovsdb.tls_files import TlsFiles
from .._pki.certificates import CRYPTOGRAPHY_PROBLEM, load_authority, to_pem
from .._pki.signing import SigningAuthority


class DesiredHypervisors(t.NamedTuple):
    """`southbound` and `northbound` as they are published; `asked` are the Southbound servers that the control node can connect to, if any.

    For nodes that have certificates of their own, `issuer` is the certificate (PEM) of the CA that signs, empty if it is not known, `signer` is that CA if its
    key is here, and `authorities` are the CAs in the Secret, which nodes cannot read: they are read later (`read_authorities`), and empty until then.
    `other_chassis` are names that none of them may have. `directory` is for temporary files. `metadata_secret_version` is read later, too: the resourceVersion
    of the Secret of the metadata agents (`read_secret_version`).
    """

    name: str
    namespace: str
    spec: ClusterSpec
    southbound: list[str]
    northbound: list[str]
    asked: list[Endpoint]
    tls: TlsFiles
    tls_secret: str | None
    issuer: str
    signer: SigningAuthority | None
    other_chassis: frozenset[str]
    directory: str
    authorities: str
    api_server: str
    break_lock: bool
    force_conflicts: bool
    wait: bool
    wait_timeout: float
    metadata_secret_version: str = ""

    @property
    def has_node_certificates(self) -> bool:
        return self.spec.has_node_certificates


def desired_from_params(params: t.Mapping[str, t.Any], server: str, directory: str) -> DesiredHypervisors:
    """Return the options, checked; `InvalidInput` names the one that cannot work.

    `server` is the API server's URL, if `api_server` names no other. `directory` is removed by Ansible when the module has ended.
    """
    name, namespace = params["name"], params["namespace"]
    present = params["state"] == "present"
    spec = parse_spec(params["spec"] or {}, name=name, namespace=namespace)
    southbound = parse_endpoints(params["southbound"] or [])
    if present:
        _check_southbound(southbound, tls=spec.tls.enabled)
    schemes = {endpoint.scheme for endpoint in southbound}
    tls = TlsFiles(params["private_key"] or None, params["certificate"] or None, params["ca_certificate"] or None)
    if any(tls) and not tls.complete:
        missing = [option for option, path in tls._asdict().items() if not path]
        raise InvalidInput(f"{' and '.join(missing)} missing: private_key, certificate and ca_certificate go together.")
    return DesiredHypervisors(
        name=name,
        namespace=namespace,
        spec=spec,
        southbound=[str(endpoint) for endpoint in southbound],
        northbound=[str(endpoint) for endpoint in parse_endpoints(params["northbound"] or [])],
        asked=southbound if tls.complete or "ssl" not in schemes else [],
        tls=tls,
        tls_secret=(params["tls_secret"] or spec.tls_secret) if spec.tls.enabled else None,
        issuer=_issuer(params["signer"]) if spec.has_node_certificates else "",
        signer=_signer(params["signer"]) if spec.has_node_certificates else None,
        other_chassis=frozenset((params["signer"] or {}).get("other_chassis") or ()),
        directory=directory,
        authorities="",
        api_server=params["api_server"] or server,
        break_lock=params["break_lock"],
        force_conflicts=params["force_conflicts"],
        wait=params["wait"],
        wait_timeout=params["wait_timeout"],
    )


def _check_southbound(southbound: t.Sequence[Endpoint], *, tls: bool) -> None:
    if not southbound:
        raise InvalidInput(
            "southbound is missing: name the endpoints of the Southbound database, for example the endpoints.southbound that ovn_cluster returns."
        )
    scheme = "ssl" if tls else "tcp"
    if wrong := next((str(endpoint) for endpoint in southbound if endpoint.scheme != scheme), ""):
        raise InvalidInput(
            f"southbound names {wrong}, but spec.tls.enabled is {str(tls).lower()}, so {scheme}:HOST:PORT is expected. Make them agree."
        )


def _issuer(given: t.Mapping[str, t.Any] | None) -> str:
    """Return the certificate in one form: in another one it would replace the pods."""
    if not given:
        return ""
    if CRYPTOGRAPHY_PROBLEM is not None:
        raise InvalidInput(
            "signer.certificate cannot be read without the Python library cryptography on the control node: install python3-cryptography or cryptography."
        )
    return to_pem([load_authority(given["certificate"], "signer.certificate")]).decode()


def _signer(given: t.Mapping[str, t.Any] | None) -> SigningAuthority | None:
    """Return the CA of the chassis; None if another program signs."""
    if not given or not given.get("private_key"):
        return None
    return SigningAuthority(
        given["certificate"], given["private_key"], given.get("passphrase") or "", given["validity_days"]
    )

# SPDX-License-Identifier: GPL-3.0-or-later
"""One pair of one host, from reading the files to the rename. Used by the module `ovn_certificate`.

A new certificate takes two calls: the first creates a key and a request, the second installs the certificate that the CA signed.
Between them only hidden files exist, so a run may end there and the next one goes on.
"""

from __future__ import annotations

import dataclasses
import datetime
import typing as t

from .._base.errors import InvalidInput, Refused
from . import certificates, decision, files, installed

if t.TYPE_CHECKING:
    from cryptography import x509

CERTIFICATE_MODE = 0o644


@dataclasses.dataclass(frozen=True)
class Request:
    """The options of the task."""

    private_key: str
    certificate: str
    ca_certificate: str
    common_name: str
    subject_alt_names: tuple[str, ...]
    issuer: str
    ca_bundle: str
    renew_before_days: int
    renew_on_issuer_change: bool
    remove_authorities: bool
    owned_by: files.Ownership
    extended_key_usage: frozenset[str] = decision.BOTH_USAGES
    renew: bool = False
    client_ca_certificate: str = ""
    client_ca_bundle: str = ""

    @property
    def key_mode(self) -> int:
        return 0o600 if self.owned_by.gid is None else 0o640

    def contents(self) -> installed.InstalledFiles:
        """Return the files of the host before anything is changed."""
        return installed.InstalledFiles(
            private_key=files.read(self.private_key),
            certificate=files.read(self.certificate),
            ca_bundle=files.read(self.ca_certificate),
            certificate_place=self.certificate,
            ca_bundle_place=self.ca_certificate,
            client_ca_bundle=files.read(self.client_ca_certificate) if self.client_ca_certificate else None,
            client_ca_bundle_place=self.client_ca_certificate,
        )

    def declared(self) -> installed.Declared:
        return installed.Declared(
            common_name=self.common_name,
            subject_alt_names=self.subject_alt_names,
            issuer=self.issuer,
            ca_bundle=self.ca_bundle,
            renew_before_days=self.renew_before_days,
            renew_on_issuer_change=self.renew_on_issuer_change,
            remove_authorities=self.remove_authorities,
            extended_key_usage=self.extended_key_usage,
            renew=self.renew,
            client_ca_bundle=self.client_ca_bundle,
        )


def facts(request: Request, now: datetime.datetime) -> dict[str, t.Any]:
    """Return what is installed, for reports and for checks over many hosts; keys as `installed.facts` gives them."""
    return installed.facts(request.contents(), request.issuer, now)


@dataclasses.dataclass
class InstallationPlan:
    """What has to happen on the host. `new_pair` needs the CA, everything else is done at once."""

    new_pair: list[decision.RenewalReason]
    bundle: bytes | None
    client_bundle: bytes | None
    bundle_reasons: list[decision.RenewalReason]
    attributes: list[tuple[str, int]]
    attribute_reasons: list[decision.RenewalReason]
    touch_reasons: list[decision.RenewalReason]

    @property
    def reasons(self) -> list[decision.RenewalReason]:
        return [*self.new_pair, *self.bundle_reasons, *self.attribute_reasons, *self.touch_reasons]


def plan(request: Request, now: datetime.datetime) -> InstallationPlan:
    """Compare the host with the task; `Refused` if the step would cut connections."""
    contents, declared = request.contents(), request.declared()
    new_pair, bundle, bundle_reasons = installed.compare(contents, declared, now)
    client_bundle, client_bundle_reasons = installed.compare_client_bundle(contents, declared)
    attributes, attribute_reasons = _attributes(request)
    touch_reasons = [] if new_pair else _half_replaced(request)
    return InstallationPlan(
        new_pair,
        bundle,
        client_bundle,
        [*bundle_reasons, *client_bundle_reasons],
        attributes,
        attribute_reasons,
        touch_reasons,
    )


def _half_replaced(request: Request) -> list[decision.RenewalReason]:
    """Return a reason if a run was killed between the renames and the touch: daemons would serve the former pair until it expires."""
    if files.touched_together(request.private_key, request.certificate):
        return []
    message = "key and certificate have different modification times, so daemons may not have loaded this pair"
    return [decision.RenewalReason("modification_times", message)]


def _attributes(request: Request) -> tuple[list[tuple[str, int]], list[decision.RenewalReason]]:
    wrong, reasons = [], []
    for path, mode in (
        (request.private_key, request.key_mode),
        (request.certificate, CERTIFICATE_MODE),
        (request.ca_certificate, CERTIFICATE_MODE),
        *([(request.client_ca_certificate, CERTIFICATE_MODE)] if request.client_ca_certificate else []),
    ):
        problem = files.attribute_problem(path, mode, request.owned_by)
        if problem is not None:
            wrong.append((path, mode))
            reasons.append(decision.RenewalReason("permissions", problem))
    return wrong, reasons


def apply_first(request: Request, todo: InstallationPlan) -> str:
    """Apply everything that needs no signature; return the signing request (PEM), empty if none is needed."""
    if not request.issuer.strip():
        raise InvalidInput(
            "There is no CA certificate to compare with (issuer is empty). Create the CA first, then call again."
        )
    for path, mode in todo.attributes:
        files.repair_attributes(path, mode, request.owned_by)
    # Trust comes before the certificates that need it.
    for path, bundle in (
        (request.ca_certificate, todo.bundle),
        (request.client_ca_certificate, todo.client_bundle),
    ):
        if bundle is not None:
            files.write_pending(path, bundle, CERTIFICATE_MODE, request.owned_by)
            files.activate(path)
    if todo.touch_reasons:
        files.touch_together(request.private_key, request.certificate)
    if not todo.new_pair:
        return ""
    key = None
    left_over = files.read(files.pending(request.private_key))
    if left_over is not None:
        try:
            key = certificates.load_private_key(left_over)
        except ValueError:
            key = None
    if key is None or files.attribute_problem(files.pending(request.private_key), request.key_mode, request.owned_by):
        key, pem = certificates.new_private_key()
        files.write_pending(request.private_key, pem, request.key_mode, request.owned_by)
    return certificates.new_request(
        key, request.common_name, request.subject_alt_names, request.extended_key_usage
    ).decode()


def install(request: Request, signed: str, now: datetime.datetime) -> bool:
    """Install the pending key and its certificate; return False if another run did it with the same key."""
    certificate = _signed_certificate(request, signed, now)
    pending_key = files.read(files.pending(request.private_key))
    if pending_key is None:
        current = files.read(request.private_key)
        if current is not None and certificates.belongs_together(certificates.load_private_key(current), certificate):
            return False
        raise Refused(f"No key is pending beside {request.private_key}: another run was faster. Run again.")
    if not certificates.belongs_together(certificates.load_private_key(pending_key), certificate):
        raise Refused(
            f"The pending key beside {request.private_key} does not belong to this certificate: "
            "another run replaced it. Run again."
        )
    files.write_pending(request.certificate, certificates.to_pem([certificate]), CERTIFICATE_MODE, request.owned_by)
    files.activate(request.private_key, request.certificate)
    files.touch_together(request.private_key, request.certificate)
    return True


def _signed_certificate(request: Request, signed: str, now: datetime.datetime) -> x509.Certificate:
    """Return what the CA has signed; `InvalidInput` if that is another CA, or not what was requested."""
    issuer = certificates.load_authority(request.issuer, "issuer")
    certificate = certificates.load_certificate(signed.encode(), "signed")
    if not certificates.signed_by(certificate, issuer):
        raise InvalidInput(
            f"The certificate (signed) was not signed by {certificates.display_name(issuer)} (issuer). Nothing was installed. "
            "Give the CA certificate that belongs to the CA key in use."
        )
    problems = decision.reasons_for_new_pair(
        decision.Pair("usable", "usable", True, certificates.describe(certificate, issuer)),
        decision.DesiredCertificate(
            request.common_name,
            frozenset(request.subject_alt_names),
            request.renew_before_days,
            True,
            request.extended_key_usage,
        ),
        now,
    )
    if problems:
        raise InvalidInput(
            "The certificate (signed) does not match the request: "
            + "; ".join(problem.message for problem in problems)
            + ". Nothing was installed."
        )
    return certificate

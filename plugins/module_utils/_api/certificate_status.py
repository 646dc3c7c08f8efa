# SPDX-License-Identifier: GPL-3.0-or-later
"""The condition of the certificates that the members serve, of the CAs that are trusted, and of the certificates of chassis, metadata agents
and clients. Pure.
"""

from __future__ import annotations

import datetime
import typing as t

from .._kubernetes.timestamps import format_timestamp, parse_timestamp
from .._pki.decision import RENEW_BEFORE_DAYS
from .._pki.issued import CHASSIS, CLIENT, METADATA_AGENT, IssuedCertificate
from .status_conditions import LONGEST, StatusCondition, repeat_condition

CERTIFICATE = "CertificateValid"

_SOON = datetime.timedelta(days=RENEW_BEFORE_DAYS)
_VALID = "Valid"
_ROTATE = "Replace {them} with c5c3.ovn.rotate, or by its phases if that refuses (README of the role ovn_pki); the owner of a given Secret or ConfigMap, there."
_HOLDERS = {CHASSIS: "chassis", METADATA_AGENT: "metadata agents", CLIENT: "clients"}
_REASONS = {CHASSIS: "ChassisCertificate", METADATA_AGENT: "MetadataAgentCertificate", CLIENT: "ClientCertificate"}
_RENEW = {
    CHASSIS: "Renew them with a run of c5c3.ovn.hypervisors; remove a chassis that is dead with ovn_hypervisor_state=gone.",
    METADATA_AGENT: "Renew them with a run of c5c3.ovn.neutron.",
    CLIENT: "Renew that of Neutron with a run of c5c3.ovn.neutron, others with c5c3.ovn.central, and bring their files to the clients.",
}
_REFUSES = dict.fromkeys((CHASSIS, METADATA_AGENT), "The Southbound refuses them.") | {
    CLIENT: "The databases refuse them."
}
_NAMES = 5  # of holders in a message
_REFUSED = {"central": "Clients and members refuse each other.", "chassis": "The Southbound refuses chassis."}


class TrustedAuthority(t.NamedTuple):
    """A CA in a bundle: `central`, which everybody trusts, or `chassis`, what the Southbound lets in beside that. `end` in seconds since 1970."""

    bundle: str
    subject: str
    serial: str
    end: float


class ObservedCertificates(t.NamedTuple):
    """When the certificate of each endpoint ends, in seconds since 1970, the endpoints whose CA has ended, the CAs that are trusted, and the certificates of
    chassis, metadata agents and clients as runs have issued them.
    """

    ends: t.Mapping[str, float]
    refused: t.Collection[str] = ()
    authorities: t.Sequence[TrustedAuthority] = ()
    issued: t.Sequence[IssuedCertificate] = ()


def first_end(ends: t.Mapping[str, float]) -> str | None:
    """Return when the first of the certificates ends, None if there are none."""
    return format_timestamp(_time(min(ends.values()))) if ends else None


def certificate_condition(
    certificates: ObservedCertificates | None, before: t.Mapping[str, t.Any] | None, now: str
) -> StatusCondition | None:
    """Return the condition; none without TLS. None: the caller has not asked the servers."""
    if certificates is None:
        return repeat_condition(before) if before else None
    if not certificates.ends:
        return None
    present = parse_timestamp(now)
    findings = [
        _served(certificates.ends, present),
        *_refused(certificates, present),
        *_trusted("central", certificates.authorities, present),
        *_trusted("chassis", certificates.authorities, present),
        *(finding for kind in _HOLDERS for finding in _issued(kind, certificates.issued, present)),
    ]
    findings.sort(key=lambda one: (one.status != "False", one.reason == _VALID))
    return findings[0]._replace(message=" ".join(one.message for one in findings)[:LONGEST])


def _served(ends: t.Mapping[str, float], present: datetime.datetime) -> StatusCondition:
    endpoint = min(ends, key=lambda one: (ends[one], one))
    end = _time(ends[endpoint])
    served = f"The certificate at {endpoint} "
    if end <= present:
        renew = "Clients refuse it. Renew it, for example with a run of c5c3.ovn.site."
        return StatusCondition(
            CERTIFICATE, "False", "Expired", f"{served}has expired on {format_timestamp(end)}. {renew}"
        )
    message = f"{served}ends first, on {format_timestamp(end)}."
    if end - present < _SOON:
        renew = "Renew it, for example with a run of c5c3.ovn.site."
        return StatusCondition(CERTIFICATE, "True", "ExpiresSoon", f"{message} {renew}")
    return StatusCondition(CERTIFICATE, "True", _VALID, message)


def _refused(certificates: ObservedCertificates, present: datetime.datetime) -> t.Iterator[StatusCondition]:
    """Yield the finding about certificates whose CA has ended before they do."""
    refused = sorted(one for one in certificates.refused if _time(certificates.ends[one]) > present)
    if refused:
        message = f"The CA has expired that signed the certificate at {', '.join(refused)}. Clients refuse it."
        yield StatusCondition(CERTIFICATE, "False", "CAExpired", f"{message} {_ROTATE.format(them='it')}")


def _trusted(
    bundle: str, authorities: t.Sequence[TrustedAuthority], present: datetime.datetime
) -> t.Iterator[StatusCondition]:
    """Yield findings about one bundle. A CA that has ended beside a valid one is what a rotation leaves until it is finished, so the status stays true."""
    ordered = sorted((one for one in authorities if one.bundle == bundle), key=lambda one: (one.end, one.serial))
    if ordered and _time(ordered[-1].end) <= present:
        names = ", ".join(_name(one) for one in ordered)
        message = (
            f"All CAs in the {bundle} bundle have expired: {names}. {_REFUSED[bundle]} {_ROTATE.format(them='them')}"
        )
        yield StatusCondition(CERTIFICATE, "False", "CAExpired", message)
        return
    for one in ordered:
        end = _time(one.end)
        what = f"{_name(one)} in the {bundle} bundle"
        if end <= present:
            message = f"{what} has expired on {format_timestamp(end)}, another one is valid. Finish the rotation: c5c3.ovn.rotate, or the owner of the bundle."
            yield StatusCondition(CERTIFICATE, "True", "RotationUnfinished", message)
        elif end - present < _SOON:
            message = (
                f"{what} ends on {format_timestamp(end)}. Replace it: c5c3.ovn.rotate, or the owner of the bundle."
            )
            yield StatusCondition(CERTIFICATE, "True", "CAExpiresSoon", message)


def _issued(
    kind: str, certificates: t.Sequence[IssuedCertificate], present: datetime.datetime
) -> t.Iterator[StatusCondition]:
    """Yield findings about the certificates of all holders of this kind."""
    ordered = sorted((one for one in certificates if one.kind == kind), key=lambda one: (one.end, one.holder))
    ended = [one for one in ordered if _time(one.end) <= present]
    soon = [one for one in ordered[len(ended) :] if _time(one.end) - present < _SOON]
    who, reason = _HOLDERS[kind], _REASONS[kind]
    if ended:
        message = f"Certificates of {who} have expired: {_holders(ended)}. {_REFUSES[kind]} {_RENEW[kind]}"
        yield StatusCondition(CERTIFICATE, "False", f"{reason}Expired", message)
    if soon:
        message = f"Certificates of {who} end soon: {_holders(soon)}. {_RENEW[kind]}"
        yield StatusCondition(CERTIFICATE, "True", f"{reason}ExpiresSoon", message)


def _holders(certificates: t.Sequence[IssuedCertificate]) -> str:
    more = f" and {len(certificates) - _NAMES} more" if len(certificates) > _NAMES else ""
    return f"{', '.join(f'{one.holder} ({one.not_after})' for one in certificates[:_NAMES])}{more}"


def _name(authority: TrustedAuthority) -> str:
    return f"CA {authority.subject!r} (serial number {authority.serial})"


def _time(seconds: float) -> datetime.datetime:
    return datetime.datetime.fromtimestamp(seconds, datetime.timezone.utc)

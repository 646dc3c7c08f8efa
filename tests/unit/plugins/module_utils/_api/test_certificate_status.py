"""The condition of the certificates that members serve, by the time when they end."""

from __future__ import annotations

import datetime

import pytest

from ansible_collections.c5c3.ovn.plugins.module_utils._api.certificate_status import (
    ObservedCertificates,
    TrustedAuthority,
    certificate_condition,
    first_end,
)
from ansible_collections.c5c3.ovn.plugins.module_utils._pki.issued import IssuedCertificate

NOW = "2026-01-01T00:00:00Z"
BEFORE = {"type": "CertificateValid", "status": "True", "reason": "Valid", "message": "x"}


def after(days: float) -> float:
    return datetime.datetime(2026, 1, 1, tzinfo=datetime.timezone.utc).timestamp() + days * 86400


@pytest.mark.parametrize(
    ("days", "status", "reason", "part"),
    [
        ((300, 31), "True", "Valid", "The certificate at ssl:b:1 ends first, on 2026-02-01T00:00:00Z."),
        ((29.9, 300), "True", "ExpiresSoon", "The certificate at ssl:a:1 ends first, on 2026-01-30T21:36:00Z. Renew it"),
        ((300, 0), "False", "Expired", "The certificate at ssl:b:1 has expired on 2026-01-01T00:00:00Z. Clients refuse it."),
        ((-1, -2), "False", "Expired", "at ssl:b:1 has expired on 2025-12-30T00:00:00Z"),
    ],
)  # fmt: skip
def test_the_first_one_that_ends(days: tuple[float, float], status: str, reason: str, part: str) -> None:
    ends = {"ssl:a:1": after(days[0]), "ssl:b:1": after(days[1])}
    condition = certificate_condition(ObservedCertificates(ends), BEFORE, NOW)
    assert condition is not None
    assert (condition.kind, condition.status, condition.reason) == ("CertificateValid", status, reason)
    assert part in condition.message


def test_who_has_not_asked_keeps_it_and_without_tls_there_is_none() -> None:
    kept = certificate_condition(None, BEFORE, NOW)
    assert kept is not None
    assert kept.message == "x"
    assert certificate_condition(None, None, NOW) is None
    assert certificate_condition(ObservedCertificates({}), BEFORE, NOW) is None


def test_when_the_first_one_ends() -> None:
    assert first_end({"a": after(2), "b": after(1)}) == "2026-01-02T00:00:00Z"
    assert first_end({}) is None


@pytest.mark.parametrize(
    ("central", "chassis", "status", "reason", "parts"),
    [
        ([31], [31], "True", "Valid", []),
        ([29], [], "True", "CAExpiresSoon", ["CA 'CN=0' (serial number A0) in the central bundle ends on 2026-01-30T00:00:00Z.", "the owner of the bundle."]),
        ([300], [300, 29], "True", "CAExpiresSoon", ["CA 'CN=1' (serial number A1) in the chassis bundle ends on"]),
        ([300, -1], [], "True", "RotationUnfinished", ["(serial number A1) in the central bundle has expired on 2025-12-31T00:00:00Z, another one"]),
        ([300], [-1, 300], "True", "RotationUnfinished", ["CN=0", "chassis bundle has expired", "Finish the rotation: "]),
        ([300], [0], "False", "CAExpired", ["All CAs in the chassis bundle have expired: CA 'CN=0' (serial number A0). The Southbound refuses chassis."]),
        ([-1, -2], [300], "False", "CAExpired", ["All CAs in the central bundle have expired: CA 'CN=1' (serial number A1), CA 'CN=0' ", "c5c3.ovn.rotate"]),
        ([-1], [29], "False", "CAExpired", ["central bundle have expired", "chassis bundle ends on"]),
    ],
)  # fmt: skip
def test_authorities_that_end(
    central: list[float], chassis: list[float], status: str, reason: str, parts: list[str]
) -> None:
    bundles = {"central": central, "chassis": chassis}
    authorities = [
        TrustedAuthority(bundle, f"CN={index}", f"A{index}", after(days))
        for bundle, ones in bundles.items()
        for index, days in enumerate(ones)
    ]
    observed = ObservedCertificates({"ssl:a:1": after(300)}, authorities=authorities)
    condition = certificate_condition(observed, BEFORE, NOW)
    assert condition is not None
    assert (condition.status, condition.reason) == (status, reason)
    message = "The certificate at ssl:a:1 ends first, on 2026-10-28T00:00:00Z."
    assert condition.message == message if not parts else condition.message.endswith(message)
    assert [part for part in parts if part not in condition.message] == []


def test_a_certificate_whose_authority_has_ended() -> None:
    ends = {"ssl:a:1": after(300), "ssl:b:1": after(300)}
    authorities = [TrustedAuthority("central", f"CN={days}", "A", after(days)) for days in (-1, 300)]
    condition = certificate_condition(ObservedCertificates(ends, ["ssl:b:1"], authorities), BEFORE, NOW)
    assert condition is not None
    assert (condition.status, condition.reason) == ("False", "CAExpired")
    assert condition.message.startswith("The CA has expired that signed the certificate at ssl:b:1. Clients refuse it.")


def test_a_certificate_that_has_ended_itself_is_not_blamed_on_its_authority() -> None:
    condition = certificate_condition(ObservedCertificates({"ssl:a:1": after(-1)}, ["ssl:a:1"]), BEFORE, NOW)
    assert condition is not None
    assert condition.reason == "Expired"
    assert "The CA" not in condition.message


def issued(kind: str, holder: str, days: float) -> IssuedCertificate:
    end = datetime.datetime(2026, 1, 1, tzinfo=datetime.timezone.utc) + datetime.timedelta(days=days)
    return IssuedCertificate(kind, holder, "CA", "1f", f"{end:%Y-%m-%dT%H:%M:%SZ}")


@pytest.mark.parametrize(
    ("days", "status", "reason", "parts"),
    [
        ({"chassis a": 31, "client b": 31}, "True", "Valid", []),
        ({"chassis a": 300, "chassis b": 29}, "True", "ChassisCertificateExpiresSoon",
         ["Certificates of chassis end soon: b (2026-01-30T00:00:00Z). Renew them"]),
        ({"client neutron": 29, "chassis a": 31}, "True", "ClientCertificateExpiresSoon",
         ["Certificates of clients end soon: neutron (2026-01-30T00:00:00Z). Renew that of Neutron with a run of c5c3.ovn.neutron, others with ",
          "bring their files"]),
        ({"metadata-agent a": 29, "chassis a": 31}, "True", "MetadataAgentCertificateExpiresSoon",
         ["Certificates of metadata agents end soon: a (2026-01-30T00:00:00Z). Renew them with a run of c5c3.ovn.neutron."]),
        ({"metadata-agent a": -1}, "False", "MetadataAgentCertificateExpired",
         ["Certificates of metadata agents have expired: a (2025-12-31T00:00:00Z). The Southbound refuses them. Renew them with a run of c5c3.ovn.neutron."]),
        ({"chassis a": 0, "chassis b": 1}, "False", "ChassisCertificateExpired",
         ["Certificates of chassis have expired: a (2026-01-01T00:00:00Z). The Southbound refuses them. Renew them",
          "with ovn_hypervisor_state=gone.", "end soon: b (2026-01-02T00:00:00Z)"]),
        ({"client a": -1, "chassis b": 1}, "False", "ClientCertificateExpired",
         ["Certificates of clients have expired: a (2025-12-31T00:00:00Z). The databases refuse them.", "Certificates of chassis end soon: b ("]),
        ({f"chassis host{number:02}": number for number in range(1, 18)}, "True", "ChassisCertificateExpiresSoon",
         ["soon: host01 (2026-01-02T00:00:00Z), host02 (", "host05 (2026-01-06T00:00:00Z) and 12 more. "]),
    ],
)  # fmt: skip
def test_certificates_of_chassis_and_clients_that_end(
    days: dict[str, float], status: str, reason: str, parts: list[str]
) -> None:
    known = [issued(*name.split(), end) for name, end in days.items()]
    condition = certificate_condition(ObservedCertificates({"ssl:a:1": after(300)}, issued=known), BEFORE, NOW)
    assert condition is not None
    assert (condition.status, condition.reason) == (status, reason)
    assert [part for part in parts if part not in condition.message] == []
    assert condition.message.endswith("The certificate at ssl:a:1 ends first, on 2026-10-28T00:00:00Z.")


def test_what_is_served_comes_before_what_chassis_have() -> None:
    observed = ObservedCertificates({"ssl:a:1": after(1)}, issued=[issued("chassis", "a", 1)])
    condition = certificate_condition(observed, BEFORE, NOW)
    assert condition is not None
    assert condition.reason == "ExpiresSoon"
    assert "Certificates of chassis end soon: a (" in condition.message

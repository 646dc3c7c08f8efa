"""The condition of the certificates that members serve, by the time when they end."""

from __future__ import annotations

import datetime

import pytest

from ansible_collections.c5c3.ovn.plugins.module_utils._api.certificate_status import certificate_condition, first_end

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
    condition = certificate_condition(ends, BEFORE, NOW)
    assert condition is not None
    assert (condition.kind, condition.status, condition.reason) == ("CertificateValid", status, reason)
    assert part in condition.message


def test_who_has_not_asked_keeps_it_and_without_tls_there_is_none() -> None:
    kept = certificate_condition(None, BEFORE, NOW)
    assert kept is not None
    assert kept.message == "x"
    assert certificate_condition(None, None, NOW) is None
    assert certificate_condition({}, BEFORE, NOW) is None


def test_when_the_first_one_ends() -> None:
    assert first_end({"a": after(2), "b": after(1)}) == "2026-01-02T00:00:00Z"
    assert first_end({}) is None

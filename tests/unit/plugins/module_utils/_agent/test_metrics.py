"""Metrics of a status, as a parser of Prometheus reads them."""

from __future__ import annotations

import typing as t

from prometheus_client.parser import text_string_to_metric_families

from ansible_collections.c5c3.ovn.plugins.module_utils._agent.metrics import metrics
from ansible_collections.c5c3.ovn.plugins.module_utils._api.certificate_status import (
    ObservedCertificates,
    TrustedAuthority,
)
from ansible_collections.c5c3.ovn.plugins.module_utils._pki.issued import IssuedCertificate

STATUS: dict[str, t.Any] = {
    "conditions": [
        {"type": "Ready", "status": "True", "reason": "ControlPlaneReady"},
        {"type": "ControllersReady", "status": "False", "reason": "ChassisUnresponsive"},
        {"type": "ClaimsConsistent", "status": "Unknown", "reason": "NotObserved"},
    ],
    "northbound": {
        "members": [
            {"name": "a", "role": "leader", "connected": True},
            {"name": "b", "role": "", "connected": False},
        ]
    },
    "chassisCount": 2,
    "activeControllers": 1,
}


def read(text: str) -> dict[str, dict[tuple[str, ...], float]]:
    """Values by the name of the metric, then by the values of its labels."""
    return {
        family.name.replace("c5c3_ovn_", "", 1): {
            tuple(sample.labels.values()): sample.value for sample in family.samples
        }
        for family in text_string_to_metric_families(text)
    }


def rendered(status: t.Mapping[str, t.Any] | None = None, **changes: t.Any) -> dict[str, dict[tuple[str, ...], float]]:
    known: dict[str, t.Any] = {
        "certificates": ObservedCertificates(
            {"ssl:[2001:db8::1]:6641": 1827139494.0},
            authorities=[
                TrustedAuthority("central", 'CN=the "CA"', "1F", 1827139495.0),
                TrustedAuthority("central", 'CN=the "CA"', "20", 1827139496.0),
                TrustedAuthority("chassis", "CN=other", "1F", 1827139497.0),
            ],
            issued=[
                IssuedCertificate("chassis", "compute1", 'the "CA"', "1f", "2027-11-25T16:58:18Z"),
                IssuedCertificate("client", "compute1", "other", "20", "2027-11-25T16:58:19Z"),
            ],
        ),
        "conflicts": ["one", "two"],
        "relays": {"ssl:a:6642": "", "ssl:b:6642": "no answer"},
        "heartbeats": {"hypervisor1": 1795604688.246},
        "late": ("hypervisor2",),
        "now": 1795604700.5,
    }
    return read(metrics(STATUS if status is None else status, **{**known, **changes}))


def test_all_that_is_known() -> None:
    assert rendered() == {
        "condition": {("Ready",): 1, ("ControllersReady",): 0, ("ClaimsConsistent",): -1},
        "member_connected": {("northbound", "a"): 1, ("northbound", "b"): 0},
        "member_leader": {("northbound", "a"): 1, ("northbound", "b"): 0},
        "chassis_registered": {(): 2},
        "chassis_active": {(): 1},
        "chassis_last_heartbeat_timestamp_seconds": {("hypervisor1",): 1795604688.246},
        "chassis_late": {("hypervisor2",): 1},
        "certificate_not_after_timestamp_seconds": {("ssl:[2001:db8::1]:6641",): 1827139494},
        "issued_certificate_not_after_timestamp_seconds": {
            ("chassis", "compute1", 'the "CA"'): 1827161898,
            ("client", "compute1", "other"): 1827161899,
        },
        "ca_not_after_timestamp_seconds": {
            ("central", 'CN=the "CA"', "1F"): 1827139495,
            ("central", 'CN=the "CA"', "20"): 1827139496,
            ("chassis", "CN=other", "1F"): 1827139497,
        },
        "chassis_conflicts": {(): 2},
        "relay_serves": {("ssl:a:6642",): 1, ("ssl:b:6642",): 0},
        "observed_timestamp_seconds": {(): 1795604700.5},
    }


def test_what_is_not_known_is_absent_and_zero_is_not() -> None:
    nothing = rendered({}, certificates=ObservedCertificates({}), conflicts=None, relays=None, heartbeats={}, late=None)
    assert nothing == {"observed_timestamp_seconds": {(): 1795604700.5}}
    none_left = rendered({"chassisCount": 0, "activeControllers": None}, conflicts=[])
    assert none_left["chassis_registered"] == {(): 0}
    assert "chassis_active" not in none_left
    assert none_left["chassis_conflicts"] == {(): 0}


def test_a_name_may_be_anything() -> None:
    name = 'a "quoted" \\ back\nnew line'
    assert list(rendered(late=(name,))["chassis_late"]) == [(name,)]

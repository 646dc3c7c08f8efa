"""The observer of a central host."""

from __future__ import annotations

import typing as t

from ansible_collections.c5c3.ovn.plugins.module_utils._ovsdb.tls_files import NO_TLS, TlsFiles
from ansible_collections.c5c3.ovn.plugins.module_utils._roles.central_observer import observer_state

GIVEN: dict[str, t.Any] = {
    "clients": {
        "northbound": {"a": "ssl:192.0.2.1:6641", "b": "ssl:192.0.2.2:6641"},
        "southbound": {"a": "ssl:192.0.2.1:16642", "b": "ssl:192.0.2.2:16642"},
    },
    "records": {"northbound": "/etc/c5c3-ovn/northbound", "southbound": "/etc/c5c3-ovn/southbound"},
    "election_timer": 5000,
    "heartbeat_interval": 60,
    "metrics_file": "/var/lib/prometheus/node-exporter/ovn.prom",
    "tls": TlsFiles("key", "certificate", "ca"),
    "client_ca": "relay-ca",
    "issued": "/home/issued.json",
    "program_digest": "1",
}


def test_the_environment() -> None:
    state = observer_state(**GIVEN)
    assert state["environment"] == {
        "OVN_NORTHBOUND": "ssl:192.0.2.1:6641,ssl:192.0.2.2:6641",
        "OVN_SOUTHBOUND": "ssl:192.0.2.1:16642,ssl:192.0.2.2:16642",
        "OVN_NORTHBOUND_RECORD": "/etc/c5c3-ovn/northbound",
        "OVN_SOUTHBOUND_RECORD": "/etc/c5c3-ovn/southbound",
        "OVN_PRIVATE_KEY": "key",
        "OVN_CERTIFICATE": "certificate",
        "OVN_CA_CERTIFICATE": "ca",
        "OVN_CLIENT_CA_CERTIFICATE": "relay-ca",
        "OVN_ISSUED_CERTIFICATES": "/home/issued.json",
        "OVN_ELECTION_TIMER": "5000",
        "OVN_HEARTBEAT_SECONDS": "60",
        "OVN_METRICS_FILE": "/var/lib/prometheus/node-exporter/ovn.prom",
        "OVN_STATUS_FILE": "/run/c5c3-ovn/observer/status.json",
    }
    assert "ReadWritePaths=-/var/lib/prometheus/node-exporter" in state["sandbox"]
    assert "ProtectSystem=strict" in state["sandbox"]
    assert "ProtectHome=read-only" in state["sandbox"]  # for the list


def test_another_program_needs_no_restart_but_other_settings_do() -> None:
    before = observer_state(**GIVEN)
    other_program = observer_state(**{**GIVEN, "program_digest": "2"})
    assert (other_program["revision"], other_program["program_digest"]) == (before["revision"], "2")
    assert observer_state(**{**GIVEN, "tls": NO_TLS})["revision"] != before["revision"]
    assert observer_state(**{**GIVEN, "client_ca": ""})["revision"] != before["revision"]
    assert observer_state(**{**GIVEN, "issued": ""})["revision"] != before["revision"]
    assert observer_state(**{**GIVEN, "heartbeat_interval": 0})["revision"] != before["revision"]

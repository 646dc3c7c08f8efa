# SPDX-License-Identifier: GPL-3.0-or-later
"""A status as metrics, in the text format of Prometheus 0.0.4 (prometheus.io/docs/instrumenting/exposition_formats). Pure.

The image of a pod has no library for it, and on a machine the file is for the textfile collector of node_exporter, which opens no port of ours.
"""

from __future__ import annotations

import http.server
import socket
import threading
import typing as t

from .._api.certificate_status import ObservedCertificates

# Serves the metrics of the observer: `GET /metrics`, without TLS and without secrets, on a port that is declared or else not open.

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"
_SECONDS = 5  # for a client that says nothing


class _Server(http.server.ThreadingHTTPServer):
    """On all addresses of both families, where the host has IPv6."""

    address_family = socket.AF_INET6 if socket.has_dualstack_ipv6() else socket.AF_INET
    daemon_threads = True

    def server_bind(self) -> None:
        if self.address_family == socket.AF_INET6:
            self.socket.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 0)
        super().server_bind()


def serve_metrics(port: int, text: t.Callable[[], str]) -> int:
    """Serve what `text` returns, in a thread, until the process ends; return the port, which is a free one if 0 is asked for. `OSError` if it is taken."""

    class Handler(http.server.BaseHTTPRequestHandler):
        timeout = _SECONDS

        def do_GET(self) -> None:
            if self.path.partition("?")[0] != "/metrics":
                self.send_error(404, "Metrics are at /metrics.")
                return
            body = text().encode()
            self.send_response(200)
            self.send_header("Content-Type", CONTENT_TYPE)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *args: t.Any) -> None:
            """Say nothing: scrapers come every few seconds."""

    server = _Server(("", port), Handler)
    threading.Thread(target=server.serve_forever, daemon=True, name="metrics").start()
    return int(server.server_address[1])


PREFIX = "c5c3_ovn"

_Sample = tuple[t.Mapping[str, str], float]


def metrics(
    status: t.Mapping[str, t.Any],
    *,
    certificates: ObservedCertificates,
    conflicts: t.Sequence[str] | None,
    relays: t.Mapping[str, str] | None,
    heartbeats: t.Mapping[str, float],
    late: t.Collection[str] | None,
    now: float,
) -> str:
    """Return the metrics of a status of an OVNCluster or of machines; a metric that is not known yet is absent.

    `heartbeats`: when each chassis answered last, as `now` in seconds since 1970; `conflicts` between chassis; `relays`: why each does not
    serve chassis, empty if it does; `late`: the chassis that have not answered the last heartbeat.
    """
    lines = [
        *_member_metrics(status),
        *_heartbeat_metrics(heartbeats, late or ()),
        *_certificate_metrics(certificates),
        *_metric(
            "chassis_conflicts",
            "Claims of chassis that are another one's: tunnel addresses, host names, ports that are requested elsewhere.",
            _one(None if conflicts is None else len(conflicts)),
        ),
        *_metric(
            "relay_serves",
            "Whether the relay at an endpoint serves the Southbound database to chassis.",
            [({"endpoint": endpoint}, not why) for endpoint, why in sorted((relays or {}).items())],
        ),
        *_metric("observed_timestamp_seconds", "When the observer looked last.", [({}, now)]),
    ]
    return "".join(f"{line}\n" for line in lines)


def _member_metrics(status: t.Mapping[str, t.Any]) -> list[str]:
    """Return the metrics of the conditions, of the members of both databases, and of the numbers of chassis."""
    conditions = status.get("conditions") or ()
    return [
        *_metric(
            "condition",
            "Whether a condition of the status is true: 1, false: 0, or unknown: -1.",
            [({"type": one["type"]}, _VALUES[one["status"]]) for one in conditions],
        ),
        *_metric(
            "member_connected",
            "Whether a member takes part in the Raft cluster of its database.",
            [({"database": name, "member": member["name"]}, member["connected"]) for name, member in _members(status)],
        ),
        *_metric(
            "member_leader",
            "Whether a member leads the Raft cluster of its database.",
            [
                ({"database": name, "member": member["name"]}, member["role"] == "leader")
                for name, member in _members(status)
            ],
        ),
        *_metric("chassis_registered", "Chassis in the Southbound database.", _one(status.get("chassisCount"))),
        *_metric(
            "chassis_active",
            "Chassis that have answered the last heartbeat in time.",
            _one(status.get("activeControllers")),
        ),
    ]


def _heartbeat_metrics(heartbeats: t.Mapping[str, float], late: t.Collection[str]) -> list[str]:
    return [
        *_metric(
            "chassis_last_heartbeat_timestamp_seconds",
            "When a chassis answered a heartbeat last, by its own clock.",
            [({"chassis": name}, when) for name, when in sorted(heartbeats.items())],
        ),
        *_metric(
            "chassis_late",
            "Chassis that have not answered the last heartbeat in time.",
            [({"chassis": name}, 1) for name in sorted(late)],
        ),
    ]


def _certificate_metrics(certificates: ObservedCertificates) -> list[str]:
    """Return the metrics of certificates and CAs: when each ends."""
    return [
        *_metric(
            "certificate_not_after_timestamp_seconds",
            "When the certificate ends that an endpoint serves.",
            [({"endpoint": endpoint}, end) for endpoint, end in sorted(certificates.ends.items())],
        ),
        *_metric(
            "issued_certificate_not_after_timestamp_seconds",
            "When the certificate ends that was issued to a chassis, its metadata agent or a client.",
            [({"kind": one.kind, "holder": one.holder, "issuer": one.issuer}, one.end) for one in certificates.issued],
        ),
        *_metric(
            "ca_not_after_timestamp_seconds",
            "When a CA ends that everybody trusts (central), or that the Southbound lets in beside them (chassis).",
            [
                ({"bundle": one.bundle, "subject": one.subject, "serial": one.serial}, one.end)
                for one in certificates.authorities
            ],
        ),
    ]


_VALUES = {"True": 1, "False": 0, "Unknown": -1}


def _members(status: t.Mapping[str, t.Any]) -> list[tuple[str, t.Mapping[str, t.Any]]]:
    return [
        (name, member)
        for name in ("northbound", "southbound")
        for member in (status.get(name) or {}).get("members") or ()
    ]


def _one(value: float | None) -> list[_Sample]:
    return [] if value is None else [({}, value)]


def _metric(name: str, description: str, samples: t.Sequence[_Sample]) -> list[str]:
    if not samples:
        return []
    full = f"{PREFIX}_{name}"
    return [
        f"# HELP {full} {description}",
        f"# TYPE {full} gauge",
        *(f"{full}{_labels(labels)} {_number(value)}" for labels, value in samples),
    ]


def _labels(labels: t.Mapping[str, str]) -> str:
    pairs = ",".join(f'{name}="{_escape(value)}"' for name, value in labels.items())
    return f"{{{pairs}}}" if pairs else ""


def _escape(value: str) -> str:
    return value.replace("\\", "\\\\").replace("\n", "\\n").replace('"', '\\"')


def _number(value: float) -> str:
    return str(int(value)) if float(value).is_integer() else f"{value:.3f}"

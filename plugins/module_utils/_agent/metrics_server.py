# SPDX-License-Identifier: GPL-3.0-or-later
"""Serves the metrics of the observer: `GET /metrics`, without TLS and without secrets, on a port that is declared or else not open."""

from __future__ import annotations

import http.server
import socket
import threading
import typing as t

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

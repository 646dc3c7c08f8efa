# SPDX-License-Identifier: GPL-3.0-or-later
"""What Prometheus and the kubelet ask of the operator."""

from __future__ import annotations

import contextlib
import socket
import socketserver
import threading
import typing as t
from wsgiref.simple_server import WSGIRequestHandler, WSGIServer, make_server

from .metrics import Metrics

with contextlib.suppress(ImportError):  # main says so
    import prometheus_client


class _HttpServer(socketserver.ThreadingMixIn, WSGIServer):
    daemon_threads = True
    address_family = socket.AF_INET6 if socket.has_dualstack_ipv6() else socket.AF_INET

    def server_bind(self) -> None:
        if self.address_family == socket.AF_INET6:
            self.socket.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 0)
        super().server_bind()


class _SilentHandler(WSGIRequestHandler):
    def log_message(self, *_arguments: t.Any) -> None:
        """Probes come every few seconds."""


def serve(metrics: Metrics, port: int, is_healthy: t.Callable[[], bool], is_ready: t.Callable[[], bool]) -> WSGIServer:
    """Serve /metrics, /healthz and /readyz at all addresses, in a thread; port 0 takes a free one."""
    page = prometheus_client.make_wsgi_app(metrics.registry)
    checks = {"/healthz": is_healthy, "/readyz": is_ready}

    def answer(environ: dict[str, t.Any], start: t.Callable[..., t.Any]) -> t.Iterable[bytes]:
        path = str(environ.get("PATH_INFO"))
        if path == "/metrics":
            return t.cast("t.Iterable[bytes]", page(environ, start))
        check = checks.get(path)
        status = "404 Not Found" if check is None else "200 OK" if check() else "503 Service Unavailable"
        start(status, [("Content-Type", "text/plain")])
        return [f"{status}\n".encode()]

    server = make_server("", port, answer, server_class=_HttpServer, handler_class=_SilentHandler)
    threading.Thread(target=server.serve_forever, name="http", daemon=True).start()
    return server

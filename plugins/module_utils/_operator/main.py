# SPDX-License-Identifier: GPL-3.0-or-later
"""The process of the operator: `python3 -m ansible_collections.c5c3.ovn.plugins.module_utils._operator.main`."""

from __future__ import annotations

import argparse
import contextlib
import logging
import os
import platform
import secrets
import signal
import socket
import socketserver
import sys
import threading
import time
import typing as t
from wsgiref.simple_server import WSGIRequestHandler, WSGIServer, make_server

from .._api.names import API_VERSION
from .._base.errors import OvnError
from .._kubernetes.client import Cluster
from .._kubernetes.lease import lead
from .._kubernetes.watcher import Watched, Watcher
from .operated_cluster import OperatedCluster, observe_resource
from .status_writer import Metrics
from .target import Options, Shared, Target

# Looks after all OVNClusters: begins with those that appear, ends with those that go.


class Operator:
    def __init__(self, shared: Shared) -> None:
        self._shared = shared
        self._clusters: dict[str, OperatedCluster] = {}
        self._lock = threading.Lock()
        watched = Watched(API_VERSION, "OVNCluster", shared.options.namespace)
        self._watcher = Watcher(shared.cluster, watched, observe_resource, self._on_cluster, self._on_problem)
        self._problem: OvnError | None = None
        shared.metrics.queue.set_function(lambda: float(sum(one.worker.is_due for one in self.targets())))

    def start(self) -> Operator:
        self._watcher.start()
        return self

    def stop(self, timeout: float) -> bool:
        """Begin nothing any more, and return whether the runs in progress have ended within `timeout` seconds."""
        self._watcher.stop()
        targets = self.targets()
        with self._lock:
            for one in self._clusters.values():
                one.stop()
        end = time.monotonic() + timeout
        return sum(not one.worker.join(max(end - time.monotonic(), 0)) for one in targets) == 0

    def targets(self) -> list[Target]:
        with self._lock:
            return [target for one in self._clusters.values() for target in one.targets()]

    def is_healthy(self) -> bool:
        """Return whether every worker lives."""
        return all(one.worker.is_alive for one in self.targets())

    def _on_problem(self, problem: OvnError | None) -> None:
        if problem is not None and str(problem) != str(self._problem):
            _LOG.warning("OVNClusters cannot be followed: %s", problem)
        self._problem = problem

    def _on_cluster(self, key: str, observed: t.Any) -> None:
        namespace, _slash, name = key.partition("/")
        with self._lock:
            known = self._clusters.get(key)
            if known is not None and (observed is None or observed.uid != known.uid):
                self._clusters.pop(key).stop()
                known = None
        if observed is None:
            return
        if known is None:
            resource = self._shared.cluster.get(API_VERSION, "OVNCluster", name, namespace)
            if resource is None:
                return  # its end is the next event
            known = OperatedCluster(self._shared, resource).start()
            with self._lock:
                self._clusters[key] = known
        known.on_change(observed)


# What Prometheus and the kubelet ask of the operator.

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


_LOG = logging.getLogger("c5c3.ovn.operator")
_LEASE = "ovn-operator"
_ENDING = (signal.SIGTERM, signal.SIGINT)
_GRACE = 25.0  # seconds for runs in progress: a kubelet gives a pod 30


def _parse(arguments: t.Sequence[str]) -> argparse.Namespace:
    env = os.environ
    parser = argparse.ArgumentParser(prog="ovn-operator", description="Rolls out what OVNClusters declare.")
    parser.add_argument(
        "--namespace",
        default=env.get("WATCH_NAMESPACE", ""),
        help="look after the OVNClusters of this namespace alone (WATCH_NAMESPACE)",
    )
    parser.add_argument(
        "--leader-namespace",
        default=env.get("POD_NAMESPACE", "ovn-system"),
        help="namespace of the Lease ovn-operator (POD_NAMESPACE)",
    )
    parser.add_argument(
        "--metrics-port",
        type=int,
        default=env.get("METRICS_PORT", "8080"),
        help="port of /metrics, /healthz and /readyz (METRICS_PORT)",
    )
    parser.add_argument(
        "--resync",
        type=float,
        default=env.get("RESYNC_SECONDS", "600"),
        help="seconds until a place is looked at without a cause (RESYNC_SECONDS)",
    )
    parser.add_argument(
        "--cluster-domain",
        default=env.get("CLUSTER_DOMAIN", "cluster.local"),
        help="DNS domain of this cluster (CLUSTER_DOMAIN)",
    )
    parser.add_argument(
        "--log-level",
        default=env.get("LOG_LEVEL", "info"),
        choices=["debug", "info", "warning", "error"],
        help="(LOG_LEVEL)",
    )
    options = parser.parse_args(arguments)
    if options.resync < 10:
        parser.error("--resync is less than 10 seconds: that would be a loop. The default is 600.")
    return options


def _configure_log(level: str) -> None:
    logging.basicConfig(
        level=level.upper(), format="%(asctime)s %(levelname)s %(message)s", datefmt="%Y-%m-%dT%H:%M:%S%z"
    )
    logging.getLogger("leaderelection").setLevel(logging.WARNING)
    logging.getLogger("urllib3").setLevel(logging.ERROR)  # each watch is a connection of its own


def _start_election(operator: Operator, metrics: Metrics, namespace: str, leader_namespace: str) -> threading.Event:
    """Start the operator as soon as this process leads. When the election ends, set the event that this returns and send SIGTERM."""
    lost = threading.Event()

    def start_leading() -> None:
        _LOG.info("Leading; looking after OVNClusters in %s", namespace or "all namespaces")
        metrics.leader.set(1)
        operator.start()

    def stop_leading() -> None:
        _LOG.error("The Lease %s/%s was lost", leader_namespace, _LEASE)

    identity = f"{os.environ.get('POD_NAME') or platform.node()}-{secrets.token_hex(4)}"

    def run_election() -> None:
        try:
            lead(_LEASE, leader_namespace, identity, start_leading, stop_leading)
        except Exception:
            _LOG.exception("The election has failed")
        # Another process may lead already: this one ends at once, whatever it is doing, and begins anew as a candidate.
        lost.set()
        os.kill(os.getpid(), signal.SIGTERM)

    threading.Thread(target=run_election, name="election", daemon=True).start()
    return lost


def main(arguments: t.Sequence[str] = tuple(sys.argv[1:])) -> int:
    options = _parse(arguments)
    # Before there are threads, which inherit it: the kernel may hand a signal to any of them, and this one would not wake up.
    signal.pthread_sigmask(signal.SIG_BLOCK, _ENDING)
    _configure_log(options.log_level)
    try:
        shared = Shared(Cluster({}), Options(options.namespace, options.resync, options.cluster_domain), Metrics())
    except OvnError as e:
        _LOG.error("%s", e)
        return 1
    operator = Operator(shared)
    serve(shared.metrics, options.metrics_port, operator.is_healthy, lambda: True)
    lost = _start_election(operator, shared.metrics, options.namespace, options.leader_namespace)
    signal.sigwait(_ENDING)
    finished = operator.stop(0 if lost.is_set() else _GRACE)
    _LOG.info("Ended%s", "" if finished else "; a run was cut off, and the next leader goes on with it")
    code = 1 if lost.is_set() else 0
    if not finished:
        logging.shutdown()
        os._exit(code)  # Python itself would wait for the threads with which that run asks several members at once
    return code


if __name__ == "__main__":
    raise SystemExit(main())

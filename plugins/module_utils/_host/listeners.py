# SPDX-License-Identifier: GPL-3.0-or-later
"""Whether every listener lets a pair in and serves the certificate that it should, in the form of `ovn_listeners_info`."""

from __future__ import annotations

import concurrent.futures
import time
import typing as t

from .._base.deadline import Deadline
from .._base.errors import OvnError
from .._ovsdb.endpoint import parse_endpoint
from .._ovsdb.tls_files import TlsFiles
from .._ovsdb.wire import Connection

OPTIONS: dict[str, dict[str, t.Any]] = {
    "listeners": {"type": "dict", "required": True},
    # A path, not a secret.
    "private_key": {"type": "path", "required": True, "no_log": False},
    "certificate": {"type": "path", "required": True},
    "ca_certificate": {"type": "path", "required": True},
    "timeout": {"type": "float", "default": 20},
}
_ATTEMPT, _PAUSE = 5.0, 0.5  # seconds


def listener_problem(endpoint: str, served: str, expected: str) -> str:
    """Return what is wrong with the certificate that is served; serial numbers are hexadecimal, `expected` is empty if any certificate is right."""
    if not expected or _number(served) == _number(expected):
        return ""
    return f"{endpoint} serves the certificate with the serial number {served.lower()}, not {expected.lower()}"


def _number(serial: str) -> int:
    return int(serial or "0", 16)


def try_listeners(params: t.Mapping[str, t.Any]) -> list[dict[str, str]]:
    """Return for each listener its `endpoint`, the `serial_number` that it serves and the `problem`, empty if there is none.

    A server notices new files when it is busy next, so it is tried again until the time is over.
    """
    tls = TlsFiles(params["private_key"], params["certificate"], params["ca_certificate"])
    deadline = Deadline(params["timeout"])
    listeners = sorted(params["listeners"].items())
    with concurrent.futures.ThreadPoolExecutor(max_workers=16) as pool:
        return list(pool.map(lambda one: _try(one[0], one[1] or "", tls, deadline), listeners))


def _try(endpoint: str, expected: str, tls: TlsFiles, deadline: Deadline) -> dict[str, str]:
    while True:
        found = _attempt(endpoint, expected, tls, deadline)
        if not found["problem"] or deadline.expired:
            return found
        time.sleep(min(_PAUSE, deadline.left()))


def _attempt(endpoint: str, expected: str, tls: TlsFiles, deadline: Deadline) -> dict[str, str]:
    try:
        with Connection(parse_endpoint(endpoint), tls, deadline.within(_ATTEMPT)) as connection:
            # With TLS 1.3 a server refuses the certificate of its client after the handshake. Ports of Raft answer this, too.
            connection.call("echo", [])
            served = str((connection.peer_certificate or {}).get("serialNumber", ""))
            return {
                "endpoint": endpoint,
                "serial_number": served.lower(),
                "problem": listener_problem(endpoint, served, expected),
            }
    except OvnError as e:
        return {"endpoint": endpoint, "serial_number": "", "problem": str(e)}

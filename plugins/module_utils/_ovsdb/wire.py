# SPDX-License-Identifier: GPL-3.0-or-later
"""JSON-RPC 1.0 (RFC 7047 section 4) over unix, tcp and TLS sockets, with the standard library alone.

Not ovs.jsonrpc, because several members are asked at once under one deadline, a failed handshake needs a message, the certificate that a port serves
is read, and the import costs a task without changes nothing. Tables that grow are followed with ovs.db.idl (session.py), the Northbound database is written
with ovsdbapp (northbound.py).
"""

from __future__ import annotations

import errno
import itertools
import json
import socket
import threading
import typing as t

from .._base.deadline import Deadline
from .._base.errors import InvalidInput, OvnError, Refused, TimedOut, Unreachable
from .endpoint import Endpoint

if t.TYPE_CHECKING:
    import ssl

    from .tls_files import TlsFiles

_CHUNK = 65536


def tls_context(files: TlsFiles) -> ssl.SSLContext:
    """Return `client_context` of these files, whose library loads only where an endpoint has TLS."""
    from .tls import client_context

    return client_context(files)


class Connection:
    """One JSON-RPC session with an OVSDB server or a control socket. Every wait ends at `deadline`; every failure is an `OvnError` with `name`."""

    def __init__(self, endpoint: Endpoint, tls: TlsFiles, deadline: Deadline) -> None:
        self.name = str(endpoint)
        self.deadline = deadline
        self.tls_client = endpoint.scheme == "ssl"
        self._buffer = bytearray()
        self._answered = False
        self._ids = itertools.count()
        self._decoder = json.JSONDecoder()
        self._socket = self._open(endpoint, tls)

    def __enter__(self) -> Connection:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()

    def close(self) -> None:
        self._socket.close()

    def _left(self) -> float:
        left = self.deadline.left()
        if left <= 0:
            raise self._timed_out()
        return left

    def _timed_out(self) -> TimedOut:
        return TimedOut(
            f"{self.name} did not answer within {round(self.deadline.seconds, 1):g} s. The process may hang, or a firewall drops the packets."
        )

    def _failed(self, e: OSError) -> OvnError:
        if isinstance(e, (TimeoutError, socket.timeout)):  # two classes before Python 3.10
            return self._timed_out()
        if self.tls_client:
            from .tls import tls_failure

            problem = tls_failure(self.name, e, answered=self._answered)
            if problem:
                return problem
        cause = e.strerror or str(e)
        return Unreachable(f"{self.name} is not reachable: {cause}.", errno=e.errno)

    def _open(self, endpoint: Endpoint, tls: TlsFiles) -> socket.socket:
        context = tls_context(tls) if endpoint.scheme == "ssl" else None
        try:
            if endpoint.scheme == "unix":
                raw = socket.socket(socket.AF_UNIX)
                raw.settimeout(self._left())
                raw.connect(endpoint.host)
            else:
                raw = socket.create_connection((endpoint.host, endpoint.port), timeout=self._left())
            if context is None:
                return raw
            raw.settimeout(self._left())
            return context.wrap_socket(raw)
        except OSError as e:
            raise self._failed(e) from e
        except ValueError as e:  # a NUL character, a host name that DNS cannot express
            raise InvalidInput(f"{self.name[:200]!a} is no usable address: {e}.") from e

    @property
    def peer_certificate(self) -> dict[str, t.Any] | None:
        """Return the certificate that the port serves, as ssl.SSLSocket.getpeercert() does; None without TLS."""
        return t.cast("ssl.SSLSocket", self._socket).getpeercert() if self.tls_client else None

    def call(self, method: str, params: list[t.Any]) -> t.Any:
        """Return the result of one request; `Refused` for an error in the reply."""
        request_id = f"c{next(self._ids)}"
        self._send({"method": method, "params": params, "id": request_id})
        while True:
            message = self._receive()
            if message.get("method") == "echo":  # the server's inactivity probe
                self._send({"id": message.get("id"), "result": message.get("params"), "error": None})
            elif message.get("id") == request_id:
                if message.get("error") is not None:
                    error = message["error"]
                    details = (
                        (error.get("error", ""), error.get("details", "")) if isinstance(error, dict) else (error,)
                    )
                    reason = " ".join(map(str, details))
                    raise Refused(f"{self.name} refused {method}: {reason.strip()}", error=reason.strip())
                return message.get("result")

    def _send(self, message: dict[str, t.Any]) -> None:
        try:
            self._socket.settimeout(self._left())
            self._socket.sendall(json.dumps(message).encode())
        except OSError as e:
            raise self._failed(e) from e

    def _receive(self) -> dict[str, t.Any]:
        while True:
            message = self._next_message()
            if message is not None:
                return message
            self._buffer += self._read(_CHUNK)

    def _read(self, size: int) -> bytes:
        """Return the next octets, at most `size`."""
        try:
            self._socket.settimeout(self._left())
            data = self._socket.recv(size)
        except OSError as e:
            raise self._failed(e) from e
        if not data:
            raise self._failed(ConnectionResetError(errno.ECONNRESET, "the server closed the connection"))
        self._answered = True
        return data

    def _next_message(self) -> dict[str, t.Any] | None:
        """Return the first message of the buffer, None while it is incomplete."""
        while self._buffer[:1].isspace():
            del self._buffer[0]
        if self._buffer and not self._buffer.startswith(b"{"):
            raise Refused(f"{self.name} does not speak JSON-RPC. Is it an OVSDB port, and is TLS used on both sides?")
        # Looking at the end first keeps a long answer, which comes in many pieces, from being decoded again for each of them.
        if not self._buffer.rstrip().endswith(b"}"):
            return None
        try:
            text = self._buffer.decode()
            message, end = self._decoder.raw_decode(text)
        except ValueError:  # the brace is an inner one, or a character is cut in two
            return None
        except RecursionError as e:
            raise Refused(f"{self.name} answers with endless nesting: it is no OVSDB server.") from e
        self._buffer = bytearray(text[end:].encode())
        return t.cast("dict[str, t.Any]", message)


_Item = t.TypeVar("_Item")
_Answer = t.TypeVar("_Answer")


def ask_all(
    items: t.Sequence[_Item], ask: t.Callable[[_Item], _Answer], deadline: Deadline | None = None
) -> list[_Answer | OvnError]:
    """Return the answers of all items in order, asked at the same time; an `OvnError` stands in for the answer that it prevented.

    No answer is waited for after `deadline`, not even while a name server does not respond (which no socket timeout ends).
    Any other exception is a bug and is raised here.
    """
    outcomes: dict[int, _Answer | BaseException] = {}

    def run(position: int) -> None:
        try:
            outcomes[position] = ask(items[position])
        except BaseException as e:  # raised below, in the thread of the caller
            outcomes[position] = e

    # Daemon threads: one that hangs in a name look-up must not keep the process from ending.
    threads = [threading.Thread(target=run, args=(position,), daemon=True) for position in range(len(items))]
    for thread in threads:
        thread.start()
    for thread in threads:
        # An `ask` that keeps the deadline itself gets the time to raise its own, better error.
        thread.join(None if deadline is None else deadline.left() + 0.25)
    answers: list[_Answer | OvnError] = []
    for position, item in enumerate(items):
        if position not in outcomes:
            seconds = deadline.seconds if deadline else 0
            answers.append(
                TimedOut(f"{item} gave no answer within {seconds:g} s: its name could not be looked up in time.")
            )
            continue
        outcome = outcomes[position]
        if isinstance(outcome, BaseException) and not isinstance(outcome, OvnError):
            raise outcome
        answers.append(outcome)
    return answers

"""A chassis that writes one number after the other through one connection, and takes the next of its endpoints when that one ends. Started as a script.

It prints one line when it ends (SIGTERM): the number of the last acknowledged write, the longest time without one in seconds, and how often it connected.
"""

from __future__ import annotations

import json
import signal
import socket
import ssl
import sys
import time
import typing as t

CHASSIS = "c1"
DATABASE = "OVN_Southbound"
_ANSWER_SECONDS = 60.0  # a chassis would not wait less; what is lost is seen by the end of the connection
_PAUSE = 0.05


class Connection:
    """One session of JSON-RPC over TLS."""

    def __init__(self, context: ssl.SSLContext, endpoint: str) -> None:
        _scheme, host, port = endpoint.split(":")
        raw = socket.create_connection((host, int(port)), 5)
        self.socket = context.wrap_socket(raw)
        self.socket.settimeout(_ANSWER_SECONDS)
        self._text, self._number = "", 0

    def call(self, method: str, params: list[t.Any]) -> t.Any:
        self._number += 1
        self._send({"method": method, "params": params, "id": self._number})
        while True:
            message = self._receive()
            if message.get("method") == "echo":
                self._send({"result": message["params"], "error": None, "id": message["id"]})
            elif message.get("id") == self._number:
                return message["result"]

    def _send(self, message: t.Any) -> None:
        self.socket.sendall(json.dumps(message).encode())

    def _receive(self) -> t.Any:
        while True:
            try:
                message, end = json.JSONDecoder().raw_decode(self._text)
            except ValueError:
                data = self.socket.recv(65536)
                if not data:
                    raise ConnectionError("the server ended the connection") from None
                self._text += data.decode()
                continue
            self._text = self._text[end:].lstrip()
            return message


def main(key: str, certificate: str, authority: str, endpoints: str) -> None:
    stopped: list[int] = []
    signal.signal(signal.SIGTERM, lambda number, _frame: stopped.append(number))
    context = ssl.create_default_context(cafile=authority)
    context.check_hostname = False
    context.load_cert_chain(certificate, key)
    choices, connection = endpoints.split(","), None
    number, longest, connected, last = 0, 0.0, 0, time.monotonic()
    while not stopped:
        try:
            if connection is None:
                choices = [*choices[1:], choices[0]]
                connection = Connection(context, choices[0])
                connected += 1
            row = {"external_ids": ["map", [["n", str(number + 1)]]]}
            update = {"op": "update", "table": "Chassis", "where": [["name", "==", CHASSIS]], "row": row}
            answer = connection.call("transact", [DATABASE, update])
        except OSError:
            connection, answer = None, None
        if answer and all("error" not in (one or {}) for one in answer) and answer[0].get("count") == 1:
            number += 1
            now = time.monotonic()
            longest, last = max(longest, now - last), now
        time.sleep(_PAUSE)  # between two writes or attempts, as ovn-controller makes them
    longest = max(longest, time.monotonic() - last)
    print(json.dumps({"last": number, "longest": longest, "connected": connected}), flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])

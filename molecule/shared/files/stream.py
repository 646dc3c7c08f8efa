"""A TCP stream through the tunnels, and what it notices of an update.

stream.py serve PORT                          echoes lines, for one client after the other, until it is killed or 300 s are over
stream.py send ADDRESS PORT SECONDS           sends a line every 20 ms; prints as JSON how many lines were sent and came back, and the longest pause
"""

from __future__ import annotations

import json
import socket
import sys
import threading
import time

LINE = 8


def serve(port: int) -> None:
    listener = socket.create_server(("", port), family=socket.AF_INET)
    listener.settimeout(300)
    while True:
        connection, _address = listener.accept()
        with connection:
            while data := connection.recv(65536):
                connection.sendall(data)


def send(address: str, port: int, seconds: float) -> None:
    connection = socket.create_connection((address, port), timeout=10)
    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    connection.settimeout(30)
    number = int(seconds / 0.02)
    arrived: list[float] = []
    error = ""

    def receive() -> None:
        nonlocal error
        rest = b""
        try:
            while len(arrived) < number:
                data = connection.recv(65536)
                if not data:
                    error = "the connection was closed"
                    return
                rest += data
                while len(rest) >= LINE:
                    assert int(rest[:LINE]) == len(arrived), "a line is missing or doubled"
                    arrived.append(time.monotonic())
                    rest = rest[LINE:]
        except (OSError, AssertionError) as e:
            error = str(e)

    receiver = threading.Thread(target=receive)
    receiver.start()
    begin = time.monotonic()
    for index in range(number):
        connection.sendall(f"{index:0{LINE - 1}d}\n".encode())
        time.sleep(max(0.0, begin + (index + 1) * 0.02 - time.monotonic()))
    receiver.join(60)
    pause = max((later - sooner for sooner, later in zip([begin, *arrived], arrived)), default=seconds)
    print(json.dumps({"sent": number, "received": len(arrived), "pause": round(pause, 3), "error": error}))


if __name__ == "__main__":
    if sys.argv[1] == "serve":
        serve(int(sys.argv[2]))
    else:
        send(sys.argv[2], int(sys.argv[3]), float(sys.argv[4]))

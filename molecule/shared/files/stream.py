"""A TCP stream and UDP datagrams through the tunnels, and what they notice of an update.

stream.py serve PORT                          echoes both, for one stream after the other, until it is killed or no stream has come for 300 s
stream.py send ADDRESS PORT SECONDS [STEP]    sends a line and a datagram every 20 ms, or STEP seconds; prints as JSON how many of both were sent and came back,
                                              and the longest pause of each
"""

from __future__ import annotations

import contextlib
import json
import socket
import sys
import threading
import time

LINE = 8
SO_RCVBUFFORCE = 33  # socket(7); Python has no name for it


def datagram_socket(family: int) -> socket.socket:
    """Return one with a large buffer: a receiver that waits for its processor must not count as a lossy network. A packet takes up to 64 KiB of it."""
    datagrams = socket.socket(family, socket.SOCK_DGRAM)
    with contextlib.suppress(PermissionError):
        datagrams.setsockopt(socket.SOL_SOCKET, SO_RCVBUFFORCE, 1 << 28)
    return datagrams


def echo_datagrams(datagrams: socket.socket) -> None:
    while True:
        datagrams.sendto(*datagrams.recvfrom(2048))


def serve(port: int) -> None:
    listener = socket.create_server(("", port), family=socket.AF_INET6, dualstack_ipv6=True)
    listener.settimeout(300)
    datagrams = datagram_socket(socket.AF_INET6)
    datagrams.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 0)
    datagrams.bind(("", port))
    threading.Thread(target=echo_datagrams, args=(datagrams,), daemon=True).start()
    while True:
        connection, _address = listener.accept()
        with connection:
            while data := connection.recv(65536):
                connection.sendall(data)


def send(address: str, port: int, seconds: float, step: float = 0.02) -> None:
    connection = socket.create_connection((address, port), timeout=10)
    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    connection.settimeout(30)
    datagrams = datagram_socket(connection.family)
    datagrams.connect((address, port))
    number = int(seconds / step)
    arrived: list[float] = []
    answers: dict[int, float] = {}  # of datagrams: number, time
    answered = threading.Event()
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

    def receive_datagrams() -> None:
        while True:
            with contextlib.suppress(OSError):  # the network is unreachable for a moment: a loss like others
                answers.setdefault(int(datagrams.recv(2048)), time.monotonic())
                if len(answers) == number:
                    answered.set()

    receiver = threading.Thread(target=receive)
    receiver.start()
    threading.Thread(target=receive_datagrams, daemon=True).start()
    begin = time.monotonic()
    for index in range(number):
        line = f"{index:0{LINE - 1}d}\n".encode()
        with contextlib.suppress(OSError):
            datagrams.send(line)
        connection.sendall(line)
        time.sleep(max(0.0, begin + (index + 1) * step - time.monotonic()))  # lines come in step
    receiver.join(60)
    answered.wait(1)  # what is later is lost
    stream = {"sent": number, "received": len(arrived), "pause": longest_pause(begin, arrived), "error": error}
    udp = {"received": len(answers), "pause": longest_pause(begin, sorted(answers.values()))}
    print(json.dumps({**stream, "udp": udp}))


def longest_pause(begin: float, arrived: list[float]) -> float | None:
    """Return the seconds between two answers, or until the first; None without any answer."""
    return max((round(later - sooner, 3) for sooner, later in zip([begin, *arrived], arrived)), default=None)


if __name__ == "__main__":
    if sys.argv[1] == "serve":
        serve(int(sys.argv[2]))
    else:
        send(sys.argv[2], int(sys.argv[3]), *map(float, sys.argv[4:]))

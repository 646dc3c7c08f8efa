"""What a path between two guests carries; runs in them.

guest_load.py serve PORT                     takes in TCP streams, and answers datagrams, until it is killed
guest_load.py tcp ADDRESS PORT SECONDS       prints Mbit/s of a stream
guest_load.py latency ADDRESS PORT COUNT     prints how many answers were lost, then the median time to an answer, in microseconds
guest_load.py connect ADDRESS PORT SECONDS   prints how many connections a second were made and ended
"""

from __future__ import annotations

import contextlib
import socket
import statistics
import struct
import sys
import threading
import time

_ANSWER_SECONDS = 2.0  # an answer that takes longer is lost
_RESET = struct.pack("ii", 1, 0)  # SO_LINGER: no port stays in TIME_WAIT


def _take_in(connection: socket.socket) -> None:
    count = 0
    with connection, contextlib.suppress(ConnectionResetError):  # that is how `connect` ends its own
        while data := connection.recv(1 << 20):
            count += len(data)
        if count:
            connection.sendall(b"%d" % count)


def serve(port: int) -> None:
    datagrams = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    datagrams.bind(("", port))

    def answer() -> None:
        while True:
            datagrams.sendto(*datagrams.recvfrom(2048))

    threading.Thread(target=answer, daemon=True).start()
    with socket.create_server(("", port), backlog=512) as listener:
        while True:
            connection, _address = listener.accept()
            threading.Thread(target=_take_in, args=(connection,), daemon=True).start()


def tcp(address: str, port: int, seconds: int) -> float:
    block = bytes(1 << 16)
    began = time.monotonic()
    with socket.create_connection((address, port), timeout=30) as connection:
        while time.monotonic() < began + seconds:
            connection.sendall(block)
        connection.shutdown(socket.SHUT_WR)
        arrived = int(connection.recv(64))
    return arrived * 8 / 1e6 / (time.monotonic() - began)


def latency(address: str, port: int, count: int) -> float:
    taken = []
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as datagrams:
        datagrams.connect((address, port))
        datagrams.settimeout(_ANSWER_SECONDS)
        for number in range(count):
            began = time.perf_counter()
            datagrams.send(b"%d" % number)
            try:
                while int(datagrams.recv(64)) != number:  # a late answer to another one
                    pass
            except TimeoutError:  # a busy host may lose 1 %
                if number - len(taken) >= count // 100:
                    raise
            else:
                taken.append(time.perf_counter() - began)
    print(f"lost {count - len(taken)} of {count}")
    return statistics.median(taken) * 1e6


def connect(address: str, port: int, seconds: int) -> float:
    count = 0
    began = time.monotonic()
    while time.monotonic() < began + seconds:
        with socket.create_connection((address, port), timeout=10) as connection:
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _RESET)
        count += 1
    return count / (time.monotonic() - began)


if __name__ == "__main__":
    verb, *arguments = sys.argv[1:]
    if verb == "serve":
        serve(int(arguments[0]))
    else:
        measure = {"tcp": tcp, "latency": latency, "connect": connect}[verb]
        print(measure(arguments[0], int(arguments[1]), int(arguments[2])))

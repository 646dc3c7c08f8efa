# SPDX-License-Identifier: GPL-3.0-or-later
"""Work inside a network namespace of ip-netns(8), and what only a socket inside of it can do."""

from __future__ import annotations

import array
import contextlib
import ctypes
import errno
import fcntl
import os
import select
import socket
import struct
import time
import typing as t

from .._base.deadline import Deadline
from .._base.errors import OvnError, Refused, Unreachable
from .icmp import IPV4, Tally, echo_reply_sequence, echo_request, version_of

FOLDER = "/run/netns"

_CLONE_NEWNET = 0x40000000
_SIOCGIFFLAGS = 0x8913
_SIOCETHTOOL = 0x8946
_ETHTOOL_GTXCSUM = 0x16
_ETHTOOL_STXCSUM = 0x17
_IFF_UP = 0x1
_IP_MTU_DISCOVER = 10  # ip(7); the socket module does not know them
_IP_PMTUDISC_DO = 2


@contextlib.contextmanager
def inside(namespace: str | None) -> t.Iterator[None]:
    """The block runs in `namespace`; None is the namespace where we are. os.setns() exists from Python 3.12 on only."""
    if namespace is None:
        yield
        return
    path = f"{FOLDER}/{namespace}"
    with contextlib.ExitStack() as files:
        home = files.enter_context(open("/proc/self/ns/net", "rb"))
        try:
            target = files.enter_context(open(path, "rb"))
        except OSError as e:
            raise Unreachable(
                f"Network namespace {namespace} cannot be entered: {path}: {e.strerror}. Run the step that makes it first."
            ) from e
        _enter(target.fileno(), namespace)
        try:
            yield
        finally:
            _enter(home.fileno(), namespace)


def _enter(descriptor: int, namespace: str) -> None:
    if ctypes.CDLL(None, use_errno=True).setns(descriptor, _CLONE_NEWNET) != 0:
        cause = os.strerror(ctypes.get_errno())
        raise Refused(f"Network namespace {namespace} cannot be entered or left: {cause}. This needs root (become).")


def device_up(device: str) -> bool | None:
    """Whether the device of this network namespace is up; None if there is none. /sys may show another namespace."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as control:
        try:
            answer = fcntl.ioctl(control, _SIOCGIFFLAGS, struct.pack("16s24x", device.encode()))
        except OSError as e:
            if e.errno == errno.ENODEV:
                return None
            raise OvnError(f"The state of {device} cannot be read: {e.strerror}.") from e
    return bool(struct.unpack_from("H", answer, 16)[0] & _IFF_UP)


def tx_checksum(device: str, value: bool | None = None) -> bool:
    """Whether the device offloads transmit checksums; sets it first if `value` is given. As `ethtool -K DEVICE tx off`, without ethtool."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as control:

        def call(command: int, data: int) -> int:
            request = array.array("B", struct.pack("=II", command, data))
            address, _length = request.buffer_info()
            fcntl.ioctl(control, _SIOCETHTOOL, struct.pack("16sP", device.encode(), address))
            return int(struct.unpack("=II", request.tobytes())[1])

        try:
            if value is not None:
                call(_ETHTOOL_STXCSUM, int(value))
            return bool(call(_ETHTOOL_GTXCSUM, 0))
        except OSError as e:
            if e.errno == errno.EOPNOTSUPP:
                return False  # a device without offload
            raise OvnError(f"The checksum offload of {device} cannot be read or set: {e.strerror}.") from e


class Pinger:
    """Echo requests of one size to several addresses of one version of IP at the same time."""

    def __init__(self, addresses: t.Sequence[str], packet_size: int) -> None:
        self.addresses = list(addresses)
        self._packet_size, self._version = packet_size, version_of(addresses)
        self._identifier = os.getpid() & 0xFFFF
        self._sequence = 0
        self._pending: dict[tuple[str, int], float] = {}
        self.problem = ""
        try:
            if self._version is IPV4:
                self._socket = socket.socket(socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_ICMP)
            else:
                self._socket = socket.socket(socket.AF_INET6, socket.SOCK_RAW, socket.IPPROTO_ICMPV6)
        except PermissionError as e:
            raise Refused("ICMP packets cannot be sent: raw sockets need root (become).") from e
        # Never in fragments: a tunnel whose underlay has a too small MTU has to show up.
        if self._version is IPV4:
            self._socket.setsockopt(socket.IPPROTO_IP, _IP_MTU_DISCOVER, _IP_PMTUDISC_DO)
        else:
            self._socket.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_DONTFRAG, 1)
        self._socket.setblocking(False)

    def __enter__(self) -> Pinger:
        return self

    def __exit__(self, *exc: object) -> None:
        self._socket.close()

    def _send(self, address: str) -> None:
        self._sequence = (self._sequence + 1) & 0xFFFF
        try:
            request = echo_request(self._identifier, self._sequence, self._packet_size, self._version)
            self._socket.sendto(request, (address, 0))
        except OSError as e:
            self.problem = f"{address}: {e.strerror}"
        self._pending[address, self._sequence] = time.monotonic()

    def _answers(self, until: Deadline, enough: t.Callable[[], bool]) -> t.Iterator[tuple[str, float]]:
        """(address, round trip in milliseconds) of each answer, until the deadline or until it is `enough`."""
        while not enough() and not until.expired:
            if not select.select([self._socket], [], [], until.left())[0]:
                return
            packet, (address, *_rest) = self._socket.recvfrom(65535)
            sequence = echo_reply_sequence(packet, self._identifier, self._version)
            sent = self._pending.pop((address, sequence), None) if sequence is not None else None
            if sent is not None:
                yield address, (time.monotonic() - sent) * 1000

    def _all_answered(self) -> bool:
        return not self._pending

    @staticmethod
    def _never() -> bool:
        return False

    def wait_for_first_answers(self, deadline: Deadline) -> set[str]:
        """The addresses that never answered. The first packets of a new path are often lost while the switches learn addresses."""
        silent = set(self.addresses)
        while silent and not deadline.expired:
            for address in sorted(silent):
                self._send(address)
            for address, _time in self._answers(deadline.within(0.5), lambda: not silent):
                silent.discard(address)
        self._pending.clear()
        return silent

    def measure(self, count: int, interval: float, timeout: float) -> dict[str, Tally]:
        """`count` requests to each address, `interval` seconds apart; the last ones get `timeout` seconds for their answer."""
        tallies = {address: Tally() for address in self.addresses}
        for number in range(count):
            for address, tally in tallies.items():
                self._send(address)
                tally.sent += 1
            last = number == count - 1
            enough = self._all_answered if last else self._never
            for address, milliseconds in self._answers(Deadline(timeout if last else interval), enough):
                tallies[address].round_trips.append(milliseconds)
        return tallies

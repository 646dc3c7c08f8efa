# SPDX-License-Identifier: GPL-3.0-or-later
"""One connection of a client that is passed on to a member. What the client sends before there is a member is kept."""

from __future__ import annotations

import asyncio
import socket
import typing as t

from .._ovsdb.endpoint import Endpoint

_CONNECT_SECONDS = 2.0
_RETRY_SECONDS = 0.1  # a member that has just ended refuses connections before its watch knows
_HELD_BYTES = 65536  # a client that waits for an answer has sent less
# Until a member that does not even confirm packets is given up. The election of another leader is known sooner; this is for who takes any member. Not less: a
# member that is busy for some seconds reads nothing either.
_DEAD_SECONDS = 10


class _Half(asyncio.Protocol):
    """One of the two sockets: passes on what it receives, at the pace of the other one."""

    def __init__(self, lost: t.Callable[[], None]) -> None:
        self.transport: asyncio.Transport | None = None
        self.other: _Half | None = None
        self._lost = lost
        self._held = bytearray()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = t.cast("asyncio.Transport", transport)
        transport.get_extra_info("socket").setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)

    def join(self, other: _Half) -> None:
        """Pass everything on to `other` from now on, beginning with what was held."""
        self.other = other
        if self.transport is not None and not self.transport.is_reading():
            self.transport.resume_reading()
        if self._held and other.transport is not None:
            other.transport.write(bytes(self._held))  # last: it may pause what was just resumed
            self._held.clear()

    def data_received(self, data: bytes) -> None:
        if self.other is not None and self.other.transport is not None:
            self.other.transport.write(data)
            return
        self._held += data
        if len(self._held) > _HELD_BYTES and self.transport is not None:
            self.transport.pause_reading()

    def pause_writing(self) -> None:
        if self.other is not None and self.other.transport is not None:
            self.other.transport.pause_reading()

    def resume_writing(self) -> None:
        if self.other is not None and self.other.transport is not None:
            self.other.transport.resume_reading()

    def connection_lost(self, exc: Exception | None) -> None:
        self._lost()

    def close(self) -> None:
        if self.transport is not None:
            self.transport.close()


def _give_up_when_dead(member: _Half) -> None:
    """Notice a host without power: nobody else would, for Neutron switches off the probes of OVSDB, and the kernel's defaults are 15 minutes and 2 hours."""
    if member.transport is None:
        return
    sock = member.transport.get_extra_info("socket")
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_KEEPIDLE, _DEAD_SECONDS // 2)
    sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_KEEPINTVL, 1)
    sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_KEEPCNT, _DEAD_SECONDS // 2)
    sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT, _DEAD_SECONDS * 1000)


class ProxiedConnection(_Half):
    """The client's half, with which a connection begins and ends."""

    def __init__(self, ended: t.Callable[[ProxiedConnection], None]) -> None:
        super().__init__(self.close)
        self.endpoint: Endpoint | None = None  # where it leads, None while it waits for a member
        self._ended = ended
        self._connecting: asyncio.Task[None] | None = None
        self._closed = False

    def lead_to(self, endpoint: Endpoint, left: t.Container[Endpoint] = ()) -> None:
        """Connect a client that waits to the member. One that is connected to a member of `left` is cut off, and comes again."""
        if self.other is not None:
            if self.endpoint in left:
                self.close()
            return
        if endpoint == self.endpoint:
            return
        if self._connecting is not None:
            self._connecting.cancel()
        self.endpoint = endpoint
        self._connecting = asyncio.get_running_loop().create_task(self._connect(endpoint))

    async def _connect(self, endpoint: Endpoint) -> None:
        loop = asyncio.get_running_loop()
        while not self._is_closed():
            try:
                _transport, member = await asyncio.wait_for(
                    loop.create_connection(lambda: _Half(self.close), endpoint.host, endpoint.port), _CONNECT_SECONDS
                )
            except (OSError, asyncio.TimeoutError):
                await asyncio.sleep(_RETRY_SECONDS)
                continue
            # Before Python 3.12 `wait_for` may swallow the cancellation by `lead_to` or `close`.
            if self._is_closed() or endpoint != self.endpoint:
                member.close()
                return
            _give_up_when_dead(member)
            member.join(self)
            self.join(member)
            return

    def _is_closed(self) -> bool:
        return self._closed

    def close(self) -> None:
        if self._closed:
            return
        self._closed = True
        self._ended(self)
        if self._connecting is not None:
            self._connecting.cancel()
        super().close()
        if self.other is not None:
            self.other.close()

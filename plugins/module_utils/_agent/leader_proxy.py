# SPDX-License-Identifier: GPL-3.0-or-later
"""`c5c3-ovn.pyz leader-proxy`: beside a client that must always find the leader of a Raft database, such as Neutron. The client connects to an address of its
own host, and the proxy passes its bytes on to the member that leads. It knows who does by an open connection to each member, so there is nothing to poll, and a
member whose host lost its power is left when another one says that it leads.

A connection that comes while there is no leader is held until there is one, instead of refused: python-ovs (ovs/reconnect.py) would wait 1, 2, 4, then 8 s
between two attempts, whatever happens meanwhile. With TLS it gives an attempt one second, and as many attempts without a pause as it has addresses, so it
is given that of the proxy often (_neutron/settings.py). TLS is between the client and the member: the proxy reads nothing of it.

On a machine the process goes on with a newer archive by itself. In pods, OVN_KEEP_ARCHIVE, it does not: kubelets replace the file on all nodes at about the
same time, and each client would lose its connection then. There a newer archive comes with a new pod, on one node after the other.
"""

from __future__ import annotations

import asyncio
import os
import signal
import socket
import time
import typing as t

from .._api.observer_settings import endpoints_of, needed
from .._base.databases import DATABASE_NAMES, DATABASES
from .._base.errors import InvalidInput, OvnError
from .._ovsdb.endpoint import Endpoint, parse_endpoint
from .._ovsdb.tls_files import TlsFiles
from .._raft.answer import Answer
from .member_watch import MemberWatch
from .process import Log, RunningArchive, forget, is_alive, touch
from .proxied_connection import ProxiedConnection

# Which member of a database a client is led to. Pure.


class LedMember(t.NamedTuple):
    """What a member says of itself, and since when (monotonic, seconds) it says so."""

    connected: bool = False  # it answers, and takes part in its cluster
    leader: bool = False
    since: float = 0.0


def next_state(state: LedMember, answer: Answer | None, now: float) -> LedMember:
    """Return the state after an answer; None is no answer yet."""
    server = answer.server if answer is not None and not answer.problems else None
    connected = server is not None and server.connected
    leader = connected and server is not None and server.leader
    if (connected, leader) == (state.connected, state.leader):
        return state
    return LedMember(connected, leader, now)


def choose_member(states: t.Sequence[LedMember], *, leader_only: bool, current: int | None) -> int | None:
    """Return the index of the member that clients are to be led to; None if there is none at the moment.

    A leader whose host has lost its power has still said that it leads: of two, the one that has become so last is it. A client that takes any member stays
    with `current` as long as that one takes part in the cluster.
    """
    leaders = [index for index, state in enumerate(states) if state.leader]
    if leader_only:
        return max(leaders, key=lambda index: states[index].since, default=None)
    if current is not None and states[current].connected:
        return current
    # Not the leader, which has the most to do.
    connected = [index for index, state in enumerate(states) if state.connected]
    return min(connected, key=lambda index: (states[index].leader, index), default=None)


def is_left(state: LedMember, *, leader_only: bool) -> bool:
    """Return whether clients have to be cut off from a member that is no longer the one to be led to.

    One that answers and has handed over the leadership says so to its clients, who then come again at once (`reset_backoff` in ovs/db/idl.py). Cut off, they
    would count it as a failure and wait. One that does not answer, or claims to lead although another one was elected later, is not there any more.
    """
    return not state.connected or (leader_only and state.leader)


LISTEN_VARIABLES = {"northbound": "OVN_NORTHBOUND_LISTEN", "southbound": "OVN_SOUTHBOUND_LISTEN"}
# Neutron's connection to the Northbound leaves members that do not lead (leader_only of ovs.db.idl.Idl), the one to the Southbound takes any.
LEADER_ONLY = {"northbound": True, "southbound": False}
_LONGEST_PAUSE = 1.0  # of a watch, between two attempts to reach a member: the one that returns may be the next leader
_ARCHIVE_SECONDS = 5.0
_ALIVE_SECONDS = 30.0  # without a turn of the loop, after which the process hangs
_ANY = "::"


class DatabaseProxy:
    """The listener of one database. All of it runs in the thread of the loop, but for the watches, which only wake it."""

    def __init__(self, name: str, endpoints: t.Sequence[Endpoint], tls: TlsFiles, log: Log) -> None:
        self.name, self.log = name, log
        self.endpoints = endpoints
        self._leader_only = LEADER_ONLY[name]
        self._states = [LedMember() for _endpoint in endpoints]
        self._member: int | None = None
        self._connections: set[ProxiedConnection] = set()
        self._loop = asyncio.get_running_loop()
        self._watches = [
            MemberWatch(endpoint, DATABASE_NAMES[name], tls, self._wake, longest_pause=_LONGEST_PAUSE)
            for endpoint in endpoints
        ]

    async def start(self, listen: Endpoint) -> None:
        if listen.host == _ANY:
            await self._loop.create_server(self._accept, sock=_listen_on_all(listen.port))
        else:
            await self._loop.create_server(self._accept, listen.host, listen.port, reuse_address=True)
        for watch in self._watches:
            watch.start()

    def _accept(self) -> ProxiedConnection:
        connection = ProxiedConnection(self._connections.discard)
        self._connections.add(connection)
        if self._member is not None:
            connection.lead_to(self.endpoints[self._member])
        return connection

    def _wake(self) -> None:
        self._loop.call_soon_threadsafe(self._choose)

    def _choose(self) -> None:
        """Follow what the members say now."""
        now = time.monotonic()
        answers = [watch.answer for watch in self._watches]
        for endpoint, answer in zip(self.endpoints, answers):
            self._report(endpoint, answer)
        if self._member is None and not self._leader_only and None in answers:
            return  # the first one to answer is not the one to take
        self._states = [next_state(state, answer, now) for state, answer in zip(self._states, answers)]
        before = self._member
        self._member = choose_member(self._states, leader_only=self._leader_only, current=before)
        if self._member != before:
            self.log.info(f"{self.name}: {self._describe()}")
        if self._member is None:  # with no member to go to, everybody stays
            return
        left = {
            endpoint
            for index, (endpoint, state) in enumerate(zip(self.endpoints, self._states))
            if index != self._member and is_left(state, leader_only=self._leader_only)
        }
        for connection in list(self._connections):
            connection.lead_to(self.endpoints[self._member], left)

    def _report(self, endpoint: Endpoint, answer: Answer | None) -> None:
        """Say why a member cannot be asked, once."""
        if answer is not None:
            problem = "; ".join(problem.message for problem in answer.problems)
            error = OvnError(f"{self.name}: {problem}") if problem else None
            self.log.report_error(f"{self.name} on {endpoint}", error)

    def _describe(self) -> str:
        if self._member is None:
            return f"no member {'leads' if self._leader_only else 'takes part in its cluster'}, new connections wait for one"
        return f"clients are led to {self.endpoints[self._member]}"


def _listen_on_all(port: int) -> socket.socket:
    """Listen on the addresses of both families, where the host has both: asyncio would take those of IPv6 alone."""
    if socket.has_dualstack_ipv6():
        return socket.create_server(("", port), family=socket.AF_INET6, dualstack_ipv6=True)
    return socket.create_server(("", port))


def listeners_of(environment: t.Mapping[str, str]) -> dict[str, Endpoint]:
    """Return where the proxy listens, by database; `InvalidInput` for what is no TCP endpoint."""
    found = {name: parse_endpoint(needed(environment, variable)) for name, variable in LISTEN_VARIABLES.items()}
    for name, endpoint in found.items():
        if endpoint.scheme != "tcp":
            raise InvalidInput(f"{LISTEN_VARIABLES[name]} is {endpoint}. Use tcp:ADDRESS:PORT.")
    return found


async def _run(environment: t.Mapping[str, str], log: Log, archive: RunningArchive | None) -> None:
    endpoints, listeners = endpoints_of(environment), listeners_of(environment)
    tls = TlsFiles.of_environment(environment)
    for name in DATABASES:
        proxy = DatabaseProxy(name, endpoints[name], tls, log)
        try:
            await proxy.start(listeners[name])
        except OSError as e:
            raise InvalidInput(
                f"{name}: cannot listen on {listeners[name]}: {os.strerror(e.errno or 0).lower()}. Use another address or port."
            ) from e
    alive_file = environment.get("OVN_ALIVE_FILE")
    stopped = asyncio.Event()
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, stopped.set)
    while not stopped.is_set() and not (archive and archive.is_replaced()):
        if alive_file:
            touch(alive_file)
        try:
            await asyncio.wait_for(stopped.wait(), _ARCHIVE_SECONDS)
        except asyncio.TimeoutError:
            continue


def main(arguments: t.Sequence[str]) -> int:
    alive_file = os.environ.get("OVN_ALIVE_FILE", "")
    if "--alive" in arguments:  # for probes, which would otherwise be clients of the members
        return 0 if is_alive(alive_file, _ALIVE_SECONDS) else 1
    forget(alive_file)
    log = Log("leader-proxy")
    archive = None if os.environ.get("OVN_KEEP_ARCHIVE") else RunningArchive()
    try:
        asyncio.run(_run(os.environ, log, archive))
    except InvalidInput as e:
        log.info(str(e))
        return 2
    if archive and archive.is_replaced():
        archive.restart()
    return 0

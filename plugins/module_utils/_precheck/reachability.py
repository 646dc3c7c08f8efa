# SPDX-License-Identifier: GPL-3.0-or-later
"""Which addresses a host resolves, has itself and can connect to. All connections are tried at the same time."""

from __future__ import annotations

import concurrent.futures
import errno
import ipaddress
import os
import selectors
import socket
import typing as t

from .._base.deadline import Deadline

Address = tuple[t.Any, ...]  # of the socket module
_THREADS = 16
_ANSWERS = ("connected", "refused")
_STATES = (*_ANSWERS, "timed_out", "unreachable")  # the best one first


def resolve(name: str, port: int = 0) -> list[tuple[int, Address]]:
    """Return families and addresses of a name or literal; `OSError` if it has none."""
    try:
        found = socket.getaddrinfo(name, port, type=socket.SOCK_STREAM)
    except UnicodeError as e:  # a label that is empty or too long
        raise OSError(f"{name} is no name of a host") from e
    return [(family, address) for family, _type, _protocol, _name, address in found]


def resolve_all(names: t.Iterable[str]) -> dict[str, list[tuple[int, Address]] | OSError]:
    """Return what `resolve` returns or raises for each name. A name service may take seconds: each is asked once, and all at the same time."""

    def ask(name: str) -> list[tuple[int, Address]] | OSError:
        try:
            return resolve(name)
        except OSError as e:
            return e

    different = list(dict.fromkeys(names))
    if not different:
        return {}
    with concurrent.futures.ThreadPoolExecutor(min(len(different), _THREADS)) as pool:
        return dict(zip(different, pool.map(ask, different)))


def read_local(addresses: t.Iterable[str], own: t.Collection[str] | None = None) -> list[dict[str, t.Any]]:
    """Return for each address whether it resolves (`resolved`, a list) and is one of this host (`local`); `error` says why not.

    `own` are the addresses of the interfaces, None if nobody knows them.
    """
    result = []
    for address, found in resolve_all(addresses).items():
        if isinstance(found, OSError):
            result.append({"address": address, "resolved": [], "local": False, "error": _cause(found)})
            continue
        errors = [error for family, place in found if (error := _foreign(family, place, own))]
        names = list(dict.fromkeys(str(place[0]) for _family, place in found))
        error = errors[0] if len(errors) == len(found) else ""
        result.append({"address": address, "resolved": names, "local": not error, "error": error})
    return result


def _foreign(family: int, address: Address, own: t.Collection[str] | None) -> str:
    """Return why this is no address of the host, empty if it is one.

    The interfaces count: with `net.ipv4.ip_nonlocal_bind`, as load balancers set it, any address can be bound.
    """
    if own is None:
        return _bind_error(family, address)
    place = ipaddress.ip_address(str(address[0]).partition("%")[0])
    is_own = place.is_loopback or str(place) in own  # interfaces do not list all of 127.0.0.0/8
    return "" if is_own else os.strerror(errno.EADDRNOTAVAIL)


def _bind_error(family: int, address: Address) -> str:
    """A datagram socket without a port disturbs nobody, and the kernel binds it to own addresses only."""
    try:
        with socket.socket(family, socket.SOCK_DGRAM) as probe:
            probe.bind(address)
    except OSError as e:
        return _cause(e)
    return ""


def connect_all(peers: t.Sequence[t.Mapping[str, t.Any]], seconds: float) -> list[dict[str, t.Any]]:
    """Return each peer (`host`, `address`, `port`) with `state` and `error`.

    The state is `connected`, `refused` if nothing listens there, `timed_out`, `unreachable` or `unresolved`. Of a name with several addresses the best
    answer counts. The time for the name service is not part of `seconds`.
    """
    found = resolve_all(str(peer["address"]) for peer in peers)
    results = [dict(peer, state="unreachable", error="") for peer in peers]
    waiting: dict[int, int] = {}  # connections that are under way, by the number of the peer
    deadline = Deadline(seconds)
    with selectors.DefaultSelector() as selector:
        for number, result in enumerate(results):
            places = found[str(result["address"])]
            if isinstance(places, OSError):
                result.update(state="unresolved", error=_cause(places))
                continue
            waiting[number] = 0
            for family, address in places:
                probe, code = _start(family, address, int(result["port"]))
                if probe is None:
                    _note(result, code)
                else:
                    selector.register(probe, selectors.EVENT_WRITE, number)
                    waiting[number] += 1
        # Whoever has answered at one address is not waited for at the others.
        while not deadline.expired and any(
            left and results[number]["state"] not in _ANSWERS for number, left in waiting.items()
        ):
            for key, _events in selector.select(deadline.left()):
                probe = t.cast("socket.socket", key.fileobj)
                selector.unregister(probe)
                with probe:
                    _note(results[key.data], probe.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR))
                waiting[key.data] -= 1
        for key in list(selector.get_map().values()):
            t.cast("socket.socket", key.fileobj).close()
            _note(results[key.data], errno.ETIMEDOUT)
    return results


def _start(family: int, address: Address, port: int) -> tuple[socket.socket | None, int]:
    """Return a connection that is under way, or None and how it ended already."""
    try:
        probe = socket.socket(family, socket.SOCK_STREAM)
    except OSError as e:  # a kernel without IPv6
        return None, e.errno or errno.EAFNOSUPPORT
    probe.setblocking(False)
    code = probe.connect_ex((address[0], port, *address[2:]))
    if code in (errno.EINPROGRESS, errno.EWOULDBLOCK):
        return probe, 0
    probe.close()
    return None, code


def _note(result: dict[str, t.Any], code: int) -> None:
    """Write down how a connection ended, unless another address of the peer has a better answer."""
    if code == 0:
        state, error = "connected", ""
    elif code == errno.ECONNREFUSED:
        state, error = "refused", ""
    elif code == errno.ETIMEDOUT:
        state, error = "timed_out", ""
    else:
        state, error = "unreachable", os.strerror(code)
    if _STATES.index(state) <= _STATES.index(result["state"]):
        result.update(state=state, error=error)


def _cause(error: OSError) -> str:
    return error.strerror or str(error)

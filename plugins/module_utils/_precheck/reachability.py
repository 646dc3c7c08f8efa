# Copyright: (c) 2026, C5C3 contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""PRIVATE to the collection: may change at any time.

Which addresses a host resolves, has itself and can connect to. All connections are tried at the same time.
"""

from __future__ import annotations

import errno
import os
import selectors
import socket
import typing as t

from .._deadline import Deadline

Address = tuple[t.Any, ...]  # of the socket module


def resolve(name: str, port: int = 0) -> list[tuple[int, Address]]:
    """Return families and addresses of a name or literal; `OSError` if it has none."""
    try:
        found = socket.getaddrinfo(name, port, type=socket.SOCK_STREAM)
    except UnicodeError as e:  # a label that is empty or too long
        raise OSError(f"{name} is no name of a host") from e
    return [(family, address) for family, _type, _protocol, _name, address in found]


def read_local(addresses: t.Iterable[str]) -> list[dict[str, t.Any]]:
    """Return for each address whether it resolves (`resolved`, a list) and is one of this host (`local`); `error` says why not."""
    result = []
    for address in addresses:
        try:
            resolved = resolve(address)
        except OSError as e:
            result.append({"address": address, "resolved": [], "local": False, "error": _cause(e)})
            continue
        errors = [error for family, place in resolved if (error := _bind_error(family, place))]
        names = list(dict.fromkeys(str(place[0]) for _family, place in resolved))
        error = errors[0] if len(errors) == len(resolved) else ""
        result.append({"address": address, "resolved": names, "local": not error, "error": error})
    return result


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

    The state is `connected`, `refused` if nothing listens there, `timed_out`, `unreachable` or `unresolved`.
    """
    results = [dict(peer, state="timed_out", error="") for peer in peers]
    deadline = Deadline(seconds)
    with selectors.DefaultSelector() as selector:
        for result in results:
            try:
                family, address = resolve(str(result["address"]), int(result["port"]))[0]
            except OSError as e:
                result.update(state="unresolved", error=_cause(e))
                continue
            try:
                probe = socket.socket(family, socket.SOCK_STREAM)
            except OSError as e:  # a kernel without IPv6
                result.update(state="unreachable", error=_cause(e))
                continue
            probe.setblocking(False)
            code = probe.connect_ex(address)
            if code in (errno.EINPROGRESS, errno.EWOULDBLOCK):
                selector.register(probe, selectors.EVENT_WRITE, result)
            else:
                _finish(probe, code, result)
        while selector.get_map() and not deadline.expired:
            for key, _events in selector.select(deadline.left()):
                probe = t.cast("socket.socket", key.fileobj)
                selector.unregister(probe)
                _finish(probe, probe.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR), key.data)
        for key in list(selector.get_map().values()):
            t.cast("socket.socket", key.fileobj).close()
    return results


def _finish(probe: socket.socket, code: int, result: dict[str, t.Any]) -> None:
    probe.close()
    if code == 0:
        result["state"] = "connected"
    elif code == errno.ECONNREFUSED:
        result["state"] = "refused"
    elif code != errno.ETIMEDOUT:
        result.update(state="unreachable", error=os.strerror(code))


def _cause(error: OSError) -> str:
    return error.strerror or str(error)

"""Addresses and ports of this machine."""

from __future__ import annotations

import socket
import typing as t

from ansible_collections.c5c3.ovn.plugins.module_utils._precheck.reachability import connect_all, read_local


def state_of(port: int) -> t.Any:
    return connect_all([{"host": "a", "address": "127.0.0.1", "port": port}], 2)[0]["state"]


def test_a_port_is_open_or_refuses() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        assert state_of(port) == "connected"
    assert state_of(port) == "refused"


def test_nothing_to_connect_to() -> None:
    assert connect_all([], 0.1) == []


def test_names_that_are_none() -> None:
    name = f"{'x' * 70}.example.com"
    assert connect_all([{"host": "a", "address": name, "port": 1}], 1)[0]["state"] == "unresolved"
    assert read_local([name])[0]["resolved"] == []


def test_own_and_other_addresses() -> None:
    assert [one["local"] for one in read_local(["127.0.0.1", "192.0.2.77"])] == [True, False]

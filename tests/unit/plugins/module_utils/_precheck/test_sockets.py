"""Captures of /proc/net."""

from __future__ import annotations

from ansible_collections.c5c3.ovn.plugins.module_utils._precheck.sockets import Socket, parse_sockets

TCP = """\
  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode
   0: 0100007F:19F1 00000000:0000 0A 00000000:00000000 00:00000000 00000000     0        0 4711 1 0000000000000000 100 0 0 10 0
   1: 0100007F:19F1 0100007F:8000 01 00000000:00000000 00:00000000 00000000     0        0 4712 1 0000000000000000 100 0 0 10 0
   2: 00000000:0016 00000000:0000 0A 00000000:00000000 00:00000000 00000000     0        0 99 1 0000000000000000 100 0 0 10 0
"""
TCP6 = """\
  sl  local_address                         remote_address                        st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode
   0: 00000000000000000000000000000000:19F2 00000000000000000000000000000000:0000 0A 00000000:00000000 00:00000000 00000000     0        0 5000 1 0 100 0 0 10 0
   1: B80D0120000000000000000001000000:19F3 00000000000000000000000000000000:0000 0A 00000000:00000000 00:00000000 00000000     0        0 5001 1 0 100 0 0 10 0
"""
UDP = """\
   sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode ref pointer drops
  412: 00000000:17C1 00000000:0000 07 00000000:00000000 00:00000000 00000000     0        0 0 2 0000000000000000 0
"""


def test_only_listening_sockets_count() -> None:
    assert parse_sockets(TCP, "0A") == [Socket("127.0.0.1", 6641, 4711), Socket("0.0.0.0", 22, 99)]


def test_addresses_of_ipv6() -> None:
    assert parse_sockets(TCP6, "0A") == [Socket("::", 6642, 5000), Socket("2001:db8::1", 6643, 5001)]


def test_an_address_of_ipv4_in_ipv6() -> None:
    mapped = TCP6.replace("B80D0120000000000000000001000000", "0000000000000000FFFF0000010200C0")
    assert Socket("192.0.2.1", 6643, 5001) in parse_sockets(mapped, "0A")


def test_a_socket_of_the_kernel_has_no_inode() -> None:
    assert parse_sockets(UDP) == [Socket("0.0.0.0", 6081, 0)]


def test_nothing_is_nothing() -> None:
    assert parse_sockets("") == []

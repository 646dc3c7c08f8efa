from __future__ import annotations

import struct
import typing as t

import pytest

from ansible_collections.c5c3.ovn.plugins.module_utils._connectivity_test.icmp import (
    IPV4,
    IPV6,
    Tally,
    checksum,
    echo_reply_sequence,
    echo_request,
    report_line,
    version_of,
)

IP_HEADER = bytes([0x45]) + bytes(19)


def reply(request: bytes, **changes: int) -> bytes:
    """What a host answers to `request`: the same with another type and a new checksum."""
    _kind, code, _old, identifier, sequence = struct.unpack("!BBHHH", request[:8])
    fields = {"kind": 0, "code": code, "identifier": identifier, "sequence": sequence, **changes}

    def packet(total: int) -> bytes:
        header = (fields["kind"], fields["code"], total, fields["identifier"], fields["sequence"])
        return struct.pack("!BBHHH", *header) + request[8:]

    return IP_HEADER + packet(checksum(packet(0)))


@pytest.mark.parametrize(
    ("data", "expected"),
    [(b"", 0xFFFF), (b"\x00\x01\xf2\x03\xf4\xf5\xf6\xf7", 0x220D), (b"\x01", 0xFEFF), (b"\xff" * 9, 0x00FF)],
    ids=["nothing", "the example of RFC 1071", "odd length", "carries fold"],
)
def test_checksum(data: bytes, expected: int) -> None:
    assert checksum(data) == expected


@pytest.mark.parametrize("size", [28, 29, 1400, 65535])
def test_a_request_makes_a_packet_of_the_wanted_size(size: int) -> None:
    request = echo_request(7, 9, size)
    assert len(request) + 20 == size
    assert checksum(request) == 0


@pytest.mark.parametrize("size", [28, 29, 1400])
def test_a_reply_is_recognised(size: int) -> None:
    assert echo_reply_sequence(reply(echo_request(7, 9, size)), 7) == 9


@pytest.mark.parametrize("size", [48, 1400, 65535])
def test_ipv6(size: int) -> None:
    request = echo_request(7, 9, size, IPV6)
    assert (len(request) + 40, request[0]) == (size, 128)
    assert echo_reply_sequence(b"\x81" + request[1:], 7, IPV6) == 9
    assert echo_reply_sequence(request, 7, IPV6) is None
    assert echo_reply_sequence(b"\x81" + request[1:], 8, IPV6) is None
    assert echo_reply_sequence(b"\x81", 7, IPV6) is None


def test_the_version_is_that_of_the_addresses() -> None:
    assert version_of(["198.18.0.1"]) is version_of([]) is IPV4
    assert version_of(["2001:2::1"]) is IPV6


def test_options_in_the_ip_header_are_skipped() -> None:
    packet = bytes([0x46]) + bytes(23) + reply(echo_request(7, 9, 64))[20:]
    assert echo_reply_sequence(packet, 7) == 9


@pytest.mark.parametrize(
    "packet",
    [
        IP_HEADER + echo_request(7, 9, 64),
        reply(echo_request(8, 9, 64)),
        reply(echo_request(7, 9, 64), kind=3),
        reply(echo_request(7, 9, 64), code=1),
        reply(echo_request(7, 9, 64))[:-1] + b"x",
    ],
    ids=["our own request on loopback", "another program's", "unreachable", "odd code", "damaged"],
)
def test_other_packets_are_no_reply(packet: bytes) -> None:
    assert echo_reply_sequence(packet, 7) is None


def test_any_cut_of_a_packet_is_no_reply() -> None:
    packet = reply(echo_request(7, 9, 64))
    assert [echo_reply_sequence(packet[:length], 7) for length in range(len(packet))] == [None] * len(packet)


@pytest.mark.parametrize(
    ("tally", "expected"),
    [
        (Tally(), {"sent": 0, "received": 0, "loss": 100.0, "rtt_min": None, "rtt_avg": None, "rtt_max": None}),
        (Tally(3), {"sent": 3, "received": 0, "loss": 100.0, "rtt_min": None, "rtt_avg": None, "rtt_max": None}),
        (
            Tally(3, [1.0, 2.00049]),
            {"sent": 3, "received": 2, "loss": 33.3, "rtt_min": 1.0, "rtt_avg": 1.5, "rtt_max": 2.0},
        ),
    ],
    ids=["never sent", "no answer", "one lost"],
)
def test_tally(tally: Tally, expected: dict[str, t.Any]) -> None:
    assert tally.as_result() == expected


@pytest.mark.parametrize(
    ("tally", "tunnel", "line"),
    [
        (
            Tally(2, [0.5, 1.5]),
            {"type": "geneve", "remote_ip": "172.31.0.22"},
            "a -> b: 2 of 2 answers, 1.00 ms (0.50 to 1.50), 1400 octets, geneve tunnel to 172.31.0.22",
        ),
        (Tally(1, [0.5]), None, "a -> b: 1 of 1 answers, 0.50 ms (0.50 to 0.50), 1400 octets, no tunnel known"),
        (Tally(3), None, "a -> b: no answer at all (3 requests of 1400 octets)"),
    ],
    ids=["through a tunnel", "without tunnel", "lost"],
)
def test_report(tally: Tally, tunnel: dict[str, str] | None, line: str) -> None:
    assert report_line("a", {"name": "b", **tally.as_result(), "tunnel": tunnel}, 1400) == line

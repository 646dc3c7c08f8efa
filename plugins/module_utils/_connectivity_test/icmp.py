# SPDX-License-Identifier: GPL-3.0-or-later
"""ICMP echo packets (RFC 792, RFC 4443): built, recognised and summed up. No socket here."""

from __future__ import annotations

import dataclasses
import struct
import typing as t

HEADER = 8  # octets of an ICMP echo header


class Version(t.NamedTuple):
    """What differs between IPv4 and IPv6: types of the messages, octets of an IP header without options."""

    echo_request: int
    echo_reply: int
    ip_header: int


IPV4 = Version(8, 0, 20)
IPV6 = Version(128, 129, 40)


def version_of(addresses: t.Iterable[str]) -> Version:
    """Return the version of the addresses, which is one; IPv4 if there are none."""
    return IPV6 if any(":" in address for address in addresses) else IPV4


def checksum(data: bytes) -> int:
    """The Internet checksum (RFC 1071)."""
    if len(data) % 2:
        data += b"\0"
    total: int = sum(word for (word,) in struct.iter_unpack("!H", data))
    while total >> 16:
        total = (total & 0xFFFF) + (total >> 16)
    return ~total & 0xFFFF


def echo_request(identifier: int, sequence: int, packet_size: int, version: Version = IPV4) -> bytes:
    """An echo request that makes a packet of `packet_size` octets. The sum of IPv6 covers addresses, so the kernel writes it (RFC 3542)."""
    payload = bytes(index & 0xFF for index in range(max(0, packet_size - version.ip_header - HEADER)))
    header = struct.pack("!BBHHH", version.echo_request, 0, 0, identifier, sequence)
    total = checksum(header + payload) if version is IPV4 else 0
    return struct.pack("!BBHHH", version.echo_request, 0, total, identifier, sequence) + payload


def echo_reply_sequence(packet: bytes, identifier: int, version: Version = IPV4) -> int | None:
    """The sequence number if the packet answers one of our requests, else None. With IPv6 it comes without its header, and the kernel has checked the sum."""
    if not packet:
        return None
    icmp = packet[(packet[0] & 0x0F) * 4 :] if version is IPV4 else packet
    if len(icmp) < HEADER:
        return None
    kind, code, _checksum, its_identifier, sequence = struct.unpack("!BBHHH", icmp[:HEADER])
    if (kind, code, its_identifier) != (version.echo_reply, 0, identifier):
        return None
    if version is IPV4 and checksum(icmp) != 0:
        return None
    return int(sequence)


@dataclasses.dataclass
class Tally:
    """What one target answered. Round trips in milliseconds."""

    sent: int = 0
    round_trips: list[float] = dataclasses.field(default_factory=list)

    @property
    def loss(self) -> float:
        """Percent of the requests without an answer."""
        return round(100.0 * (self.sent - len(self.round_trips)) / self.sent, 1) if self.sent else 100.0

    def as_result(self) -> dict[str, t.Any]:
        times = self.round_trips
        return {
            "sent": self.sent,
            "received": len(times),
            "loss": self.loss,
            "rtt_min": round(min(times), 3) if times else None,
            "rtt_avg": round(sum(times) / len(times), 3) if times else None,
            "rtt_max": round(max(times), 3) if times else None,
        }


def report_line(source: str, result: t.Mapping[str, t.Any], packet_size: int) -> str:
    """One target in one line, for people."""
    where = f"{source} -> {result['name']}"
    answers = f"{result['received']} of {result['sent']} answers"
    if not result["received"]:
        return f"{where}: no answer at all ({result['sent']} requests of {packet_size} octets)"
    way = "no tunnel known"
    if result["tunnel"]:
        way = f"{result['tunnel']['type']} tunnel to {result['tunnel']['remote_ip']}"
    return f"{where}: {answers}, {result['rtt_avg']:.2f} ms ({result['rtt_min']:.2f} to {result['rtt_max']:.2f}), {packet_size} octets, {way}"

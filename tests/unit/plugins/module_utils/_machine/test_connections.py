"""Who is connected to a port without being one of its sources."""

from __future__ import annotations

import ipaddress

from ansible_collections.c5c3.ovn.plugins.module_utils._machine.connections import find_strangers, parse_connections
from ansible_collections.c5c3.ovn.plugins.module_utils._machine.ruleset import PortFilter

REST = "00000000:00000000 00:00000000 00000000     0        0 12345 1 0000000000000000 20 4 30 10 -1"
# 192.0.2.1:6641; in the byte order of a little-endian machine, as the tests run on
TCP = f"""  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode
   0: 010200C0:19F1 00000000:0000 0A {REST}
   1: 010200C0:19F1 020200C0:D431 01 {REST}
   2: 010200C0:19F1 090200C0:D431 01 {REST}
   3: 010200C0:19F1 0A0200C0:D431 06 {REST}
   4: 010200C0:19F1 010200C0:D432 01 {REST}
   5: 0100007F:19F1 0100007F:D432 01 {REST}
   6: 010200C0:0016 090200C0:D431 01 {REST}
"""
TCP6 = f"""  sl  local_address                         remote_address                        st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode
   0: 0000000000000000FFFF0000010200C0:19F1 0000000000000000FFFF00000B0200C0:D431 01 {REST}
   1: B80D0120000000000000000001000000:19F1 B80D0120000000000000000009000000:D431 01 {REST}
"""


def test_strangers() -> None:
    networks = tuple(map(ipaddress.ip_network, ("192.0.2.2", "2001:db8::/127")))
    found = find_strangers(
        [PortFilter("tcp", 6641, networks)], [*parse_connections(TCP), *parse_connections(TCP6), *parse_connections("")]
    )
    assert found == [(6641, "192.0.2.9"), (6641, "192.0.2.11"), (6641, "2001:db8::9")]

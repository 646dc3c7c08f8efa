from __future__ import annotations

import pytest

from ansible_collections.c5c3.ovn.plugins.module_utils._connectivity_test.tunnels import (
    Tunnel,
    by_chassis,
    parse_interfaces,
)

GENEVE = Tunnel("geneve", "ovn0", "172.31.0.22")
VXLAN = Tunnel("vxlan", "ovn1", "172.31.0.22")


def test_interfaces() -> None:
    row = {"name": "ovn0", "type": "geneve", "options": ["map", [["key", "flow"], ["remote_ip", "172.31.0.22"]]]}
    assert parse_interfaces([{"rows": [row]}, {"rows": []}]) == [GENEVE]


@pytest.mark.parametrize(
    ("ports", "expected"),
    [
        ({"ovn0": "h2@172.31.0.22"}, {"h2": GENEVE}),
        ({"ovn0": "h2@172.31.0.22%172.31.0.21"}, {"h2": GENEVE}),
        ({"ovn1": "h2@172.31.0.22", "ovn0": "h2@172.31.0.22"}, {"h2": GENEVE}),
        ({"ovn0": "h3@172.31.0.22"}, {}),
        ({"ovn0": ""}, {}),
        ({}, {}),
    ],
    ids=["one", "with the local address", "geneve before vxlan", "another chassis", "not of OVN", "no tunnel"],
)
def test_by_chassis(ports: dict[str, str], expected: dict[str, Tunnel]) -> None:
    rows = [
        {"name": name, "external_ids": ["map", [["ovn-chassis-id", text]] if text else []]}
        for name, text in ports.items()
    ]
    assert by_chassis(["h2"], [GENEVE, VXLAN], [{"rows": [row]} for row in rows]) == expected

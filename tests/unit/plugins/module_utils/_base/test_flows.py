"""Who connects to which port: the table, and the page and policies that say the same."""

from __future__ import annotations

import re
import typing as t
from pathlib import Path

import pytest

from ansible_collections.c5c3.ovn.plugins.module_utils._base.flows import FLOWS, Party, ports_between

DOCS = Path(__file__).resolve().parents[5] / "docs"
NAMES: dict[str, Party] = {"central hosts": "central", "hypervisors": "chassis", "Neutron": "client"}


@pytest.mark.parametrize(
    ("source", "target", "ports"),
    [
        ("central", "central", [6641, 6642, 6643, 6644, 16642]),
        ("chassis", "central", [6642]),
        ("client", "central", [6641, 16642]),
        ("chassis", "chassis", [4789, 6081]),
        ("central", "chassis", []),
        ("client", "chassis", []),
    ],
)
def test_ports_between(source: Party, target: Party, ports: list[int]) -> None:
    assert ports_between(source, target) == ports


def documented() -> t.Iterator[tuple[Party, Party, str, int]]:
    text = (DOCS / "first-hosts.md").read_text(encoding="utf-8")
    for protocol, ports, sources, target in re.findall(
        r"^\| (TCP|UDP) ([\d, ]+) \| ([^|]+) \| ([^|:]+):[^|]*\|$", text, re.MULTILINE
    ):
        for port in ports.split(", "):
            for source in sources.split(", "):
                yield NAMES[source], NAMES[target], protocol.lower(), int(port)


def test_the_first_page_has_the_same_table() -> None:
    table = {(source, flow.target, flow.protocol, flow.port) for flow in FLOWS for source in flow.sources}
    # Geneve is what tunnels are made of unless somebody asks for VXLAN.
    assert set(documented()) == table - {("chassis", "chassis", "udp", 4789)}

"""Which host of the inventory a chassis becomes; the database itself is asked in tests/integration/test_inventory_chassis.py."""

from __future__ import annotations

import contextlib
import types
import typing as t

import pytest
from ansible.inventory.data import InventoryData
from ansible.parsing.dataloader import DataLoader
from ansible.plugins.inventory import BaseInventoryPlugin

from ansible_collections.c5c3.ovn.plugins.inventory import chassis


def parsed(
    monkeypatch: pytest.MonkeyPatch, found: list[tuple[str, str]], kinds: list[str], known: str
) -> tuple[dict[str, str], list[str]]:
    """Host to chassis name, and warnings, of an inventory that has the host `known` already."""
    plugin: t.Any = chassis.InventoryModule()
    tls = {"private_key": None, "certificate": None, "ca_certificate": None}
    options = {
        "endpoints": ["tcp:192.0.2.11:6642"],
        "timeout": 1,
        **tls,
        "hostnames": kinds,
        "strict": True,
        "compose": {},
        "groups": {},
        "keyed_groups": [],
    }
    warnings: list[str] = []
    monkeypatch.setattr(BaseInventoryPlugin, "_read_config_data", lambda _self, _path: None)
    monkeypatch.setattr(plugin, "_options", options)
    monkeypatch.setattr(plugin.display, "warning", warnings.append)
    monkeypatch.setattr(chassis, "Session", lambda *_, **__: contextlib.nullcontext(types.SimpleNamespace(rows={})))
    monkeypatch.setattr(
        chassis, "list_chassis", lambda _rows: [{"name": name, "hostname": host} for name, host in found]
    )
    inventory = InventoryData()
    inventory.add_host(known)
    plugin.parse(inventory, DataLoader(), "ovn_chassis.yml")
    facts = {name: host.vars.get("ovn_chassis", {}).get("name", "") for name, host in inventory.hosts.items()}
    return facts, warnings


@pytest.mark.parametrize(
    ("found", "kinds", "hosts", "warned"),
    [
        pytest.param([("c1", "")], ["name"], {"static": "", "c1": "c1"}, 0, id="a new host"),
        pytest.param([("static", "")], ["name"], {"static": "static"}, 0, id="a host that another source has"),
        pytest.param([("c1", "static")], ["hostname"], {"static": "c1"}, 0, id="known by its host name"),
        pytest.param(
            [("c1", "x"), ("c2", "x")], ["hostname"], {"static": "", "x": "c1", "c2": "c2"}, 1, id="two of one name"
        ),
    ],
)
def test_names(
    monkeypatch: pytest.MonkeyPatch,
    found: list[tuple[str, str]],
    kinds: list[str],
    hosts: dict[str, str],
    warned: int,
) -> None:
    facts, warnings = parsed(monkeypatch, found, kinds, "static")
    assert facts == hosts
    assert len(warnings) == warned

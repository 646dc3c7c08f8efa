from __future__ import annotations

import socket

import pytest

from ansible_collections.c5c3.ovn.plugins.module_utils._base.errors import OvnError, Refused
from ansible_collections.c5c3.ovn.plugins.module_utils._chassis.devices import (
    refuse_missing_devices,
    refuse_port_errors,
)


def test_missing_devices_are_named_with_their_bridges(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(socket, "if_nameindex", lambda: [(1, "lo"), (2, "eth1")])
    with pytest.raises(Refused) as e:
        refuse_missing_devices({"eth1": "br-ex", "eth9": "br-vlan"}, "node", "Correct the name.")
    assert str(e.value) == (
        "No such network device on this node: eth9 (for bridge br-vlan). Nothing was written. Correct the name."
    )


def test_devices_that_are_there_pass(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(socket, "if_nameindex", lambda: [(1, "eth1")])
    refuse_missing_devices({"eth1": "br-ex"}, "node", "Correct the name.")


def test_devices_that_cannot_be_listed(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail() -> list[tuple[int, str]]:
        raise OSError(1, "Operation not permitted")

    monkeypatch.setattr(socket, "if_nameindex", fail)
    with pytest.raises(OvnError, match="cannot be listed: Operation not permitted"):
        refuse_missing_devices({"eth1": "br-ex"}, "host", "")


@pytest.mark.parametrize(
    ("errors", "allow_missing_ports", "told"),
    [
        pytest.param({}, False, "", id="no error"),
        pytest.param({"eth9": "no such device"}, False, "eth9: no such device", id="a port"),
        pytest.param({"eth9": "no such device"}, True, "", id="a port that may be missing"),
        pytest.param({"eth9": "x", "br-ex": "y"}, True, "br-ex: y", id="a bridge is always a failure"),
        pytest.param({"eth9": "x", "br-ex": "y"}, False, "br-ex: y; eth9: x", id="all at once"),
    ],
)
def test_port_errors(errors: dict[str, str], allow_missing_ports: bool, told: str) -> None:
    if not told:
        refuse_port_errors(errors, {"br-ex"}, allow_missing_ports)
        return
    with pytest.raises(Refused) as e:
        refuse_port_errors(errors, {"br-ex"}, allow_missing_ports)
    assert str(e.value) == f"The settings are written, but ovs-vswitchd cannot use all bridges and ports: {told}."

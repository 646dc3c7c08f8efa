"""A chassis whose settings ovn_chassis writes, and what it writes there if everything is declared."""

from __future__ import annotations

import pathlib
import typing as t

import pytest
from _vswitch import Vswitch
from conftest import RunModule

FULL = {
    "system_id": "compute-1",
    "hostname": "compute-1.example.com",
    "remote": ["ssl:192.0.2.11:6642", "ssl:192.0.2.12:6642"],
    "encapsulation": {"type": ["geneve", "vxlan"], "ip": ["192.0.2.21"]},
    "bridge_mappings": [{"physical_network": "physnet1", "bridge": "br-ex", "ports": ["eth1"]}],
    "bridges": [{"name": "br-other", "datapath_type": "netdev"}],
    "datapath_type": "netdev",
    "gateway": True,
    "availability_zones": ["az1", "az2"],
    "cms_options": ["enable-chassis-as-extport-host"],
    "mac_mappings": [{"physical_network": "physnet1", "mac": "02:AA:00:00:00:01"}],
    "transport_zones": ["tz1"],
    "monitor_all": True,
    "remote_probe_interval": 60000,
    "openflow_probe_interval": 10,
    "bridge_probe_interval": 10000,
    "external_ids": {"ovn-encap-csum": True},
    "other_config": {"stats-update-interval": 10000},
    "private_key": "/etc/ovn/tls/chassis-key.pem",
    "certificate": "/etc/ovn/tls/chassis-cert.pem",
    "ca_certificate": "/etc/ovn/tls/ca.pem",
}
STORED = {
    "system-id": "compute-1",
    "hostname": "compute-1.example.com",
    "ovn-remote": "ssl:192.0.2.11:6642,ssl:192.0.2.12:6642",
    "ovn-encap-type": "geneve,vxlan",
    "ovn-encap-ip": "192.0.2.21",
    "ovn-bridge-mappings": "physnet1:br-ex",
    "ovn-bridge-datapath-type": "netdev",
    "ovn-cms-options": "enable-chassis-as-gw,availability-zones=az1:az2,enable-chassis-as-extport-host",
    "ovn-chassis-mac-mappings": "physnet1:02:aa:00:00:00:01",
    "ovn-transport-zones": "tz1",
    "ovn-monitor-all": "true",
    "ovn-remote-probe-interval": "60000",
    "ovn-openflow-probe-interval": "10",
    "ovn-bridge-remote-probe-interval": "10000",
    "ovn-encap-csum": "true",
}


class Chassis(t.Protocol):
    def __call__(self, args: dict[str, t.Any], **options: t.Any) -> t.Any: ...


def module_on(vswitch: Vswitch, run_module: RunModule, *, on_loopback: bool = False) -> Chassis:
    """`chassis({...})`: the module in the chassis' network namespace, or where databases on loopback can be reached; it awaits nothing unless told to."""
    place = {} if on_loopback else {"prefix": vswitch.prefix}

    def execute(args: dict[str, t.Any], **options: t.Any) -> t.Any:
        given = {"database": vswitch.endpoint, "wait_for": "none", **args}
        return run_module("ovn_chassis", given, **{**place, **options})

    return execute


@pytest.fixture
def vswitch(short_dir: pathlib.Path) -> t.Iterator[Vswitch]:
    """A database without ovs-vswitchd."""
    with Vswitch(short_dir, "ch1") as machine:
        yield machine


@pytest.fixture
def chassis(vswitch: Vswitch, run_module: RunModule) -> Chassis:
    return module_on(vswitch, run_module)

"""ovn_chassis against a real ovsdb-server, ovs-vswitchd, Southbound cluster and ovn-controller."""

from __future__ import annotations

import functools
import pathlib
import typing as t

import pytest
from _vswitch import Vswitch, require_vswitch
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


@pytest.fixture
def vswitch(short_dir: pathlib.Path) -> t.Iterator[Vswitch]:
    """A database without ovs-vswitchd."""
    require_vswitch()
    machine = Vswitch(short_dir, "ch1")
    try:
        yield machine.start()
    finally:
        machine.stop()


class Chassis(t.Protocol):
    def __call__(self, args: dict[str, t.Any], **options: t.Any) -> t.Any: ...


@pytest.fixture
def chassis(vswitch: Vswitch, run_module: RunModule) -> Chassis:
    """`chassis({...})`: the module in the chassis' network namespace; nothing is awaited unless asked for."""

    def execute(args: dict[str, t.Any], **options: t.Any) -> t.Any:
        given = {"database": vswitch.endpoint, "wait_for": "none", **args}
        return run_module("ovn_chassis", given, prefix=vswitch.prefix, **options)

    return functools.partial(execute)


def test_everything_at_once_in_one_transaction(vswitch: Vswitch, chassis: Chassis) -> None:
    vswitch.device("eth1")
    vswitch.start_vswitchd()
    before = vswitch.dump()
    predicted = chassis({**FULL, "wait_for": "applied"}, check=True)
    assert predicted["changed"]
    assert vswitch.dump() == before

    start = vswitch.next_cfg
    done = chassis({**FULL, "wait_for": "applied"})
    assert done["changed"]
    assert done["diff"] == predicted["diff"]
    assert done["next_cfg"] == vswitch.next_cfg == start + 1
    assert vswitch.root()["cur_cfg"] >= start + 1
    stored = vswitch.external_ids
    record = stored.pop("c5c3-ovn-owned")
    assert "system-id" in record
    assert stored == STORED
    assert vswitch.root()["other_config"] == {"stats-update-interval": "10000"}
    assert vswitch.bridges() == {"br-ex": ["eth1"], "br-other": []}
    assert vswitch.vsctl("get", "bridge", "br-ex", "datapath_type") == "netdev"
    assert "/etc/ovn/tls/chassis-cert.pem" in vswitch.vsctl("get-ssl")

    again = chassis({**FULL, "wait_for": "applied"})
    assert not again["changed"]
    assert again["diff"] == {"before": {}, "after": {}}
    assert vswitch.next_cfg == start + 1

    predicted = chassis({"state": "absent", "wait_for": "applied"}, check=True)
    gone = chassis({"state": "absent", "wait_for": "applied"})
    assert gone["diff"] == predicted["diff"]
    assert vswitch.next_cfg == start + 2
    assert vswitch.external_ids == {}
    assert vswitch.root()["other_config"] == {}
    assert vswitch.bridges() == {}
    assert vswitch.root()["ssl"] == ["set", []]
    assert not chassis({"state": "absent"})["changed"]

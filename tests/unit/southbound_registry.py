"""What the Southbound database has of chassis, as runs for hypervisor clusters read it."""

from __future__ import annotations

from ansible_collections.c5c3.ovn.plugins.module_utils._hypervisors.southbound import Registry, registry_of


def registry(*rows: tuple[str, str, str]) -> Registry:
    """Name and address of each chassis, and the cluster that owns it, if it says so."""
    chassis = [
        {
            "name": name,
            "hostname": f"host-{name}",
            "other_config": {"ovn-cms-options": f"a,c5c3-ovn-owner={owner}"} if owner else {},
        }
        for name, _ip, owner in rows
    ]
    encapsulations = [{"chassis_name": name, "type": "geneve", "ip": ip} for name, ip, _owner in rows]
    return registry_of({"Chassis": chassis, "Encap": encapsulations, "Chassis_Private": [], "SB_Global": []})

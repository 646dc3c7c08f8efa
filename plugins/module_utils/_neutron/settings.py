# SPDX-License-Identifier: GPL-3.0-or-later
"""What Neutron has to know to be a client of OVN: options of `neutron.conf` and of the ML2 plugin (neutron/conf/plugins/ml2/drivers/ovn/ovn_conf.py). Pure."""

from __future__ import annotations

import dataclasses
import typing as t

SYNC_MODES = ("off", "log", "repair", "migrate")
# So often the same address: each is one attempt without a pause after a connection was lost (`backoff_free_tries` in ovs/reconnect.py). An attempt lasts until
# there is a leader, with TLS one second at most; and what two elections in a row have used up comes back with the next orderly change of the leader.
_ATTEMPTS = 20
# octets that Geneve and its options add to a packet (OVN_GENEVE_... in Neutron's documentation: at least 38)
_GENEVE_HEADER = 38


def attempts(endpoint: str) -> list[str]:
    """Return the endpoint of a leader proxy as Neutron has to be given it."""
    return [endpoint] * _ATTEMPTS


@dataclasses.dataclass(frozen=True)
class OvnConnection:
    """Where the databases are and who connects: endpoints like `ssl:192.0.2.11:6641`, and files (empty without TLS)."""

    northbound: t.Sequence[str]
    southbound: t.Sequence[str]
    private_key: str = ""
    certificate: str = ""
    ca_certificate: str = ""

    def through_proxy(self, northbound: str, southbound: str) -> OvnConnection:
        """Return the connection through a proxy on the same host, `ADDRESS:PORT` of each database."""
        scheme = self.northbound[0].partition(":")[0]
        return self.through_proxies(f"{scheme}:{northbound}", f"{scheme}:{southbound}")

    def through_proxies(self, northbound: str, southbound: str) -> OvnConnection:
        """Return the connection through the leader proxies of a Kubernetes cluster, one endpoint of each database."""
        return dataclasses.replace(self, northbound=attempts(northbound), southbound=attempts(southbound))

    def options(self) -> dict[str, t.Any]:
        """Return the options of the section [ovn]."""
        found: dict[str, t.Any] = {}
        for short, endpoints in (("nb", self.northbound), ("sb", self.southbound)):
            found[f"ovn_{short}_connection"] = list(endpoints)
            if self.private_key:
                found[f"ovn_{short}_private_key"] = self.private_key
                found[f"ovn_{short}_certificate"] = self.certificate
                found[f"ovn_{short}_ca_cert"] = self.ca_certificate
        return found


@dataclasses.dataclass(frozen=True)
class ServerOptions:
    """What a deployer chooses. Timeouts are in seconds."""

    sync_mode: str = "log"
    metadata: bool = True
    distributed_floating_ip: bool = False
    l3_scheduler: str = "leastloaded"
    connection_timeout: int = 60
    retry_max_interval: int = 5
    flat_networks: t.Sequence[str] = ()
    vlan_ranges: t.Sequence[str] = ()
    network_types: t.Sequence[str] = ("geneve",)
    extension_drivers: t.Sequence[str] = ("port_security",)
    service_plugins: t.Sequence[str] = ()
    dns_servers: t.Sequence[str] = ()


def server_sections(connection: OvnConnection, options: ServerOptions) -> dict[str, dict[str, t.Any]]:
    """Return the sections for everything of Neutron that talks to OVN: API, RPC server, periodic and maintenance workers."""
    sections: dict[str, dict[str, t.Any]] = {
        "DEFAULT": {"core_plugin": "ml2"},
        "ml2": {
            "mechanism_drivers": ["ovn"],
            "type_drivers": ["local", "flat", "vlan", "geneve"],
            "tenant_network_types": list(options.network_types),
            "extension_drivers": list(options.extension_drivers),
        },
        "ml2_type_geneve": {"max_header_size": _GENEVE_HEADER, "vni_ranges": ["1:65536"]},
        "securitygroup": {"enable_security_group": True},
        "ovn": {
            **connection.options(),
            "neutron_sync_mode": options.sync_mode,
            "ovn_l3_scheduler": options.l3_scheduler,
            "ovn_metadata_enabled": options.metadata,
            "enable_distributed_floating_ip": options.distributed_floating_ip,
            "ovsdb_connection_timeout": options.connection_timeout,
            "ovsdb_retry_max_interval": options.retry_max_interval,
        },
    }
    if options.service_plugins:
        sections["DEFAULT"]["service_plugins"] = list(options.service_plugins)
    if options.flat_networks:
        sections["ml2_type_flat"] = {"flat_networks": list(options.flat_networks)}
    if options.vlan_ranges:
        sections["ml2_type_vlan"] = {"network_vlan_ranges": list(options.vlan_ranges)}
    if options.dns_servers:
        sections["ovn"]["dns_servers"] = list(options.dns_servers)
    return sections

# SPDX-License-Identifier: GPL-3.0-or-later
"""What Neutron has to know to be a client of OVN: options of `neutron.conf` and of the ML2 plugin (neutron/conf/plugins/ml2/drivers/ovn/ovn_conf.py). Pure."""

from __future__ import annotations

import dataclasses
import typing as t

from .ini import Sections, merge_sections

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


# What users may set otherwise in sections of their own. Without port_security Neutron puts no port into the groups that keep others out.
_DEFAULTS: Sections = {
    "ml2": {"tenant_network_types": ["geneve"], "extension_drivers": ["port_security"]},
    "ovn": {
        "ovn_l3_scheduler": "leastloaded",
        "ovn_metadata_enabled": True,
        "enable_distributed_floating_ip": False,
        "ovsdb_connection_timeout": 60,
        "ovsdb_retry_max_interval": 5,
    },
}
# Options of users that hold no secret, beside those of the defaults
_PUBLIC: t.Mapping[str, t.Container[str]] = {
    "DEFAULT": ("service_plugins",),
    "ml2_type_flat": ("flat_networks",),
    "ml2_type_vlan": ("network_vlan_ranges",),
    "ovn": ("dns_servers",),
}


def server_sections(connection: OvnConnection, sync_mode: str) -> dict[str, dict[str, t.Any]]:
    """Return what everything of Neutron that talks to OVN has to have: API, RPC server, periodic and maintenance workers."""
    return {
        "DEFAULT": {"core_plugin": "ml2"},
        "ml2": {"mechanism_drivers": ["ovn"], "type_drivers": ["local", "flat", "vlan", "geneve"]},
        "ml2_type_geneve": {"max_header_size": _GENEVE_HEADER, "vni_ranges": ["1:65536"]},
        "securitygroup": {"enable_security_group": True},
        "ovn": {**connection.options(), "neutron_sync_mode": sync_mode},
    }


def with_defaults(ours: Sections, extra: Sections) -> dict[str, dict[str, t.Any]]:
    """Return all sections: what Neutron has to have, and the defaults, which `extra` of users may replace."""
    return merge_sections(ours, _DEFAULTS, extra)


def may_have_secret(extra: Sections) -> bool:
    """Return whether users add an option whose meaning is not known here."""
    return any(
        option not in _DEFAULTS.get(section, {}) and option not in _PUBLIC.get(section, ())
        for section, options in extra.items()
        for option in options
    )

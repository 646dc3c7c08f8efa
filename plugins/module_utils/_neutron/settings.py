# SPDX-License-Identifier: GPL-3.0-or-later
"""What Neutron has to know to be a client of OVN: options of `neutron.conf` and of the ML2 plugin (neutron/conf/plugins/ml2/drivers/ovn/ovn_conf.py). Pure."""

from __future__ import annotations

import dataclasses
import typing as t

from .ini import Sections, file_value, merge_sections

# The same for the Helm chart `neutron` of OpenStack-Helm: a file of overrides, as `helm upgrade --values FILE` takes it. Pure.

# Sections that the chart keeps in neutron.conf; the others belong to ml2_conf.ini.
_OF_NEUTRON_CONF = ("DEFAULT",)
# As Genestack calls its own, which ours takes the place of: a patch that it makes after Helm names this volume.
_MOUNT_NAME = "ovn-tls"
# The processes of the chart run as 42424, and files of a Secret are root's: without this group of the pod (fsGroup) they could not read the key.
_GROUP = 42424
# Agents on compute nodes. The chart gives them the endpoints of the server, which no compute node may use, and no certificate.
_AGENTS = ("daemonset_ovn_metadata_agent", "daemonset_ovn_agent")
# Pods of the chart that connect to the databases, as their keys in `pod.mounts`. Its CronJob neutron_ovn_db_sync (off by default) is none of them: with a mount
# its template is no YAML any more (2026.1.0), and Helm fails.
_SERVER_PODS = ("neutron_server", "neutron_rpc_server")


def helm_overrides(sections: Sections, *, secret: str = "", directory: str = "") -> dict[str, t.Any]:
    """Return the overrides; with TLS, `secret` has the client certificate (`tls.key`, `tls.crt`, `ca.crt`) and is mounted at `directory`."""
    ml2 = {name: _values(name, options) for name, options in sections.items() if name not in _OF_NEUTRON_CONF}
    neutron = {name: _values(name, sections[name]) for name in _OF_NEUTRON_CONF if sections.get(name)}
    overrides: dict[str, t.Any] = {
        "network": {"backend": ["ovn"]},
        "conf": {"neutron": neutron, "plugins": {"ml2_conf": ml2}},
        "manifests": dict.fromkeys(_AGENTS, False),
    }
    if secret:
        overrides["pod"] = {
            "mounts": {name: {name: _mounts(secret, directory)} for name in _SERVER_PODS},
            "security_context": {name: {"pod": {"fsGroup": _GROUP}} for name in _SERVER_PODS},
        }
    return overrides


def _mounts(secret: str, directory: str) -> dict[str, t.Any]:
    return {
        "volumes": [{"name": _MOUNT_NAME, "secret": {"secretName": secret, "defaultMode": 0o440}}],
        "volumeMounts": [{"name": _MOUNT_NAME, "mountPath": directory, "readOnly": True}],
    }


def _values(section: str, options: t.Mapping[str, t.Any]) -> dict[str, t.Any]:
    """Texts, but for booleans, which templates of the chart may ask for. Of a number Helm would make 1e+06, which Neutron does not take."""
    return {
        name: value if isinstance(value, bool) else file_value(section, name, value) for name, value in options.items()
    }


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

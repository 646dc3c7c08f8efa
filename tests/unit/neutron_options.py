"""The options of ovn_neutron with their defaults."""

from __future__ import annotations

from ansible_collections.c5c3.ovn.plugins.module_utils._roles.neutron import NeutronOptions

OPTIONS = NeutronOptions(
    backend="host",
    tls=True,
    northbound_endpoints=None,
    southbound_endpoints=None,
    neutron_group="neutron",
    directory="/etc/neutron/ovn",
    config_file="/etc/neutron/neutron.conf.d/50-c5c3-ovn.conf",
    config={},
    services=[],
    sync_mode="log",
    permit=[],
    ask_databases=True,
    leader_proxy="127.0.0.1",
    namespace="openstack",
    inside_cluster=False,
    helm_file=None,
    resource=None,
)

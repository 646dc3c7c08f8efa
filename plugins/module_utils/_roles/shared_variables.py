# SPDX-License-Identifier: GPL-3.0-or-later
"""Options of one role that repeat a variable of all roles. Set alone, one role does something else than the others: databases without TLS, hypervisors with
TLS. Pure.
"""

from __future__ import annotations

import typing as t

from .._inventory import as_list
from .._sentences import list_names
from .._tls_options import DEFAULT_CIPHERS
from .options import plain
from .variables import Hostvars, Variables, backend_of, first_value, is_true

# Shared variable: the roles with an option of the same name
_ROLES = {
    "ovn_backend": ("central", "hypervisor", "neutron", "operator", "ping", "pki", "verify"),
    "ovn_central_elsewhere": ("verify",),
    "ovn_central_managed": ("verify",),
    "ovn_cluster_domain": ("central", "operator", "pki", "verify"),
    "ovn_cluster_name": ("central", "hypervisor", "pki", "verify"),
    "ovn_context": ("central", "hypervisor", "neutron", "operator", "ping", "pki", "verify"),
    "ovn_firewall": ("central", "hypervisor"),
    "ovn_image": ("central", "hypervisor"),
    "ovn_kubeconfig": ("central", "hypervisor", "neutron", "operator", "ping", "pki", "verify"),
    "ovn_namespace": ("central", "hypervisor", "operator", "ping", "pki", "verify"),
    "ovn_node_certificates": ("hypervisor",),
    "ovn_northbound_endpoints": ("hypervisor", "verify"),
    "ovn_query": ("verify",),
    "ovn_southbound_endpoints": ("hypervisor", "metadata_agent", "verify"),
    "ovn_southbound_rbac": ("central",),
    "ovn_system_id": ("hypervisor", "ping"),
    "ovn_tls": ("central", "hypervisor", "metadata_agent", "neutron"),
    "ovn_tls_ciphers": ("central",),
    "ovn_tls_secret": ("central", "hypervisor"),
}
# Option: shared variable
SHARED_VARIABLES: t.Mapping[str, str] = {
    **{f"ovn_{role}_{shared[len('ovn_') :]}": shared for shared, roles in _ROLES.items() for role in roles},
    **{f"ovn_{role}_spec": "ovn_cluster_spec" for role in ("central", "hypervisor")},
    **{f"ovn_{role}_openvswitch_image": "ovs_image" for role in ("central", "hypervisor")},
}
# What counts where a shared variable is absent
_DEFAULTS: t.Mapping[str, t.Any] = {
    "ovn_backend": "host",
    "ovn_central_elsewhere": False,
    "ovn_central_managed": True,
    "ovn_cluster_domain": "cluster.local",
    "ovn_cluster_name": "ovn",
    "ovn_firewall": "none",
    "ovn_namespace": "ovn-system",
    "ovn_node_certificates": "own",
    "ovn_southbound_rbac": True,
    "ovn_tls": True,
    "ovn_tls_ciphers": DEFAULT_CIPHERS,
}
# A machine has them to say in which cluster its OVNChassis is.
_OF_MACHINES = {
    f"ovn_hypervisor_{name}" for name in ("kubeconfig", "context", "namespace", "cluster_name", "tls_secret")
}


def shared_variable_problem(hosts: t.Iterable[str], hostvars: Hostvars) -> str:
    """Return which options of these hosts contradict the shared variable that they repeat, and what to set; empty if none does."""
    found: dict[str, list[str]] = {}
    for host in hosts:
        variables = hostvars[host]
        for option in sorted(SHARED_VARIABLES.keys() & set(variables)):
            if _contradicts(option, variables, host):
                found.setdefault(option, []).append(host)
    return " ".join(
        f"{option} of {list_names(names)} contradicts {SHARED_VARIABLES[option]}, which all roles share. Set {SHARED_VARIABLES[option]} instead."
        for option, names in found.items()
    )


def _contradicts(option: str, variables: Variables, host: str) -> bool:
    shared = SHARED_VARIABLES[option]
    given = plain(first_value(variables, option, default=None))
    if given in (None, [], {}) or (option in _OF_MACHINES and backend_of(variables) == "host"):
        return False
    default = _DEFAULTS.get(shared)
    if isinstance(default, bool):
        return is_true(variables, option) is not is_true(variables, shared, default=default)
    if shared == "ovn_system_id":
        default = host
    if shared == "ovn_tls_secret":
        default = f"{first_value(variables, 'ovn_cluster_name', default='ovn')}-tls"
    counts = plain(first_value(variables, shared, default=default))
    return as_list(given) != as_list(counts or []) if shared.endswith("_endpoints") else given != counts

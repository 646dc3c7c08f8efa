# SPDX-License-Identifier: GPL-3.0-or-later
"""The variables that all roles share, declared as the options of a role are in its argument_specs.yml. No role has an option that repeats one of them."""

from __future__ import annotations

import typing as t

from .._base.tls_options import DEFAULT_CIPHERS

SPECIFICATION: t.Mapping[str, t.Mapping[str, t.Any]] = {
    "ovn_backend": {
        "type": "str",
        "choices": ["host", "kubernetes"],
        "default": "host",
        "description": "V(host) is a machine, V(kubernetes) a whole cluster, with C(ansible_connection=local).",
    },
    "ovn_break_lock": {
        "type": "bool",
        "default": False,
        "description": "Whether to take the lock of another run without waiting. Only for a single run, when the other one is known to be dead.",
    },
    "ovn_central_elsewhere": {
        "type": "bool",
        "default": False,
        "description": "Whether the control plane is in another inventory. Without it an empty group C(ovn_central) is an error.",
    },
    "ovn_central_managed": {
        "type": "bool",
        "default": True,
        "description": "Whether this collection runs the control plane. If others do (C(docs/foreign-ovn.md)), it is only read.",
    },
    "ovn_cluster_domain": {
        "type": "str",
        "default": "cluster.local",
        "description": "DNS domain of the Kubernetes cluster. It is part of the members' identity, so a later change is refused.",
    },
    "ovn_cluster_name": {
        "type": "str",
        "default": "ovn",
        "description": "Name of the OVNCluster, with which the names of all its objects begin.",
    },
    "ovn_cluster_spec": {
        "type": "dict",
        "default": {},
        "description": "Specification of the OVNCluster (C(kubectl explain ovncluster.spec)). It counts more than options.",
    },
    "ovn_context": {
        "type": "str",
        "default": "",
        "description": "Context in the kubeconfig, its current one if empty.",
    },
    "ovn_encapsulation_ip": {
        "type": "list",
        "elements": "str",
        "description": "Where the tunnels of a machine end, one address or several. The default is its C(ovn_address), else its C(ansible_host).",
    },
    "ovn_firewall": {
        "type": "str",
        "choices": ["none", "print", "managed"],
        "default": "none",
        "description": "V(managed) loads the table C(inet c5c3_ovn) of nftables, V(print) shows its rules, V(none) deletes what was loaded.",
    },
    "ovn_force_conflicts": {
        "type": "bool",
        "default": False,
        "description": "Whether fields in Kubernetes that another tool owns are taken over. If not, a run names tool and field and stops.",
    },
    "ovn_image": {
        "type": "dict",
        "default": {},
        "description": "Image of the databases, northd and ovn-controller with C(repository), C(tag), C(digest) and C(pullPolicy).",
    },
    "ovn_kubeconfig": {
        "type": "raw",
        "description": "Kubeconfig of the cluster, as a file or as a dictionary with its content. Without it the environment or C(~/.kube/config) counts.",
    },
    "ovn_namespace": {
        "type": "str",
        "default": "ovn-system",
        "description": "Namespace of the pods, created if it does not exist.",
    },
    "ovn_neutron_group": {
        "type": "str",
        "default": "neutron",
        "description": "Group of Neutron's processes on machines, which can read the certificates and settings that they get.",
    },
    "ovn_node_certificates": {
        "type": "str",
        "choices": ["own", "shared"],
        "default": "own",
        "description": "Whether each node of a hypervisor cluster has a certificate with the name of its chassis, or all share one.",
    },
    "ovn_northbound_endpoints": {
        "type": "list",
        "elements": "str",
        "description": "Northbound databases, each C(ssl:HOST:PORT) or C(tcp:HOST:PORT), if the inventory does not have the central hosts.",
    },
    "ovn_query": {
        "type": "str",
        "default": "",
        "description": "JMESPath expression; what it selects of the report or the tables is printed instead of them.",
    },
    "ovn_southbound_endpoints": {
        "type": "list",
        "elements": "str",
        "description": "Southbound databases, each C(ssl:HOST:PORT) or C(tcp:HOST:PORT), if the inventory does not have the central hosts.",
    },
    "ovn_southbound_rbac": {
        "type": "bool",
        "default": True,
        "description": "Whether hypervisors have the rights of a chassis in the Southbound database (role C(ovn-controller)), not all rights. Needs TLS.",
    },
    "ovn_system_id": {
        "type": "str",
        "description": "Name of the chassis, equal to the common name of its certificate. The default is the name in the inventory.",
    },
    "ovn_tls": {
        "type": "bool",
        "default": True,
        "description": "Whether all connections use TLS. It does not change for a control plane that exists.",
    },
    "ovn_tls_ciphers": {
        "type": "str",
        "default": DEFAULT_CIPHERS,
        "description": "Ciphers of TLS 1.2 that the databases accept, as C(openssl ciphers) writes them.",
    },
    "ovn_tls_secret": {
        "type": "str",
        "description": "Secret with C(tls.key), C(tls.crt) and C(ca.crt). The default is the name of the OVNCluster with C(-tls).",
    },
    "ovn_wait_timeout": {
        "type": "int",
        "description": "How long a role waits for what it has started, in seconds. Its default depends on the role, and on machine or cluster. "
        "The lock of a run on a central host also expires after this time, and the time that a member gets to stop, if the run no longer renews it.",
    },
    "ovs_image": {
        "type": "dict",
        "default": {},
        "description": "Image of Open vSwitch, in the same form as C(ovn_image).",
    },
}

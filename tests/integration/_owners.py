"""A Northbound database with the rows of several owners, written as their systems write them. The sources of the marks are named in _report/owner_marks.py.

Rows of kube-ovn are copies of those that its controller 1.16.2 wrote for nodes, pods, subnets, a Vpc, a NetworkPolicy and a security group; two lack the
vendor, as in its releases before 1.15.
"""

from __future__ import annotations

import shlex

from conftest import run

NETWORK, ROUTER, PORT, INTERFACE, GROUP, SUBNET, FLOATING, SEGMENT, BALANCER = (
    f"{number:08x}-1c5c-4c5c-8c5c-0123456789ab" for number in range(1, 10)
)
PG = "pg_" + GROUP.replace("-", "_")

NEUTRON = rf"""
    set nb_global . options:bfd-mult=3 external_ids:neutron\\:fip-distributed=False
    ls-add neutron-{NETWORK} -- set logical_switch neutron-{NETWORK} external_ids:neutron\\:network_name=web other_config:mcast_snoop=false
    lsp-add neutron-{NETWORK} {PORT} -- lsp-set-addresses {PORT} "fa:16:3e:00:00:05 10.0.0.5"
      -- set logical_switch_port {PORT} external_ids:neutron\\:port_name=vm
    lsp-add neutron-{NETWORK} provnet-{SEGMENT} -- lsp-set-type provnet-{SEGMENT} localnet
      -- lsp-set-options provnet-{SEGMENT} network_name=physnet1 -- lsp-set-addresses provnet-{SEGMENT} unknown
    lr-add neutron-{ROUTER} -- set logical_router neutron-{ROUTER} external_ids:neutron\\:router_name=r1 options:mac_binding_age_threshold=300
    lrp-add neutron-{ROUTER} lrp-{INTERFACE} fa:16:3e:00:00:01 10.0.0.1/24
      -- set logical_router_port lrp-{INTERFACE} external_ids:neutron\\:router_name=neutron-{ROUTER}
    lsp-add neutron-{NETWORK} {INTERFACE} -- lsp-set-type {INTERFACE} router -- lsp-set-addresses {INTERFACE} router
      -- lsp-set-options {INTERFACE} router-port=lrp-{INTERFACE}
      -- set logical_switch_port {INTERFACE} external_ids:neutron\\:port_name='""'
    lr-nat-add neutron-{ROUTER} snat 192.0.2.10 10.0.0.0/24
    --id=@n create nat type=dnat_and_snat external_ip=192.0.2.20 logical_ip=10.0.0.5 external_ids:neutron\\:fip_id={FLOATING}
      -- add logical_router neutron-{ROUTER} nat @n
    --id=@r create logical_router_static_route ip_prefix=0.0.0.0/0 nexthop=192.0.2.1 external_ids:neutron\\:is_ext_gw=true
      -- add logical_router neutron-{ROUTER} static_routes @r
    pg-add neutron_pg_drop {PORT} -- acl-add neutron_pg_drop to-lport 1000 "outport == @neutron_pg_drop && ip" drop
    pg-add {PG} {PORT} -- set port_group {PG} external_ids:neutron\\:security_group_id={GROUP}
    --id=@a create acl direction=from-lport priority=1002 action=allow-related match=ip4 external_ids:neutron\\:security_group_rule_id={GROUP}
      -- add port_group {PG} acls @a
    create address_set name=ag_{GROUP.replace("-", "_")}_ip4 addresses=10.9.0.0/24 external_ids:neutron\\:address_group_id={GROUP}
    --id=@d create dhcp_options cidr=10.0.0.0/24 external_ids:subnet_id={SUBNET} -- set logical_switch_port {PORT} dhcpv4_options=@d
    --id=@d create dns external_ids:ls_name=neutron-{NETWORK} -- add logical_switch neutron-{NETWORK} dns_records @d
    qos-add neutron-{NETWORK} to-lport 2002 "outport == \\"{PORT}\\"" rate=1000
    ha-chassis-group-add neutron-{ROUTER} -- ha-chassis-group-add-chassis neutron-{ROUTER} gateway1 2
      -- set ha_chassis_group neutron-{ROUTER} external_ids:neutron\\:router_id={ROUTER}
    meter-add acl_log_meter drop 100 pktps 25 -- set meter acl_log_meter external_ids:neutron\\:device_owner=logging-plugin"""

OCTAVIA = rf"""
    --id=@h create load_balancer_health_check vip=10.0.0.9\\:80 external_ids:octavia\\:healthmonitor={FLOATING}
      -- create load_balancer name={BALANCER} external_ids:neutron\\:vip=10.0.0.9 external_ids:enabled=True health_check=@h
    ls-lb-add neutron-{NETWORK} {BALANCER}"""

KUBE_OVN = r"""
    set nb_global . options:svc_ipv4_cidr=10.96.0.0/12 external_ids:kube-ovn-version=v1.15.0
    ls-add ovn-default -- set logical_switch ovn-default external_ids:vendor=kube-ovn
    ls-add join -- set logical_switch join external_ids:vendor=kube-ovn
    lr-add ovn-cluster -- set logical_router ovn-cluster external_ids:vendor=kube-ovn options:mac_binding_age_threshold=300
    lrp-add ovn-cluster ovn-cluster-ovn-default 00:00:00:c5:c3:01 10.16.0.1/16
      -- set logical_router_port ovn-cluster-ovn-default external_ids:vendor=kube-ovn external_ids:lr=ovn-cluster
    lsp-add ovn-default ovn-default-ovn-cluster -- lsp-set-type ovn-default-ovn-cluster router
      -- lsp-set-addresses ovn-default-ovn-cluster router
      -- lsp-set-options ovn-default-ovn-cluster router-port=ovn-cluster-ovn-default
      -- set logical_switch_port ovn-default-ovn-cluster external_ids:vendor=kube-ovn
    lsp-add ovn-default web.default
      -- set logical_switch_port web.default external_ids:vendor=kube-ovn external_ids:pod=default/web external_ids:ls=ovn-default
    --id=@r create logical_router_static_route ip_prefix=0.0.0.0/0 nexthop=100.64.0.1 external_ids:vendor=kube-ovn
      -- add logical_router ovn-cluster static_routes @r
    --id=@p create logical_router_policy priority=31000 match=ip4 action=allow external_ids:vendor=kube-ovn
      -- add logical_router ovn-cluster policies @p
    lr-nat-add ovn-cluster snat 192.0.2.99 10.16.0.9
    --id=@a create acl direction=to-lport priority=3000 action=drop match=ip4 external_ids:vendor=kube-ovn external_ids:parent=ovn-default
      -- add logical_switch ovn-default acls @a
    pg-add ovn.sg.web -- set port_group ovn.sg.web external_ids:vendor=kube-ovn external_ids:type=security_group external_ids:sg=web
    --id=@a create acl direction=to-lport priority=2300 action=allow-related match=ip4 external_ids:vendor=kube-ovn external_ids:parent=ovn.sg.web
      -- add port_group ovn.sg.web acls @a
    create address_set name=ovn.sg.web.associated.v4 external_ids:vendor=kube-ovn external_ids:sg=web
    create load_balancer name=cluster-tcp-loadbalancer external_ids:vendor=kube-ovn
    create dhcp_options cidr=10.16.0.0/16 external_ids:ls=ovn-default external_ids:protocol=IPv4 external_ids:vendor=kube-ovn
    ls-add vlan10 -- set logical_switch vlan10 external_ids:vendor=kube-ovn
    lsp-add vlan10 localnet.vlan10 -- lsp-set-type localnet.vlan10 localnet -- lsp-set-addresses localnet.vlan10 unknown
      -- lsp-set-options localnet.vlan10 network_name=provider localnet_learn_fdb=true
      -- set logical_switch_port localnet.vlan10 external_ids:vendor=kube-ovn
    pg-add node.node1 -- set port_group node.node1 external_ids:vendor=kube-ovn external_ids:np=node/node1 external_ids:node=node1
    pg-add web.default -- set port_group web.default external_ids:np=default/web
      -- acl-add web.default to-lport 2000 ip4 drop
    create address_set name=web.default.ingress.allow.IPv4.0 external_ids:np=default/web/ingress
    lr-add vpc1 -- set logical_router vpc1 external_ids:vendor=kube-ovn options:dynamic_neigh_routers=true options:mac_binding_age_threshold=300
    lrp-add vpc1 vpc1-vpc2 00:00:00:c5:c3:04 169.254.0.1/30
      -- set logical_router_port vpc1-vpc2 external_ids:vendor=kube-ovn external_ids:lr=vpc1 peer=vpc2-vpc1
    lr-nat-add vpc1 dnat_and_snat 192.0.2.111 10.30.0.2
    create load_balancer name=vpc-vpc1-tcp-load external_ids:vendor=kube-ovn
    lsp-add ovn-default vip1.default -- set logical_switch_port vip1.default external_ids:vendor=kube-ovn external_ids:ls=ovn-default"""

# With ENABLE_EXTERNAL_VPC kube-ovn puts subnets at Neutron's routers.
AT_NEUTRONS_ROUTER = rf"""
    ls-add pods -- set logical_switch pods external_ids:vendor=kube-ovn
    lrp-add neutron-{ROUTER} neutron-{ROUTER}-pods 00:00:00:c5:c3:02 10.17.0.1/16
      -- set logical_router_port neutron-{ROUTER}-pods external_ids:vendor=kube-ovn
    lsp-add pods pods-neutron-{ROUTER} -- lsp-set-type pods-neutron-{ROUTER} router
      -- lsp-set-addresses pods-neutron-{ROUTER} router
      -- lsp-set-options pods-neutron-{ROUTER} router-port=neutron-{ROUTER}-pods
      -- set logical_switch_port pods-neutron-{ROUTER} external_ids:vendor=kube-ovn
    --id=@r create logical_router_static_route ip_prefix=10.18.0.0/16 nexthop=10.17.0.2 external_ids:vendor=kube-ovn
      -- add logical_router neutron-{ROUTER} static_routes @r"""

OVN_KUBERNETES = r"""
    lr-add ovn_cluster_router -- set logical_router ovn_cluster_router external_ids:k8s-cluster-router=yes
    lr-add GR_node1 -- set logical_router GR_node1 external_ids:physical_ip=192.0.2.31 options:mac_binding_age_threshold=300
    ls-add join -- lsp-add @join jtor-GR_node1
    ls-add node1 -- lsp-add node1 stor-node1 -- lsp-add node1 k8s-node1
    lsp-add node1 default_web -- set logical_switch_port default_web external_ids:pod=true external_ids:namespace=default
    ls-add ext_node1
    lrp-add ovn_cluster_router rtos-node1 0a:58:0a:f4:00:01 10.244.0.1/24
    lsp-set-type stor-node1 router -- lsp-set-addresses stor-node1 router -- lsp-set-options stor-node1 router-port=rtos-node1
    lr-nat-add GR_node1 snat 192.0.2.31 10.244.0.0/16
    create address_set name=a4743249366342378346 external_ids:k8s.ovn.org/owner-type=Namespace external_ids:k8s.ovn.org/name=default
    --id=@a create acl direction=to-lport priority=1001 action=allow-related match=ip4 external_ids:k8s.ovn.org/owner-type=NetpolNode
      -- add logical_switch node1 acls @a
    pg-add a17018166157963590072 -- set port_group a17018166157963590072 external_ids:k8s.ovn.org/owner-type=NetworkPolicy
    create load_balancer name=Service_default/kubernetes_TCP_node_switch_node1 external_ids:k8s.ovn.org/kind=Service
    create load_balancer_group name=clusterLBGroup"""

UNKNOWN = r"""
    ls-add by-hand -- lsp-add by-hand by-hand-1 -- acl-add by-hand to-lport 100 ip4 drop
    pg-add mine -- acl-add mine to-lport 100 ip6 drop
    lr-add edge -- lr-nat-add edge snat 192.0.2.77 10.77.0.0/24
    create dhcp_options cidr=10.77.0.0/24
    create address_set name=mine_list"""

ALL = (NEUTRON, OCTAVIA, KUBE_OVN, AT_NEUTRONS_ROUTER, OVN_KUBERNETES, UNKNOWN)


def fill(socket: str, *owners: str) -> None:
    """Write the rows of these owners, all by default."""

    def nbctl(*words: str) -> str:
        return run("ovn-nbctl", f"--db={socket}", "--no-leader-only", "--timeout=20", *words).strip()

    nbctl("init")
    for line in "\n".join(owners or ALL).replace("\n      -- ", " -- ").splitlines():
        if "@join" in line:  # a second switch with this name: it is named by its UUID
            switch = nbctl("create", "logical_switch", "name=join")
            nbctl("lsp-add", switch, "jtor-GR_node1")
        elif line.strip():
            nbctl(*shlex.split(line))

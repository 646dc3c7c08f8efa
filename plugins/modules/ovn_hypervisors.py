#!/usr/bin/python
# Copyright: (c) 2026, C5C3 contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: ovn_hypervisors
short_description: The chassis of one Kubernetes cluster
version_added: 0.1.0
description:
  - Makes nodes of a Kubernetes cluster OVN chassis, with the Southbound database in another cluster, in the same one, or on machines.
    Runs on the control node.
  - Two DaemonSets, C(ovs) and C(ovn-controller), run on the nodes that the specification selects. The Open vSwitch database lies on the node
    (C(/var/lib/c5c3-ovn/openvswitch), its sockets in C(/run/c5c3-ovn/openvswitch)), so that a pod that is restarted or updated finds its ports again;
    ovn-controller is always ended with C(exit --restart), which keeps flows, tunnels and the chassis row.
  - The settings of each node come from the specification, from its annotations, and from its C(OVNChassis) if another client wrote into it. An agent
    in the pod writes them into Open vSwitch by the rules of M(c5c3.ovn.ovn_chassis). A node that gets the label later registers without another run.
  - Every selected node has a cluster-scoped C(OVNChassis) of its name, owned by the Node, as soon as its tunnel address is known. Where only the node
    itself knows that, this reads the Southbound database. Between runs the agents write its
    status, and the Deployment C(ovn-chassis-observer) that of nodes that died; without the rights for them it is that of the last run.
  - A node that is not selected any more, or that was deleted, loses its C(OVNChassis) and its row in the Southbound database. Several clusters can share
    that database; each row carries a token of its cluster in C(ovn-cms-options). A row is only removed if it has that token, or is a recorded chassis with
    a recorded tunnel address. What is in doubt stays, is named in a warning, and is checked again by the next run.
  - Warns of gateways without a bridge mapping, and of nodes on which bridges of bridge mappings get no port. That a port there is down, or has no link,
    is in the log of the container C(agent) of the pod C(ovn-controller).
  - A new launcher script, which an update of the collection may bring, does not restart pods. They go on under the old one until an operator restarts them;
    a warning says so.
  - Nothing is sent for an object that is as declared.
extends_documentation_fragment:
  - c5c3.ovn._attributes
  - c5c3.ovn._attributes.action_groups
  - c5c3.ovn._kubernetes_auth
attributes:
  check_mode:
    support: full
  diff_mode:
    support: full
  idempotent:
    support: full
    details:
      - The status of an C(OVNChassis) follows what is observed and does not count as a change.
  platform:
    support: full
    platforms: posix
options:
  name:
    description: Name of the C(OVNCluster) that the chassis belong to.
    type: str
    default: ovn
  namespace:
    description:
      - Namespace of the pods. It is made if it does not exist, and never removed. Its pods use the network and folders of their node; a namespace that exists
        has to admit that (C(pod-security.kubernetes.io/enforce=privileged)).
    type: str
    default: ovn-system
  state:
    description:
      - V(present) brings the hypervisors to the declared state.
      - V(absent) takes pods, settings, every C(OVNChassis) and the rows in the Southbound database away. The Open vSwitch databases of the nodes,
        the definition of C(OVNChassis), the namespace and the Secret stay.
    type: str
    choices: [present, absent]
    default: present
  spec:
    description:
      - The specification of the C(OVNCluster), see C(kubectl explain ovncluster.spec). Here C(ovnImage), C(ovsImage), C(controller), C(ovs), C(encapsulation),
        C(bridgeMappings), C(gateway), C(metadataAgent), C(network), C(heartbeatInterval) and C(tls) count. What is left out has its default.
      - With C(metadataAgent.enabled), a third DaemonSet, C(ovn-metadata-agent), runs on hypervisors that are no gateways. The Secret of
        C(metadataAgent.sharedSecretRef) has to exist in O(namespace); the module reads it, and never writes it anywhere.
      - Annotations of a Node take precedence for that node. C(ovn.c5c3.io/encapsulation-ip) is an address or a comma list of them,
        C(ovn.c5c3.io/system-id) the name of the chassis (default the name of the Node), C(ovn.c5c3.io/gateway) is V(true) or V(false),
        C(ovn.c5c3.io/bridge-mappings) has the form V(physnet1:br-ex,physnet2:br-vlan:eth1+eth2), with ports behind the second colon,
        and C(ovn.c5c3.io/chassis-settings) is a JSON object with options of M(c5c3.ovn.ovn_chassis).
    type: dict
  southbound:
    description:
      - Endpoints of the Southbound database as the nodes reach them, each V(ssl:HOST:PORT) or V(tcp:HOST:PORT), for example
        RV(c5c3.ovn.ovn_cluster#module:endpoints.southbound).
      - Required with O(state=present). If the control node has certificates (or needs none), it asks them as well, for clashes, registration and status.
        A new node whose system id or tunnel address another chassis has is refused then.
    type: list
    elements: str
  northbound:
    description: Endpoints of the Northbound database. They are only published in the ConfigMap C(ovn-config).
    type: list
    elements: str
  tls_secret:
    description:
      - Secret in O(namespace) with C(tls.crt), C(tls.key) and C(ca.crt), which all nodes share. The default is the one of O(spec).
      - C(tls.caConfigMapRef) of O(spec) names a ConfigMap in O(namespace) whose CAs are trusted in place of C(ca.crt).
      - If C(tls.nodeCertificates) of O(spec) is V(own), it is for this module alone, and no pod names it. The module copies its C(ca.crt) into the ConfigMap
        C(ovn-chassis-ca) for the nodes.
    type: str
  signer:
    description:
      - The CA of the chassis, which signs for nodes if C(tls.nodeCertificates) of O(spec) is V(own). The agent of each node makes its key, which never leaves
        the node, and a C(CertificateSigningRequest) of the signer C(ovn.c5c3.io/chassis); the module signs it if the API server says that it comes from that
        node, and denies it if it asks for something else. Of several requests of a node the newest counts.
      - Requests are signed once in each run, and while it waits for the pods. A new node, or one whose certificate is to be renewed, waits for the next run.
      - A node gets its first certificate only if the control node can ask the Southbound database, and no chassis of others has the name there. Names in
        annotations do not count, because a kubelet can write those of its own Node. A name that is not that of the Node has to be declared as
        C(spec.systemId) of its C(OVNChassis) by another field manager (C(kubectl apply --server-side)). Other requests wait, with a warning.
      - Before the first change a server of the Southbound database has to let in what the CA signs.
      - Without it or its key nothing is signed or denied, and nodes use what other programs have signed, by whichever CA.
    type: dict
    suboptions:
      certificate:
        description:
          - Certificate of the CA, as PEM text. When it changes, pods are replaced one by one, and each node uses its certificate until it has one of this CA.
        type: str
        required: true
      private_key:
        description: Private key of the CA, as PEM text. It stays in the memory of the module. Without it nothing is signed.
        type: str
      passphrase:
        description: Passphrase of O(signer.private_key).
        type: str
      validity_days:
        description: How long certificates are valid, in days. The agents ask for the next one after two thirds of that time.
        type: int
        default: 365
      other_chassis:
        description: Names of chassis that are not of this cluster, for example of the machines of the inventory. No node gets a certificate with one of them.
        type: list
        elements: str
  api_server:
    description: URL of the API server that C(ovn-config) shows. The default is the one that this module talks to.
    type: str
  private_key:
    description:
      - Path of a private key (PEM) on the control node, to read the Southbound database from there. The three paths go together.
      - Without them the certificate in O(tls_secret) is used, which exists as a file for as long as the module runs.
      - If there is no such Secret either, V(ssl:) endpoints are not asked; the module then judges by the pods, and cannot remove rows of chassis that have
        gone.
    type: path
  certificate:
    description: Path of the certificate (PEM) that belongs to O(private_key).
    type: path
  ca_certificate:
    description: Path of the certificate (PEM) of the authority that signed the servers' certificates.
    type: path
  break_lock:
    description:
      - Whether to go on although another run holds the Lease C(ovn-hypervisors) of O(namespace). Only when that run is known to be dead.
      - The Lease is acquired when something has to be changed, and released at the end. The Lease of a run that was killed expires after 90 seconds.
    type: bool
    default: false
  force_conflicts:
    description: Whether to take over fields that another field manager set to other values. Without it they are an error that names them.
    type: bool
    default: false
  wait:
    description:
      - Whether to wait until every pod is ready and every selected node is registered in the Southbound database. Nodes that are down are not waited for.
    type: bool
    default: true
  wait_timeout:
    description:
      - Time without progress after which a run gives up waiting, in seconds. There is no limit for the whole, as an update goes through the nodes one by one.
      - Progress is one more node than ever before in this run whose pod is of the current template, or is also ready, or whose chassis is registered.
        Pods that become ready again and again are not waited for without end.
      - Before an update with a new image, progress is one more node that has pulled it. Without O(wait) no image is pulled in advance.
      - For pods that have to end, of nodes that are removed or with O(state=absent), it is the time for all of them.
    type: float
    default: 300
requirements:
  - "kubernetes and jsonschema (PyPI) on the control node"
seealso:
  - module: c5c3.ovn.ovn_cluster
  - module: c5c3.ovn.ovn_chassis
author:
  - C5C3 contributors (@c5c3)
"""

EXAMPLES = r"""
- name: The nodes with the default label, on the control plane of another cluster
  c5c3.ovn.ovn_hypervisors:
    kubeconfig: ~/.kube/hypervisors
    southbound: "{{ control_plane.endpoints.southbound }}"
    tls_secret: ovn-tls
    private_key: /etc/ovn/tls/control-key.pem
    certificate: /etc/ovn/tls/control-cert.pem
    ca_certificate: /etc/ovn/tls/ca.pem
    spec:
      encapsulation:
        cidr: 198.51.100.0/24
      bridgeMappings:
        - physicalNetwork: physnet1
          bridge: br-ex
          ports: [eth1]
      gateway:
        nodeSelector:
          node-role.kubernetes.io/gateway: ""

- name: A datapath in user space that owns the network device of the tunnels
  c5c3.ovn.ovn_hypervisors:
    kubeconfig: ~/.kube/hypervisors
    southbound: [tcp:192.0.2.11:6642, tcp:192.0.2.12:6642, tcp:192.0.2.13:6642]
    spec:
      tls:
        enabled: false
      ovs:
        datapathType: netdev
        underlay:
          bridge: br-phy
          interface: eth1

- name: Take the chassis away
  c5c3.ovn.ovn_hypervisors:
    kubeconfig: ~/.kube/hypervisors
    state: absent
    southbound: "{{ control_plane.endpoints.southbound }}"
    private_key: /etc/ovn/tls/control-key.pem
    certificate: /etc/ovn/tls/control-cert.pem
    ca_certificate: /etc/ovn/tls/ca.pem
"""

RETURN = r"""
chassis:
  description: Every hypervisor, by node.
  returned: when O(state=present)
  type: list
  elements: dict
  contains:
    node:
      description: Name of the Node.
      type: str
      sample: worker-1
    system_id:
      description: Name of the chassis.
      type: str
      sample: worker-1
    hostname:
      description: Host name that the chassis row shows.
      type: str
      sample: worker-1
    encapsulation:
      description: Tunnel types and addresses. The addresses are empty as long as only the node knows them.
      type: dict
      sample: {"type": ["geneve"], "ip": ["198.51.100.21"]}
    registered:
      description: Whether the Southbound database has it with these tunnel ends; V(null) if it was not asked.
      type: bool
      sample: true
removed:
  description: Chassis that were taken out of the Southbound database.
  returned: always
  type: list
  elements: str
  sample: []
objects:
  description: Every object that was compared, with what was done.
  returned: always
  type: list
  elements: dict
  contains:
    kind:
      description: Its kind.
      type: str
      sample: DaemonSet
    name:
      description: Its name.
      type: str
      sample: ovs
    namespace:
      description: Its namespace, empty if it has none.
      type: str
      sample: ovn-system
    action:
      description: V(created), V(changed), V(deleted) or V(unchanged).
      type: str
      sample: unchanged
steps:
  description: What was done besides, for example which certificates were signed; in check mode what would be done.
  returned: always
  type: list
  elements: str
  sample: [sign the certificate of chassis worker-1]
requests:
  description: Number of requests that were sent to the API server.
  returned: always
  type: int
  sample: 5
diff:
  description: Objects before and after, with only those that differ.
  returned: always
  type: dict
  sample: {"before": {}, "after": {}}
"""

import typing as t

from ansible.module_utils.basic import AnsibleModule

from ..module_utils._hypervisors.task import OPTIONS, converge
from ..module_utils._kubernetes.client import AUTH_ARG_SPEC, Cluster, run_module


def execute(module: AnsibleModule, cluster: Cluster) -> dict[str, t.Any]:
    return converge(cluster, module.params, directory=module.tmpdir, check_mode=module.check_mode, warn=module.warn)


def main() -> t.NoReturn:
    module = AnsibleModule(argument_spec={**AUTH_ARG_SPEC, **OPTIONS}, supports_check_mode=True)
    run_module(module, execute)


if __name__ == "__main__":
    main()

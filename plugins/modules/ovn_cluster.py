#!/usr/bin/python
# Copyright: (c) 2026, C5C3 contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: ovn_cluster
short_description: An OVN control plane in a Kubernetes cluster
version_added: "0.1.0"
description:
  - Brings the Northbound and Southbound databases (one Raft cluster each, one pod and one claim a member), northd and everything around them to the
    declared state, in one call. Runs on the control node.
  - A database is created only once. The permission and the cluster id are in a ConfigMap (C(NAME-northbound-record), C(NAME-southbound-record)) that
    no other object owns. A member that lost its volume joins the recorded cluster again, after its old server id was removed; index 0 is nothing special.
  - Members are restarted one at a time, the leader last, and only while the others keep the quorum and are caught up. A step that is not safe is refused
    with a reason. A run that was killed is finished by the next one.
  - Volumes grow in one run. Size and storage class for claims to come cannot be changed in a StatefulSet, so it is recreated while its pods and claims
    stay. A claim that has no volume yet is recreated when the declared storage class is another one; a volume never moves to another class.
  - After an update of the image a run warns of a database whose schema is not the image's. It converts none.
  - Nothing is sent for an object that is as declared. Fields of other field managers are left alone, see O(force_conflicts).
extends_documentation_fragment:
  - c5c3.ovn._attributes
  - c5c3.ovn._attributes.action_group_kubernetes
  - c5c3.ovn._kubernetes_auth
attributes:
  check_mode:
    support: full
    details:
      - Objects are compared with what the API server would store. RV(steps) has the whole ordered plan for the databases.
  diff_mode:
    support: full
  idempotent:
    support: full
  platform:
    support: full
    platforms: posix
options:
  name:
    description: Name of the C(OVNCluster); all objects start with it.
    type: str
    default: ovn
  namespace:
    description: Namespace. It is made if it does not exist, and never removed.
    type: str
    default: ovn-system
  state:
    description:
      - V(present) brings everything to the declared state.
      - V(absent) takes everything away but the custom resource definitions, the namespace and the data. A later V(present) starts the same
        clusters from the claims and records that stayed.
    type: str
    choices: [present, absent]
    default: present
  spec:
    description:
      - The specification of the C(OVNCluster), see C(kubectl explain ovncluster.spec). What is left out has the default that is shown there.
      - Without it and O(definition) the resource in the cluster is used as it is, no matter who applied it.
    type: dict
  definition:
    description: The whole C(OVNCluster) as an alternative to O(name), O(namespace) and O(spec).
    type: dict
  spec_from:
    description:
      - Who says what the C(OVNCluster) should be. V(options) is this call, with O(spec), O(definition) and O(images).
      - V(resource) is another client that has applied it, for example C(kubectl) or Flux. Its specification is taken as it is and never written; the run
        writes the status alone. The user needs no right to create, patch or delete an C(OVNCluster).
      - With V(resource) a missing C(OVNCluster) is an error, and so is O(state=absent), which would delete it.
    type: str
    choices: [options, resource]
    default: options
  resource_uid:
    description: With O(spec_from=resource) the C(metadata.uid) of the C(OVNCluster) that the caller has read. If it is another one now the run is refused.
    type: str
  resource_generation:
    description: The same for C(metadata.generation), which changes with the specification.
    type: int
  images:
    description: Images that take precedence over those in O(spec).
    type: dict
    suboptions:
      ovn:
        description: Image with OVN and the database server - C(repository), C(tag), C(digest), C(pullPolicy).
        type: dict
      ovs:
        description: Image with Open vSwitch, in the same form.
        type: dict
  cluster_domain:
    description:
      - Domain of the names of Services. The names of members are part of their identity, so it cannot be changed later.
    type: str
    default: cluster.local
  pod_security:
    description:
      - Pod Security level that a namespace enforces which the run creates (label C(pod-security.kubernetes.io/enforce)). One that exists stays as it is.
      - All pods of the control plane satisfy V(restricted). V(privileged) is for a namespace that hypervisors share.
    type: str
    choices: [restricted, baseline, privileged]
    default: restricted
  bootstrap:
    description: Whether databases may be created (V(auto)) where none was ever recorded and no volume holds one, or not at all (V(forbid)).
    type: str
    choices: [auto, forbid]
    default: auto
  northbound_cluster_id:
    description: Cluster id (UUID) that the Northbound database must have. The run stops at any other.
    type: str
  southbound_cluster_id:
    description: The same for the Southbound database.
    type: str
  restart:
    description: Whether members are restarted whose pod template has changed. V(false) only reports which are due.
    type: bool
    default: true
  allow_outage:
    description: Whether the only member of a database may be restarted.
    type: bool
    default: false
  new_cluster:
    description:
      - Whether databases may be created although there is evidence of an older control plane - a volume that a claim of this one left, the id of a cluster in
        the status of the C(OVNCluster) or on a claim, a state record under another name. The run lists what it found and refuses otherwise.
      - It never leads to a second cluster where a member or a state record of an older one is found.
    type: bool
    default: false
  accept_rollback:
    description:
      - Whether to go on with a database whose members have fewer log entries than one of them is known to have acknowledged. That happens when an old
        copy of a volume was started. What was written after the copy is lost then, unless another member still has it.
      - Old copies and files on other disks start with it, too, and what Kubernetes keeps of newer files (ConfigMaps C(NAME-northbound-witness) and
        C(NAME-southbound-witness)) is forgotten. Give it to a single run.
      - Clients remember how far a database was, too, and call an older one stale until they are restarted - the pods of northd and ovn-controller, and Neutron.
    type: bool
    default: false
  accept_lost_disk:
    description:
      - Whether a member is replaced whose volume is empty and lies on another file system than the member's file did. Such a disk may only not be mounted, so
        a run refuses to count the file as lost by itself.
      - Give it to a single run. While it is set, a disk that is mounted late counts as lost.
    type: bool
    default: false
  delete_data:
    description:
      - With O(state=absent), whether claims, records and witnesses go, too. The content of both databases is lost then.
    type: bool
    default: false
  break_lock:
    description: Whether to go on at once although another run holds the Lease C(NAME-run).
    type: bool
    default: false
  force_conflicts:
    description:
      - Whether to take over fields that another field manager set to other values, ports of Services among them. Without it they are an error that
        names them.
    type: bool
    default: false
  wait:
    description:
      - Whether to wait until northd is available, and for pods of members that are on their way. Steps of the databases are always waited for.
      - The run does not wait for what does not come by itself (no image, no storage class, a full quota, no node). The error names the pod and the event
        behind it.
      - With V(true) the run fails in the end if a declared member does not take part, also if the others have the quorum. With V(false) that is a
        warning.
      - Another run is waited for, too, until its Lease has expired. One that was killed on the same control node is not waited for.
    type: bool
    default: true
  lock_wait_timeout:
    description:
      - How long another run is waited for that holds the Lease C(NAME-run), in seconds. V(0) does not wait. O(wait_timeout) is the limit of everything
        together, and the default.
    type: float
    version_added: "0.1.0"
  wait_timeout:
    description: Time for everything together, in seconds.
    type: float
    default: 300
requirements:
  - "kubernetes and jsonschema (PyPI) on the control node"
seealso:
  - module: c5c3.ovn.ovn_hypervisors
  - module: c5c3.ovn.ovn_raft_status
  - module: c5c3.ovn.ovn_cluster_info
author:
  - C5C3 contributors (@c5c3)
"""

EXAMPLES = r"""
- name: A control plane that hypervisors of other clusters reach
  c5c3.ovn.ovn_cluster:
    kubeconfig: ~/.kube/control-plane
    spec:
      northbound:
        service: {type: NodePort}
        storage: {size: 5Gi}
      southbound:
        service: {type: NodePort}
        storage: {size: 10Gi}
      tls:
        certSecretRef: {name: ovn-tls}
  register: control_plane

- name: Connection strings for Neutron
  ansible.builtin.debug:
    var: control_plane.endpoints

- name: Roll out what Flux has applied
  c5c3.ovn.ovn_cluster:
    kubeconfig: ~/.kube/control-plane
    spec_from: resource

- name: Take it away, but keep the data
  c5c3.ovn.ovn_cluster:
    kubeconfig: ~/.kube/control-plane
    state: absent
"""

RETURN = r"""
endpoints:
  description: Connection strings, computed from what is there now.
  returned: when O(state=present)
  type: dict
  contains:
    northbound:
      description: Every Northbound member for clients outside the Kubernetes cluster; for those inside if it is not exposed.
      type: str
      sample: ssl:192.0.2.11:31641,ssl:192.0.2.12:30642,ssl:192.0.2.13:32101
    southbound:
      description: The same for the Southbound database.
      type: str
      sample: ssl:192.0.2.11:31643,ssl:192.0.2.12:30644,ssl:192.0.2.13:32103
    southbound_unrestricted:
      description:
        - Its ports without a role, for clients like Neutron. Empty if members are exposed with TLS, but not these ports, for which
          C(neutronIntegration.sbConnection.allowedCidrs) has to name networks.
      type: str
      sample: ssl:ovn-southbound-0.ovn-southbound.ovn-system.svc.cluster.local:16642
    northbound_inside:
      description: Every Northbound member for clients in the same Kubernetes cluster.
      type: str
      sample: ssl:ovn-northbound-0.ovn-northbound.ovn-system.svc.cluster.local:6641
    southbound_inside:
      description: The same for the Southbound database, where chassis connect.
      type: str
      sample: ssl:ovn-southbound-0.ovn-southbound.ovn-system.svc.cluster.local:6642
    southbound_unrestricted_inside:
      description: The same for its ports without a role.
      type: str
      sample: ssl:ovn-southbound-0.ovn-southbound.ovn-system.svc.cluster.local:16642
    service_northbound:
      description:
        - The Service in front of all Northbound members, for clients in the same Kubernetes cluster that take no list.
        - A client that needs the leader may have to connect several times.
      type: str
      sample: ssl:ovn-nb.ovn-system.svc.cluster.local:6641
    service_southbound:
      description: The same for the Southbound database, to its port without a role, so not for chassis.
      type: str
      sample: ssl:ovn-sb.ovn-system.svc.cluster.local:6642
    northbound_cluster_ips:
      description:
        - Every Northbound member at the address of its Service, for clients in the same Kubernetes cluster that cannot resolve names.
        - Empty until each Service has an address.
      type: str
      sample: ssl:10.96.0.11:6641,ssl:10.96.0.12:6641,ssl:10.96.0.13:6641
    southbound_unrestricted_cluster_ips:
      description: The same for the ports of the Southbound without a role. Empty also where members are exposed for chassis alone.
      type: str
      sample: ssl:10.96.0.21:16642,ssl:10.96.0.22:16642,ssl:10.96.0.23:16642
    leader_proxy_northbound:
      description:
        - The leader proxy of the node of whoever connects (C(leaderProxy)), for clients in the same Kubernetes cluster.
        - Empty without one, until it runs on all its nodes, and if it is not published.
      type: str
      sample: ssl:10.96.0.31:6641
    leader_proxy_southbound:
      description: The same for the Southbound database, to its port without a role.
      type: str
      sample: ssl:10.96.0.31:16642
objects:
  description: Every object that was compared, with what was done.
  returned: always
  type: list
  elements: dict
  contains:
    kind:
      description: Its kind.
      type: str
      sample: StatefulSet
    name:
      description: Its name.
      type: str
      sample: ovn-northbound
    namespace:
      description: Its namespace, empty if it has none.
      type: str
      sample: ovn-system
    action:
      description: V(created), V(changed), V(deleted) or V(unchanged).
      type: str
      sample: unchanged
steps:
  description: What was done to the databases, in order; in check mode what would be done.
  returned: when O(state=present)
  type: list
  elements: str
  sample: ["create the northbound cluster on ovn-northbound-0", "join ovn-northbound-1 to northbound"]
cluster:
  description:
    - The C(OVNCluster) with its status; empty if it is gone.
    - The condition C(UpToDate) names members whose restart is due, and C(observedGeneration) moves when all pods are as the specification says.
  returned: always
  type: dict
  sample: {"apiVersion": "ovn.c5c3.io/v1alpha1", "kind": "OVNCluster"}
northbound:
  description: Verdict about the Northbound database, as M(c5c3.ovn.ovn_raft_status) returns it.
  returned: when O(state=present)
  type: dict
  sample: {"verdict": "healthy", "healthy": true, "writable": true}
southbound:
  description: The same about the Southbound database.
  returned: when O(state=present)
  type: dict
  sample: {"verdict": "healthy", "healthy": true, "writable": true}
kept:
  description: Claims, records and witnesses that were left.
  returned: when O(state=absent)
  type: list
  elements: str
  sample: ["ConfigMap ovn-northbound-record", "PersistentVolumeClaim data-ovn-northbound-0"]
requests:
  description: How many requests were sent to the API server.
  returned: always
  type: int
  sample: 25
"""

import typing as t

from ansible.module_utils.basic import AnsibleModule

from ..module_utils._control_plane.task import OPTIONS, absent, present
from ..module_utils._kubernetes.client import AUTH_ARG_SPEC, Cluster, run_module


def execute(module: AnsibleModule, cluster: Cluster) -> dict[str, t.Any]:
    if module.params["state"] == "present":
        return present(cluster, module.params, check_mode=module.check_mode, warn=module.warn)
    return absent(cluster, module.params, check_mode=module.check_mode)


def main() -> t.NoReturn:
    module = AnsibleModule(
        argument_spec={**AUTH_ARG_SPEC, **OPTIONS},
        mutually_exclusive=[("spec", "definition")],
        supports_check_mode=True,
    )
    run_module(module, execute)


if __name__ == "__main__":
    main()

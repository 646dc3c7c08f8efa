#!/usr/bin/python
# Copyright: (c) 2026, C5C3 contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: ovn_operator
short_description: The operator that rolls out what OVNClusters declare
version_added: "0.1.0"
description:
  - Brings the operator into a Kubernetes cluster, with the definitions of C(OVNCluster) and C(OVNChassis) and the least rights that it needs. The same objects
    are in the folder C(deploy) of the collection, for Flux and C(kubectl apply -k).
  - The operator follows C(OVNCluster) resources and runs the code of M(c5c3.ovn.ovn_cluster) and M(c5c3.ovn.ovn_hypervisors); C(docs/operator.md) says how.
  - One server-side apply for each object that differs. A namespace that exists stays as it is.
extends_documentation_fragment:
  - c5c3.ovn._attributes
  - c5c3.ovn._attributes.action_group_kubernetes
  - c5c3.ovn._kubernetes_auth
attributes:
  check_mode:
    support: full
  diff_mode:
    support: full
  idempotent:
    support: full
  platform:
    support: full
    platforms: posix
options:
  namespace:
    description: Namespace of the operator. It is created if it does not exist.
    type: str
    default: ovn-system
  state:
    description:
      - With V(absent) the operator and its rights are deleted. C(OVNCluster) resources, their definitions and everything that runs stay as they are, and lose
        the finalizer of the operator, which nobody would remove later.
      - V(absent) is refused while an C(OVNCluster) is being deleted.
    type: str
    choices: [present, absent]
    default: present
  watch_namespace:
    description:
      - The only namespace whose C(OVNCluster) resources the operator looks after, and in which it has rights. Empty for all. The default is O(namespace).
    type: str
  image:
    description: Image of the operator.
    type: dict
    default: {}
    suboptions:
      repository:
        description: Name of the image without tag.
        type: str
        default: ghcr.io/c5c3/ovn-operator
      tag:
        description: Its tag. The default is the version of this collection.
        type: str
      digest:
        description: Its digest, for example V(sha256:…). It counts more than the tag.
        type: str
      pullPolicy:
        description: When nodes pull it.
        type: str
        choices: [Always, IfNotPresent, Never]
        default: IfNotPresent
  image_pull_secrets:
    description: Names of Secrets in O(namespace) for the registry.
    type: list
    elements: str
    default: []
  replicas:
    description: Number of pods. One leads, the others take over when it ends.
    type: int
    default: 2
  resync:
    description: Time after which everything is looked at without a cause, in seconds; at least 10.
    type: int
    default: 600
  cluster_domain:
    description: DNS domain of the Kubernetes cluster.
    type: str
    default: cluster.local
  log_level:
    description: What the operator logs.
    type: str
    choices: [debug, info, warning, error]
    default: info
  force_conflicts:
    description: Whether fields that another client owns (Flux, for example) are taken over. Without it such a conflict is refused.
    type: bool
    default: false
  wait:
    description: Whether to wait until the pods are available.
    type: bool
    default: true
  wait_timeout:
    description: How long, in seconds.
    type: float
    default: 300
author:
  - C5C3 contributors (@c5c3)
"""

EXAMPLES = r"""
- name: Install the operator from a registry of our own
  c5c3.ovn.ovn_operator:
    kubeconfig: ~/.kube/control-plane
    image: {repository: registry.example.com/ovn-operator, tag: "0.1.0"}
"""

RETURN = r"""
objects:
  description: The objects that were compared, each once.
  returned: success
  type: list
  elements: dict
  contains:
    kind:
      description: Its kind.
      type: str
    name:
      description: Its name.
      type: str
    namespace:
      description: Its namespace, empty if it has none.
      type: str
    action:
      description: V(created), V(changed), V(unchanged) or V(deleted).
      type: str
  sample: [{"kind": "Deployment", "name": "ovn-operator", "namespace": "ovn-system", "action": "created"}]
requests:
  description: Number of requests to the API server.
  returned: always
  type: int
  sample: 22
diff:
  description: The objects that changed, before and after.
  returned: success
  type: dict
"""

import typing as t

from ansible.module_utils.basic import AnsibleModule

from ..module_utils._base.deadline import Deadline
from ..module_utils._base.errors import InvalidInput
from ..module_utils._kubernetes.client import AUTH_ARG_SPEC, Cluster, run_module
from ..module_utils._operator.install import install, uninstall
from ..module_utils._operator.manifests import REPOSITORY, OperatorOptions


def execute(module: AnsibleModule, cluster: Cluster) -> dict[str, t.Any]:
    params = module.params
    if params["state"] == "absent":
        deadline = Deadline(params["wait_timeout"])
        progress = uninstall(cluster, params["namespace"], check_mode=module.check_mode, deadline=deadline)
    else:
        if params["replicas"] < 0 or params["resync"] < 10:
            raise InvalidInput("replicas is at least 0, and resync at least 10 seconds.")
        watched = params["watch_namespace"]
        options = OperatorOptions(
            namespace=params["namespace"],
            watch_namespace=params["namespace"] if watched is None else watched,
            image={key: value for key, value in params["image"].items() if value},
            replicas=params["replicas"],
            resync=params["resync"],
            cluster_domain=params["cluster_domain"],
            log_level=params["log_level"],
            pull_secrets=params["image_pull_secrets"],
        )
        progress = install(
            cluster,
            options,
            check_mode=module.check_mode,
            force=params["force_conflicts"],
            wait=params["wait"],
            deadline=Deadline(params["wait_timeout"]),
        )
    return {"changed": progress.changed, "objects": progress.as_results(), "diff": progress.diff()}


def main() -> t.NoReturn:
    image = {
        "repository": {"type": "str", "default": REPOSITORY},
        "tag": {"type": "str"},
        "digest": {"type": "str"},
        "pullPolicy": {"type": "str", "choices": ["Always", "IfNotPresent", "Never"], "default": "IfNotPresent"},
    }
    module = AnsibleModule(
        argument_spec={
            **AUTH_ARG_SPEC,
            "namespace": {"type": "str", "default": "ovn-system"},
            "state": {"type": "str", "choices": ["present", "absent"], "default": "present"},
            "watch_namespace": {"type": "str"},
            "image": {"type": "dict", "options": image, "default": {}},
            "image_pull_secrets": {"type": "list", "elements": "str", "default": [], "no_log": False},  # their names
            "replicas": {"type": "int", "default": 2},
            "resync": {"type": "int", "default": 600},
            "cluster_domain": {"type": "str", "default": "cluster.local"},
            "log_level": {"type": "str", "choices": ["debug", "info", "warning", "error"], "default": "info"},
            "force_conflicts": {"type": "bool", "default": False},
            "wait": {"type": "bool", "default": True},
            "wait_timeout": {"type": "float", "default": 300},
        },
        supports_check_mode=True,
    )
    run_module(module, execute)


if __name__ == "__main__":
    main()

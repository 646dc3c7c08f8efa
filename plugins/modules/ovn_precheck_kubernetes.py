#!/usr/bin/python
# Copyright: (c) 2026, C5C3 contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: ovn_precheck_kubernetes
short_description: What would stop a rollout in a Kubernetes cluster
version_added: "0.1.0"
description:
  - Checks a Kubernetes cluster before the first change and returns everything that would stop M(c5c3.ovn.ovn_cluster) or M(c5c3.ovn.ovn_hypervisors)
    at once. It only reads. Runs on the control node.
  - Checked are the API server and its version, the rights of the user, the namespace, the definitions, storage classes, nodes, quotas, the Secret of another
    owner, and the contents of images that run already.
  - What this user may not read is not a finding. It is named in RV(facts.not_tested).
  - The rights are asked with SelfSubjectAccessReview and SelfSubjectRulesReview. The Roles in examples/rights are made from the same table.
  - An API server that does not answer is a finding, too. The module fails only for options that contradict each other.
extends_documentation_fragment:
  - c5c3.ovn._attributes
  - c5c3.ovn._attributes.action_group_kubernetes
  - c5c3.ovn._attributes.info_module
  - c5c3.ovn._kubernetes_auth
attributes:
  platform:
    support: full
    platforms: posix
options:
  kind:
    description: What the cluster is to become - V(cluster) for the control plane, V(hypervisors) for nodes as chassis. A cluster that is both is checked twice.
    type: str
    choices: [cluster, hypervisors]
    required: true
  name:
    description: Name of the C(OVNCluster), as in M(c5c3.ovn.ovn_cluster) and M(c5c3.ovn.ovn_hypervisors).
    type: str
    default: ovn
  namespace:
    description: Namespace of the pods. It need not exist.
    type: str
    default: ovn-system
  spec:
    description:
      - The specification of the C(OVNCluster) that is to be applied, see C(kubectl explain ovncluster.spec). What is left out has its default.
      - Without it the one of the C(OVNCluster) in the cluster; without that, all defaults.
    type: dict
  spec_from:
    description:
      - As in M(c5c3.ovn.ovn_cluster). With V(resource) another client applies the C(OVNCluster), so a missing one is a finding, and no right to create,
        patch or delete one is needed. O(spec) and O(images) cannot be given for O(kind=cluster) then.
    type: str
    choices: [options, resource]
    default: options
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
  tls_secret:
    description: Name of the Secret with C(tls.crt), C(tls.key) and C(ca.crt). The default is the one of O(spec).
    type: str
  own_secret:
    description:
      - Whether the role ovn_pki writes the Secret, which needs rights. V(false) for a Secret of another owner (cert-manager), which then has to be there.
      - Without effect where O(spec) turns TLS off.
    type: bool
    default: true
requirements:
  - "kubernetes and jsonschema (PyPI) on the control node"
seealso:
  - module: c5c3.ovn.ovn_cluster
  - module: c5c3.ovn.ovn_hypervisors
author:
  - C5C3 contributors (@c5c3)
"""

EXAMPLES = r"""
- name: Check the cluster of the control plane
  c5c3.ovn.ovn_precheck_kubernetes:
    kubeconfig: ~/.kube/control-plane
    kind: cluster
    spec:
      northbound:
        storage: {storageClass: fast}
        service: {type: NodePort}
  register: precheck

- name: Check that nothing would stop the rollout
  ansible.builtin.assert:
    that: precheck.findings | length == 0
"""

RETURN = r"""
findings:
  description: What would stop a run, one entry for each reason. Empty if nothing was found.
  returned: always
  type: list
  elements: dict
  contains:
    code:
      description: A fixed word. docs/troubleshooting.md of the collection explains all of them.
      type: str
      sample: permission_missing
    object:
      description: What it is about.
      type: str
      sample: statefulsets.apps in namespace ovn-system
    cause:
      description: What is wrong, in sentences.
      type: str
      sample: "User operator may not: create, patch."
    next_step:
      description: What to do about it.
      type: str
      sample: Give this user a Role in namespace ovn-system with create, patch on statefulsets of API group apps.
facts:
  description: What was measured.
  returned: always
  type: dict
  contains:
    server:
      description: URL of the API server.
      type: str
      sample: https://192.0.2.1:6443
    version:
      description: Its version. Missing if it did not answer, like all below.
      type: str
      sample: v1.34.4
    user:
      description: Name that it knows the user by; empty if it does not tell.
      type: str
      sample: system:serviceaccount:automation:ovn
    missing_optional_rights:
      description: Rights that a run goes on without, each with C(resource), C(verbs), and in C(without) what is lost.
      type: list
      elements: dict
      sample: [{"resource": "persistentvolumes", "verbs": ["list"], "without": "volumes that an older control plane left are not noticed"}]
    images:
      description:
        - Each image with C(image), the C(pod) that was asked (empty if none runs it), the C(missing) programs and files, and in C(without) what does not work
          without those that are optional.
      type: list
      elements: dict
      sample: [{"image": "registry.example.com/ovn:25.03", "pod": "ovn-northbound-0", "missing": [], "without": []}]
    not_tested:
      description: What could not be checked, each with C(what) and C(cause).
      type: list
      elements: dict
      sample: [{"what": "image registry.example.com/ovn:25.03", "cause": "no pod of this image runs yet"}]
requests:
  description: Number of requests that were sent to the API server.
  returned: always
  type: int
  sample: 14
"""

import typing as t

from ansible.module_utils.basic import AnsibleModule

from ..module_utils._api.schema_validator import validator_class
from ..module_utils._base.errors import InvalidInput, OvnError
from ..module_utils._kubernetes.auth import credentials_of
from ..module_utils._kubernetes.client import AUTH_ARG_SPEC, Cluster, hide_only_secrets
from ..module_utils._kubernetes.connection import require_libraries
from ..module_utils._precheck.cluster_precheck import Precheck, connection_finding


def _check(params: dict[str, t.Any]) -> dict[str, t.Any]:
    server, requests, precheck = params["host"] or "", 0, None
    is_given = params["spec"] is not None or any((params["images"] or {}).values())
    if params["kind"] == "cluster" and params["spec_from"] == "resource" and is_given:
        raise InvalidInput(
            "spec and images cannot be given with spec_from=resource: the OVNCluster in the cluster says it."
        )
    try:
        cluster = Cluster(params)
        server = cluster.server
        precheck = Precheck(
            *(cluster, params["kind"], params["name"], params["namespace"]),
            own_secret=params["own_secret"],
            own_resource=params["kind"] != "cluster" or params["spec_from"] == "options",
        )
        try:
            precheck.run(params["spec"], params["images"] or {}, params["tls_secret"])
        finally:
            requests = cluster.requests
    except OvnError as e:
        finding = connection_finding(e, server, credentials_of(params))
        if finding is None:
            raise
        findings = [*(precheck.findings if precheck else []), finding]
        return {"findings": [one.as_dict() for one in findings], "facts": {"server": server}, "requests": requests}
    return {"findings": [one.as_dict() for one in precheck.findings], "facts": precheck.facts, "requests": requests}


def main() -> t.NoReturn:
    module = AnsibleModule(
        argument_spec={
            **AUTH_ARG_SPEC,
            "kind": {"type": "str", "choices": ["cluster", "hypervisors"], "required": True},
            "name": {"type": "str", "default": "ovn"},
            "namespace": {"type": "str", "default": "ovn-system"},
            "spec": {"type": "dict"},
            "spec_from": {"type": "str", "choices": ["options", "resource"], "default": "options"},
            "images": {"type": "dict", "options": {"ovn": {"type": "dict"}, "ovs": {"type": "dict"}}},
            "tls_secret": {"type": "str", "no_log": False},  # its name
            "own_secret": {"type": "bool", "default": True, "no_log": False},
        },
        supports_check_mode=True,
    )
    hide_only_secrets(module)
    try:
        require_libraries()
        validator_class()  # a library that is missing is no finding about the cluster
        result = _check(module.params)
    except OvnError as e:
        module.fail_json(**e.as_result())
    module.exit_json(changed=False, **result)


if __name__ == "__main__":
    main()

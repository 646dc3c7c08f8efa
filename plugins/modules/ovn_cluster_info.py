#!/usr/bin/python
# Copyright: (c) 2026, C5C3 contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: ovn_cluster_info
short_description: Where an OVN control plane in Kubernetes is reached
version_added: "0.1.0"
description:
  - Reads an C(OVNCluster), its Services and the nodes, and returns the connection strings of this moment.
  - For clients elsewhere, such as hypervisors and Neutron. Nothing has to be remembered from an earlier run.
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
  name:
    description: Name of the C(OVNCluster).
    type: str
    default: ovn
  namespace:
    description: Its namespace.
    type: str
    default: ovn-system
  cluster_domain:
    description: Domain of the names of Services, as given to M(c5c3.ovn.ovn_cluster).
    type: str
    default: cluster.local
  endpoints:
    description: Whether to read Services, nodes and CA certificates, too. V(false) costs one request, and RV(endpoints) and RV(ca_certificate) are empty.
    type: bool
    default: true
requirements:
  - "kubernetes and jsonschema (PyPI) on the control node"
seealso:
  - module: c5c3.ovn.ovn_cluster
author:
  - C5C3 contributors (@c5c3)
"""

EXAMPLES = r"""
- name: Where is the control plane?
  c5c3.ovn.ovn_cluster_info:
    kubeconfig: ~/.kube/control-plane
  register: control_plane

- name: Stop if there is none
  ansible.builtin.assert:
    that: control_plane.exists
"""

RETURN = r"""
exists:
  description: Whether there is such an C(OVNCluster).
  returned: success
  type: bool
  sample: true
endpoints:
  description:
    - Connection strings as M(c5c3.ovn.ovn_cluster) returns them - C(northbound), C(southbound), C(southbound_unrestricted), the same with C(_inside),
      C(service_northbound) and C(service_southbound), C(northbound_cluster_ips) and C(southbound_unrestricted_cluster_ips), C(leader_proxy_northbound) and
      C(leader_proxy_southbound).
  returned: success
  type: dict
  sample: {"northbound": "ssl:192.0.2.11:31641,ssl:192.0.2.12:30642,ssl:192.0.2.13:32101"}
tls_secret:
  description: Name of the Secret with key, certificate and CA; empty without TLS, and without O(endpoints).
  returned: success
  type: str
  sample: ovn-tls
ca_config_map:
  description: C(name) and C(key) of the ConfigMap with the CAs that are trusted in place of those in that Secret (C(tls.caConfigMapRef)); empty without one.
  returned: success
  type: dict
  sample: {"name": "ovn-trusted-cas", "key": "ca.crt"}
ca_certificate:
  description: Certificates of the CA (PEM) from that Secret or ConfigMap; empty if it cannot be read.
  returned: success
  type: str
  sample: "-----BEGIN CERTIFICATE-----\n..."
cluster:
  description: The C(OVNCluster) with its status; empty if there is none.
  returned: success
  type: dict
  sample: {"apiVersion": "ovn.c5c3.io/v1alpha1", "kind": "OVNCluster"}
"""

import base64
import dataclasses
import typing as t

from ansible.module_utils.basic import AnsibleModule

from ..module_utils._api.names import API_VERSION, CA_KEY
from ..module_utils._api.spec import parse_spec
from ..module_utils._api.tls_spec import ConfigMapReference
from ..module_utils._base.errors import OvnError
from ..module_utils._control_plane.endpoints import ControlPlaneAddress, Endpoints, find_endpoints
from ..module_utils._kubernetes.client import AUTH_ARG_SPEC, Cluster, hide_only_secrets
from ..module_utils._kubernetes.secret_files import read_config_map, read_secret


def _ca_certificate(cluster: Cluster, namespace: str, secret: str, bundle: ConfigMapReference | None) -> str:
    data, _refusal = (
        read_config_map(cluster, bundle.name, namespace) if bundle else read_secret(cluster, secret, namespace)
    )
    return base64.b64decode((data or {}).get(bundle.key if bundle else CA_KEY) or "").decode()


def read(cluster: Cluster, params: dict[str, t.Any], warn: t.Callable[[str], None]) -> dict[str, t.Any]:
    name, namespace = params["name"], params["namespace"]
    resource = cluster.get(API_VERSION, "OVNCluster", name, namespace)
    if resource is None or not params["endpoints"]:
        empty = Endpoints().as_dict()
        nothing = {"tls_secret": "", "ca_config_map": {}, "ca_certificate": ""}
        return {"exists": resource is not None, "endpoints": empty, "cluster": resource or {}, **nothing}
    spec = parse_spec(resource.get("spec") or {}, name=name, namespace=namespace)
    place = ControlPlaneAddress(name, namespace, params["cluster_domain"], spec)
    bundle = spec.tls.ca_config_map_ref if spec.tls.enabled else None
    before = (resource.get("status") or {}).get("endpoints") or {}
    return {
        "exists": True,
        "endpoints": find_endpoints(cluster, place, warn=warn, before=before).as_dict(),
        "cluster": resource,
        "tls_secret": spec.tls_secret if spec.tls.enabled else "",
        "ca_config_map": dataclasses.asdict(bundle) if bundle else {},
        "ca_certificate": _ca_certificate(cluster, namespace, spec.tls_secret, bundle) if spec.tls.enabled else "",
    }


def main() -> t.NoReturn:
    module = AnsibleModule(
        argument_spec={
            **AUTH_ARG_SPEC,
            "name": {"type": "str", "default": "ovn"},
            "namespace": {"type": "str", "default": "ovn-system"},
            "cluster_domain": {"type": "str", "default": "cluster.local"},
            "endpoints": {"type": "bool", "default": True},
        },
        supports_check_mode=True,
    )
    hide_only_secrets(module)
    try:
        result = read(Cluster(module.params), module.params, module.warn)
    except OvnError as e:
        module.fail_json(**e.as_result())
    module.exit_json(changed=False, **result)


if __name__ == "__main__":
    main()

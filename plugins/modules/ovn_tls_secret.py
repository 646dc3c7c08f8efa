#!/usr/bin/python
# Copyright: (c) 2026, C5C3 contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: ovn_tls_secret
short_description: (internal) Compare and write the Secret with key, certificate and CAs of a Kubernetes cluster
version_added: "0.1.0"
description:
  - Called by the step C(pki_secret) of the role P(c5c3.ovn.ovn_pki#role). It has no key of a CA.
  - A new certificate comes with O(private_key) and O(certificate).
  - Without O(common_name) the Secret is another owner's, and only examined.
extends_documentation_fragment:
  - c5c3.ovn._attributes
  - c5c3.ovn._attributes.action_group_kubernetes
  - c5c3.ovn._kubernetes_auth
attributes:
  check_mode:
    support: full
  diff_mode:
    support: none
    details: The contents are keys.
  idempotent:
    support: full
  platform:
    support: full
    platforms: posix
options:
  state:
    description: V(compared) changes nothing, V(present) writes what differs.
    type: str
    choices: [compared, present]
    default: compared
  name:
    description: Name of the Secret.
    type: str
    required: true
  namespace:
    description: Namespace of the Secret. With V(present) it is created if it is missing.
    type: str
    required: true
  namespace_labels:
    description: Labels of a namespace that is created.
    type: dict
    default: {}
  cluster_name:
    description: Name of the C(OVNCluster), for the labels.
    type: str
    required: true
  place:
    description: What messages call the Secret.
    type: str
    required: true
  common_name:
    description: Common name of the certificate.
    type: str
  subject_alt_names:
    description: Names and addresses in the certificate, as for M(c5c3.ovn.ovn_certificate).
    type: list
    elements: str
    default: []
  extended_key_usage:
    description: What the certificate is for.
    type: list
    elements: str
    choices: [serverAuth, clientAuth]
    default: [serverAuth, clientAuth]
  issuer:
    description: Certificate (PEM) of the CA that signs.
    type: str
    default: ""
  ca_bundle:
    description: CAs (PEM) that pods trust.
    type: str
    default: ""
  client_ca_bundle:
    description: CAs (PEM) whose holders the Southbound lets in. Empty without a second bundle.
    type: str
    default: ""
  renew_before:
    description: A new certificate is needed when the present one ends in less than this number of days.
    type: int
    default: 30
  renew:
    description: Whether a new certificate is needed in any case.
    type: bool
    default: false
  renew_on_issuer_change:
    description: Whether a certificate of another CA than O(issuer) is replaced.
    type: bool
    default: true
  remove_authorities:
    description: Whether CAs may leave the bundles.
    type: bool
    default: false
  private_key:
    description: Key (PEM) of O(certificate).
    type: str
  certificate:
    description: A new certificate (PEM), if one is needed.
    type: str
author:
  - C5C3 contributors (@c5c3)
"""

EXAMPLES = r"""
- name: Compare the Secret with the declaration
  c5c3.ovn.ovn_tls_secret:
    name: ovn-tls
    namespace: ovn-system
    cluster_name: ovn
    place: Secret ovn-system/ovn-tls of plane
    common_name: plane
    issuer: "{{ lookup('ansible.builtin.file', 'ca.pem') }}"
    ca_bundle: "{{ lookup('ansible.builtin.file', 'ca.pem') }}"
"""

RETURN = r"""
exists:
  description: Whether the Secret was there.
  returned: success
  type: bool
needed:
  description: Whether a new key and certificate were needed.
  returned: success
  type: bool
reasons:
  description: Why the Secret has to be written, each with C(code) and C(message); also the other results of M(c5c3.ovn.ovn_certificate).
  returned: success
  type: list
  elements: dict
missing:
  description: Keys that the Secret lacked.
  returned: success
  type: list
  elements: str
  sample: [ca.crt]
ca_crt:
  description: The text of V(ca.crt) once the Secret is as declared.
  returned: success
  type: str
  sample: "-----BEGIN CERTIFICATE-----..."
"""

import datetime
import typing as t

from ansible.module_utils.basic import AnsibleModule

from ..module_utils._base.errors import OvnError
from ..module_utils._control_plane.tls_secret import TlsSecret, compare_secret, read_secret, write_secret
from ..module_utils._host.certificate import authority_warning
from ..module_utils._kubernetes.client import AUTH_ARG_SPEC, Cluster, run_module
from ..module_utils._pki.decision import RENEW_BEFORE_DAYS
from ..module_utils._pki.installed import Declared
from ..module_utils._pki.issuing import require_cryptography
from ..module_utils._pki.names import subject_alt_names


def _secret_of(params: dict[str, t.Any]) -> TlsSecret:
    declared = None
    if params["common_name"]:
        declared = Declared(
            params["common_name"],
            subject_alt_names(params["subject_alt_names"]),
            params["issuer"],
            params["ca_bundle"],
            params["renew_before"],
            params["renew_on_issuer_change"],
            params["remove_authorities"],
            extended_key_usage=frozenset(params["extended_key_usage"]),
            renew=params["renew"],
            client_ca_bundle=params["client_ca_bundle"],
        )
    return TlsSecret(
        params["name"], params["namespace"], params["cluster_name"], params["place"], params["issuer"], declared
    )


def _source(kubeconfig: t.Any) -> str:
    if not kubeconfig:
        return "(of the environment, or ~/.kube/config)"
    return kubeconfig if isinstance(kubeconfig, str) else "(given as content)"


def work(module: AnsibleModule, cluster: Cluster) -> dict[str, t.Any]:
    """Return the result of the module."""
    require_cryptography()
    params, now = module.params, datetime.datetime.now(datetime.timezone.utc)
    secret = _secret_of(params)
    if params["state"] == "present" and not module.check_mode:
        pair = (params["certificate"], params["private_key"]) if params["certificate"] else None
        state = write_secret(cluster, secret, pair, params["namespace_labels"], now)
    else:
        try:
            found = read_secret(cluster, secret)
        except OvnError as e:
            raise type(e)(
                f"The {secret.title} cannot be read with kubeconfig {_source(params['kubeconfig'])}: {e}", **e.details
            ) from e
        state = compare_secret(found, secret, now)
    if warning := authority_warning(state):
        module.warn(warning)
    return {"changed": params["state"] == "present" and bool(state["reasons"]), **state}


def main() -> t.NoReturn:
    module = AnsibleModule(
        argument_spec={
            **AUTH_ARG_SPEC,
            "state": {"type": "str", "choices": ["compared", "present"], "default": "compared"},
            "name": {"type": "str", "required": True},
            "namespace": {"type": "str", "required": True},
            "namespace_labels": {"type": "dict", "default": {}},
            "cluster_name": {"type": "str", "required": True},
            "place": {"type": "str", "required": True},
            "common_name": {"type": "str"},
            "subject_alt_names": {"type": "list", "elements": "str", "default": []},
            "extended_key_usage": {
                "type": "list",
                "elements": "str",
                "choices": ["serverAuth", "clientAuth"],
                "default": ["serverAuth", "clientAuth"],
            },
            "issuer": {"type": "str", "default": ""},
            "ca_bundle": {"type": "str", "default": ""},
            "client_ca_bundle": {"type": "str", "default": ""},
            "renew_before": {"type": "int", "default": RENEW_BEFORE_DAYS},
            "renew": {"type": "bool", "default": False},
            "renew_on_issuer_change": {"type": "bool", "default": True},
            "remove_authorities": {"type": "bool", "default": False},
            "private_key": {"type": "str", "no_log": True},
            "certificate": {"type": "str"},
        },
        required_together=[("private_key", "certificate")],
        supports_check_mode=True,
    )
    run_module(module, work)


if __name__ == "__main__":
    main()

# Copyright: (c) 2026, C5C3 contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
name: pki_secret
short_description: The Secret with the certificate of a Kubernetes cluster
version_added: "0.1.0"
description:
  - Names the Secret of the host that stands for the cluster, and the way to it. In both specifications C(tls.certSecretRef.name) names it, else
    C(ovn_tls_secret), else it is C(ovn_cluster_name) with C(-tls).
options:
  _input:
    description: The host.
    type: str
    required: true
extends_documentation_fragment:
  - c5c3.ovn._inventory
  - c5c3.ovn._inventory.groups
author:
  - C5C3 contributors (@c5c3)
"""

EXAMPLES = r"""
- name: Show the Secret of this cluster
  ansible.builtin.debug:
    msg: "{{ inventory_hostname | c5c3.ovn.pki_secret(hostvars, groups) }}"
"""

RETURN = r"""
_value:
  description: C(kubeconfig), C(context), C(namespace) and C(name); C(given) if the Secret is of another owner.
  type: dict
  sample: {"kubeconfig": "", "context": "", "namespace": "ovn-system", "name": "ovn-tls", "given": false}
"""

import typing as t

from ..module_utils._roles.pki import secret_of
from ..module_utils._roles.variables import Groups, Hostvars, Variables
from ..plugin_utils._filters import as_filter


def pki_secret(host: str, hostvars: Hostvars, groups: Groups, variables: Variables | None = None) -> dict[str, t.Any]:
    known = hostvars[host] if variables is None else variables
    secret = secret_of(known)
    return {**secret.place(), "given": secret.given}


class FilterModule:
    def filters(self) -> dict[str, t.Callable[..., t.Any]]:
        return {"pki_secret": as_filter(pki_secret)}

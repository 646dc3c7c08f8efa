# Copyright: (c) 2026, C5C3 contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Judge the certificate in a Kubernetes Secret."""

from __future__ import annotations

DOCUMENTATION = r"""
name: certificate_state
short_description: What the certificate in a Kubernetes Secret is worth, and whether it fits
version_added: 0.1.0
author:
  - C5C3 contributors (@c5c3)
description:
  - Does for a Secret of the type V(kubernetes.io/tls) what M(c5c3.ovn.ovn_certificate) does for the files of a host, by the same rules. Nothing is
    written and nothing secret is returned.
requirements:
  - The Python library C(cryptography), version 38 or newer, on the control node.
options:
  _input:
    description: >-
      C(data) of the Secret with V(tls.key), V(tls.crt), V(ca.crt) and maybe V(client-ca.crt), in base64 as Kubernetes shows them. Empty if there is no
      Secret.
    type: dict
    required: true
  place:
    description: Name of the Secret for messages.
    type: str
    default: the Secret
  common_name:
    description: Common name that is declared. Without it nothing is compared; the filter only returns what is there.
    type: str
  subject_alt_names:
    description: Names and addresses that are declared, as for O(c5c3.ovn.ovn_certificate#module:subject_alt_names).
    type: list
    elements: str
    default: []
  issuer:
    description: PEM text of the CA certificate that signs; empty while there is none.
    type: str
    default: ''
  ca_bundle:
    description: PEM text of all CA certificates that are to be trusted.
    type: str
    default: ''
  client_ca_bundle:
    description: PEM text of all CA certificates that V(client-ca.crt) is to have. If empty, that key is not compared.
    type: str
    default: ''
  extended_key_usage:
    description: What the certificate is for, as for O(c5c3.ovn.ovn_certificate#module:extended_key_usage).
    type: list
    elements: str
    default: [serverAuth, clientAuth]
  remove_authorities:
    description: Whether CAs that are not in O(ca_bundle) may leave.
    type: bool
    default: false
  renew_before:
    description: A new certificate is needed when the installed one ends in less than this number of days.
    type: int
    default: 30
  renew_on_issuer_change:
    description: Whether a certificate of another CA than O(issuer) is replaced.
    type: bool
    default: true
"""

EXAMPLES = r"""
- name: Read the Secret
  kubernetes.core.k8s_info:
    kind: Secret
    name: ovn-tls
    namespace: ovn-system
  register: secret
  no_log: true

- name: Days left
  ansible.builtin.debug:
    msg: "{{ (secret.resources[0].data | c5c3.ovn.certificate_state).days_left }}"
"""

RETURN = r"""
_value:
  description: >-
    The return values of M(c5c3.ovn.ovn_certificate) from C(needed) to C(ca_days_left) without C(csr), C(missing) (keys that the Secret
    lacks), and C(ca_bundle_wanted) and C(client_ca_bundle_wanted) (PEM texts for V(ca.crt) and V(client-ca.crt), with what is installed if that stays).
  type: dict
  sample: {"needed": false, "reasons": [], "in_service": true, "days_left": 364}
"""

import datetime
import typing as t

from ansible.errors import AnsibleFilterError

from ansible_collections.c5c3.ovn.plugins.module_utils._api.names import CLIENT_CA_KEY
from ansible_collections.c5c3.ovn.plugins.module_utils._base.errors import OvnError
from ansible_collections.c5c3.ovn.plugins.module_utils._pki import certificates, installed, names
from ansible_collections.c5c3.ovn.plugins.module_utils._pki.decision import RENEW_BEFORE_DAYS
from ansible_collections.c5c3.ovn.plugins.module_utils._pki.secret import secret_state


def certificate_state(
    data: t.Mapping[str, str] | None,
    place: str = "the Secret",
    common_name: str | None = None,
    subject_alt_names: t.Sequence[str] = (),
    issuer: str = "",
    ca_bundle: str = "",
    remove_authorities: bool = False,
    renew_before: int = RENEW_BEFORE_DAYS,
    renew_on_issuer_change: bool = True,
    client_ca_bundle: str = "",
    extended_key_usage: t.Sequence[str] = ("serverAuth", "clientAuth"),
) -> dict[str, t.Any]:
    """Facts about the Secret, and with a common name what it lacks."""
    if certificates.CRYPTOGRAPHY_PROBLEM is not None:
        raise AnsibleFilterError(
            "certificate_state needs the Python library cryptography on the control node. Install it."
        )
    try:
        alt_names = names.subject_alt_names(subject_alt_names)
        declared = installed.Declared(
            common_name or "",
            alt_names,
            issuer,
            ca_bundle,
            renew_before,
            renew_on_issuer_change,
            remove_authorities,
            extended_key_usage=frozenset(extended_key_usage),
            client_ca_bundle=client_ca_bundle,
        )
        state = secret_state(
            data or {},
            place,
            issuer,
            datetime.datetime.now(datetime.timezone.utc),
            declared=None if common_name is None else declared,
            client_ca_key=CLIENT_CA_KEY,
        )
    except OvnError as error:
        raise AnsibleFilterError(str(error)) from error
    return {"subject_alt_names": list(alt_names), **state}


class FilterModule:
    """Filters of the certificates."""

    def filters(self) -> dict[str, t.Callable[..., t.Any]]:
        return {"certificate_state": certificate_state}

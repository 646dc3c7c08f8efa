# Copyright: (c) 2026, C5C3 contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Decide whether a host needs a new certificate, and install key and certificate together."""

from __future__ import annotations

DOCUMENTATION = r"""
module: ovn_certificate
short_description: Private key, certificate and CA bundle of an OVN host
version_added: 0.1.0
author:
  - C5C3 contributors (@c5c3)
description:
  - Checks the private key, the certificate and the CA bundle of a host, all in one task.
  - When a new certificate is needed, the first call makes a key and a certificate signing request. The key stays on the host under a hidden name.
    The second call, with O(signed), checks the certificate and puts both files in place.
  - Key and certificate are replaced by renaming and then get the same modification time. Daemons of Open vSwitch and OVN load a
    new pair without restart only if both files changed between two of its checks.
  - The CA bundle needs no signature and is installed by the first call already.
  - The role P(c5c3.ovn.ovn_pki#role) makes both calls and signs in between. Use this module to connect a CA of your own.
requirements:
  - The Python library C(cryptography), version 3.3 or newer, on the host (C(python3-cryptography) on Debian). O(state=examined) does without it where
    none of the files exists.
extends_documentation_fragment:
  - c5c3.ovn._attributes
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
  state:
    description:
      - V(present) compares, makes key and request when they are needed, and installs.
      - V(examined) only returns what is installed; nothing is ever changed, and O(common_name) is not needed.
    type: str
    choices: [present, examined]
    default: present
  private_key:
    description:
      - Path of the private key on the host. Mode V(0600), or V(0640) when O(group) is given.
    type: path
    required: true
  certificate:
    description:
      - Path of the certificate on the host. Mode V(0644).
    type: path
    required: true
  ca_certificate:
    description:
      - Path of the CA bundle on the host. Mode V(0644). Several pairs of one host may share it.
    type: path
    required: true
  common_name:
    description:
      - Common name (CN) of the certificate, 1 to 64 bytes in UTF-8.
      - For a chassis it is the system id, because Southbound RBAC compares the two.
      - Required for O(state=present).
    type: str
  subject_alt_names:
    description:
      - Names and addresses in the certificate. V(DNS:name), V(IP:address), or without prefix, when an address is recognized by its form.
      - An empty list means a certificate without this extension.
    type: list
    elements: str
    default: []
  issuer:
    description:
      - PEM text of the CA certificate that signs. Only the first certificate of the text counts.
      - May be empty in check mode and for O(state=examined), as long as there is no CA.
    type: str
    default: ''
  ca_bundle:
    description:
      - PEM text of all CA certificates that the host trusts. It has to contain O(issuer).
      - A CA that the host trusts already and that is missing here is refused, see O(remove_authorities).
    type: str
    default: ''
  remove_authorities:
    description:
      - Whether CAs that are not in O(ca_bundle) leave the installed bundle. The CA that signed the pair in use is never removed.
    type: bool
    default: false
  renew_before:
    description:
      - A new certificate is made when the installed one ends in less than this number of days.
    type: int
    default: 30
  renew_on_issuer_change:
    description:
      - Whether a certificate of another CA than O(issuer) is replaced. V(false) while a new CA becomes known to all hosts.
    type: bool
    default: true
  extended_key_usage:
    description:
      - What the certificate may be used for. An installed certificate for anything else is replaced. V(serverAuth) for those who connect to this host,
        V(clientAuth) for those this host connects to.
      - A certificate without V(serverAuth) is verified by servers alone, so O(ca_bundle) need not contain O(issuer).
    type: list
    elements: str
    choices: [serverAuth, clientAuth]
    default: [serverAuth, clientAuth]
  client_ca_certificate:
    description:
      - Path of a second bundle on the host, for a server that lets in clients of more CAs than O(ca_certificate) has. Mode V(0644).
    type: path
  client_ca_bundle:
    description:
      - PEM text of all CA certificates in O(client_ca_certificate), by the rules of O(ca_bundle). With an empty text that file stays as it is.
    type: str
    default: ''
  renew:
    description:
      - Whether the pair is replaced although it still fits.
    type: bool
    default: false
  signed:
    description:
      - PEM text of the certificate that was made from RV(csr). Installs it.
    type: str
  owner:
    description:
      - Name of the user who owns the files. Without it, the user who runs the task (on machines V(root)).
    type: str
  group:
    description:
      - Name of the group of the files, which may then read the private key, too.
    type: str
"""

EXAMPLES = r"""
- name: Find out whether the pair still fits, make a request if not
  c5c3.ovn.ovn_certificate:
    private_key: /etc/ovn/tls/chassis-key.pem
    certificate: /etc/ovn/tls/chassis-cert.pem
    ca_certificate: /etc/ovn/tls/ca.pem
    common_name: compute-1
    issuer: "{{ lookup('ansible.builtin.file', 'ovn-pki/ca.pem') }}"
    ca_bundle: "{{ lookup('ansible.builtin.file', 'ovn-pki/ca.pem') }}"
  register: pair

- name: Sign the request on the control node
  ansible.builtin.command:
    argv: [openssl, x509, -req, -days, "365", -CA, ovn-pki/ca.pem, -CAkey, ovn-pki/ca-key.pem, -copy_extensions, copy]
    stdin: "{{ pair.csr }}"
  delegate_to: localhost
  register: signed
  when: pair.needed

- name: Install key and certificate
  c5c3.ovn.ovn_certificate:
    private_key: /etc/ovn/tls/chassis-key.pem
    certificate: /etc/ovn/tls/chassis-cert.pem
    ca_certificate: /etc/ovn/tls/ca.pem
    common_name: compute-1
    issuer: "{{ lookup('ansible.builtin.file', 'ovn-pki/ca.pem') }}"
    ca_bundle: "{{ lookup('ansible.builtin.file', 'ovn-pki/ca.pem') }}"
    signed: "{{ signed.stdout }}"
  when: pair.needed

- name: See when the certificate ends
  c5c3.ovn.ovn_certificate:
    state: examined
    private_key: /etc/ovn/tls/central-key.pem
    certificate: /etc/ovn/tls/central-cert.pem
    ca_certificate: /etc/ovn/tls/ca.pem
  register: pair
"""

RETURN = r"""
library_missing:
  description: The module failed because the Python library C(cryptography) is missing on the host. Install it and run again.
  returned: when the library is missing
  type: bool
  sample: true
needed:
  description: Whether a new certificate has to be signed. Always V(false) for O(state=examined) and after O(signed) was installed.
  returned: success
  type: bool
  sample: true
reasons:
  description: Why something has to be changed, empty when everything fits.
  returned: success
  type: list
  elements: dict
  contains:
    code:
      description:
        - Stable name of the reason.
        - "A new pair is needed for C(missing), C(private_key_missing), C(private_key_unreadable), C(certificate_missing), C(certificate_unreadable),
          C(key_mismatch), C(common_name), C(subject_alt_names), C(extended_key_usage), C(is_ca), C(issuer), C(renewal_declared), C(expired), C(renewal),
          C(not_yet_valid)."
        - The host alone handles C(ca_bundle), C(ca_added), C(ca_removed), C(permissions), C(modification_times).
      returned: always
      type: str
      sample: renewal
    message:
      description: The same for people.
      returned: always
      type: str
      sample: the certificate ends in 12 days, it is renewed 30 days before
csr:
  description: Certificate signing request, PEM text; empty when no certificate is needed and in check mode.
  returned: success
  type: str
  sample: "-----BEGIN CERTIFICATE REQUEST-----..."
subject_alt_names:
  description: O(subject_alt_names) in the form that is compared.
  returned: success
  type: list
  elements: str
  sample: ['DNS:ovn-1', 'IP:192.0.2.11']
in_service:
  description: Whether key and certificate were installed, belong together and were valid at the host's clock, before this task changed anything.
  returned: success
  type: bool
  sample: true
ca_installed:
  description: Whether the file O(ca_certificate) existed before this task.
  returned: success
  type: bool
  sample: true
ca_bundle:
  description: The CA certificates in O(ca_certificate) before this task, PEM text; empty if there were none.
  returned: success
  type: str
  sample: "-----BEGIN CERTIFICATE-----..."
client_ca_bundle:
  description: The CA certificates in O(client_ca_certificate) before this task, PEM text; empty if there were none.
  returned: success
  type: str
  sample: "-----BEGIN CERTIFICATE-----..."
issuer_accepted:
  description: Whether O(client_ca_certificate) contained O(issuer) before this task.
  returned: success
  type: bool
  sample: true
issuer_trusted:
  description: Whether the bundle contained O(issuer) before this task.
  returned: success
  type: bool
  sample: true
signed_by_issuer:
  description: Whether O(issuer) signed the certificate that was installed before this task.
  returned: success
  type: bool
  sample: true
installed_common_name:
  description: Common name of the certificate that was installed before this task, empty without one.
  returned: success
  type: str
  sample: compute-1
signed_by_trusted:
  description:
    - Whether a CA in O(ca_certificate) signed the certificate that was installed before this task. On a hypervisor whose bundle has the CA of the members
      alone, members accept such a certificate.
  returned: success
  type: bool
  sample: true
issuer_name:
  description: Common name of the CA that signed the installed certificate (after this task), empty without one.
  returned: success
  type: str
  sample: OVN chassis CA 2026-11-21 16:00:00
serial_number:
  description: Serial number of the installed certificate (after this task), hexadecimal; empty without one.
  returned: success
  type: str
  sample: 3a91c0
not_after:
  description: When the installed certificate (after this task) ends, UTC; empty without one.
  returned: success
  type: str
  sample: '2027-11-21T16:00:00Z'
days_left:
  description: Whole days until then, negative after it; null without a certificate.
  returned: success
  type: int
  sample: 364
ca_days_left:
  description: Whole days until the certificate of O(issuer) ends; null without an issuer.
  returned: success
  type: int
  sample: 3649
"""

import typing as t

from ansible.module_utils.basic import AnsibleModule

from ..module_utils._base.errors import OvnError
from ..module_utils._host.certificate import OPTIONS, apply_certificate, authority_warning


def main() -> t.NoReturn:
    module = AnsibleModule(
        argument_spec=OPTIONS,
        required_if=[("state", "present", ("common_name",))],
        supports_check_mode=True,
    )
    try:
        result = apply_certificate(module.params, check_mode=module.check_mode)
    except OvnError as e:
        module.fail_json(**e.as_result())
    if warning := authority_warning(result):
        module.warn(warning)
    module.exit_json(**result)


if __name__ == "__main__":
    main()

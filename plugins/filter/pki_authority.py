# Copyright: (c) 2026, C5C3 contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
name: pki_authority
short_description: Which CA signs, and which ones are trusted
version_added: "0.1.0"
description:
  - Decides between a given CA and the files of one, by the phase of its replacement.
options:
  _input:
    description: Options C(ovn_pki_ca_certificate), C(ovn_pki_ca_rotation) and C(ovn_pki_ca_bundle_extra) of the role P(c5c3.ovn.ovn_pki#role).
    type: dict
    required: true
  files:
    description: PEM texts of the certificates beside the inventory, C(active), C(next) and C(previous). Each is empty if there is none. Positional.
    type: dict
    required: true
author:
  - C5C3 contributors (@c5c3)
"""

EXAMPLES = r"""
- name: Show the bundle
  ansible.builtin.debug:
    msg: "{{ ({} | c5c3.ovn.pki_authority({'active': lookup('ansible.builtin.file', 'ovn-pki/ca.pem')})).bundle }}"
"""

RETURN = r"""
_value:
  description:
    - C(given) (the CA is one of the user's, and no file counts), C(active) (certificate of the file that counts), C(rotates) (the files are to be moved to
      another phase), C(issuer) (certificate of the CA that signs, empty while there is none) and C(bundle) (all that are trusted).
  type: dict
  sample: {"given": false, "active": "", "rotates": false, "issuer": "", "bundle": ""}
"""

import typing as t

from ..module_utils._roles.authority import authority
from ..plugin_utils._filters import as_filter


class FilterModule:
    def filters(self) -> dict[str, t.Callable[..., t.Any]]:
        return {"pki_authority": as_filter(authority)}

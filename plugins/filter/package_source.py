# Copyright: (c) 2026, C5C3 contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
name: package_source
short_description: The file of a package source in the format of deb822
version_added: "0.1.0"
description:
  - Written as a file of its own, a source needs no library on the host. M(ansible.builtin.deb822_repository) does, and a host may only get it from that source.
options:
  _input:
    description: C(name), C(uris), C(suites), C(components), C(architectures), C(types) and C(signed_by), as C(ovn_packages_repository) has them.
    type: dict
    required: true
  directory:
    description: Where apt reads its sources. Positional.
    type: str
    required: true
author:
  - C5C3 contributors (@c5c3)
"""

EXAMPLES = r"""
- name: Write a package source
  c5c3.ovn.ovn_units:
    files: "{{ {'uris': 'https://mirror.example.com/debian', 'suites': 'trixie', 'components': 'main'} | c5c3.ovn.package_source('/etc/apt/sources.list.d') }}"
"""

RETURN = r"""
_value:
  description: The file as M(c5c3.ovn.ovn_units) takes it, C(path) and C(content); an empty list if no source is declared.
  type: list
  elements: dict
  sample:
    - path: /etc/apt/sources.list.d/c5c3-ovn.sources
      content: "Types: deb ..."
"""

import typing as t

from ..module_utils._roles.packages import package_source
from ..plugin_utils._filters import as_filter


class FilterModule:
    def filters(self) -> dict[str, t.Callable[..., t.Any]]:
        return {"package_source": as_filter(package_source)}

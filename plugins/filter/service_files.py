# Copyright: (c) 2026, C5C3 contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
name: service_files
short_description: Files that restart services when their settings have changed
version_added: "0.1.0"
description:
  - Returns a drop-in for each unit, with a digest of the settings in its environment. M(c5c3.ovn.ovn_units) restarts a process that was started with another
    one.
positional: config
options:
  _input:
    description: Names of services, with or without C(.service).
    type: list
    elements: str
    required: true
  config:
    description: The text of the settings.
    type: str
    required: true
  has_secret:
    description:
      - Whether the text has a secret. Everybody on a host can read the digest, and find a short secret by trial. This one takes long to compute, so that each
        trial does, too.
    type: bool
    default: false
author:
  - C5C3 contributors (@c5c3)
"""

EXAMPLES = r"""
- name: Run a service with its present settings
  c5c3.ovn.ovn_units:
    files: "{{ ['example'] | c5c3.ovn.service_files(settings) }}"
    units:
      - name: example.service
        state: started
"""

RETURN = r"""
_value:
  description: Items of O(c5c3.ovn.ovn_units#module:files).
  type: list
  elements: dict
  sample: [{"path": "/etc/systemd/system/example.service.d/50-c5c3-ovn.conf", "content": "[Service]\nEnvironment=OVN_SETTINGS=5f2b\n"}]
"""

import typing as t

from ..module_utils._roles.service_settings import service_files
from ..plugin_utils._filters import as_filter


class FilterModule:
    def filters(self) -> dict[str, t.Callable[..., t.Any]]:
        return {"service_files": as_filter(service_files)}

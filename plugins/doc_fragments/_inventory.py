# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations


class ModuleDocFragment:
    # Filters that look at other hosts of the inventory.
    DOCUMENTATION = r"""
options:
  hostvars:
    description: C(hostvars). Positional.
    type: dict
    required: true
"""

    HOST = r"""
options:
  host:
    description: The host, usually C(inventory_hostname). Positional.
    type: str
    required: true
"""

# Copyright: (c) 2026, C5C3 contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""PRIVATE to the collection: may change at any time."""

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

    GROUPS = r"""
options:
  groups:
    description: C(groups). Positional.
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

#!/usr/bin/python
# Copyright: (c) 2026, C5C3 contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# A virtual module: all of it is the action plugin of the same name, which runs on the control node.

from __future__ import annotations

DOCUMENTATION = r"""
module: ovn_run_module
short_description: (internal) Run a module and print what it waits for
version_added: "0.1.0"
description:
  - Runs another module with the options given here, and prints every ten seconds what it waits for. The result is that of the other module.
  - The task costs no more than one of the other module. C(module_defaults) of the other module do not count.
extends_documentation_fragment:
  - c5c3.ovn._attributes
attributes:
  async:
    support: none
    description: Supports being run with the C(async) keyword.
  check_mode:
    support: full
    description: As the other module does.
  diff_mode:
    support: full
    description: As the other module does.
  idempotent:
    support: full
    description: As the other module is.
  platform:
    support: full
    platforms: all
options:
  module:
    description: Full name of the other module.
    type: str
    required: true
  options:
    description: Its options.
    type: dict
    default: {}
  waits_for:
    description: What it waits for, as it reads after C(waiting for).
    type: str
    required: true
author:
  - C5C3 contributors (@c5c3)
"""

EXAMPLES = r"""
- name: Install the packages
  c5c3.ovn.ovn_run_module:
    module: ansible.builtin.apt
    options:
      name: [ovn-host, openvswitch-switch]
      lock_timeout: 300
    waits_for: "apt: 2 packages"
"""

RETURN = r""" # """

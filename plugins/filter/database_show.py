# Copyright: (c) 2026, C5C3 contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
name: database_show
short_description: Overview of a database as ovn-nbctl show, ovn-sbctl show and ovs-vsctl show print it
version_added: "0.1.0"
description:
  - Formats what M(c5c3.ovn.ovn_database_info) has read of the Northbound, Southbound or Open_vSwitch database, as C(c5c3.ovn.show) prints it.
  - Rows are sorted by name, so that two overviews can be compared, and gateway chassis by priority, the highest first.
  - An empty database is one line that says so.
options:
  _input:
    description:
      - Result of M(c5c3.ovn.ovn_database_info). It needs the tables, columns and references that are shown. The playbook C(c5c3.ovn.show) has the
        options for all three databases.
    type: dict
    required: true
author:
  - C5C3 contributors (@c5c3)
"""

EXAMPLES = r"""
- name: Read the chassis and the ports that they carry
  c5c3.ovn.ovn_database_info:
    database: southbound
    tables: [Chassis, Port_Binding]
    columns:
      Chassis: [name, hostname, encaps]
      Encap: [type, ip, options]
      Port_Binding: [logical_port, chassis]
    expand: [Chassis.encaps]
  register: southbound

- name: Show them as ovn-sbctl show does
  ansible.builtin.debug:
    msg: "{{ southbound | c5c3.ovn.database_show }}"
"""

RETURN = r"""
_value:
  description: The lines of the overview.
  type: list
  elements: str
  sample: ["Chassis c1", "    hostname: host1", "    Encap geneve", "        ip: \"192.0.2.1\""]
"""

import typing as t

from ..module_utils._report.show import show_lines
from ..plugin_utils._filters import as_filter


class FilterModule:
    def filters(self) -> dict[str, t.Callable[..., t.Any]]:
        return {"database_show": as_filter(show_lines)}

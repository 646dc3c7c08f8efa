# Copyright: (c) 2026, C5C3 contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
name: central_desired
short_description: Desired state of one central host
version_added: "0.1.0"
description:
  - Returns what the options of the role P(c5c3.ovn.ovn_central#role) mean for one host - addresses, settings of the daemons, rows of the databases, limits
    of time.
options:
  _input:
    description: The options by their names without C(ovn_central_). An option that is absent, V(null) or empty has the role's default.
    type: dict
    required: true
  hostvars:
    description: C(hostvars), or any mapping of host names to variables. The addresses of the members come from there. Positional.
    type: dict
    required: true
  host:
    description: The central host. Positional.
    type: str
    required: true
  plan:
    description: The last plan that P(c5c3.ovn.raft_plan#filter) returned, for the sizes of the databases. Without one the declared timers count.
    type: dict
author:
  - C5C3 contributors (@c5c3)
"""

EXAMPLES = r"""
- name: Show where the members of the Northbound database find each other
  ansible.builtin.debug:
    msg: "{{ (options | c5c3.ovn.central_desired(hostvars, inventory_hostname)).raft_addresses.northbound }}"
  vars:
    options: {members: "{{ groups['ovn_central'] }}", tls: true}
"""

RETURN = r"""
_value:
  description: >-
    C(databases), for each one its name C(database), C(record), C(environment_file), C(database_file) (paths), C(environment) (of the launcher),
    C(revision) (digest of that environment), C(timers) (C(election_timer) and C(inactivity_probe) in milliseconds, C(reason) text), C(connections) and
    C(options) (as M(c5c3.ovn.ovn_database) takes them). C(raft_addresses) (database to member to endpoint). C(northd) with C(command) (text) and
    C(revision) (its digest). C(wait_timeout), C(lock_seconds) and C(stop_seconds) (seconds).
  type: dict
"""

import typing as t

from ..module_utils._base.inventory import address_of
from ..module_utils._raft.sizing import Size
from ..module_utils._roles.central import CentralMachineOptions, desired_state
from ..plugin_utils._filters import as_filter


@as_filter
def central_desired(
    given: t.Mapping[str, t.Any],
    hostvars: t.Mapping[str, t.Mapping[str, t.Any]],
    host: str,
    plan: t.Mapping[str, t.Any] | None = None,
) -> dict[str, t.Any]:
    options = CentralMachineOptions.from_options(given)
    addresses = {member: address_of(member, hostvars[member]) for member in options.members}
    sizes = {database: Size(**size) for database, size in ((plan or {}).get("sizes") or {}).items()}
    return desired_state(options, host, addresses, sizes)


class FilterModule:
    def filters(self) -> dict[str, t.Callable[..., t.Any]]:
        return {"central_desired": central_desired}

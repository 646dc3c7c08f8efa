# Copyright: (c) 2026, C5C3 contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
name: group_problem
short_description: Tell what is wrong with a group of the inventory
version_added: "0.1.0"
description:
  - A play on a group that is empty or has another name than expected does nothing and succeeds. This filter finds that out before.
  - An option whose value is not allowed would fail later, with the whole specification of its role.
options:
  _input:
    description: C(groups), or any mapping of group names to lists of hosts.
    type: dict
    required: true
  name:
    description: The group, for example V(ovn_central). Positional.
    type: str
    required: true
  required:
    description: Whether the group needs hosts. If V(false), only a group with a similar name is a problem, for it is likely misspelt.
    type: bool
    default: true
  hostvars:
    description: C(hostvars). With them the options of the hosts in the group are checked.
    type: dict
author:
  - C5C3 contributors (@c5c3)
"""

EXAMPLES = r"""
- name: Check that ovn_central has hosts
  ansible.builtin.fail:
    msg: "{{ problem }}"
  vars:
    problem: "{{ groups | c5c3.ovn.group_problem('ovn_central') }}"
  when: problem | length > 0
"""

RETURN = r"""
_value:
  description: What is wrong and what the inventory has instead; empty if nothing is wrong.
  type: str
  sample: "The group ovn_central is not in the inventory, but ovn_centrals is: check the spelling. The inventory has the groups ovn_centrals (3 hosts)."
"""

import contextlib
import difflib
import json
import pathlib
import typing as t

from ansible.module_utils.common.yaml import yaml_load

from ..module_utils._roles.option_types import Specification, option_problem
from ..module_utils._roles.options import plain
from ..module_utils._roles.shared_variables import SPECIFICATION as SHARED
from ..module_utils._roles.variables import Hostvars, Variables
from ..plugin_utils._filters import as_filter

_OF_ANSIBLE = {"all", "ungrouped"}
_OURS = {"ovn_central", "ovn_controllers", "ovn_gateways", "ovn_hypervisors"}
_SIMILAR = 0.75  # of difflib: ovn_centrals, ovn-central, ovn_hypervisor, ovn_hypervisers; not ovn_control_plane
_GROUPS_SHOWN = 10
_ROLES = pathlib.Path(__file__).resolve().parents[2] / "roles"


def _options_problem(hosts: t.Sequence[str], hostvars: Hostvars) -> str:
    specification = _specification()
    given = {host: _readable(hostvars[host], specification) for host in hosts}
    return option_problem(hosts, given, specification)


def _specification() -> Specification:
    """Return what is declared of the shared variables and of the options of all roles."""
    options: dict[str, t.Any] = {**SHARED}
    for path in _ROLES.glob("*/meta/argument_specs.yml"):
        options.update(yaml_load(path.read_bytes())["argument_specs"]["main"].get("options") or {})
    return options


def _readable(variables: Variables, names: t.Collection[str]) -> Variables:
    """Return these variables of a host as far as they can be read now: a template may name what only a later task finds."""
    found = {}
    for name in {*names} & set(variables):
        with contextlib.suppress(Exception):  # templates raise many classes, and each version of Ansible has others
            value = plain(variables[name])
            json.dumps(value, default=str)  # from ansible-core 2.19 on this fails, and not the line before
            if name not in SHARED or value not in ("", None):  # an empty shared variable is absent
                found[name] = value
    return found


def _words(groups: t.Mapping[str, t.Sequence[str]]) -> str:
    own = [f"{name} ({len(hosts)} hosts)" for name, hosts in sorted(groups.items()) if name not in _OF_ANSIBLE]
    more = [f"{len(own) - _GROUPS_SHOWN} more"] if len(own) > _GROUPS_SHOWN else []
    if own:
        return f"The inventory has the groups {', '.join([*own[:_GROUPS_SHOWN], *more])}."
    hosts = len(groups.get("all") or ())
    return f"The inventory has no groups and {hosts} hosts." if hosts else "The inventory is empty: is -i missing?"


@as_filter
def group_problem(
    groups: t.Mapping[str, t.Sequence[str]], name: str, required: bool = True, hostvars: Hostvars | None = None
) -> str:
    if groups.get(name):
        return "" if hostvars is None else _options_problem(groups[name], hostvars)
    others = [other for other, hosts in groups.items() if hosts and other not in _OF_ANSIBLE | _OURS]
    similar = difflib.get_close_matches(name, others, 1, _SIMILAR)
    if not required and not similar:
        return ""
    found = "has no hosts" if name in groups else "is not in the inventory"
    verb = "has" if name in groups else "is"
    spelling = f", but {similar[0]} {verb}: check the spelling" if similar else ""
    return f"The group {name} {found}{spelling}. {_words(groups)}"


class FilterModule:
    def filters(self) -> dict[str, t.Callable[..., t.Any]]:
        return {"group_problem": group_problem}

#!/usr/bin/python
# Copyright: (c) 2026, C5C3 contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: ovn_units
short_description: Mask, enable, start and, only if needed, restart systemd units
version_added: "0.1.0"
description:
  - Brings several units to their declared state in one call.
  - A running unit is restarted when its main process has another environment than the unit file declares, or when its binary was replaced. That is
    looked up in the process, not remembered from an earlier task, so a run that was killed after it wrote the unit file is finished by the next one.
    A unit takes part by carrying a digest of its settings in C(Environment=).
  - Unit files are read again when systemd says that they changed on disk.
extends_documentation_fragment:
  - c5c3.ovn._attributes
  - c5c3.ovn._attributes.action_group
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
  masked:
    description:
      - Units that must never run here. They are stopped and masked, also before their package is installed.
    type: list
    elements: str
    default: []
  stop_masked:
    description:
      - Whether units of O(masked) are stopped. If not, the module fails when one of them has a process, and changes nothing.
    type: bool
    default: true
  units:
    description: Units in the order in which they are handled.
    type: list
    elements: dict
    default: []
    suboptions:
      name:
        description: Name with suffix, for example V(c5c3-ovn-northd.service).
        type: str
        required: true
      enabled:
        description: Whether it starts with the machine. Left alone if absent.
        type: bool
      state:
        description: Whether it runs now. Left alone if absent.
        type: str
        choices: [started, stopped]
author:
  - C5C3 contributors (@c5c3)
"""

EXAMPLES = r"""
- name: Keep the distribution's units away
  c5c3.ovn.ovn_units:
    masked: [ovn-central.service, ovn-northd.service]

- name: Run northd, with its present settings
  c5c3.ovn.ovn_units:
    units:
      - name: c5c3-ovn-northd.service
        enabled: true
        state: started
"""

RETURN = r"""
actions:
  description: What was done, or would be done in check mode. Each entry is a verb of systemctl and a unit, with the reason of a restart.
  returned: success
  type: list
  elements: str
  sample: ["restart c5c3-ovn-northd.service (its settings have changed)"]
"""

import dataclasses
import os
import pathlib
import typing as t

from ansible.module_utils.basic import AnsibleModule

from ..module_utils._errors import OvnError, Refused
from ..module_utils._units import PROPERTIES, Unit, Wanted, commands, parse_show, running_masked


def with_process(unit: Unit) -> Unit:
    """Add what the main process was started with; a process that has just gone counts as not running."""
    process = pathlib.Path("/proc", str(unit.main_pid))
    if not unit.main_pid:
        return unit
    try:
        environment = frozenset((process / "environ").read_bytes().decode(errors="surrogateescape").split("\0"))
        replaced = os.readlink(process / "exe").endswith(" (deleted)")
    except OSError:
        return dataclasses.replace(unit, main_pid=0)
    return dataclasses.replace(unit, process_environment=environment, binary_replaced=replaced)


def systemctl(module: AnsibleModule, *arguments: str) -> str:
    code, out, err = module.run_command(["systemctl", *arguments])
    if code != 0:
        raise OvnError(
            f"systemctl {' '.join(arguments)} failed: {(err or out).strip()}. See: journalctl -u {arguments[-1]}"
        )
    return str(out)


def look(module: AnsibleModule, names: list[str]) -> dict[str, Unit]:
    shown = parse_show(systemctl(module, "show", f"--property={','.join(PROPERTIES)}", "--", *names))
    if len(shown) != len(names):
        raise OvnError(
            f"systemctl show told of {len(shown)} of the units {', '.join(names)}. Is systemd running on this host?"
        )
    return {name: with_process(unit) for name, unit in zip(names, shown)}


def bring(module: AnsibleModule, wanted: list[Wanted], stop_masked: bool) -> list[str]:
    names = [w.name for w in wanted]
    units = look(module, names) if names else {}
    foreign = [] if stop_masked else running_masked(wanted, units)
    if foreign:
        raise Refused(
            f"{', '.join(foreign)} runs on this host and was not started by this collection, so it is not stopped either. Nothing was changed here. "
            f"Back up what it holds, stop it when its users can do without it (systemctl stop {' '.join(foreign)}), then run again."
        )
    done = []
    if any(unit.needs_reload for unit in units.values()) and not module.check_mode:
        systemctl(module, "daemon-reload")
        units = look(module, names)
    for w in wanted:
        unit = units[w.name]
        for verb in commands(w, unit):
            done.append(f"{verb} {w.name}" + (f" ({unit.outdated})" if verb == "restart" else ""))
            if not module.check_mode:
                systemctl(module, verb, w.name)
    return done


def main() -> t.NoReturn:
    unit = {
        "name": {"type": "str", "required": True},
        "enabled": {"type": "bool"},
        "state": {"type": "str", "choices": ["started", "stopped"]},
    }
    module = AnsibleModule(
        argument_spec={
            "masked": {"type": "list", "elements": "str", "default": []},
            "stop_masked": {"type": "bool", "default": True},
            "units": {"type": "list", "elements": "dict", "default": [], "options": unit},
        },
        supports_check_mode=True,
    )
    try:
        wanted = [Wanted(name, masked=True) for name in module.params["masked"]]
        wanted += [Wanted(**unit) for unit in module.params["units"]]
        actions = bring(module, wanted, module.params["stop_masked"])
        module.exit_json(
            changed=bool(actions), actions=actions, diff={"before": "", "after": "".join(f"{a}\n" for a in actions)}
        )
    except OvnError as e:
        module.fail_json(**e.as_result())


if __name__ == "__main__":
    main()

#!/usr/bin/python
# Copyright: (c) 2026, C5C3 contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: ovn_units
short_description: Write, mask, enable, start and, only if needed, restart systemd units
version_added: "0.1.0"
description:
  - Brings several units to their declared state in one call.
  - A running unit is restarted when its main process has another environment than the unit file declares, or when its binary was replaced. That is
    read from the process, not remembered from an earlier task, so a run that was killed after it wrote the unit file is finished by the next one.
    A unit takes part by carrying a digest of its settings in C(Environment=).
  - Unit files are read again when systemd says that they changed on disk.
  - The files that units are made of can be written in the same call, which costs one connection instead of two or more for each file.
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
  files:
    description:
      - Files that the units are made of, such as unit files and what they start, written before the units are handled. Each one is replaced at once or not
        at all, folders that are missing are made (0755).
    type: list
    elements: dict
    default: []
    suboptions:
      path:
        description: Absolute path.
        type: path
        required: true
      content:
        description: The whole content.
        type: str
        required: true
      mode:
        description: Permissions, as an octal number in quotes.
        type: str
        default: "0644"
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
- name: Mask the distribution's units
  c5c3.ovn.ovn_units:
    masked: [ovn-central.service, ovn-northd.service]

- name: Write a unit and run it; changed settings restart it
  c5c3.ovn.ovn_units:
    files:
      - path: /etc/systemd/system/example.service
        content: "{{ lookup('ansible.builtin.template', 'example.service.j2') }}"
    units:
      - name: example.service
        enabled: true
        state: started

- name: Start northd, with its present settings
  c5c3.ovn.ovn_units:
    units:
      - name: c5c3-ovn-northd.service
        enabled: true
        state: started
"""

RETURN = r"""
actions:
  description:
    - What was done, or would be done in check mode. Each entry is a verb of systemctl and a unit, with the reason of a restart, or C(write) and a file.
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

from ..module_utils._errors import InvalidInput, OvnError, Refused
from ..module_utils._pki.files import Ownership, activate, attribute_problem, read, write_pending
from ..module_utils._units import PROPERTIES, DesiredUnit, Unit, parse_show, running_masked, systemctl_verbs


def with_process(unit: Unit) -> Unit:
    """Return the unit with the environment of its main process; a process that has just ended counts as not running."""
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


def read_units(module: AnsibleModule, names: list[str]) -> dict[str, Unit]:
    units = parse_show(systemctl(module, "show", f"--property={','.join(PROPERTIES)}", "--", *names))
    if len(units) != len(names):
        raise OvnError(
            f"systemctl show printed {len(units)} of the units {', '.join(names)}. Is systemd running on this host?"
        )
    return {name: with_process(unit) for name, unit in zip(names, units)}


def write_files(module: AnsibleModule) -> list[dict[str, str]]:
    """Write the files that differ (not in check mode); return a diff for each of them."""
    diffs = []
    unchanged_owner = Ownership(None, None)
    for file in module.params["files"]:
        path, content = file["path"], file["content"].encode()
        try:
            mode = int(file["mode"], 8)
        except ValueError as e:
            raise InvalidInput(f"The mode of {path} is {file['mode']}: give an octal number such as '0644'.") from e
        before = read(path)
        if before == content:
            problem = attribute_problem(path, mode, unchanged_owner)
            if problem is None:
                continue
            diffs.append({"before_header": path, "after_header": path, "before": f"{problem}\n", "after": ""})
        else:
            old = (before or b"").decode(errors="replace")
            diffs.append({"before_header": path, "after_header": path, "before": old, "after": file["content"]})
        if not module.check_mode:
            write_pending(path, content, mode, unchanged_owner)
            activate(path)
    return diffs


def apply_units(
    module: AnsibleModule, desired: list[DesiredUnit], stop_masked: bool
) -> tuple[list[str], list[dict[str, str]]]:
    """Write the files and bring the units to their desired state; return the actions on units, and the diffs of files."""
    names = [w.name for w in desired]
    units = read_units(module, names) if names else {}
    foreign = [] if stop_masked else running_masked(desired, units)
    if foreign:
        raise Refused(
            f"{', '.join(foreign)} runs on this host and was not started by this collection, so it is not stopped either. Nothing was changed here. "
            f"Back up what it holds, stop it when its users can do without it (systemctl stop {' '.join(foreign)}), then run again."
        )
    diffs = write_files(module)
    done = []
    if diffs and names and not module.check_mode:
        units = read_units(module, names)
    if any(unit.needs_reload for unit in units.values()) and not module.check_mode:
        systemctl(module, "daemon-reload")
        units = read_units(module, names)
    for w in desired:
        unit = units[w.name]
        for verb in systemctl_verbs(w, unit):
            done.append(f"{verb} {w.name}" + (f" ({unit.outdated})" if verb == "restart" else ""))
            if not module.check_mode:
                systemctl(module, verb, w.name)
    return done, diffs


def main() -> t.NoReturn:
    file = {
        "path": {"type": "path", "required": True},
        "content": {"type": "str", "required": True},
        "mode": {"type": "str", "default": "0644"},
    }
    unit = {
        "name": {"type": "str", "required": True},
        "enabled": {"type": "bool"},
        "state": {"type": "str", "choices": ["started", "stopped"]},
    }
    module = AnsibleModule(
        argument_spec={
            "files": {"type": "list", "elements": "dict", "default": [], "options": file},
            "masked": {"type": "list", "elements": "str", "default": []},
            "stop_masked": {"type": "bool", "default": True},
            "units": {"type": "list", "elements": "dict", "default": [], "options": unit},
        },
        supports_check_mode=True,
    )
    try:
        desired = [DesiredUnit(name, masked=True) for name in module.params["masked"]]
        desired += [DesiredUnit(**unit) for unit in module.params["units"]]
        verbs, diffs = apply_units(module, desired, module.params["stop_masked"])
        actions = [f"write {diff['after_header']}" for diff in diffs] + verbs
        diffs.append({"before": "", "after": "".join(f"{verb}\n" for verb in verbs)})
        module.exit_json(changed=bool(actions), actions=actions, diff=diffs)
    except OvnError as e:
        module.fail_json(**e.as_result())


if __name__ == "__main__":
    main()

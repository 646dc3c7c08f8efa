# SPDX-License-Identifier: GPL-3.0-or-later
"""The options that describe a chassis, as an argument specification of Ansible: for ovn_chassis, and for the settings of nodes in Kubernetes
(`_api/chassis_settings.py`), which check the same. How to reach the databases, what to wait for and what to permit once are options of the module.
"""

from __future__ import annotations

import dataclasses
import typing as t

from .external_ids import DATAPATH_TYPES, KEYS, REQUIRED_TEXT, TEXTS, ArgumentSpec


def _of_keys() -> dict[str, ArgumentSpec]:
    """Return the options of keys; `encapsulation.ip` is `ip` in the dictionary `encapsulation`."""
    options: dict[str, ArgumentSpec] = {}
    for name, option in KEYS.items():
        group, _dot, member = name.partition(".")
        if member:
            options.setdefault(group, {"type": "dict", "options": {}})["options"][member] = option.spec
        else:
            options[name] = option.spec
    return options


CHASSIS_OPTIONS: dict[str, ArgumentSpec] = {
    **_of_keys(),
    "bridges": {
        "type": "list",
        "elements": "dict",
        "options": {
            "name": REQUIRED_TEXT,
            "ports": TEXTS,
            "datapath_type": {"type": "str", "choices": list(DATAPATH_TYPES)},
        },
    },
    "allow_missing_ports": {"type": "bool", "default": False},
    "preserve_foreign": {"type": "bool", "default": False},
    "gateway": {"type": "bool"},
    "availability_zones": TEXTS,
    "cms_options": TEXTS,
    "external_ids": {"type": "dict"},
    "other_config": {"type": "dict"},
}


@dataclasses.dataclass(frozen=True)
class DeclaredChassis:
    """A machine as it is declared: `options` make it a chassis, and its `resource` shows the same in a Kubernetes cluster."""

    name: str
    system_id: str
    hostname: str | None
    encapsulation_types: list[str]
    encapsulation_ips: list[str]
    bridge_mappings: list[dict[str, t.Any]] | None
    settings: t.Mapping[str, t.Any]  # options that only the machine itself has

    def identity(self) -> dict[str, t.Any]:
        """Return the options of `ovn_chassis` by which the rows of the chassis are found."""
        encapsulation = {"type": self.encapsulation_types, "ip": self.encapsulation_ips}
        return {"system_id": self.system_id, "hostname": self.hostname, "encapsulation": encapsulation}

    def options(self) -> dict[str, t.Any]:
        """Return all options of `ovn_chassis` that describe the chassis."""
        return {**self.identity(), "bridge_mappings": self.bridge_mappings, **self.settings}

    def resource(self, *, present: bool) -> dict[str, t.Any]:
        """Return its OVNChassis as `ovn_chassis_resources` takes it, without what is not declared."""
        declared = {
            "hostname": self.hostname,
            "encapsulation_type": self.encapsulation_types,
            "encapsulation_ip": self.encapsulation_ips,
            "bridge_mappings": self.bridge_mappings,
        }
        given = {name: value for name, value in declared.items() if value is not None}
        return {
            "name": self.name,
            "state": "present" if present else "absent",
            "system_id": self.system_id,
            **given,
        }

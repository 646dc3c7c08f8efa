# SPDX-License-Identifier: GPL-3.0-or-later
"""The options that describe a chassis, as an argument specification of Ansible: for ovn_chassis, and for the settings of nodes in Kubernetes
(`_api/chassis_settings.py`), which check the same. How to reach the databases, what to wait for and what to permit once are options of the module.
"""

from __future__ import annotations

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

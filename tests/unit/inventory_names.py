"""The variables of an inventory that the collection knows."""

from __future__ import annotations

import re
from pathlib import Path

import yaml

from ansible_collections.c5c3.ovn.plugins.module_utils._roles.shared_variables import SPECIFICATION

ROOT = Path(__file__).resolve().parents[2]
OUR_NAME = re.compile(r"\b(ov[ns]_\w+)")


def known_variables() -> set[str]:
    """Return the shared variables, the options of all roles, and what their defaults and the playbooks read."""
    known = set(SPECIFICATION)
    for path in ROOT.glob("roles/*/meta/argument_specs.yml"):
        for entry in yaml.safe_load(path.read_text(encoding="utf-8"))["argument_specs"].values():
            known |= set(entry.get("options", {}))
    for pattern in ("roles/*/defaults/main.yml", "playbooks/**/*.yml"):
        for path in ROOT.glob(pattern):
            known |= set(OUR_NAME.findall(path.read_text(encoding="utf-8")))
    # Read by name in Python: the meaning of a host's addresses, and the option of a role that a filter looks up.
    known |= set(OUR_NAME.findall((ROOT / "plugins/module_utils/_base/inventory.py").read_text(encoding="utf-8")))
    return known

# SPDX-License-Identifier: GPL-3.0-or-later
"""Which machines can have an OVNChassis with their name. Pure, and without libraries of Kubernetes: the inventory is checked with it, too."""

from __future__ import annotations

import re

_LABEL = r"[a-z0-9]([-a-z0-9]*[a-z0-9])?"
_NAME = re.compile(rf"{_LABEL}(\.{_LABEL})*")
_LONGEST = 63  # as the value of a label


def name_problem(name: str) -> str:
    """Return why a machine of this name cannot have an OVNChassis, empty if it can."""
    if _NAME.fullmatch(name) and len(name) <= _LONGEST:
        return ""
    return (
        f"Machine {name} cannot have an OVNChassis: the name of an object has lower-case letters, digits, hyphens and single dots, begins and ends with a "
        f"letter or digit, and has at most {_LONGEST} characters. Rename it in the inventory, or remove ovn_hypervisor_kubeconfig and "
        "ovn_hypervisor_context from it."
    )

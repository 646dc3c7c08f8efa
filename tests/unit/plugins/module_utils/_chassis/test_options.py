"""An option of ovn_chassis that becomes a key stands in one table; this says where its documentation or the role lacks it."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Any

import pytest
import yaml

from ansible_collections.c5c3.ovn.plugins.module_utils._chassis.external_ids import KEYS
from ansible_collections.c5c3.ovn.plugins.module_utils._chassis.options import CHASSIS_OPTIONS
from ansible_collections.c5c3.ovn.plugins.module_utils._roles.hypervisor_check import HypervisorOptions
from ansible_collections.c5c3.ovn.plugins.modules import ovn_chassis

ROLE = Path(ovn_chassis.__file__).resolve().parents[2] / "roles" / "ovn_hypervisor"
DOCUMENTED: dict[str, Any] = yaml.safe_load(ovn_chassis.DOCUMENTATION)["options"]
ROLE_OPTIONS = yaml.safe_load((ROLE / "meta" / "argument_specs.yml").read_text())["argument_specs"]["main"]["options"]
SETTINGS = ROLE_OPTIONS["ovn_hypervisor_chassis_settings"]["options"]
# What the role passes on under the same name
FIELDS = [field.name for field in dataclasses.fields(HypervisorOptions) if field.name in CHASSIS_OPTIONS]
PASSED_ON = [*FIELDS, *SETTINGS]


def test_the_options_of_one_group_are_one_dictionary() -> None:
    assert {name: sorted(spec["options"]) for name, spec in CHASSIS_OPTIONS.items() if "options" in spec} == {
        "encapsulation": ["ip", "type"],
        "bridge_mappings": ["bridge", "physical_network", "ports"],
        "mac_mappings": ["mac", "physical_network"],
        "bridges": ["datapath_type", "name", "ports"],
    }


def test_no_key_has_two_options() -> None:
    keys = [option.key for option in KEYS.values()]
    assert sorted(keys) == sorted(set(keys))


@pytest.mark.parametrize("name", KEYS)
def test_an_option_of_a_key_is_documented_with_its_key(name: str) -> None:
    group, _dot, member = name.partition(".")
    documented = DOCUMENTED[group]["suboptions"][member] if member else DOCUMENTED[group]
    assert f"C({KEYS[name].key})" in str(documented["description"]), (
        f"the documentation of ovn_chassis, {name}: name its key"
    )
    assert documented["type"] == KEYS[name].spec["type"]


def test_the_role_passes_options_on() -> None:
    """All but those that follow from others, and one for pods."""
    assert CHASSIS_OPTIONS.keys() - PASSED_ON == {
        "bridge_probe_interval",
        "encapsulation",
        "preserve_foreign",
        "remote",
    }


@pytest.mark.parametrize("name", [name for name in PASSED_ON if name != "system_id"])  # a variable of all roles
def test_an_option_that_the_role_passes_on_is_an_option_of_the_role(name: str) -> None:
    option = f"ovn_hypervisor_{name}"
    declared = SETTINGS.get(name) or ROLE_OPTIONS.get(option)
    assert declared, f"describe {option} in meta/argument_specs.yml"
    assert declared["type"] == CHASSIS_OPTIONS[name]["type"]

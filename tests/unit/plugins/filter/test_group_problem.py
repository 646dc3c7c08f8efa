"""What is wrong with a group of the inventory."""

from __future__ import annotations

import typing as t

import pytest

from ansible_collections.c5c3.ovn.plugins.filter.group_problem import FilterModule

C, H = ["c1", "c2", "c3"], ["h1"]
GROUPS = "The inventory has the groups"


@pytest.mark.parametrize(
    ("groups", "required", "expected"),
    [
        pytest.param({"ovn_central": C}, True, "", id="a group with hosts is right"),
        pytest.param(
            {"all": H, "ovn_central": [], "ovn_hypervisors": H},
            True,
            f"The group ovn_central has no hosts. {GROUPS} ovn_central (0 hosts), ovn_hypervisors (1 hosts).",
            id="an empty group is told with the groups that there are",
        ),
        pytest.param(
            {"all": C, "ungrouped": [], "ovn_centrals": C},
            True,
            f"The group ovn_central is not in the inventory, but ovn_centrals is: check the spelling. {GROUPS} ovn_centrals (3 hosts).",
            id="a misspelt group is named",
        ),
        pytest.param(
            {"ovn_central": [], "ovn-central": C},
            False,
            f"The group ovn_central has no hosts, but ovn-central has: check the spelling. {GROUPS} ovn-central (3 hosts), ovn_central (0 hosts).",
            id="a misspelt group is a problem even if the group is not required",
        ),
        pytest.param({"ovn_central": []}, False, "", id="a group that is not required may be empty"),
        pytest.param({"ovn_hypervisors": H}, False, "", id="a group that is not required may be absent"),
        pytest.param(
            {"all": C, "ungrouped": C},
            True,
            "The group ovn_central is not in the inventory. The inventory has no groups and 3 hosts.",
            id="hosts without groups are counted",
        ),
        pytest.param(
            {"all": [], "ungrouped": []},
            True,
            "The group ovn_central is not in the inventory. The inventory is empty: is -i missing?",
            id="a forgotten inventory is told as such",
        ),
    ],
)
def test_group_problem(groups: dict[str, list[str]], required: bool, expected: str) -> None:
    problem = t.cast("t.Callable[..., str]", FilterModule().filters()["group_problem"])
    assert problem(groups, "ovn_central", required=required) == expected

from __future__ import annotations

import typing as t

import pytest

from ansible_collections.c5c3.ovn.plugins.module_utils._base.errors import InvalidInput
from ansible_collections.c5c3.ovn.plugins.module_utils._chassis.cms_options import (
    DesiredCmsOptions,
    desired_cms_options,
    merge,
)

GW = "enable-chassis-as-gw"


@pytest.mark.parametrize(
    ("stored", "owned", "desired", "purge", "after", "ours"),
    [
        pytest.param(None, [], {"gateway": True}, False, GW, [GW], id="first token"),
        pytest.param("x, y", [], {"gateway": True}, False, f"x,y,{GW}", [GW], id="others keep their order"),
        pytest.param(f"x,{GW},y", [], {"gateway": True}, False, f"x,{GW},y", [GW], id="a token of others becomes ours"),
        pytest.param(f"x,{GW},y", [], {"gateway": False}, False, "x,y", [], id="no gateway"),
        pytest.param(GW, [], {"gateway": False}, False, None, [], id="the last token takes the key along"),
        pytest.param(None, [], {"gateway": False}, False, None, [], id="nothing to remove"),
        pytest.param(
            "x,availability-zones=a:b,y",
            [],
            {"zones": ("c",)},
            False,
            "x,availability-zones=c,y",
            ["availability-zones=c"],
            id="zones are replaced in place",
        ),
        pytest.param(
            "availability-zones=b:a",
            [],
            {"zones": ("a", "b")},
            False,
            "availability-zones=b:a",
            ["availability-zones=b:a"],
            id="zones are a set",
        ),
        pytest.param(
            "availability-zones=a,x,availability-zones=b",
            [],
            {"zones": ()},
            False,
            "x",
            [],
            id="no zones, however many",
        ),
        pytest.param(
            "availability-zones=a,availability-zones=b",
            [],
            {"zones": ("b",)},
            False,
            "availability-zones=b",
            ["availability-zones=b"],
            id="one zone token is left",
        ),
        pytest.param("old,x", ["old"], {"tokens": ("new",)}, False, "x,new", ["new"], id="our old token goes"),
        pytest.param("old,x", [], {"tokens": ("new",)}, False, "old,x,new", ["new"], id="a foreign one stays"),
        pytest.param("old,x", ["old"], {"tokens": ()}, False, "x", [], id="no tokens of ours"),
        pytest.param(
            f"{GW},t,x", [GW, "t"], {"tokens": ("t",)}, False, f"{GW},t,x", [GW, "t"], id="other kinds of ours stay"
        ),
        pytest.param(
            f"{GW},t,x", [GW, "t"], {"tokens": ("t",)}, True, "t,x", ["t"], id="purge takes what is not named"
        ),
        pytest.param(f"{GW},t", [GW, "t"], {}, True, None, [], id="purge of everything"),
        pytest.param("a=1,a=2", [], {"tokens": ("a=3",)}, False, "a=1,a=2,a=3", ["a=3"], id="free tokens have no kind"),
        pytest.param(",x,,", [], {"tokens": ("x",)}, False, "x", ["x"], id="empty items go with a change only"),
    ],
)
def test_merge(
    stored: str | None, owned: list[str], desired: dict[str, t.Any], purge: bool, after: str | None, ours: list[str]
) -> None:
    result, mine = merge(stored, owned, DesiredCmsOptions(**desired), purge)
    if result != stored or after == stored:
        assert result == after
    assert sorted(mine) == sorted(ours)
    again = merge(result, mine, DesiredCmsOptions(**desired), purge)
    assert again == (result, mine)


def test_empty_items_alone_are_no_change() -> None:
    assert merge(",x,,", [], DesiredCmsOptions(tokens=("x",)), False)[0] == ",x,,"


@pytest.mark.parametrize(
    "params",
    [
        {"gateway": False, "cms_options": [GW]},
        {"availability_zones": [], "cms_options": ["availability-zones=a"]},
        {"cms_options": ["a,b"]},
        {"cms_options": [""]},
        {"availability_zones": ["a:b"]},
        {"availability_zones": ["a=b"]},
        {"cms_options": ["availability-zones=az1", "availability-zones=az2"]},
    ],
)
def test_contradictions_and_separators_are_refused(params: dict[str, t.Any]) -> None:
    with pytest.raises(InvalidInput):
        desired_cms_options(params)

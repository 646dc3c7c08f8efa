"""Each list is read as its consumer reads it: expected values are those of patch.c, chassis.c, sset.c, ovsdb-session.c and neutron/common/ovn/utils.py."""

from __future__ import annotations

import typing as t

import pytest

from ansible_collections.c5c3.ovn.plugins.module_utils._chassis.text import (
    read_bridge_mappings,
    read_cms_options,
    read_items,
    read_mac_mappings,
    read_remotes,
    read_servers,
)


@pytest.mark.parametrize(
    ("text", "pairs"),
    [
        pytest.param("", [], id="empty"),
        pytest.param("physnet1:br-ex", [("physnet1", "br-ex")], id="one"),
        pytest.param("a:b, c:d ", [("a", "b"), (" c", "d ")], id="blanks are part of the names"),
        pytest.param("a:b,,c:d", [("a", "b")], id="nothing is read behind an empty item"),
        pytest.param("a:b,c,d:e", [("a", "b")], id="nor behind one that is no pair"),
        pytest.param("a:b,:c,d:e", [("a", "b")], id="nor behind one without a network"),
        pytest.param("a:b:c", [("a", "b:c")], id="only the first colon counts"),
    ],
)
def test_bridge_mappings_are_read_as_by_ovn_controller(text: str, pairs: list[t.Any]) -> None:
    assert read_bridge_mappings(text) == pairs


@pytest.mark.parametrize(
    ("text", "remotes"),
    [
        pytest.param("tcp:a:1,ssl:b:2", ["tcp:a:1", "ssl:b:2"], id="two"),
        pytest.param(" tcp:a:1, ssl:b:2", ["tcp:a:1", "ssl:b:2"], id="blanks before an item"),
        pytest.param("tcp:a:1 ,ssl:b:2", ["tcp:a:1 ", "ssl:b:2"], id="a blank behind an item stays"),
        pytest.param("tcp:a:1,,ssl:b:2", ["tcp:a:1,", "ssl:b:2"], id="an empty item spoils the one before"),
        pytest.param("tcp:a:1,", ["tcp:a:1,"], id="so does a comma at the end"),
        pytest.param("", [], id="empty"),
    ],
)
def test_remotes_are_read_as_by_open_vswitch(text: str, remotes: list[str]) -> None:
    assert read_remotes(text) == remotes


def test_other_lists_are_read_as_by_their_consumers() -> None:
    assert read_items("geneve, vxlan,,") == ["geneve", " vxlan"]
    assert read_mac_mappings("a:02:AA:00:00:00:01,,a:x, b:y") == {"a": "02:aa:00:00:00:01", " b": "y"}
    assert read_cms_options(" enable-chassis-as-gw , x,,") == ["enable-chassis-as-gw", "x"]
    assert read_servers("tcp:a:1,cid:7dc5cd3d-b04f-4b1e-8a4c-5d0b5d0c6a3b") == ["tcp:a:1"]

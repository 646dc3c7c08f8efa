from __future__ import annotations

import pytest

from ansible_collections.c5c3.ovn.plugins.module_utils._chassis.registration import (
    LocalChassis,
    address_conflict,
    duplicate_id,
    foreign_row,
    unregistered,
)
from ansible_collections.c5c3.ovn.plugins.module_utils._chassis.southbound_rows import ChassisRow

LOCAL = LocalChassis("c1", "host1", frozenset({("geneve", "192.0.2.1"), ("vxlan", "192.0.2.1")}))


def registered(name: str, hostname: str, *ips: str, owner: str = "") -> ChassisRow:
    settings = {"ovn-cms-options": f"a,c5c3-ovn-owner={owner}"} if owner else {}
    return ChassisRow(name, hostname, frozenset(("geneve", ip) for ip in ips), settings)


@pytest.mark.parametrize(
    ("other", "duplicate"),
    [
        pytest.param(registered("c1", "host1", "192.0.2.1"), False, id="ourselves"),
        pytest.param(registered("c1", "host1", "192.0.2.9"), False, id="the same host with a new address"),
        pytest.param(registered("c1", "old-name", "192.0.2.1"), False, id="the same address with a new host name"),
        pytest.param(registered("c1", "host2", "192.0.2.2"), True, id="another host with another address"),
        pytest.param(registered("c1", "host2"), True, id="another host without address"),
        pytest.param(registered("c2", "host2", "192.0.2.2"), False, id="another chassis"),
    ],
)
def test_duplicate_id(other: ChassisRow, duplicate: bool) -> None:
    reason = duplicate_id(LOCAL, [other])
    assert bool(reason) is duplicate
    if reason:
        assert "host2" in reason
        assert "chassis-del c1" in reason


@pytest.mark.parametrize(
    ("mine", "theirs", "ip", "duplicate"),
    [
        pytest.param("a", "b", "192.0.2.9", True, id="a node of the same name in another cluster"),
        pytest.param("a", "b", "192.0.2.1", False, id="the same machine in a new cluster"),
        pytest.param("a", "a", "192.0.2.9", False, id="the same node with a new address"),
        pytest.param("", "b", "192.0.2.9", False, id="a machine of the same host name"),
        pytest.param("a", "", "192.0.2.9", False, id="a row of before"),
    ],
)
def test_duplicate_id_of_two_clusters(mine: str, theirs: str, ip: str, duplicate: bool) -> None:
    reason = duplicate_id(LOCAL._replace(owner=mine), [registered("c1", "host1", ip, owner=theirs)])
    assert bool(reason) is duplicate
    assert not reason or "another Kubernetes cluster" in reason


@pytest.mark.parametrize(
    ("other", "conflict"),
    [
        pytest.param(registered("c1", "x", "192.0.2.1"), False, id="our own row"),
        pytest.param(registered("c2", "", "192.0.2.1"), True, id="another chassis has the address"),
        pytest.param(registered("c2", "", "192.0.2.11"), False, id="a longer address"),
    ],
)
def test_address_conflict(other: ChassisRow, conflict: bool) -> None:
    reason = address_conflict(LOCAL, [other])
    assert bool(reason) is conflict
    if reason:
        assert "192.0.2.1" in reason
        assert '"c2"' in reason


def test_unregistered_tells_what_is_missing() -> None:
    assert unregistered(LOCAL, []) == "it has no row there"
    assert "geneve 192.0.2.9 instead of geneve 192.0.2.1, vxlan 192.0.2.1" in str(
        unregistered(LOCAL, [registered("c1", "host1", "192.0.2.9")])
    )
    assert unregistered(LOCAL, [ChassisRow("c1", "host1", LOCAL.encapsulations)]) is None


@pytest.mark.parametrize(
    ("mine", "row", "words"),
    [
        pytest.param("", registered("c1", "host1", "192.0.2.1"), None, id="our row"),
        pytest.param("", registered("c1", "host1", "192.0.2.9"), None, id="our row with an old address"),
        pytest.param("", registered("c1", "host1"), None, id="our row without an encapsulation"),
        pytest.param("", registered("c1", "old-name", "192.0.2.1"), None, id="our row with an old host name"),
        pytest.param("a", registered("c1", "host1", "192.0.2.1", owner="a"), None, id="our row in our cluster"),
        pytest.param(
            "", registered("c1", "host2", "192.0.2.2"), "host host2 with address 192.0.2.2", id="another host"
        ),
        pytest.param("", registered("c1", ""), "host (no name) with address (none)", id="a host that says nothing"),
        pytest.param(
            "", registered("c1", "host1", "192.0.2.1", owner="b"), 'cluster "b"', id="a node of a Kubernetes cluster"
        ),
        pytest.param(
            "a", registered("c1", "host1", "192.0.2.1", owner="b"), 'cluster "b"', id="a node of another cluster"
        ),
        pytest.param(
            "a", registered("c1", "host2", "192.0.2.2", owner="a"), "host host2", id="another node of our cluster"
        ),
    ],
)
def test_whose_row_it_is(mine: str, row: ChassisRow, words: str | None) -> None:
    reason = foreign_row(LOCAL._replace(owner=mine), row)
    assert (reason is None) is (words is None)
    if reason and words:
        assert words in reason
        assert "chassis-del c1" in reason

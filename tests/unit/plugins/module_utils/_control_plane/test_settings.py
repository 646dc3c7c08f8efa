"""On which ports members listen, as long as some of them serve chassis and when relays do."""

from __future__ import annotations

import typing as t

import pytest

from ansible_collections.c5c3.ovn.plugins.module_utils._api.spec import parse_spec
from ansible_collections.c5c3.ovn.plugins.module_utils._base.databases import Database
from ansible_collections.c5c3.ovn.plugins.module_utils._control_plane.settings import desired_settings, relay_probe
from ansible_collections.c5c3.ovn.plugins.module_utils._raft.observation import Observation

FORMER: dict[str, t.Any] = {"spec": {"containers": []}}
RELAYED: dict[str, t.Any] = {"spec": {"containers": [], "initContainers": [{"name": "relay"}]}}


class Desired(t.NamedTuple):
    spec: t.Any


def settings_of(database: Database, pods: list[dict[str, t.Any]], *, tls: bool = True) -> tuple[set[str], set[str]]:
    desired = Desired(parse_spec({"tls": {"enabled": tls}}, name="ovn", namespace="net"))
    found = desired_settings(t.cast("t.Any", desired), database, pods=pods)
    return set(found.connections or ()), set(found.removed_connections)


@pytest.mark.parametrize(
    ("pods", "listening", "closed"),
    [
        ([], {"pssl:16642:[::]"}, {"pssl:6642:[::]"}),
        ([RELAYED] * 3, {"pssl:16642:[::]"}, {"pssl:6642:[::]"}),
        ([RELAYED, FORMER, RELAYED], {"pssl:6642:[::]", "pssl:16642:[::]"}, set()),
    ],
    ids=["a new database", "all have relays", "one serves chassis itself"],
)
def test_the_port_of_chassis(pods: list[dict[str, t.Any]], listening: set[str], closed: set[str]) -> None:
    assert settings_of("southbound", pods) == (listening, closed)


def test_without_tls_there_are_no_relays() -> None:
    assert settings_of("southbound", [FORMER], tls=False) == ({"ptcp:6642:[::]", "ptcp:16642:[::]"}, set())


def test_the_northbound_has_one_port() -> None:
    assert settings_of("northbound", [FORMER]) == ({"pssl:6641:[::]"}, set())


@pytest.mark.parametrize(("megabytes", "probe"), [(0, 30000), (200, 40000)], ids=["as declared", "a large file"])
def test_relays_have_the_probe_of_members(megabytes: int, probe: int) -> None:
    desired = Desired(parse_spec({"southbound": {"inactivityProbe": 30000}}, name="ovn", namespace="net"))
    observations = [Observation("a", file_bytes=megabytes * 1_000_000)]
    assert relay_probe(t.cast("t.Any", desired), observations) == probe
    (row,) = (desired_settings(t.cast("t.Any", desired), "southbound", observations).connections or {}).values()
    assert row["inactivity_probe"] == probe

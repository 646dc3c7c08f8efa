"""When the leader proxy of a Neutron that runs may end, or move."""

from __future__ import annotations

import typing as t

import pytest

from ansible_collections.c5c3.ovn.plugins.module_utils._base.databases import Database
from ansible_collections.c5c3.ovn.plugins.module_utils._roles.neutron import desired_neutron
from ansible_collections.c5c3.ovn.plugins.module_utils._roles.neutron_proxy import proxy_problem

ENDPOINTS: dict[Database, list[str]] = {"northbound": ["ssl:192.0.2.1:6641"], "southbound": ["ssl:192.0.2.1:16642"]}
NONE: dict[Database, list[str]] = {"northbound": [], "southbound": []}
GIVEN = {"host": "controller1", "backend": "host", "directory": "/etc/neutron/ovn"}
UNIT = """
[Service]
Environment=OVN_REVISION=1
Environment="OVN_NORTHBOUND_LISTEN=tcp:127.0.0.1:26641"
Environment="OVN_SOUTHBOUND_LISTEN=tcp:127.0.0.1:26642"
"""
ENDS, MOVES = (
    "This run ends it and restarts nothing",
    "This run moves it to 127.0.0.1:1 and 127.0.0.1:26642 and restarts",
)


@pytest.mark.parametrize(
    ("unit", "options", "endpoints", "told"),
    [
        pytest.param(UNIT, {}, ENDPOINTS, "", id="it stays"),
        pytest.param(UNIT, {"leader_proxy": False}, ENDPOINTS, ENDS, id="it ends"),
        pytest.param(UNIT, {"leader_proxy_northbound_port": 1}, ENDPOINTS, MOVES, id="it moves"),
        pytest.param(UNIT, {"leader_proxy": False, "services": ["neutron-api"]}, ENDPOINTS, "", id="we restart"),
        pytest.param(UNIT, {"leader_proxy": False, "restart_by_hand": "yes"}, ENDPOINTS, "", id="somebody restarts"),
        pytest.param("", {"leader_proxy": False}, ENDPOINTS, "", id="there is none"),
        pytest.param("", {}, ENDPOINTS, "", id="the first run"),
        pytest.param(UNIT, {}, NONE, "", id="nothing is known of the databases yet"),
    ],
)
def test_a_proxy_that_a_running_neutron_needs(
    unit: str, options: dict[str, t.Any], endpoints: dict[Database, list[str]], told: str
) -> None:
    given = {**GIVEN, **options}
    problem = proxy_problem(unit, given, desired_neutron(given, endpoints))
    assert bool(problem) is bool(told)
    if told:
        assert problem.startswith(
            "Neutron of controller1 reaches the databases by its leader proxy at 127.0.0.1:26641 and "
        )
        assert told in problem
        assert (
            "Nothing was changed. Name the units in ovn_neutron_services, or, if you restart Neutron right" in problem
        )

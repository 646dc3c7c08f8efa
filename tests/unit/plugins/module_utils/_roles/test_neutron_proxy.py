"""When the leader proxy of a Neutron that runs may end, or move."""

from __future__ import annotations

import dataclasses
import typing as t

import pytest
from neutron_options import OPTIONS

from ansible_collections.c5c3.ovn.plugins.module_utils._base.databases import Database
from ansible_collections.c5c3.ovn.plugins.module_utils._machine.systemd_units import declared_environment
from ansible_collections.c5c3.ovn.plugins.module_utils._roles.neutron import desired_neutron, leader_proxy_problem
from ansible_collections.c5c3.ovn.plugins.module_utils._roles.neutron_proxy import UNIT_FILE, proxy_problem, proxy_units

ENDPOINTS: dict[Database, list[str]] = {"northbound": ["ssl:192.0.2.1:6641"], "southbound": ["ssl:192.0.2.1:16642"]}
NONE: dict[Database, list[str]] = {"northbound": [], "southbound": []}
UNIT = """
[Service]
Environment=OVN_REVISION=1
Environment="OVN_NORTHBOUND_LISTEN=tcp:127.0.0.1:26641"
Environment="OVN_SOUTHBOUND_LISTEN=tcp:127.0.0.1:26642"
"""
ENDS, MOVES = (
    "This run ends it and restarts nothing",
    "This run moves it to 127.0.0.2:26641 and 127.0.0.2:26642 and restarts",
)


@pytest.mark.parametrize(
    ("unit", "options", "endpoints", "told"),
    [
        pytest.param(UNIT, {}, ENDPOINTS, "", id="it stays"),
        pytest.param(UNIT, {"leader_proxy": "none"}, ENDPOINTS, ENDS, id="it ends"),
        pytest.param(UNIT, {"leader_proxy": "127.0.0.2"}, ENDPOINTS, MOVES, id="it moves"),
        pytest.param(UNIT, {"leader_proxy": "none", "services": ["neutron-api"]}, ENDPOINTS, "", id="we restart"),
        pytest.param(
            UNIT, {"leader_proxy": "none", "permit": ["restart_by_hand"]}, ENDPOINTS, "", id="somebody restarts"
        ),
        pytest.param("", {"leader_proxy": "none"}, ENDPOINTS, "", id="there is none"),
        pytest.param("", {}, ENDPOINTS, "", id="the first run"),
        pytest.param(UNIT, {}, NONE, "", id="nothing is known of the databases yet"),
    ],
)
def test_a_proxy_that_a_running_neutron_needs(
    unit: str, options: dict[str, t.Any], endpoints: dict[Database, list[str]], told: str
) -> None:
    given = dataclasses.replace(OPTIONS, **options)
    problem = leader_proxy_problem("controller1", given, desired_neutron("controller1", given, endpoints), unit)
    assert bool(problem) is bool(told)
    if told:
        assert problem.startswith(
            "Neutron of controller1 reaches the databases by its leader proxy at 127.0.0.1:26641 and "
        )
        assert told in problem
        assert (
            "Nothing was changed. Name the units in ovn_neutron_services, or, if you restart Neutron right" in problem
        )


def test_unit_says_what_the_next_run_compares() -> None:
    """What a run has written is what a later one finds, so the proxy stays."""
    proxy = desired_neutron("controller1", OPTIONS, ENDPOINTS).proxy
    assert proxy is not None
    assert proxy_problem("controller1", proxy.unit, proxy) == ""
    assert declared_environment(proxy.unit)["OVN_REVISION"]
    for line in ("ExecStart=/usr/bin/python3 -I /usr/lib/c5c3-ovn/c5c3-ovn.pyz leader-proxy", "Restart=always"):
        assert f"\n{line}\n" in proxy.unit
    assert proxy_units(proxy)["files"] == [{"path": UNIT_FILE, "content": proxy.unit}]
    assert proxy_units(None)["files"] == [{"path": UNIT_FILE, "state": "absent"}]

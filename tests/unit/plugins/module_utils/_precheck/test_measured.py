"""What a task has registered, and what a host is already."""

from __future__ import annotations

import typing as t

import pytest
from precheck_facts import central, declare, facts, hypervisor

from ansible_collections.c5c3.ovn.plugins.module_utils._precheck.measured import MeasuredHost

DECLARED = declare({"ovn_central": {"db1": {}}})["db1"]


@pytest.mark.parametrize(
    ("result", "unreachable", "problem"),
    [
        pytest.param({"unreachable": True, "msg": "no route"}, True, "no route", id="no connection"),
        pytest.param(
            {"failed": True, "timedout": {"period": 60}, "msg": "Timed out"},
            True,
            "Timed out",
            id="a connection that hangs",
        ),
        pytest.param({"msg": "No module named json", "rc": 1}, False, "No module named json", id="the module failed"),
        pytest.param({}, False, "no result", id="nothing was registered"),
        pytest.param({"facts": facts(), "control_clock": {"sent": 1.0, "received": 2.0}}, False, "", id="measured"),
    ],
)
def test_results(result: dict[str, t.Any], unreachable: bool, problem: str) -> None:
    host = MeasuredHost.of(DECLARED, result)
    assert (host.unreachable, host.problem, bool(host.facts)) == (unreachable, problem, not problem)


def test_what_a_host_is_already() -> None:
    assert central().becomes_member
    assert not central(own_units=["c5c3-ovn-northbound.service"]).is_new
    assert hypervisor().becomes_chassis
    assert hypervisor(own_units=["c5c3-ovn-northbound.service"]).becomes_chassis
    assert not hypervisor(own_units=["c5c3-ovn-controller.service"]).is_new

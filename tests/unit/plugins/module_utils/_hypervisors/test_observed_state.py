"""Which statuses a run writes."""

from __future__ import annotations

import datetime
import typing as t

import pytest

from ansible_collections.c5c3.ovn.plugins.module_utils._api.chassis_status import (
    ChassisFacts,
    chassis_status,
    with_datapath,
)
from ansible_collections.c5c3.ovn.plugins.module_utils._hypervisors.observed_state import changed_statuses

NOW = datetime.datetime(2026, 3, 1, 12, 0, tzinfo=datetime.timezone.utc)
WELL = ChassisFacts(True, True, NOW, "", has_agent=True)


@pytest.mark.parametrize(
    ("facts", "written"),
    [pytest.param(WELL, [], id="nothing differs"), (WELL._replace(alive=False), [["Ready", "OVSConnected"]])],
)
def test_condition_of_the_datapath_is_left_to_the_agent(facts: ChassisFacts, written: list[list[str]]) -> None:
    status = chassis_status({}, WELL, generation=1, now=NOW)
    lost = with_datapath(status, ("False", "PacketsLost", "x"), generation=1, now=NOW)
    resource: dict[str, t.Any] = {"metadata": {"resourceVersion": "7", "generation": 1}, "status": lost}
    manifests = changed_statuses({"worker-1": resource}, {"worker-1": facts}, NOW)
    assert [[one["type"] for one in manifest["status"]["conditions"]] for manifest in manifests] == written

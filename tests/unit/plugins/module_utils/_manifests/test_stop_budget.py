"""The time that the stop of a database member may take, wherever it is limited."""

from __future__ import annotations

import re
import typing as t

from ansible_collections.c5c3.ovn.plugins.module_utils._base.deadline import STOP_SECONDS
from ansible_collections.c5c3.ovn.plugins.module_utils._daemons.raft_launcher import SCRIPT
from ansible_collections.c5c3.ovn.plugins.module_utils._roles import central as role
from ansible_collections.c5c3.ovn.plugins.module_utils._roles.central_units import central_units

Central = t.Callable[..., t.Any]


def spent() -> int:
    """What the launcher's own limits add up to, read from the script: the hand-over, then looks at a process every 0.1 s."""
    (hand_over,) = {int(seconds) for seconds in re.findall(r'ovs-appctl -T (\d+) -t "\$ctl" exit', SCRIPT)}
    ((looks, pause),) = re.findall(r'\[ "\$tries" -lt (\d+) \]; do\n(?:[^\n]*\n){2} *sleep ([\d.]+)\n', SCRIPT)
    return hand_over + round(int(looks) * float(pause))


def test_the_unit_of_a_machine_outlasts_the_launchers_stop() -> None:
    options = role.CentralMachineOptions()
    desired = role.desired_state(options, "c1", {"c1": "192.0.2.11"}, {})
    texts = [file["content"] for file in central_units(desired, "ovn", "/etc/needrestart").databases["files"]]
    assert [f"\nTimeoutStopSec={STOP_SECONDS}\n" in text for text in texts if "[Service]" in text] == [True, True]
    assert desired["stop_seconds"] == STOP_SECONDS > spent()


def test_the_lock_of_a_run_outlasts_a_restart() -> None:
    """The step stops a member, then waits until it serves; nothing renews the lock meanwhile."""
    options = role.CentralMachineOptions(wait_timeout=500)
    desired = role.desired_state(options, "c1", {"c1": "192.0.2.11"}, {})
    assert desired["lock_seconds"] >= desired["stop_seconds"] + desired["wait_timeout"] >= 500 + STOP_SECONDS


def test_a_pod_outlasts_the_launchers_stop(central: Central) -> None:
    sets = [manifest for manifest in central() if manifest["kind"] == "StatefulSet"]
    assert len(sets) == 2
    for manifest in sets:
        limit = manifest["spec"]["template"]["spec"]["terminationGracePeriodSeconds"]
        assert limit == STOP_SECONDS
        assert limit > spent()
        assert manifest["spec"]["template"]["spec"]["containers"][0]["lifecycle"]["preStop"]["exec"]["command"][
            -1
        ].endswith("stop || true")

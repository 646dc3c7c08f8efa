"""Which pods may be deleted because nothing runs in them, and nothing will."""

from __future__ import annotations

import typing as t

import pytest

from ansible_collections.c5c3.ovn.plugins.module_utils._kubernetes.stuck_pods import backs_off, has_started, is_stuck

RUNS = {"running": {"startedAt": "2026-01-01T00:00:00Z"}}
SHORT = {"terminated": {"startedAt": "2026-01-01T00:00:00Z", "finishedAt": "2026-01-01T00:00:02Z"}}
LONG = {"terminated": {"startedAt": "2026-01-01T00:00:00Z", "finishedAt": "2026-01-01T00:10:00Z"}}


def waits(reason: str) -> dict[str, t.Any]:
    return {"waiting": {"reason": reason}}


def container(state: dict[str, t.Any], restarts: int = 0, last: dict[str, t.Any] | None = None) -> dict[str, t.Any]:
    return {"state": state, "restartCount": restarts, "lastState": last or {}}


NEW = container(waits("PodInitializing"))
RUNNING = container(RUNS)
ENDS_AT_ONCE = container(waits("CrashLoopBackOff"), 4, SHORT)


def pod(
    database: dict[str, t.Any],
    relay: dict[str, t.Any] | None = None,
    first: dict[str, t.Any] | None = None,
    **metadata: t.Any,
) -> dict[str, t.Any]:
    """A member's pod; `relay` is a sidecar, `first` a container that has to end before the others start."""
    declared: list[dict[str, t.Any]] = []
    statuses: list[dict[str, t.Any]] = []
    for name, status, more in (("relay", relay, {"restartPolicy": "Always"}), ("first", first, {})):
        if status is not None:
            declared.append({"name": name, **more})
            statuses.append({"name": name, **status})
    return {
        "metadata": {"name": "ovn-southbound-0", **metadata},
        "spec": {"initContainers": declared, "containers": [{"name": "database"}]},
        "status": {"initContainerStatuses": statuses, "containerStatuses": [{"name": "database", **database}]},
    }


@pytest.mark.parametrize(
    ("found", "started", "stuck"),
    [
        pytest.param(pod(NEW), False, True, id="a new pod"),
        pytest.param({"metadata": {"name": "ovn-southbound-0"}}, False, True, id="nothing is known of its containers"),
        pytest.param(pod(RUNNING), True, False, id="it runs"),
        pytest.param(pod(NEW, deletionTimestamp="2026-01-01T00:00:00Z"), True, False, id="terminating"),
        pytest.param(pod(ENDS_AT_ONCE), True, True, id="the member ends at once"),
        pytest.param(pod(container(waits("CrashLoopBackOff"), 4, LONG)), True, False, id="it ran longer"),
        pytest.param(pod(container(waits("CrashLoopBackOff"), 1, SHORT)), True, False, id="it ended once"),
        pytest.param(pod(NEW, RUNNING), False, True, id="the relay alone runs"),
        pytest.param(pod(container(waits("ImagePullBackOff")), RUNNING), False, True, id="a relay, no image"),
        pytest.param(
            pod(container(waits("CreateContainerConfigError")), RUNNING), False, True, id="a relay, no Secret"
        ),
        pytest.param(pod(NEW, container(RUNS, 2, SHORT)), False, True, id="the relay was restarted"),
        pytest.param(pod(ENDS_AT_ONCE, RUNNING), True, True, id="the member ends at once beside a relay"),
        pytest.param(pod(RUNNING, RUNNING), True, False, id="both run"),
        pytest.param(pod(RUNNING, ENDS_AT_ONCE), True, False, id="the relay ends at once beside a member"),
        pytest.param(pod(NEW, ENDS_AT_ONCE), False, True, id="the relay ends at once, so there was no member"),
        pytest.param(pod(container(waits("Error"), 1, LONG), ENDS_AT_ONCE), True, True, id="after a boot of the node"),
        pytest.param(pod(NEW, first=RUNNING), True, False, id="what has to end first runs"),
        pytest.param(pod(NEW, first=ENDS_AT_ONCE), True, True, id="what has to end first ends at once each time"),
    ],
)
def test_where_nothing_runs_and_nothing_will(found: dict[str, t.Any], started: bool, stuck: bool) -> None:
    assert (has_started(found), is_stuck(found)) == (started, stuck)


def test_its_kubelet_pauses_before_it_pulls_again_also_for_a_sidecar() -> None:
    assert backs_off(pod(NEW, container(waits("ImagePullBackOff"))))
    assert not backs_off(pod(NEW, RUNNING))

"""When a Lease still counts."""

from __future__ import annotations

import contextlib
import datetime
import typing as t

import pytest
from fake_cluster import FakeCluster

from ansible_collections.c5c3.ovn.plugins.module_utils._base.control_node import has_ended
from ansible_collections.c5c3.ovn.plugins.module_utils._base.errors import (
    Changed,
    Conflict,
    OvnError,
    Refused,
    Unreachable,
)
from ansible_collections.c5c3.ovn.plugins.module_utils._kubernetes import lease
from ansible_collections.c5c3.ovn.plugins.module_utils._kubernetes.lease import RunLease, holder_identity, seconds_left

NOW = datetime.datetime(2026, 1, 1, 12, 0, 0, tzinfo=datetime.timezone.utc)


@pytest.mark.parametrize(
    ("spec", "left"),
    [
        ({}, 0),
        ({"holderIdentity": "", "renewTime": "2026-01-01T12:00:00.000000Z"}, 0),
        ({"holderIdentity": "run", "renewTime": "2026-01-01T11:59:00.123456Z", "leaseDurationSeconds": 600}, 540),
        ({"holderIdentity": "run", "renewTime": "2026-01-01T11:49:00Z", "leaseDurationSeconds": 600}, -60),
        ({"holderIdentity": "run", "renewTime": "2026-01-01T12:00:00Z"}, 90),
    ],
    ids=["never held", "given back", "held", "void", "the usual time if it names none"],
)
def test_seconds_left(spec: dict[str, t.Any], left: float) -> None:
    assert seconds_left(spec, NOW) == left


def holders_of(cluster: FakeCluster) -> list[str]:
    """Who it was written for, one after the other, and whether it was deleted."""
    written = [call for call in cluster.written if not call.dry_run]
    return ["deleted" if call.verb == "delete" else call.body["spec"]["holderIdentity"] for call in written]


def new_lease(cluster: FakeCluster) -> RunLease:
    return RunLease(cluster, "ovn-run", "x", {}, "me", break_lock=False)


@pytest.mark.parametrize(
    ("fails", "holders"),
    [
        (None, ["me", "deleted"]),
        (Conflict("another run has it"), ["me", "deleted"]),
        (Unreachable("away"), ["me", "deleted", ""]),
    ],
    ids=["it goes", "it is another run's", "it cannot be deleted, so it is given back"],
)
def test_a_lease_that_nobody_needs_any_more(fails: OvnError | None, holders: list[str]) -> None:
    cluster = FakeCluster()
    if fails:
        cluster.before("delete", fails)
    one = new_lease(cluster)
    assert one.acquire_or_renew("take everything away")
    held = t.cast("dict[str, t.Any]", one.held)["metadata"]
    one.delete()
    one.release()
    assert holders_of(cluster) == holders
    assert (cluster.stored("Lease", "ovn-run") is None) is (fails is None)
    (deleted,) = cluster.asked("delete")
    assert deleted.body["preconditions"] == {key: held[key] for key in ("uid", "resourceVersion")}


def test_a_run_is_named_by_time_and_process() -> None:
    assert holder_identity(NOW).startswith("2026-01-01T12:00:00Z on ")
    assert not has_ended(holder_identity(NOW))


@pytest.mark.parametrize(
    ("slept", "renewals", "expired"),
    [(0, 0, False), (89, 0, False), (91, 1, True), (3600, 1, True)],
    ids=["at once", "a moment before the end", "a moment after the end", "an hour later"],
)
def test_an_expired_lease_is_noticed_before_an_action(
    slept: float, renewals: int, expired: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    clock = [1000.0]
    monkeypatch.setattr(lease.time, "clock_gettime", lambda _clock: clock[0])
    cluster = FakeCluster()
    one = new_lease(cluster)
    with pytest.raises(Refused, match="not held any more"):
        one.check()
    one.acquire_or_renew("restart m1")
    clock[0] += slept
    with pytest.raises(Changed, match="expired before this step: restart m1") if expired else contextlib.nullcontext():
        one.check()
    assert holders_of(cluster) == ["me"] * (1 + renewals)
    one.check()  # it was told once
    assert not one.acquire_or_renew("restart m2")
    clock[0] += slept
    assert one.acquire_or_renew("restart m3") is expired  # a run that acquires it observes again, too
    one.release()


def test_who_was_overtaken_while_it_slept_may_not_act(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = [1000.0]
    monkeypatch.setattr(lease.time, "clock_gettime", lambda _clock: clock[0])
    cluster = FakeCluster()
    one = new_lease(cluster)
    one.acquire_or_renew("restart m1")
    cluster.put({**cluster.stored("Lease", "ovn-run"), "spec": {"holderIdentity": "another"}})
    clock[0] += 1000
    with pytest.raises(Refused, match="Another run acquired the Lease ovn-run"):
        lease.check_lease(one)

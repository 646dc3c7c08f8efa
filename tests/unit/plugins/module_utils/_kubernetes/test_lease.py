"""When a Lease still counts."""

from __future__ import annotations

import contextlib
import datetime
import typing as t

import pytest

from ansible_collections.c5c3.ovn.plugins.module_utils._control_node import has_ended
from ansible_collections.c5c3.ovn.plugins.module_utils._errors import Changed, Conflict, Refused, Unreachable
from ansible_collections.c5c3.ovn.plugins.module_utils._kubernetes import lease
from ansible_collections.c5c3.ovn.plugins.module_utils._kubernetes.lease import RunLease, identity, seconds_left

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


class FakeCluster:
    """Its clock stands still. `fails` is what a deletion ends with."""

    def __init__(self, fails: Exception | None) -> None:
        self.fails = fails
        self.holders: list[str] = []

    def apply(self, manifest: dict[str, t.Any], *, dry_run: bool) -> dict[str, t.Any]:
        assert dry_run
        return {"metadata": {"creationTimestamp": "2026-01-01T12:00:00Z"}}

    def get(self, *_: t.Any) -> None:
        """There is none yet."""

    def create(self, manifest: dict[str, t.Any]) -> dict[str, t.Any]:
        self.holders.append(manifest["spec"]["holderIdentity"])
        return {**manifest, "metadata": {**manifest["metadata"], "uid": "u", "resourceVersion": "1"}}

    replace = create

    def delete(self, *_: t.Any, uid: str, resource_version: str) -> bool:
        assert (uid, resource_version) == ("u", "1")
        if self.fails:
            raise self.fails
        self.holders.append("deleted")
        return True


@pytest.mark.parametrize(
    ("fails", "holders"),
    [(None, ["me", "deleted"]), (Conflict("another run has it"), ["me"]), (Unreachable("away"), ["me", ""])],
    ids=["it goes", "it is another run's", "it cannot be deleted, so it is given back"],
)
def test_a_lease_that_nobody_needs_any_more(fails: Exception | None, holders: list[str]) -> None:
    cluster = FakeCluster(fails)
    one = RunLease(t.cast(t.Any, cluster), "ovn-run", "x", {}, "me", take_over=False)
    assert one.take("take everything away")
    one.remove()
    one.release()
    assert cluster.holders == holders


def test_a_run_is_named_by_time_and_process() -> None:
    assert identity(NOW).startswith("2026-01-01T12:00:00Z on ")
    assert not has_ended(identity(NOW))


@pytest.mark.parametrize(
    ("slept", "renewals", "lapsed"),
    [(0, 0, False), (89, 0, False), (91, 1, True), (3600, 1, True)],
    ids=["at once", "a moment before the end", "a moment after the end", "an hour later"],
)
def test_before_an_act_a_lease_that_has_lapsed_is_told(
    slept: float, renewals: int, lapsed: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    clock = [1000.0]
    monkeypatch.setattr(lease, "_now", lambda: clock[0])
    cluster = FakeCluster(None)
    one = RunLease(t.cast(t.Any, cluster), "ovn-run", "x", {}, "me", take_over=False)
    with pytest.raises(Refused, match="not held any more"):
        one.check()
    one.take("restart m1")
    clock[0] += slept
    with pytest.raises(Changed, match="lapsed before this step: restart m1") if lapsed else contextlib.nullcontext():
        one.check()
    assert len(cluster.holders) == 1 + renewals
    one.check()  # it was told once
    assert not one.take("restart m2")
    clock[0] += slept
    assert one.take("restart m3") is lapsed  # who takes it looks again, too
    one.release()


def test_who_was_overtaken_while_it_slept_may_not_act(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = [1000.0]
    monkeypatch.setattr(lease, "_now", lambda: clock[0])
    cluster = FakeCluster(None)
    one = RunLease(t.cast(t.Any, cluster), "ovn-run", "x", {}, "me", take_over=False)
    one.take("restart m1")

    def conflict(_manifest: t.Any) -> t.NoReturn:
        raise Conflict("another version")

    monkeypatch.setattr(cluster, "replace", conflict)
    clock[0] += 1000
    with pytest.raises(Refused, match="Another run took the Lease ovn-run"):
        lease.check_lease(one)

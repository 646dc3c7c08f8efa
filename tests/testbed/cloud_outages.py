"""What calls of Neutron's API feel when the leader of the Northbound ends, dies, or its machine does."""

from __future__ import annotations

import contextlib
import dataclasses
import http.client
import threading
import time
import urllib.error
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from cloud_machines import CENTRALS, Failed, machines, say, ssh, wait_until
from cloud_neutron import Api, ready_api

_ALLOWED = 10.0  # seconds without an answer; 3 are the aim, and a slow host is not the matter of this proof. Without the proxy it is 15 and more
_BEFORE = 10  # calls before an outage
_AFTER = 12.0  # seconds of calls after an outage
_LONGEST = 150.0  # seconds until an outage is no longer waited for


def _leader() -> str:
    for name in CENTRALS:
        text = ssh(name, "ovs-appctl -t /run/ovn/ovnnb_db.ctl cluster/status OVN_Northbound", check=False)
        if "Role: leader" in text:
            return name
    raise Failed("No member of the Northbound leads")


def _follows(name: str) -> bool:
    text = ssh(name, "ovs-appctl -t /run/ovn/ovnnb_db.ctl cluster/status OVN_Northbound", check=False)
    return "Status: cluster member" in text and "Leader: unknown" not in text


class Call(NamedTuple):
    """A call that was acknowledged: when it began and ended (monotonic), and the network that it has created."""

    start: float
    end: float
    network: str


@dataclasses.dataclass
class Load:
    """Clients that create networks one after the other, until they are stopped."""

    api: Api
    clients: int = 2
    acknowledged: list[Call] = dataclasses.field(default_factory=list)
    failed: list[str] = dataclasses.field(default_factory=list)
    hit: float = 0.0  # when something happened (monotonic)

    def __enter__(self) -> Load:
        self._stopped = threading.Event()
        self._threads = [threading.Thread(target=self._run, args=(number,)) for number in range(self.clients)]
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, *_error: object) -> None:
        self._stopped.set()
        for thread in self._threads:
            thread.join()

    def _run(self, client: int) -> None:
        number = 0
        while not self._stopped.is_set():
            number += 1
            start = time.monotonic()
            try:
                made = self.api.create("network", name=f"load-{client}-{number}")
            except urllib.error.HTTPError as e:
                self._fail(f"{e.code} {e.read().decode()[:200]}")
            except (OSError, http.client.HTTPException) as e:  # also a reset connection is a call that failed
                self._fail(f"{type(e).__name__}: {e}")
            else:
                self.acknowledged.append(Call(start, time.monotonic(), made["id"]))

    def _fail(self, error: str) -> None:
        """A client tries again soon, unless it is stopped meanwhile."""
        self.failed.append(error)
        self._stopped.wait(0.2)

    def gap(self) -> float:
        """Return the longest time without an acknowledged call, from when something happened, in seconds; endless if none came after that."""
        ends = sorted(call.end for call in self.acknowledged if call.end > self.hit)
        return max((later - earlier for earlier, later in zip([self.hit, *ends], ends)), default=float("inf"))

    def acknowledged_since(self, start: float) -> bool:
        return any(call.end > start for call in list(self.acknowledged))

    def median(self) -> float:
        return sorted(call.end - call.start for call in self.acknowledged)[len(self.acknowledged) // 2]


def _end(leader: str) -> None:
    ssh(leader, "systemctl restart c5c3-ovn-northbound")


def _kill(leader: str) -> None:
    ssh(leader, "kill -9 $(cat /run/ovn/ovnnb_db.pid)")


def _crash(leader: str) -> None:
    machines("crash", leader)


def _cut_off(leader: str) -> None:
    machines("partition", leader)


def _restore(leader: str) -> None:
    machines("boot", leader)
    machines("heal", leader)


OUTAGES: dict[str, Callable[[str], None]] = {
    "ends": _end,
    "dies": _kill,
    "loses its power": _crash,
    "is cut off": _cut_off,
}


def _measure(api: Api, outage: str) -> tuple[str, Load]:
    """Return the leader that was hit and the calls around that. The machine runs again afterwards, and the networks of the calls are gone."""
    leader = _leader()
    with Load(api) as load:
        wait_until(lambda: len(load.acknowledged) >= _BEFORE, "the networks are not created")
        hit = load.hit = time.monotonic()
        OUTAGES[outage](leader)
        time.sleep(_AFTER)  # what is measured: the longest gap in these seconds
        with contextlib.suppress(Failed):
            wait_until(lambda: load.acknowledged_since(hit + 1), "no call is acknowledged", _LONGEST - _AFTER)
        if not load.acknowledged_since(hit + 1):
            _restore(leader)  # calls that wait come to an end
    lost = _lost(load, leader)
    _restore(leader)
    for call in load.acknowledged:
        api.call("DELETE", f"networks/{call.network}")
    if lost:
        raise Failed(
            f"{leader} {outage}: {lost} of {len(load.acknowledged)} acknowledged networks are not in the Northbound"
        )
    return leader, load


def _lost(load: Load, leader: str) -> int:
    other = next(name for name in CENTRALS if name != leader)
    switches = set(ssh(other, "ovn-nbctl --no-leader-only --bare --columns=name list Logical_Switch").split())
    return sum(f"neutron-{call.network}" not in switches for call in load.acknowledged)


def leader_death(api: Api) -> str:
    leader, load = _measure(api, "loses its power")
    if load.failed or load.gap() > _ALLOWED:
        raise Failed(
            f"{leader} lost its power, {len(load.failed)} calls failed ({', '.join(load.failed[:2])}), no answer for {load.gap():.1f} s"
        )
    return (
        f"{leader} lost its power: {len(load.acknowledged)} networks acknowledged, 0 lost, 0 calls failed; the longest time without an answer was "
        f"{load.gap():.1f} s (median of a call {load.median():.2f} s)"
    )


def outages(_folder: Path, kinds: list[str] | None = None) -> None:
    """Print the longest time without an answer for each kind of outage, or these."""
    api = ready_api()
    for outage in kinds or OUTAGES:
        leader, load = _measure(api, outage)
        say(
            f"{leader} {outage}: no answer for {load.gap():.1f} s, {len(load.acknowledged)} calls acknowledged, 0 lost, {len(load.failed)} failed, "
            f"median {load.median():.2f} s"
        )
        wait_until(lambda leader=leader: _follows(leader), f"{leader} is not back")

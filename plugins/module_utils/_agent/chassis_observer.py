# SPDX-License-Identifier: GPL-3.0-or-later
"""`c5c3-ovn.pyz chassis-observer`: an agent that died with its node leaves its OVNChassis `Ready`. This process corrects that, from one watch of all of them.

It needs the API server alone: chassis that answer heartbeats show which ones do not.
"""

from __future__ import annotations

import datetime
import os
import signal
import threading
import time
import typing as t

from .._api.chassis_status import READY, ChassisFacts, ObservedAnswer, condition_of, observe_answers, status_of_agent
from .._api.names import API_VERSION, MACHINE, chassis_labels, label_selector
from .._base.errors import Conflict, InvalidInput, OvnError
from .answer_watch import DEFAULT_INTERVAL
from .api_client import Api, Mirror, Object
from .heartbeat_sender import grace, round_pause
from .process import Log, RunningArchive

_PATH = f"/apis/{API_VERSION}/ovnchassis"
_SILENT = ChassisFacts(True, False, None, None)


class ChassisObserver:
    """Follows the OVNChassis of the nodes of one OVNCluster. `interval`: seconds between two heartbeats, 0 if the observer of the control plane sends none."""

    def __init__(self, api: Api, name: str, namespace: str, interval: float, log: Log) -> None:
        self.pause = round_pause(interval) / 4
        self._api, self._log = api, log
        self._interval, self._grace = interval or DEFAULT_INTERVAL, grace(interval)
        # No agent keeps the OVNChassis of a machine.
        query = {"labelSelector": f"{label_selector(chassis_labels(name, namespace))},!{MACHINE}"}
        self.mirror = Mirror(api, _PATH, query, lambda: None, log.report_error)
        self._answers: dict[str, ObservedAnswer] = {}

    def write_late(self, now: float) -> None:
        """Write the status of each chassis that is `Ready` and does not answer. `now`: seconds of a monotonic clock."""
        objects = self.mirror.objects or {}
        statuses = {name: one.get("status") or {} for name, one in objects.items()}
        heartbeats = {name: status["lastHeartbeat"] for name, status in statuses.items() if status.get("lastHeartbeat")}
        self._answers = observe_answers(self._answers, heartbeats, now, self._interval)
        for name, answer in self._answers.items():
            if answer.is_late(now, self._grace) and condition_of(statuses[name], READY).get("status") == "True":
                self._write(objects[name])

    def _write(self, resource: Object) -> None:
        """Write this status, but only over the version that was judged: what an agent or a run has written since is newer."""
        metadata = resource["metadata"]
        status = status_of_agent(
            resource["status"],
            _SILENT,
            generation=metadata.get("generation", 1),
            now=datetime.datetime.now(datetime.timezone.utc),
            stale=datetime.timedelta(0),
        )
        body = {"metadata": {"resourceVersion": metadata["resourceVersion"]}, "status": status}
        subject = f"status of OVNChassis {metadata['name']}"
        try:
            written = self._api.patch(f"{_PATH}/{metadata['name']}/status", body)
        except Conflict:
            return
        except OvnError as e:
            self._log.report_error(subject, e)
            return
        self._log.report_error(subject, None)
        if written is not None:
            self._log.info(f"{metadata['name']} does not answer heartbeats")
            self.mirror.put(written)


def main(_arguments: t.Sequence[str]) -> int:
    environment, log, archive, stop = os.environ, Log("chassis observer"), RunningArchive(), threading.Event()
    try:
        api, name, namespace = (
            Api.of_this_pod(environment),
            environment["OVN_CLUSTER_NAME"],
            environment["OVN_NAMESPACE"],
        )
        observer = ChassisObserver(api, name, namespace, float(environment["OVN_HEARTBEAT_SECONDS"]), log)
    except (KeyError, InvalidInput) as e:
        log.info(f"{e} is not set" if isinstance(e, KeyError) else str(e))
        return 2
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda _number, _frame: stop.set())
    observer.mirror.start()
    while not stop.wait(observer.pause):
        if archive.is_replaced():
            archive.restart()
        observer.write_late(time.monotonic())
    return 0

# SPDX-License-Identifier: GPL-3.0-or-later
"""`c5c3-ovn.pyz northd`: runs beside ovn-northd and labels its own pod while that northd is the active one. Only northd's control socket
reports that; the owner of its lock in the Southbound database cannot be read.
"""

from __future__ import annotations

import glob
import os
import signal
import threading
import typing as t

from .._api.names import NORTHD, label_patch
from .._base.deadline import Deadline
from .._base.errors import InvalidInput, OvnError, Unreachable
from .._ovsdb.server import appctl
from .api_client import Api
from .process import Log, RunningArchive

_CONTROL_SOCKETS = "/run/ovn/ovn-northd*.ctl"
_EVERY = 1.0  # a request over a unix socket costs northd nothing
_RECHECK = 15.0  # of the own pod, in case another client has changed the label


def is_active(pattern: str) -> bool:
    """Return whether the northd of this pod reports that it is active; `OvnError` if it does not run or does not respond."""
    sockets = glob.glob(pattern)
    if not sockets:
        raise Unreachable(f"There is no control socket {pattern}: ovn-northd does not run.")
    newest = max(sockets, key=_changed_at)  # its name contains the process id: sockets of earlier processes may be left
    return appctl(newest, "status", deadline=Deadline(2)).strip() == "Status: active"


def _changed_at(path: str) -> float:
    try:
        return os.stat(path).st_mtime
    except OSError:
        return 0.0


class OwnLabel:
    """The label on the own pod. One request per change, and one every 15 s to check it."""

    def __init__(self, api: Api, namespace: str, pod: str) -> None:
        self._api = api
        self._path = f"/api/v1/namespaces/{namespace}/pods/{pod}"
        self._known: bool | None = None
        self._checked = Deadline(0)

    def set(self, desired: bool) -> None:
        if self._known is None or self._checked.expired:
            pod = self._api.get(self._path)
            if pod is None:
                return  # deleted: this process ends soon
            self._known = (pod["metadata"].get("labels") or {}).get(NORTHD) == "true"
            self._checked = Deadline(_RECHECK)
        if self._known != desired:
            self._known = None  # until the API server has confirmed it
            self._api.patch(f"{self._path}/status", label_patch(NORTHD, desired))
            self._known = desired


def run(label: OwnLabel, pattern: str, stop: threading.Event, log: Log, archive: RunningArchive) -> None:
    """Keep the label up to date until `stop`, then remove it. If the archive is replaced, the new code takes over with the label as it is."""
    pause = _EVERY
    while not stop.is_set():
        try:
            active = is_active(pattern)
            log.report_error("northd", None)
        except OvnError as e:
            active = False
            log.report_error("northd", e)
        try:
            label.set(active)
            log.report_error("label", None)
            pause = _EVERY
        except OvnError as e:
            log.report_error("label", e)
            pause = min(pause * 2, 10)
        if archive.is_replaced():
            archive.restart()
        stop.wait(pause)
    try:
        label.set(False)
    except OvnError as e:
        log.report_error("label", e)


def main(arguments: t.Sequence[str]) -> int:
    environment = os.environ
    log, archive = Log("northd"), RunningArchive()
    try:
        label = OwnLabel(Api.of_this_pod(environment), environment["OVN_NAMESPACE"], environment["OVN_POD"])
    except (KeyError, InvalidInput) as e:
        log.info(f"{e} is not set" if isinstance(e, KeyError) else str(e))
        return 2
    stop = threading.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda _number, _frame: stop.set())
    run(label, environment.get("OVN_CONTROL_SOCKET", _CONTROL_SOCKETS), stop, log, archive)
    return 0

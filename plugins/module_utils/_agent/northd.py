# Copyright: (c) 2026, C5C3 contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""PRIVATE to the collection: may change at any time.

`c5c3-ovn.pyz northd`: runs beside ovn-northd and labels its own pod while that northd is the active one. Only northd's control socket
tells; its lock in the Southbound database cannot be asked for.
"""

from __future__ import annotations

import glob
import os
import signal
import threading
import typing as t

from .._api.leader_labels import NORTHD, label_patch
from .._deadline import Deadline
from .._errors import InvalidInput, OvnError, Unreachable
from .._ovsdb.unixctl import appctl
from .api_client import Api
from .log import Log
from .self_update import RunningArchive

_CONTROL_SOCKETS = "/run/ovn/ovn-northd*.ctl"
_EVERY = 1.0  # a question over a unix socket costs northd nothing
_LOOK = 15.0  # at the own pod, in case somebody else touched the label


def is_active(pattern: str) -> bool:
    """Whether the northd of this pod says that it is active. One that hangs or is gone is not."""
    sockets = glob.glob(pattern)
    if not sockets:
        raise Unreachable(f"There is no control socket {pattern}: ovn-northd does not run.")
    newest = max(sockets, key=_changed_at)  # its name holds the process id: old ones may be left over
    return appctl(newest, "status", deadline=Deadline(2)).strip() == "Status: active"


def _changed_at(path: str) -> float:
    try:
        return os.stat(path).st_mtime
    except OSError:
        return 0.0


class OwnLabel:
    """The label on the own pod. One request per change, and a look now and then."""

    def __init__(self, api: Api, namespace: str, pod: str) -> None:
        self._api = api
        self._path = f"/api/v1/namespaces/{namespace}/pods/{pod}"
        self._known: bool | None = None
        self._checked = Deadline(0)

    def set(self, wanted: bool) -> None:
        if self._known is None or self._checked.expired:
            pod = self._api.get(self._path)
            if pod is None:
                return  # deleted: this process ends soon
            self._known = pod["metadata"].get("labels", {}).get(NORTHD) == "true"
            self._checked = Deadline(_LOOK)
        if self._known != wanted:
            self._known = None  # until the answer came
            self._api.patch(self._path, label_patch(NORTHD, wanted))
            self._known = wanted


def run(label: OwnLabel, pattern: str, stop: threading.Event, log: Log, program: RunningArchive) -> None:
    """Until `stop`; then the label is taken off. Or until the program is replaced: whoever goes on finds the label as it is."""
    pause = _EVERY
    while not stop.is_set():
        try:
            active = is_active(pattern)
            log.trouble("northd", None)
        except OvnError as e:
            active = False
            log.trouble("northd", e)
        try:
            label.set(active)
            log.trouble("label", None)
            pause = _EVERY
        except OvnError as e:
            log.trouble("label", e)
            pause = min(pause * 2, 10)
        if program.replaced():
            program.start_again()
        stop.wait(pause)
    try:
        label.set(False)
    except OvnError as e:
        log.trouble("label", e)


def main(arguments: t.Sequence[str]) -> int:
    environment = os.environ
    log, program = Log("northd"), RunningArchive()
    try:
        label = OwnLabel(Api.of_this_pod(environment), environment["OVN_NAMESPACE"], environment["OVN_POD"])
    except (KeyError, InvalidInput) as e:
        log.say(f"{e} is not set" if isinstance(e, KeyError) else str(e))
        return 2
    stop = threading.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda _number, _frame: stop.set())
    run(label, environment.get("OVN_CONTROL_SOCKET", _CONTROL_SOCKETS), stop, log, program)
    return 0

# SPDX-License-Identifier: GPL-3.0-or-later
"""What the observers of Kubernetes and of machines have in common: one loop that assesses and writes what the threads of `ControlPlaneWatch` observe."""

from __future__ import annotations

import signal
import threading
import typing as t

from .._api.observer_settings import CertificateFiles, Intervals
from .._base.errors import InvalidInput
from .._ovsdb.endpoint import Endpoint
from .._ovsdb.tls_files import TlsFiles
from .control_plane_watch import ControlPlaneWatch
from .heartbeat_sender import round_pause
from .process import Log, RunningArchive, as_ovn_error

_SOON = 1.0  # while a state may be transient or a write has failed
_GATHER = 0.1  # for further events of one cause


class ObserverLoop:
    """Runs until it is stopped, or its archive is replaced."""

    def __init__(
        self,
        endpoints: t.Mapping[str, t.Sequence[Endpoint]],
        tls: TlsFiles,
        certificate_files: CertificateFiles,
        intervals: Intervals,
        schemas: str,
        log: Log,
        archive: RunningArchive,
        relays: t.Sequence[Endpoint] = (),
    ) -> None:
        self.log = log
        self._archive = archive
        self._pause = round_pause(intervals.heartbeats)
        self._wake, self._stop = threading.Event(), threading.Event()
        self.watch = ControlPlaneWatch(
            endpoints, tls, certificate_files, intervals, schemas, self._wake.set, log.report_error, relays
        )

    @property
    def stopped(self) -> bool:
        return self._stop.is_set()

    def stop(self) -> None:
        self._stop.set()
        self._wake.set()

    def run(self) -> None:
        self._start_threads()
        self.watch.wait_for_first_answers(self._wake, self._stop)
        while not self.stopped and not self._archive.is_replaced():
            try:
                settled = self._round()
                self.log.report_error("round", None)
            except Exception as e:  # also for a bug: the next round may work
                self.log.report_error("round", as_ovn_error(e))
                settled = False
            self._after_round()
            self._wake.wait(self._pause if settled else _SOON)
            self._wake.clear()
            self._stop.wait(_GATHER)
        self._stop_threads()

    def _start_threads(self) -> None:
        self.watch.start()

    def _stop_threads(self) -> None:
        self.watch.stop()

    def _round(self) -> bool:
        """Assess and write; return False if another round is needed soon."""
        raise NotImplementedError

    def _after_round(self) -> None:
        """Do what does not depend on whether the round worked."""


def run_observer(create: t.Callable[[Log, RunningArchive], ObserverLoop]) -> int:
    """Run an observer until a signal and return the exit code: 2 if its settings are wrong. With another archive the process goes on with that one."""
    log, archive = Log("observer"), RunningArchive()
    try:
        observer = create(log, archive)
    except InvalidInput as e:
        log.info(str(e))
        return 2
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda _number, _frame: observer.stop())
    observer.run()
    if not observer.stopped:
        archive.restart()
    return 0

# SPDX-License-Identifier: GPL-3.0-or-later
"""`c5c3-ovn.pyz host-observer`: the observer of a control plane on machines, on each central host. It sends heartbeats, unless another one just has, and
keeps a file with the status and one with metrics up to date, between runs and without them. It repairs nothing.
"""

from __future__ import annotations

import datetime
import json
import os
import time
import typing as t

from .._api.observer_settings import CertificateFiles, Intervals, endpoints_of, needed
from .._api.status import machines_status
from .._base.databases import DATABASES, OVSDB_ELECTION_TIMER
from .._base.errors import OvnError
from .._daemons.schema_update import FOLDER
from .._ovsdb.endpoint import Endpoint
from .._ovsdb.tls_files import TlsFiles
from .._raft.record_dir import read_record
from .._raft.verdict import Verdict
from .observer_loop import ObserverLoop, run_observer
from .process import Log, RunningArchive, replace_file

_RECORD_EVERY = 15.0


class HostObserverSettings(t.NamedTuple):
    """From the environment: `records` are the directories of the state records, `election_timer` is in milliseconds."""

    endpoints: t.Mapping[str, t.Sequence[Endpoint]]
    records: t.Mapping[str, str]
    tls: TlsFiles
    certificate_files: CertificateFiles
    status_file: str
    metrics_file: str
    election_timer: int
    intervals: Intervals

    @classmethod
    def of(cls, environment: t.Mapping[str, str]) -> HostObserverSettings:
        return cls(
            endpoints=endpoints_of(environment),
            records={name: needed(environment, f"OVN_{name.upper()}_RECORD") for name in DATABASES},
            tls=TlsFiles.of_environment(environment),
            certificate_files=CertificateFiles.of(environment),
            status_file=needed(environment, "OVN_STATUS_FILE"),
            metrics_file=needed(environment, "OVN_METRICS_FILE"),
            election_timer=int(environment.get("OVN_ELECTION_TIMER", OVSDB_ELECTION_TIMER)),
            intervals=Intervals.of(environment),
        )


class HostObserver(ObserverLoop):
    """Writes files, and reads the records beside them."""

    def __init__(self, settings: HostObserverSettings, log: Log, archive: RunningArchive) -> None:
        super().__init__(
            settings.endpoints, settings.tls, settings.certificate_files, settings.intervals, FOLDER, log, archive
        )
        self.settings = settings
        self._status: dict[str, t.Any] = {}
        self._cluster_ids: dict[str, str | None] = dict.fromkeys(DATABASES)
        self._records_read_at = -_RECORD_EVERY

    def _round(self) -> bool:
        self._read_records()
        verdicts: dict[str, Verdict] = {}
        settled = True
        for name in DATABASES:
            verdicts[name], current = self.watch.assess(name, self._cluster_ids[name], self.settings.election_timer)
            settled &= current and not self.watch.is_unsettled(name)
        self._status = machines_status(
            previous=self._status,
            verdicts=verdicts,
            endpoints={name: ",".join(map(str, self.settings.endpoints[name])) for name in DATABASES},
            chassis=self.watch.count_chassis(),
            certificates=self.watch.certificates,
            claims=self.watch.conflicts,
            now=datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ"),
        )
        _write(self.settings.status_file, json.dumps(self._status, indent=1) + "\n")
        _write(self.settings.metrics_file, self.watch.metrics(self._status))
        return settled

    def _read_records(self) -> None:
        """Read the cluster ids, at most every 15 s: a server of another cluster is none of ours."""
        now = time.monotonic()
        if now - self._records_read_at < _RECORD_EVERY:
            return
        self._records_read_at = now
        for name, path in self.settings.records.items():
            try:
                record = read_record(path, name)
                self._cluster_ids[name] = record.cid if record else None
                self.log.report_error(f"record of {name}", None)
            except OvnError as e:
                self.log.report_error(f"record of {name}", e)


def _write(path: str, text: str) -> None:
    try:
        replace_file(path, text)
    except OSError as e:
        raise OvnError(
            f"{path} cannot be written: {(e.strerror or str(e)).lower()}. Create its directory, or name another one."
        ) from e


def main(_arguments: t.Sequence[str]) -> int:
    return run_observer(lambda log, archive: HostObserver(HostObserverSettings.of(os.environ), log, archive))

# SPDX-License-Identifier: GPL-3.0-or-later
"""Keeps the status of one node's OVNChassis true between runs: whether its ovn-controller is registered and answers heartbeats, when it did last, and
whether the datapath loses packets.

While it answers, that costs one small PATCH for each heartbeat, and nothing else leaves the node. The Southbound database is asked only if an answer
does not come, or about a chassis that is not ready.
"""

from __future__ import annotations

import datetime
import json
import os
import time
import typing as t

from .._api.chassis_settings import HEARTBEAT
from .._api.chassis_status import (
    READY,
    REGISTERED,
    ChassisFacts,
    condition_of,
    judge_datapath_condition,
    status_of_agent,
    with_datapath,
)
from .._api.names import API_VERSION
from .._base.deadline import Deadline
from .._base.errors import Conflict, InvalidInput, OvnError, Refused
from .._chassis import external_ids
from .._chassis.database import DATABASE
from .._chassis.datapath import DatapathWatch
from .._chassis.lookup import ask_any, read_rows, spread
from .._chassis.operations import ROOT
from .._chassis.registration import LocalChassis, chassis_of, unregistered
from .._chassis.southbound_rows import ANY_ROW, IDENTITY, chassis_rows, conditions_of, last_heartbeat
from .._chassis.text import read_servers
from .._kubernetes.timestamps import time_of
from .._ovsdb.endpoint import Endpoint, parse_endpoints
from .._ovsdb.rows import decode, transact
from .._ovsdb.tls_files import TlsFiles
from .._ovsdb.wire import Connection
from .answer_watch import DEFAULT_INTERVAL, AnswerWatch, LocalAnswer, local_answer
from .api_client import Api, Object
from .heartbeat_sender import round_pause
from .process import Log, StoppableThread, as_ovn_error

_PATH = f"/apis/{API_VERSION}/ovnchassis"
_TIMEOUT = 10.0
_DATAPATH_TIMEOUT = 5.0  # for an answer of ovs-vswitchd: a frozen one must not keep the heartbeat waiting
_COLUMNS = {**IDENTITY, "SB_Global": ["nb_cfg"]}


class _Node(t.NamedTuple):
    """What the database of the node says: the settings of the chassis, and the last heartbeat that ovn-controller has answered."""

    settings: t.Mapping[str, str]
    answer: LocalAnswer


class ChassisHeartbeat(StoppableThread):
    """Writes the status of OVNChassis `node` as long as the settings in `folder` tell agents to. `connect` returns the API server."""

    def __init__(
        self, node: str, folder: str, database: Endpoint, tls: TlsFiles, log: Log, connect: t.Callable[[], Api]
    ) -> None:
        super().__init__("heartbeat of the chassis")
        self._node, self._folder, self._database, self._tls, self._log = node, folder, database, tls, log
        self._connect = connect
        self._watch = AnswerWatch()
        self._resource: Object = None  # the OVNChassis as it was read or written last
        self._next_read = 0.0
        self._datapath_watch: DatapathWatch | None = None
        self._datapath: tuple[str, str, str] | None = None  # status, reason and message; None: not known yet
        self._next_reading = 0.0  # of the datapath

    def run(self) -> None:
        while not self._stopped.is_set():
            interval: float | None = DEFAULT_INTERVAL
            try:
                interval = read_interval(self._folder)
                if interval is not None and self._look(interval):
                    self._log.report_error("status of the OVNChassis", None)
                pause = self._watch.pause(round_pause(interval or 0), time.monotonic())
            except Exception as e:  # also for a bug: the thread must go on
                self._log.report_error("status of the OVNChassis", as_ovn_error(e))
                pause = (
                    interval or DEFAULT_INTERVAL
                ) / 2  # a thousand of them must not keep an API server from its recovery
            self._stopped.wait(pause)

    def _look(self, interval: float) -> bool:
        """Return whether the status is true now, or there is none to write. If it is too early to ask again, an error of before is not over."""
        node = self._read_node()
        self._read_datapath(interval)
        for _attempt in range(2):
            if self._resource is None:
                if time.monotonic() < self._next_read:
                    return False
                self._next_read = time.monotonic() + (interval or DEFAULT_INTERVAL)
                self._resource = self._read_resource()
                if self._resource is None:
                    return True
            try:
                facts = self._facts(node, interval)
                if self._resource is not None:
                    self._write(facts, interval)
                return facts is not None
            except Conflict:  # with a run, or whoever has changed the specification: judged again by what is there now
                self._resource, self._next_read = None, 0.0
        return False

    def _read_datapath(self, interval: float) -> None:
        """Judge the datapath, once in an interval."""
        if time.monotonic() < self._next_reading:
            return
        self._next_reading = time.monotonic() + (interval or DEFAULT_INTERVAL)
        if self._datapath_watch is None:
            self._datapath_watch = DatapathWatch(str(self._database), _DATAPATH_TIMEOUT, is_settled=False)
        else:
            self._datapath = judge_datapath_condition(self._datapath_watch.read_facts()) or self._datapath

    def _read_node(self) -> _Node:
        with Connection(self._database, TlsFiles(), Deadline(_TIMEOUT)) as connection:
            selects = [
                {"op": "select", "table": ROOT, "where": [], "columns": ["external_ids"]},
                {"op": "select", "table": "Bridge", "where": [], "columns": ["name", "external_ids"]},
            ]
            roots, bridges = ([*answer["rows"]] for answer in transact(connection, DATABASE, selects))
        settings = external_ids.settings_in_use(decode(roots[0]["external_ids"]) if roots else {})
        name = external_ids.integration_bridge(settings)
        ids: t.Mapping[str, str] = next(
            (decode(bridge["external_ids"]) for bridge in bridges if bridge["name"] == name), {}
        )
        return _Node(settings, local_answer(ids))

    def _read_resource(self) -> Object:
        return self._connect().get(f"{_PATH}/{self._node}/status")

    def _facts(self, node: _Node, interval: float) -> ChassisFacts | None:
        """Return what is known now, None if it is to be asked for later."""
        beat = time_of(round(node.answer.at * 1000))
        ready = condition_of(self._resource.get("status") or {}, READY)
        is_ready = (ready.get("status"), ready.get("reason")) == ("True", REGISTERED)
        if is_ready and self._watch.is_fresh(node.answer, interval, time.time()):
            return ChassisFacts(True, True, beat, None)
        now = time.monotonic()
        if not self._watch.must_ask(node.answer, now):
            return None
        self._resource = self._read_resource()  # what was read is old, and a run may have written since
        if self._resource is None:
            return None
        unknown = ChassisFacts(None, None, beat, None)
        try:
            local, endpoints = self._prepare(node.settings)
        except OvnError as e:
            self._watch.postpone(interval, now)
            return unknown._replace(unprepared=str(e))
        try:
            problem, latest = self._ask(local, endpoints)
        except OvnError as e:
            self._watch.postpone(interval, now)
            return unknown._replace(unreachable=str(e))
        alive = self._watch.is_alive(latest, interval, now)
        return None if alive is None else ChassisFacts(problem is None, alive, beat, None)

    def _prepare(self, settings: t.Mapping[str, str]) -> tuple[LocalChassis, list[Endpoint]]:
        """Return what to ask the Southbound database about, and where; `OvnError` if this node lacks something for that."""
        local = chassis_of(settings)
        endpoints = parse_endpoints(read_servers(settings.get(external_ids.REMOTE, "")))
        if not endpoints:
            raise Refused(f"Chassis {local.name or self._node} has no ovn-remote yet: the agent is about to write it.")
        if any(endpoint.scheme == "ssl" for endpoint in endpoints):
            from .._ovsdb.tls import client_context

            client_context.cache_clear()  # certificates are renewed while this process runs
            client_context(self._tls)
        return local, endpoints

    def _ask(self, local: LocalChassis, endpoints: t.Sequence[Endpoint]) -> tuple[str | None, int]:
        """Return what the registration of the chassis lacks, and the last heartbeat, as the Southbound database has them."""

        def ask(connection: Connection) -> tuple[str | None, int]:
            tables = read_rows(connection, {**conditions_of(local.name), "SB_Global": [ANY_ROW]}, _COLUMNS)
            rows = chassis_rows(lambda table: tables[table])
            return unregistered(local, rows.values()), last_heartbeat(lambda table: tables[table])

        return ask_any(spread(endpoints, local.name), self._tls, Deadline(_TIMEOUT), ask)

    def _write(self, facts: ChassisFacts | None, interval: float) -> None:
        """Write the status if it differs, but only if the object is still the one that was read: `Conflict` otherwise. Without facts only the datapath's."""
        metadata, previous = self._resource["metadata"], self._resource.get("status") or {}
        generation, now = metadata.get("generation", 1), datetime.datetime.now(datetime.timezone.utc)
        status = previous
        if facts is not None:
            stale = datetime.timedelta(seconds=(interval or DEFAULT_INTERVAL) / 2)
            status = status_of_agent(previous, facts, generation=generation, now=now, stale=stale)
        if self._datapath is not None:
            status = with_datapath(status, self._datapath, generation=generation, now=now)
        if {**previous, **status} == previous:
            return
        version = {"resourceVersion": metadata["resourceVersion"]}
        self._resource = self._connect().patch(f"{_PATH}/{self._node}/status", {"metadata": version, "status": status})


def read_interval(folder: str) -> float | None:
    """Return the seconds between two heartbeats, 0 if the observer sends none; None if the agent may not write the status."""
    path = os.path.join(folder, HEARTBEAT)
    try:
        with open(path, encoding="utf-8") as file:
            return float(json.load(file)["interval"])
    except FileNotFoundError:
        return None
    except (OSError, ValueError, TypeError, KeyError) as e:
        raise InvalidInput(f"{path} cannot be read: {e!r}. A run of c5c3.ovn.hypervisors writes it.") from e

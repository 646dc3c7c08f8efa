# SPDX-License-Identifier: GPL-3.0-or-later
"""What ovn_central_info asks on one machine: northd, both database servers, and those of interconnection if there are any. Everything is read.

A control plane of others may be known by its endpoints alone: kube-ovn's is asked from any machine that reaches them.
"""

from __future__ import annotations

import functools
import os
import pathlib
import typing as t

from .._base.databases import DATABASE_NAMES, INTERCONNECTION, STEMS, Database
from .._base.errors import OvnError
from .._daemons.central_host import ask_database, await_northd, northd_socket
from .._ovsdb.endpoint import Endpoint, parse_endpoints
from .._ovsdb.tls_files import TlsFiles
from .._raft.status import Expected, Source, examine, source_of_places, source_of_schema

Params = t.Mapping[str, t.Any]
Question = t.Callable[[], t.Any]
Sources = t.Callable[[Database], Source]
NOT_ASKED = "not asked: only endpoints of the databases are known"


class CentralQuestions:
    """The options of ovn_central_info as one machine takes them."""

    def __init__(self, params: Params, tls: TlsFiles) -> None:
        self.params, self.tls = params, tls
        self.directory, self.seconds = str(params["run_directory"]), float(params["timeout"])
        self.raft: Params = params["raft"] or {}
        self.name = str(self.raft.get("member") or os.uname().nodename)

    def _socket(self, stem: str, kind: str = "ctl") -> str:
        return f"{self.directory}/{stem}.{kind}"

    def _endpoints(self, database: str) -> list[Endpoint]:
        """Return the endpoints by which this database is asked, none if its socket answers for it."""
        given = (self.raft.get("endpoints") or {}).get(database) or []
        here = not self.raft.get("only_endpoints") and pathlib.Path(self._socket(STEMS[database])).exists()
        return [] if here else parse_endpoints(given)

    def source(self, database: Database) -> Source:
        """Return how the members of a database are asked."""
        endpoints = self._endpoints(database)
        sockets = {} if endpoints else {self.name: self._socket(STEMS[database])}
        return source_of_places(database, sockets, endpoints, self.tls)

    def questions(self) -> dict[str, Question]:
        """Return the questions to northd and both servers, by their key in the result."""
        if self.raft.get("only_endpoints"):
            northd = {"state": "unreachable", "northbound_connected": None, "southbound_connected": None}
            unknown = {"version": "", "schema_version": "", "reason": NOT_ASKED}
            return {
                "northd": lambda: {**northd, "version": "", "present": False, "reason": NOT_ASKED},
                **dict.fromkeys(STEMS, lambda: dict(unknown)),
            }
        socket = self.params["northd_control_socket"] or northd_socket(self.directory)
        asked: dict[str, Question] = {
            "northd": functools.partial(await_northd, socket, self.seconds, self.params["wait_timeout"])
        }
        for database, stem in STEMS.items():
            place = Endpoint("unix", self._socket(stem, "sock"))
            asked[database] = functools.partial(ask_database, database, self._socket(stem), place, self.seconds)
        return asked

    def interconnection(self) -> dict[str, Question]:
        """Return the questions to the servers of interconnection that have a socket here, by their database."""
        if not self.raft or self.raft.get("only_endpoints"):
            return {}
        found: dict[str, Question] = {}
        for database, (schema, stem) in INTERCONNECTION.items():
            if pathlib.Path(self._socket(stem)).exists():
                source = source_of_schema(schema, {self.name: self._socket(stem)}, [], TlsFiles())
                found[database] = functools.partial(ask_members, source, Expected(None), self.seconds, None)
        return found


def ask_members(source: Source, expected: Expected, timeout: float, contents: float | None) -> dict[str, t.Any]:
    """Return the result of ovn_raft_status, or why there is none. `contents`: seconds to read them, None leaves them out."""
    try:
        return examine(source, expected, timeout, contents).as_dict()
    except OvnError as e:
        return {**e.as_result(), "failed": True}


def is_recorded(record_directory: str) -> bool:
    """Return whether this collection has written a state record here: then the control plane is ours."""
    return any(os.path.lexists(f"{record_directory}/{database}") for database in DATABASE_NAMES)

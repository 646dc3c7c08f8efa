# SPDX-License-Identifier: GPL-3.0-or-later
"""`c5c3-ovn.pyz chassis`: keeps the Open vSwitch settings of one node as the ConfigMap `ovn-chassis` says, by the rules of ovn_chassis.

Between changes it waits in a request to the local database server, which answers as soon as another client changes the settings.
"""

from __future__ import annotations

import contextlib
import functools
import json
import os
import signal
import sys
import time
import typing as t

from .._api.chassis_settings import DEFAULT, Settings, checked, options_of, settings_of
from .._base.deadline import Deadline
from .._base.errors import Conflict, InvalidInput, OvnError, Refused, TimedOut
from .._chassis import external_ids, ownership
from .._chassis.addresses import node_addresses
from .._chassis.bridges import refuse_missing_devices, refuse_port_errors
from .._chassis.database import DATABASE, LocalDatabase
from .._chassis.lookup import look_up
from .._chassis.operations import ROOT
from .._chassis.plan import ChassisPlan, ObservedChassis, desired_chassis, diff_of, make_plan
from .._chassis.provider_networks import read_network_warnings
from .._chassis.registration import chassis_of, clash_with
from .._machine.proc import foreign_control_sockets, read_listening
from .._ovsdb.endpoint import Endpoint, parse_endpoints
from .._ovsdb.rows import decode, transact
from .._ovsdb.tls_files import TlsFiles
from .api_client import Api
from .chassis_heartbeat import ChassisHeartbeat
from .node_certificate import NodeCertificate, discard_certificate
from .process import Log, file_state, replace_file

_SLEEP = 5.0  # seconds between checks of the mounted files (their change times) if the database reports no change
_AGAIN = 5.0  # before another attempt after a refusal or while a server is away
_TIMEOUT = 10.0
_APPLIED = 30.0  # for ovs-vswitchd
_WATCHED = ["external_ids", "other_config", "bridges"]
# A change of these can clash with another chassis.
_IDENTITY = {external_ids.SYSTEM_ID, external_ids.REMOTE, external_ids.ENCAP_TYPE, external_ids.ENCAP_IP}


class AgentPaths(t.NamedTuple):
    """The paths and endpoints of the agent, from its environment."""

    node: str
    node_ip: str
    settings: str
    database: Endpoint
    run: str
    tls: TlsFiles
    node_tls: str = ""  # folder of the node's own key and certificate; empty if nodes share one
    issuer: str = ""  # the CA (PEM) that signs these
    unused_tls: str = ""  # that folder if nodes share a certificate

    @classmethod
    def of(cls, environment: t.Mapping[str, str]) -> AgentPaths:
        for key in ("OVN_NODE", "OVN_SETTINGS_DIR", "OVS_RUNDIR", "OVN_RUNDIR"):
            if not environment.get(key):
                raise InvalidInput(f"{key} is not set. Set it in the environment of this container.")
        return cls(
            environment["OVN_NODE"],
            environment.get("OVN_NODE_IP", ""),
            environment["OVN_SETTINGS_DIR"],
            Endpoint("unix", f"{environment['OVS_RUNDIR']}/db.sock"),
            environment["OVN_RUNDIR"],
            TlsFiles.of_environment(environment),
            environment.get("OVN_NODE_TLS_DIR", ""),
            environment.get("OVN_NODE_TLS_ISSUER", ""),
            environment.get("OVN_UNUSED_TLS_DIR", ""),
        )

    def read(self) -> Settings:
        """Return the settings of this node; `InvalidInput` or `Refused` if they cannot be read."""
        default = self._file(DEFAULT)
        if default is None:
            raise Refused(f"{self.settings}/{DEFAULT} is not there: the ConfigMap has no settings yet.")
        return settings_of(default, self._file(self.node) or {})

    def _file(self, name: str) -> Settings | None:
        path = f"{self.settings}/{name}"
        try:
            with open(path, encoding="utf-8") as file:
                return checked(json.load(file), path)
        except FileNotFoundError:
            return None
        except (OSError, ValueError) as e:
            raise InvalidInput(f"{path} cannot be read: {e}.") from e


class ChassisAgent:
    """Applies a node's settings to its database. Other processes wait for files in `run`: `settled`, `agent.ready`, `agent.trouble`."""

    def __init__(self, paths: AgentPaths, log: Log, certificate: NodeCertificate | None = None) -> None:
        self.paths = paths
        self.log = log
        self.certificate = certificate
        self._settled = False

    def run(self, archive: str) -> t.NoReturn:
        """Run until a signal, or until the file `archive` is replaced: then execute the new code."""
        started = file_state(archive)
        while file_state(archive) == started:
            files = self._files()
            try:
                trouble = self._ensure_certificate()
                with LocalDatabase(self.paths.database, TlsFiles(), _TIMEOUT, {}) as database:
                    row = _row(database)
                    self._settle_if_known(row)
                    changed = self.attempt()
                    self.log.report_error("settings", None)
                    self._show(trouble)
                    # A change of another client from here on differs from `row`. After a change of our own it is read again.
                    while not changed and self._files() == files and file_state(archive) == started:
                        changed = _await_change(database, row, _SLEEP)
                        self._show(self._ensure_certificate())
            except OvnError as e:
                self._report(e)
                time.sleep(_AGAIN)
        self.log.info("new code: starting again")
        os.execv(sys.executable, [sys.executable, *sys.argv])

    def _ensure_certificate(self) -> str:
        """Raise an error while the node has no certificate: ovn-controller would not connect. Return what is wrong with one that works if it cannot wait."""
        if self.certificate is None:
            return ""
        self.certificate.ensure(str(self._options(self.paths.read())["system_id"]))
        problem = self.certificate.problem
        self.log.report_error("renewal of the certificate", Refused(problem) if problem else None)
        return problem if self.certificate.is_urgent else ""

    def _files(self) -> tuple[t.Any, ...]:
        """Return the state of everything that the settings depend on, as far as it is cheap to read."""
        files = [file_state(f"{self.paths.settings}/{name}") for name in (DEFAULT, self.paths.node)]
        return (*files, self._address_of_tunnels())

    def _address_of_tunnels(self) -> str | None:
        """Return the tunnel address if it is looked up on network devices, whose addresses may change, else None."""
        try:
            settings = self.paths.read()
            encapsulation = settings.get("encapsulation") or {}
            if not (encapsulation.get("interface") or encapsulation.get("cidr")):
                return None
            return str(self._options(settings)["encapsulation"]["ip"])
        except OvnError:
            return None

    def _options(self, settings: Settings) -> Settings:
        return options_of(settings, node=self.paths.node, node_ip=self.paths.node_ip, addresses=node_addresses)

    def _settle_if_known(self, row: t.Mapping[str, t.Any]) -> None:
        """Let ovn-controller start on a node that was set up before, without waiting for the Southbound database."""
        keys = decode(row["external_ids"])
        if ownership.KEY in keys and all(key in keys for key in _IDENTITY):
            self._settle()

    def _settle(self) -> None:
        if not self._settled:
            replace_file(f"{self.paths.run}/settled", "")
            self._settled = True

    def attempt(self) -> bool:
        """Apply the settings once, as ovn_chassis does, and return whether something was written; `OvnError` if that failed."""
        options = self._options(self.paths.read())
        desired = desired_chassis(options)
        plan_for = functools.partial(make_plan, desired)
        self._refuse_others(preserve_foreign=desired.preserve_foreign)
        with LocalDatabase(self.paths.database, TlsFiles(), _TIMEOUT, desired.bridges, desired.watched) as database:
            actual, rows = database.read()
            plan = plan_for(actual)
            if not (missing := bool(options.get("allow_missing_ports"))):
                refuse_missing_devices(plan.bridges.new_ports, "node", "Correct the name.")
            self._refuse_clash(plan, actual, options)
            plan, actual, next_cfg = database.write(plan, actual, rows, plan_for)
            if next_cfg is not None:
                self.log.info(f"changed: {json.dumps(diff_of(plan, actual)['after'], sort_keys=True)}")
            self._settle()
            try:
                errors = database.wait_applied(next_cfg or actual.next_cfg, Deadline(_APPLIED))
            except TimedOut as e:  # a message for a pod: there are no systemd units here
                raise TimedOut(
                    f"The settings are written, but ovs-vswitchd did not apply them within {_APPLIED:g} s. Look at the pod ovs of this node."
                ) from e
            warnings = read_network_warnings(database, desired, plan, actual, missing)
        refuse_port_errors(errors, desired.bridges, missing)
        self.log.report_error("provider networks", Refused(" ".join(warnings)) if warnings else None)
        return not plan.empty

    def _refuse_others(self, *, preserve_foreign: bool) -> None:
        """Raise `Refused` if the launcher does not start our Open vSwitch beside another one, or if theirs has an ovn-controller already."""
        refusal = f"{os.path.dirname(self.paths.database.host)}/vswitchd.refused"
        if not preserve_foreign:
            with contextlib.suppress(FileNotFoundError), open(refusal, encoding="utf-8") as file:
                raise Refused(file.read().strip())
            return
        others = foreign_control_sockets(read_listening(), "ovn-controller", self.paths.run, os.path.exists)
        if others:
            raise Refused(
                f"This node has another ovn-controller: it listens at {', '.join(others)}. Two of them would replace each other's flows and settings. "
                "Choose other nodes (controller.nodeSelector), or remove it. Nothing was written."
            )

    def _refuse_clash(self, plan: ChassisPlan, actual: ObservedChassis, options: Settings) -> None:
        if not _IDENTITY & plan.external_ids.keys():
            return
        local = chassis_of(plan.settings_after(actual), options["hostname"])
        endpoints = parse_endpoints(item for item in options.get("remote") or [] if not item.startswith("cid:"))
        if any(endpoint.scheme == "ssl" for endpoint in endpoints):
            from .._ovsdb.tls import client_context

            client_context.cache_clear()  # certificates are renewed while this process runs
        chassis = look_up(local, endpoints, self.paths.tls, Deadline(_TIMEOUT))
        reason = clash_with(local, chassis, allow_takeover=False)
        if reason:
            raise Refused(f"{reason} Nothing was written.")

    def _report(self, error: OvnError) -> None:
        self.log.report_error("settings", error)
        self._show(str(error))

    def _show(self, trouble: str) -> None:
        """Let the probe of the pod know what keeps the agent from its work, or that nothing does (an empty text)."""
        run = self.paths.run
        if trouble:
            _remove(f"{run}/agent.ready")
            replace_file(f"{run}/agent.trouble", f"{trouble}\n")
        else:
            if not os.path.exists(f"{run}/agent.ready"):
                replace_file(f"{run}/agent.ready", "")
            _remove(f"{run}/agent.trouble")


def _row(database: LocalDatabase) -> dict[str, t.Any]:
    database.connection.deadline = Deadline(_TIMEOUT)
    (rows,) = database.select((ROOT, []), columns=_WATCHED)
    if not rows:
        raise Refused(f"{database.connection.name} has no Open_vSwitch row yet: Open vSwitch is about to start.")
    return rows[0]


def _await_change(database: LocalDatabase, row: t.Mapping[str, t.Any], seconds: float) -> bool:
    """Wait until the row has changed, at most `seconds`, and return whether it has. The server does the waiting (RFC 7047, wait)."""
    wait = {
        "op": "wait",
        "timeout": int(seconds * 1000),
        "table": ROOT,
        "where": [],
        "columns": _WATCHED,
        "until": "!=",
        "rows": [dict(row)],
    }
    database.connection.deadline = Deadline(seconds + _TIMEOUT)
    try:
        transact(database.connection, DATABASE, [wait])
    except Conflict:  # timed out
        return False
    return True


def _remove(path: str) -> None:
    with contextlib.suppress(FileNotFoundError):
        os.remove(path)


def _end(_number: int, _frame: object) -> t.NoReturn:
    raise SystemExit(0)


def main(_arguments: t.Sequence[str]) -> int:
    log = Log("chassis")
    try:
        paths = AgentPaths.of(os.environ)
    except InvalidInput as e:
        log.info(str(e))
        return 2
    for number in (signal.SIGTERM, signal.SIGINT):
        # A transaction is done or not done, so this process may end at any point.
        signal.signal(number, _end)
    log.info(f"keeping the settings of {paths.node}")
    if paths.unused_tls:
        log.report_error("certificate of before", discard_certificate(paths.unused_tls))
    certificate = NodeCertificate(paths.node_tls, Api.of_this_pod(os.environ), paths.issuer) if paths.node_tls else None
    connect = functools.partial(Api.of_this_pod, os.environ)
    ChassisHeartbeat(paths.node, paths.settings, paths.database, paths.tls, log, connect).start()
    return ChassisAgent(paths, log, certificate).run(sys.argv[0])

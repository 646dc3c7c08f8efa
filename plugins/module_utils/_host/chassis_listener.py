# SPDX-License-Identifier: GPL-3.0-or-later
"""Hands the port of chassis over from the Southbound member of this host to its relay, in the form of `ovn_chassis_listener`."""

from __future__ import annotations

import contextlib
import time
import typing as t

from .._base.deadline import Deadline
from .._base.errors import InvalidInput, OvnError, Refused, TimedOut
from .._daemons.database_member import LocalMember
from .._daemons.database_settings import LAYOUTS, RemotesPlan, plan_release
from .._ovsdb.endpoint import Endpoint, Listener, is_listening, parse_listener
from .._ovsdb.server import appctl, query_server
from .._ovsdb.tls_files import TlsFiles

OPTIONS: dict[str, dict[str, t.Any]] = {
    "target": {"type": "str", "required": True},
    "control_socket": {"type": "path", "required": True},
    "socket": {"type": "str", "required": True},
    "relay_control_socket": {"type": "path", "required": True},
    "relay_socket": {"type": "path", "required": True},
    "timeout": {"type": "float", "default": 5},
    "wait_timeout": {"type": "float", "default": 30},
}
_LAYOUT = LAYOUTS["southbound"]
_PAUSE = 0.02  # seconds; chassis that connect meanwhile go to the other hosts


def hand_over_listener(params: t.Mapping[str, t.Any], *, check_mode: bool) -> dict[str, t.Any]:
    """Return the result of `ovn_chassis_listener`; `OvnError`, and the member listens as before, if the relay does not take the port over."""
    listener = parse_listener(params["target"])
    if listener is None:
        raise InvalidInput(
            f"target {params['target']} has no port. Give pssl:PORT or ptcp:PORT, with an address or without one."
        )
    member = LocalMember(_LAYOUT, params["control_socket"], params["socket"], params["timeout"])
    plan = plan_release(member.read_remotes(), member.read().connections, listener.port, _LAYOUT)
    actions = [f"hand port {listener.port} over from the Southbound member to its relay"] if plan.remove else []
    if plan.remove and not check_mode:
        _await_relay(params)
        _hand_over(member, plan, listener, params)
    return {"changed": bool(actions), "actions": actions}


def _await_relay(params: t.Mapping[str, t.Any]) -> None:
    """Return when the relay has the contents of the database; `Refused` if it does not get them in time."""
    deadline, problem = Deadline(params["wait_timeout"]), "it does not serve the database"
    while True:
        try:
            endpoint = Endpoint("unix", params["relay_socket"])
            row = query_server(endpoint, _LAYOUT.name, TlsFiles(), Deadline(params["timeout"]))
            if row is not None and row.connected:
                return
            problem = "it is not connected to a member"
        except OvnError as e:
            problem = str(e)
        if deadline.expired:
            raise Refused(
                f"The relay of the Southbound database on this host is not ready: {problem}. Chassis still use the member, nothing was changed here. "
                "See its log, journalctl -u c5c3-ovn-southbound-relay, then run again."
            )
        time.sleep(0.2)


def _hand_over(member: LocalMember, plan: RemotesPlan, listener: Listener, params: t.Mapping[str, t.Any]) -> None:
    deadline = Deadline(params["wait_timeout"])
    try:
        member.change_remotes(plan)
        member.read_remotes()  # a server closes a listener before it answers the next command (main_loop in ovsdb/ovsdb-server.c)
        while not is_listening(listener.own_host, listener.port, 1):
            if deadline.expired:
                raise TimedOut(
                    f"The relay of the Southbound database does not listen on port {listener.port} after {params['wait_timeout']:g} s. "
                    "The member listens there again. See its log, journalctl -u c5c3-ovn-southbound-relay, then run again."
                )
            # A server tries again to listen whenever something wakes it.
            appctl(params["relay_control_socket"], "version", deadline=Deadline(params["timeout"]))
            time.sleep(_PAUSE)
    except OvnError:
        with contextlib.suppress(OvnError):
            member.change_remotes(RemotesPlan(plan.remove, plan.add))
        raise

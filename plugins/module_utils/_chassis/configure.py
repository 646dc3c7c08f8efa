# Copyright: (c) 2026, C5C3 contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""PRIVATE to the collection: may change at any time.

The steps of ovn_chassis: read, plan, look for clashes, write once, wait.
"""

from __future__ import annotations

import functools
import socket
import typing as t
import zlib

from .._deadline import Deadline
from .._errors import InvalidInput, OvnError, Refused
from .._ovsdb.endpoint import Endpoint, parse_endpoint, parse_endpoints
from .._ovsdb.tls_files import TlsFiles
from . import external_ids, ownership
from .database import LocalDatabase, missing_devices
from .ours import OwnedSettings
from .plan import Actual, Plan, diff_of, make_plan, wanted_of

if t.TYPE_CHECKING:
    from .registration import Me
    from .southbound import Southbound

Params = t.Mapping[str, t.Any]


class SouthboundAccess(t.NamedTuple):
    """How to reach the Southbound database, if the task names it at all."""

    endpoints: list[Endpoint]
    tls: TlsFiles

    def view(self, me: Me, deadline: Deadline) -> Southbound:
        from .southbound import Southbound

        # Any member is good enough: hundreds of hosts that ask at once must not all ask the first one.
        start = zlib.crc32((me.name or "").encode()) % len(self.endpoints)
        return Southbound([*self.endpoints[start:], *self.endpoints[:start]], self.tls, deadline, me)


def configure(params: Params, check_mode: bool) -> dict[str, t.Any]:
    """The module's result. A failure after the write carries `changed` and `diff` in its details."""
    _check_times(params)
    tls = TlsFiles(params["private_key"] or None, params["certificate"] or None, params["ca_certificate"] or None)
    endpoint = parse_endpoint(params["database"])
    wanted = wanted_of(params) if params["state"] == "present" else None
    plan_for = functools.partial(make_plan, wanted) if wanted else _plan_absent()
    southbound = SouthboundAccess(parse_endpoints(params["southbound"] or []) if wanted else [], tls)
    if wanted and params["wait_for"] == "registered" and not southbound.endpoints:
        raise InvalidInput("wait_for: registered needs southbound, the endpoints of the Southbound database.")
    timeout = params["timeout"]
    with (
        LocalDatabase(endpoint, tls, timeout, wanted.bridges)
        if wanted
        else OwnedSettings(endpoint, tls, timeout) as database
    ):
        actual, rows = database.read()
        plan = plan_for(actual)
        _refuse_missing_devices(params, endpoint, plan)
        me = registered = next_cfg = None
        if southbound.endpoints:
            me = _me(plan, actual)
            registered = _look_for_clashes(params, southbound, me)
        if not check_mode:
            plan, actual, next_cfg = database.write(plan, actual, rows, plan_for)
        result = {**_result(plan, actual, next_cfg), "registered": registered}
        if check_mode or params["wait_for"] == "none" or not (wanted or next_cfg):
            return result
        deadline = Deadline(params["wait_timeout"])
        try:
            result["port_errors"] = database.wait_applied(next_cfg or actual.next_cfg, deadline)
            _refuse_port_errors(params, result["port_errors"], wanted.bridges if wanted else {})
            if me and params["wait_for"] == "registered" and not registered:
                with southbound.view(me, deadline) as view:
                    view.wait_registered(deadline)
                result["registered"] = True
        except OvnError as e:
            e.details = {**result, **e.details}
            raise
    return result


def _plan_absent() -> t.Callable[[Actual], Plan]:
    from .removal import plan_absent

    return plan_absent


def _check_times(params: Params) -> None:
    for option, least in (("timeout", 1), ("wait_timeout", 0)):
        if params[option] < least:
            raise InvalidInput(f"{option}: {params[option]} s is too short; give at least {least}.")


def _result(plan: Plan, actual: Actual, next_cfg: int | None) -> dict[str, t.Any]:
    after = _after(plan, actual)
    owned = ownership.parse_owned(after.get(ownership.KEY))
    return {
        "changed": not plan.empty,
        "diff": diff_of(plan, actual),
        "system_id": after.get(external_ids.SYSTEM_ID),
        "owned": {
            "external_ids": sorted(owned.external_ids),
            "other_config": sorted(owned.other_config),
            "cms_options": sorted(owned.cms_options),
        },
        "kept": plan.kept,
        "next_cfg": next_cfg,
        "port_errors": {},
        "registered": None,
    }


def _after(plan: Plan, actual: Actual) -> dict[str, str]:
    return {key: value for key, value in {**actual.external_ids, **plan.external_ids}.items() if value is not None}


def _me(plan: Plan, actual: Actual) -> Me:
    from .registration import Me

    after = _after(plan, actual)
    # ovn-controller itself falls back to gethostname().
    hostname = after.get("hostname") or socket.gethostname()
    return Me(after.get(external_ids.SYSTEM_ID, ""), hostname, external_ids.encapsulations(after))


def _refuse_missing_devices(params: Params, endpoint: Endpoint, plan: Plan) -> None:
    """A typing error in a port name would otherwise be a bridge without uplink. Only a local database tells of this host."""
    if params["allow_missing_ports"] or endpoint.scheme != "unix" or not plan.bridges.new_ports:
        return
    missing = missing_devices(plan.bridges.new_ports)
    if missing:
        places = ", ".join(f"{port} (for bridge {plan.bridges.new_ports[port]})" for port in missing)
        raise Refused(
            f"No such network device on this host: {places}. Nothing was written. "
            "Correct the name, or set allow_missing_ports: true if the device is made later."
        )


def _look_for_clashes(params: Params, southbound: SouthboundAccess, me: Me) -> bool:
    """Refuse a chassis that would fight with another one; True if it is registered already as wanted."""
    from .registration import address_conflict, duplicate_id, unregistered

    if params["wait_for"] == "registered" and not (me.name and me.encapsulations):
        raise InvalidInput("wait_for: registered needs system_id and encapsulation (type and ip), here or set earlier.")
    with southbound.view(me, Deadline(params["timeout"])) as view:
        chassis = view.chassis()
    reason = address_conflict(me, chassis)
    if reason is None and not params["allow_takeover"]:
        reason = duplicate_id(me, chassis)
    if reason:
        raise Refused(f"{reason} Nothing was written.")
    return unregistered(me, chassis) is None


def _refuse_port_errors(params: Params, errors: t.Mapping[str, str], bridges: t.Container[str]) -> None:
    """A bridge that does not work is always a failure, a port that is not there yet only if it should be."""
    fatal = {name: error for name, error in errors.items() if name in bridges or not params["allow_missing_ports"]}
    if fatal:
        words = "; ".join(f"{name}: {error}" for name, error in sorted(fatal.items()))
        raise Refused(f"The settings are written, but ovs-vswitchd cannot use all bridges and ports: {words}.")

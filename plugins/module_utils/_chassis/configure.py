# SPDX-License-Identifier: GPL-3.0-or-later
"""The steps of ovn_chassis: read, plan, check for clashes or delete the Southbound rows, write once, wait."""

from __future__ import annotations

import functools
import socket
import typing as t

from .._base.deadline import Deadline
from .._base.errors import InvalidInput, OvnError, Refused
from .._ovsdb.endpoint import Endpoint, parse_endpoint, parse_endpoints
from .._ovsdb.rows import as_list, decode
from .._ovsdb.tls_files import TlsFiles
from . import external_ids, ownership
from .bridges import OVN_PORT_KEYS, BridgePort, refuse_missing_devices, refuse_port_errors
from .database import COLUMNS, LocalDatabase
from .external_ids import integration_bridge
from .operations import ROOT, Rows
from .plan import ChassisPlan, ObservedChassis, desired_chassis, diff_of, make_plan
from .provider_networks import read_network_warnings

# The edge of `state: absent`: finds our bridges and ports by their mark, and the integration bridge by its name.

_MARKED: list[t.Any] = [["external_ids", "includes", ["map", [list(item) for item in ownership.MARK.items()]]]]


class OwnedSettings(LocalDatabase):
    """Reads everything with our mark, the integration bridge, and every port of these bridges."""

    def __init__(self, endpoint: Endpoint, tls: TlsFiles, timeout: float) -> None:
        """`timeout` seconds count for each step."""
        super().__init__(endpoint, tls, timeout, {})

    def read(self) -> tuple[ObservedChassis, Rows]:
        self.connection.deadline = Deadline(self.timeout)
        roots, ssls, marked_ports = self.select((ROOT, []), ("SSL", []), ("Port", _MARKED))
        columns = [*COLUMNS["Bridge"], "ports"]
        places = [("Bridge", [["ports", "includes", row["_uuid"]]]) for row in marked_ports]
        keys = decode(roots[0]["external_ids"]) if roots else {}
        integration = ("Bridge", [["name", "==", integration_bridge(keys)]])
        ours, integration_rows, *holders = self.select(("Bridge", _MARKED), integration, *places, columns=columns)
        bridges = {row["name"]: row for rows in (ours, integration_rows, *holders) for row in rows}
        uuids = [uuid for row in (*ours, *integration_rows) for uuid in as_list(decode(row["ports"]))]
        others = self.select(*(("Port", [["_uuid", "==", ["uuid", uuid]]]) for uuid in uuids))
        rows = {decode(row["_uuid"]): row for found in (marked_ports, *others) for row in found}
        ports = {row["name"]: row for row in rows.values()}
        names = {
            name: frozenset(rows[uuid]["name"] for uuid in as_list(decode(row["ports"])) if uuid in rows)
            for name, row in bridges.items()
        }
        actual_ports = {}
        for bridge, members in names.items():
            for port in members:
                keys = decode(ports[port]["external_ids"])
                actual_ports[port] = BridgePort(
                    bridge, ownership.KEY in keys, any(key in keys for key in OVN_PORT_KEYS)
                )
        return self.state(
            roots, ssls, bridges, ports, actual_ports, names, {name: row["ports"] for name, row in bridges.items()}
        )


if t.TYPE_CHECKING:
    from .registration import LocalChassis
    from .southbound import Southbound

Params = t.Mapping[str, t.Any]


class SouthboundAccess(t.NamedTuple):
    """How to reach the Southbound database, if the task names it at all."""

    endpoints: list[Endpoint]
    tls: TlsFiles

    def view(self, local: LocalChassis, deadline: Deadline) -> Southbound:
        from .lookup import spread
        from .southbound import Southbound

        return Southbound(spread(self.endpoints, local.name), self.tls, deadline, local)

    def delete_rows(
        self, local: LocalChassis, timeout: float, check_mode: bool, own_addresses: t.Collection[str] | None
    ) -> tuple[dict[str, list[str]], list[str]]:
        """Return what was deleted, and warnings about what still refers to the chassis."""
        from .lookup import spread
        from .southbound_removal import ListeningMembers, delete_rows, read_gateways
        from .southbound_rows import gateway_warning

        members = ListeningMembers(spread(self.endpoints, local.name), self.tls)
        gateways = read_gateways(
            local.name, members, timeout
        )  # before: nothing may fail between the deletion and its result
        deleted = delete_rows(
            local, members, timeout, module="ovn_chassis", check_mode=check_mode, own_addresses=own_addresses
        )
        return deleted, [gateway_warning(local.name, gateways)] if gateways else []


def configure(params: Params, check_mode: bool) -> dict[str, t.Any]:
    """Apply the options of ovn_chassis and return the module's result. A failure after the write has `changed` and `diff` in its details."""
    _check_times(params)
    tls = TlsFiles(params["private_key"] or None, params["certificate"] or None, params["ca_certificate"] or None)
    endpoint = parse_endpoint(params["database"])
    desired = desired_chassis(params) if params["state"] == "present" else None
    plan_for = functools.partial(make_plan, desired) if desired else _plan_absent()
    southbound = SouthboundAccess(parse_endpoints(params["southbound"] or []), tls)
    if desired and params["wait_for"] == "registered" and not southbound.endpoints:
        raise InvalidInput("wait_for: registered needs southbound, the endpoints of the Southbound database.")
    timeout = params["timeout"]
    with (
        LocalDatabase(endpoint, tls, timeout, desired.bridges, desired.watched)
        if desired
        else OwnedSettings(endpoint, tls, timeout) as database
    ):
        actual, rows = database.read()
        plan = plan_for(actual)
        _refuse_missing_devices(params, endpoint, plan)
        local = registered = next_cfg = None
        deleted: dict[str, list[str]] = {}
        warnings: list[str] = []
        if southbound.endpoints and desired:
            local = _local_chassis(plan.settings_after(actual))
            registered = _check_for_clashes(params, southbound, local)
        elif southbound.endpoints:
            # Before the settings are removed: the next run knows by them whose rows these are.
            deleted, warnings = _delete_rows(params, southbound, actual, check_mode)
        warnings += plan.kept
        if not check_mode:
            try:
                plan, actual, next_cfg = database.write(plan, actual, rows, plan_for)
            except OvnError as e:
                e.details = {**_deletion(deleted), **e.details}
                raise
        result = {**_result(plan, actual, next_cfg, deleted), "registered": registered, "warnings": warnings}
        if params["wait_for"] == "none" or not (desired or next_cfg):
            return result
        missing = params["allow_missing_ports"]
        if check_mode:
            return {**result, "warnings": warnings + read_network_warnings(database, desired, plan, actual, missing)}
        deadline = Deadline(params["wait_timeout"])
        try:
            result["port_errors"] = database.wait_applied(next_cfg or actual.next_cfg, deadline)
            bridges = desired.bridges if desired else {}
            refuse_port_errors(result["port_errors"], bridges, missing)
            result["warnings"] = warnings + read_network_warnings(database, desired, plan, actual, missing)
            if local and params["wait_for"] == "registered" and not registered:
                with southbound.view(local, deadline) as view:
                    view.wait_registered(deadline)
                result["registered"] = True
        except OvnError as e:
            e.details = {**result, **e.details}
            raise
    return result


def _plan_absent() -> t.Callable[[ObservedChassis], ChassisPlan]:
    from .southbound_removal import plan_absent

    return plan_absent


def _check_times(params: Params) -> None:
    for option, least in (("timeout", 1), ("wait_timeout", 0)):
        if params[option] < least:
            raise InvalidInput(f"{option}: {params[option]} s is too short; give at least {least}.")


def _result(
    plan: ChassisPlan, actual: ObservedChassis, next_cfg: int | None, deleted: t.Mapping[str, list[str]]
) -> dict[str, t.Any]:
    after = plan.settings_after(actual)
    owned = ownership.parse_owned(after.get(ownership.KEY))
    deletion = _deletion(deleted)
    diff = diff_of(plan, actual)
    return {
        "changed": deletion["changed"] or not plan.empty,
        "diff": {**diff, "before": {**deletion["diff"]["before"], **diff["before"]}},
        "deleted_rows": deletion["deleted_rows"],
        "system_id": after.get(external_ids.SYSTEM_ID),
        "hostname": after.get("hostname") or socket.gethostname(),
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


def _deletion(deleted: t.Mapping[str, list[str]]) -> dict[str, t.Any]:
    """Return the part of the result for deleted Southbound rows."""
    return {
        "changed": bool(deleted),
        "diff": {"before": {"southbound": deleted} if deleted else {}, "after": {}},
        "deleted_rows": deleted,
    }


def _local_chassis(settings: t.Mapping[str, str]) -> LocalChassis:
    """Return the chassis that ovn-controller registers with these external_ids. It falls back to gethostname() itself."""
    from .registration import chassis_of

    return chassis_of(settings, socket.gethostname())


def _delete_rows(
    params: Params, southbound: SouthboundAccess, actual: ObservedChassis, check_mode: bool
) -> tuple[dict[str, list[str]], list[str]]:
    """Delete the rows of this host's chassis from the Southbound database; return them by table, and warnings. None if the chassis has no name any more."""
    from .addresses import node_addresses

    local = _local_chassis(_recorded_identity(params, actual))
    if not local.name:
        return {}, []
    is_here = parse_endpoint(params["database"]).scheme == "unix" and not params["allow_takeover"]
    own = {str(one.ip) for one in node_addresses()} if is_here else None
    return southbound.delete_rows(local, params["timeout"], check_mode, own)


def _recorded_identity(params: Params, actual: ObservedChassis) -> dict[str, str]:
    """Return the external_ids that the chassis is known by. Options give what an interrupted run has removed already, or what is not ours."""
    recorded = ownership.parse_owned(actual.external_ids.get(ownership.KEY)).external_ids
    identity = desired_chassis(
        {option: params[option] for option in ("system_id", "hostname", "encapsulation")}
    ).external_ids
    given = {key: value.text for key, value in identity.items() if value.text}
    stored = actual.external_ids.get(external_ids.SYSTEM_ID)
    if external_ids.SYSTEM_ID in recorded and stored and given.get(external_ids.SYSTEM_ID, stored) != stored:
        raise Refused(
            f'This host is the chassis "{stored}", not "{given[external_ids.SYSTEM_ID]}". Nothing was changed. '
            f"Run with system_id: {stored} (ovn_system_id), or without it."
        )
    # A name that neither we have set nor the task gives belongs to a chassis of another owner.
    local = {external_ids.SYSTEM_ID, *given}
    return {**given, **{key: text for key, text in actual.external_ids.items() if key in recorded or key not in local}}


def _refuse_missing_devices(params: Params, endpoint: Endpoint, plan: ChassisPlan) -> None:
    """Raise `Refused` for new ports without a device on this host, which only a local database belongs to."""
    if params["allow_missing_ports"] or endpoint.scheme != "unix" or not plan.bridges.new_ports:
        return
    next_step = "Correct the name, or set allow_missing_ports: true (in ovn_hypervisor_chassis_settings) if the device is created later."
    refuse_missing_devices(plan.bridges.new_ports, "host", next_step)


def _check_for_clashes(params: Params, southbound: SouthboundAccess, local: LocalChassis) -> bool:
    """Raise `Refused` if the chassis clashes with another one; return whether it is registered already as desired."""
    from .registration import clash_with, unregistered

    if params["wait_for"] == "registered" and not (local.name and local.encapsulations):
        raise InvalidInput("wait_for: registered needs system_id and encapsulation (type and ip), here or set earlier.")
    with southbound.view(local, Deadline(params["timeout"])) as view:
        chassis = view.chassis()
    reason = clash_with(local, chassis, allow_takeover=params["allow_takeover"])
    if reason:
        raise Refused(f"{reason} Nothing was written.")
    return unregistered(local, chassis) is None

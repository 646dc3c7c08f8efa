# SPDX-License-Identifier: GPL-3.0-or-later
"""Desired against observed settings of one chassis: the plan, and its diff."""

from __future__ import annotations

import types
import typing as t

from .._base.errors import InvalidInput, Refused
from . import bridges as br
from . import cms_options, external_ids, ownership, preserve
from .text import checked_text, format_value, read_cms_options, stored_text

_NOTHING: t.Mapping[str, t.Any] = types.MappingProxyType({})

SSL_COLUMNS = {"private_key": "private_key", "certificate": "certificate", "ca_certificate": "ca_cert"}


class Ssl(t.NamedTuple):
    """The SSL row: paths on the chassis."""

    private_key: str
    certificate: str
    ca_certificate: str
    ours: bool = True


class ObservedChassis(t.NamedTuple):
    """What the database has of everything that the plan compares."""

    external_ids: t.Mapping[str, str] = _NOTHING
    other_config: t.Mapping[str, str] = _NOTHING
    bridges: t.Mapping[str, br.Bridge] = _NOTHING
    ports: t.Mapping[str, br.BridgePort] = _NOTHING
    ssl: Ssl | None = None
    next_cfg: int = 0


class DesiredChassis(t.NamedTuple):
    """The task's options, checked. None and missing keys keep what is stored."""

    external_ids: t.Mapping[str, external_ids.DesiredValue] = _NOTHING
    other_config: t.Mapping[str, external_ids.DesiredValue] = _NOTHING
    cms: cms_options.DesiredCmsOptions = cms_options.DesiredCmsOptions()
    bridges: t.Mapping[str, br.DesiredBridge] = _NOTHING
    ssl: Ssl | t.Literal["absent"] | None = None
    purge: bool = False
    allow_rename: bool = False
    preserve_foreign: bool = False

    @property
    def watched(self) -> set[str]:
        """Return the bridges that have to be read beside those in `bridges`."""
        return preserve.watched_bridges(self.external_ids) if self.preserve_foreign else set()


class ChassisPlan(t.NamedTuple):
    """Everything to write, by column of the database. A value None removes the key."""

    external_ids: dict[str, str | None]
    other_config: dict[str, str | None]
    bridges: br.BridgePlan
    ssl: Ssl | t.Literal["absent"] | None
    kept: list[str]  # one sentence for each of our bridges that stays

    def settings_after(self, actual: ObservedChassis) -> dict[str, str]:
        """Return the external_ids after this plan."""
        merged = {**actual.external_ids, **self.external_ids}
        return {key: value for key, value in merged.items() if value is not None}

    @property
    def empty(self) -> bool:
        return self.bridges.empty and not (self.external_ids or self.other_config or self.ssl)


def desired_chassis(params: t.Mapping[str, t.Any]) -> DesiredChassis:
    """Return the checked options of ovn_chassis; `InvalidInput` if a value or a combination can never work."""
    params = _with_empty_lists(params)
    keys = external_ids.desired_keys(params)
    for key, value in _free(params, "external_ids").items():
        if key in keys:
            raise InvalidInput(f"external_ids: {key} is also set by an option of its own; give it once.")
        option = next((name for name, one in external_ids.KEYS.items() if one.key == key), "")
        if option and value.text is not None:
            raise InvalidInput(
                f"external_ids: {key} has an option of its own, which checks and compares it. Use {option}."
            )
        if key == external_ids.CMS_OPTIONS:
            raise InvalidInput(
                f"external_ids: {key} is shared with other tools; use cms_options, gateway and availability_zones "
                "(ovn_hypervisor_cms_options, ovn_hypervisor_gateway, ovn_hypervisor_availability_zones)."
            )
        if key == ownership.KEY:
            raise InvalidInput(f"external_ids: {key} is the record of this module.")
        keys[key] = value
    return DesiredChassis(
        external_ids=keys,
        other_config=_free(params, "other_config"),
        cms=cms_options.desired_cms_options(params),
        bridges=br.desired_bridges(params),
        ssl=None if params.get("preserve_foreign") else _ssl(params),
        purge=params.get("purge") or False,
        allow_rename=params.get("allow_rename") or False,
        preserve_foreign=params.get("preserve_foreign") or False,
    )


def _with_empty_lists(params: t.Mapping[str, t.Any]) -> dict[str, t.Any]:
    """Return the options with `[]` for `[""]`, which Ansible makes of an empty text for a list. Those of `encapsulation` may not be empty texts."""
    return {option: [] if value == [""] else value for option, value in params.items()}


def _free(params: t.Mapping[str, t.Any], option: str) -> dict[str, external_ids.DesiredValue]:
    desired = {}
    for key, value in (params.get(option) or {}).items():
        name = checked_text(option, str(key))
        if not name:
            raise InvalidInput(f"{option}: an empty key is not possible.")
        desired[name] = external_ids.DesiredValue(
            None if value is None else stored_text(f"{option}.{format_value(name)}", value)
        )
    return desired


def _ssl(params: t.Mapping[str, t.Any]) -> Ssl | t.Literal["absent"] | None:
    paths = {option: params.get(option) for option in SSL_COLUMNS}
    if all(path is None for path in paths.values()):
        return None
    if all(path == "" for path in paths.values()):
        return "absent"
    for option, path in paths.items():
        if not path:
            raise InvalidInput(f"{option} is missing: private_key, certificate and ca_certificate go together.")
        checked_text(option, path)
    return Ssl(str(paths["private_key"]), str(paths["certificate"]), str(paths["ca_certificate"]))


def make_plan(desired: DesiredChassis, actual: ObservedChassis) -> ChassisPlan:
    """Return what to write so that `actual` becomes `desired`; `Refused` if a rule forbids it."""
    record = ownership.parse_owned(actual.external_ids.get(ownership.KEY))
    named = desired.external_ids
    if desired.preserve_foreign:
        desired = desired._replace(
            external_ids=preserve.new_keys(
                "external_ids", desired.external_ids, actual.external_ids, record.external_ids
            ),
            other_config=preserve.new_keys(
                "other_config", desired.other_config, actual.other_config, record.other_config
            ),
        )
    keys, owned_keys = _plan_keys(desired.external_ids, actual.external_ids, record.external_ids, desired.purge)
    config, owned_config = _plan_keys(desired.other_config, actual.other_config, record.other_config, desired.purge)
    owned_tokens = record.cms_options
    if desired.cms.given or (desired.purge and owned_tokens):
        stored = actual.external_ids.get(external_ids.CMS_OPTIONS)
        merged, ours = cms_options.merge(stored, record.cms_options, desired.cms, desired.purge)
        owned_tokens = frozenset(ours)
        if merged != stored:
            keys[external_ids.CMS_OPTIONS] = merged
    keys.update(_remove_specific_keys(desired._replace(external_ids=named), {**actual.external_ids, **keys}))
    # In an Open vSwitch of others the record tells a chassis of ours, also where all its keys were there before.
    least = "{}" if desired.preserve_foreign else None
    put_record(keys, actual, ownership.Owned(owned_keys, owned_config, owned_tokens), least)
    if not desired.allow_rename:
        _refuse_rename(actual, keys)
    kind = {**actual.external_ids, **keys}.get(external_ids.DATAPATH_TYPE)
    bridges = br.plan_bridges(desired.bridges, actual.bridges, actual.ports, kind or "system")
    if desired.preserve_foreign:
        preserve.refuse_foreign_bridges(bridges, desired.bridges, actual.bridges)
        if ownership.KEY not in actual.external_ids:
            preserve.refuse_foreign_integration_bridge(
                {**actual.external_ids, **keys}, actual.bridges, bridges, desired.watched
            )
    return ChassisPlan(keys, config, bridges, _plan_ssl(desired, actual), [])


def _plan_keys(
    desired: t.Mapping[str, external_ids.DesiredValue], stored: t.Mapping[str, str], owned: frozenset[str], purge: bool
) -> tuple[dict[str, str | None], frozenset[str]]:
    """Return the keys to write, and the keys that are ours afterwards."""
    changes = {key: value.text for key, value in desired.items() if not value.matches(stored.get(key))}
    if purge:
        changes.update({key: None for key in owned - desired.keys() if key in stored})
    named = {key for key, value in desired.items() if value.text is not None}
    removed = {key for key, value in changes.items() if value is None} | {
        key for key, value in desired.items() if value.text is None
    }
    return changes, frozenset((owned | named) - removed if not purge else named)


def _remove_specific_keys(desired: DesiredChassis, after: t.Mapping[str, str | None]) -> dict[str, None]:
    """Return the keys of this chassis alone that `purge` removes because ovn-controller would read them instead of desired ones; `Refused` without it."""
    settings = {key: value for key, value in after.items() if value is not None}
    values = dict(desired.external_ids)
    if desired.cms.given:
        stored = settings.get(external_ids.CMS_OPTIONS)
        values[external_ids.CMS_OPTIONS] = external_ids.DesiredValue(
            stored, lambda text: frozenset(read_cms_options(text))
        )
    found = {
        own: key
        for key, value in values.items()
        if (own := external_ids.specific_key(key, settings)) and own not in values and not value.matches(settings[own])
    }
    if found and (desired.preserve_foreign or not desired.purge):
        listed = ", ".join(f"{own} is {format_value(settings[own])} and replaces {key}" for own, key in found.items())
        raise Refused(
            f"ovn-controller would not use the settings of this task: in external_ids {listed}. Remove it there, with null under external_ids "
            "(ovn_hypervisor_external_ids), or with purge: true (ovn_hypervisor_purge) if preserve_foreign is not set. Nothing was written."
        )
    return dict.fromkeys(found)


def put_record(
    changes: dict[str, str | None], actual: ObservedChassis, owned: ownership.Owned, least: str | None = None
) -> None:
    """Add the record of what is ours to the external_ids in `changes`, unless it is stored already; `least` if nothing is ours."""
    text = owned.to_text() or least
    if actual.external_ids.get(ownership.KEY) != text:
        changes[ownership.KEY] = text


def _refuse_rename(actual: ObservedChassis, changes: t.Mapping[str, str | None]) -> None:
    """Raise `Refused` for a live chassis: renamed, it leaves its old row with its tunnel addresses, and ovn-controller 24.03.7 and later crashes."""
    old = actual.external_ids.get(external_ids.SYSTEM_ID)
    if old is None or external_ids.SYSTEM_ID not in changes or external_ids.REMOTE not in actual.external_ids:
        return
    new = changes[external_ids.SYSTEM_ID]
    raise Refused(
        f'This host is the chassis "{format_value(old)}" and is connected to a Southbound database: '
        f'its system_id cannot become "{format_value(new or "")}" while it runs. '
        "Move its workload away, stop ovn-controller with `ovn-appctl -t ovn-controller exit` (without --restart), wait until the chassis row is gone "
        "from the Southbound database, renew its certificate for the new name, then run again with allow_rename: true and start ovn-controller. "
        "The role does that with ovn_hypervisor_state: absent under the old name, then a run under the new one. If this disk is a copy of another host's, "
        "which is alive under the old name, none of that: remove the identity of the copy as docs/troubleshooting.md#the-copied-disk-of-a-hypervisor describes."
    )


def _plan_ssl(desired: DesiredChassis, actual: ObservedChassis) -> Ssl | t.Literal["absent"] | None:
    if desired.ssl is None or desired.ssl == "absent":
        return "absent" if desired.ssl and actual.ssl else None
    if actual.ssl and actual.ssl._replace(ours=True) == desired.ssl:
        return None
    return desired.ssl


def diff_of(plan: ChassisPlan, actual: ObservedChassis) -> dict[str, dict[str, t.Any]]:
    """Return the values before and after, with only what differs: side to part (`external_ids`, `other_config`, `bridges`, `ssl`) to name to value.

    What is recorded as ours follows from the rest and is left out, unless it is all that differs: then it is the part `recorded`.
    """
    before: dict[str, t.Any] = {}
    after: dict[str, t.Any] = {}

    def add(part: str, name: str, old: t.Any, new: t.Any) -> None:
        for side, value in ((before, old), (after, new)):
            if value is not None:
                side.setdefault(part, {})[name] = value

    for part, changes, stored in (
        ("external_ids", plan.external_ids, actual.external_ids),
        ("other_config", plan.other_config, actual.other_config),
    ):
        for key in sorted(changes.keys() - {ownership.KEY}):
            add(part, key, stored.get(key), changes[key])
    _diff_bridges(plan.bridges, actual, add)
    if plan.ssl:
        for option in SSL_COLUMNS:
            old = getattr(actual.ssl, option, None)
            new = getattr(plan.ssl, option, None)
            if old != new:
                add("ssl", option, old, new)
    if not before and not after and ownership.KEY in plan.external_ids:
        texts = actual.external_ids.get(ownership.KEY), plan.external_ids[ownership.KEY]
        records = [ownership.parse_owned(text)._asdict() for text in texts]
        for part, old in records[0].items():
            if old != records[1][part]:
                add("recorded", part, sorted(old), sorted(records[1][part]))
    return {"before": before, "after": after}


def _diff_bridges(
    plan: br.BridgePlan, actual: ObservedChassis, add: t.Callable[[str, str, t.Any, t.Any], None]
) -> None:
    changed = {
        *plan.new_bridges,
        *plan.datapath_types,
        *plan.old_bridges,
        *plan.new_ports.values(),
        *plan.old_ports.values(),
    }
    for name in sorted(changed):
        bridge = actual.bridges.get(name)
        new = sorted(port for port, place in plan.new_ports.items() if place == name)
        old = sorted(port for port, place in plan.old_ports.items() if place == name)
        if bridge is None:
            add("bridges", name, None, {"datapath_type": plan.new_bridges[name], "ports": new})
        elif name in plan.old_bridges:
            ports = sorted(port for port in bridge.ports if port != name)
            add("bridges", name, {"datapath_type": bridge.datapath_type or "system", "ports": ports}, None)
        else:
            before: dict[str, t.Any] = {"ports": old} if old or new else {}
            after: dict[str, t.Any] = {"ports": new} if old or new else {}
            if name in plan.datapath_types:
                before["datapath_type"] = bridge.datapath_type or "system"
                after["datapath_type"] = plan.datapath_types[name]
            add("bridges", name, before, after)

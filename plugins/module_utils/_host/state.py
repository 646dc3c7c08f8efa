# SPDX-License-Identifier: GPL-3.0-or-later
"""Several reads of one host in one process, in the form of `ovn_host_info`. Nothing is changed, and nothing is waited for."""

from __future__ import annotations

import functools
import pathlib
import typing as t

from ansible.module_utils.common.arg_spec import ArgumentSpecValidator

from .._base.errors import InvalidInput, OvnError
from .._chassis.datapath import DatapathWatch
from .._machine.commands import Commands
from . import daemons, database, firewall, member, neutron_config, openvswitch, packages, units

Options = t.Mapping[str, t.Any]
Result = dict[str, t.Any]
_DATAPATH = {name: openvswitch.OPTIONS[name] for name in ("database", "timeout")}


def read_state(params: Options, commands: Commands) -> Result:
    """Return the result of `ovn_host_info`, and `warnings` for people.

    `InvalidInput` names the option that is wrong, `OvnError` says why packages or daemons cannot be read.
    """
    result: Result = {"warnings": [], "certificates": []}
    watch = None
    # Before everything else, which takes a part of the time between its two readings.
    if params["datapath"] is not None:
        options = _validated("datapath", params["datapath"], _DATAPATH)
        watch = DatapathWatch(options["database"], options["timeout"])
    if params["packages"] is not None:
        options = _validated("packages", params["packages"], packages.OPTIONS)
        result["packages"] = packages.read_packages(options, commands)
    if params["daemons"] is not None:
        options = _validated("daemons", params["daemons"], daemons.OPTIONS)
        result["daemons"] = daemons.read_host_daemons(options, commands)
    if params["openvswitch"] is not None:
        options = _validated("openvswitch", params["openvswitch"], openvswitch.OPTIONS)
        result["openvswitch"] = openvswitch.read_open_vswitch(options, commands)
    if params["neutron"] is not None:
        result["neutron"] = neutron_config.read_neutron_config(params["neutron"], commands)
    members = _each_validated("members", params, member.OPTIONS)
    result["members"] = [member.observe_member(one, commands) for one in members]
    result["files"] = dict(_texts(params["files"]))
    result["units"] = [
        _predicted(functools.partial(units.apply_units, one, commands, check_mode=True))
        for one in _each_validated("units", params, units.OPTIONS)
    ]
    result["databases"] = [
        _predicted(functools.partial(database.apply_database_settings, {**one, "wait_timeout": 0}, check_mode=True))
        for one in _each_validated("databases", params, database.OPTIONS)
    ]
    result["firewall"] = [
        _predicted(functools.partial(firewall.apply_firewall, one, commands, check_mode=True))
        for one in _each_validated("firewall", params, firewall.OPTIONS)
    ]
    if params["certificates"]:
        result["certificates"], result["warnings"] = _predict_certificates(params["certificates"])
    if watch:
        result["datapath"] = watch.end()
    predictions = [*result["units"], *result["databases"], *result["firewall"], *result["certificates"]]
    result["due"] = any(one.get("failed") or one["changed"] for one in predictions)
    return result


def _predict_certificates(several: t.Iterable[Options]) -> tuple[list[Result], list[str]]:
    """Return what would be done for each pair, and what to tell about the end of its CA."""
    from . import certificate  # its library takes longer to load than most calls take together

    pairs = [_validated(f"certificates[{i}]", one, certificate.OPTIONS) for i, one in enumerate(several)]
    predicted = [_predicted(functools.partial(certificate.apply_certificate, one, check_mode=True)) for one in pairs]
    return predicted, [text for text in map(certificate.authority_warning, predicted) if text]


def _each_validated(option: str, params: Options, specification: dict[str, dict[str, t.Any]]) -> list[Options]:
    return [_validated(f"{option}[{i}]", one, specification) for i, one in enumerate(params[option])]


def _validated(path: str, options: Options, specification: dict[str, dict[str, t.Any]]) -> Options:
    checked = ArgumentSpecValidator(specification).validate(dict(options))
    if checked.error_messages:
        raise InvalidInput(f"{path}: {'; '.join(checked.error_messages)}. Nothing was read.")
    return t.cast("Options", checked.validated_parameters)


def _predicted(call: t.Callable[[], Result]) -> Result:
    """Return the result without its diff, which is not shown; a refusal is a result, too: the task that acts will report it."""
    try:
        result = call()
    except OvnError as e:
        return {"failed": True, **e.as_result()}
    return {name: value for name, value in result.items() if name != "diff"}


def _texts(paths: t.Iterable[str]) -> t.Iterator[tuple[str, str]]:
    for path in paths:
        try:
            yield path, pathlib.Path(path).read_text(encoding="utf-8", errors="replace")
        except FileNotFoundError:
            continue
        except OSError as e:
            raise OvnError(f"{path} cannot be read: {e.strerror}. Correct that on this host, then run again.") from e

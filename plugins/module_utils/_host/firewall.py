# SPDX-License-Identifier: GPL-3.0-or-later
"""Writes and loads the table of the firewall of this host, in the form of `ovn_firewall`. What is in it is decided in `_machine`."""

from __future__ import annotations

import contextlib
import ipaddress
import os
import pathlib
import socket
import typing as t

from .._base.errors import InvalidInput, OvnError
from .._machine.commands import Commands
from .._machine.connections import find_strangers, parse_connections
from .._machine.ruleset import (
    FAMILY,
    FILE,
    TABLE,
    Network,
    PortFilter,
    Table,
    extend,
    has_table,
    narrowed,
    parse_table,
    render_script,
    render_table,
    table_of,
    undeclared,
)
from .._pki.files import Ownership, activate, attribute_problem, delete, pending, read, write_pending
from .systemctl import OPTION as KEEP_FOR
from .systemctl import read_reasons_to_keep

OPTIONS: dict[str, dict[str, t.Any]] = {
    "state": {"type": "str", "choices": ["present", "absent"], "default": "present"},
    "ports": {
        "type": "list",
        "elements": "dict",
        "default": [],
        "options": {
            "protocol": {"type": "str", "choices": ["tcp", "udp"], "default": "tcp"},
            "port": {"type": "int", "required": True},
            "sources": {"type": "list", "elements": "str", "required": True},
        },
    },
    "purge": {"type": "bool", "default": True},
    "keep_for": KEEP_FOR,
    "file": {"type": "path", "default": FILE},
}
_MODE, _OWNER = 0o644, Ownership(None, None)


def apply_firewall(params: t.Mapping[str, t.Any], commands: Commands, *, check_mode: bool) -> dict[str, t.Any]:
    """Return the result of `ovn_firewall`; `OvnError`, and the loaded table stays, if a source has no address or nft refuses."""
    nft, path = commands.find("nft"), params["file"]
    if params["state"] == "absent":
        return _remove(nft, path, params["keep_for"], commands, check_mode)
    filters = [
        PortFilter(one["protocol"], one["port"], _resolve(one["sources"], one["port"])) for one in params["ports"]
    ]
    if not nft and params["purge"] and not check_mode:
        raise OvnError(
            "The firewall is not set up: there is no program nft on this host. Install the package nftables, then run again."
        )
    loaded = _read_table(nft, commands) if nft else None
    strangers = find_strangers(narrowed(filters, loaded), _read_connections())
    if not params["purge"]:
        # Without a table every port is open: there is nothing to add.
        filters = extend(filters, loaded) if loaded else []
    others = undeclared(filters, loaded) if loaded and params["purge"] else []
    kept_for = read_reasons_to_keep(params["keep_for"], commands) if others else []
    if kept_for:
        filters = [*others, *filters]
    result: dict[str, t.Any] = {
        "kept_for": kept_for,
        "strangers": [{"port": port, "address": address} for port, address in strangers],
        "ruleset": render_table(table_of(filters)),
    }
    if not filters:
        return {**result, "changed": False, "actions": [], "diff": []}
    return {**result, **_apply(table_of(filters), loaded, nft, path, commands, check_mode)}


def _apply(
    desired: Table, loaded: Table | None, nft: str, path: str, commands: Commands, check_mode: bool
) -> dict[str, t.Any]:
    script, before = render_script(desired), read(path)
    writes = before != script.encode() or attribute_problem(path, _MODE, _OWNER) is not None
    loads = loaded != desired
    actions = [f"write {path}"] if writes else []
    actions += [f"load table {FAMILY} {TABLE}"] if loads else []
    if actions and not check_mode:
        write_pending(path, script.encode(), _MODE, _OWNER)
        try:
            _nft(nft, commands, "-c", "-f", pending(path))
        except OvnError:
            delete(pending(path))
            raise
        activate(path)
        _nft(nft, commands, "-f", path)
    return {"changed": bool(actions), "actions": actions, "diff": _diff(loaded, desired, loads, path, before, script)}


def _diff(
    loaded: Table | None, desired: Table, loads: bool, path: str, before: bytes | None, script: str
) -> list[dict[str, str]]:
    """Return the difference of the loaded tables; that of the file is the same, unless only the file differs."""
    name = f"table {FAMILY} {TABLE}"
    if loads:
        was = render_table(loaded) if loaded else ""
        return [{"before_header": name, "after_header": name, "before": was, "after": render_table(desired)}]
    was = (before or b"").decode(errors="replace")
    return [{"before_header": path, "after_header": path, "before": was, "after": script}]


def _remove(
    nft: str, path: str, keep_for: t.Mapping[str, t.Any] | None, commands: Commands, check_mode: bool
) -> dict[str, t.Any]:
    """The file goes last: as long as it is there, a run that was interrupted goes on where it stopped. Without it nothing was ever loaded."""
    result: dict[str, t.Any] = {"changed": False, "actions": [], "strangers": [], "ruleset": "", "diff": []}
    if not os.path.lexists(path):
        return {**result, "kept_for": []}
    result["kept_for"] = read_reasons_to_keep(keep_for, commands)
    if result["kept_for"]:
        return result
    loaded = _read_table(nft, commands) if nft else None
    actions = [f"delete table {FAMILY} {TABLE}"] if loaded else []
    actions.append(f"delete {path}")
    if not check_mode:
        if loaded:
            _nft(nft, commands, "delete", "table", FAMILY, TABLE)
        delete(path)
    name = f"table {FAMILY} {TABLE}"
    was = render_table(loaded) if loaded else (read(path) or b"").decode(errors="replace")
    diff = [{"before_header": name, "after_header": name, "before": was, "after": ""}]
    return {**result, "changed": True, "actions": actions, "diff": diff}


def _read_table(nft: str, commands: Commands) -> Table | None:
    if not has_table(_nft(nft, commands, "-j", "list", "tables")):
        return None
    return parse_table(_nft(nft, commands, "-j", "list", "table", FAMILY, TABLE))


def _nft(nft: str, commands: Commands, *arguments: str) -> str:
    code, out, err = commands.run([nft, *arguments])
    if code != 0:
        raise OvnError(
            f"nft {' '.join(arguments)} failed: {(err or out).strip()}. The rules that were loaded before still count. "
            "It needs root and a kernel with nf_tables. Correct that, then run again."
        )
    return out


def _resolve(sources: t.Iterable[str], port: int) -> tuple[Network, ...]:
    """Return the networks of all sources; `InvalidInput` for one that is neither an address nor a network nor a name that this host resolves."""
    return tuple(network for source in dict.fromkeys(sources) for network in _networks_of(source, port))


def _networks_of(source: str, port: int) -> list[Network]:
    with contextlib.suppress(ValueError):
        return [ipaddress.ip_network(source)]
    try:
        if "/" in source:
            raise OSError("no network, or one with bits set behind its length")
        found = socket.getaddrinfo(source, None, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError) as e:
        cause = getattr(e, "strerror", None) or str(e)
        raise InvalidInput(
            f'The firewall is not changed: "{source}", a source for port {port}, is no address, and this host does not resolve it ({cause}). '
            "If it is a host of the inventory, set its ovn_address to an address; else correct the network that was declared."
        ) from e
    addresses = {str(place[0]).partition("%")[0] for *_rest, place in found}
    return [ipaddress.ip_network(address) for address in sorted(addresses)]


def _read_connections() -> t.Iterator[t.Any]:
    for name in ("tcp", "tcp6"):
        with contextlib.suppress(OSError):
            yield from parse_connections(pathlib.Path("/proc/net", name).read_text(encoding="ascii"))

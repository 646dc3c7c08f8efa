# SPDX-License-Identifier: GPL-3.0-or-later
"""Network devices that a chassis names as ports but does not have, for ovn_chassis and for the agent on a node."""

from __future__ import annotations

import socket
import typing as t

from .._base.errors import OvnError, Refused


def refuse_missing_devices(new_ports: t.Mapping[str, str], place: str, next_step: str) -> None:
    """Raise `Refused` if a port has no network device here: a typing error would give a bridge without uplink.

    `new_ports`: port to bridge; `place` is "host" or "node".
    """
    missing = _missing_devices(new_ports)
    if missing:
        places = ", ".join(f"{port} (for bridge {new_ports[port]})" for port in missing)
        raise Refused(f"No such network device on this {place}: {places}. Nothing was written. {next_step}")


def refuse_port_errors(errors: t.Mapping[str, str], bridges: t.Container[str], allow_missing_ports: bool) -> None:
    """Raise `Refused` for a bridge that does not work, and for a port unless `allow_missing_ports`. `errors`: bridge or port to error."""
    fatal = {name: error for name, error in errors.items() if name in bridges or not allow_missing_ports}
    if fatal:
        message = "; ".join(f"{name}: {error}" for name, error in sorted(fatal.items()))
        raise Refused(f"The settings are written, but ovs-vswitchd cannot use all bridges and ports: {message}.")


def _missing_devices(names: t.Iterable[str]) -> list[str]:
    """Return the names without a network device in this process' network namespace."""
    try:
        present = {name for _index, name in socket.if_nameindex()}
    except OSError as e:
        raise OvnError(f"The network devices of this host cannot be listed: {e.strerror}.") from e
    return [name for name in names if name not in present]

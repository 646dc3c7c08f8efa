# SPDX-License-Identifier: GPL-3.0-or-later
"""Services of somebody else that read a configuration of ours: options of `ovn_units` that restart them when it has changed. Pure."""

from __future__ import annotations

import hashlib
import typing as t

from .._machine.systemd_units import OUR_DROP_IN

_SALT, _ROUNDS = b"c5c3.ovn settings", 100_000


def service_files(services: t.Iterable[str], config: str, *, has_secret: bool = False) -> list[dict[str, str]]:
    """Return a drop-in for each unit: a process that was started with other settings has another digest, so a run that was cut off is finished by the next.

    Everybody on the host can read the digest (`systemctl show`). Where the text has a secret, whoever finds it by trial has it, so a trial costs some
    milliseconds. Call it once in a run.
    """
    text = config.encode()
    digest = (
        hashlib.pbkdf2_hmac("sha256", text, _SALT, _ROUNDS) if has_secret else hashlib.sha256(text).digest()
    ).hex()[:16]
    content = f"# Written by Ansible: changes are lost.\n[Service]\nEnvironment=OVN_SETTINGS={digest}\n"
    return [{"path": drop_in_of(service), "content": content} for service in services]


def service_units(services: t.Iterable[str]) -> list[dict[str, t.Any]]:
    """Return that the units run. Whether they start with the machine is for who has installed them."""
    return [{"name": unit_name(service), "state": "started"} for service in services]


def left_service(service: str) -> tuple[list[dict[str, str]], list[dict[str, t.Any]]]:
    """Return files and units of a service that another one replaces: it ends, and no longer starts with the machine."""
    units = [{"name": unit_name(service), "enabled": False, "state": "stopped"}]
    return [{"path": drop_in_of(service), "state": "absent"}], units


def drop_in_of(service: str) -> str:
    """Return the path of what we add to the unit of a service."""
    return f"/etc/systemd/system/{unit_name(service)}.d{OUR_DROP_IN}"


def unit_name(service: str) -> str:
    """Return the name with its suffix, which services may be named without."""
    return service if "." in service else f"{service}.service"

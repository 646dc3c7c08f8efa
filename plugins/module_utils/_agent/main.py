# SPDX-License-Identifier: GPL-3.0-or-later
"""The commands of the archive: `python3 c5c3-ovn.pyz COMMAND`."""

from __future__ import annotations

import sys
import typing as t


def _observer(arguments: t.Sequence[str]) -> int:
    from .observer import main as run

    return run(arguments)


def _host_observer(arguments: t.Sequence[str]) -> int:
    from .host_observer import main as run

    return run(arguments)


def _chassis(arguments: t.Sequence[str]) -> int:
    from .chassis_agent import main as run

    return run(arguments)


def _chassis_observer(arguments: t.Sequence[str]) -> int:
    from .chassis_observer import main as run

    return run(arguments)


def _northd(arguments: t.Sequence[str]) -> int:
    from .northd import main as run

    return run(arguments)


def _leader_proxy(arguments: t.Sequence[str]) -> int:
    from .leader_proxy import main as run

    return run(arguments)


def _version(arguments: t.Sequence[str]) -> int:
    from .._raft.record import FORMAT

    sys.stdout.write(f"c5c3.ovn, record format {FORMAT}\n")
    return 0


COMMANDS: dict[str, t.Callable[[t.Sequence[str]], int]] = {
    "observer": _observer,
    "host-observer": _host_observer,
    "northd": _northd,
    "chassis": _chassis,
    "chassis-observer": _chassis_observer,
    "leader-proxy": _leader_proxy,
    "version": _version,
}


def main(arguments: t.Sequence[str]) -> int:
    """Run the command that the first argument names and return its exit code."""
    if not arguments or arguments[0] not in COMMANDS:
        sys.stderr.write(f"usage: c5c3-ovn.pyz {'|'.join(COMMANDS)} ...\n")
        return 2
    return COMMANDS[arguments[0]](arguments[1:])

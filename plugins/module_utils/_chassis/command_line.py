# SPDX-License-Identifier: GPL-3.0-or-later
"""The command line of ovn-controller (ovn-controller(8)) for the unit of a machine; in a pod the launcher has it. Pure."""

from __future__ import annotations

import typing as t


def controller_command(
    program: str, database: str, log_file: str, pid_file: str, tls: t.Sequence[str] = ()
) -> list[str]:
    """Return the program and its arguments. `database` is that of Open vSwitch, `tls` are arguments for TLS."""
    return [
        program,
        database,
        "-vconsole:off",
        "-vsyslog:err",
        "-vfile:info",
        "--no-chdir",
        f"--log-file={log_file}",
        f"--pidfile={pid_file}",
        *tls,
    ]

# Copyright: (c) 2026, C5C3 contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""PRIVATE to the collection: may change at any time.

The command line of ovn-controller (ovn-controller(8)) for the unit of a machine; in a pod the launcher has it. Pure.
"""

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

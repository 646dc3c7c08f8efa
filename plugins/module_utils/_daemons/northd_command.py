# SPDX-License-Identifier: GPL-3.0-or-later
"""The command line of northd (ovn-northd(8)), for the unit of a machine and for a pod. Pure."""

from __future__ import annotations

import dataclasses
import typing as t

from .._base.tls_options import file_arguments
from .._ovsdb.tls_files import NO_TLS, TlsFiles

DEFAULT_THREADS = 1  # of the OVNCluster and of the role; roles/ovn_central has it in defaults and argument_specs once more, for people


@dataclasses.dataclass(frozen=True)
class NorthdSettings:
    """What one northd is started with. It logs to `log_file`, or to its standard error if that is empty."""

    program: str
    run_directory: str
    northbound: t.Sequence[str]
    southbound: t.Sequence[str]
    log_file: str = ""
    threads: int = DEFAULT_THREADS
    tls: TlsFiles = NO_TLS


def control_socket(run_directory: str) -> str:
    """Return the path of the socket on which northd answers ovn-appctl(8)."""
    return f"{run_directory}/ovn-northd.ctl"


def northd_command(settings: NorthdSettings) -> list[str]:
    """Return the program and its arguments. A single thread is northd's default, so it needs no argument."""
    file = ["-vconsole:off", "-vfile:info", f"--log-file={settings.log_file}"]
    console = ["-vconsole:info", "-vsyslog:off", "-vfile:off"]
    command = [
        settings.program,
        "--no-chdir",
        *(file if settings.log_file else console),
        f"--pidfile={settings.run_directory}/ovn-northd.pid",
        f"--unixctl={control_socket(settings.run_directory)}",
        f"--ovnnb-db={','.join(settings.northbound)}",
        f"--ovnsb-db={','.join(settings.southbound)}",
    ]
    if settings.threads > 1:
        command.append(f"--n-threads={settings.threads}")
    return command + file_arguments(settings.tls)

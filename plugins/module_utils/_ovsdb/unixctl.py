# SPDX-License-Identifier: GPL-3.0-or-later
"""Commands on a daemon's control socket, as ovs-appctl(8) sends them."""

from __future__ import annotations

from .._base.deadline import Deadline
from .endpoint import Endpoint
from .tls_files import TlsFiles
from .wire import Connection


def appctl(control_socket: str, command: str, *arguments: str, deadline: Deadline) -> str:
    """Return the text that `command` prints; `Refused` for an error of the command, `TimedOut` for a frozen daemon."""
    with Connection(Endpoint("unix", control_socket), TlsFiles(), deadline) as connection:
        return str(connection.call(command, list(arguments)))

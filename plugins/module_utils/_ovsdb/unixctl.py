# Copyright: (c) 2026, C5C3 contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""PRIVATE to the collection: may change at any time.

Commands on a daemon's control socket, as ovs-appctl(8) sends them.
"""

from __future__ import annotations

from .._deadline import Deadline
from .endpoint import Endpoint
from .tls_files import TlsFiles
from .wire import Connection


def appctl(control_socket: str, command: str, *arguments: str, deadline: Deadline) -> str:
    """Return the text that `command` prints; `Refused` for an error of the command, `TimedOut` for a frozen daemon."""
    with Connection(Endpoint("unix", control_socket), TlsFiles(), deadline) as connection:
        return str(connection.call(command, list(arguments)))

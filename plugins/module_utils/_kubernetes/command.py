# Copyright: (c) 2026, C5C3 contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""PRIVATE to the collection: may change at any time.

What a command in a container came to, by the error channel of the connection.
"""

from __future__ import annotations

import json
import typing as t
from urllib.parse import quote, urlencode

from .._errors import Refused, Unreachable

# A command in a pod gets so long at least: a busy node takes seconds to begin it.
COMMAND_SECONDS = 10.0


class ExecResult(t.NamedTuple):
    """A command that ended."""

    code: int
    stdout: str
    stderr: str


def exec_url(host: str, namespace: str, pod: str, container: str, command: t.Sequence[str], stdin: bool) -> str:
    """Where a command is run over a websocket."""
    query = [("container", container), *(("command", word) for word in command)]
    query += [("stdin", "true" if stdin else "false"), ("stdout", "true"), ("stderr", "true"), ("tty", "false")]
    path = f"/api/v1/namespaces/{quote(namespace, safe='')}/pods/{quote(pod, safe='')}/exec"
    return "ws" + host.removeprefix("http") + path + "?" + urlencode(query)


def exit_code(error_channel: str, doing: str) -> int:
    """The command's exit code; an error if it never ran or if the connection ended before it."""
    try:
        status = json.loads(error_channel)
    except ValueError:
        raise Unreachable(
            f"Cannot {doing}: the connection ended before the command did ({error_channel or 'nothing was said'}). "
            "Has the pod ended? Look at it and run again."
        ) from None
    if status.get("status") == "Success":
        return 0
    for cause in (status.get("details") or {}).get("causes") or []:
        if cause.get("reason") == "ExitCode" and cause.get("message", "").isdigit():
            return int(cause["message"])
    raise Refused(f"Cannot {doing}: {status.get('message') or error_channel}. Is this the right image?")


def fed(command: t.Sequence[str], stdin: bytes | None) -> list[str]:
    """The command, made to see an end of its input: not every API server can close one direction of the connection."""
    if stdin is None:
        return list(command)
    return ["sh", "-c", 'size=$1; shift; head -c "$size" | "$@"', "sh", str(len(stdin)), *command]

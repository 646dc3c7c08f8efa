# SPDX-License-Identifier: GPL-3.0-or-later
"""Commands in a container: the request that starts one, and its result in the error channel of the connection."""

from __future__ import annotations

import json
import typing as t
from urllib.parse import quote, urlencode

from .._base.errors import Refused, Unreachable

# The shortest limit for a command in a pod: a busy node takes seconds to start it.
COMMAND_SECONDS = 10.0


class ExecResult(t.NamedTuple):
    """The result of a command that ended."""

    code: int
    stdout: str
    stderr: str


def exec_url(host: str, namespace: str, pod: str, container: str, command: t.Sequence[str], stdin: bool) -> str:
    """Return the websocket URL (ws:// or wss://) that runs a command; `host` is the API server's URL."""
    query = [("container", container), *(("command", word) for word in command)]
    query += [("stdin", "true" if stdin else "false"), ("stdout", "true"), ("stderr", "true"), ("tty", "false")]
    path = f"/api/v1/namespaces/{quote(namespace, safe='')}/pods/{quote(pod, safe='')}/exec"
    return "ws" + host.removeprefix("http") + path + "?" + urlencode(query)


def exit_code(error_channel: str, doing: str) -> int:
    """Return the command's exit code; `Refused` if it never ran, `Unreachable` if the connection ended before it."""
    try:
        status = json.loads(error_channel)
    except ValueError:
        raise Unreachable(
            f"Cannot {doing}: the connection ended before the command did ({error_channel or 'no reason given'}). "
            "Has the pod ended? Look at it and run again."
        ) from None
    if status.get("status") == "Success":
        return 0
    for cause in (status.get("details") or {}).get("causes") or []:
        if cause.get("reason") == "ExitCode" and cause.get("message", "").isdigit():
            return int(cause["message"])
    raise Refused(f"Cannot {doing}: {status.get('message') or error_channel}. Is this the right image?")


def command_with_stdin(command: t.Sequence[str], stdin: bytes | None) -> list[str]:
    """Return a command that gets exactly `stdin` and then its end: not every API server can close one direction of the connection."""
    if stdin is None:
        return list(command)
    return ["sh", "-c", 'size=$1; shift; head -c "$size" | "$@"', "sh", str(len(stdin)), *command]

# SPDX-License-Identifier: GPL-3.0-or-later
"""Which requests are retried, after which failures, and when: an API server that restarts or is overloaded for a moment must not end a rollout
between two members.
"""

from __future__ import annotations

import json
import re
import typing as t

from .._base.errors import BadAnswer, Conflict, InvalidInput, OvnError, Refused, TimedOut, Unreachable
from .kinds import is_connection_failure

# What the API server's refusals mean: an HTTP status with its Status object becomes an `OvnError`.

_MANAGER = re.compile(r'conflict with "((?:[^"\\]|\\.)*)"')
_VERB = re.compile(r'cannot (\S+) resource "([^"]+)"(?: in API group "([^"]*)")?')
_UNKNOWN_FIELD = re.compile(r"(\.\S+): field not declared in schema")


class ApiStatus(t.NamedTuple):
    """The Status object of an answer, or the text that came instead."""

    message: str
    reason: str = ""
    kind: str = ""
    causes: tuple[t.Mapping[str, str], ...] = ()
    is_status: bool = False  # an object of the API server, not the page of some proxy


def parse_status(body: str | bytes | None) -> ApiStatus:
    text = body.decode("utf-8", "replace") if isinstance(body, bytes) else body or ""
    try:
        answer = json.loads(text)
    except ValueError:
        answer = None
    if not isinstance(answer, dict) or answer.get("kind") != "Status":
        return ApiStatus(text.strip()[:300])
    details = answer.get("details") or {}
    causes = tuple(details.get("causes") or ())
    return ApiStatus(answer.get("message") or "", answer.get("reason") or "", details.get("kind") or "", causes, True)


def response_failure(
    http_status: int, body: str | bytes | None, doing: str, *, server: str, credentials: str
) -> OvnError:
    """Return the error for an answer outside 2xx. `doing`: the request, for example "apply ConfigMap ovn-system/ovn"."""
    status = parse_status(body)
    message = status.message or "no reason given"
    kind, text = _classify(http_status, status, message, server=server, credentials=credentials)
    error = kind(f"Cannot {doing}: {text}", http_status=http_status, reason=status.reason)
    if managers := sorted(_owners(status)):
        error.details["managers"] = managers
    return error


def _classify(
    http_status: int, status: ApiStatus, message: str, *, server: str, credentials: str
) -> tuple[type[OvnError], str]:
    if http_status == 401:
        return Refused, (
            f"the API server {server} does not accept the credentials of {credentials} (401). The token or client certificate "
            "has expired or belongs to another cluster; get a new one and run again."
        )
    if http_status == 403:
        return Refused, _forbidden(status, message, credentials)
    if http_status == 404:
        return Refused, _not_found(status, message, server)
    if http_status == 409:
        return Conflict, _conflict(status, message)
    if http_status == 422:
        return InvalidInput, _invalid(status, message)
    if http_status == 500 and (unknown := _UNKNOWN_FIELD.search(message)):
        return InvalidInput, (
            f"the API server {server} does not know the field {unknown[1]} ({message}). Its Kubernetes or its "
            "CustomResourceDefinitions are of another version than this collection expects; update the older side."
        )
    if "error dialing backend" in message:
        return Unreachable, f"the API server cannot reach the node of the pod ({message}). Look at the node's kubelet."
    if http_status == 429 and any(cause.get("reason") == "DisruptionBudget" for cause in status.causes):
        why = " ".join(cause.get("message", "") for cause in status.causes).strip()
        return Refused, f"{message} {why}".strip()
    if http_status in (429, 502, 503):
        overload = f"the API server {server} is not ready or overloaded ({http_status}: {message}). Try again later."
        return Unreachable, overload
    if http_status == 504 or status.reason == "Timeout":
        return (
            TimedOut,
            f"the API server {server} gave up waiting ({message}). Look at its etcd and webhooks, then try again.",
        )
    if 300 <= http_status < 400:
        return (
            BadAnswer,
            f"{server} redirects ({http_status}). It is not the address of an API server; correct host or proxy.",
        )
    return Refused, f"the API server {server} answered {http_status}: {message}"


def _not_found(status: ApiStatus, message: str, server: str) -> str:
    if status.kind == "namespaces":
        return f"{message}. Create the namespace, or name another one."
    if not status.is_status:
        return f"the API server {server} does not know this kind (404). Is its CustomResourceDefinition installed?"
    return f"{message}. It was deleted meanwhile or never existed; look at the names and run again."


def _forbidden(status: ApiStatus, message: str, credentials: str) -> str:
    if "exceeded quota" in message or "failed quota" in message:
        return f"a quota of the namespace is in the way: {message}. Raise the ResourceQuota or ask for less."
    if "being terminated" in message:
        return f"the namespace is being deleted: {message}. Wait until it is gone, then create it again."
    verb = _VERB.search(message)
    if verb is None:
        return f"the API server forbids it: {message}"
    where = f'{verb[2]} in API group "{verb[3] or ""}"'
    return f'{message}. Give the user of {credentials} a role with the verb "{verb[1]}" on {where}.'


def _owners(status: ApiStatus) -> dict[str, list[str]]:
    """Return the field managers that conflict, each with its fields."""
    owners: dict[str, list[str]] = {}
    for cause in status.causes:
        if cause.get("reason") == "FieldManagerConflict":
            found = _MANAGER.search(cause.get("message", ""))
            owners.setdefault(found[1] if found else cause.get("message", ""), []).append(cause.get("field", ""))
    return owners


def _conflict(status: ApiStatus, message: str) -> str:
    owners = _owners(status)
    if owners:
        listed = "; ".join(f'"{manager}" set {", ".join(fields)}' for manager, fields in sorted(owners.items()))
        return (
            f"another field manager owns fields of the desired object: {listed}. Let it stop setting them, "
            "or overwrite them with force_conflicts (ovn_force_conflicts)."
        )
    if status.reason == "AlreadyExists":
        return f"{message}. Another client created it; look at it, then run again."
    return f"another client changed it meanwhile ({message}). Nothing was written; run again."


def _invalid(status: ApiStatus, message: str) -> str:
    causes = [f"{cause.get('field') or 'object'}: {cause.get('message', '')}" for cause in status.causes]
    if "updates to statefulset spec for fields" in message or "field is immutable" in message:
        return f"a field that cannot be changed later differs: {message}. Put the old value back, or delete the object first."
    return f"the API server finds it invalid: {'; '.join(dict.fromkeys(causes)) or message}. Correct these fields."


APPLY = "application/apply-patch+yaml"
PATIENCE = 10.0  # seconds for one request with all its repetitions
_FIRST, _LONGEST = 0.25, 2.0


def is_repeatable(method: str, content_type: str | None) -> bool:
    """Return whether a request can be retried although it may have been carried out: a read, and an apply."""
    return method == "get" or (method == "patch" and content_type == APPLY)


def pause_after(error: OvnError, attempt: int) -> float | None:
    """Return the seconds until the next attempt, None if a retry is useless. Attempts count from 0.

    A time-out is not retried: a frozen server would cost the limit several times.
    """
    if not isinstance(error, Unreachable):
        return None
    status = error.details.get("http_status")
    if status is None and not is_connection_failure(error.__cause__):
        return None
    if status is not None and status not in (429, 503):
        return None
    grown: float = _FIRST * 2**attempt
    return max(min(grown, _LONGEST), _retry_after(error.__cause__))


def _retry_after(answer: t.Any) -> float:
    """Return the seconds of the header Retry-After, 0 without one."""
    value = str((getattr(answer, "headers", None) or {}).get("Retry-After", ""))
    return float(value) if value.isascii() and value.isdecimal() else 0.0

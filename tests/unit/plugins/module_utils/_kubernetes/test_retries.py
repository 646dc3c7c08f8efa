"""Which requests are sent again, and when."""

from __future__ import annotations

import json
from typing import Any

import pytest

from ansible_collections.c5c3.ovn.plugins.module_utils._base.errors import (
    BadAnswer,
    Conflict,
    InvalidInput,
    OvnError,
    Refused,
    TimedOut,
    Unreachable,
)
from ansible_collections.c5c3.ovn.plugins.module_utils._kubernetes.kinds import network_failure
from ansible_collections.c5c3.ovn.plugins.module_utils._kubernetes.retries import (
    APPLY,
    is_repeatable,
    parse_status,
    pause_after,
    response_failure,
)


@pytest.mark.parametrize(
    ("method", "content_type", "expected"),
    [
        ("get", None, True),
        ("patch", APPLY, True),
        ("patch", "application/merge-patch+json", False),
        ("patch", None, False),
        ("post", None, False),
        ("put", None, False),
        ("delete", None, False),
    ],
)
def test_which_requests(method: str, content_type: str | None, expected: bool) -> None:
    assert is_repeatable(method, content_type) is expected


class ProtocolError(Exception):
    """As urllib3 calls it."""


class NameResolutionError(Exception):
    """As urllib3 calls it."""


class ReadTimeoutError(Exception):
    """As urllib3 calls it."""


class MaxRetryError(Exception):
    """As urllib3 wraps the last one."""

    def __init__(self, reason: Exception) -> None:
        super().__init__()
        self.reason = reason


class Answer(Exception):
    def __init__(self, retry_after: str | None) -> None:
        super().__init__()
        self.headers = {} if retry_after is None else {"Retry-After": retry_after}


def of_network(cause: Exception) -> OvnError:
    error = network_failure(cause, "list Pod in a", server="https://a:6443", credentials="kubeconfig /k")
    error.__cause__ = cause
    return error


def of_server(code: int, retry_after: str | None = None) -> OvnError:
    error = response_failure(code, "busy", "list Pod in a", server="https://a:6443", credentials="kubeconfig /k")
    error.__cause__ = Answer(retry_after)
    return error


@pytest.mark.parametrize(
    ("error", "again"),
    [
        pytest.param(of_network(ConnectionRefusedError()), True, id="refused"),
        pytest.param(of_network(ConnectionResetError()), True, id="reset"),
        pytest.param(of_network(MaxRetryError(ProtocolError())), True, id="cut off"),
        pytest.param(of_network(NameResolutionError()), False, id="a name that cannot be resolved"),
        pytest.param(of_network(ReadTimeoutError()), False, id="a frozen server"),
        pytest.param(of_network(PermissionError()), False, id="a key that cannot be read"),
        pytest.param(of_server(429), True, id="429"),
        pytest.param(of_server(503), True, id="503"),
        pytest.param(of_server(500), False, id="500"),
        pytest.param(of_server(504), False, id="504"),
        pytest.param(of_server(409), False, id="409"),
        pytest.param(Unreachable("x"), False, id="without a cause"),
        pytest.param(Refused("x"), False, id="a refusal of ours"),
        pytest.param(TimedOut("x"), False, id="a limit of ours"),
    ],
)
def test_after_which_failures(error: OvnError, again: bool) -> None:
    assert (pause_after(error, 0) is not None) is again


@pytest.mark.parametrize(
    ("retry_after", "pauses"),
    [
        (None, [0.25, 0.5, 1.0, 2.0, 2.0]),
        ("1", [1.0, 1.0, 1.0, 2.0, 2.0]),
        ("30", [30.0] * 5),
        ("Wed, 21 Oct 2026 07:28:00 GMT", [0.25, 0.5, 1.0, 2.0, 2.0]),
    ],
)
def test_pauses_grow_and_the_server_may_ask_for_more(retry_after: str | None, pauses: list[float]) -> None:
    assert [pause_after(of_server(429, retry_after), attempt) for attempt in range(5)] == pauses


def status(message: str, reason: str = "", kind: str = "", causes: list[dict[str, str]] | None = None) -> str:
    details: dict[str, Any] = {"kind": kind, "causes": causes or []}
    return json.dumps({"kind": "Status", "status": "Failure", "message": message, "reason": reason, "details": details})


def told(code: int, body: str | bytes | None) -> OvnError:
    return response_failure(code, body, "apply ConfigMap ns/a", server="https://a:6443", credentials="kubeconfig /k")


MANAGER = {"reason": "FieldManagerConflict", "message": 'conflict with "kubectl-edit" using v1', "field": ".data.x"}
IMMUTABLE = "StatefulSet.apps is invalid: spec: Forbidden: updates to statefulset spec for fields other than 'replicas'"


@pytest.mark.parametrize(
    ("code", "body", "family", "words"),
    [
        pytest.param(
            401,
            status("Unauthorized", "Unauthorized"),
            Refused,
            ["https://a:6443", "kubeconfig /k", "expired"],
            id="an expired token",
        ),
        pytest.param(
            403,
            status('x is forbidden: User "u" cannot patch resource "configmaps" in API group "" in the namespace "n"'),
            Refused,
            ['verb "patch"', "configmaps", 'User "u"'],
            id="a right is missing",
        ),
        pytest.param(
            403,
            status('pods "x" is forbidden: exceeded quota: q, requested: pods=1, used: pods=5, limited: pods=5'),
            Refused,
            ["exceeded quota: q", "ResourceQuota"],
            id="the quota is used up",
        ),
        pytest.param(
            403,
            status("x is forbidden: unable to create new content in namespace n because it is being terminated"),
            Refused,
            ["being deleted", "Wait"],
            id="the namespace ends",
        ),
        pytest.param(
            403, status('violates PodSecurity "restricted"'), Refused, ["PodSecurity"], id="pod security forbids it"
        ),
        pytest.param(
            404,
            status('namespaces "n" not found', "NotFound", "namespaces"),
            Refused,
            ['namespaces "n" not found', "Create the namespace"],
            id="no namespace",
        ),
        pytest.param(404, "404 page not found\n", Refused, ["CustomResourceDefinition"], id="no such kind"),
        pytest.param(404, status('pods "p" not found', "NotFound", "pods"), Refused, ['pods "p"'], id="no such object"),
        pytest.param(
            409,
            status("Apply failed with 1 conflict", "Conflict", causes=[MANAGER]),
            Conflict,
            ['"kubectl-edit" set .data.x', "force_conflicts"],
            id="another field manager",
        ),
        pytest.param(
            409, status("the object has been modified", "Conflict"), Conflict, ["modified", "run again"], id="stale"
        ),
        pytest.param(409, status('"a" already exists', "AlreadyExists"), Conflict, ["already exists"], id="it exists"),
        pytest.param(
            422,
            status("invalid", "Invalid", causes=[{"field": "spec.replicas", "message": "must be odd"}]),
            InvalidInput,
            ["spec.replicas: must be odd"],
            id="an invalid field",
        ),
        pytest.param(422, status(IMMUTABLE, "Invalid"), InvalidInput, ["cannot be changed later"], id="immutable"),
        pytest.param(
            500,
            status("failed to create typed patch object (n/a; /v1, Kind=X): .spec.foo: field not declared in schema"),
            InvalidInput,
            [".spec.foo", "version"],
            id="an unknown field",
        ),
        pytest.param(500, status("error dialing backend: dial tcp"), Unreachable, ["kubelet"], id="a node is away"),
        pytest.param(500, status('failed calling webhook "w"'), Refused, ['webhook "w"'], id="a webhook fails"),
        pytest.param(503, "upstream connect error", Unreachable, ["503", "upstream"], id="not ready"),
        pytest.param(429, status("too many requests"), Unreachable, ["later"], id="overloaded"),
        pytest.param(
            429,
            status(
                "Cannot evict pod.",
                "TooManyRequests",
                causes=[{"reason": "DisruptionBudget", "message": "The disruption budget a needs 2 healthy pods"}],
            ),
            Refused,
            ["Cannot evict pod.", "The disruption budget a needs 2 healthy pods"],
            id="a disruption budget",
        ),
        pytest.param(504, status("timed out", "Timeout"), TimedOut, ["etcd"], id="the server's own limit"),
        pytest.param(302, "", BadAnswer, ["redirects"], id="a login page"),
        pytest.param(400, None, Refused, ["400"], id="no message at all"),
        pytest.param(418, b"\xff", Refused, ["418"], id="no text"),
    ],
)
def test_an_answer_becomes_an_error(
    code: int, body: str | bytes | None, family: type[OvnError], words: list[str]
) -> None:
    error = told(code, body)
    assert error.__class__ is family
    assert str(error).startswith("Cannot apply ConfigMap ns/a: ")
    assert [word for word in words if word not in str(error)] == []
    assert error.details["http_status"] == code


def test_any_cut_of_a_status_is_an_error_of_ours() -> None:
    body = status("m", "Conflict", causes=[MANAGER])
    assert all(isinstance(told(409, body[:length]), Conflict) for length in range(len(body)))


@pytest.mark.parametrize("body", [None, "", "[]", "{}", '"x"', b"\xff\xfe"])
def test_what_is_no_status(body: str | bytes | None) -> None:
    assert not parse_status(body).is_status


def test_managers_in_the_way_can_be_told_apart() -> None:
    ours = {**MANAGER, "message": 'conflict with "c5c3.ovn" using v1', "field": ".data.y"}
    assert told(409, status("conflicts", causes=[MANAGER, ours, ours])).details["managers"] == [
        "c5c3.ovn",
        "kubectl-edit",
    ]
    assert "managers" not in told(409, status("gone", "AlreadyExists")).details

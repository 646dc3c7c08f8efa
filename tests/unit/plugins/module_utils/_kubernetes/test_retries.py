"""Which requests are sent again, and when."""

from __future__ import annotations

import pytest

from ansible_collections.c5c3.ovn.plugins.module_utils._base.errors import OvnError, Refused, TimedOut, Unreachable
from ansible_collections.c5c3.ovn.plugins.module_utils._kubernetes.network import network_failure
from ansible_collections.c5c3.ovn.plugins.module_utils._kubernetes.refusals import response_failure
from ansible_collections.c5c3.ovn.plugins.module_utils._kubernetes.retries import APPLY, is_repeatable, pause_after


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

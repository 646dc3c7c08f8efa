from __future__ import annotations

import pytest

from ansible_collections.c5c3.ovn.plugins.module_utils._report.findings import cause_of

FORBIDDEN = (
    "Exception '403\nReason: Forbidden\nHTTP response headers: HTTPHeaderDict({'Date': 'Wed'})\nHTTP response body: "
    '{"kind":"Status","apiVersion":"v1","message":"secrets \\"ovn-tls\\" is forbidden","code":403}\n\nOriginal traceback:\n'
    '  File "client.py", line 54, in inner\n\' raised while trying to get resource using (name=ovn-tls).'
)


@pytest.mark.parametrize(
    ("message", "cause"),
    [
        pytest.param(None, "", id="no message"),
        pytest.param("Task failed: it\nis down.", "it is down", id="one line"),
        pytest.param(FORBIDDEN, 'secrets "ovn-tls" is forbidden', id="an answer of the API server"),
        pytest.param('body: {"kind":"Status","x', 'body: {"kind":"Status","x', id="an answer that was cut off"),
        pytest.param('body: {"kind":"Status"}', 'body: {"kind":"Status"}', id="an answer without a message"),
    ],
)
def test_cause_of(message: str | None, cause: str) -> None:
    assert cause_of({"msg": message}) == cause

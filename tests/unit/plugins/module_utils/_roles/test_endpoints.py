"""Connection strings; what hosts and addresses they come from is tested with the filter `endpoints`."""

from __future__ import annotations

import pytest

from ansible_collections.c5c3.ovn.plugins.module_utils._errors import InvalidInput
from ansible_collections.c5c3.ovn.plugins.module_utils._roles.endpoints import (
    endpoints_of,
    member_endpoints,
    split_endpoints,
)


def test_one_endpoint_for_each_address() -> None:
    found = member_endpoints(["192.0.2.1", "2001:db8::1"], "southbound", "client", tls=False)
    assert found == ["tcp:192.0.2.1:6642", "tcp:[2001:db8::1]:6642"]


def test_an_unknown_listener_is_named() -> None:
    with pytest.raises(InvalidInput, match='"southbound" and "clients" are no port'):
        member_endpoints(["192.0.2.1"], "southbound", "clients", tls=True)


@pytest.mark.parametrize(
    ("text", "expected"), [("", []), (None, []), ("ssl:a:1", ["ssl:a:1"]), ("ssl:a:1,,ssl:b:1", ["ssl:a:1", "ssl:b:1"])]
)
def test_a_connection_string(text: str | None, expected: list[str]) -> None:
    assert split_endpoints(text) == expected


def test_an_empty_address_is_absent() -> None:
    hostvars = {"db1": {"ovn_address": "", "ansible_host": "2001:db8::1"}}
    assert endpoints_of(["db1"], hostvars, "southbound", "client", tls=False) == ["tcp:[2001:db8::1]:6642"]

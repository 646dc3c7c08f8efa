"""Names among endpoints."""

from __future__ import annotations

import pytest

from ansible_collections.c5c3.ovn.plugins.module_utils._ovsdb.host_names import names_in


@pytest.mark.parametrize(
    ("endpoints", "names"),
    [
        ([], []),
        (["ssl:192.0.2.1:6641", "ssl:[2001:db8::1]:6641", "ssl:[fe80::1%eth0]:6641"], []),
        (
            ["ssl:b.example:6641,ssl:a.example:6641", "tcp:a.example:6642", "tcp:192.0.2.1:6642"],
            ["a.example", "b.example"],
        ),
        ([""], []),
    ],
)
def test_names(endpoints: list[str], names: list[str]) -> None:
    assert names_in(endpoints) == names

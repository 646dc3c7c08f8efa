"""What is told of a chassis that does not register; the database itself is asked in tests/integration/test_chassis.py."""

from __future__ import annotations

import types
import typing as t

import pytest

from ansible_collections.c5c3.ovn.plugins.module_utils._base.deadline import Deadline
from ansible_collections.c5c3.ovn.plugins.module_utils._base.errors import TimedOut
from ansible_collections.c5c3.ovn.plugins.module_utils._chassis.registration import LocalChassis
from ansible_collections.c5c3.ovn.plugins.module_utils._chassis.southbound import Southbound

LOCAL = LocalChassis("c1", "host1", frozenset({("geneve", "192.0.2.1")}))


class FakeSession:
    """Time has run out; the rows are those of the last look."""

    def __init__(self, **tables: list[dict[str, str]]) -> None:
        self.tables = tables

    def rows(self, table: str) -> list[types.SimpleNamespace]:
        return [types.SimpleNamespace(**row) for row in self.tables.get(table, [])]

    def wait_until(self, *_arguments: t.Any) -> None:
        raise TimedOut("Waited in vain.")


@pytest.mark.parametrize(
    ("encaps", "words"),
    [
        pytest.param([], "it has no row there. Look at", id="nobody is there"),
        pytest.param(
            [{"chassis_name": "c2", "type": "geneve", "ip": "192.0.2.1"}],
            'Encapsulation address 192.0.2.1 \\(geneve\\) belongs to chassis "c2"',
            id="another new chassis was faster with our address",
        ),
    ],
)
def test_why_a_chassis_does_not_register(encaps: list[dict[str, str]], words: str) -> None:
    southbound = Southbound.__new__(Southbound)
    southbound.local = LOCAL
    southbound.session = t.cast("t.Any", FakeSession(Encap=encaps))
    with pytest.raises(TimedOut, match=words):
        southbound.wait_registered(Deadline(60))

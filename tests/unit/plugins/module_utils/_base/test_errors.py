"""Names in a sentence."""

from __future__ import annotations

import pytest

from ansible_collections.c5c3.ovn.plugins.module_utils._base.errors import list_names


@pytest.mark.parametrize(
    ("names", "most", "kind", "expected"),
    [
        ([], 2, "", ""),
        (["a", "b"], 2, "", "a, b"),
        (["a", "b", "c"], 2, "", "a, b and 1 more"),
        (["a", "b", "c", "d"], 2, "tables", "a, b and 2 more tables"),
    ],
)
def test_at_most_so_many_are_named(names: list[str], most: int, kind: str, expected: str) -> None:
    assert list_names(names, most, kind=kind) == expected

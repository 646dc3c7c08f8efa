"""Queries are checked before anything is read."""

from __future__ import annotations

import pytest

from ansible_collections.c5c3.ovn.plugins.filter.query_problem import query_problem


@pytest.mark.parametrize(
    ("query", "problem"),
    [
        ("", ""),
        ("chassis.late", ""),
        ("length(late)", ""),
        ("chassis[", "query 'chassis[' is not complete: it ends after character 8."),
    ],
)
def test_problems(query: str, problem: str) -> None:
    assert query_problem(query) == problem

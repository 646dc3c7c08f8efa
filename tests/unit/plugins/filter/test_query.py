"""Queries in templates; the language is tested with _base/query.py."""

from __future__ import annotations

import pytest
from ansible.errors import AnsibleFilterError

from ansible_collections.c5c3.ovn.plugins.filter.query import query


def test_query() -> None:
    assert query({"chassis": {"late": ["c1"]}}, "chassis.late[0]") == "c1"


def test_a_mistake_fails_the_task_with_a_sentence() -> None:
    with pytest.raises(AnsibleFilterError, match="is not complete: it ends after character 8"):
        query({}, "chassis[")

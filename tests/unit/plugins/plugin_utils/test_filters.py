"""Filters refuse bad input with its text."""

from __future__ import annotations

import pytest
from ansible.errors import AnsibleFilterError

from ansible_collections.c5c3.ovn.plugins.module_utils._base.errors import InvalidInput
from ansible_collections.c5c3.ovn.plugins.plugin_utils._filters import as_filter


def test_what_a_function_refuses_fails_the_task_with_its_text() -> None:
    def refuse(value: str) -> str:
        raise InvalidInput(f"{value} cannot be. Give another.")

    with pytest.raises(AnsibleFilterError, match=r"^x cannot be\. Give another\.$"):
        as_filter(refuse)("x")


def test_a_mistake_of_ours_stays_what_it_is() -> None:
    with pytest.raises(ZeroDivisionError):
        as_filter(lambda: 1 // 0)()

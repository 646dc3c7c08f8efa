"""Codes to acknowledge come as a list, or as a text from the command line."""

from __future__ import annotations

import pytest

from ansible_collections.c5c3.ovn.plugins.filter.acknowledge_problem import acknowledge_problem


@pytest.mark.parametrize("codes", ["", [], "fault_join", "fault_join, fault_leave", ["fault_join", "even_members"]])
def test_codes_in_each_form(codes: str | list[str]) -> None:
    assert acknowledge_problem(codes) == ""


@pytest.mark.parametrize("codes", ["fault_join,unknown", ["unknown"]])
def test_unknown_codes_in_each_form(codes: str | list[str]) -> None:
    assert acknowledge_problem(codes).startswith("ovn_verify_acknowledge: unknown: no such code.")

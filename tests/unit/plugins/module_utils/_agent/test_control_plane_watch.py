"""What a relay's answer says about chassis, and when it counts."""

from __future__ import annotations

import pytest

from ansible_collections.c5c3.ovn.plugins.module_utils._agent.control_plane_watch import (
    lasting_problems,
    relay_problem,
)
from ansible_collections.c5c3.ovn.plugins.module_utils._base.errors import OvnError, Unreachable
from ansible_collections.c5c3.ovn.plugins.module_utils._ovsdb.server import ServerRow


def row(model: str, *, connected: bool) -> ServerRow:
    return ServerRow("OVN_Southbound", model, connected, False, None, None, None)


@pytest.mark.parametrize(
    ("answer", "problem"),
    [
        (row("relay", connected=True), ""),
        (row("relay", connected=False), "its relay has no connection to a member"),
        (row("clustered", connected=True), "a member of before the relays serves it"),
        (None, "it does not have the Southbound database"),
        (Unreachable("ssl:a:6642 refuses the connection."), "ssl:a:6642 refuses the connection"),
    ],
)
def test_what_an_answer_says(answer: ServerRow | OvnError | None, problem: str) -> None:
    assert relay_problem(answer) == problem


@pytest.mark.parametrize(
    ("before", "found", "lasting"),
    [
        pytest.param({}, {"a": "", "b": ""}, {"a": "", "b": ""}, id="all serve at once"),
        pytest.param({}, {"a": "", "b": "away"}, None, id="one does not, for now"),
        pytest.param({"a": "", "b": "away"}, {"a": "", "b": "refused"}, {"a": "", "b": "refused"}, id="nor later"),
        pytest.param({"a": "", "b": ""}, {"a": "away", "b": ""}, {"a": "", "b": ""}, id="it is restarted"),
        pytest.param({"a": "away", "b": ""}, {"a": "", "b": ""}, {"a": "", "b": ""}, id="and there again"),
    ],
)
def test_what_lasts_counts(before: dict[str, str], found: dict[str, str], lasting: dict[str, str] | None) -> None:
    assert lasting_problems(before, found) == lasting

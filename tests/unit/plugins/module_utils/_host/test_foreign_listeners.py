"""Whether clients keep their listeners."""

from __future__ import annotations

import typing as t

import pytest

from ansible_collections.c5c3.ovn.plugins.module_utils._host.foreign_listeners import listener_problems

UUID = "11111111-1111-4111-8111-111111111111"


def problems(rows: t.Sequence[str] = (), command: t.Sequence[str] = (), *desired: str, **role: str) -> list[str]:
    found = [{"_uuid": UUID, "target": target, "role": role.get("role", "")} for target in rows]
    wanted: list[dict[str, t.Any]] = [{"target": target} for target in desired]
    if "desired_role" in role:
        wanted[0]["role"] = role["desired_role"]
    return listener_problems("southbound", wanted, found, command)


@pytest.mark.parametrize(
    ("rows", "command", "desired"),
    [
        pytest.param((), (), "ptcp:6642:[::]", id="nobody listens yet"),
        pytest.param(("ptcp:6642:0.0.0.0",), (), "ptcp:6642:0.0.0.0", id="the row is there already"),
        pytest.param(("ptcp:16642:0.0.0.0",), (), "ptcp:6642:[::]", id="a row on another port stays"),
        pytest.param((), ("ptcp:6642:0.0.0.0",), "ptcp:6642:[::]", id="a row takes over from the command line"),
        pytest.param((), ("ptcp:6642:192.0.2.1",), "ptcp:6642:0.0.0.0", id="all addresses instead of one"),
        pytest.param(
            ("ptcp:7000",), ("ptcp:7000",), "ptcp:6642:[::]", id="a row has the same port as the command line"
        ),
        pytest.param((), ("punix:/run/ovn/ovnsb_db.sock", "db:x,y,z"), "ptcp:6642:[::]", id="other remotes"),
        pytest.param(("tcp:192.0.2.9:6642",), (), "ptcp:6642:[::]", id="a row that calls out"),
    ],
)
def test_listeners_that_stay(rows: tuple[str, ...], command: tuple[str, ...], desired: str) -> None:
    assert problems(rows, command, desired) == []


@pytest.mark.parametrize(
    ("rows", "command", "desired", "remedy"),
    [
        pytest.param(
            ("ptcp:6642:0.0.0.0",), (), "ptcp:6642:[::]", 'Set ovn_central_listen_address="0.0.0.0"', id="two wildcards"
        ),
        pytest.param(("pssl:6642:[::]",), (), "ptcp:6642:[::]", "Set ovn_tls=true", id="clients use TLS"),
        pytest.param(("ptcp:6642",), (), "pssl:6642:[::]", "Set ovn_tls=false", id="clients use no TLS"),
        pytest.param(
            ("ptcp:6642",),
            (),
            "ptcp:6642:0.0.0.0",
            f"ovn-sbctl set Connection {UUID} 'target=\"ptcp:6642:0.0.0.0\"'",
            id="another name for the same addresses",
        ),
        pytest.param(
            ("ptcp:6642:192.0.2.1",), (), "ptcp:6642:[::]", f"set Connection {UUID}", id="a single address in a row"
        ),
        pytest.param((), ("pssl:6642:[::]",), "ptcp:6642:[::]", "Set ovn_tls=true", id="TLS by the command line"),
        pytest.param(
            (),
            ("ptcp:6642:[::1]",),
            "ptcp:6642:0.0.0.0",
            'Set ovn_central_listen_address="[::]"',
            id="IPv6 by the command line",
        ),
        pytest.param(
            (), ("ptcp:7000:0.0.0.0",), "ptcp:6642:[::]", "ovn_central_extra_connections", id="a port of its own"
        ),
    ],
)
def test_listeners_that_clients_would_lose(
    rows: tuple[str, ...], command: tuple[str, ...], desired: str, remedy: str
) -> None:
    (problem,) = problems(rows, command, desired)
    assert remedy in problem
    assert "southbound" in problem


@pytest.mark.parametrize(
    ("now", "desired", "allowed"),
    [
        ("", "ovn-controller", False),
        ("ovn-controller", "ovn-controller", True),
        ("ovn-controller", "", False),
        ("", "", True),
    ],
)
def test_a_role_is_no_matter_of_an_adoption(now: str, desired: str, allowed: bool) -> None:
    found = problems(["pssl:6642:[::]"], (), "pssl:6642:[::]", role=now, desired_role=desired)
    assert [("ovn_southbound_rbac=false" in problem) for problem in found] == ([] if allowed else [True])


def test_a_listener_of_the_command_line_that_would_get_a_role_is_a_problem() -> None:
    target = "pssl:6642:[::]"
    (found,) = problems([], (target,), target, desired_role="ovn-controller")
    assert 'would get "ovn-controller"' in found
    assert "ovn_southbound_rbac=false" in found
    assert problems([], (target,), target, desired_role="") == []

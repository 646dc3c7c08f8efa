"""Connection strings; what hosts and addresses they come from is tested with the filter `endpoints`."""

from __future__ import annotations

import typing as t

import pytest

from ansible_collections.c5c3.ovn.plugins.module_utils._base.errors import InvalidInput
from ansible_collections.c5c3.ovn.plugins.module_utils._roles.endpoints import (
    Listener,
    endpoints_of,
    foreign_central_problem,
)

HOSTVARS = {"db1": {"ovn_address": "192.0.2.1"}, "db2": {"ovn_address": "", "ansible_host": "2001:db8::1"}}


def test_one_endpoint_for_each_host_and_an_empty_address_is_absent() -> None:
    found = endpoints_of(["db1", "db2"], HOSTVARS, "southbound", "client", tls=False)
    assert found == ["tcp:192.0.2.1:6642", "tcp:[2001:db8::1]:6642"]


def test_an_unknown_listener_is_named() -> None:
    with pytest.raises(InvalidInput, match='"southbound" and "clients" are no port'):
        endpoints_of(["db1"], HOSTVARS, "southbound", t.cast(Listener, "clients"), tls=True)


Vars = dict[str, t.Any]
THEIRS, OURS = {"ovn_central_managed": False}, {"ovn_central_managed": "true"}


@pytest.mark.parametrize(
    ("hosts", "changes", "problem"),
    [
        pytest.param([], True, "", id="none"),
        pytest.param([{}, OURS], True, "", id="ours"),
        pytest.param([THEIRS, THEIRS], False, "", id="only read"),
        pytest.param([THEIRS, {"ovn_central_managed": "no"}], True, "Others run the control plane on c0, c1 (ovn_central_managed", id="changed"),
        pytest.param([THEIRS, {}], False, "ovn_central_managed is false for c0, but not for c1. Set it for all", id="one half"),
        pytest.param([{**THEIRS, "ovn_backend": "kubernetes"}], False, "ovn_central_managed is false for c0, which is a Kubernetes", id="an OVNCluster"),
    ],
)  # fmt: skip
def test_problem(hosts: list[Vars], changes: bool, problem: str) -> None:
    hostvars = {f"c{number}": variables for number, variables in enumerate(hosts)}
    found = foreign_central_problem(list(hostvars), hostvars, changes)
    assert found.startswith(problem)
    assert bool(found) == bool(problem)

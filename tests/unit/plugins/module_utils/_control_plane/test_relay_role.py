"""What is said when chassis get a role, or lose it."""

from __future__ import annotations

import typing as t

import pytest

from ansible_collections.c5c3.ovn.plugins.module_utils._api.spec import parse_spec
from ansible_collections.c5c3.ovn.plugins.module_utils._control_plane.desired import DesiredCluster
from ansible_collections.c5c3.ovn.plugins.module_utils._control_plane.relay_role import role_change

ROLE = {"relay": {"rbac": True}}
PLAIN = {"tls": {"enabled": False}}


@pytest.mark.parametrize(
    ("before", "after", "words"),
    [
        pytest.param(None, ROLE, "", id="a new control plane"),
        pytest.param(ROLE, ROLE, "", id="as it was"),
        pytest.param({}, {}, "", id="without a role"),
        pytest.param({}, ROLE, "chassis get the role", id="chassis get it"),
        pytest.param({**ROLE, **PLAIN}, ROLE, "chassis get the role", id="there was no TLS"),
        pytest.param(ROLE, {}, "chassis lose the role", id="chassis lose it"),
        pytest.param(ROLE, {**ROLE, **PLAIN}, "chassis lose the role", id="TLS goes"),
    ],
)
def test_a_change_is_told(before: dict[str, t.Any] | None, after: dict[str, t.Any], words: str) -> None:
    spec = parse_spec(after, name="ovn", namespace="net")
    message = role_change(before, DesiredCluster("ovn", "net", after, spec, {}, "cluster.local", {}))
    assert bool(message) is bool(words)
    assert words in message

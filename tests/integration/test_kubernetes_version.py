"""An API server that is older than the oldest version: a run of either module names both and changes nothing."""

from __future__ import annotations

import typing as t

import _control_plane
import pytest
from _apiserver import ApiServer, running_server
from _control_plane import ControlPlane

from ansible_collections.c5c3.ovn.plugins.module_utils._kubernetes import version
from ansible_collections.c5c3.ovn.plugins.modules import ovn_hypervisors

plane = _control_plane.plane  # fixture


@pytest.fixture
def api_server() -> t.Iterator[ApiServer]:
    """An API server of its own: where the definitions are, nothing asks for the version."""
    with running_server() as server:
        yield server


@pytest.fixture
def old(plane: ControlPlane, monkeypatch: pytest.MonkeyPatch) -> ControlPlane:
    monkeypatch.setattr(version, "OLDEST", (99, 1))
    return plane


def test_an_older_version_is_refused(old: ControlPlane) -> None:
    options: dict[str, t.Any] = {"southbound": ["tcp:127.0.0.1:1"], "spec": {"tls": {"enabled": False}}}
    for refused in (old(may_fail=True), old.module(ovn_hypervisors, options, False, True)):
        assert refused.failed
        assert (
            "the oldest version that understands the definitions is 99.1. Upgrade it to Kubernetes 99.1"
            in refused["msg"]
        )
        assert refused["msg"].endswith("Nothing was changed.")
    assert old.ours() == {}

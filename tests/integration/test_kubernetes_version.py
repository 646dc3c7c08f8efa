"""An API server that is older than the oldest version: a run of either module names both and changes nothing."""

from __future__ import annotations

import typing as t

import _control_plane
import pytest
from _control_plane import ControlPlane
from conftest import until

from ansible_collections.c5c3.ovn.plugins.module_utils._kubernetes import version
from ansible_collections.c5c3.ovn.plugins.modules import ovn_hypervisors

plane = _control_plane.plane  # fixture


def is_gone(plane: ControlPlane, path: str) -> bool:
    try:
        plane.server.request("GET", path)
    except OSError:
        return True
    return False


@pytest.fixture
def old(plane: ControlPlane, monkeypatch: pytest.MonkeyPatch) -> ControlPlane:
    """The definitions may be there of another test: then nothing asks for the version."""
    for name in ("ovnclusters", "ovnchassis"):
        path = f"/apis/apiextensions.k8s.io/v1/customresourcedefinitions/{name}.ovn.c5c3.io"
        try:
            plane.server.request("DELETE", path)
        except OSError:
            continue
        until(lambda path=path: is_gone(plane, path), "the definition to go, with its objects", timeout=60)
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

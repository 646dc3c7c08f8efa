from __future__ import annotations

import pytest

from ansible_collections.c5c3.ovn.plugins.module_utils._kubernetes.version import version_problem


@pytest.mark.parametrize(
    ("version", "is_old"),
    [("v1.28.9", True), ("1.9.0", True), ("v1.29.0", False), ("v1.34.4+k3s1", False), ("v2.0.0", False), ("x", False)],
)
def test_version_problem(version: str, is_old: bool) -> None:
    problem = version_problem(version)
    assert bool(problem) is is_old
    assert not is_old or problem == (
        f"It is Kubernetes {version}; the oldest version that understands the definitions is 1.29."
    )

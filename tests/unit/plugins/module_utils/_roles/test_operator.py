"""The options of the role ovn_operator to the arguments of its module."""

from __future__ import annotations

import dataclasses
import typing as t

import pytest

from ansible_collections.c5c3.ovn.plugins.module_utils._base.errors import Refused
from ansible_collections.c5c3.ovn.plugins.module_utils._roles.operator import OperatorRoleOptions, operator_arguments

OPTIONS = OperatorRoleOptions(
    backend="kubernetes",
    kubeconfig=None,
    context="",
    namespace="ovn-system",
    cluster_domain="cluster.local",
    state="present",
    all_namespaces=False,
    image={},
    replicas=2,
    log_level="info",
    force_conflicts=False,
    wait_timeout=300.0,
)


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ({}, {"watch_namespace": "ovn-system", "kubeconfig": None, "context": None, "state": "present"}),
        ({"all_namespaces": True, "namespace": "net"}, {"watch_namespace": "", "namespace": "net"}),
        ({"image": {"tag": "1"}}, {"image": {"tag": "1"}, "image_pull_secrets": []}),
        ({"image": {"pullSecrets": ["s"]}}, {"image": {}, "image_pull_secrets": ["s"]}),
        (
            {"kubeconfig": "/k", "context": "c", "state": "absent"},
            {"kubeconfig": "/k", "context": "c", "state": "absent"},
        ),
    ],
)
def test_arguments_of_the_module(given: dict[str, t.Any], expected: dict[str, t.Any]) -> None:
    arguments = operator_arguments(dataclasses.replace(OPTIONS, **given), "central")
    assert {name: arguments[name] for name in expected} == expected
    assert arguments.keys() & {"backend", "all_namespaces"} == set()


def test_control_plane_on_machines_is_refused() -> None:
    with pytest.raises(Refused, match=r"central1 is a machine .* c5c3\.ovn\.reconcile"):
        operator_arguments(dataclasses.replace(OPTIONS, backend="host"), "central1")

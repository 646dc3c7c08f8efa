"""The specification of a control plane in Kubernetes, from options of the role."""

from __future__ import annotations

import pytest
from ansible.errors import AnsibleFilterError

from ansible_collections.c5c3.ovn.plugins.filter.central_cluster import central_cluster

HOSTVARS = {"k1": {"ovn_backend": "kubernetes"}, "k2": {"ovn_backend": "kubernetes"}}
GROUPS = {"ovn_central": ["k1"], "ovn_hypervisors": ["k2"]}


def test_specification_and_problem() -> None:
    fits = central_cluster({"members": ["k1"], "replicas": "1"}, "k1", HOSTVARS, GROUPS)
    assert fits["spec"]["northbound"]["replicas"] == 1
    assert fits["problem"] == ""
    assert fits["pod_security"] == "privileged"
    alone = central_cluster({"members": ["k1"]}, "k1", HOSTVARS, {"ovn_central": ["k1"]})
    assert alone["pod_security"] == "restricted"
    assert "exactly one host" in central_cluster({"members": ["k1", "k2"]}, "k1", HOSTVARS, GROUPS)["problem"]


def test_what_is_wrong_fails_the_task() -> None:
    with pytest.raises(AnsibleFilterError, match='ovn_central_replicas is "three"'):
        central_cluster({"members": ["k1"], "replicas": "three"}, "k1", HOSTVARS, GROUPS)

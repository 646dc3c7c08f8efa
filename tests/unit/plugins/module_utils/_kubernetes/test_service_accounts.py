from __future__ import annotations

import pytest
from fake_cluster import FakeCluster

from ansible_collections.c5c3.ovn.plugins.module_utils._errors import Refused
from ansible_collections.c5c3.ovn.plugins.module_utils._kubernetes.service_accounts import (
    missing_accounts,
    refuse_missing_accounts,
)

THERE = {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "team", "namespace": "net"}}


def test_missing_accounts() -> None:
    cluster = FakeCluster(THERE, {**THERE, "metadata": {"name": "away", "namespace": "other"}})
    assert missing_accounts(cluster, "net", ["team", "away", "away"]) == {"away"}


def test_without_a_given_account_nothing_is_asked() -> None:
    cluster = FakeCluster()
    refuse_missing_accounts(cluster, "net", {})
    assert cluster.calls == []


def test_each_missing_one_is_named_with_its_field() -> None:
    given = {"spec.northd.serviceAccountName": "team", "spec.ovs.serviceAccountName": "a", "spec.x": "b"}
    with pytest.raises(Refused, match=r"net/a \(spec\.ovs\.serviceAccountName\) and net/b \(spec\.x\).*Create it"):
        refuse_missing_accounts(FakeCluster(THERE), "net", given)

"""Where the Secret of a host is; plays on localhost ask for nothing else, because its address may be undefined."""

from __future__ import annotations

import typing as t

from ansible_collections.c5c3.ovn.plugins.filter.pki_secret import pki_secret

GROUPS = {"ovn_central": ["plane"], "ovn_hypervisors": ["rack1"]}


class Undefined(dict[str, t.Any]):
    """Variables of a host without an address."""

    def get(self, name: str, default: t.Any = None) -> t.Any:
        if name in ("ovn_address", "ansible_host"):
            raise AssertionError("its address was asked for")
        return super().get(name, default)


def test_the_variables_of_a_host() -> None:
    hostvars = {"rack1": {"ovn_context": "r1", "ovn_tls_secret": ""}}
    expected = {"kubeconfig": "", "context": "r1", "namespace": "ovn-system", "name": "ovn-tls", "given": False}
    assert pki_secret("rack1", hostvars, GROUPS) == expected


def test_the_variables_of_a_task_count_instead() -> None:
    task = {"ovn_namespace": "n", "ovn_pki_kubernetes_secret": "s", "ovn_pki_certificate": "central"}
    found = pki_secret("localhost", {"localhost": Undefined()}, GROUPS, task)
    assert (found["namespace"], found["name"]) == ("n", "s")

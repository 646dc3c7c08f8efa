"""Options of one role that repeat a variable of all roles, and contradict it."""

from __future__ import annotations

import re
import typing as t
from pathlib import Path

import pytest

from ansible_collections.c5c3.ovn.plugins.module_utils._roles.shared_variables import (
    SHARED_VARIABLES,
    shared_variable_problem,
)

ROLES = Path(__file__).resolve().parents[5] / "roles"
KUBERNETES = {"ovn_backend": "kubernetes"}


def test_each_option_that_repeats_a_shared_variable_is_known() -> None:
    """Their defaults name the shared variable first; a variable that is another role's option is none."""
    found = re.findall(
        r'^(ovn_\w+): "\{\{ (ov[ns]_\w+) \|',
        "\n".join(path.read_text() for path in ROLES.glob("*/defaults/main.yml")),
        re.MULTILINE,
    )
    prefixes = tuple(f"{path.name}_" for path in ROLES.iterdir())
    elsewhere = ("ovn_central_managed", "ovn_central_elsewhere")
    expected = {option: shared for option, shared in found if shared in elsewhere or not shared.startswith(prefixes)}
    assert expected == SHARED_VARIABLES


@pytest.mark.parametrize(
    ("variables", "options"),
    [
        pytest.param({}, [], id="nothing"),
        pytest.param({"ovn_central_backend": "kubernetes"}, ["ovn_central_backend"], id="alone"),
        pytest.param({"ovn_central_backend": "host"}, [], id="the default"),
        pytest.param({**KUBERNETES, "ovn_pki_backend": "kubernetes"}, [], id="equal"),
        pytest.param({**KUBERNETES, "ovn_pki_backend": "host"}, ["ovn_pki_backend"], id="another one"),
        pytest.param({"ovn_central_tls": "false"}, ["ovn_central_tls"], id="no TLS"),
        pytest.param({"ovn_central_tls": "yes", "ovn_tls": True}, [], id="TLS in two spellings"),
        pytest.param({"ovn_central_tls": "", "ovn_central_kubeconfig": None}, [], id="empty is absent"),
        pytest.param({"ovn_central_image": {"tag": "1"}, "ovn_image": {"tag": "2"}}, ["ovn_central_image"], id="image"),
        pytest.param({"ovn_central_spec": {"a": 1}}, ["ovn_central_spec"], id="specification"),
        pytest.param({"ovn_verify_southbound_endpoints": "a,b", "ovn_southbound_endpoints": ["a", "b"]}, [], id="list"),
        pytest.param(
            {"ovn_hypervisor_southbound_endpoints": ["a"]}, ["ovn_hypervisor_southbound_endpoints"], id="lists"
        ),
        pytest.param({"ovn_hypervisor_kubeconfig": "/k"}, [], id="a machine says where its OVNChassis is"),
        pytest.param({**KUBERNETES, "ovn_hypervisor_kubeconfig": "/k"}, ["ovn_hypervisor_kubeconfig"], id="a cluster"),
        pytest.param({"ovn_ping_system_id": "h1"}, [], id="the name of the host"),
        pytest.param({"ovn_central_tls_secret": "x-tls", "ovn_cluster_name": "x"}, [], id="by the name of the cluster"),
        pytest.param({"ovn_verify_query": "a", "ovn_tls": "?"}, ["ovn_verify_query"], id="others are not read"),
    ],
)
def test_shared_variable_problem(variables: dict[str, t.Any], options: list[str]) -> None:
    problem = shared_variable_problem(["h1"], {"h1": variables})
    assert re.findall(r"(\w+) of h1 contradicts", problem) == options


def test_the_sentence_names_option_hosts_and_what_to_set() -> None:
    hosts = {name: {"ovn_central_tls": False} for name in ("c1", "c2")}
    assert shared_variable_problem([*hosts, "h1"], {**hosts, "h1": {}}) == (
        "ovn_central_tls of c1, c2 contradicts ovn_tls, which all roles share. Set ovn_tls instead."
    )

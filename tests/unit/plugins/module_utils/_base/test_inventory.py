"""What the variables of a host mean, wherever they are read."""

from __future__ import annotations

import typing as t

import pytest

from ansible_collections.c5c3.ovn.plugins.filter.encapsulation_ip import encapsulation_ip
from ansible_collections.c5c3.ovn.plugins.filter.endpoints import endpoints
from ansible_collections.c5c3.ovn.plugins.filter.host_address import host_address
from ansible_collections.c5c3.ovn.plugins.module_utils._base.inventory import as_list
from ansible_collections.c5c3.ovn.plugins.module_utils._roles.chassis_clashes import chassis_clashes


@pytest.mark.parametrize(
    ("variables", "expected"),
    [
        pytest.param({}, "db1", id="nothing but a name"),
        pytest.param({"ansible_host": "192.0.2.1"}, "192.0.2.1", id="where Ansible connects"),
        pytest.param({"ansible_host": "192.0.2.1", "ovn_address": ""}, "192.0.2.1", id="an empty address is none"),
        pytest.param({"ansible_host": "", "ovn_address": ""}, "db1", id="nothing that is not empty"),
        pytest.param({"ansible_host": "192.0.2.1", "ovn_address": "198.51.100.1"}, "198.51.100.1", id="ovn_address"),
        pytest.param({"ovn_address": "[2001:db8::1]"}, "2001:db8::1", id="IPv6 in brackets"),
        pytest.param({"ovn_address": "2001:DB8:0:0::1"}, "2001:db8::1", id="IPv6 in another spelling"),
    ],
)
def test_certificates_and_endpoints_name_the_same_address(variables: dict[str, t.Any], expected: str) -> None:
    hostvars = {"db1": variables}
    assert host_address(hostvars, "db1") == expected
    assert endpoints(hostvars, ["db1"], "northbound")[0].replace("[", "").replace("]", "") == f"ssl:{expected}:6641"


@pytest.mark.parametrize(
    ("variables", "expected", "clash"),
    [
        pytest.param({}, "db1", False, id="its name"),
        pytest.param({"ansible_host": "[2001:db8::1]"}, "2001:db8::1", True, id="where Ansible connects"),
        pytest.param(
            {"ovn_encapsulation_ip": "", "ovn_address": "192.0.2.1"}, "192.0.2.1", True, id="an empty one is none"
        ),
        pytest.param(
            {"ovn_encapsulation_ip": ["192.0.2.1", "192.0.2.2"]}, ["192.0.2.1", "192.0.2.2"], True, id="several"
        ),
    ],
)
def test_tunnels_end_where_the_inventory_says(variables: dict[str, t.Any], expected: t.Any, clash: bool) -> None:
    assert encapsulation_ip({"db1": variables}, "db1") == expected
    assert bool(chassis_clashes({"a": variables, "b": variables}, ["a", "b"])) is clash


def test_one_address_in_two_spellings_clashes() -> None:
    hostvars = {"a": {"ovn_encapsulation_ip": "2001:db8::21"}, "b": {"ansible_host": "2001:DB8:0:0::21"}}
    assert chassis_clashes(hostvars, ["a", "b"]) == ["a, b have the same encapsulation address 2001:db8::21"]


@pytest.mark.parametrize("value", [["a", "b"], "a,b", "a, b,", ("a", "", "b")])
def test_as_list(value: t.Any) -> None:
    assert as_list(value) == ["a", "b"]

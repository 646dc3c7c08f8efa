"""Options as YAML, templates and command lines give them."""

from __future__ import annotations

import dataclasses
import typing as t

import pytest

from ansible_collections.c5c3.ovn.plugins.module_utils._base.errors import InvalidInput
from ansible_collections.c5c3.ovn.plugins.module_utils._roles.options import (
    OWN_OPTION,
    option_names,
    options_from,
    plain,
    read_options,
)


@dataclasses.dataclass(frozen=True)
class Options:
    hosts: list[str]
    tls: bool = True
    timer: int = 5000
    replicas: int | None = None
    directory: str = "/var/lib/ovn"
    spec: dict[str, t.Any] = dataclasses.field(default_factory=dict)


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ({}, Options(["a"])),
        ({"tls": "", "timer": None, "replicas": "", "directory": "", "spec": ""}, Options(["a"])),
        ({"tls": "false", "timer": "7", "replicas": "3"}, Options(["a"], tls=False, timer=7, replicas=3)),
        ({"tls": False, "timer": 0, "replicas": 0}, Options(["a"], tls=False, timer=0, replicas=0)),
        ({"directory": "/srv", "spec": {"x": {"y": [1]}}}, Options(["a"], directory="/srv", spec={"x": {"y": [1]}})),
        ({"another": "{{ undefined }}"}, Options(["a"])),
    ],
    ids=["absent", "empty", "text of the command line", "false and 0 are values", "text and mapping", "of others"],
)
def test_values(given: dict[str, t.Any], expected: Options) -> None:
    assert read_options(Options, {"hosts": ["a"], **given}, "ovn_") == expected


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"hosts": ""}, "ovn_hosts has no value. Set it"),
        ({}, "ovn_hosts has no value. Set it"),
        ({"hosts": "a,b"}, 'ovn_hosts is "a,b". Give a value of type list'),
        ({"hosts": [], "timer": "5 s"}, 'ovn_timer is "5 s". Give a value of type int.'),
        ({"hosts": [], "replicas": "three"}, 'ovn_replicas is "three". Give a value of type int.'),
        ({"hosts": [], "tls": "perhaps"}, 'ovn_tls is "perhaps". Give a value of type bool.'),
        ({"hosts": [], "spec": "replicas=3"}, 'ovn_cluster_spec is "replicas=3". Give a value of type dict'),
    ],
)
def test_a_value_that_is_none_of_the_type_is_named(given: dict[str, t.Any], message: str) -> None:
    with pytest.raises(InvalidInput) as refused:
        read_options(Options, given, "ovn_")
    assert message in str(refused.value)


def test_nothing_of_what_is_given_is_shared() -> None:
    given = {"x": {"y": [1]}}
    copied = plain(given)
    copied["x"]["y"].append(2)
    assert given == {"x": {"y": [1]}}


@dataclasses.dataclass(frozen=True)
class RoleOptions:
    namespace: str
    replicas: int
    image: str = dataclasses.field(metadata=OWN_OPTION)


def test_an_option_of_the_role_may_have_the_name_of_a_shared_variable() -> None:
    assert option_names(RoleOptions, "ovn_awx_") == ["ovn_namespace", "ovn_awx_replicas", "ovn_awx_image"]
    values = {"ovn_namespace": "n", "ovn_awx_replicas": 2, "ovn_awx_image": "i", "ovn_image": {}}
    assert options_from(RoleOptions, values, "ovn_awx_") == RoleOptions("n", 2, "i")

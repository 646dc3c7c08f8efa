"""Options of roles whose values do not have their type."""

from __future__ import annotations

import dataclasses
import typing as t

import pytest

from ansible_collections.c5c3.ovn.plugins.module_utils._base.errors import InvalidInput
from ansible_collections.c5c3.ovn.plugins.module_utils._roles.option_types import (
    OWN_OPTION,
    Specification,
    check_options,
    option_names,
    option_problem,
    options_from,
    plain,
    read_options,
)
from ansible_collections.c5c3.ovn.plugins.module_utils._roles.rendered import RenderedVariables

SPECIFICATION: dict[str, dict[str, t.Any]] = {
    "ovn_level": {"type": "str", "choices": ["info", "dbg"], "default": "info"},
    "ovn_number": {"type": "int", "default": 1, "required": True},
    "ovn_switch": {"type": "bool"},
    "ovn_list": {"type": "list", "elements": "dict", "options": {"a": {"type": "int"}}},
    "ovn_kinds": {"type": "list", "elements": "str", "choices": ["x", "y"]},
    "ovn_map": {"type": "dict"},
    "ovn_key": {"type": "int", "no_log": True},
    "ovn_text": {"type": "str"},
}


@pytest.mark.parametrize(
    ("variables", "expected"),
    [
        ({}, ""),
        ({"ovn_level": "dbg", "ovn_number": "5", "ovn_switch": "no", "ovn_map": {}, "ovn_text": 3, "other": "x"}, ""),
        ({"ovn_list": [{"a": "1"}], "ovn_kinds": "x,y"}, ""),
        ({"ovn_level": "inof"}, 'ovn_level of h1 is "inof", which is not allowed: give one of info, dbg.'),
        ({"ovn_number": "five"}, 'ovn_number of h1 is "five", which is not allowed: give an integer.'),
        ({"ovn_switch": "maybe"}, 'ovn_switch of h1 is "maybe", which is not allowed: give true or false.'),
        ({"ovn_map": "{}x"}, 'ovn_map of h1 is "{}x", which is not allowed: give a dictionary.'),
        (
            {"ovn_list": [{"c": 1}]},
            """ovn_list of h1 is "[{'c': 1}]", which is not allowed: give a list (dict) """
            "(ovn_list.c. Supported parameters include: a).",
        ),
        (
            {"ovn_kinds": ["z"]},
            """ovn_kinds of h1 is "['z']", which is not allowed: give a list (str) of one of x, y.""",
        ),
        ({"ovn_key": "secret"}, "ovn_key of h1 is a hidden value, which is not allowed: give an integer."),
        ({"ovn_switch": ""}, "ovn_switch of h1 is empty, which is not allowed: give true or false, or leave it out."),
        ({"ovn_number": "x" * 9000}, f'ovn_number of h1 is "{"x" * 80}", which is not allowed: give an integer.'),
    ],
)
def test_option_problem(variables: dict[str, t.Any], expected: str) -> None:
    assert option_problem(["h1"], {"h1": variables}, SPECIFICATION) == expected


def test_equal_problems_of_several_hosts_are_one_sentence() -> None:
    hosts = {"h1": {"ovn_level": "x"}, "h2": {}, "h3": {"ovn_level": "x"}}
    assert (
        option_problem([*hosts], hosts, SPECIFICATION)
        == 'ovn_level of h1, h3 is "x", which is not allowed: give one of info, dbg.'
    )


class TestCheckOptions:
    specification: t.ClassVar[Specification] = {
        "role_names": {"type": "list", "elements": "str", "required": True},
        "role_size": {"type": "int", "default": 3, "choices": [1, 3]},
        "role_tls": {"type": "bool", "default": True},
        "role_source": {"type": "dict", "default": {}, "options": {"uri": {"type": "str"}, "name": {"default": "n"}}},
        "role_labels": {"type": "dict"},
    }

    def check(self, **variables: t.Any) -> dict[str, t.Any]:
        return check_options("h1", self.specification, {"role_names": ["a"], **variables})

    def test_absent_options_have_their_defaults(self) -> None:
        assert self.check() == {
            "role_names": ["a"],
            "role_size": 3,
            "role_tls": True,
            "role_source": {},
            "role_labels": None,
        }

    @pytest.mark.parametrize("empty", ["", None])
    def test_empty_text_is_absent(self, empty: str | None) -> None:
        assert self.check(role_size=empty, role_labels=empty, role_source=empty) == self.check()

    def test_values_get_their_types(self) -> None:
        """Extra variables of the command line are text."""
        found = self.check(role_names="a,b", role_size="1", role_tls="no", role_labels='{"x": null}')
        assert found == {
            **self.check(),
            "role_names": ["a", "b"],
            "role_size": 1,
            "role_tls": False,
            "role_labels": {"x": None},
        }

    def test_suboption_that_is_not_given_is_absent(self) -> None:
        assert self.check(role_source={"uri": "u"})["role_source"] == {"uri": "u", "name": "n"}
        assert self.check(role_source={})["role_source"] == {}
        assert self.check(role_source={"name": "m"})["role_source"] == {"name": "m"}

    def test_suboption_with_an_empty_text_is_absent(self) -> None:
        assert self.check(role_source={"uri": "", "name": ""})["role_source"] == {}
        assert self.check(role_source={"uri": "u", "name": ""})["role_source"] == {"uri": "u", "name": "n"}

    @pytest.mark.parametrize("given", ["s3cret", {"keys": "s3cret"}])
    def test_option_with_a_hidden_suboption_is_hidden(self, given: t.Any) -> None:
        key = {"type": "dict", "options": {"key": {"type": "str", "no_log": True}, "name": {"type": "str"}}}
        with pytest.raises(InvalidInput, match="role_ca of h1 is a hidden value, which is not allowed") as raised:
            check_options("h1", {"role_ca": key}, {"role_ca": given})
        assert "s3cret" not in str(raised.value)

    def test_each_problem_is_one_line(self) -> None:
        with pytest.raises(InvalidInput) as raised:
            self.check(role_names="", role_size=2, role_tls="perhaps", role_source={"url": "u"})
        assert str(raised.value).splitlines() == [
            "role_names of h1 is missing. Give a list (str).",
            'role_size of h1 is "2", which is not allowed: give one of 1, 3.',
            'role_tls of h1 is "perhaps", which is not allowed: give true or false.',
            "role_source of h1 is \"{'url': 'u'}\", which is not allowed: give a dictionary (role_source.url. Supported parameters include: name, uri).",
        ]

    def test_option_that_cannot_be_rendered_is_one_of_the_problems(self) -> None:
        def render(value: t.Any) -> t.Any:
            raise RuntimeError("'x' is undefined")

        with pytest.raises(InvalidInput, match=r"^role_names of h1 cannot be rendered: 'x' is undefined"):
            check_options("h1", self.specification, RenderedVariables("h1", {"role_names": "{{ x }}"}, render))


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

"""The list of issued certificates, from which observers know those of chassis and clients."""

from __future__ import annotations

import json

import pytest

from ansible_collections.c5c3.ovn.plugins.module_utils._pki.issued import (
    CHASSIS,
    CLIENT,
    METADATA_AGENT,
    IssuedCertificate,
    IssuedChange,
    describe_change,
    list_path,
    merge_list,
    parse_list,
    render_list,
)

END, LATER = "2027-11-21T16:00:00Z", "2028-11-21T16:00:00Z"


def chassis(name: str, not_after: str = END) -> IssuedCertificate:
    return IssuedCertificate(CHASSIS, name, "chassis CA", "1f", not_after)


def client(name: str, not_after: str = END) -> IssuedCertificate:
    return IssuedCertificate(CLIENT, name, "central CA", "20", not_after)


def agent(name: str, not_after: str = END) -> IssuedCertificate:
    return IssuedCertificate(METADATA_AGENT, name, "chassis CA", "21", not_after)


ALL = [chassis("a"), chassis("b"), client("neutron"), client("operator")]


@pytest.mark.parametrize(
    ("known", "change", "expected"),
    [
        # the first run, a run with nothing to do
        ([], IssuedChange([chassis("b"), client("neutron")], [chassis("a")], (), ["neutron"]), [chassis("a"), chassis("b"), client("neutron")]),
        (ALL, IssuedChange(ALL, clients=["neutron", "operator"]), ALL),
        (ALL, IssuedChange(), ALL),
        # a renewed one replaces the old one; others stay: the run was for one host, or for one of several hypervisor clusters
        (ALL, IssuedChange([chassis("b", LATER)]), [chassis("a"), chassis("b", LATER), *ALL[2:]]),
        (ALL, IssuedChange([chassis("c")]), [*ALL[:2], chassis("c"), *ALL[2:]]),
        # who is removed leaves; a client of that name does not, nor a chassis with the name of a client
        ([*ALL, client("a")], IssuedChange(removed_chassis=["a"]), [chassis("b"), client("a"), *ALL[2:]]),
        ([*ALL, chassis("operator")], IssuedChange(clients=["neutron"]), [*ALL[:2], chassis("operator"), client("neutron")]),
        (ALL, IssuedChange(removed_chassis=["gone"]), ALL),
        # a metadata agent has the name of its chassis, and stays when that uses files of its own
        ([*ALL, agent("a"), agent("b")], IssuedChange(removed_chassis=["a"], removed_metadata_agents=["b"]), [*ALL[1:], agent("a")]),
        (ALL, IssuedChange([agent("a")], removed_metadata_agents=["b"]), [*ALL, agent("a")]),
        # the clients are known as a whole; one whose certificate cannot be read keeps what is known of it
        (ALL, IssuedChange([client("operator", LATER)], clients=["neutron", "operator"]), [*ALL[:3], client("operator", LATER)]),
        (ALL, IssuedChange(clients=[]), ALL[:2]),
        # a chassis that comes back in the run that removes it
        (ALL, IssuedChange([chassis("a", LATER)], removed_chassis=["a"]), [chassis("a", LATER), *ALL[1:]]),
        # another run has renewed it since this one has read it; what this run has issued counts, however short it is valid
        ([chassis("a", LATER)], IssuedChange([chassis("a")]), [chassis("a", LATER)]),
        ([chassis("a", LATER)], IssuedChange([chassis("a")], [chassis("a")]), [chassis("a")]),
        ([chassis("a", LATER)], IssuedChange([chassis("a")], removed_chassis=["a"]), [chassis("a")]),
        # signed once more in the same second
        ([chassis("a")], IssuedChange([chassis("a")._replace(serial_number="2f")]), [chassis("a")._replace(serial_number="2f")]),
    ],
)  # fmt: skip
def test_a_run_changes_what_it_knows(
    known: list[IssuedCertificate], change: IssuedChange, expected: list[IssuedCertificate]
) -> None:
    assert merge_list(known, change) == expected
    assert merge_list(expected, change) == expected


def test_where_it_is() -> None:
    assert list_path("/etc/c5c3-ovn") == "/etc/c5c3-ovn/issued-certificates.json"


def test_what_is_written_is_read_again() -> None:
    odd = [chassis('a "quoted" name'), *ALL]
    assert parse_list(render_list(odd)) == sorted(odd)
    assert parse_list(render_list([])) == []
    assert len(render_list(ALL).splitlines()) == len(ALL) + 2


@pytest.mark.parametrize(
    "text",
    [
        "",
        "{",
        "[]",
        "{}",
        '{"certificates": 1}',
        '{"certificates": [{"kind": "chassis"}]}',
        '{"certificates": ["a"]}',
        json.dumps({"certificates": [chassis("a", "soon")._asdict()]}),
    ],
)
def test_a_text_that_is_no_list(text: str) -> None:
    assert parse_list(text) is None


def test_a_later_version_may_say_more() -> None:
    text = json.dumps({"certificates": [{**chassis("a")._asdict(), "more": 1}], "version": 2})
    assert parse_list(text) == [chassis("a")]


def test_when_it_ends() -> None:
    assert chassis("a", "1970-01-02T00:00:01Z").end == 86401


def test_what_differs() -> None:
    assert describe_change(ALL, [chassis("a", LATER), *ALL[1:3]]) == {
        "before": f"chassis a until {END}\nclient operator until {END}\n",
        "after": f"chassis a until {LATER}\n",
    }
    assert describe_change([], [chassis("a", "")])["after"] == "chassis a until a time that is not known yet\n"

from __future__ import annotations

import typing as t

import pytest

from ansible_collections.c5c3.ovn.plugins.module_utils._api.service_accounts import (
    Account,
    account_of,
    accounts_to_make,
    central_accounts,
    given_accounts,
    hypervisor_accounts,
)
from ansible_collections.c5c3.ovn.plugins.module_utils._api.spec import parse_spec
from ansible_collections.c5c3.ovn.plugins.module_utils._errors import InvalidInput

OURS = ["ovn-northbound", "ovn-southbound", "ovn-northd", "ovn-observer"]


def accounts(raw: dict[str, t.Any]) -> tuple[list[Account], list[Account]]:
    spec = parse_spec(raw, name="ovn", namespace="net")
    return central_accounts(spec), hypervisor_accounts(spec)


def named(**given: str) -> dict[str, t.Any]:
    return {component: {"serviceAccountName": name} for component, name in given.items()}


def test_without_a_field_they_are_ours() -> None:
    central, hypervisors = accounts({})
    assert [one.name for one in accounts_to_make(central)] == [one.own for one in central] == OURS
    assert [one.name for one in hypervisors] == ["ovs", "ovn-controller"]
    assert given_accounts([*central, *hypervisors]) == {}


@pytest.mark.parametrize(
    ("raw", "made", "given"),
    [
        pytest.param(named(northd="team"), OURS[:2] + OURS[3:], {"spec.northd.serviceAccountName": "team"}, id="one"),
        pytest.param(
            named(northbound="db", southbound="db", northd="db", observer="db"),
            [],
            dict.fromkeys(
                [f"spec.{c}.serviceAccountName" for c in ("northbound", "southbound", "northd", "observer")], "db"
            ),
            id="one for all",
        ),
        pytest.param(named(northd="ovn-northd"), OURS, {}, id="its own: as if not given"),
        pytest.param(named(northd="ovn-observer"), OURS[:2] + OURS[3:], {}, id="that of another component"),
        pytest.param(named(northd="ovn-observer", observer="ovn-northd"), OURS, {}, id="each has that of the other"),
        pytest.param(
            named(observer="ovs"),
            OURS[:3],
            {"spec.observer.serviceAccountName": "ovs"},
            id="not of this cluster's part",
        ),
    ],
)
def test_which_are_made(raw: dict[str, t.Any], made: list[str], given: dict[str, str]) -> None:
    central, _hypervisors = accounts(raw)
    assert [one.own for one in accounts_to_make(central)] == made
    assert given_accounts(central) == given


def test_account_of() -> None:
    _central, hypervisors = accounts(named(controller="agents"))
    assert account_of(hypervisors, "controller") == "agents"
    assert account_of(hypervisors, "ovs") == "ovs"


@pytest.mark.parametrize("name", ["Team", "a_b", "-a", "a/b", "", "a" * 254])
def test_a_name_that_no_account_can_have(name: str) -> None:
    with pytest.raises(InvalidInput, match=r"spec\.ovs\.serviceAccountName"):
        accounts(named(ovs=name))

from __future__ import annotations

import typing as t

import pytest

from ansible_collections.c5c3.ovn.plugins.module_utils._api.service_accounts import (
    Account,
    account_change,
    account_of,
    account_of_pods,
    accounts_in_use,
    accounts_to_make,
    central_accounts,
    given_accounts,
    hypervisor_accounts,
)
from ansible_collections.c5c3.ovn.plugins.module_utils._api.spec import parse_spec
from ansible_collections.c5c3.ovn.plugins.module_utils._base.errors import InvalidInput

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


@pytest.mark.parametrize("name", ["Team", "a_b", "-a", "a/b", "", "a" * 254, "a..b", "a.-b", "a-.b", ".a", "a."])
def test_a_name_that_no_account_can_have(name: str) -> None:
    with pytest.raises(InvalidInput, match=r"spec\.ovs\.serviceAccountName"):
        accounts(named(ovs=name))


@pytest.mark.parametrize("component", ["northbound", "southbound", "northd", "observer", "controller", "ovs"])
def test_the_account_of_everybody_is_refused(component: str) -> None:
    with pytest.raises(
        InvalidInput,
        match=rf"spec\.{component}\.serviceAccountName is default: every pod .*Name another account, or remove",
    ):
        accounts(named(**{component: "default"}))
    central, hypervisors = accounts(named(**{component: "default.team"}))
    assert "default.team" in given_accounts([*central, *hypervisors]).values()


def test_nodes_with_their_own_open_vswitch_need_no_account_for_it() -> None:
    for mode, components in (("managed", ["ovs", "controller"]), ("host", ["controller"])):
        spec = parse_spec({"ovs": {"mode": mode, "serviceAccountName": "a"}}, name="ovn", namespace="net")
        assert [one.component for one in accounts_in_use(spec)] == components


def workloads(*found: tuple[str, str, str | None]) -> dict[tuple[str, str, str, str], t.Any]:
    """Kind, name and account."""
    return {
        ("apps/v1", kind, "net", name): {
            "spec": {"template": {"spec": {"serviceAccountName": account} if account else {}}}
        }
        for kind, name, account in found
    }


WORKLOADS = {
    "northbound": ("StatefulSet", "ovn-northbound"),
    "southbound": ("StatefulSet", "ovn-southbound"),
    "northd": ("Deployment", "ovn-northd"),
    "observer": ("Deployment", "ovn-observer"),
    "controller": ("DaemonSet", "ovn-controller"),
    "ovs": ("DaemonSet", "ovs"),
}


@pytest.mark.parametrize("component", WORKLOADS)
def test_an_account_of_pods_that_exist_is_not_changed(component: str) -> None:
    kind, name = WORKLOADS[component]
    field = f"spec.{component}.serviceAccountName"

    def change(raw: dict[str, t.Any], existing: str | None) -> str:
        central, hypervisors = accounts(raw)
        return account_change([*central, *hypervisors], workloads((kind, name, existing)), "net")

    ours_to_given = change(named(**{component: "team"}), name)
    assert ours_to_given.startswith(
        f"{kind} net/{name} has the ServiceAccount {name}, and {field} asks for team: rights and pods"
    )
    assert (
        f"To go on as before, remove {field}. To change accounts, remove the installation with state absent"
        in ours_to_given
    )
    given_to_ours = change({}, "team")
    assert given_to_ours.startswith(f"{kind} net/{name} has the ServiceAccount team, and {field} asks for {name}: ")
    assert f"To go on as before, set {field} to team." in given_to_ours
    assert f"set {field} to one." in change(named(**{component: "team"}), "one")
    assert (
        change({}, name)
        == change(named(**{component: "team"}), "team")
        == change(named(**{component: name}), name)
        == ""
    )
    assert change(named(**{component: "team"}), None) == "", "it has none so far"


def test_all_changes_of_accounts_are_named_and_a_first_installation_is_none() -> None:
    central, _hypervisors = accounts(named(northd="team", observer="team"))
    assert account_change(central, {}, "net") == ""
    there = workloads(("Deployment", "ovn-northd", "ovn-northd"), ("Deployment", "ovn-observer", "x"))
    found = account_change(central, there, "net")
    assert "asks for team; Deployment net/ovn-observer has" in found
    assert "remove spec.northd.serviceAccountName and set spec.observer.serviceAccountName to x." in found
    assert account_change(central, there, "other") == ""


def test_account_of_pods() -> None:
    assert [
        account_of_pods(one) for one in workloads(("DaemonSet", "ovs", "a"), ("DaemonSet", "b", None)).values()
    ] == ["a", None]

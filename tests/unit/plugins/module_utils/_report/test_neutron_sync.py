"""Which rows of others neutron_sync_mode endangers, and in which releases of Neutron."""

from __future__ import annotations

import typing as t

import pytest
from census_rows import KUBE_OVN, NETWORK, ROUTER, UUID, Northbound

from ansible_collections.c5c3.ovn.plugins.module_utils._base.errors import InvalidInput
from ansible_collections.c5c3.ovn.plugins.module_utils._report.neutron_sync import (
    damages,
    parse_mode,
    repair_refusal,
    sync_warnings,
)

COEXISTENCE = "25.2.3, 26.0.3, 27.0.2 and 28.0.0"


@pytest.fixture
def northbound() -> Northbound:
    """Neutron's switch, router and port group, each with a row of Neutron."""
    made = Northbound()
    made.add("Logical_Switch", NETWORK, name=f"neutron-{UUID}", acls=[made.add("ACL")])
    made.add("Logical_Router", ROUTER, name=f"neutron-{UUID}", nat=[made.add("NAT")])
    made.add("Port_Group", name="neutron_pg_drop", acls=[made.add("ACL")])
    made.add("DHCP_Options", {"subnet_id": UUID})
    return made


def into(northbound: Northbound, table: str, column: str, row: str) -> None:
    northbound.tables[table][0][column].append(row)


def found(northbound: Northbound) -> list[tuple[str, int, str, str]]:
    return [(d.rows[0].table, len(d.rows), d.where, d.before) for d in damages(northbound.census())]


def test_neutrons_own_rows_are_in_no_danger(northbound: Northbound) -> None:
    assert found(northbound) == []
    assert sync_warnings(northbound.census(), ["repair", "migrate"]) == []


Fill = t.Callable[[Northbound], t.Any]


@pytest.mark.parametrize(
    ("fill", "expected"),
    [
        pytest.param(
            lambda n: into(n, "Logical_Router", "nat", n.add("NAT", KUBE_OVN)),
            [("NAT", 1, "on Neutron's routers", "")],
            id="snat",
        ),
        pytest.param(
            lambda n: into(n, "Logical_Router", "nat", n.add("NAT", KUBE_OVN, type="dnat")),
            [],
            id="dnat is not looked at",
        ),
        pytest.param(
            lambda n: into(n, "Logical_Switch", "acls", n.add("ACL", KUBE_OVN)),
            [("ACL", 1, "on Neutron's switches", "")],
            id="a rule on a switch of Neutron",
        ),
        pytest.param(
            lambda n: into(n, "Port_Group", "acls", n.add("ACL", KUBE_OVN)),
            [("ACL", 1, "in neutron_pg_drop", "")],
            id="a rule in the group of Neutron",
        ),
        pytest.param(
            lambda n: n.add("DHCP_Options", {**KUBE_OVN, "subnet_id": UUID}),
            [("DHCP_Options", 1, "with subnet_id", "")],
            id="options that look like Neutron's",
        ),
        pytest.param(lambda n: n.add("DHCP_Options", KUBE_OVN), [], id="options that do not"),
        pytest.param(
            lambda n: n.add("Logical_Switch", KUBE_OVN, acls=[n.add("ACL"), n.add("ACL")]),
            [("ACL", 2, "on switches of others", "29.0.0")],
            id="rules on another switch",
        ),
        pytest.param(
            lambda n: n.add("Port_Group", KUBE_OVN, acls=[n.add("ACL")]),
            [("Port_Group", 1, "with their ACLs", COEXISTENCE)],
            id="another port group",
        ),
        pytest.param(
            lambda n: into(n, "Logical_Router", "ports", n.add("Logical_Router_Port", KUBE_OVN, name="lrp-x")),
            [("Logical_Router_Port", 1, "on Neutron's routers", COEXISTENCE)],
            id="a port of a router of Neutron",
        ),
        pytest.param(
            lambda n: into(n, "Logical_Router", "static_routes", n.add("Logical_Router_Static_Route", KUBE_OVN)),
            [("Logical_Router_Static_Route", 1, "on Neutron's routers", COEXISTENCE)],
            id="a route of a router of Neutron",
        ),
        pytest.param(
            lambda n: n.add("Logical_Router", KUBE_OVN, nat=[n.add("NAT")], ports=[n.add("Logical_Router_Port")]),
            [],
            id="another router",
        ),
        pytest.param(
            lambda n: n.add("Logical_Switch", {"c5c3-ovn-test-network": "t"}, acls=[n.add("ACL")]), [], id="ours"
        ),
    ],
)
def test_what_a_repair_deletes(northbound: Northbound, fill: Fill, expected: list[tuple[str, int, str, str]]) -> None:
    fill(northbound)
    assert found(northbound) == expected


@pytest.mark.parametrize("modes", [[], ["off"], ["log"], ["off", "log"]])
def test_modes_that_write_nothing(northbound: Northbound, modes: list[str]) -> None:
    northbound.add("Logical_Switch", KUBE_OVN)
    assert sync_warnings(northbound.census(), modes) == []


def test_a_repair_is_named_with_numbers_and_a_next_step(northbound: Northbound) -> None:
    into(northbound, "Logical_Router", "nat", northbound.add("NAT", KUBE_OVN))
    northbound.add("Logical_Switch", KUBE_OVN, name="pods", acls=[northbound.add("ACL")])
    northbound.add("Port_Group", name="mine")
    (warning,) = sync_warnings(northbound.census(), ["repair"])
    assert warning.lines() == [
        "WARNING neutron_sync_mode repair",
        "    4 rows of others are not in Neutron's database: kube-ovn 3, unknown 1.",
        "    At each start of Neutron, and in each run of neutron-ovn-db-sync-util, it deletes 1 of them: "
        "1 NAT (snat 192.0.2.10 10.0.0.0/24 of kube-ovn) on Neutron's routers.",
        "    Releases before 29.0.0 also delete 1 of them: 1 ACL (to-lport 100 of kube-ovn) on switches of others.",
        f"    Releases before {COEXISTENCE} also delete 1 of them: 1 Port_Group (mine of unknown) with their ACLs.",
        "    Set ovn_neutron_sync_mode to off ([ovn] neutron_sync_mode = off).",
    ]


def test_migrate_writes_in_the_program_alone(northbound: Northbound) -> None:
    northbound.add("Logical_Switch", KUBE_OVN)
    (warning,) = sync_warnings(northbound.census(), ["off", "migrate", "migrate"])
    assert warning.subject == "neutron_sync_mode migrate"
    assert "In each run of neutron-ovn-db-sync-util it deletes none of them." in warning.cause
    assert "At each start" not in warning.cause


def test_a_port_that_old_releases_cannot_find_ends_their_repair_of_routers(northbound: Northbound) -> None:
    """They look for lrp-NAME, and write all routers in one transaction."""
    for table, column, name in (
        ("Logical_Router_Port", "ports", {"name": "neutron-x-pods"}),
        ("Logical_Router_Static_Route", "static_routes", {}),
    ):
        into(northbound, "Logical_Router", column, northbound.add(table, KUBE_OVN, **name))
    (warning,) = sync_warnings(northbound.census(), ["repair"])
    assert warning.cause.splitlines()[-1] == (
        f"Releases before {COEXISTENCE} change no router at all: they end with an error at "
        "1 Logical_Router_Port (neutron-x-pods of kube-ovn) on Neutron's routers."
    )
    assert found(northbound) == []


@pytest.mark.parametrize(
    ("given", "mode"), [("off", "off"), (False, "off"), ("Repair", "repair"), ("log", "log"), ("migrate", "migrate")]
)
def test_a_mode(given: t.Any, mode: str) -> None:
    assert parse_mode(given) == mode


@pytest.mark.parametrize("given", [True, "", "on", "fix", None])
def test_what_is_no_mode_is_refused(given: t.Any) -> None:
    with pytest.raises(InvalidInput, match="Neutron knows off, log, repair, migrate"):
        parse_mode(given)


@pytest.mark.parametrize(
    ("fill", "parts"),
    [
        (lambda northbound: None, []),
        # what is ours, and what belongs to nobody
        (lambda northbound: northbound.add("Logical_Switch", {"c5c3-ovn-test-network": "1"}), []),
        (lambda northbound: northbound.add("Connection", target="ptcp:6641"), []),
        # rows of others, whether a repair of a new Neutron deletes them or not
        (
            lambda northbound: northbound.add("Logical_Switch", KUBE_OVN),
            ["1 rows of others are not in Neutron's database: kube-ovn 1.", "it deletes none of them."],
        ),
        (
            lambda northbound: into(northbound, "Logical_Router", "nat", northbound.add("NAT", KUBE_OVN)),
            ["it deletes 1 of them: 1 NAT (snat 192.0.2.10 10.0.0.0/24 of kube-ovn) on Neutron's routers. c5c3.ovn.census shows them all."],
        ),
        (lambda northbound: northbound.add("Port_Group", name="mine"), ["database: unknown 1."]),
    ],
)  # fmt: skip
def test_neutron_gets_no_repair_beside_rows_of_others(
    northbound: Northbound, fill: t.Callable[[Northbound], object], parts: list[str]
) -> None:
    fill(northbound)
    refusal = repair_refusal({"tables": northbound.tables}, "controller1")
    assert bool(refusal) == bool(parts)
    assert [part for part in parts if part not in refusal] == []
    if refusal:
        assert refusal.startswith(
            "Neutron of controller1 does not get ovn_neutron_sync_mode repair, with which Neutron deletes"
        )
        assert refusal.endswith(
            "Use off or log; setting ovn_neutron_permit to delete_foreign_rows lets Neutron delete them. Nothing was changed."
        )


def test_neutron_gets_no_repair_where_nobody_could_be_asked() -> None:
    assert ": nobody could be asked which rows the Northbound has. Use log;" in repair_refusal({}, "cloud")

"""Who is asked before a CA or a certificate changes, and which phases and CAs are refused."""

from __future__ import annotations

import typing as t

import pytest

from ansible_collections.c5c3.ovn.plugins.module_utils._base.errors import Refused
from ansible_collections.c5c3.ovn.plugins.module_utils._roles import pki_plan
from ansible_collections.c5c3.ovn.plugins.module_utils._roles.pki_plan import ClusterLook, HostPlan, PlanOptions

Files = dict[str, dict[str, str]]

GROUPS = {"ovn_central": ["c1", "plane"], "ovn_hypervisors": ["h1", "rack1", "plane"]}
HOSTVARS: dict[str, dict[str, t.Any]] = {
    "c1": {"ovn_address": "192.0.2.1", "ovn_pki_directory": "/srv/tls"},
    "h1": {"ovn_address": "192.0.2.2"},
    "plane": {"ovn_backend": "kubernetes"},
    "rack1": {"ovn_backend": "kubernetes", "ovn_namespace": "rack1"},
}
BOTH = {"central": {"active": "C"}, "chassis": {"active": "H"}}
TRUST: dict[str, list[str]] = {"trusting": [], "distrusting": [], "rejecting": [], "former": []}


def files(**phases: dict[str, str]) -> Files:
    """Return the texts of both CAs; those that sign are there unless said otherwise."""
    return {name: {"active": "", "next": "", "previous": "", **phases.get(name, {})} for name in ("central", "chassis")}


def plan(host: str = "h1", texts: Files | None = None, **variables: t.Any) -> HostPlan:
    given = {f"ovn_pki_{name}": value for name, value in variables.items()}
    options = PlanOptions(
        renew_before_days=30,
        group="ovn",
        ca_rotation=variables.get("ca_rotation", "none"),
        ca_directory="/srv/ca",
        ca_directory_is_kept=False,
        ca=variables.get("ca", {}),
        chassis_ca=variables.get("chassis_ca", {}),
    )
    known = {**HOSTVARS[host], **given}
    return HostPlan(host, known, HOSTVARS, GROUPS, options, texts or files(**BOTH))


def hosts(looks: pki_plan.Looks) -> list[tuple[str, str]]:
    return [(look["host"], look["issuer"]) for look in looks.machines]


def test_pair_has_the_group_and_the_directory_of_the_host() -> None:
    pair = plan().pair
    assert (pair["private_key"], pair["owner"], pair["group"]) == ("/etc/ovn/tls/chassis-key.pem", None, "ovn")
    assert (pair["issuer"], pair["renew_before"]) == ("H", 30)


def test_machines_are_asked_for_files_in_their_own_directory() -> None:
    """A metadata agent has its pair elsewhere than the chassis of the same machine. The directory of a play is that of each host without one of its own."""
    agent = plan("h1", directory="/etc/neutron/ovn-metadata-agent", issued_kind="metadata-agent")
    for asking, own in (agent, "/etc/ovn/tls"), (plan("h1", directory="/play"), "/play"), (plan("h1"), "/etc/ovn/tls"):
        looks = pki_plan.issuer_looks(asking, "N", "central", connects_only=False)
        assert [look["ca_certificate"] for look in looks.machines] == ["/srv/tls/ca.pem", f"{own}/ca.pem"]
    # c1 has its own, which is not that of others.
    looks = pki_plan.issuer_looks(plan("c1"), "N", "central", connects_only=False)
    assert [look["ca_certificate"] for look in looks.machines] == ["/srv/tls/ca.pem", "/etc/ovn/tls/ca.pem"]


def test_evidence_comes_from_central_hosts_outside_the_run_and_all_clusters() -> None:
    looks = pki_plan.evidence_looks(plan("h1", files()), ["h1", "rack1"])
    assert hosts(looks) == [("c1", "")]
    assert looks.machines[0]["ca_certificate"] == "/srv/tls/ca.pem"
    assert looks.clusters == [ClusterLook(["plane", "rack1"], "")]
    assert pki_plan.evidence_looks(plan("h1", files()), ["c1", "h1"]).machines == []


@pytest.mark.parametrize(
    ("authority", "connects_only", "is_client", "machines", "cluster"),
    [
        ("central", False, False, ["c1", "h1"], ClusterLook(["plane", "rack1"], "N", "central", False)),
        ("central", True, True, ["c1"], ClusterLook(["plane"], "N", "central", False)),
        ("chassis", True, False, ["c1"], ClusterLook(["plane"], "N", "chassis", True)),
        ("chassis", True, True, ["c1"], ClusterLook(["plane"], "N", "chassis", False)),
    ],
)
def test_other_side_of_the_connections_is_asked(
    authority: t.Literal["central", "chassis"],
    connects_only: bool,
    is_client: bool,
    machines: list[str],
    cluster: ClusterLook,
) -> None:
    looks = pki_plan.issuer_looks(plan(), "N", authority, connects_only=connects_only, is_client=is_client)
    assert hosts(looks) == [(host, "N") for host in machines]
    assert looks.clusters == [cluster]


@pytest.mark.parametrize(
    ("rotation", "texts", "message"),
    [
        ("prepare", files(central={"active": "C", "previous": "O"}, chassis={"active": "H"}), "is not finished"),
        ("switch", files(**BOTH), "There is no next-ca.pem in /srv/ca"),
        ("finish", files(central={"active": "C", "next": "N"}, chassis={"active": "H"}), "does not sign yet"),
    ],
)
def test_phase_before_its_turn_is_refused(rotation: str, texts: Files, message: str) -> None:
    with pytest.raises(Refused, match=message):
        pki_plan.phase_looks(plan("c1", texts, ca_rotation=rotation))


def test_prepare_asks_nobody() -> None:
    assert pki_plan.phase_looks(plan("c1", ca_rotation="prepare")) == pki_plan.Looks([], [])


def test_switch_asks_for_the_next_certificates_of_both_cas() -> None:
    texts = files(central={"active": "C", "next": "N"}, chassis={"active": "H", "next": "M"})
    looks = pki_plan.phase_looks(plan("c1", texts, ca_rotation="switch"))
    assert hosts(looks) == [("c1", "N"), ("h1", "N"), ("c1", "M")]
    assert [(look.issuer, look.members) for look in looks.clusters] == [("N", False), ("M", True)]
    # The one that has switched already is not asked for again, by a run that follows a killed one.
    texts["central"] = {"active": "N", "next": "", "previous": "C"}
    assert hosts(pki_plan.phase_looks(plan("c1", texts, ca_rotation="switch"))) == [("c1", "M")]


def test_finish_asks_everybody_who_has_a_certificate() -> None:
    texts = files(central={"active": "N", "previous": "C"}, chassis={"active": "M", "previous": "H"})
    looks = pki_plan.phase_looks(plan("c1", texts, ca_rotation="finish"))
    assert hosts(looks) == [("c1", "N"), ("h1", "M")]
    assert [look.hosts for look in looks.clusters] == [["plane"], ["rack1"]]
    assert pki_plan.phase_looks(plan("c1", ca_rotation="finish")) == pki_plan.Looks([], [])


def test_chassis_ca_alone_is_not_introduced() -> None:
    former = files(central={"active": "C"})
    with pytest.raises(Refused, match="The chassis CA alone cannot be introduced"):
        pki_plan.check_introduction(plan("c1", former), ["chassis"])
    pki_plan.check_introduction(plan("c1", former), ["central", "chassis"])
    pki_plan.check_introduction(plan("c1", former, ca={"certificate": "G"}), ["chassis"])


@pytest.mark.parametrize(
    ("trusting", "texts", "rotation", "refused"),
    [
        (["c1"], files(), "none", True),
        (["c1"], files(), "lost_key", False),
        ([], files(), "none", False),
        # another run has made it meanwhile
        (["c1"], files(**BOTH), "none", False),
    ],
)
def test_second_ca_beside_one_in_use_is_refused(
    trusting: list[str], texts: Files, rotation: str, refused: bool
) -> None:
    trust = {**TRUST, "trusting": trusting}
    host = plan("c1", texts, ca_rotation=rotation)
    if refused:
        with pytest.raises(Refused, match=r"no ca.pem in /srv/ca on the control node, but c1 already trust a CA"):
            pki_plan.check_trust(host, trust)
    else:
        pki_plan.check_trust(host, trust)


@pytest.mark.parametrize(
    ("texts", "given", "trusting", "expected"),
    [
        (files(), "", [], ["chassis", "central"]),
        (files(), "", ["c1"], ["chassis", "central"]),
        (files(), "G", [], ["chassis"]),
        # its chassis have certificates of the given one
        (files(), "G", ["c1"], []),
        (files(**BOTH), "", [], []),
    ],
)
def test_which_cas_are_created(texts: Files, given: str, trusting: list[str], expected: list[str]) -> None:
    assert pki_plan.created_authorities(plan("c1", texts, ca={"certificate": given}), trusting) == expected


@pytest.mark.parametrize(
    ("authority", "rotation", "unready", "members", "message"),
    [
        ("central", "switch", {"distrusting": ["h1"]}, [], "h1 do not trust .* Run on all hosts with ovn_pki_ca_rotation=prepare"),
        ("chassis", "none", {"rejecting": ["c1"]}, [], r"c1 do not trust .* Run c5c3.ovn.central first"),
        ("chassis", "none", {}, ["Pod x/sb-0"], r"Pod x/sb-0 would refuse certificates of the chassis CA"),
    ],
)  # fmt: skip
def test_certificate_that_the_other_side_does_not_trust_is_refused(
    authority: t.Literal["central", "chassis"],
    rotation: str,
    unready: dict[str, list[str]],
    members: list[str],
    message: str,
) -> None:
    with pytest.raises(Refused, match=message):
        pki_plan.check_issuer(authority, rotation, {**TRUST, **unready}, members)


def test_hosts_that_trust_the_ca_are_let_pass() -> None:
    pki_plan.check_issuer("central", "switch", {**TRUST, "rejecting": ["h1"]}, [])
    pki_plan.check_issuer("chassis", "none", {**TRUST, "distrusting": ["h1"]}, [])


def test_ca_in_use_is_not_retired() -> None:
    with pytest.raises(Refused, match="h1, client neutron still use certificates of the former CA"):
        pki_plan.check_former({**TRUST, "former": ["h1", "client neutron"]})
    pki_plan.check_former(TRUST)


def test_nodes_that_may_have_a_former_certificate_are_named() -> None:
    with pytest.raises(Refused, match=r"without it: Pod a; .*Pod j; and 2 more\. No CA was retired"):
        pki_plan.check_nodes([f"Pod {letter}" for letter in "abcdefghijkl"])
    pki_plan.check_nodes([])


@pytest.mark.parametrize(
    ("texts", "options", "retires"),
    [
        (files(central={"active": "N"}, chassis={"active": "M", "previous": "H"}), {"ca_rotation": "finish"}, True),
        (files(**BOTH), {"ca_rotation": "finish"}, False),
        (files(**BOTH), {"ca_rotation": "finish", "chassis_ca": {"certificate": "G"}}, True),
        (files(**BOTH), {"ca_rotation": "finish", "chassis_ca": {"certificate": "G"}, "rotate": ["central"]}, False),
        (files(central={"active": "N"}, chassis={"active": "M", "previous": "H"}), {"ca_rotation": "switch"}, False),
    ],
)
def test_nodes_are_asked_before_their_ca_goes(texts: Files, options: dict[str, t.Any], retires: bool) -> None:
    assert plan("c1", texts, **options).retires_node_authorities is retires


@pytest.mark.parametrize(("given", "names"), [(None, []), ("", []), (["x"], ["x"]), ("x,y", ["x", "y"])])
def test_clients_that_are_declared(given: t.Any, names: list[str]) -> None:
    assert [client["name"] for client in plan("c1", clients=given).clients()] == names


def test_entry_of_the_list_has_what_is_installed() -> None:
    state = {"needed": False, "issuer_name": "CA", "serial_number": "5", "not_after": "2030", "csr": "x"}
    entry = pki_plan.issued_entry(state, issued=True, holder="h1", path="/p")
    assert entry == {
        "holder": "h1",
        "path": "/p",
        "issued": True,
        "needed": True,
        "issuer_name": "CA",
        "serial_number": "5",
        "not_after": "2030",
    }

"""The plan of a run on central machines, from what all of them found."""

from __future__ import annotations

import typing as t

import pytest

from ansible_collections.c5c3.ovn.plugins.module_utils._base.errors import InvalidInput, Refused
from ansible_collections.c5c3.ovn.plugins.module_utils._roles import central_plan
from ansible_collections.c5c3.ovn.plugins.module_utils._roles.central_plan import (
    PlannedRun,
    RaftOptions,
    failed_members_problem,
    found_witnesses,
    plan_before_changes,
    plan_round,
    search_share,
    sizes_matter,
    timer_messages,
)

MEMBERS = ["c1", "c2", "c3"]
DATABASES = ("northbound", "southbound")
OPTIONS = RaftOptions(
    tls=True,
    cluster_ids={},
    bootstrap=True,
    restart=True,
    permit=[],
    witness_hosts=None,
    config_directory="/etc/c5c3-ovn",
    database_directory="/srv/ovn",
)
RUN = PlannedRun("this run", "2026-01-01T00:00:00Z", check_mode=False, adopt=False)


def checks(**changes: t.Any) -> dict[str, dict[str, t.Any]]:
    """Fresh machines."""
    addresses = {name: f"ssl:192.0.2.{number}:6643" for number, name in enumerate(MEMBERS, 11)}
    desired = {"raft_addresses": dict.fromkeys(DATABASES, addresses), "wait_timeout": 120}
    return {
        name: {
            "desired": desired,
            "members": [{"observation": {"database": database, "member": name}} for database in DATABASES],
            "packages_plan": {"due": False, "source_files": []},
            "planned": False,
            "northd": {"state": None},
            **changes,
        }
        for name in MEMBERS
    }


def options(**changes: t.Any) -> RaftOptions:
    return RaftOptions(**{**vars(OPTIONS), **changes})


@pytest.mark.parametrize(
    ("all_hosts", "hosts", "words"),
    [
        (MEMBERS, MEMBERS, ""),
        (["c1", "c2", "h1"], ["c1", "c2"], ""),  # no member, and c3 is not in the play
        (MEMBERS, ["c1"], "c2, c3 failed or became unreachable in this run"),
    ],
)
def test_failed_member_ends_the_run(all_hosts: list[str], hosts: list[str], words: str) -> None:
    problem = failed_members_problem(MEMBERS, all_hosts, hosts)
    assert problem.startswith(words)
    assert bool(problem) is bool(words)


class TestBeforeChanges:
    def test_fresh_machines_are_due(self) -> None:
        plan = plan_before_changes(checks(), OPTIONS, RUN, None)
        assert plan["founding"] == list(DATABASES)
        assert (plan["refusals"], plan["round"], plan["planned"]) == ([], 0, True)

    def test_witness_refuses(self) -> None:
        plan = plan_before_changes(checks(), OPTIONS, RUN, ["hypervisor hv1 has ovn-remote ssl:192.0.2.99:6642"])
        assert all("hypervisor hv1 has ovn-remote" in refusal for refusal in plan["refusals"])
        assert len(plan["refusals"]) == 2
        assert plan_before_changes(checks(), options(permit=["new_cluster"]), RUN, ["somebody"])["refusals"] == []

    def test_address_that_is_a_name_needs_its_permit(self) -> None:
        addresses = {name: f"ssl:{name}.example.com:6643" for name in MEMBERS}
        named = checks(desired={"raft_addresses": dict.fromkeys(DATABASES, addresses), "wait_timeout": 120})
        assert "ovn_central_permit=names" in plan_before_changes(named, OPTIONS, RUN, None)["refusals"][0]
        assert plan_before_changes(named, options(permit=["names"]), RUN, None)["refusals"] == []

    def test_adoption_creates_nothing(self) -> None:
        adoption = PlannedRun("this run", "now", check_mode=False, adopt=True)
        assert "an adoption creates none" in plan_before_changes(checks(), OPTIONS, adoption, [])["refusals"][0]

    @pytest.mark.parametrize(
        ("changes", "given", "planned", "packages"),
        [
            ({}, {}, False, False),
            ({"planned": True}, {}, True, False),
            ({}, {"permit": ["rollback"]}, True, False),
            ({"packages_plan": {"due": True}}, {}, False, True),
            ({"packages_plan": {"due": False, "source_files": [{}]}}, {}, False, True),
            ({"packages_plan": {}}, {}, False, False),
        ],
    )
    def test_what_one_host_needs_is_due_on_all(
        self,
        changes: dict[str, t.Any],
        given: dict[str, t.Any],
        planned: bool,
        packages: bool,
        monkeypatch: pytest.MonkeyPatch,
    ) -> None:
        monkeypatch.setattr(central_plan, "machine_plan", lambda *_: {"due": False})
        found = {**checks(), "c2": checks(**changes)["c2"]}
        plan = plan_before_changes(found, options(**given), RUN, None)
        assert (plan["planned"], plan["packages_due"]) == (planned, packages)

    def test_active_northd_is_adopted_last(self) -> None:
        states = {"c1": "active", "c2": "standby", "c3": None}
        found = {name: {**check, "northd": {"state": states[name]}} for name, check in checks().items()}
        assert plan_before_changes(found, OPTIONS, RUN, None)["northd_order"] == ["c2", "c1"]


class TestRounds:
    def before(self) -> dict[str, t.Any]:
        return plan_before_changes(checks(), OPTIONS, RUN, [])

    def test_first_one_starts_afresh_and_keeps_what_the_check_knows(self) -> None:
        before = {**self.before(), "left": [], "refusals": ["of the check"], "packages_due": True}
        plan = plan_round(checks(), checks(), OPTIONS, RUN, before)
        assert (plan["round"], plan["database"], plan["left"]) == (1, "northbound", list(DATABASES))
        assert (plan["refusals"], plan["packages_due"], plan["witnesses"]) == ([], True, [])
        assert plan["record"]["permit"]["member"] == "c1"

    def test_later_one_knows_those_before(self) -> None:
        first = plan_round(checks(), checks(), OPTIONS, RUN, self.before())
        plan = plan_round(checks(), checks(), OPTIONS, RUN, {**first, "refusals": ["of a round before"]})
        assert (plan["round"], plan["refusals"]) == (2, ["of a round before"])

    def test_nothing_is_created_while_nobody_was_searched(self) -> None:
        plan = plan_round(checks(), checks(), OPTIONS, RUN, {**self.before(), "witnesses": None})
        assert plan["step"] is None
        assert plan["refusals"]

    def test_they_end(self) -> None:
        with pytest.raises(Refused, match="northbound and southbound is not as declared after 2000 rounds"):
            plan_round(checks(), checks(), OPTIONS, RUN, {**self.before(), "round": 2000})


class TestSearch:
    HOSTVARS: t.ClassVar[dict[str, dict[str, t.Any]]] = {
        **{name: {"ovn_address": f"192.0.2.{number}"} for number, name in enumerate(MEMBERS, 11)},
        "h1": {"ovn_hypervisor_openvswitch_database": "unix:/db", "ovn_southbound_endpoints": "ssl:192.0.2.9:6642"},
        "h2": {"ovn_hypervisor_state": "gone"},
        "k1": {"ovn_backend": "kubernetes"},
    }

    def share(self, host: str, **given: t.Any) -> dict[str, dict[str, t.Any]]:
        found = search_share(MEMBERS, options(**given), ["h1", "h2", "k1"], MEMBERS, host, self.HOSTVARS)
        return {one["host"]: one["options"] for one in found}

    def test_each_host_is_searched_once(self) -> None:
        shares = [list(self.share(host)) for host in MEMBERS]
        assert shares == [["c1", "h1"], ["c2", "h2"], ["c3", "k1"]]
        assert list(self.share("c1", witness_hosts=[])) == ["c1"]

    def test_host_outside_the_inventory_is_refused(self) -> None:
        with pytest.raises(InvalidInput, match="ovn_central_witness_hosts has old1, which the inventory does not have"):
            self.share("c1", witness_hosts=["old1"])

    def test_own_endpoints_and_usual_directories(self) -> None:
        assert self.share("c1")["h1"] == {
            "own_endpoints": [*(f"ssl:192.0.2.{number}:6642" for number in (11, 12, 13)), "ssl:192.0.2.9:6642"],
            "openvswitch_database": "unix:/db",
            "record_directories": ["/etc/c5c3-ovn"],
            "database_directories": ["/srv/ovn", "/var/lib/ovn"],
        }

    @pytest.mark.parametrize(("host", "name"), [("c2", "h2"), ("c3", "k1")])
    def test_dead_machines_and_clusters_are_not_searched(self, host: str, name: str) -> None:
        assert self.share(host)[name] == {}

    def test_unsearched_hosts_are_named(self) -> None:
        results = [
            {"item": {"host": "c1"}, "witnesses": [{"text": "a record", "database": "northbound"}], "unexamined": []},
            {"item": {"host": "k1"}, "skipped": True},
            {"item": {"host": "h1"}, "unreachable": True},
        ]
        witnesses, unsearched = found_witnesses(results, DATABASES, MEMBERS, {})
        assert witnesses == ["central host c1 has a record"]
        assert unsearched.startswith(
            "Not searched for an older control plane: h1: unreachable; k1: a Kubernetes cluster, or declared gone. If one"
        )
        assert found_witnesses(results[:1], DATABASES, MEMBERS, {})[1] == ""

    def test_note_beside_the_ca_is_a_witness(self) -> None:
        note = {"path": "/ca/clusters.json", "text": "{"}
        assert "/ca/clusters.json" in found_witnesses([], DATABASES, MEMBERS, note)[0][0]


def test_timers_are_explained() -> None:
    desired = {
        "databases": {
            "northbound": {"timers": {"reason": "Its file has 400 MB."}},
            "southbound": {"timers": {"reason": ""}},
        }
    }
    (message,) = timer_messages(desired)
    assert message.startswith("northbound: Its file has 400 MB. With ovn_central_timers_by_size: false")


@pytest.mark.parametrize(("state", "matters"), [({"a": ("x",)}, False), ({"a": ["y"]}, True)])
def test_sizes_matter_if_the_desired_state_differs(state: dict[str, t.Any], matters: bool) -> None:
    assert sizes_matter({"desired": {"a": ["x"]}}, state) is matters


def test_a_host_that_has_begun_no_rollout_is_not_unfinished() -> None:
    hostvars: dict[str, dict[str, t.Any]] = {
        "c1": {"ovn_central_rollout": {"ended": True}},
        "c2": {"ovn_central_rollout": {"ended": False}},
        "c3": {},
    }
    assert central_plan.unfinished_hosts(hostvars, MEMBERS) == ["c2"]

"""What is wrong with an inventory and with the scope of a run."""

from __future__ import annotations

import pytest

from ansible_collections.c5c3.ovn.plugins.module_utils._roles.inventory_check import (
    Needs,
    group_problem,
    inventory_problems,
    limit_problem,
    run_tags_problem,
)

C, H = ["c1", "c2", "c3"], ["h1"]
GROUPS = "The inventory has the groups"
NO_CENTRAL = "--limit 'l' leaves out all central hosts"
NO_LOCALHOST = "the output comes from localhost, which --limit 'l' leaves out"


@pytest.mark.parametrize(
    ("groups", "required", "expected"),
    [
        pytest.param({"ovn_central": C}, True, "", id="a group with hosts is right"),
        pytest.param(
            {"all": H, "ovn_central": [], "ovn_hypervisors": H},
            True,
            f"The group ovn_central has no hosts. {GROUPS} ovn_central (0 hosts), ovn_hypervisors (1 hosts).",
            id="an empty group is told with the groups that there are",
        ),
        pytest.param(
            {"all": C, "ungrouped": [], "ovn_centrals": C},
            True,
            f"The group ovn_central is not in the inventory, but ovn_centrals is: check the spelling. {GROUPS} ovn_centrals (3 hosts).",
            id="a misspelt group is named",
        ),
        pytest.param(
            {"ovn_central": [], "ovn-central": C},
            False,
            f"The group ovn_central has no hosts, but ovn-central has: check the spelling. {GROUPS} ovn-central (3 hosts), ovn_central (0 hosts).",
            id="a misspelt group is a problem even if the group is not required",
        ),
        pytest.param({"ovn_central": []}, False, "", id="a group that is not required may be empty"),
        pytest.param({"ovn_hypervisors": H}, False, "", id="a group that is not required may be absent"),
        pytest.param(
            {"all": C, "ungrouped": C},
            True,
            "The group ovn_central is not in the inventory. The inventory has no groups and 3 hosts.",
            id="hosts without groups are counted",
        ),
        pytest.param(
            {"all": [], "ungrouped": []},
            True,
            "The group ovn_central is not in the inventory. The inventory is empty: is -i missing?",
            id="a forgotten inventory is told as such",
        ),
    ],
)
def test_group_problem(groups: dict[str, list[str]], required: bool, expected: str) -> None:
    assert group_problem(groups, "ovn_central", required=required) == expected


def test_all_problems_of_a_run_are_found() -> None:
    groups = {"all": C, "ovn_centrals": C, "ovn_hypervisor": H}
    run = {
        "ansible_run_tags": ["x"],
        "ansible_skip_tags": ["pki", "verify"],
        "ansible_limit": "c1",
        "ansible_play_hosts_all": ["c1"],
    }
    hosts = {host: {"ovn_tls": "perhaps"} for host in C}
    specification = {"ovn_tls": {"type": "bool"}}
    needs = Needs(known_tags=["verify"], report_required=True, controllers_required=True)
    found = inventory_problems(needs, hosts, groups, run, specification)
    assert [problem.partition(".")[0].partition(":")[0] for problem in found] == [
        "The group ovn_central is not in the inventory, but ovn_centrals is",
        "The group ovn_hypervisors is not in the inventory, but ovn_hypervisor is",
        "The group ovn_controllers is not in the inventory",
        'ovn_tls of c1, c2, c3 is "perhaps", which is not allowed',
        "--skip-tags pki would leave out the whole rollout",
        "--tags x would do nothing",
        "Nothing would be printed",
    ]


@pytest.mark.parametrize(
    ("needs", "found"),
    [
        (Needs(), []),
        (Needs(report_required=False), []),
        (Needs(localhost_required=True), ["Nothing would be printed"]),
        (
            Needs(changes_central=True),
            ["Others run the control plane on c1, c2, c3 (ovn_central_managed is false), so it is only read"],
        ),
    ],
)
def test_playbook_is_refused_what_it_needs(needs: Needs, found: list[str]) -> None:
    run = {"ansible_limit": "c1", "ansible_play_hosts_all": ["c1"]}
    hosts = {host: {"ovn_central_managed": False} for host in C}
    problems = inventory_problems(needs, hosts, {"all": C, "ovn_central": C}, run, {})
    assert [problem.partition(":")[0].partition(".")[0] for problem in problems] == found


@pytest.mark.parametrize(
    ("hosts", "central", "limit", "cause", "advice"),
    [
        pytest.param(["localhost", "c1", "h1"], ["c1"], "", "", "", id="no limit"),
        pytest.param(["localhost"], ["c1"], "", "", "", id="no limit, a play on localhost alone"),
        pytest.param(["localhost", "c1"], ["c1", "c2"], "l", "", "", id="one central host is enough"),
        pytest.param(["127.0.0.1", "c1"], ["c1"], "l", "", "", id="localhost by another name"),
        pytest.param(["localhost"], ["localhost"], "l", "", "", id="localhost is the central host"),
        pytest.param(["localhost", "h1"], [], "l", "", "", id="control plane elsewhere"),
        pytest.param(["c1"], ["c1"], "l", NO_LOCALHOST, "Use --limit 'l,localhost'.", id="no localhost"),
        pytest.param(["h1"], [], "l", NO_LOCALHOST, "Use --limit 'l,localhost'.", id="elsewhere, no localhost"),
        pytest.param(["localhost", "h1"], ["c1"], "l", NO_CENTRAL, "Run it without --limit.", id="no central host"),
        pytest.param(
            ["h1"], ["c1"], "l", NO_CENTRAL, "Run it without --limit.", id="neither: localhost would not help"
        ),
    ],
)
def test_limits(hosts: list[str], central: list[str], limit: str, cause: str, advice: str) -> None:
    problem = limit_problem(hosts, central, limit)
    assert bool(problem["refusal"]) == bool(problem["note"]) == bool(cause)
    assert cause in problem["refusal"]
    assert problem["refusal"].endswith(advice)
    assert problem["note"] == (f"Not verified: {cause}. Run c5c3.ovn.verify without --limit." if cause else "")


@pytest.mark.parametrize(
    ("run_tags", "known", "advice"),
    [
        pytest.param(["all"], ["pki"], "", id="no tags"),
        pytest.param(["all"], [], "", id="no tags, and none are known"),
        pytest.param(["verfy"], None, "", id="a play of somebody else"),
        pytest.param(["pki"], ["pki", "verify"], "", id="a known tag"),
        pytest.param(["verfy", "pki"], ["pki", "verify"], "", id="one of them is known"),
        pytest.param(["tagged"], ["pki"], "", id="a tag of Ansible"),
        pytest.param(["verfy"], ["pki", "verify"], "Use one or more of pki, verify.", id="misspelt"),
        pytest.param(["a", "b"], ["pki"], "--tags a,b would do nothing", id="all of them are named"),
        pytest.param(["verify"], [], "this playbook has no tags. Run it without --tags.", id="a playbook without tags"),
    ],
)
def test_tags(run_tags: list[str], known: list[str] | None, advice: str) -> None:
    problem = run_tags_problem(run_tags, known)
    assert advice in problem
    assert bool(problem) == bool(advice)

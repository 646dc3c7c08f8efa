"""What --limit and --tags leave of a run, and when that is nothing."""

from __future__ import annotations

import pytest

from ansible_collections.c5c3.ovn.plugins.module_utils._roles.run_scope import limit_problem, run_tags_problem

NO_CENTRAL = "--limit 'l' leaves out all central hosts"
NO_LOCALHOST = "the report is made on localhost, which --limit 'l' leaves out"


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

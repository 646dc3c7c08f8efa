"""Codes of findings."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from ansible_collections.c5c3.ovn.plugins.module_utils._base.errors import InvalidInput
from ansible_collections.c5c3.ovn.plugins.module_utils._precheck import finding
from ansible_collections.c5c3.ovn.plugins.module_utils._precheck.finding import Finding
from ansible_collections.c5c3.ovn.plugins.module_utils._report.findings import PROBLEMS, WARNINGS

ROOT = Path(__file__).resolve().parents[5]


def test_an_unknown_code_names_the_known_ones() -> None:
    finding.check_ignored(["central_count", "port_taken"])
    with pytest.raises(
        InvalidInput, match=r"ovn_precheck_ignore has port_token, which .* port_taken, tunnel_port_taken"
    ):
        finding.check_ignored(["central_count", "port_token"])


@pytest.mark.parametrize(
    ("named", "expected"),
    [
        pytest.param("db1", ["db1"], id="a host"),
        pytest.param("db1 192.0.2.11", ["db1"], id="its address"),
        pytest.param("db1, compute1", ["db1", "compute1"], id="several"),
        pytest.param("db1, gone1", ["db1"], id="one that is not in this run"),
        pytest.param("ovn_central", ["db1", "db2"], id="a group"),
        pytest.param("gone1", ["db1", "db2", "compute1"], id="none of this run: all decide"),
    ],
)
def test_whom_a_finding_is_about(named: str, expected: list[str]) -> None:
    groups = {"ovn_central": ["db1", "db2", "db3"], "ovn_hypervisors": ["compute1"]}
    one = Finding("central_count", named, "cause", "step")
    assert finding.hosts_of(one, groups, ["db1", "db2", "compute1"]) == expected


def test_the_control_node_is_no_host() -> None:
    one = Finding("clock_difference", finding.CONTROL_NODE, "cause", "step")
    assert finding.hosts_of(one, {}, ["control", "db1"]) == ["control", "db1"]


def test_every_code_is_used_and_explained() -> None:
    judges = "".join(
        path.read_text() for path in (ROOT / "plugins/module_utils/_precheck").glob("*.py") if path.stem != "finding"
    )
    judges += (ROOT / "plugins/module_utils/_chassis/datapath.py").read_text()
    page = (ROOT / "docs/troubleshooting.md").read_text()
    page = page.partition("\n## Precheck of machines\n")[2].partition("\n## ")[0]
    assert [code for code in finding.MACHINE_CODES if f'"{code}"' not in judges] == []
    assert re.findall(r"^#### `(\w+)`$", page, re.MULTILINE) == [
        code for code in finding.MACHINE_CODES if code not in IN_BOTH
    ]


# What is wrong before the first change can be wrong later, in the same way and with the same remedy.
IN_BOTH = {"host_unreachable", "duplicate_system_id", "duplicate_encapsulation_ip"} | {
    "conntrack_zones_missing",
    "upcall_handlers_missing",
    "packets_lost",
    "uplink_down",
}


def test_a_code_of_the_report_is_one_of_the_precheck_only_if_it_means_the_same() -> None:
    """One that is in both by chance would be looked up in the wrong table."""
    assert set(finding.CODES) & (PROBLEMS | WARNINGS) == IN_BOTH
    page = (ROOT / "docs/troubleshooting.md").read_text()
    sentence = re.search(r"These are in both, with one meaning: ([^.]+)\.", page)
    assert sentence
    assert set(re.findall(r"`(\w+)`", sentence[1])) == IN_BOTH


def test_the_page_explains_every_code_of_clusters_once_and_in_order() -> None:
    text = (ROOT / "docs" / "troubleshooting.md").read_text(encoding="utf-8")
    section = text.partition("\n## Precheck of Kubernetes\n")[2].partition("\n## ")[0]
    assert tuple(re.findall(r"^#### `(\w+)`$", section, re.MULTILINE)) == finding.CLUSTER_CODES


def test_every_code_of_clusters_is_found_by_some_judgement_and_no_other_is() -> None:
    package = Path(finding.__file__).parent
    others = [
        path.read_text(encoding="utf-8")
        for path in package.glob("*.py")
        if path != Path(finding.__file__)
        and not path.name.startswith(("judge_", "from_hostvars", "report"))  # of machines
    ]
    used = {code for text in others for code in re.findall(r'(?:Finding\(\s*|code, step = )"(\w+)"', text)}
    assert used == set(finding.CLUSTER_CODES)

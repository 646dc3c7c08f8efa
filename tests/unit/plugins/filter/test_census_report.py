"""The filter, and that the playbook reads what it needs."""

from __future__ import annotations

import pathlib
import typing as t

import pytest
import yaml
from ansible.errors import AnsibleFilterError
from census_rows import KUBE_OVN, NETWORK, Northbound

from ansible_collections.c5c3.ovn.plugins.filter.census_report import FilterModule
from ansible_collections.c5c3.ovn.plugins.module_utils._report.census_rows import EVERY_TABLE

report: t.Callable[..., list[str]] = FilterModule().filters()["census_report"]
PLAYBOOK = pathlib.Path(__file__).resolve().parents[4] / "playbooks" / "census.yml"


def test_options() -> None:
    northbound = Northbound()
    northbound.add("NB_Global")
    northbound.add("Logical_Switch", KUBE_OVN)
    northbound.add("Logical_Switch", NETWORK, name="web")
    lines = report(northbound.facts, ["repair"], operated=False, rows=True)
    assert lines[0].split() == ["rows", "neutron", "kube-ovn", "unknown"]
    assert "WARNING neutron_sync_mode repair" in lines
    assert "neutron  Logical_Switch  web" in lines


def test_an_error_is_one_of_ansible() -> None:
    with pytest.raises(AnsibleFilterError, match="it is no result of ovn_database_info"):
        report({})


def test_the_playbook_reads_each_column_that_is_looked_at() -> None:
    """And nothing else: the rows that tests make have the same columns."""
    tasks = [task for play in yaml.safe_load(PLAYBOOK.read_text(encoding="utf-8")) for task in play.get("tasks", [])]
    (read,) = (task["c5c3.ovn.ovn_database_info"] for task in tasks if task["name"] == "Read the Northbound database")
    assert set(read["tables"]) == set(EVERY_TABLE) == set(read["columns"])
    northbound = Northbound()
    for table in EVERY_TABLE:
        northbound.add(table)
    without = {"Load_Balancer_Group", "Connection", "NB_Global"}  # of these nothing is told by external_ids
    for table, columns in read["columns"].items():
        made = set(northbound.tables[table][0]) - {"_uuid"} - ({"external_ids"} if table in without else set())
        assert set(columns) == made, table

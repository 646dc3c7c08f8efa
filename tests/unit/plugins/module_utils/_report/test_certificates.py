"""Certificates of metadata agents in the report."""

from __future__ import annotations

import pytest

from ansible_collections.c5c3.ovn.plugins.module_utils._report.certificates import report_certificates
from ansible_collections.c5c3.ovn.plugins.module_utils._report.findings import ReportFindings, Result
from ansible_collections.c5c3.ovn.plugins.module_utils._report.installation import Installation


@pytest.mark.parametrize(
    ("result", "code", "message"),
    [
        ({"days_left": 30}, "", ""),
        ({"days_left": 29}, "metadata_agent_certificate_expires", "on hv1 ends in 29 days: run c5c3.ovn.neutron for"),
        ({"days_left": -1}, "metadata_agent_certificate_expired", "on hv1 has expired: run c5c3.ovn.neutron for it."),
        # none of ours, none before the first run of that playbook, not read
        ({}, "", ""),
        ({"days_left": None}, "", ""),
        ({"skipped": True}, "", ""),
        ({"unreachable": True, "msg": "no route"}, "", ""),
    ],
)
def test_the_certificate_of_a_metadata_agent(result: Result, code: str, message: str) -> None:
    findings, lines = ReportFindings(), list[str]()
    report_certificates(Installation({}, metadata_agent_certificates={"hv1": result}), {}, findings, lines)
    found = [*findings.problems, *findings.warnings]
    assert [one.code for one in found] == [code] * bool(code)
    assert all(message in one.message for one in found)
    assert bool(findings.problems) == code.endswith("expired")
    assert bool(lines) == bool(code)
